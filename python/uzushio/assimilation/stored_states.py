"""Storage of states of consecutive steps in memory."""

from __future__ import annotations

import numpy as np


class StoredStates:
    """States, tangents or adjoints of consecutive steps in memory."""

    def __init__(self, steps: int, shape: tuple[int, ...]) -> None:
        self._values = np.empty((steps, *shape))
        self._first = self._count = 0

    @property
    def bytes(self) -> int:
        """Bytes on this rank."""
        return self._values.nbytes

    def begin(self, first: int) -> None:
        """Discard all; the next state to append is that of step `first`."""
        self._first, self._count = first, 0

    def append(self, state: np.ndarray) -> None:
        """Append a state after the last one."""
        self._values[self._count] = state
        self._count += 1

    def __getitem__(self, step: int) -> np.ndarray:
        """Return the state of a step, which must not be changed."""
        return fixed(self._values[step - self._first])

    def __setitem__(self, step: int, state: np.ndarray) -> None:
        self._values[step - self._first] = state


def fixed(array: np.ndarray) -> np.ndarray:
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view
