"""Run that is stepped by hand, in a notebook or a script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from uzushio._base.config.names import unknown
from uzushio._base.config.paths import expanded
from uzushio._base.parallel.launch import default_comm
from uzushio._job.loop import is_over, sample, time_left
from uzushio._job.options import RunOptions
from uzushio._job.placed import placed
from uzushio.case import registry
from uzushio.case.model import Case, load_case
from uzushio.errors import UzushioError
from uzushio.solvers.contract import Parameter, Reading, Solver

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI

    from uzushio._job.labelled import Fields


@dataclass(frozen=True)
class SimulationStep:
    """Completed step.

    Attributes:
        index: number of the step.
        time: time at its end, in the solver's unit.
    """

    index: int
    time: float


class Simulation:
    """Run that is stepped by hand.

    ::

        with uzushio.Simulation(case) as simulation:
            for step in simulation:
                print(step.time, float(simulation.fields["u"].max()))

    Only `save` writes files, and the case's section `publish` is not used. `for` ends at the end of
    the case; after `break` the next loop continues. On several ranks all methods are collective,
    and so is access to a field.
    """

    def __init__(
        self,
        case: Case | Path | str | Mapping[str, Any] | None = None,
        *,
        restart: Path | str | None = None,
        interpolate: bool = False,
        comm: MPI.Intracomm | None = None,
    ) -> None:
        """Set up the solver, with its initial field or the state of a checkpoint (collective).

        Args:
            case: result or argument of `uzushio.load_case`; None: that of the run in `restart`.
            restart: folder of a run, whose newest checkpoint is used, or of a checkpoint.
            interpolate: use a checkpoint of another grid in the same box.
            comm: the ranks; None: those of this process's mpiexec, or this process alone.

        Raises:
            CaseError: the case is invalid, or does not fit the number of ranks.
            CheckpointError: there is no complete checkpoint, or it is of another solver.
            UzushioError: neither a case nor a restart is given, or no restart to interpolate.
        """
        from uzushio._job.restart import source_of_restart
        from uzushio.solvers.statistics.averages import TimeAverage

        options = RunOptions(
            restart=None if restart is None else expanded(restart), interpolate=interpolate
        )
        options.check()
        self.comm = default_comm() if comm is None else comm
        if case is None:
            source = source_of_restart(options, self.comm)
            self.case = load_case(source.file, source.overrides, self.comm)
        else:
            self.case = case if isinstance(case, Case) else load_case(case, comm=self.comm)
        self.comm = placed(self.case, self.comm)
        self._solver: Solver | None = registry.solver_class(self.case.solver)(self.case, self.comm)
        self._average = TimeAverage()
        self._fields: Fields | None = None
        self._saved: Path | None = None
        if options.restart is None:
            self.solver.begin()
        else:
            self._restore(options.restart, interpolate)

    def _restore(self, where: Path, interpolate: bool) -> None:
        """Restore a checkpoint's state, and its averages if they are of the same flow."""
        from uzushio._base.parallel.sync import collective
        from uzushio._job.saved_state import restore, restore_averages

        restored = restore(where, self.case, self.solver, self.comm, interpolate=interpolate)
        with collective(self.comm):
            if self.comm.rank == 0:
                restore_averages(restored, self.case, self._average)

    def __enter__(self) -> Self:
        """Return the simulation, which is closed when the block ends."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the solver's memory (collective); may be called twice."""
        self._solver = self._fields = None

    @property
    def solver(self) -> Solver:
        """The solver; raises `UzushioError` if the simulation is closed."""
        if self._solver is None:
            raise UzushioError("The simulation is closed; make a new one.")
        return self._solver

    @property
    def step_index(self) -> int:
        """Number of the fields' step; 0 before the first one."""
        return self.solver.step_index

    @property
    def time(self) -> float:
        """Time of the fields, in the solver's unit."""
        return self.solver.time

    @property
    def is_over(self) -> bool:
        """Whether the case's last step or end time is reached."""
        return is_over(self.case, self.solver)

    @property
    def fields(self) -> Fields:
        """Fields of the current step by name, each an `xarray.DataArray`."""
        if self._fields is None:
            from uzushio._job.labelled import Fields

            self._fields = Fields(self.solver, self.comm.size > 1)
        return self._fields

    def dataset(self, *names: str) -> xr.Dataset:
        """Return the named fields of the current step, or all, as one dataset (collective).

        Raises:
            UzushioError: the solver has no such field.
        """
        from uzushio._job.labelled import dataset

        return dataset(self.fields, self.solver, list(names) or None)

    def __iter__(self) -> Iterator[SimulationStep]:
        """Iterate over the steps to the end of the case (collective)."""
        while not self.is_over:
            yield self.step()

    def step(self) -> SimulationStep:
        """Advance one step (collective).

        Raises:
            SolverDivergedError: on all ranks, if the fields are no longer finite.
            UzushioError: the case's end is reached.
        """
        solver = self.solver
        if self.is_over:
            raise UzushioError(
                f"The case's end is reached (step {solver.step_index}, time {solver.time:.6g}); "
                "load it with larger time.steps or time.end to continue."
            )
        solver.step(time_left(self.case, solver))
        sample(self.case, solver, self._average, self.comm)
        return SimulationStep(solver.step_index, solver.time)

    def readings(self) -> Mapping[str, Reading]:
        """Return the figures of the progress line (collective)."""
        return self.solver.monitor()

    def parameters(self) -> Mapping[str, Parameter]:
        """Return the steerable parameters, with limits and units."""
        return self.solver.parameters()

    def steer(self, name: str, value: float) -> None:
        """Change a parameter from the next step on (collective).

        Raises:
            UzushioError: there is no such parameter, or the value is outside its limits.
        """
        try:
            self.solver.steer(name, value)
        except KeyError:
            known = list(self.parameters())
            raise UzushioError(f"The parameter '{name}' {unknown(name, known)}.") from None
        except ValueError as error:
            raise UzushioError(f"{error}.") from None

    def statistics(self) -> xr.Dataset | None:
        """Return the statistics of the steps of this simulation, in the form of a run's; on rank 0.

        The case's section `statistics` determines the sampled steps.

        Returns:
            None before the first sample, on other ranks, and of solvers without statistics.
        """
        from uzushio.solvers.statistics.uncertainty import derive

        if not self._average.samples:
            return None
        return derive(self.solver.statistics, self._average)

    def save(self, folder: Path | str) -> Path:
        """Write a checkpoint into a new run folder (collective); return its path.

        `uzushio run CASE.yaml --restart FOLDER`, `uzushio.run` and a new `Simulation` continue from
        it. The folder is created, or is that of an earlier `save` of this simulation.

        Raises:
            OutputError: the folder has other contents, or cannot be written.
        """
        from uzushio._base.store import checkpoint
        from uzushio._job.run_folder import RunFolder
        from uzushio._job.saved_state import snapshot

        path = Path(folder)
        run = RunFolder(path, RunOptions(restart=self._saved_in(path)))
        try:
            run.occupy(self.case, self.step_index, self.comm)
            state = snapshot(self.case, self.solver, self._average)
            of = self.case.checkpoint
            return checkpoint.write(path, state, of.keep, self.comm, compression=of.compression)
        finally:
            run.release()

    def _saved_in(self, folder: Path) -> Path | None:
        """Return the folder if an earlier `save` of this simulation made it; otherwise None."""
        again, self._saved = folder.resolve() == self._saved, folder.resolve()
        return folder if again else None

    def __repr__(self) -> str:
        """Return title, step, time and ranks."""
        title = self.case.title or self.case.solver
        if self._solver is None:
            return f"<Simulation '{title}', closed>"
        ranks = f", {self.comm.size} ranks" if self.comm.size > 1 else ""
        return f"<Simulation '{title}', step {self.step_index}, time {self.time:.6g}{ranks}>"
