"""A small twin experiment of `uzushio assimilate`, and what its folder has at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import zarr

CASE = """\
model: phasefield
title: a small twin
grid: {nx: 26, ny: 20}
time: {steps: 24, dt: 0.1}
truth: {m: 1.0, side: 0.5}
first_guess: {m: -0.5, side: 0.4}
observations: {sigma: 0.1}
controls:
  phi: {sigma: 0.5, bounds: [-0.5, 1.5]}
  m: {sigma: 2.0, bounds: [-2.0, 2.0]}
optimiser: {iterations: 16, candidates: 2, tries: 24, first_window: 12}
uncertainty: {iterations: 8}
blocking: {fblt: 3, bblt: 2, scheme: pa1}
checkpoint: {every: 10, keep: 2}
tuned: false
output: {folder: run, figures: false}
"""
#: Descriptions of the figures.
FIGURES = {
    "states": "The estimated initial state beside the truth and the first guess, and the run from "
    "it beside an observation",
    "progress": "J, its gradient and m over the iterations of the search",
    "fit": "Residuals of the estimate over time, their distribution, and their maps",
}


def summary(run: Path) -> dict[str, Any]:
    return json.loads((run / "summary.json").read_text())  # type: ignore[no-any-return]


def outcome(run: Path) -> tuple[list[str], bytes, dict[str, object]]:
    """History of J, its gradient and m, estimated state, parameters and goodness of fit."""
    lines = (run / "history.csv").read_text().splitlines()
    history = [",".join(line.split(",")[:5]) for line in lines]
    estimate = np.asarray(zarr.open_group(run / "estimate.zarr", mode="r")["phi"][:])
    summary = json.loads((run / "summary.json").read_text())
    results = summary["results"]
    fit = {"fit": results["fit"], "at each time": (run / "fit.csv").read_text()}
    return history, estimate.tobytes(), results["parameters"] | fit
