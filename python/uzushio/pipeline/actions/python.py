"""Action `python`: a function of the user, called with the blocks as VTK datasets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from uzushio._base.config.section import Section
from uzushio._base.config.user_function import load_function, trace
from uzushio._base.error_text import error_message
from uzushio._base.parallel.sync import TimedCollective, collective
from uzushio.errors import PipelineError
from uzushio.pipeline.action import Action
from uzushio.pipeline.need import Need

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.context import Context
    from uzushio.pipeline.stream import Stream
    from uzushio.pipeline.vtk_view import VtkView


class PythonSettings(Section):
    """Function of the user and its fields."""

    file: Path = Field(description="Python file; its folder is on the path of `import`")
    function: str = Field("run", description="called with the step on each rank")
    fields: list[str] | None = Field(
        None, description="names of fields and sources; all fields of the stream if not given"
    )
    cells: bool = Field(
        False, description="datasets overlap by one point, so that no cell is missing between them"
    )


@dataclass
class PythonStep:
    """Argument of the user's function, valid until it returns.

    Attributes:
        index: the solver's number of the step.
        time: time of the step.
        attributes: numbers and texts of the step.
        comm: communicator for this function alone. If a rank raises or returns while others wait
            for it in communication, the job ends after the action's `wait_limit`.
        folder: folder of results.
        datasets: this rank's parts, zero or more: vtkImageData, vtkRectilinearGrid or
            vtkStructuredGrid, of pyvista if it is installed. Their arrays are the memory of the
            blocks and read-only; the datasets are emptied when the function returns.
        grids: the datasets by name of their grid.
        copied: bytes of arrays that had to be copied.
        keep: objects that the function keeps until the next step.
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
        return [dataset for datasets in self.grids.values() for dataset in datasets]


class Python(Action[PythonSettings]):
    """Call of a user's function; an exception of the function is a failure of the action."""

    settings_model: ClassVar[type[Section]] = PythonSettings
    _function: Callable[[PythonStep], object] | None = None
    _needs: list[Need]

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Load the file, and find the fields."""
        if self._function is None:
            with TimedCollective(self.setup.comm).block(f"loading {self.settings.file}"):
                self._function = self._load()
            self._comm = self.setup.comm.Dup()
            self._keep: dict[str, Any] = {}
            self._steps, self._copied = 0, 0
        names = self.settings.fields
        if names is None:
            names = [
                name
                for name, quantity in stream.quantities.items()
                if not quantity.derived and name.rpartition(".")[0] not in stream.quantities
            ]
        by_grid: dict[str, list[str]] = {}
        for name in names:
            by_grid.setdefault(stream.grid_of(name).name, []).append(name)
        self._needs = [
            Need(tuple(fields), cells=self.settings.cells) for fields in by_grid.values()
        ]
        return self._needs

    def _load(self) -> Callable[[PythonStep], object]:
        """Load the function from the file; raises `PipelineError` without full stop."""
        file = (self.setup.base / self.settings.file.expanduser()).resolve()
        try:
            import vtkmodules.vtkCommonDataModel  # noqa: F401

            with suppress(ImportError):  # imported before the first step, as it takes seconds
                import pyvista  # noqa: F401
        except ImportError as error:
            raise PipelineError(
                f"VTK is not installed ({error}): pip install vtk pyvista"
            ) from error
        try:
            function = load_function(file, self.settings.function)
        except ValueError as error:
            raise PipelineError(f"file: {error}") from error
        self._file = file
        return function

    def run(self, context: Context) -> None:
        """Call the function with the parts as datasets."""
        with collective(context.comm):
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
        # The function may fail on some ranks only: the pipeline agrees on that, with a timeout.
        with context.section("python"):
            failure = self._call(step)
            grids.clear()
            free = [view.release() for view in views]
            if failure is not None:
                raise failure
            if not all(free):
                raise PipelineError(
                    f"{self._file} keeps arrays of step {context.index}, whose memory returns "
                    "to the solver; keep copies."
                )
        self._steps += 1

    def _views(self, context: Context) -> tuple[dict[str, list[Any]], list[VtkView]]:
        """Return this rank's parts as datasets by grid, and their views."""
        from uzushio.pipeline.vtk_view import VtkView

        grids: dict[str, list[Any]] = {}
        views: list[VtkView] = []
        for need in self._needs:
            grid_views = grids.setdefault(context.stream.grid_of(need.fields[0]).name, [])
            for part in context.parts(need):
                views.append(VtkView(part))
                grid_views.append(views[-1].dataset)
        return grids, views

    def _call(self, step: PythonStep) -> PipelineError | None:
        """Call the function; return its exception as a sentence, with the traceback as a note.

        The exception itself would keep the frame of the function, and so the solver's memory.
        """
        assert self._function is not None
        try:
            self._function(step)
        except (Exception, SystemExit) as error:
            failure = PipelineError(f"{error_message(self._file, error)}.")
            failure.add_note(trace(self._file, error))
            return failure
        return None

    def close(self) -> None:
        """Drop the objects that the function kept."""
        if self._function is not None:
            self._keep.clear()

    def summary(self) -> Mapping[str, Any]:
        """Return the number of calls and of copied bytes (of rank 0)."""
        return {"files": [], "steps": self._steps, "bytes_copied": self._copied}
