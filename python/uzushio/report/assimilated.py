"""What the page says of an assimilation: parameters and their standard deviations first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from uzushio.report import elements as e
from uzushio.report import words
from uzushio.report.results import Run

#: Of the standard deviations; what the how-to says at length.
_LINEAR = (
    "± is one standard deviation, from the curvature of J at the estimate: a linearisation. Errors "
    "are larger where the model is far from linear within the background's sigma. The case's "
    "uncertainty: ensemble finds it from perturbed assimilations."
)
_ENSEMBLE = (
    "± is one standard deviation: the spread of {members} perturbed assimilations, known to within "
    "{error:.0f} % of it. That from the curvature of J at the estimate, a linearisation, is beside."
)


def is_one(run: Run) -> bool:
    """Whether a run is an assimilation."""
    return run.summary.get("kind") == "assimilation"


def sentence(run: Run) -> str:
    """What was run and what came out, in one sentence."""
    told = run.summary
    model, iterations = told.get("solver"), words.value("", told.get("step"))
    if run.ended:
        ranks = told.get("ranks")
        where = f"on {ranks} {'rank' if ranks == 1 else 'ranks'}, {iterations} iterations"
    elif told.get("step") is not None:
        where = f"with a checkpoint of iteration {iterations}"
    else:
        where = "without a checkpoint"
    found = ", ".join(
        f"{name} = {_estimate(one)}{_truth(one)}" for name, one in _parameters(run).items()
    )
    return f"Assimilation with the model {model} {where}{': ' if found else ''}{found}."


def key_figures(run: Run) -> list[tuple[str, str]]:
    """The estimates, for the tiles, and what they took."""
    told = run.summary
    tiles = [(name, _estimate(one)) for name, one in _parameters(run).items()]
    if told.get("iterations") is not None:
        tiles.append(("iterations", words.value("", told["iterations"])))
    if told.get("seconds") is not None:
        tiles.append((words.name("seconds"), words.value("seconds", told["seconds"])))
    return tiles


def estimates(run: Run) -> str:
    """The table of parameters; nothing if there is none."""
    parameters = _parameters(run)
    by_ensemble = any(one.get("ensemble") for one in parameters.values())
    head = ["", "estimate", *(["± by curvature"] if by_ensemble else []), "truth", "first guess"]
    rows = []
    for name, one in parameters.items():
        linear = [words.value("", one.get("sd"))] if by_ensemble else []
        places = _places(_deviation(one))
        rest = [_number(one.get(key), places) for key in ("truth", "first_guess")]
        rows.append((name, _estimate(one), *linear, *rest, str(one.get("note") or "")))
    if not any(row[-1] for row in rows):
        return e.section("Estimates", e.table([row[:-1] for row in rows], head, 4), note=_note(run))
    return e.section("Estimates", e.table(rows, (*head, "note")), note=_note(run))


def _note(run: Run) -> str:
    """What the standard deviations are."""
    parameters = _parameters(run).values()
    for one in parameters:
        ensemble = one.get("ensemble")
        if ensemble:
            error = 100.0 * float(ensemble["sampling_error"])
            return _ENSEMBLE.format(members=ensemble["members"], error=error)
    return _LINEAR if any(one.get("sd") is not None for one in parameters) else ""


def _parameters(run: Run) -> Mapping[str, Mapping[str, Any]]:
    found = (run.summary.get("results") or {}).get("parameters") or {}
    return found if is_one(run) else {}


def _deviation(one: Mapping[str, Any]) -> float | None:
    """The best standard deviation that there is."""
    found = (one.get("ensemble") or one).get("sd")
    return None if found is None else float(found)


def _estimate(one: Mapping[str, Any]) -> str:
    """The estimate with its standard deviation, both to two figures of that."""
    sd = _deviation(one)
    places = _places(sd)
    text = _number(one.get("estimate"), places)
    return text if sd is None else f"{text} ± {_number(sd, places)}"


def _truth(one: Mapping[str, Any]) -> str:
    truth = one.get("truth")
    return "" if truth is None else f" (truth {words.value('', truth)})"


def _places(sd: float | None) -> int | None:
    """Decimal places that show two figures of a standard deviation; None where none do."""
    if sd is None or not (math.isfinite(sd) and 1e-12 < sd < 1e6):
        return None
    return max(0, 1 - math.floor(math.log10(sd)))


def _number(value: float | None, places: int | None) -> str:
    if value is None or places is None:
        return words.value("", value)
    return f"{value:.{places}f}".replace("-", "−")
