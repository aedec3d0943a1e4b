"""Error of m in standard deviations, in twin experiments with ten draws of noise.

    python validation/assimilation.py [--size 256] [--seeds 10] [--ranks 1] [--folder runs/twins]

Runs examples/cases/phasefield.yaml on a smaller grid once for each seed of the noise, and writes a
table of the results. Existing runs are not repeated.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CASE = ROOT / "examples/cases/phasefield.yaml"
TABLE = ROOT / "docs/validation/phasefield_twins.csv"


def twin(seed: int, size: int, ranks: int, folder: Path) -> dict[str, float]:
    """Estimate m for one draw of noise."""
    run = folder / f"{size}-{seed}"
    if not (run / "summary.json").exists():
        settings = [
            f"grid.nx={size}",
            f"grid.ny={size}",
            f"observations.seed={seed}",
            "observations.keep=false",
            "checkpoint.share=0",
        ]
        words = [word for setting in settings for word in ("--set", setting)]
        command = [sys.executable, "-m", "uzushio", "assimilate", str(CASE), "--overwrite"]
        more = ["--out", str(run), "--ranks", str(ranks), "--quiet"]
        subprocess.run([*command, *words, *more], check=True)
    summary = json.loads((run / "summary.json").read_text())
    m = summary["results"]["parameters"]["m"]
    return {
        "seed": seed,
        "m": m["estimate"],
        "sd": m["sd"],
        "error_in_sd": (m["estimate"] - m["truth"]) / m["sd"],
        "residual": m["residual"],
        "products": m["products"],
        "iterations": summary["iterations"],
        "forward": summary["results"]["forward_runs"],
        "backward": summary["results"]["backward_runs"],
        "J": summary["results"]["J"],
        "ended": summary["ended"],
    }


def main() -> int:
    """Run all, write the table, and return 0 if each m is within three standard deviations."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", type=int, default=256)
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--ranks", type=int, default=1)
    options.add_argument("--folder", type=Path, default=ROOT / "runs/twins")
    given = options.parse_args()
    rows = []
    for seed in range(given.seeds):
        rows.append(twin(seed, given.size, given.ranks, given.folder))
        row = rows[-1]
        print(
            f"seed {seed}: m = {row['m']:.6f} ± {row['sd']:.2g}, {row['error_in_sd']:+.2f} sd, "
            f"{row['iterations']} iterations",
            flush=True,
        )
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    errors = [row["error_in_sd"] for row in rows]
    print(f"spread of the errors: {statistics.pstdev(errors, 0.0):.2f} reported sd (1 expected)")
    return 0 if all(abs(error) < 3.0 for error in errors) else 1


if __name__ == "__main__":
    raise SystemExit(main())
