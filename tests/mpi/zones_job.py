"""Surfaces, probe and picture of cell fields on curved zones: mpiexec -n N zones_job.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI
from zone_flow import Surfaces, run_inside

TEXT = """\
views:
  both:
    size: [160, 120]
    layers:
      - {kind: isosurface, field: u, values: [0.36]}
      - {kind: slice, field: u, normal: z, at: 0.1}
actions:
  - surfaces: {value: 0.36}
  - probe: {fields: [u], points: {a: [0, 0, 0], b: [0.3, -0.2, 0.6]}}
  - extract: {fields: [zone_1/u], to: e.zarr}
  - {picture: {view: both, file: p.png}}
"""

folder = Path(sys.argv[1])
run_inside(MPI.COMM_WORLD, 6, lambda x, y, z: x * x + y * y + z**3, TEXT, folder)
if MPI.COMM_WORLD.rank == 0:
    points, triangles, _ = Surfaces.gathered["isosurface"]
    np.savez(folder / "surface.npz", corners=points[triangles])
