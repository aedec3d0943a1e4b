"""What a run or an assimilation writes at its end: each result whatever becomes of the others."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from uzushio.case.model import Case
from uzushio.errors import OutputError, UzushioError
from uzushio.files import SUMMARY, write_summary
from uzushio.job import run_folder
from uzushio.job.monitor import RankZeroOutput
from uzushio.parallel.agreement import Agreement
from uzushio.parallel.collective import maximum, report_of
from uzushio.parallel.signals import Stop
from uzushio.solver import Solver
from uzushio.statistics.averages import TimeAverage, write_statistics
from uzushio.statistics.uncertainty import derive

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI


def import_modules(names: Iterable[str]) -> None:
    """Import what results need, before the first step: an error at the end would lose them.

    Raises:
        OutputError: a module is missing or cannot be imported.
    """
    for name in names:
        try:
            import_module(name)
        except Exception as error:
            raise OutputError(
                f"the module {name}, which the results of the run need, cannot be imported: "
                f"{type(error).__name__}: {error}"
            ) from error


class Results:
    """Files that are written one after the other (collective).

    Attributes:
        files: that were written, in order (rank 0).
        failed: results that could not be written, the same on all ranks.
    """

    def __init__(self, comm: MPI.Comm, output: RankZeroOutput) -> None:
        """Take a communicator of its own, a copy of `comm`; `output` names the files."""
        self._comm, self._output = comm, output
        self._agreement = Agreement(comm)
        self.files: list[Path] = []
        self.failed: list[str] = []

    def wrote(self, path: Path) -> None:
        """Name a file that was written (rank 0)."""
        self._output.say(f"  {path}" if self.files else f"Wrote:\n  {path}")
        self.files.append(path)

    @contextmanager
    def part(self, what: str) -> Iterator[None]:
        """Write one result on all ranks; an error is printed, and the other results are not lost.

        Args:
            what: the result, for messages, as "the statistics".
        """
        try:
            with self._agreement.on(f"writing {what}"):
                yield
        except Exception as error:
            self.failed.append(what)
            text = report_of(error)
            if text and (self._comm.rank == 0 or not isinstance(error, UzushioError)):
                where = f"rank {self._comm.rank}: " if self._comm.rank else ""
                print(
                    f"{where}{text}\nuzushio: error: {what} could not be written, see above.",
                    file=sys.stderr,
                    flush=True,
                )


@dataclass(kw_only=True)
class ResultWriter(ABC):
    """The order in which results are written: data, summary, figures, and the summary once more.

    Attributes:
        comm: the ranks.
        folder: of the run.
        latest: newest checkpoint.
        output: for rank 0.
        stop: a signal ends the drawing.
        figures: whether figures are drawn.
    """

    #: What is written about, for messages.
    kind: ClassVar[str]

    comm: MPI.Comm
    folder: Path
    latest: Path | None
    output: RankZeroOutput
    stop: Stop
    figures: bool

    @abstractmethod
    def announce(self, results: Results) -> None:
        """Say how it ended, before anything is written (collective)."""

    @abstractmethod
    def write_data(self, results: Results) -> None:
        """Write all but summary and figures, each as a part of `results` (collective)."""

    @abstractmethod
    def summary(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """What the summary holds but for the names of files (collective)."""

    @abstractmethod
    def draw(self, folder: Path) -> Iterable[Path]:
        """Draw figures into `folder`, one after the other (collective; paths on rank 0).

        It may end early, so that it communicates before its first figure only.
        """

    def write(self, head: Mapping[str, Any]) -> int:
        """Write all, the summary before the figures and once more with their names (collective).

        Args:
            head: entries of the summary before those of the results.

        Returns:
            The exit status: 0; 1 if something could not be written; 128 plus the signal if one
            ended the drawing.
        """
        results = Results(self.comm, self.output)
        self.announce(results)
        if self.latest is not None and self.comm.rank == 0:
            results.wrote(self.latest)
        self.write_data(results)
        summary = self._write_summary(results, head)
        stopped = self._draw(results)
        with results.part("the summary"):
            if self.comm.rank == 0 and summary is not None:
                summary["files"] = [str(file) for file in results.files]
                write_summary(self.folder, summary)
        again = f"uzushio figures {self.folder}"
        if stopped:
            self.output.say(f"Stopped while figures were drawn, as asked; draw them with: {again}")
        if results.failed:
            self.output.error(
                f"The {self.kind} is whole, its last checkpoint is {self.latest}. With the cause "
                f"mended, {', '.join(dict.fromkeys(results.failed))} can be written with: {again}"
            )
            return 1
        return 128 + stopped if stopped else 0

    def _write_summary(self, results: Results, head: Mapping[str, Any]) -> dict[str, Any] | None:
        """Write the summary, and return it on rank 0."""
        summary: dict[str, Any] | None = None
        with results.part("the summary"):
            summary = self.summary(head)
            if self.comm.rank == 0:
                path = self.folder / SUMMARY
                summary["files"] = [str(file) for file in (*results.files, path)]
                results.wrote(write_summary(self.folder, summary))
        return summary

    def _draw(self, results: Results) -> int:
        """Draw the figures one after the other; returns the signal that ended it, or 0."""
        if not self.figures:
            return 0
        if stopped := self._stopped():
            return stopped
        place = self.folder / run_folder.FIGURES
        with results.part("the folder of the figures"):
            if self.comm.rank == 0:
                place.mkdir(exist_ok=True)
        if "the folder of the figures" in results.failed:
            return 0
        self.output.say("Drawing figures; Ctrl-C leaves them out.")
        with results.part("the figures"):
            for path in self.draw(place):
                results.wrote(path)
                if self.stop.received:
                    break
        return self._stopped()

    def _stopped(self) -> int:
        """The signal that any rank received (collective)."""
        return int(self.comm.allreduce(self.stop.received, maximum()))


@dataclass(kw_only=True)
class RunResults(ResultWriter):
    """Statistics, figures and summary of a run of a solver, as it is now.

    Attributes:
        case, solver, average: of the run.
    """

    kind = "run"

    case: Case
    solver: Solver
    average: TimeAverage

    def __post_init__(self) -> None:
        self._dataset: xr.Dataset | None = None

    @staticmethod
    def modules(solver: type[Solver], figures: bool) -> list[str]:
        """Modules that the results of a solver need."""
        names = []
        if solver.statistics is not Solver.statistics:
            names += ["xarray", "xarray.backends.zarr"]
        return [*names, *(solver.figure_modules if figures else ())]

    def announce(self, results: Results) -> None:
        """Say why there will be no statistics, if so."""
        self.output.say(self._no_samples())

    def write_data(self, results: Results) -> None:
        """Derive and write the statistics."""
        with results.part("the statistics"):
            if self.comm.rank == 0 and self.average.samples:
                self._dataset = derive(self.solver.statistics, self.average)
                if self._dataset is not None:
                    results.wrote(write_statistics(self._dataset, self.folder))

    def summary(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """Time, samples, and what the solver says."""
        return {
            **head,
            "time": self.solver.time,
            "samples": self.average.samples,
            "results": head.get("results") or self.solver.summary(),
        }

    def draw(self, folder: Path) -> Iterable[Path]:
        """Draw the solver's figures."""
        return self.solver.figures(folder, self._dataset)

    def _no_samples(self) -> str:
        """Say why there are no statistics, if there could have been."""
        when, solver = self.case.statistics, self.solver
        if self.average.samples or type(solver).sample is Solver.sample:
            return ""
        if solver.time < when.start:
            why = f"at time {solver.time:.6g}, before statistics.start ({when.start:g})"
        elif solver.step_index < when.every:
            why = f"after step {solver.step_index}, before the first of statistics.every"
            why += f" ({when.every})"
        else:
            return ""
        return f"There are no statistics: the run ended {why}."
