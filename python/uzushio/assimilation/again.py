"""Write the results of an assimilation again, from a checkpoint (`uzushio figures`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio._base.files import read_summary
from uzushio._base.parallel import memory
from uzushio._base.parallel.sync import on_root
from uzushio._job import run_folder
from uzushio._job.case_job import CaseJob
from uzushio._job.options import JobOptions
from uzushio.assimilation import saved
from uzushio.assimilation.assimilation import Assimilation
from uzushio.assimilation.case import AssimilationCase, load_assimilation
from uzushio.assimilation.deviations import Deviation
from uzushio.assimilation.ensemble import EnsembleSpread, Member, ensemble_spreads
from uzushio.assimilation.memory import needs
from uzushio.assimilation.results import AssimilationResults

if TYPE_CHECKING:
    from mpi4py import MPI


def write_again(run: Path, overrides: list[str], comm: MPI.Comm, options: JobOptions) -> int:
    """Write estimate, history, figures and summary of an assimilation (collective).

    No iteration is done, and no standard deviation is computed: those that the summary of the same
    iteration does not have are unknown.

    Args:
        run: folder of the assimilation.
        overrides: overrides of the case there.
        comm: all ranks.
        options: `restart` is the folder or checkpoint.

    Returns:
        The exit status, as `ResultWriter.write`.

    Raises:
        UzushioError: there is no checkpoint, or another job works in the folder.
    """
    assert options.restart is not None
    case = load_assimilation(run / run_folder.CASE, overrides)
    with CaseJob(case, case.checkpoint, comm, options, "iteration") as job:
        job.reopen(AssimilationResults.modules(figures=True))
        memory.require(comm, needs(case, comm.size).required, "the figures")
        work = Assimilation(case, comm)
        restored = saved.open_saved(options.restart, case, comm, options.restart_fallback, job.warn)
        job.restored = job.latest = restored.path
        work.problem.observe()
        work.start(restored)
        work.choose()
        step = work.setup.search.iteration
        before = on_root(comm, lambda: _summary_of(run, step))
        members = on_root(comm, lambda: _members(work, run, case))
        results = AssimilationResults(
            job=job,
            work=work,
            deviations=_deviations(work, run, before, members),
            members=members,
            seconds_in=None,
            before=before,
        )
        return results.write(job.summary_head(case.model, step, None))


def _summary_of(run: Path, step: int) -> Mapping[str, Any] | None:
    """Return the summary of a run if it is of this iteration."""
    stored = read_summary(run)
    return stored if stored.get("step") == step and "results" in stored else None


def _members(work: Assimilation, run: Path, case: AssimilationCase) -> list[Member]:
    """Return the members of an ensemble if all of them are stored."""
    wanted = case.uncertainty
    if wanted.kind != "ensemble":
        return []
    done = work.member_files(run).done(wanted.members)
    return [done[number] for number in sorted(done)] if len(done) == wanted.members else []


def _deviations(
    work: Assimilation, run: Path, before: Mapping[str, Any] | None, members: list[Member]
) -> list[Deviation]:
    """Return the standard deviations of the parameters that the files contain."""
    names = work.history.parameters
    if before is not None:
        stored = [dict(before["results"]["parameters"][name]) for name in names]
        return [_deviation(row) for row in stored]
    why = f"not known; uzushio assimilate --restart {run} finds it at the end"
    unknown = [Deviation.unknown(why) for _ in names]
    if not members:
        return unknown
    scatter = zip(unknown, ensemble_spreads(members), strict=True)
    return [replace(deviation, ensemble=spread) for deviation, spread in scatter]


def _deviation(stored: Mapping[str, Any]) -> Deviation:
    """Make a deviation from its entry in the summary."""
    spread = None if stored.get("ensemble") is None else EnsembleSpread(**stored["ensemble"])
    return Deviation(
        stored.get("sd"),
        stored.get("note", ""),
        stored.get("products", 0),
        stored.get("residual"),
        stored.get("to_minimum"),
        spread,
    )
