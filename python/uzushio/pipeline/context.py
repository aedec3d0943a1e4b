"""Arguments of an action: the environment of the run, and the current step."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from uzushio._base.parallel.section_monitor import SectionMonitor

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpi4py import MPI

    from uzushio.pipeline.need import Need, Part
    from uzushio.pipeline.stream import Stream
    from uzushio.render.view import View


@dataclass(frozen=True)
class Setup:
    """Environment of an action, the same for the whole run.

    Attributes:
        comm: ranks of the pipeline.
        folder: folder of results; exists at least on rank 0.
        base: folder of the pipeline's file; relative paths in the file start there.
        in_process: whether the pipeline runs on the solver's ranks, inside its step.
        say: prints a sentence on rank 0, does nothing on other ranks.
        views: views of the file, by name.
        sections: monitor of this rank's sections.
        shared: objects shared by several actions, by key.
        check: called several times a second while a picture is drawn; an exception that it raises
            interrupts the drawing on all ranks.
    """

    comm: MPI.Comm
    folder: Path
    base: Path
    in_process: bool
    say: Callable[[str], None]
    views: Mapping[str, View] = field(default_factory=dict)
    sections: SectionMonitor = field(default_factory=SectionMonitor)
    shared: dict[object, Any] = field(default_factory=dict)
    check: Callable[[], None] | None = None


class PartSource(Protocol):
    """Source of the parts."""

    def parts(self, need: Need) -> list[Part]:
        """Return this rank's parts; raises `PipelineError` on all ranks if a source failed."""


@dataclass(frozen=True)
class Context:
    """One step, valid until `Action.run` returns.

    Attributes:
        index: the solver's number of the step.
        time: time of the step.
        attributes: numbers and texts of the step.
        stream: grids and quantities, derived ones included.
        setup: environment of the action.
        values: source of the parts.
    """

    index: int
    time: float
    attributes: Mapping[str, int | float | str]
    stream: Stream
    setup: Setup
    values: PartSource

    @property
    def comm(self) -> MPI.Comm:
        """Ranks of the pipeline."""
        return self.setup.comm

    @property
    def folder(self) -> Path:
        """Folder of results."""
        return self.setup.folder

    def parts(self, need: Need) -> list[Part]:
        """Return this rank's parts of a need.

        Not collective; values in this process's memory are not copied.

        Args:
            need: one of the needs that `Action.prepare` returned.

        Raises:
            PipelineError: on all ranks, a source could not be computed.
        """
        return self.values.parts(need)

    def section(self, name: str) -> AbstractContextManager[None]:
        """Add the time of a block to a section of the action."""
        return self.setup.sections.section(name)
