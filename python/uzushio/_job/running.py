"""Run a case from Python, as the command line does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio._base.config.paths import expanded
from uzushio._base.parallel.affinity import Policy
from uzushio._job.options import Options
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


def run(
    case: Case | Path | str | Mapping[str, Any] | None = None,
    *,
    out: Path | str | None = None,
    restart: Path | str | None = None,
    restart_fallback: bool = False,
    reset_statistics: bool = False,
    interpolate: bool = False,
    overwrite: bool = False,
    figures: bool = True,
    trace: Path | str | None = None,
    tuned: bool = True,
    affinity: str = "none",
    quiet: bool = False,
    comm: MPI.Intracomm | None = None,
) -> RunResult:
    """Run a case to its end, as `uzushio run` does (collective).

    Messages name the options of the command line, which have the names of these arguments.
    SIGINT (the notebook's Interrupt) finishes the step, writes a checkpoint and returns; a second
    one raises `KeyboardInterrupt`.

    Args:
        case: result or argument of `uzushio.load_case`; None: the case of the run in `restart`,
            which continues in its folder.
        out: folder of the run instead of output.folder.
        restart: folder of a run, or of one checkpoint, to continue from.
        restart_fallback: if that checkpoint is damaged, restart from the one before.
        reset_statistics: discard the averages over time at a restart.
        interpolate: at a restart, interpolate a checkpoint of another grid in the same box.
        overwrite: remove the run that the folder holds.
        figures: draw figures at the end, if the case does not say otherwise.
        trace: file for a trace of the sections of all ranks (JSON for ui.perfetto.dev).
        tuned: use the values that `uzushio tune` found on this machine, for a case from a file.
        affinity: binding of ranks and threads to cores: ``none``, ``compact``, ``scatter``,
            ``numa_block`` or ``numa_cyclic``.
        quiet: print errors and warnings only.
        comm: the ranks; None: those of the mpiexec that this runs in, or this process.

    Raises:
        UzushioError: a class of `uzushio.errors`, with a sentence that says what to do.
    """
    from uzushio._base.parallel.launch import default_comm
    from uzushio._job.case_run import run as run_case
    from uzushio._job.restart import source_of_call

    comm = default_comm() if comm is None else comm
    options = Options.of_call(
        case,
        restart,
        out,
        fallback=restart_fallback,
        reset_statistics=reset_statistics,
        interpolate=interpolate,
        overwrite=overwrite,
        figures=figures,
        trace=None if trace is None else expanded(trace),
        affinity=Policy.of(affinity),
        quiet=quiet,
    )
    if isinstance(case, Case):
        given = case
    elif isinstance(case, Mapping):
        given = load_case(case, comm=comm)
    else:
        source = source_of_call(options, tuned, comm)
        given, options = load_case(source.file, source.overrides, comm), source.options
    status = run_case(given, comm, options)
    return RunResult(options.out or given.output.folder, given, status)


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
