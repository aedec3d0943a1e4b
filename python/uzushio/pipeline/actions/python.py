"""Action `python`: a file of the user's own, which gets the blocks as VTK's datasets."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from uzushio.config.section import Section
from uzushio.errors import PipelineError
from uzushio.parallel.agreement import Agreement
from uzushio.pipeline.action import Action
from uzushio.pipeline.need import Need

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.context import Context
    from uzushio.pipeline.stream import Stream
    from uzushio.pipeline.vtk_view import VtkView


class PythonSettings(Section):
    """Which function, and what it sees."""

    file: Path = Field(description="Python file; its folder is found by `import`")
    function: str = Field("run", description="called with the step on each rank")
    fields: list[str] | None = Field(
        None, description="names of fields and sources; all fields of the stream if not given"
    )
    cells: bool = Field(
        False, description="datasets share the points between them, so that no cell is missing"
    )


@dataclass
class PythonStep:
    """What the user's function gets, until it returns.

    Attributes:
        index: the solver's number of the step.
        time: of the step.
        attributes: numbers and texts that go with the step.
        comm: the ranks, a communicator of this function's own. If a rank raises or returns while
            others wait for it here, the job ends when the action's `wait_limit` is over.
        folder: for results.
        datasets: this rank's parts, none or many: vtkImageData, vtkRectilinearGrid or
            vtkStructuredGrid, pyvista's where it is installed. Their arrays are the blocks' own
            memory, not to be written to; they are emptied when the function returns.
        grids: the same by the name of the grid that their points are of.
        copied: bytes of arrays that could not be looked at where they are.
        keep: whatever the function wants to keep until the next step.
    """

    index: int
    time: float
    attributes: Mapping[str, int | float | str]
    comm: MPI.Comm
    folder: Path
    grids: dict[str, list[Any]]
    copied: int
    keep: dict[str, Any] = field(default_factory=dict)

    @property
    def datasets(self) -> list[Any]:
        """All of `grids`."""
        return [one for found in self.grids.values() for one in found]


class Python(Action[PythonSettings]):
    """Calls the function; what it raises is this action's failure."""

    settings_model: ClassVar[type[Section]] = PythonSettings
    _function: Callable[[PythonStep], object] | None = None
    _needs: list[Need]

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Load the file, and find the fields."""
        if self._function is None:
            with Agreement(self.setup.comm).on(f"loading {self.settings.file}"):
                self._function = self._load()
            self._comm = self.setup.comm.Dup()
            self._keep: dict[str, Any] = {}
            self._steps, self._copied = 0, 0
        names = self.settings.fields
        if names is None:
            names = [
                name
                for name, one in stream.quantities.items()
                if not one.derived and name.rpartition(".")[0] not in stream.quantities
            ]
        by_grid: dict[str, list[str]] = {}
        for name in names:
            by_grid.setdefault(stream.grid_of(name).name, []).append(name)
        self._needs = [Need(tuple(found), cells=self.settings.cells) for found in by_grid.values()]
        return self._needs

    def _load(self) -> Callable[[PythonStep], object]:
        """The function of the file; raises `PipelineError`, a sentence's end."""
        file = (self.setup.base / self.settings.file.expanduser()).resolve()
        try:
            import vtkmodules.vtkCommonDataModel  # noqa: F401

            with suppress(ImportError):  # before the first step: it takes seconds
                import pyvista  # noqa: F401
        except ImportError as error:
            raise PipelineError(
                f"VTK is not installed ({error}): pip install vtk pyvista"
            ) from error
        if not file.is_file():
            raise PipelineError(f"file: there is no file {file}")
        if str(file.parent) not in sys.path:
            sys.path.append(str(file.parent))
        spec = importlib.util.spec_from_file_location(f"uzushio_{self.name}", file)
        if spec is None or spec.loader is None:
            raise PipelineError(f"file: {file} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise PipelineError(f"file: {_told(file, error)}") from error
        found = getattr(module, self.settings.function, None)
        if not callable(found):
            raise PipelineError(f"file: {file} needs a function {self.settings.function}(step)")
        self._file = file
        return found  # type: ignore[no-any-return]

    def run(self, context: Context) -> None:
        """Hand the parts over."""
        with context.together():
            grids, views = self._views(context)
        copied = sum(view.copied for view in views)
        step = PythonStep(
            context.index,
            context.time,
            context.attributes,
            self._comm,
            context.folder,
            grids,
            copied,
            self._keep,
        )
        self._copied += copied
        # On some ranks alone, perhaps: the pipeline waits for all of them, with a limit.
        with context.stage("python"):
            failure = self._call(step)
            grids.clear()
            free = [view.release() for view in views]
            if failure is not None:
                raise failure
            if not all(free):
                raise PipelineError(
                    f"{self._file} keeps arrays of step {context.index}, whose memory goes back "
                    "to the solver; keep copies."
                )
        self._steps += 1

    def _views(self, context: Context) -> tuple[dict[str, list[Any]], list[VtkView]]:
        """This rank's parts as datasets, by grid; no local name keeps one of them."""
        from uzushio.pipeline.vtk_view import VtkView

        grids: dict[str, list[Any]] = {}
        views: list[VtkView] = []
        for need in self._needs:
            found = grids.setdefault(context.stream.grid_of(need.fields[0]).name, [])
            for part in context.parts(need):
                views.append(VtkView(part))
                found.append(views[-1].dataset)
        return grids, views

    def _call(self, step: PythonStep) -> PipelineError | None:
        """Call the function; what it raised, in a sentence, with the traceback as a note.

        The exception itself would keep the function's names, and with them the solver's memory.
        """
        assert self._function is not None
        try:
            self._function(step)
        except (Exception, SystemExit) as error:
            failure = PipelineError(f"{_told(self._file, error)}.")
            failure.add_note(_trace(self._file, error))
            return failure
        return None

    def close(self) -> None:
        """Let go of what the function kept."""
        if self._function is not None:
            self._keep.clear()

    def summary(self) -> Mapping[str, Any]:
        """How often it was called, and what had to be copied for it (on rank 0)."""
        return {"files": [], "steps": self._steps, "bytes_copied": self._copied}


def _trace(file: Path, error: BaseException) -> str:
    """The traceback of an exception, from the user's file on."""
    inside = error.__traceback__
    while inside is not None and inside.tb_frame.f_code.co_filename != str(file):
        inside = inside.tb_next
    lines = traceback.format_exception(type(error), error, inside or error.__traceback__)
    return "".join(lines).rstrip()


def _told(file: Path, error: BaseException) -> str:
    """An exception of the user's file with its line."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    line = error.lineno if isinstance(error, SyntaxError) else (lines or [None])[-1]
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    where = f"{file}, line {line}" if line is not None else str(file)
    return f"{where}: {type(error).__name__}: {text.rstrip('.')}"
