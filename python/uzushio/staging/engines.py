"""Interfaces of user-defined engines in Python, for `Writer.with_engine`, `Reader.with_source`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from uzushio.domain.box import Triple


@dataclass(frozen=True)
class Counters:
    """Counters of the steps of a stream; complete on the writer's rank 0.

    Attributes:
        published: steps published by the solver.
        delivered: steps delivered, counted for each reader.
        dropped: steps that a reader attached at that time never received.
        seconds_waited: time that the solver waited.
        peak_bytes: maximum of bytes held for readers.
        bytes: bytes held now.
        steps: steps held now.
    """

    published: int = 0
    delivered: int = 0
    dropped: int = 0
    seconds_waited: float = 0.0
    peak_bytes: int = 0
    bytes: int = 0
    steps: int = 0


class WriterEngine(ABC):
    """Engine of one rank of a writer; all methods except `counters` are collective."""

    @abstractmethod
    def publish(self, part: Any, values: list[np.ndarray]) -> int | None:
        """Publish a step.

        Args:
            part: the core's StepInfo with this rank's blocks.
            values: arrays (z, y, x, component) of these blocks with their ghosts, strided,
                read-only, in the order of the table; valid until the method returns.

        Returns:
            Sequence number of the step, or None if it was dropped.
        """

    @abstractmethod
    def close(self) -> None:
        """Deliver the remaining steps, and end the stream."""

    @abstractmethod
    def counters(self) -> Counters:
        """Return the counters."""


class NoEngine(WriterEngine):
    """Engine of a stream that could not be opened: it publishes nothing."""

    def publish(self, part: Any, values: list[np.ndarray]) -> int | None:
        """Publish nothing."""
        return None

    def close(self) -> None:
        """Do nothing."""

    def counters(self) -> Counters:
        """Return zeros."""
        return Counters()


#: Requested piece of an array: the writer's rank; index of the block in the step and of the array
#: in the block; box (start, count) in the stored array; first component and number of components;
#: target (z, y, x, component), possibly strided.
Piece: TypeAlias = tuple[int, int, int, tuple[Triple, Triple], int, int, np.ndarray]


class Source(ABC):
    """Source of steps of one rank of a reader; failures raise `StagingError` or a subclass."""

    #: Whether `next` is collective.
    collective = False

    @abstractmethod
    def next(self, limit: float) -> bytes | Literal["timeout", "ended"]:
        """Wait at most `limit` seconds for a step; called only on rank 0 of the reader.

        If this source is `collective`, it is called on all ranks, and rank 0's result is used.

        Returns:
            Number and table of the step, encoded by `_core.staging.announce`.
        """

    def begin(self, sequence: int, step: Any) -> None:
        """Begin a step (the core's StepInfo) on this rank, valid until `end`; on all ranks."""
        return None

    @abstractmethod
    def fetch(self, sequence: int, wanted: list[Piece], limit: float) -> None:
        """Fetch pieces of the step within `limit` seconds."""

    def end(self, sequence: int) -> None:
        """End the step on this rank."""
        return None

    @abstractmethod
    def release(self, sequence: int) -> None:
        """Release the step after all ranks ended it; called only on rank 0."""

    def close(self) -> None:
        """Close the source; the last call."""
        return None
