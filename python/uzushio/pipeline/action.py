"""The contract between a pipeline and what it does at a step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from uzushio.config.section import Section
from uzushio.pipeline.need import Need

if TYPE_CHECKING:
    from uzushio.pipeline.context import Context, Setup
    from uzushio.pipeline.stream import Stream

Settings = TypeVar("Settings", bound=Section)


class Action(ABC, Generic[Settings]):
    """Something that a pipeline does when its triggers say so.

    A subclass names the model of its section of the file, and is named in
    `uzushio.pipeline.action_table`. All methods are called on all ranks, in the same order. What
    they raise must be raised on all ranks, or on none: put work that may fail on some ranks, and
    does not communicate, into `with context.together():`. An action that fails is reported, and
    the others go on.
    """

    #: Model of what stands behind the action's key in the file.
    settings_model: ClassVar[type[Section]]

    def __init__(self, settings: Settings, name: str, setup: Setup) -> None:
        """Make the action; nothing is known of the stream yet.

        Args:
            settings: its section of the file.
            name: unique in the pipeline, good for names of files.
            setup: where it works.
        """
        self.settings, self.name, self.setup = settings, name, setup

    @classmethod
    def default_name(cls, settings: Any) -> str:
        """What an action is called that the file gives no name; "" for its kind, and a number."""
        return ""

    def files(self) -> Sequence[str]:
        """Names in the folder of results that this action writes to, and no other one may.

        Asked before the first step. Of a name with the step in it, that of step 0.
        """
        return ()

    @abstractmethod
    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Check the names that the file gives, and say what `run` will look at.

        Called before the first step, and again if the stream changes what it has.

        Raises:
            PipelineError: a name that there is not; a sentence's end, without place and full stop.
        """

    @abstractmethod
    def run(self, context: Context) -> None:
        """Do it for the step that there is.

        Raises:
            PipelineError: it cannot be done; a whole sentence.
        """

    def finish(self) -> None:
        """Write what only the end makes whole.

        Called on all ranks when the steps have come to their end in order, before `close`; the
        last chance to communicate. Not called after a failure that ends the pipeline.

        Raises:
            PipelineError, OutputError: on all ranks; a whole sentence.
        """
        return None

    def close(self) -> None:
        """Finish files; the last call, also after a signal. Must not communicate."""
        return None

    def summary(self) -> Mapping[str, Any]:
        """Plain JSON values for `summary.json`: files written, counts (those of rank 0)."""
        return {}
