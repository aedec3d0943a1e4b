"""Vote: reduction in which ranks agree on information that only some of them have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from uzushio._base.parallel.sync import maximum

if TYPE_CHECKING:
    from mpi4py import MPI


class Entry:
    """Integer of a vote, given by each rank and agreed by all.

    Attributes:
        agreed: maximum over the ranks at the last vote; 0 before the first.
    """

    def __init__(self, value: Callable[[], int]) -> None:
        self.value, self.agreed = value, 0


class Vote:
    """One reduction for all participants: signals, elapsed time, due progress, commands.

    Args:
        comm: ranks that vote; None: this process alone, without MPI.
    """

    def __init__(self, comm: MPI.Comm | None) -> None:
        self._comm = comm
        self._entries: list[Entry] = []

    def add(self, value: Callable[[], int], rank: int | None = None) -> Entry:
        """Add an entry, in the same order on all ranks.

        Args:
            value: returns this rank's integer for the next vote, 0 for nothing. It may be a signal
                or a flag, or identify a rank that knows a command and broadcasts it after the vote.
            rank: only this rank's value counts, such as rank 0's for its clock; None: every rank's.
        """
        own = self._comm is None or rank in (None, self._comm.rank)
        entry = Entry(value if own else lambda: 0)
        self._entries.append(entry)
        return entry

    def take(self) -> None:
        """Agree on all entries (collective)."""
        agreed = own = np.array([entry.value() for entry in self._entries], np.int64)
        if self._comm is not None:
            agreed = np.empty_like(own)
            self._comm.Allreduce(own, agreed, maximum())
        for entry, agreed_value in zip(self._entries, agreed.tolist(), strict=True):
            entry.agreed = agreed_value
