"""Do an assimilation from Python, as the command line does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio._job.options import JobOptions, options_of_call, with_options
from uzushio._job.running import JobResult
from uzushio.assimilation.case import AssimilationCase, load_assimilation

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI


@dataclass(frozen=True)
class ParameterEstimate:
    """Estimate of a parameter.

    Attributes:
        value: the estimate.
        sd: standard deviation: the spread of an ensemble if there was one, otherwise from the
            curvature of J; None if it is not known.
        first_guess: value at the start of the search.
        truth: true value in a twin experiment, or None.
        note: why there is no standard deviation, or a remark on it.
    """

    value: float
    sd: float | None
    first_guess: float
    truth: float | None
    note: str


@dataclass(frozen=True)
class AssimilationResult(JobResult):
    """Results of an assimilation; see `assimilate`.

    Attributes:
        folder: folder of the assimilation.
        case: case of the assimilation.
        status: 0 when the search ended, 128 plus the signal when it was stopped, 1 when it ended
            and a result could not be written.
    """

    case: AssimilationCase

    @cached_property
    def estimate(self) -> xr.Dataset | None:
        """Estimated initial state and first guess, with coordinates y and x.

        Attributes hold the parameters, as `m`, and their standard deviations, as `m_sd`. Values are
        read when they are used. None before the search has ended.
        """
        import xarray as xr

        from uzushio._job.run_folder import ESTIMATE

        path = self.folder / ESTIMATE
        return xr.open_zarr(path) if path.exists() else None

    @cached_property
    def parameters(self) -> dict[str, ParameterEstimate]:
        """Estimate of each parameter by name; empty before the search has ended."""
        estimates: Mapping[str, Any] = self.summary.get("results", {}).get("parameters", {})
        return {
            name: ParameterEstimate(
                estimate["estimate"],
                (estimate.get("ensemble") or estimate)["sd"],
                estimate["first_guess"],
                estimate["truth"],
                estimate["note"],
            )
            for name, estimate in estimates.items()
        }

    @property
    def fit(self) -> dict[str, Any]:
        """Goodness of fit by name, as in the summary; empty before the search has ended.

        Such as J_o, J_b, ratio (2J/N), expected, spread, chi_square, desroziers, verdict. fit.csv
        in the folder has it at each observed time.
        """
        return dict(self.summary.get("results", {}).get("fit") or {})

    @cached_property
    def history(self) -> xr.Dataset | None:
        """J, gradient, parameters, runs and seconds along `iteration`, as in history.csv.

        The last iteration of a stage is repeated as the first one of the next stage, with its J.
        None before the search has ended.
        """
        import numpy as np
        import xarray as xr

        from uzushio._job.run_folder import HISTORY

        path = self.folder / HISTORY
        if not path.exists():
            return None
        names = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
        columns = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2).T
        variables = {
            name: ("iteration", values) for name, values in zip(names, columns, strict=True)
        }
        variables["iteration"] = ("iteration", variables["iteration"][1].astype(int))
        return xr.Dataset(variables)


@with_options(JobOptions)
def assimilate(
    case: AssimilationCase | Path | str | Mapping[str, Any] | None = None,
    *,
    comm: MPI.Intracomm | None = None,
    **options: Any,
) -> AssimilationResult:
    """Estimate initial state and parameters, as `uzushio assimilate` does (collective).

    Messages name the options of the command line, which have the names of these arguments. SIGINT
    (the notebook's Interrupt) finishes the iteration, writes a checkpoint and returns; a second one
    raises `KeyboardInterrupt`.

    Args:
        case: result or argument of `uzushio.assimilation.load_assimilation`; None: the case of the
            assimilation in `restart`, which continues in its folder.
        comm: the ranks; None: those of the mpiexec that this runs in, or this process.
        options: see below.

    Raises:
        UzushioError: a class of `uzushio.errors`, with a sentence that says what to do.
    """
    from uzushio._base.parallel.launch import default_comm
    from uzushio._job.restart import case_of_call
    from uzushio.assimilation.run import run

    comm = default_comm() if comm is None else comm
    given = replace(options_of_call(JobOptions, case, options), command="assimilate")
    loaded, given = case_of_call(case, AssimilationCase, load_assimilation, given, comm)
    status = run(loaded, comm, given)
    return AssimilationResult(given.out or loaded.output.folder, loaded, status)
