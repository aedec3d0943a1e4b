"""`uzushio render --checkpoint`: applies a pipeline to the checkpoints of a run, in its solver."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio import __version__
from uzushio._base.parallel import memory
from uzushio._base.parallel.sync import collective
from uzushio._base.store import checkpoint
from uzushio._cli.rendering import MARK, check_results
from uzushio._cli.writing_again import case_of
from uzushio._job import run_folder
from uzushio._job.job import Job
from uzushio._job.job_folder import JobFolder
from uzushio._job.publish import Publisher
from uzushio._job.publish_check import check_published
from uzushio._job.saved_state import restore
from uzushio.case import registry
from uzushio.case.model import load_case
from uzushio.errors import CheckpointError, UzushioError
from uzushio.solvers.contract import Solver

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._cli.render import RenderOptions


def render_checkpoints(options: RenderOptions, comm: MPI.Comm) -> int:
    """Apply the pipeline to the checkpoints of a run, oldest first (collective).

    The solver of the run restores each one, and publishes it as a step inside itself; no step is
    computed.

    Args:
        options: options of the command; the source is the folder of the run, or of one of its
            checkpoints.
        comm: the ranks.

    Returns:
        The exit status: 0, 1 if an action failed, 128 plus the signal when stopped.

    Raises:
        UzushioError: there is no run or no checkpoint, or the pipeline does not fit its fields.
    """
    where = Path(os.path.expanduser(options.source))
    run = checkpoint.run_of(where)
    assimilation, overrides = case_of(run, comm)
    if assimilation:
        raise UzushioError(f"{run} is an assimilation; --checkpoint draws those of runs alone.")
    inside = {"engine": "inproc", "pipeline": os.path.abspath(options.pipeline)}
    case = load_case(run / run_folder.CASE, [*overrides, f"publish={json.dumps(inside)}"], comm)
    kind: type[Solver] = registry.solver_class(case.solver)
    folder = JobFolder(options.out, MARK, "a reader job")
    paths: list[Path] = []
    with Job(comm, folder, quiet=options.quiet) as job:
        with collective(comm):
            if job.rank == 0:
                folder.check_free()
                check_results(folder, options)
                check_published(case, kind)
                paths = _checkpoints(where, run)
        paths = comm.bcast(paths)
        memory.require(comm, kind.estimate(case, comm.size).memory_per_rank, "the solver")
        solver = kind(case, comm)
        with collective(comm):
            if job.rank == 0:
                folder.lock()
                folder.clear()
                folder.write_mark({"uzushio": __version__})
        publisher, received = (
            Publisher(case, solver, comm, options.out, job.warn, job.stop.asked),
            0,
        )
        try:
            for path in paths:
                restore(path, case, solver, comm, tell=job.warn)
                if not publisher.publish_step() or (received := job.take_vote()):
                    break
            publisher.close()
        finally:
            publisher.abandon()
        job.say(publisher.report() or "")
        if job.rank == 0:
            with suppress(OSError):  # nothing is published from here
                (options.out / run_folder.PUBLISHED).rmdir()
        if publisher.stopped is not None:
            job.error(publisher.stopped)
    return 128 + received if received else int(publisher.failed)


def _checkpoints(where: Path, run: Path) -> list[Path]:
    """Return the checkpoint `where`, or all complete ones of the run, oldest first."""
    if checkpoint.step_of(where) is not None:
        return [where]
    checkpoints = checkpoint.complete(run)
    if not checkpoints:
        raise CheckpointError(f"{run} holds no complete checkpoint.")
    return checkpoints
