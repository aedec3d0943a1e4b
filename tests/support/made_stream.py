"""Stream for tests of actions: analytic fields with a decomposition chosen by the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from uzushio.domain.box import Box
from uzushio.pipeline.action import Action
from uzushio.pipeline.action_table import action_class
from uzushio.pipeline.context import Context, Setup
from uzushio.pipeline.model import PipelineFile
from uzushio.pipeline.need import Need, Part
from uzushio.pipeline.stream import Grid, Stream, _with_components
from uzushio.pipeline.tiles import stored_box
from uzushio.staging import Field, Mesh

#: Function of time and the coordinates z, y, x of all points that returns an array (z, y, x,
#: component).
Formula = Callable[[float, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass
class Made:
    """A grid with fields and a decomposition.

    Attributes:
        lines: coordinates along z, y, x.
        formulas: functions of the fields, by name.
        comm: communicator of the ranks.
        cuts: number of parts along z, y, x. Parts are assigned to ranks cyclically, so that ranks
            may have several or none.
        periodic: periodic axes.
        start: index of the grid's first point.
        units: units of the fields, by name.
        empty: whether rank 0 has no part.
    """

    lines: tuple[np.ndarray, np.ndarray, np.ndarray]
    formulas: Mapping[str, Formula]
    comm: MPI.Comm = field(default_factory=lambda: MPI.COMM_SELF)
    cuts: tuple[int, int, int] = (1, 1, 1)
    periodic: str = ""
    start: tuple[int, int, int] = (0, 0, 0)
    units: Mapping[str, str] = field(default_factory=dict)
    empty: bool = False
    dtype: Any = np.float64
    curved: np.ndarray | None = None
    messages: list[str] = field(default_factory=list)

    @property
    def grid(self) -> Grid:
        mesh = Mesh.rectilinear("box", self.lines, self.start)
        if self.curved is not None:
            mesh = replace(mesh, coordinates=None, coordinate_field="corners")
        return Grid(mesh, periodic=self.periodic)

    def values(self, name: str, time: float) -> np.ndarray:
        """Return all values of a field, or of a vector's component."""
        if name == "corners" and self.curved is not None:
            return self.curved
        whole, _, part = name.partition(".")
        z, y, x = np.meshgrid(*self.lines, indexing="ij")
        values = np.asarray(self.formulas[whole](time, z, y, x)).astype(self.dtype)
        return values[..., "xyz".index(part)] if part else values

    @property
    def stream(self) -> Stream:
        quantities = []
        names = [*self.formulas, *(["corners"] if self.curved is not None else [])]
        for name in names:
            values = self.values(name, 0.0)
            components = values.shape[3] if values.ndim == 4 else 1
            unit = {"unit": self.units.get(name, "")}
            quantities.append(Field(name, ("box",), "vertex", values.dtype, components, unit))
        return Stream({"box": self.grid}, _with_components(quantities))

    def tiles(self) -> list[Box]:
        """Return the boxes of this rank."""
        ranks = list(range(self.comm.size))
        if self.empty and self.comm.size > 1:
            ranks = ranks[1:]
        edges = [
            np.linspace(s, s + len(line), n + 1).astype(int)
            for s, line, n in zip(self.start, self.lines, self.cuts, strict=True)
        ]
        mine = []
        for number, place in enumerate(np.ndindex(*self.cuts)):
            if ranks[number % len(ranks)] == self.comm.rank:
                low = [int(e[i]) for e, i in zip(edges, place, strict=True)]
                high = [int(e[i + 1]) for e, i in zip(edges, place, strict=True)]
                count = tuple(b - a for a, b in zip(low, high, strict=True))
                mine.append(Box(tuple(low), count))  # type: ignore[arg-type]
        return mine

    def context(self, index: int, time: float, setup: Setup) -> Context:
        return Context(index, time, {}, self.stream, setup, _Values(self, time))

    def setup(self, folder: Path) -> Setup:
        folder.mkdir(parents=True, exist_ok=True)
        return Setup(
            self.comm, folder, folder, False, self.messages.append, PipelineFile(actions=[None])
        )

    def action(self, kind: str, folder: Path, name: str = "it", **settings: Any) -> Action[Any]:
        """Return a prepared action."""
        action_type = action_class(kind)
        action = action_type(action_type.settings_model(**settings), name, self.setup(folder))
        action.prepare(self.stream)
        return action

    def run(
        self, action: Action[Any], steps: Sequence[tuple[int, float]], close: bool = True
    ) -> None:
        """Run the action at steps, and finish it."""
        for index, time in steps:
            action.run(self.context(index, time, action.setup))
        if close:
            action.finish()
            action.close()


@dataclass
class _Values:
    made: Made
    time: float

    def parts(self, need: Need) -> list[Part]:
        made, grid = self.made, self.made.grid
        parts = []
        for tile in made.tiles():
            points, cells, stored = stored_box(need, grid, tile)
            if points.size == 0:
                continue
            place = stored.slices(made.start)
            fields = {name: made.values(name, self.time)[place] for name in need.fields}
            corners = None if made.curved is None else made.curved[place]
            parts.append(Part(grid, points, cells, stored, fields, corners))
        return parts
