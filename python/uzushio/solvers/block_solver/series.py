"""Figures of the flow over time, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uzushio._base.store.array import DistributedArray
from uzushio.solvers.contract import StoredState

#: Name of the array in checkpoints.
NAME = "series"
#: Steps between the first samples, and maximum number of samples.
FIRST_INTERVAL, CAPACITY = 4, 512


class Series:
    """Samples of named values at every n-th step; n doubles whenever `CAPACITY` is exceeded.

    The steps of the samples do not depend on restarts. All ranks have the same samples.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Begin without samples of these values."""
        self.names = list(names)
        self._every = FIRST_INTERVAL
        self._rows: list[tuple[float, ...]] = []

    def is_due(self, step: int) -> bool:
        """Return whether a sample of this step belongs to the series."""
        return step % self._every == 0

    def add(self, step: int, time: float, values: Sequence[float]) -> None:
        """Add a sample of a step, which is later than those before."""
        self._rows.append((step, time, *values))
        if len(self._rows) > CAPACITY:
            self._every *= 2
            self._rows = [row for row in self._rows if self.is_due(int(row[0]))]

    def table(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the times, and the values by name."""
        rows = np.array(self._rows).reshape(len(self._rows), 2 + len(self.names))
        return rows[:, 1], {name: rows[:, 2 + n] for n, name in enumerate(self.names)}

    def stored(self, rank: int) -> tuple[dict[str, DistributedArray], dict[str, Any]]:
        """Return the array and the attributes of a checkpoint; rank 0 has the values."""
        if not self._rows:
            return {}, {}
        rows = np.array(self._rows)
        array = DistributedArray(
            rows.shape,
            rows.dtype,
            [((0, 0), rows)] if rank == 0 else [],
            ("sample", "quantity"),
            rows.shape,
        )
        return {NAME: array}, {"names": self.names, "every": self._every}

    def restore(self, stored: StoredState) -> None:
        """Continue from the samples of a checkpoint; none if it has those of other values."""
        notes: Mapping[str, Any] = stored.attributes.get(NAME) or {}
        self._every, self._rows = FIRST_INTERVAL, []
        if NAME in stored.shapes and notes.get("names") == self.names:
            self._every = int(notes["every"])
            rows = stored.read(NAME, (0, 0), stored.shapes[NAME])
            self._rows = [tuple(map(float, row)) for row in rows]
