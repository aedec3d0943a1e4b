"""Effect of `transpose_precision: single` on a growth rate and on statistics of turbulence.

python validation/transpose_precision.py [--only wave turbulence] [--ranks 2]

Updates docs/validation/transpose_precision.csv. The wave takes half a minute; the two runs of the
turbulent channel some minutes each on two cores. Ctrl-C stops a run after a checkpoint, and the
next call continues it.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import xarray as xr

from uzushio._base.store import checkpoint

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
OUTPUT = ROOT / "docs" / "validation" / "transpose_precision.csv"
CASE = Path(__file__).with_suffix(".yaml")
PRECISIONS = ("double", "single")
Row = tuple[str, str, float, float, float]


def wave() -> Iterator[Row]:
    """Growth rate and phase speed of the Tollmien–Schlichting wave, in both precisions."""
    theory = import_module("tollmien_schlichting")
    exact: complex = theory.ORSZAG
    for nz in (64, 128, 256):
        double, single = (theory.wave_speed(nz, precision) for precision in PRECISIONS)
        where = f"{nz} cells"
        yield ("growth rate", where, double.imag, single.imag, abs(double.imag - exact.imag))
        yield ("phase speed", where, double.real, single.real, abs(double.real - exact.real))


def turbulence(ranks: int) -> Iterator[Row]:
    """Statistics of a coarse turbulent channel, with the half width of their 95 % interval."""
    double, single = (statistics(precision, ranks) for precision in PRECISIONS)
    for name in ("u", "u_rms", "v_rms", "w_rms", "uw"):
        magnitude, other = (np.abs(data[name].values) for data in (double, single))
        at = int(np.argmax(magnitude))
        half = float(np.hypot(*(data[f"{name}_ci95"].values[at] for data in (double, single))))
        yield (f"maximum of {name}", "Re_tau = 180", float(magnitude[at]), float(other[at]), half)


def statistics(precision: str, ranks: int) -> xr.Dataset:
    """Run or continue the turbulent channel; return its statistics."""
    run = ROOT / "runs" / f"transpose_precision_{precision}"
    if not (run / "summary.json").exists():
        how = ["--restart", str(run)] if checkpoint.newest(run) else ["--overwrite"]
        choice = ["--set", f"numerics.transpose_precision={precision}"]
        command = ["run", str(CASE), "--out", str(run), *how, *choice, "--ranks", str(ranks)]
        subprocess.run([sys.executable, "-m", "uzushio", *command], check=True)
    dataset: xr.Dataset = xr.open_zarr(run / "statistics.zarr")
    return dataset


def main() -> None:
    """Measure, print the table and store it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=["wave", "turbulence"], help="these alone")
    parser.add_argument("--ranks", type=int, default=2, help="MPI ranks of the turbulent channel")
    options = parser.parse_args()
    chosen = options.only or ["wave", "turbulence"]
    rows = [*wave()] if "wave" in chosen else []
    rows += [*turbulence(options.ranks)] if "turbulence" in chosen else []
    stored: dict[tuple[str, str], list[str]] = {}
    if OUTPUT.exists():
        with OUTPUT.open(newline="", encoding="utf-8") as file:
            stored = {(row[0], row[1]): row for row in list(csv.reader(file))[1:]}
    for quantity, where, double, single, error in rows:
        values = [f"{value:.9g}" for value in (double, single, single - double, error)]
        stored[quantity, where] = [quantity, where, *values]
        print(f"{quantity:20} {where:14} {'  '.join(values)}")
    with OUTPUT.open("w", newline="", encoding="utf-8") as file:
        head = ["quantity", "case", "double", "single", "difference", "error or interval"]
        csv.writer(file, lineterminator="\n").writerows([head, *stored.values()])


if __name__ == "__main__":
    main()
