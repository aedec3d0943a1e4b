"""Table of the sections of all ranks: totals, imbalance, rates, share of the roofline."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from uzushio._base.parallel.roofline import Roofline, roofline
from uzushio._base.parallel.section_monitor import Path, SectionMonitor, Totals
from uzushio._base.parallel.section_rows import HEAD, section_rows

if TYPE_CHECKING:
    from mpi4py import MPI

#: Maximum number of ranks whose numbers are in the data one by one.
MAX_RANKS = 256
_NONE = Totals(0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class SectionTable:
    """Sections of all ranks.

    Attributes:
        totals: totals of each rank by section, each section after the one around it.
        elapsed: wall time since the monitors were reset, maximum over the ranks, in seconds.
        bound: rates of the machine; None if not measured.
    """

    totals: dict[Path, list[Totals]]
    elapsed: float
    bound: Roofline | None

    def data(self) -> dict[str, Any]:
        """Return plain JSON values, as in `summary.json`."""
        return {
            "seconds": self.elapsed,
            "ranks": len(next(iter(self.totals.values()), ())),
            "roofline": None if self.bound is None else asdict(self.bound),
            "sections": [self._entry(path, ranks) for path, ranks in self.totals.items()],
        }

    def _entry(self, path: Path, ranks: list[Totals]) -> dict[str, Any]:
        columns = dict(zip(Totals._fields, map(list, zip(*ranks, strict=True)), strict=True))
        seconds = np.array(columns["seconds"])
        entry: dict[str, Any] = {
            "name": path[-1],
            "inside": list(path[:-1]),
            **{name: sum(column) for name, column in columns.items()},
            "imbalance": float(seconds.max() / seconds.mean()) if seconds.any() else 1.0,
        }
        entry["roofline_share"] = self._share(entry)
        if len(ranks) <= MAX_RANKS:
            entry["by_rank"] = columns
        return entry

    def _share(self, entry: dict[str, Any]) -> float | None:
        """Return the roofline's minimum time over the mean time; None if not known."""
        known = self.bound is not None and entry["seconds"] and (entry["flops"] or entry["bytes"])
        if not known:
            return None
        assert self.bound is not None
        ranks = len(self.totals[(*entry["inside"], entry["name"])])
        least = self.bound.seconds(entry["flops"], entry["bytes"])
        return float(ranks * least / entry["seconds"])

    def text(self, width: int = 120) -> str:
        """Return the printed table."""
        table = Table(box=None, padding=(0, 2, 0, 0))
        for number, name in enumerate(HEAD):
            table.add_column(name, justify="right" if number else "left", no_wrap=True)
        for row in section_rows(self.data()):
            table.add_row(*row)
        out = io.StringIO()
        Console(file=out, width=width, color_system=None).print(table)
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def gather(sections: SectionMonitor, comm: MPI.Comm) -> SectionTable | None:
    """Return the sections of all ranks on rank 0 (collective).

    The roofline is measured if a section states its work and no rates are stored.
    """
    from mpi4py import MPI

    mine = sections.totals()
    states_work = any(totals.flops or totals.bytes for totals in mine.values())
    elapsed = comm.allreduce(sections.elapsed, MPI.MAX)
    bound = roofline(comm) if comm.allreduce(states_work, MPI.LOR) else None
    ranks = comm.gather(mine)
    if ranks is None:
        return None
    totals = {
        path: [rank_totals.get(path, _NONE) for rank_totals in ranks] for path in _paths(ranks)
    }
    return SectionTable(totals, elapsed, bound)


def _paths(ranks: list[dict[Path, Totals]]) -> list[Path]:
    """Return the paths of all ranks, each after the one around it."""
    children: dict[Path, dict[Path, None]] = {}
    for path in (path for totals in ranks for path in totals):
        for depth in range(len(path)):
            children.setdefault(path[:depth], {})[path[: depth + 1]] = None

    def below(path: Path) -> Iterator[Path]:
        for child in children.get(path, ()):
            yield child
            yield from below(child)

    return list(below(()))
