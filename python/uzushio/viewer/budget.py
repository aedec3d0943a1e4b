"""Time budget of a picture: work that exceeds it is given up, and work in progress at a signal."""

from __future__ import annotations

import time
from collections.abc import Callable

from uzushio.errors import ViewerError

#: Seconds for a picture of the only view that is watched, and of one of several.
ALONE, SHARED = 60.0, 10.0


class GivenUpError(ViewerError):
    """The picture of a view was given up."""


class Budget:
    """Time budget of the picture in progress; every rank has one.

    `check` is called several times a second within the work, where all ranks agree on its errors.

    Args:
        stopped: returns whether this rank has received a signal to end.
    """

    def __init__(self, stopped: Callable[[], bool] = lambda: False) -> None:
        self._stopped = stopped
        self._began, self._seconds = time.monotonic(), ALONE

    def begin(self, seconds: float) -> None:
        """Begin a picture with this many seconds of wall-clock time."""
        self._began, self._seconds = time.monotonic(), seconds

    @property
    def spent(self) -> float:
        """Seconds since the picture was begun."""
        return time.monotonic() - self._began

    def check(self) -> None:
        """Raise `GivenUpError` after the budget, or after a signal to end."""
        if self._stopped():
            raise GivenUpError("The picture was given up: the live view ends.")
        if self.spent > self._seconds:
            raise GivenUpError(
                f"The picture was given up after {self._seconds:g} s, which is the maximum; choose "
                "a smaller size, fewer samples or layers, or simpler derived fields."
            )
