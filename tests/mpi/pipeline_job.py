"""Derived fields and a picture inside a flow cut over these ranks; rank 0 keeps them in a file.

Run as: mpiexec -n N python pipeline_job.py CUTS KIND FILE, with CUTS as 1x2x2, and KIND elements,
points, or periodic.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI
from pipeline_case import Flow, Grab, stretched

from uzushio.pipeline.need import Part

SOURCES = """\
sources:
  omega: {kind: vorticity, of: [u, v, w]}
  q: {kind: q_criterion, of: [u, v, w]}
  dq: {kind: gradient, of: q}
  steep: {kind: magnitude, of: dq}
  chain: {kind: gradient, of: steep, axis: y}
  mixed: sqrt(u * u + w * w) * exp(-z) + chain
views:
  all:
    size: [120, 90]
    camera: {azimuth: 30, elevation: 20}
    layers:
    - {kind: isosurface, field: q, values: [2.0], color: {field: u}}
    - {kind: slice, field: steep, normal: z, color: {map: magma}}
actions:
"""
NAMES = ("u", "w", "omega", "q", "dq", "chain", "mixed")


def flow(comm: MPI.Comm, cuts: tuple[int, ...], kind: str) -> Flow:
    """Eddies, with a staggered third component."""
    z, y, x = stretched(23, -1, 1), stretched(18, 0, 2, 0.8), np.linspace(0, 3, 14)
    elements = kind == "elements"
    faces = np.append(0.5 * (z[1:] + z[:-1]), 1.02)
    return Flow(
        {"centres": (z, y, x), "faces": (faces, y, x)},
        {
            "u": ("centres", lambda x, y, z, n: np.sin(3 * y + z) * np.cos(2 * x) + z),
            "v": ("centres", lambda x, y, z, n: np.cos(4 * x) * np.sin(3 * z)),
            "w": ("faces", lambda x, y, z, n: np.sin(2 * x * y) + 0.1 * n * z * z),
        },
        comm,
        (cuts[0], cuts[1], cuts[2]),
        np.float32 if elements else np.float64,
        attributes={"periodic": "x y"} if kind == "periodic" else {},
        elements=elements,
    )


def main() -> None:
    comm = MPI.COMM_WORLD
    cuts = tuple(map(int, sys.argv[1].split("x")))
    file = Path(sys.argv[3])
    made = flow(comm, cuts, sys.argv[2])
    views = []

    def look(part: Part) -> None:
        views.extend(
            part.points.size
            for name, values in part.fields.items()
            if name in made.arrays and np.shares_memory(values, made.arrays[name])
        )

    Grab.look = look
    text = SOURCES + "".join(
        f"- {{grab: {{fields: [{name}], ghosts: 1, cells: true}}, name: {name}}}\n"
        for name in NAMES
    )
    pipeline = made.inside(text + "- {picture: {view: all, file: p.png}}\n", file.parent, 2)
    looked = comm.allreduce(sum(views))
    read = comm.allreduce(pipeline.counts.bytes_read)
    assert pipeline.failures == 0, pipeline.summary()
    if comm.rank == 0:
        np.savez(file, looked=looked, read=read, **{n: Grab.values[n, 1] for n in NAMES})


main()
