"""Compositing of 512² pictures on 256 to 4096 simulated ranks, on a torus and a fat tree.

Takes hours on one core; what is done is kept in FILE, and the next run goes on from there.

    python tests/scale/sweep.py [--out build/scale] [--ranks 256 ... 4096] [--only CASE ...]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import simulation

SIDE = 512
ALL = 4096  # a fan-in by which everything is gathered at once
#: Algorithms and fan-ins: what the seed compares, with its gather, and a gather in stages.
CASES = [
    ("binary_swap", ALL),
    ("binary_swap", 16),
    ("multi_step(16, binary_swap, binary_swap)", ALL),
    ("multi_step(64, binary_swap, binary_swap)", ALL),
    ("multi_step(64, binary_swap, binary_tree)", ALL),
    ("multi_step(512, binary_swap, binary_tree)", ALL),
    ("multi_step(1024, binary_swap, binary_tree)", ALL),
    ("radix_k(8)", ALL),
    ("radix_k(8)", 16),
    ("radix_k(16)", 16),
    ("auto", 16),
]


def main() -> None:
    """Simulate what is missing, one result a line, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=simulation.ROOT / "build" / "scale")
    parser.add_argument("--ranks", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096])
    parser.add_argument("--kinds", nargs="+", default=["torus", "fat_tree"])
    parser.add_argument("--only", nargs="+", help="parts of 'ALGORITHM fan-in N' to simulate")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one simulation")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "sweep.json"
    done: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}
    program = simulation.compile_program(options.out)
    for kind in options.kinds:
        for ranks in options.ranks:
            for algorithm, fan_in in CASES:
                case = f"{algorithm} fan-in {fan_in}"
                key = f"{kind} {ranks} {case}"
                if options.only and not any(part in case for part in options.only):
                    continue
                if key not in done:
                    time, _ = simulation.simulate(
                        program, kind, ranks, SIDE, algorithm, fan_in, options.limit
                    )
                    done[key] = time
                    part = file.with_suffix(".part")
                    part.write_text(json.dumps(done, indent=1) + "\n")
                    part.replace(file)
                print(f"{key}: {done[key]:.2f} ms, {1e3 / done[key]:.0f} a second", flush=True)


if __name__ == "__main__":
    main()
