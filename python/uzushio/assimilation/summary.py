"""Summary of an assimilation, for `summary.json` and for the message at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from uzushio.assimilation.assimilation import Assimilation
from uzushio.assimilation.deviations import FAR, Deviation

if TYPE_CHECKING:
    from mpi4py import MPI

#: Remark on standard deviations from the Hessian.
_LINEARISED = (
    "± is one standard deviation from the curvature of J, a linearisation: errors are larger where "
    "the model is far from linear within the background's sigma. uncertainty=ensemble finds it "
    "from perturbed assimilations; docs/how-to/assimilate.md has figures."
)


def summarise(work: Assimilation, found: Sequence[Deviation]) -> dict[str, Any]:
    """Return the entries of `summary.json` after its head, as plain values (collective).

    Args:
        work: the assimilation in its current state.
        found: standard deviations of the parameters.
    """
    problem, history = work.problem, work.history
    search, cost, evaluator, space = work.parts
    plan, estimate = cost.sweeps.plan, space.parameters(search.point)
    observed, whole = problem.observed_counts()
    parameters = {}
    for index, quantity in enumerate(problem.model.parameters):
        truth = problem.truth
        parameters[quantity.name] = {
            "estimate": float(estimate[index]),
            "first_guess": float(problem.guess.parameters[index]),
            "truth": None if truth is None else float(truth.parameters[index]),
            **asdict(found[index]),
        }
    return {
        "kind": "assimilation",
        "groups": problem.groups.count,
        "iterations": search.iteration,
        "ended": work.ended(),
        "results": {
            "J": search.value,
            "steps_looked_at": history.window,
            "largest_gradient": search.projected(),
            "parameters": parameters,
            "forward_runs": evaluator.forward_runs,
            "backward_runs": work.runs_backward(),
            "gradients": evaluator.gradients,
            "bytes_shared_between_groups": evaluator.shared_bytes,
            "units": space.scales.tolist(),
        },
        "windows": work.windows,
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
            "masked": whole - observed,
        },
        "counters": _over_ranks(problem.model.counters(), work.comm),
    }


def _over_ranks(counters: Mapping[str, Any], comm: MPI.Comm) -> dict[str, Any]:
    """Return minimum, maximum and mean over the ranks of each counter (collective).

    Values that are not numbers are those of rank 0.
    """
    found: list[Mapping[str, Any]] = comm.allgather(dict(counters))
    result = dict(found[0])
    for name in counters:
        values = [one[name] for one in found]
        if all(isinstance(value, int | float) for value in values):
            mean = sum(values) / len(values)
            result[name] = {"min": min(values), "max": max(values), "mean": mean}
    return result


def ending(summary: Mapping[str, Any]) -> str:
    """Return sentences on the end and the estimates."""
    lines = [f"Ended: {summary['ended']}."]
    for name, one in summary["results"]["parameters"].items():
        ensemble = one["ensemble"]
        spread = f" ± {one['sd']:.2g}" if one["sd"] is not None else f" (sd: {one['note']})"
        if ensemble is not None:
            linear = one["note"] if one["sd"] is None else f"± {one['sd']:.2g}"
            error = 100.0 * ensemble["sampling_error"]
            spread = (
                f" ± {ensemble['sd']:.2g} ({ensemble['members']} perturbed assimilations, known to "
                f"within {error:.0f} %; from the curvature of J: {linear})"
            )
        truth = f", truth {one['truth']:.6g}" if one["truth"] is not None else ""
        lines.append(f"{name} = {one['estimate']:.6g}{spread}{truth}")
        if one["sd"] is not None and one["note"]:
            lines.append(f"{name}: {one['note']}.")
        if one["sd"] is not None and abs(one["to_minimum"] or 0.0) > FAR * one["sd"]:
            there = one["estimate"] + one["to_minimum"]
            lines.append(
                f"J decreases towards {name} = {there:.6g}, its expected minimum, which the search "
                "has not reached; continue with --restart and more optimiser.iterations or a "
                "smaller optimiser.tolerance."
            )
    parameters = summary["results"]["parameters"].values()
    if any(one["sd"] is not None and one["ensemble"] is None for one in parameters):
        lines.append(_LINEARISED)
    return "\n".join(lines)
