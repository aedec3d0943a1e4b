"""Results at the end of a run or an assimilation, each written independently of the others."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from uzushio._base.error_text import report_of
from uzushio._base.files import SUMMARY, write_summary
from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio._base.parallel.section_table import gather
from uzushio._base.parallel.sync import TimedCollective
from uzushio._job import run_folder
from uzushio._job.case_job import CaseJob
from uzushio._job.job import Job
from uzushio.case.model import Case
from uzushio.errors import UzushioError
from uzushio.solvers.contract import Solver
from uzushio.solvers.statistics.averages import TimeAverage, write_statistics
from uzushio.solvers.statistics.uncertainty import derive

if TYPE_CHECKING:
    import xarray as xr


#: Seconds of a job whose table of sections is not printed.
_SHORT = 10.0


class Results:
    """Files that are written one after the other (collective).

    Attributes:
        files: files that were written, in order (rank 0).
        failed: results that could not be written, the same on all ranks.
    """

    def __init__(self, job: Job) -> None:
        """Write results of `job`, which prints the names of the files."""
        self._job = job
        self._timed_collective = TimedCollective(job.comm)
        self.files: list[Path] = []
        self.failed: list[str] = []

    def wrote(self, path: Path) -> None:
        """Print the path of a file that was written (rank 0)."""
        self._job.say(f"  {path}" if self.files else f"Wrote:\n  {path}")
        self.files.append(path)

    @contextmanager
    def part(self, what: str) -> Iterator[None]:
        """Write one result on all ranks; an error is printed, and the other results are not lost.

        Args:
            what: the result, for messages, as "the statistics".
        """
        try:
            with self._timed_collective.block(f"writing {what}"):
                yield
        except Exception as error:
            self.failed.append(what)
            text = report_of(error)
            rank = self._job.rank
            if text and (rank == 0 or not isinstance(error, UzushioError)):
                where = f"rank {rank}: " if rank else ""
                print(
                    f"{where}{text}\nuzushio: error: {what} could not be written, see above.",
                    file=sys.stderr,
                    flush=True,
                )


@dataclass(kw_only=True)
class ResultWriter(ABC):
    """The order in which results are written: data, summary, figures, and the summary once more.

    Attributes:
        job: job that writes the results; a signal ends the drawing.
        sections: monitor of the job's sections; None if no step was computed.
        always_shows_sections: whether their table is printed after a short job too.
    """

    #: Kind of job, for messages.
    kind: ClassVar[str]

    job: CaseJob
    sections: SectionMonitor | None = None
    always_shows_sections: bool = False

    @abstractmethod
    def announce(self, results: Results) -> None:
        """Print how the job ended, before anything is written (collective)."""

    @abstractmethod
    def write_data(self, results: Results) -> None:
        """Write all but summary and figures, each as a part of `results` (collective)."""

    @abstractmethod
    def summary(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of the summary without the names of files (collective)."""

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
        job = self.job
        results = Results(job)
        self.announce(results)
        if job.latest is not None and job.rank == 0:
            results.wrote(job.latest)
        with self._section("results"):
            self.write_data(results)
            summary = self._write_summary(results, head)
        with self._section("figures"):
            stopped = self._draw(results)
        self._complete_summary(results, summary)
        again = f"uzushio figures {job.path}"
        if stopped:
            job.say(f"Stopped while figures were drawn, as requested; draw them with: {again}")
        if results.failed:
            job.error(
                f"The {self.kind} is complete, its last checkpoint is {job.latest}. With the cause "
                f"mended, {', '.join(dict.fromkeys(results.failed))} can be written with: {again}"
            )
            return 1
        return 128 + stopped if stopped else 0

    def _write_summary(self, results: Results, head: Mapping[str, Any]) -> dict[str, Any] | None:
        """Write the summary, and return it on rank 0."""
        summary: dict[str, Any] | None = None
        with results.part("the summary"):
            summary = self.summary(head)
            if self.job.rank == 0:
                path = self.job.path / SUMMARY
                summary["files"] = [str(file) for file in (*results.files, path)]
                results.wrote(write_summary(self.job.path, summary))
        return summary

    def _complete_summary(self, results: Results, summary: dict[str, Any] | None) -> None:
        """Write the summary again, with the figures and the sections.

        Their table is printed, unless the job was too short for times that say anything.
        """
        job, table = self.job, None
        with results.part("the summary"):
            if self.sections is not None:
                table = gather(self.sections, job.comm)
            if job.rank == 0 and summary is not None:
                summary["files"] = [str(file) for file in results.files]
                if table is not None:
                    summary["sections"] = table.data()
                write_summary(job.path, summary)
        if table is not None and (self.always_shows_sections or table.elapsed >= _SHORT):
            job.say(table.text())

    def _section(self, name: str) -> AbstractContextManager[None]:
        return nullcontext() if self.sections is None else self.sections.section(name)

    def _draw(self, results: Results) -> int:
        """Draw the figures one after the other; return the signal that ended it, or 0."""
        job = self.job
        if not job.figures:
            return 0
        if stopped := job.take_vote():
            return stopped
        place = job.path / run_folder.FIGURES
        with results.part("the folder of the figures"):
            if job.rank == 0:
                place.mkdir(exist_ok=True)
        if "the folder of the figures" in results.failed:
            return 0
        job.say("Drawing figures; Ctrl-C leaves them out.")
        with results.part("the figures"):
            for path in self.draw(place):
                results.wrote(path)
                if job.stop.received:
                    break
        return job.take_vote()


@dataclass(kw_only=True)
class RunResults(ResultWriter):
    """Statistics, figures and summary of a run of a solver in its current state.

    Attributes:
        case, solver, average: objects of the run.
    """

    kind = "run"

    case: Case
    solver: Solver
    average: TimeAverage

    def __post_init__(self) -> None:
        self._dataset: xr.Dataset | None = None

    @staticmethod
    def modules(solver: type[Solver], case: Case, figures: bool) -> list[str]:
        """Modules that the results of a case need."""
        names = []
        if solver.statistics is not Solver.statistics and solver.takes_samples(case):
            names += ["xarray", "xarray.backends.zarr"]
        return [*names, *(solver.figure_modules if figures else ())]

    def announce(self, results: Results) -> None:
        """Print why there are no statistics, if so."""
        self.job.say(self._no_samples())

    def write_data(self, results: Results) -> None:
        """Derive and write the statistics."""
        with results.part("the statistics"):
            if self.job.rank == 0 and self.average.samples:
                self._dataset = derive(self.solver.statistics, self.average)
                if self._dataset is not None:
                    results.wrote(write_statistics(self._dataset, self.job.path))

    def summary(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """Return time, samples, and the solver's own summary."""
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
        """Return why there are no statistics, if the solver has any."""
        when, solver = self.case.statistics, self.solver
        if self.average.samples or not solver.takes_samples(self.case):
            return ""
        if solver.time < when.start:
            why = f"at time {solver.time:.6g}, before statistics.start ({when.start:g})"
        elif solver.step_index < when.every:
            why = f"after step {solver.step_index}, before the first of statistics.every"
            why += f" ({when.every})"
        else:
            return ""
        return f"There are no statistics: the run ended {why}."
