"""Estimates from observations of which a few are wrong: squares, Huber's norm, background check.

    python validation/outliers.py [--size 64] [--share 0.02] [--folder runs/outliers]

Runs examples/cases/phasefield.yaml on a smaller grid with a share of the values replaced by 4, and
prints the end of each output. docs/how-to/assimilate.md has it; the figure of the fit by squares is
docs/images/assimilation_outliers.png.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import xarray as xr

ROOT = Path(__file__).parents[1]
CASE = ROOT / "examples/cases/phasefield.yaml"
FIGURE = ROOT / "docs/images/assimilation_outliers.png"
WRONG = 4.0
#: Settings beside those of the example, by the name of the run.
RUNS = {
    "squares": ["title=2 % of the observations are wrong"],
    "huber": ["observations.huber=1.5"],
    "check": ["observations.background_check=20"],
}


def assimilate(size: int, out: Path, *settings: str) -> str:
    """Run the example; return what it prints."""
    given = [f"grid.nx={size}", f"grid.ny={size}", "output.figures=[png]", *settings]
    words = [word for setting in given for word in ("--set", setting)]
    command = [sys.executable, "-m", "uzushio", "assimilate", str(CASE), "--overwrite"]
    done = subprocess.run(
        [*command, *words, "--out", str(out)], check=True, text=True, capture_output=True
    )
    return done.stdout + done.stderr


def main() -> int:
    """Make the observations, and estimate m from them in each way."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", type=int, default=64)
    options.add_argument("--share", type=float, default=0.02)
    options.add_argument("--folder", type=Path, default=Path("runs/outliers"))
    given = options.parse_args()
    twin = given.folder / "twin"
    assimilate(given.size, twin, "optimiser.iterations=0", "uncertainty.iterations=0")
    seen = xr.open_zarr(twin / "observations.zarr").load()
    wrong = np.random.default_rng(1).random(seen["values"].shape) < given.share
    seen["values"] = seen["values"].where(~wrong, WRONG)
    store = given.folder / "wrong.zarr"
    seen.drop_encoding().to_zarr(store, mode="w", consolidated=False)
    for name, settings in RUNS.items():
        out = given.folder / name
        text = assimilate(given.size, out, f"observations.store={store}", "truth=null", *settings)
        print(f"---- {name}: {wrong.sum()} of {wrong.size} values are wrong\n{text}")
    shutil.copyfile(given.folder / "squares/figures/fit.png", FIGURE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
