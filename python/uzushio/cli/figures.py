"""Write the results of a run or an assimilation again, from a checkpoint (`uzushio figures`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio import checkpoint
from uzushio.case import registry
from uzushio.case.model import Case, Output, load_case, read_document
from uzushio.errors import OutputError
from uzushio.files import read_summary
from uzushio.job import run_folder
from uzushio.job.monitor import RankZeroOutput
from uzushio.job.options import Options
from uzushio.job.restart import without_job
from uzushio.job.results import RunResults, import_modules
from uzushio.job.run_lock import RunLock
from uzushio.job.saved_state import restore
from uzushio.parallel import memory
from uzushio.parallel.collective import collective
from uzushio.parallel.signals import Stop
from uzushio.solver import Solver
from uzushio.statistics.averages import TimeAverage

if TYPE_CHECKING:
    from mpi4py import MPI


def write_again(comm: MPI.Comm, options: Options) -> int:
    """Write the data, figures and summary of what is at `options.restart` (collective).

    Returns:
        The exit status, as `ResultWriter.write`.

    Raises:
        UzushioError: there is no run or no checkpoint, or another job works in the folder.
    """
    assert options.restart is not None
    stop, lock = Stop(), RunLock()
    run = checkpoint.run_of(options.restart)
    try:
        with stop.listening():
            assimilation, overrides = _case(run, comm)
            if assimilation:
                from uzushio.assimilation import again

                return again.write_again(run, overrides, comm, options, stop, lock)
            return _of_run(run, overrides, comm, options, stop, lock)
    finally:
        lock.release()


def _of_run(
    run: Path, overrides: list[str], comm: MPI.Comm, options: Options, stop: Stop, lock: RunLock
) -> int:
    """Write the results of the run of a solver; returns the exit status (collective)."""
    assert options.restart is not None
    case, output = (
        load_case(run / run_folder.CASE, overrides),
        RankZeroOutput(comm.rank, options.quiet),
    )
    kind = registry.solver_class(case.solver)
    with collective(comm):
        if comm.rank == 0:
            import_modules(RunResults.modules(kind, figures=True))
            lock.take(run)
    memory.require(comm, kind.estimate(case, comm.size).memory_per_rank, "the figures")
    solver, average = kind(case, comm), TimeAverage()
    found = restore(options.restart, case, solver, comm, options.fallback, output.warn)
    with collective(comm):
        if comm.rank == 0 and found.manifest.statistics.get("samples"):
            average.restore(*found.averages())
    results = RunResults(
        comm=comm,
        folder=run,
        latest=found.path,
        output=output,
        stop=stop,
        figures=True,
        case=case,
        solver=solver,
        average=average,
    )
    return results.write(_head(case, solver, found, run, comm))


def _case(run: Path, comm: MPI.Comm) -> tuple[bool, list[str]]:
    """Whether a run is an assimilation, and overrides of its case (collective).

    They leave out what it published and where its ranks were.
    """
    file = run / run_folder.CASE
    assimilation, overrides = False, list[str]()
    with collective(comm):
        if comm.rank == 0:
            if not file.is_file():
                raise OutputError(f"{run} holds no {run_folder.CASE}; name the folder of a run.")
            values = read_document(file).values
            assimilation = "model" in values
            overrides = [*([] if assimilation else ["publish=null"]), *without_job(file)]
            if not (values.get("output") or {}).get("figures", True):
                overrides.append(f"output.figures={json.dumps(Output().figures)}")
    told: tuple[bool, list[str]] = comm.bcast((assimilation, overrides))
    return told


def _head(
    case: Case, solver: Solver, found: checkpoint.Checkpoint, run: Path, comm: MPI.Comm
) -> dict[str, Any]:
    """What the summary has beside results: as it was, or what is known without it (collective)."""
    before = comm.bcast(read_summary(run) if comm.rank == 0 else None)
    if before.get("step") == solver.step_index:
        return dict(before)
    head = run_folder.summary_head(
        case, case.solver, comm.size, solver.step_index, found.path, None
    )
    return {**head, "steps_done": None, "seconds_per_step": None, "published": None}
