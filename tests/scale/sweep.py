"""Compositing of 512² pictures on 256 to 4096 simulated ranks, on a torus and a fat tree.

It takes about an hour on one core, and 24 GB with 4096 ranks. Results are stored in sweep.json; the
next run continues from there.

    python tests/scale/sweep.py [--out build/scale] [--ranks 256 ... 4096] [--only CASE ...]
    python tests/scale/sweep.py --out tests/scale --plot docs/images/compositing_scale.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import simulation

SIDE = 512
ALL = 4096  # fan-in of a gather in one stage
#: Algorithms and fan-ins: a gather in one stage, as in the paper, and in stages.
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


#: Cases of the plot, in order, with their labels.
PLOTTED = {
    f"binary_swap fan-in {ALL}": "binary-swap, gathered at once",
    f"multi_step(64, binary_swap, binary_swap) fan-in {ALL}": "multi-step, groups of 64",
    f"multi_step(512, binary_swap, binary_tree) fan-in {ALL}": "multi-step, groups of 512",
    f"multi_step(1024, binary_swap, binary_tree) fan-in {ALL}": "multi-step, groups of 1024",
    "radix_k(8) fan-in 16": "radix-8, gathered 16 at a time",
}


def plot(done: dict[str, float], file: Path) -> None:
    """Draw pictures a second over the number of ranks, a panel for each network."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True, layout="constrained")
    networks = {"torus": "torus, 350 MB/s a link", "fat_tree": "fat tree, 625 MB/s a link"}
    for panel, (kind, title) in zip(panels, networks.items(), strict=True):
        for case, label in PLOTTED.items():
            group = int(case.split("(")[1].split(",")[0]) if case.startswith("multi") else 0
            points = sorted(
                (int(key.split()[1]), 1e3 / time)
                for key, time in done.items()
                if key.startswith(f"{kind} ") and key.split(" ", 2)[2] == case
            )
            points = [(ranks, rate) for ranks, rate in points if ranks > group]  # else no groups
            panel.plot(*np.array(points).reshape(-1, 2).T, "o-", label=label)
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter("{x:.0f}")
        panel.set(title=title, xlabel="simulated ranks")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("pictures of 512² a second")
    panels[0].set_ylim(0, 1.05 * panels[0].get_ylim()[1])
    drawn = [line for panel in panels for line in panel.get_lines() if line.get_xdata().size]
    by_label = {line.get_label(): line for line in drawn}
    shown = [label for label in PLOTTED.values() if label in by_label]
    handles = [by_label[label] for label in shown]
    figure.legend(handles, shown, loc="outside lower center", ncols=2)
    figure.savefig(file, dpi=130)


def main() -> None:
    """Simulate the missing cases and print a line for each case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=simulation.ROOT / "build" / "scale")
    parser.add_argument("--ranks", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096])
    parser.add_argument("--kinds", nargs="+", default=["torus", "fat_tree"])
    parser.add_argument("--only", nargs="+", help="parts of 'ALGORITHM fan-in N' to simulate")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one simulation")
    parser.add_argument("--plot", type=Path, help="plot the stored results to this file, and stop")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "sweep.json"
    done: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}
    if options.plot:
        return plot(done, options.plot)
    for kind in options.kinds:
        for ranks in options.ranks:
            for algorithm, fan_in in CASES:
                case = f"{algorithm} fan-in {fan_in}"
                key = f"{kind} {ranks} {case}"
                if options.only and not any(part in case for part in options.only):
                    continue
                if key not in done:
                    time, _ = simulation.simulate(
                        kind, ranks, SIDE, algorithm, fan_in, options.limit
                    )
                    done[key] = time
                    part = file.with_suffix(".part")
                    part.write_text(json.dumps(done, indent=1) + "\n")
                    part.replace(file)
                print(f"{key}: {done[key]:.2f} ms, {1e3 / done[key]:.0f} a second", flush=True)


if __name__ == "__main__":
    main()
