"""Write the results of a run again, from a checkpoint (`uzushio figures`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio import checkpoint, memory, registry, run_folder
from uzushio.case import Case, Output, load_case, read_document
from uzushio.collective import collective
from uzushio.errors import CaseError, OutputError
from uzushio.monitor import Voice
from uzushio.options import Options
from uzushio.restart import without_job
from uzushio.results import RunResults, import_modules
from uzushio.run_lock import RunLock
from uzushio.saved_state import restore
from uzushio.signals import Stop
from uzushio.solver import Solver
from uzushio.statistics import TimeAverage

if TYPE_CHECKING:
    from mpi4py import MPI


def write_again(comm: MPI.Comm, options: Options) -> int:
    """Write statistics, figures and summary of the run at `options.restart` (collective).

    Returns:
        The exit status, as `RunResults.write`.

    Raises:
        UzushioError: there is no run or no checkpoint, or another job works in the folder.
    """
    assert options.restart is not None
    stop, lock = Stop(), RunLock()
    run, voice = checkpoint.run_of(options.restart), Voice(comm.rank, options.quiet)
    try:
        with stop.listening():
            case = _case(run, options, comm)
            kind = registry.solver_class(case.solver)
            with collective(comm):
                if comm.rank == 0:
                    import_modules(RunResults.modules(kind, figures=True))
                    lock.take(run)
            memory.require(comm, kind.estimate(case, comm.size).memory_per_rank, "the figures")
            solver, average = kind(case, comm), TimeAverage()
            found = restore(options.restart, case, solver, comm, options.fallback, voice.warn)
            with collective(comm):
                if comm.rank == 0 and found.manifest.statistics.get("samples"):
                    average.restore(*found.averages())
            results = RunResults(
                case, solver, average, comm, run, found.path, voice, stop, figures=True
            )
            return results.write(_head(case, solver, found, run, comm))
    finally:
        lock.release()


def _case(run: Path, options: Options, comm: MPI.Comm) -> Case:
    """The case of a run, without what it published and where its ranks were (collective)."""
    file = run / run_folder.CASE
    overrides: list[str] = []
    with collective(comm):
        if comm.rank == 0:
            if not file.is_file():
                raise OutputError(f"{run} holds no {run_folder.CASE}; name the folder of a run.")
            values = read_document(file).values
            if "model" in values:
                raise CaseError(
                    f"{run} holds an assimilation; its results are written again by: uzushio "
                    f"assimilate --restart {options.restart}"
                )
            overrides = ["publish=null", *without_job(file)]
            if not (values.get("output") or {}).get("figures", True):
                overrides.append(f"output.figures={json.dumps(Output().figures)}")
    return load_case(file, comm.bcast(overrides))


def _head(
    case: Case, solver: Solver, found: checkpoint.Checkpoint, run: Path, comm: MPI.Comm
) -> dict[str, Any]:
    """What the summary has beside results: as it was, or what is known without it (collective)."""
    before = comm.bcast(run_folder.read_summary(run) if comm.rank == 0 else None)
    if before.get("step") == solver.step_index:
        return dict(before)
    head = run_folder.summary_head(
        case, case.solver, comm.size, solver.step_index, found.path, None
    )
    return {**head, "steps_done": None, "seconds_per_step": None, "published": None}
