"""What an action sees of the pipeline: where it works, and the step that there is."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from uzushio.parallel.collective import collective
from uzushio.parallel.timings import Timings

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpi4py import MPI

    from uzushio.pipeline.need import Need, Part
    from uzushio.pipeline.stream import Stream
    from uzushio.render.view import View


@dataclass(frozen=True)
class Setup:
    """Where an action works, for the whole of a run.

    Attributes:
        comm: the ranks that work together.
        folder: for the results; it exists on rank 0 at least.
        base: folder of the pipeline's file, from which paths in it count.
        in_process: whether the ranks are the solver's, inside its step.
        say: tells the user a sentence (on rank 0; does nothing elsewhere).
        views: of the file, by name.
        timings: of this rank.
        shared: what actions of one kind use together, by a key of theirs.
    """

    comm: MPI.Comm
    folder: Path
    base: Path
    in_process: bool
    say: Callable[[str], None]
    views: Mapping[str, View] = field(default_factory=dict)
    timings: Timings = field(default_factory=Timings)
    shared: dict[object, Any] = field(default_factory=dict)


class Values(Protocol):
    """Where the parts come from."""

    def parts(self, need: Need) -> list[Part]:
        """This rank's parts; raises `PipelineError` on all ranks if a source failed."""


@dataclass(frozen=True)
class Context:
    """One step, in the hands of an action until its `run` returns.

    Attributes:
        index: the solver's number of the step.
        time: of the step.
        attributes: numbers and texts that go with the step.
        stream: the grids and quantities, derived ones too.
        setup: where the action works.
    """

    index: int
    time: float
    attributes: Mapping[str, int | float | str]
    stream: Stream
    setup: Setup
    values: Values

    @property
    def comm(self) -> MPI.Comm:
        """The ranks that work together."""
        return self.setup.comm

    @property
    def folder(self) -> Path:
        """For the results."""
        return self.setup.folder

    def parts(self, need: Need) -> list[Part]:
        """This rank's parts of what the action said in `prepare` that it looks at.

        Local, and no copy where the values are in this process already.

        Args:
            need: one of those that `prepare` returned.

        Raises:
            PipelineError: on all ranks, a source could not be computed.
        """
        return self.values.parts(need)

    def together(self) -> AbstractContextManager[None]:
        """A block without communication that fails on all ranks if it fails on one."""
        return collective(self.setup.comm)

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Count the time of a block to a stage of the timings."""
        return self.setup.timings.stage(name)
