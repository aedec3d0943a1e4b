"""Curved zones in any orientation with values at cells, published inside, and their surfaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from mpi4py import MPI

from uzushio import staging
from uzushio._base.config.section import Section
from uzushio.pipeline import action_table
from uzushio.pipeline.action import Action
from uzushio.pipeline.blocks import curvilinear_block
from uzushio.pipeline.context import Context
from uzushio.pipeline.model import load
from uzushio.pipeline.need import Need
from uzushio.pipeline.pipeline import Pipeline
from uzushio.pipeline.stream import Stream
from uzushio.raycast.surface import isosurface, slice_surface

#: Permutation of the axes and flips of each zone: turned and left-handed ones.
ORIENTATIONS = [
    ((0, 1, 2), (1, 1, 1)),
    ((1, 2, 0), (1, -1, 1)),
    ((2, 1, 0), (1, 1, 1)),
    ((0, 1, 2), (-1, 1, -1)),
]


def bent(places: np.ndarray) -> np.ndarray:
    """Map the cube from -1 to 1 to one with curved lines; its last axis is x, y, z."""
    x, y, z = np.moveaxis(places, -1, 0)
    return np.stack(
        [
            x + 0.08 * np.sin(2 * y + z),
            y + 0.06 * np.sin(2 * z - x),
            z + 0.07 * np.sin(x + 2 * y),
        ],
        axis=-1,
    )


def zone_corners(cells: int) -> list[np.ndarray]:
    """Vertices of four zones, two along x and two along y, (k, j, i, 3)."""
    line = np.linspace(-1, 1, 2 * cells + 1)
    halves = (line[: cells + 1], line[cells:])
    zones = []
    for (permutation, flips), place in zip(ORIENTATIONS, np.ndindex(2, 2), strict=True):
        x, y = halves[place[0]], halves[place[1]]
        corners = np.stack(np.meshgrid(x, y, line, indexing="ij"), axis=-1)
        turned = bent(corners).transpose(*permutation, 3)
        zones.append(np.ascontiguousarray(turned[tuple(slice(None, None, f) for f in flips)]))
    return zones


def centres(corners: np.ndarray) -> np.ndarray:
    """Positions of cells: means of their vertices."""
    for axis in range(3):
        n = corners.shape[axis]
        corners = 0.5 * (corners.take(range(n - 1), axis) + corners.take(range(1, n), axis))
    return corners


class SurfacesSettings(Section):
    value: float = 0.5


class Surfaces(Action[SurfacesSettings]):
    """Isosurface and slice of u on all ranks, gathered on rank 0: points, triangles, values."""

    settings_model: ClassVar[type[Section]] = SurfacesSettings
    gathered: ClassVar[dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}

    def prepare(self, stream: Stream) -> Sequence[Need]:
        self._needs = [Need((name,), cells=True, vertices=True) for name in stream.parts("u")]
        return self._needs

    def run(self, context: Context) -> None:
        surfaces: dict[str, list[Any]] = {"isosurface": [], "slice": []}
        for need in self._needs:
            for part in context.parts(need):
                block = curvilinear_block(part, {need.fields[0]: "u"})
                contour = isosurface(block, "u", self.settings.value, ["u"])
                surfaces["isosurface"].append(contour)
                surfaces["slice"].append(slice_surface(block, (0, 0, 0.1), (0, 0.1, 1), ["u"]))
        for kind, pieces in surfaces.items():
            mine = [(s.points.copy(), s.triangles.copy(), s.values("u").copy()) for s in pieces]
            every = context.comm.gather(mine)
            if every is not None:
                flat = [piece for rank in every for piece in rank]
                first = np.cumsum([0] + [len(points) for points, *_ in flat])
                Surfaces.gathered[kind] = (
                    np.concatenate([points for points, *_ in flat]),
                    np.concatenate(
                        [t + n for (_, t, _), n in zip(flat, first[:-1], strict=True)]
                    ).astype(int),
                    np.concatenate([values for *_, values in flat]),
                )


action_table.register("surfaces", "zone_flow:Surfaces")


def run_inside(
    comm: MPI.Comm,
    cells: int,
    function: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    text: str,
    folder: Path,
    dtype: Any = np.float64,
) -> Pipeline:
    """Run a pipeline inside one step of a field u = function(x, y, z) at the centres of cells.

    Each zone is cut along its first axis into a block for each rank.
    """
    file = folder / "pipeline.yaml"
    if comm.rank == 0:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    comm.Barrier()
    pipeline = Pipeline(load(file), comm, folder / "out", print, in_situ=True)
    try:
        with staging.open("zones", comm, {"engine": "inproc"}) as writer:
            writer.on_step(pipeline.step)
            values = []
            for number, corners in enumerate(zone_corners(cells)):
                name, id = f"zone_{number}", number * comm.size + comm.rank
                count = tuple(n - 1 for n in corners.shape[:3])
                low, high = (count[0] * at // comm.size for at in (comm.rank, comm.rank + 1))
                writer.curvilinear_mesh(name, count, f"{name}/xyz")
                writer.field(f"{name}/xyz", name, "vertex", components=3)
                writer.field(f"{name}/u", name, "element", dtype=dtype)
                writer.block(id, name, ((low, 0, 0), (high - low, *count[1:])))
                x, y, z = np.moveaxis(centres(corners), -1, 0)
                values.append((f"{name}/xyz", corners[low : high + 1].copy(), id))
                values.append((f"{name}/u", function(x, y, z)[low:high].astype(dtype), id))
            with writer.step(0, 0.0):
                for name, array, id in values:
                    writer.put(name, array, id)
        pipeline.finish()
    finally:
        pipeline.close()
    assert pipeline.failures == 0, pipeline.summary()
    return pipeline
