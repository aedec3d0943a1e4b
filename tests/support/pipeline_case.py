"""Helpers of the tests of pipelines: an analytic flow, published inside, and recording actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from mpi4py import MPI

from uzushio import staging
from uzushio._base.config.section import Section
from uzushio._base.parallel.sync import collective
from uzushio.domain.box import Box
from uzushio.pipeline import action_table
from uzushio.pipeline.action import Action
from uzushio.pipeline.context import Context
from uzushio.pipeline.model import load
from uzushio.pipeline.need import Need, Part
from uzushio.pipeline.pipeline import Pipeline
from uzushio.pipeline.stream import Stream

Lines = tuple[np.ndarray, np.ndarray, np.ndarray]
#: Function of x, y, z and the step.
Formula = Callable[..., np.ndarray]


class GrabSettings(Section):
    fields: list[str]
    ghosts: int = 0
    cells: bool = False
    region: tuple[tuple[int, int, int], tuple[int, int, int]] | None = None


class Grab(Action[GrabSettings]):
    """Action that keeps complete fields on rank 0, and the parts of the last step."""

    settings_model: ClassVar[type[Section]] = GrabSettings
    values: ClassVar[dict[tuple[str, int], np.ndarray]] = {}
    look: ClassVar[Callable[[Part], object] | None] = None

    def prepare(self, stream: Stream) -> Sequence[Need]:
        for name in self.settings.fields:
            stream.quantity(name)
        given = self.settings
        region = None if given.region is None else Box(*given.region)
        self._needs = [
            Need((name,), given.ghosts, given.cells, region=region) for name in given.fields
        ]
        return self._needs

    def run(self, context: Context) -> None:
        for need in self._needs:
            parts = context.parts(need)
            mine = [(part.points, part.owned(need.fields[0]).copy()) for part in parts]
            if Grab.look is not None:
                for part in parts:
                    Grab.look(part)
            every = context.comm.gather(mine)
            if every is None:
                continue
            grid = context.stream.grid_of(need.fields[0])
            components = context.stream.quantity(need.fields[0]).components
            shape = grid.points.count + ((components,) if components > 1 else ())
            whole, times = np.full(shape, np.nan), np.zeros(grid.points.count, int)
            for box, values in (pair for rank in every for pair in rank):
                whole[box.slices(grid.points.start)] = values
                times[box.slices(grid.points.start)] += 1
            assert times.max() == 1, "a point belongs to one part"
            assert self.settings.region is not None or times.min() == 1
            Grab.values[need.fields[0], context.index] = whole


class FailSettings(Section):
    rank: int = 0
    kind: str = "ValueError"


class Fail(Action[FailSettings]):
    """Action that fails on one rank."""

    settings_model: ClassVar[type[Section]] = FailSettings

    def prepare(self, stream: Stream) -> Sequence[Need]:
        return []

    def run(self, context: Context) -> None:
        with collective(context.comm):
            if context.comm.rank == self.settings.rank % context.comm.size:
                raise ValueError(f"no good at {context.index}")


action_table.register("grab", "pipeline_case:Grab")
action_table.register("fail", "pipeline_case:Fail")


def stretched(n: int, low: float = 0.0, high: float = 1.0, by: float = 1.3) -> np.ndarray:
    """Return points with smaller spacings at both ends."""
    return low + (high - low) * 0.5 * (1.0 + np.tanh(by * np.linspace(-1, 1, n)) / np.tanh(by))


@dataclass
class Flow:
    """Analytic fields on meshes that are distributed over ranks.

    Attributes:
        lines: coordinates z, y, x of each mesh.
        fields: mesh and formula of each field.
        cuts: parts along z, y, x, one for each rank.
    """

    lines: Mapping[str, Lines]
    fields: Mapping[str, tuple[str, Formula]]
    comm: MPI.Comm = field(default_factory=lambda: MPI.COMM_SELF)
    cuts: tuple[int, int, int] = (1, 1, 1)
    dtype: Any = np.float64
    attributes: Mapping[str, Any] = field(default_factory=dict)
    elements: bool = False
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def box(self, mesh: str) -> Box:
        """Return the box of this rank."""
        place = np.unravel_index(self.comm.rank, self.cuts)
        start, count = [], []
        for at, n, line in zip(place, self.cuts, self.lines[mesh], strict=True):
            size = len(line) - self.elements
            begin, end = size * int(at) // n, size * (int(at) + 1) // n
            start.append(begin)
            count.append(end - begin)
        return Box(tuple(start), tuple(count))  # type: ignore[arg-type]

    def write(self, writer: Any, steps: int) -> None:
        """Publish a number of steps at times 0, 0.1, …"""
        kind = "element" if self.elements else "vertex"
        ids = {}
        for number, (mesh, lines) in enumerate(self.lines.items()):
            ids[mesh] = number * self.comm.size + self.comm.rank
            flat = len(lines[0]) == 1
            writer.rectilinear_mesh(mesh, list(lines), dimension=2 if flat else 3)
            writer.block(ids[mesh], mesh, self.box(mesh), kind)
        for name, value in self.attributes.items():
            writer.attribute(name, value)
        for name, (mesh, formula) in self.fields.items():
            points = np.meshgrid(*self.lines[mesh], indexing="ij")
            shape = np.shape(formula(*reversed(points), 0))
            writer.field(name, mesh, "vertex", self.dtype, shape[3] if len(shape) > 3 else 1)
        for step in range(steps):
            with writer.step(step, 0.1 * step):
                for name, (mesh, formula) in self.fields.items():
                    box = self.box(mesh)
                    more = self.elements
                    own = Box(box.start, tuple(n + more for n in box.count))  # type: ignore[arg-type]
                    parts = [
                        line[part]
                        for line, part in zip(self.lines[mesh], own.slices(), strict=True)
                    ]
                    points = np.meshgrid(*parts, indexing="ij")
                    values = np.asarray(formula(*reversed(points), step)).astype(self.dtype)
                    self.arrays[name] = values
                    writer.put(name, values, ids[mesh])

    def inside(
        self, text: str, folder: Path, steps: int = 1, messages: list[str] | None = None
    ) -> Pipeline:
        """Run a pipeline inside the steps."""
        file = folder / "pipeline.yaml"
        if self.comm.rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.comm.Barrier()
        messages = [] if messages is None else messages
        pipeline = Pipeline(load(file), self.comm, folder / "out", messages.append, in_situ=True)
        try:
            with staging.open("made", self.comm, {"engine": "inproc"}) as writer:
                writer.on_step(pipeline.step)
                self.write(writer, steps)
            pipeline.finish()
        finally:
            pipeline.close()
        return pipeline


def grab(flow: Flow, sources: str, *names: str, folder: Path, steps: int = 1) -> list[np.ndarray]:
    """Return complete fields of the last step (rank 0)."""
    text = f"sources:\n{sources}\nactions:\n  - {{grab: {{fields: [{', '.join(names)}]}}}}\n"
    flow.inside(text, folder, steps)
    return [Grab.values[name, steps - 1] for name in names] if flow.comm.rank == 0 else []
