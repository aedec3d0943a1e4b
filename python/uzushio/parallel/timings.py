"""Timings by stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timings(dict[str, float]):
    """Seconds of the stages of this rank, by name."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of a block to a stage, also if it fails."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - began)

    def add(self, name: str, seconds: float) -> None:
        """Add seconds to a stage."""
        self[name] = self.get(name, 0.0) + seconds
