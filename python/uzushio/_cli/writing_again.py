"""Write the results of a run or an assimilation again, from a checkpoint (`uzushio figures`)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio._base.files import read_summary
from uzushio._base.parallel import memory
from uzushio._base.parallel.sync import collective, on_root
from uzushio._base.store import checkpoint
from uzushio._job import run_folder
from uzushio._job.case_job import CaseJob
from uzushio._job.options import JobOptions
from uzushio._job.restart import without_job
from uzushio._job.results import RunResults
from uzushio._job.saved_state import restore
from uzushio.case import registry
from uzushio.case.model import Case, Output, load_case, read_document
from uzushio.errors import OutputError
from uzushio.solvers.contract import Solver
from uzushio.solvers.statistics.averages import TimeAverage

if TYPE_CHECKING:
    from mpi4py import MPI


def write_again(comm: MPI.Comm, options: JobOptions) -> int:
    """Write the data, figures and summary of a run or an assimilation again (collective).

    Returns:
        The exit status, as `ResultWriter.write`.

    Raises:
        UzushioError: there is no run or no checkpoint, or another job works in the folder.
    """
    where = options.restart
    assert where is not None
    run = checkpoint.run_of(where)
    assimilation, overrides = case_of(run, comm)
    options = replace(options, out=run)
    if assimilation:
        from uzushio.assimilation import again

        return again.write_again(run, overrides, comm, options)
    case = load_case(run / run_folder.CASE, overrides, comm)
    kind: type[Solver] = registry.solver_class(case.solver)
    with CaseJob(case, case.checkpoint, comm, options) as job:
        job.reopen(RunResults.modules(kind, case, figures=True))
        memory.require(comm, kind.estimate(case, comm.size).memory_per_rank, "the figures")
        solver, average = kind(case, comm), TimeAverage()
        restored = restore(where, case, solver, comm, options.restart_fallback, job.warn)
        job.restored = job.latest = restored.path
        with collective(comm):
            if job.rank == 0 and restored.manifest.statistics.get("samples"):
                average.restore(*restored.averages())
        results = RunResults(job=job, case=case, solver=solver, average=average)
        return results.write(_head(job, case, solver))


def case_of(run: Path, comm: MPI.Comm) -> tuple[bool, list[str]]:
    """Return whether a run is an assimilation, and overrides of its case (collective).

    The overrides reset publishing and the decomposition.
    """
    file = run / run_folder.CASE

    def read() -> tuple[bool, list[str]]:
        if not file.is_file():
            raise OutputError(f"{run} holds no {run_folder.CASE}; name the folder of a run.")
        values = read_document(file).values
        assimilation = "model" in values
        overrides = [*([] if assimilation else ["publish=null"]), *without_job(file)]
        if not (values.get("output") or {}).get("figures", True):
            overrides.append(f"output.figures={json.dumps(Output().figures)}")
        return assimilation, overrides

    return on_root(comm, read)


def _head(job: CaseJob, case: Case, solver: Solver) -> dict[str, Any]:
    """Return the summary's entries beside results: the earlier ones if known (collective)."""
    before = on_root(job.comm, lambda: read_summary(job.path))
    if before.get("step") == solver.step_index:
        return dict(before)
    unknown = {"steps_done": None, "seconds_per_step": None, "published": None}
    return {**job.summary_head(case.solver, solver.step_index, None), **unknown}
