"""Sections of one picture, which its renderer's monitor records too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from uzushio._base.parallel.section_monitor import SectionMonitor

#: Beginning of the names in the renderer's monitor.
PREFIX = "picture: "


class PictureSections:
    """Sections of one picture.

    Args:
        monitor: the renderer's monitor; None: a new one.
    """

    def __init__(self, monitor: SectionMonitor | None = None) -> None:
        self._monitor = SectionMonitor() if monitor is None else monitor
        self._own = SectionMonitor()

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Add the time of a block to a section of the picture, also if the block fails."""
        with self._monitor.section(PREFIX + name), self._own.section(name):
            yield

    def seconds(self) -> dict[str, float]:
        """Return the seconds of the picture's sections by name."""
        return self._own.seconds()
