"""Error of m in standard deviations, from the curvature of J and from an ensemble.

    python validation/ensemble.py [--folder runs/ensemble] [--sets 48:0.1:300:40 ...]

The initial states of the twins differ from the first guess by noise of the background's sigma, so
that all assumptions of the estimate hold except linearity. The error in standard deviations, from
the curvature of J or from the spread of perturbed assimilations, should have a root mean square of
1. Each line of the table is written after its twin is complete; existing lines are not repeated.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from pathlib import Path

import numpy as np
from mpi4py import MPI

from uzushio.assimilation.case import Uncertainty
from uzushio.assimilation.deviations import deviations
from uzushio.assimilation.ensemble import MemberFiles, ensemble_spreads
from uzushio.assimilation.model import Guess
from uzushio.assimilation.noise import Stream, normal
from uzushio.assimilation.phasefield.case import PhaseFieldCase
from uzushio.assimilation.problem import Problem

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs/validation/phasefield_ensemble.csv"
COLUMNS = ("points", "background", "seed", "m", "sd", "error_in_sd", "members", "mean", "spread",
           "error_in_spread")  # fmt: skip
#: Points along a side, background sigma, number of twins, number of those with an ensemble.
SETS = ["32:0.1:300:0", "48:0.03:300:20", "48:0.1:300:30", "96:0.1:100:15"]
MEMBERS, STEPS = 20, 64


def problem(points: int, background: float, seed: int) -> Problem:
    """Return a twin whose truth is drawn from the background."""
    case = PhaseFieldCase.model_validate(
        {
            "model": "phasefield",
            "grid": {"nx": points, "ny": points},
            "time": {"steps": STEPS, "dt": 0.1},
            "truth": {"m": 1.0},
            "first_guess": {"m": 0.9},
            "observations": {"sigma": 0.1, "seed": seed},
            "controls": {"phi": {"sigma": background}},
            "optimiser": {"first_window": None},
            "uncertainty": {"kind": "ensemble", "members": MEMBERS, "seed": seed},
        }
    )
    made = Problem(case, MPI.COMM_SELF)
    noise = normal(seed, 0, made.model.shape, made.model.own, Stream(0, "state"))
    made.truth = Guess(made.guess.state + background * noise, np.array([1.0]))
    made.observe()
    return made


def twin(
    points: int, background: float, seed: int, folder: Path, ensemble: bool
) -> dict[str, float]:
    """Estimate m and one standard deviation or both."""
    posed = problem(points, background, seed)
    parts = posed.set_up_search(posed.scales(posed.guess, STEPS), STEPS)
    search, space = parts.search, parts.space
    search.begin()
    while search.ended is None:
        search.step()
    estimate = Guess(space.state(search.point), space.parameters(search.point))
    hessian = parts.cost.hessian(estimate, posed.states)
    (deviation,) = deviations(
        space, hessian, search.point, search.gradient, Uncertainty(), lambda: None
    )
    assert deviation.sd is not None, deviation.note
    del hessian
    m = float(estimate.parameters[0])
    numbers = [
        points,
        background,
        seed,
        m,
        deviation.sd,
        (m - 1.0) / deviation.sd,
        0,
        *[math.nan] * 3,
    ]
    if ensemble:
        files = MemberFiles(folder / f"{points}-{background:g}-{seed}", {"version": 1})
        members = posed.ensemble(parts).run(
            MEMBERS, files, lambda: False, lambda _: None, MPI.COMM_SELF
        )
        assert members is not None
        (spread,) = ensemble_spreads(members)
        numbers[6:] = [MEMBERS, spread.mean, spread.sd, (m - 1.0) / spread.sd]
    return dict(zip(COLUMNS, numbers, strict=True))


def scatter_of(errors: list[float]) -> str:
    """Return root mean square, mean and spread, with their sampling errors."""
    count, values = len(errors), np.array(errors)
    square = math.sqrt(float(np.mean(values**2)))
    scatter = float(values.std(ddof=1))
    return (
        f"r.m.s. {square:.2f}, mean {values.mean():+.2f} ± {scatter / math.sqrt(count):.2f}, "
        f"scatter {scatter:.2f} ± {scatter / math.sqrt(2 * count):.2f}"
    )


def main() -> int:
    """Compute the missing lines of the table, and print the errors of the estimates."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--folder", type=Path, default=ROOT / "runs/ensemble")
    options.add_argument(
        "--sets", nargs="*", default=SETS, help="POINTS:BACKGROUND:TWINS:ENSEMBLES"
    )
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if not TABLE.exists():
        TABLE.write_text(",".join(COLUMNS) + "\n")
    for text in given.sets:
        points, background, count, ensembles = (json.loads(part) for part in text.split(":"))
        with TABLE.open() as file:
            rows = [
                {name: float(value) for name, value in row.items()} for row in csv.DictReader(file)
            ]
        rows = [row for row in rows if (row["points"], row["background"]) == (points, background)]
        there = {int(row["seed"]) for row in rows}
        for seed in sorted(set(range(count)) - there):
            rows.append(twin(points, background, seed, given.folder, seed < ensembles))
            with TABLE.open("a", newline="") as file:
                csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(rows[-1])
        print(f"{points} x {points} points, background {background}")
        print(
            f"  {len(rows)} twins, by curvature: {scatter_of([row['error_in_sd'] for row in rows])}"
        )
        with_members = [row for row in rows if row["members"]]
        if with_members:
            print(f"  {len(with_members)} of them with an ensemble")
            print(f"    by curvature: {scatter_of([row['error_in_sd'] for row in with_members])}")
            print(
                f"    by scatter:   {scatter_of([row['error_in_spread'] for row in with_members])}"
            )
            ratio = np.mean([row["spread"] / row["sd"] for row in with_members])
            shift = np.mean([(row["mean"] - row["m"]) / row["sd"] for row in with_members])
            print(f"    scatter over sd {ratio:.2f}, members' mean less estimate {shift:+.2f} sd")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
