"""Write the results of an assimilation again, from a checkpoint (`uzushio figures`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio.assimilation import saved
from uzushio.assimilation.assimilation import Assimilation
from uzushio.assimilation.case import AssimilationCase, load_assimilation
from uzushio.assimilation.deviations import Deviation
from uzushio.assimilation.ensemble import EnsembleSpread, Member, ensemble_spreads
from uzushio.assimilation.memory import needs
from uzushio.assimilation.results import AssimilationResults
from uzushio.files import read_summary
from uzushio.job import run_folder
from uzushio.job.monitor import RankZeroOutput
from uzushio.job.options import Options
from uzushio.job.results import import_modules
from uzushio.job.run_lock import RunLock
from uzushio.parallel import memory
from uzushio.parallel.collective import collective
from uzushio.parallel.signals import Stop

if TYPE_CHECKING:
    from mpi4py import MPI


def write_again(
    run: Path,
    overrides: list[str],
    comm: MPI.Comm,
    options: Options,
    stop: Stop,
    lock: RunLock,
) -> int:
    """Write estimate, history, figures and summary of an assimilation (collective).

    No iteration is done, and no standard deviation is computed: what the summary of the same
    iteration does not say is left open.

    Args:
        run: its folder.
        overrides: of the case there.
        comm: all ranks.
        options: say which checkpoint.
        stop: a signal ends the drawing.
        lock: that is taken.

    Returns:
        The exit status, as `ResultWriter.write`.

    Raises:
        UzushioError: there is no checkpoint, or another job works in the folder.
    """
    assert options.restart is not None
    output = RankZeroOutput(comm.rank, options.quiet)
    case = load_assimilation(run / run_folder.CASE, overrides)
    with collective(comm):
        if comm.rank == 0:
            import_modules(AssimilationResults.modules(figures=True))
            lock.take(run)
    memory.require(comm, needs(case, comm.size).required, "the figures")
    work = Assimilation(case, comm)
    found = saved.open_saved(options.restart, case, comm, options.fallback, output.warn)
    work.problem.observe()
    work.start(found)
    step = work.parts.search.iteration
    before: Mapping[str, Any] | None = comm.bcast(_summary_of(run, step) if not comm.rank else None)
    members: list[Member] = comm.bcast(_members(work, run, case) if not comm.rank else None)
    results = AssimilationResults(
        comm=comm,
        folder=run,
        latest=found.path,
        output=output,
        stop=stop,
        figures=True,
        work=work,
        found=_deviations(work, run, before, members),
        members=members,
        seconds_in=None,
        before=before,
    )
    head = run_folder.summary_head(case, case.model, comm.size, step, found.path, None)
    return results.write(head)


def _summary_of(run: Path, step: int) -> Mapping[str, Any] | None:
    """The summary of a run, if it is of this iteration."""
    told = read_summary(run)
    return told if told.get("step") == step and "results" in told else None


def _members(work: Assimilation, run: Path, case: AssimilationCase) -> list[Member]:
    """The members of an ensemble, if all of them are there."""
    wanted = case.uncertainty
    if wanted.kind != "ensemble":
        return []
    done = work.member_files(run).done(wanted.members)
    return [done[number] for number in sorted(done)] if len(done) == wanted.members else []


def _deviations(
    work: Assimilation, run: Path, before: Mapping[str, Any] | None, members: list[Member]
) -> list[Deviation]:
    """Standard deviations of the parameters, as far as files tell them."""
    names = work.history.parameters
    if before is not None:
        told = [dict(before["results"]["parameters"][name]) for name in names]
        return [_deviation(one) for one in told]
    why = f"not known; uzushio assimilate --restart {run} finds it at the end"
    unknown = [Deviation.unknown(why) for _ in names]
    if not members:
        return unknown
    scatter = zip(unknown, ensemble_spreads(members), strict=True)
    return [replace(one, ensemble=spread) for one, spread in scatter]


def _deviation(told: Mapping[str, Any]) -> Deviation:
    """A deviation from its entry in the summary."""
    spread = None if told.get("ensemble") is None else EnsembleSpread(**told["ensemble"])
    return Deviation(
        told.get("sd"),
        told.get("note", ""),
        told.get("products", 0),
        told.get("residual"),
        told.get("to_minimum"),
        spread,
    )
