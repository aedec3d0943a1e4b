"""Run a case from Python, as the command line does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio._job.options import RunOptions, options_of_call, with_options
from uzushio.case.model import Case, CaseFile, load_case

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI


@dataclass(frozen=True)
class JobResult:
    """Results in the folder of a run or an assimilation of this process.

    Attributes:
        folder: folder of the results.
        case: case that was computed.
        status: 0 when the end was reached, 128 plus the signal when it was stopped, 1 when the end
            was reached and a result could not be written.
    """

    folder: Path
    case: CaseFile
    status: int = 0

    @property
    def stopped(self) -> bool:
        """Whether a signal stopped the run; `restart=folder` continues it."""
        return self.status >= 128

    @property
    def checkpoints(self) -> list[Path]:
        """The folders of the checkpoints, oldest first."""
        from uzushio._base.store.checkpoint import complete

        return complete(self.folder)

    @property
    def figures(self) -> list[Path]:
        """The files of the figures, by name."""
        from uzushio._job.run_folder import FIGURES

        return sorted(path for path in (self.folder / FIGURES).glob("*") if path.is_file())

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Content of summary.json: steps, seconds, traffic, results; empty if there is none."""
        from uzushio._base.files import SUMMARY

        try:
            text = (self.folder / SUMMARY).read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        values: dict[str, Any] = json.loads(text)
        return values


@dataclass(frozen=True)
class RunResult(JobResult):
    """Results of a run; see `run`.

    Attributes:
        folder: folder of the run.
        case: case that was run.
        status: 0 when the case's end was reached, 128 plus the signal when the run was stopped, 1
            when its end was reached and a result could not be written.
    """

    case: Case

    @cached_property
    def statistics(self) -> xr.Dataset | None:
        """Statistics, whose values are read when they are used; None if nothing was sampled."""
        import xarray as xr

        from uzushio.solvers.statistics.averages import FILE

        path = self.folder / FILE
        return xr.open_zarr(path) if path.exists() else None


@with_options(RunOptions)
def run(
    case: Case | Path | str | Mapping[str, Any] | None = None,
    *,
    comm: MPI.Intracomm | None = None,
    **options: Any,
) -> RunResult:
    """Run a case to its end, as `uzushio run` does (collective).

    Messages name the options of the command line, which have the names of these arguments.
    SIGINT (the notebook's Interrupt) finishes the step, writes a checkpoint and returns; a second
    one raises `KeyboardInterrupt`.

    Args:
        case: result or argument of `uzushio.load_case`; None: the case of the run in `restart`,
            which continues in its folder.
        comm: the ranks; None: those of the mpiexec that this runs in, or this process.
        options: see below.

    Raises:
        UzushioError: a class of `uzushio.errors`, with a sentence that says what to do.
    """
    from uzushio._base.parallel.launch import default_comm
    from uzushio._job.case_run import run as run_case
    from uzushio._job.restart import case_of_call

    comm = default_comm() if comm is None else comm
    given = options_of_call(RunOptions, case, options)
    load = partial(load_case, comm=comm)
    loaded, given = case_of_call(case, Case, load, given, comm)
    status = run_case(loaded, comm, given)
    return RunResult(given.out or loaded.output.folder, loaded, status)


def open_checkpoint(path: Path | str, *names: str) -> xr.Dataset:
    """Open the fields of a checkpoint in physical space, on this process alone.

    A checkpoint holds the state of the solver, which may be Fourier modes (`xarray.open_zarr` shows
    them). This function creates the solver of the run's case on this process, restores the state
    and returns the fields. It takes the memory of the whole run.

    Args:
        path: folder of a run, whose newest checkpoint is opened, or of one checkpoint.
        names: names of fields; default: all.

    Raises:
        CheckpointError: there is no complete checkpoint.
        CaseError: case.yaml of the folder is missing or not valid.
        UzushioError: the solver has no such field.
    """
    from uzushio._base.parallel import launch
    from uzushio._base.store.checkpoint import run_of
    from uzushio._job import run_folder
    from uzushio._job.simulation import Simulation
    from uzushio.case.model import read_document

    launch.prepare_environment()
    from mpi4py import MPI

    path = Path(path)
    # The decomposition and the published streams of the run do not apply here.
    values = read_document(run_of(path) / run_folder.CASE).values
    values = {
        key: value for key, value in values.items() if key not in ("decomposition", "publish")
    }
    with Simulation(values, restart=path, comm=MPI.COMM_SELF) as simulation:
        return simulation.dataset(*names)
