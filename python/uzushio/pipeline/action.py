"""Interface of the actions of a pipeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from uzushio._base.config.section import Section
from uzushio.pipeline.lines import truncate_after
from uzushio.pipeline.need import Need

if TYPE_CHECKING:
    from uzushio._base.store.array import State, StoredState
    from uzushio.pipeline.context import Context, Setup
    from uzushio.pipeline.stream import Stream

Settings = TypeVar("Settings", bound=Section)

#: Suffixes of files that grow by lines at each step.
_GROWING = (".csv", ".jsonl", ".json", ".txt")


class Action(ABC, Generic[Settings]):
    """Base of the actions that a pipeline runs at the steps chosen by their triggers.

    A subclass names the model of its section of the file and is registered in
    `uzushio.pipeline.action_table`. All methods are called on all ranks, in the same order. An
    exception must be raised on all ranks or on none: put work that may fail on some ranks and does
    not communicate into `with collective(context.comm):` (`uzushio._base.parallel.sync`). A failure
    of an action is reported, and the other actions continue.
    """

    #: Model of the action's section of the file.
    settings_model: ClassVar[type[Section]]

    def __init__(self, settings: Settings, name: str, setup: Setup) -> None:
        """Make the action; the stream is not known yet.

        Args:
            settings: section of the file for the action.
            name: unique in the pipeline, usable in names of files.
            setup: ranks, folders and shared objects.
        """
        self.settings, self.name, self.setup = settings, name, setup

    @classmethod
    def default_name(cls, settings: Any) -> str:
        """Return the name of an action without `name` in the file; "" for kind and number."""
        return ""

    def files(self) -> Sequence[str]:
        """Return the files in the folder of results that only this action writes.

        Called before the first step. For names with a step in them: the name of step 0.
        """
        return ()

    def state(self) -> State | None:
        """Return the sums over earlier steps, which a checkpoint holds; None without any.

        Called on all ranks, for a pipeline inside a run.
        """
        return None

    def restore(self, stored: StoredState) -> None:
        """Continue from what `state` returned, on any number of ranks.

        Called on all ranks, after `prepare` and before `truncate`.

        Raises:
            CheckpointError: on all ranks, a value cannot be read.
        """
        return None

    def truncate(self, step: int) -> None:
        """Remove the results of the steps after `step`, which a restarted run repeats.

        Called on rank 0 alone, after `prepare` and before the first step. Here: the lines of text
        files; subclasses with other files remove those.

        Raises:
            OutputError, OSError: a file cannot be written.
        """
        for name in self.files():
            if PurePath(name).suffix in _GROWING:
                truncate_after(self.setup.folder / name, step)

    @abstractmethod
    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Check the names in the settings, and return the values that `run` reads.

        Called before the first step, and again when the meshes or fields of the stream change.

        Raises:
            PipelineError: an unknown name. The caller prepends file and line and appends a full
                stop to the message.
        """

    @abstractmethod
    def run(self, context: Context) -> None:
        """Run the action on the current step.

        Raises:
            PipelineError: the action failed; a complete sentence.
        """

    def finish(self) -> None:
        """Write results that are complete only at the end.

        Called on all ranks after the last step of a regular end, before `close`; the last call
        that may communicate. Not called after a failure that ends the pipeline.

        Raises:
            PipelineError, OutputError: on all ranks; a complete sentence.
        """
        return None

    def close(self) -> None:
        """Finish files; the last call, also after a signal. Must not communicate between ranks."""
        return None

    def summary(self) -> Mapping[str, Any]:
        """Return plain JSON values for `summary.json`: files, counts (of rank 0)."""
        return {}
