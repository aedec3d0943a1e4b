"""Engines of one's own in Python: what the core asks of them.

`Writer.with_engine` and `Reader.with_source` take any object that has these methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from uzushio.staging.box import Triple


@dataclass(frozen=True)
class Counters:
    """What happened to the steps of a stream so far; whole on the writer's rank 0.

    Attributes:
        published: steps that the solver offered.
        delivered: handed to a reader, counted for each reader.
        dropped: steps that a reader attached at that time never got.
        seconds_waited: of the solver.
        peak_bytes: most that was held for readers at a time.
        bytes: that are held now.
        steps: that are held now.
    """

    published: int = 0
    delivered: int = 0
    dropped: int = 0
    seconds_waited: float = 0.0
    peak_bytes: int = 0
    bytes: int = 0
    steps: int = 0


class WriterEngine(ABC):
    """Carries the steps of one rank of a writer. All but `counters` is collective."""

    @abstractmethod
    def publish(self, part: Any, values: list[np.ndarray]) -> int | None:
        """Publish a step.

        Args:
            part: the core's StepInfo with this rank's blocks.
            values: the arrays (z, y, x, component) of these blocks with their ghosts, strided,
                read-only, in the order of the table; valid until the return.

        Returns:
            Its sequence number, or None if it was dropped.
        """

    @abstractmethod
    def close(self) -> None:
        """Give readers what is left, and end the stream."""

    @abstractmethod
    def counters(self) -> Counters:
        """What happened so far."""


#: A piece that a reader wants: the writer's rank; places of the block in the step and of the array
#: in the block; the box (start, count) in the stored array; first component and number of
#: components; where to, (z, y, x, component), possibly strided.
Piece: TypeAlias = tuple[int, int, int, tuple[Triple, Triple], int, int, np.ndarray]


class Source(ABC):
    """Where one rank of a reader gets steps from. Faults raise `StagingError` or a kind of it."""

    #: Whether `next` is called on all ranks, at once.
    collective = False

    @abstractmethod
    def next(self, limit: float) -> bytes | Literal["timeout", "ended"]:
        """Wait at most `limit` seconds for a step; on rank 0 of the reader alone.

        If this source is `collective`, on all ranks; rank 0's result counts.

        Returns:
            What `_core.staging.announce` makes of its number and table.
        """

    def begin(self, sequence: int, step: Any) -> None:
        """All ranks now have this step (the core's StepInfo), until `end`."""
        return None

    @abstractmethod
    def fetch(self, sequence: int, wanted: list[Piece], limit: float) -> None:
        """Bring pieces of the step."""

    def end(self, sequence: int) -> None:
        """This rank is done with the step."""
        return None

    @abstractmethod
    def release(self, sequence: int) -> None:
        """All ranks are done with the step; on rank 0 alone."""

    def close(self) -> None:
        """Leave; the last call."""
        return None
