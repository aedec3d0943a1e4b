"""Time budget of a picture: work that exceeds it is given up, and work in progress at a signal."""

from __future__ import annotations

import time
from collections.abc import Callable

from uzushio.errors import ViewerError

#: Seconds for a picture of the only view that is watched, and of one of several.
ALONE, SHARED = 30.0, 5.0


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
        self._shared: Callable[[], bool] = lambda: False
        self._began = time.monotonic()

    def begin(self, shared: Callable[[], bool]) -> None:
        """Begin a picture; `shared` returns whether other views are watched, also from now on."""
        self._began, self._shared = time.monotonic(), shared

    @property
    def spent(self) -> float:
        """Seconds since the picture was begun."""
        return time.monotonic() - self._began

    def check(self) -> None:
        """Raise `GivenUpError` after the budget, or after a signal to end."""
        if self._stopped():
            raise GivenUpError("The picture was given up: the live view ends.")
        seconds = SHARED if self._shared() else ALONE
        if self.spent > seconds:
            raise GivenUpError(
                f"The picture was given up after {seconds:g} s, which is the maximum; choose a "
                "smaller size, fewer samples or layers, or simpler derived fields."
            )
