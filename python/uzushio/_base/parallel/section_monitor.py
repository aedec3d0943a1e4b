"""Sections of a rank's time: labelled, nested, with calls, seconds and stated work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from uzushio import _core

#: Names of a section and of those around it, the outermost first.
Path = tuple[str, ...]


class Totals(NamedTuple):
    """Totals of a section on one rank.

    Attributes:
        calls: number of calls.
        seconds: wall time, with that of the sections inside it.
        flops: floating-point operations stated for it and the sections inside it; 0 if unknown.
        bytes: bytes between memory and processor, likewise.
    """

    calls: int
    seconds: float
    flops: float
    bytes: float


class SectionMonitor:
    """Monitor of this rank's sections, for one thread.

    A section is identified by its name and the sections around it.

    Attributes:
        core: the same monitor for kernels in C++, which add their sections to the open one.
    """

    def __init__(self) -> None:
        self.core: Any = _core.parallel.SectionMonitor()

    @contextmanager
    def section(self, name: str, *, flops: float = 0.0, bytes: float = 0.0) -> Iterator[None]:
        """Add the time of a block to a section inside the open one, also if the block fails.

        Args:
            name: name of the section.
            flops: floating-point operations of the block by theory; 0 if unknown.
            bytes: minimum of bytes that the block moves between memory and processor; 0 if unknown.
        """
        depth = self.core.begin(name)
        try:
            if flops or bytes:
                self.core.add_work(flops, bytes)
            yield
        finally:
            self.core.end(depth)

    def add_section(self, name: str, seconds: float) -> None:
        """Add a call that took `seconds` to a section inside the open one; not in a trace."""
        self.core.add_section(name, seconds)

    def totals(self) -> dict[Path, Totals]:
        """Return the totals of all sections with calls, each after the one around it."""
        paths: list[Path] = []
        rows: list[list[Any]] = []
        parents: list[int] = []
        for name, parent, *numbers in self.core.sections():
            paths.append((*(paths[parent] if parent >= 0 else ()), name))
            rows.append(numbers)
            parents.append(parent)
        for numbers, parent in zip(reversed(rows), reversed(parents), strict=True):
            if parent >= 0:
                rows[parent][2] += numbers[2]
                rows[parent][3] += numbers[3]
        return {
            path: Totals(*numbers) for path, numbers in zip(paths, rows, strict=True) if numbers[0]
        }

    def seconds(self, inside: str | None = None) -> dict[str, float]:
        """Return the seconds of sections by name, summed over the sections around them.

        Args:
            inside: only sections inside one of this name; None: all.
        """
        by_name: dict[str, float] = {}
        for (*around, name), totals in self.totals().items():
            if inside is None or inside in around:
                by_name[name] = by_name.get(name, 0.0) + totals.seconds
        return by_name

    @property
    def elapsed(self) -> float:
        """Seconds since the monitor was made or reset."""
        return float(self.core.elapsed)

    def reset(self, earlier: float = 0.0) -> None:
        """Set all totals to zero; open sections count from now.

        Args:
            earlier: seconds before now that count as elapsed.
        """
        self.core.reset(earlier)
