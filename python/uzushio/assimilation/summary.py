"""Summary of an assimilation, for `summary.json` and for the message at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from uzushio.assimilation.assimilation import Assimilation
from uzushio.assimilation.deviations import FAR, Deviation
from uzushio.assimilation.fit import Fit

if TYPE_CHECKING:
    from mpi4py import MPI

#: Share of values beyond 5 sigma (6e-7 if all errors are normal) that is remarkable.
_WRONG = 1e-4
#: Remark on standard deviations from the Hessian.
_LINEARISED = (
    "± is one standard deviation from the curvature of J, valid if the model, sigma and background "
    "are right. It is a linearisation: errors are larger where "
    "the model is far from linear within the background's sigma. uncertainty=ensemble finds it "
    "from perturbed assimilations; docs/how-to/assimilate.md has figures."
)


def summarise(
    work: Assimilation, deviations: Sequence[Deviation], fit: Fit | None
) -> dict[str, Any]:
    """Return the entries of `summary.json` after its head, as plain values (collective).

    Args:
        work: the assimilation in its current state.
        deviations: standard deviations of the parameters.
        fit: goodness of fit, or None.
    """
    problem, history = work.problem, work.history
    search, cost, evaluator, space = work.setup
    plan, estimate = cost.sweeps.plan, space.parameters(search.point)
    observed, whole = problem.observed_counts()
    parameters = {}
    for index, quantity in enumerate(problem.model.parameters):
        truth = problem.truth
        parameters[quantity.name] = {
            "estimate": float(estimate[index]),
            "first_guess": float(problem.guess.parameters[index]),
            "truth": None if truth is None else float(truth.parameters[index]),
            **asdict(deviations[index]),
        }
    return {
        "kind": "assimilation",
        "groups": problem.groups.count,
        "iterations": search.iteration,
        "ended": work.ended(),
        "results": {
            "J": search.value,
            "steps_looked_at": history.window,
            "observations_looked_at": problem.observed_within(history.window),
            "fit": None if fit is None else fit.figures(),
            "largest_gradient": search.projected(),
            "parameters": parameters,
            "forward_runs": evaluator.forward_runs,
            "backward_runs": work.runs_backward(),
            "gradients": evaluator.gradients,
            "bytes_shared_between_groups": evaluator.shared_bytes,
            "units": space.scales.tolist(),
        },
        "windows": work.windows,
        "remarks": work.remarks,
        "tried_again": work.tried_again,
        "trajectory": {
            "states_that_fit": problem.states,
            "snapshots": plan.snapshots,
            "window": plan.window,
            "forward_steps_a_gradient": plan.forward_steps,
            "steps": plan.steps,
            "kept_every": problem.model.every,
        },
        "counts": asdict(cost.counts),
        "observations": {
            "times": len(problem.observations.steps),
            "values": observed,
            "masked": whole - observed - problem.rejected,
            "rejected": problem.rejected,
        },
        "counters": _over_ranks(problem.model.counters(), work.comm),
    }


def _part(summary: Mapping[str, Any]) -> str:
    """Return words on a standard deviation of a part of the run, or of a poor fit; or nothing."""
    results = summary["results"]
    steps, whole = results["steps_looked_at"], summary["windows"][-1]
    words = [f"of {steps} of {whole} steps"] if steps < whole else []
    if results["fit"] is not None and results["fit"]["verdict"] == "poor":
        words.append("not valid: the fit is poor")
    return f" ({'; '.join(words)})" if words else ""


def fit_lines(fit: Mapping[str, Any]) -> list[str]:
    """Return sentences on the goodness of fit, from its entry in the summary."""
    low, high = fit["expected"], fit["expected_at_most"]
    expected = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    lines = [
        f"Fit to N = {fit['values']} observations: 2J/N = {fit['ratio']:.4g} (expected {expected} "
        f"± {fit['spread']:.2g}), J_o = {fit['J_o']:.6g}, J_b = {fit['J_b']:.6g}: {fit['verdict']}."
    ]
    if fit["chi_square"] is not None:
        desroziers = fit["desroziers"]
        consistent = "" if desroziers is None else f", mean (o - a)(o - b) {desroziers:.4g} sigma²"
        lines.append(
            f"Residuals o - a: chi² {fit['chi_square']:.4g} a value "
            f"({fit['robust_chi_square']:.4g} from the median), mean {fit['residual_mean']:.2g} "
            f"sigma{consistent}; {fit['beyond_3_sigma']} beyond 3 sigma, {fit['beyond_5_sigma']} "
            "beyond 5."
        )
    if fit["huber"] is not None:
        share = 100.0 * fit["linear"] / fit["values"]
        normal = 100.0 * math.erfc(fit["huber"] / math.sqrt(2.0))
        lines.append(
            f"Huber's norm: {fit['linear']} values ({share:.3g} %) are beyond {fit['huber']:g} "
            f"sigma and count linearly; {normal:.2g} % if all errors are normal."
        )
        if fit["beyond_5_sigma"] > _WRONG * fit["values"]:
            lines.append(
                "Those beyond 5 sigma still pull, each with the same force: if they are wrong on "
                "one side, the estimate is shifted by more than its standard deviation. Mask them "
                "then."
            )
    if fit["verdict"] == "too close":
        lines.append(
            "The estimate is closer to the observations than their sigma: it, or the background's, "
            "is probably too large, and so are the standard deviations."
        )
    return lines


def poor_fit(fit: Fit, ended: bool = True) -> str:
    """Return a warning about a poor fit; `ended`: whether the search has reached a minimum."""
    if fit.huber is None:
        what = f"2J/N is {fit.ratio:.4g}, expected {fit.expected_at_most:.4g} ± {fit.spread:.2g}"
    else:
        what = f"chi² from the median is {fit.robust_chi_square:.4g}, expected 1"
    if fit.poor_times:
        worst = max(fit.times, key=lambda time_fit: time_fit.chi_square or 0.0)
        what += (
            f"; at {fit.poor_times} of {len(fit.times)} times chi² is too large, most at "
            f"t = {worst.time:g} ({worst.chi_square or math.inf:.4g} a value)"
        )
    if not ended:
        return (
            f"the fit is poor: {what}. The search has not reached a minimum: continue with "
            "--restart and more optimiser.iterations before you use the estimate."
        )
    cure = ""
    if fit.beyond_5_sigma and fit.huber is None:
        share = 100.0 * fit.beyond_5_sigma / fit.values
        cure = (
            f" {share:.2g} % of the residuals are beyond 5 sigma: if these observations are wrong, "
            "mask them, or set observations.huber (1.5)."
        )
    return (
        f"the fit is poor: {what}. The model, the sigmas or some observations are wrong, or J has "
        "another minimum; the estimate may be far from the truth, and its standard deviation is "
        f"not valid.{cure}"
    )


def _over_ranks(counters: Mapping[str, Any], comm: MPI.Comm) -> dict[str, Any]:
    """Return minimum, maximum and mean over the ranks of each counter (collective).

    Values that are not numbers are those of rank 0.
    """
    rank_counters: list[Mapping[str, Any]] = comm.allgather(dict(counters))
    result = dict(rank_counters[0])
    for name in counters:
        values = [of_rank[name] for of_rank in rank_counters]
        if all(isinstance(value, int | float) for value in values):
            mean = sum(values) / len(values)
            result[name] = {"min": min(values), "max": max(values), "mean": mean}
    return result


def ending(summary: Mapping[str, Any]) -> str:
    """Return sentences on the end and the estimates."""
    lines = [f"Ended: {summary['ended']}."]
    fit = summary["results"]["fit"]
    if fit is not None:
        lines += fit_lines(fit)
    part = _part(summary)
    for name, parameter in summary["results"]["parameters"].items():
        ensemble = parameter["ensemble"]
        spread = (
            f" ± {parameter['sd']:.2g}"
            if parameter["sd"] is not None
            else f" (sd: {parameter['note']})"
        )
        if ensemble is not None:
            linear = (
                parameter["note"] if parameter["sd"] is None else f"± {parameter['sd']:.2g}{part}"
            )
            error = 100.0 * ensemble["sampling_error"]
            spread = (
                f" ± {ensemble['sd']:.2g} ({ensemble['members']} perturbed assimilations, known to "
                f"within {error:.0f} %; from the curvature of J: {linear})"
            )
        truth = f", truth {parameter['truth']:.6g}" if parameter["truth"] is not None else ""
        if parameter["sd"] is not None and ensemble is None:
            spread += part
        lines.append(f"{name} = {parameter['estimate']:.6g}{spread}{truth}")
        if parameter["sd"] is not None and parameter["note"]:
            lines.append(f"{name}: {parameter['note']}.")
        if (
            parameter["sd"] is not None
            and abs(parameter["to_minimum"] or 0.0) > FAR * parameter["sd"]
        ):
            there = parameter["estimate"] + parameter["to_minimum"]
            lines.append(
                f"J decreases towards {name} = {there:.6g}, its expected minimum, which the search "
                "has not reached; continue with --restart and more optimiser.iterations or a "
                "smaller optimiser.tolerance."
            )
    parameters = summary["results"]["parameters"].values()
    if any(
        parameter["sd"] is not None and parameter["ensemble"] is None for parameter in parameters
    ):
        lines.append(_LINEARISED)
    return "\n".join(lines)
