"""Part of the page on an assimilation: parameters and their standard deviations first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from uzushio.report import words
from uzushio.report.results import Run

#: Remarks on the standard deviations; the how-to explains them in detail.
_LINEAR = (
    "± is one standard deviation, from the curvature of J at the estimate: a linearisation. Errors "
    "are larger where the model is far from linear within the background's sigma. The case's "
    "uncertainty: ensemble finds it from perturbed assimilations. It is valid if the model, sigma "
    "and background are right."
)
_ENSEMBLE = (
    "± is one standard deviation: the spread of {members} perturbed assimilations, known to within "
    "{error:.0f} % of it. That from the curvature of J at the estimate, a linearisation, is beside."
)

_VERDICTS = {
    "good": "The fit is good.",
    "poor": "The fit is poor: the model, the sigmas or some observations are wrong, or J has "
    "another minimum. The estimate may be far from the truth, and its standard deviation is not "
    "valid.",
    "too close": "The fit is too close: the sigma of observations or background, and so the "
    "standard deviations, are probably too large.",
}


def is_one(run: Run) -> bool:
    """Return whether a run is an assimilation."""
    return run.summary.get("kind") == "assimilation"


def sentence(run: Run) -> str:
    """Return one sentence on the assimilation and its result."""
    summary = run.summary
    model, iterations = summary.get("solver"), words.value("", summary.get("step"))
    if run.ended:
        ranks = summary.get("ranks")
        where = f"on {ranks} {'rank' if ranks == 1 else 'ranks'}, {iterations} iterations"
    elif summary.get("step") is not None:
        where = f"with a checkpoint of iteration {iterations}"
    else:
        where = "without a checkpoint"
    fitted = ", ".join(
        f"{name} = {_estimate(parameter)}{_truth(parameter)}"
        for name, parameter in _parameters(run).items()
    )
    return f"Assimilation with the model {model} {where}{': ' if fitted else ''}{fitted}."


def key_figures(run: Run) -> list[tuple[str, str]]:
    """Return the estimates and their cost, for the tiles."""
    summary = run.summary
    tiles = [(name, _estimate(parameter)) for name, parameter in _parameters(run).items()]
    if fit := _fit(run):
        expected = f"expected {fit['expected_at_most']:.3g} ± {fit['spread']:.2g}"
        tiles.append(("2J/N", f"{fit['ratio']:.4g} ({expected})"))
    if summary.get("iterations") is not None:
        tiles.append(("iterations", words.value("", summary["iterations"])))
    if summary.get("seconds") is not None:
        tiles.append((words.name("seconds"), words.value("seconds", summary["seconds"])))
    return tiles


class Estimates(NamedTuple):
    """Table of parameters: the last `numbers` columns are numbers."""

    head: list[str]
    rows: list[tuple[str, ...]]
    numbers: int
    note: str


def estimates(run: Run) -> Estimates:
    """Return the table of parameters; without rows if there are none."""
    parameters = _parameters(run)
    by_ensemble = any(parameter.get("ensemble") for parameter in parameters.values())
    head = ["", "estimate", *(["± by curvature"] if by_ensemble else []), "truth", "first guess"]
    rows = []
    for name, entry in parameters.items():
        linear = [words.value("", entry.get("sd"))] if by_ensemble else []
        places = _places(_deviation(entry))
        rest = [_number(entry.get(key), places) for key in ("truth", "first_guess")]
        rows.append((name, _estimate(entry), *linear, *rest, str(entry.get("note") or "")))
    if any(row[-1] for row in rows):
        return Estimates([*head, "note"], rows, 0, _note(run))
    return Estimates(head, [row[:-1] for row in rows], 4, _note(run))


def _note(run: Run) -> str:
    """Return explanations of the standard deviations and of the goodness of fit."""
    return " ".join(filter(None, [_note_on_deviations(run), _note_on_fit(run)]))


def _note_on_fit(run: Run) -> str:
    fit = _fit(run)
    if not fit:
        return ""
    chi_square = words.value("", fit["chi_square"])
    return (
        f"Fit to {fit['values']} observations: 2J/N is {fit['ratio']:.4g}, expected "
        f"{fit['expected_at_most']:.4g} ± {fit['spread']:.2g}; chi² is {chi_square} a value and "
        f"{fit['robust_chi_square']:.4g} from the median; {fit['beyond_5_sigma']} residuals are "
        f"beyond 5 sigma. {_VERDICTS.get(str(fit['verdict']), '')}"
    )


def _note_on_deviations(run: Run) -> str:
    parameters = _parameters(run).values()
    for parameter in parameters:
        ensemble = parameter.get("ensemble")
        if ensemble:
            error = 100.0 * float(ensemble["sampling_error"])
            return _ENSEMBLE.format(members=ensemble["members"], error=error)
    return _LINEAR if any(entry.get("sd") is not None for entry in parameters) else ""


def _fit(run: Run) -> Mapping[str, Any]:
    """Return the goodness of fit; empty if it is not known."""
    fit = (run.summary.get("results") or {}).get("fit") or {}
    return fit if is_one(run) else {}


def _parameters(run: Run) -> Mapping[str, Mapping[str, Any]]:
    parameters = (run.summary.get("results") or {}).get("parameters") or {}
    return parameters if is_one(run) else {}


def _deviation(parameter: Mapping[str, Any]) -> float | None:
    """Return the best standard deviation that is known."""
    deviation = (parameter.get("ensemble") or parameter).get("sd")
    return None if deviation is None else float(deviation)


def _estimate(parameter: Mapping[str, Any]) -> str:
    """Format an estimate with its standard deviation, with two digits of the latter."""
    sd = _deviation(parameter)
    places = _places(sd)
    text = _number(parameter.get("estimate"), places)
    return text if sd is None else f"{text} ± {_number(sd, places)}"


def _truth(parameter: Mapping[str, Any]) -> str:
    truth = parameter.get("truth")
    return "" if truth is None else f" (truth {words.value('', truth)})"


def _places(sd: float | None) -> int | None:
    """Return the decimal places for two digits of a standard deviation, or None."""
    if sd is None or not (math.isfinite(sd) and 1e-12 < sd < 1e6):
        return None
    return max(0, 1 - math.floor(math.log10(sd)))


def _number(value: float | None, places: int | None) -> str:
    if value is None or places is None:
        return words.value("", value)
    return f"{value:.{places}f}".replace("-", "−")
