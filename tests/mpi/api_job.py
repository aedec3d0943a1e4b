"""Run and step cases from Python on the ranks of an mpiexec; each rank checks what it has."""

from __future__ import annotations

import numpy as np
from heat_solver import exact
from mpi4py import MPI

import uzushio

SHAPE = (10, 12, 8)
HEAT = {"solver": "heat", "time": {"steps": 6, "dt": 0.05}, "statistics": {"every": 2}}
CHANNEL = {
    "solver": "channel",
    "grid": {"nx": 8, "ny": 8, "nz": 8, "lx": "2 pi", "ly": "pi"},
    "flow": {"reynolds_tau": 180},
    "initial": {"field": "turbulent"},
    "time": {"steps": 2, "dt": 1e-4},
}

comm = MPI.COMM_WORLD
with uzushio.Simulation(HEAT) as simulation:
    for _ in simulation:
        pass
    u = simulation.fields["u"]
    statistics = simulation.statistics()
assert u.attrs["global_shape"] == list(SHAPE) and 0 < u.size < np.prod(SHAPE)
mine = tuple(slice(s, s + n) for s, n in zip(u.attrs["start"], u.shape, strict=True))
np.testing.assert_allclose(u, exact(SHAPE, 0.05, 6)[mine], rtol=0, atol=1e-15)
np.testing.assert_array_equal(u.y, np.arange(12.0)[mine[1]])
assert comm.allreduce(u.size) == np.prod(SHAPE)
assert (statistics is not None) == (comm.rank == 0)

done = uzushio.run(HEAT, out="run", quiet=True)
assert done.summary["ranks"] == comm.size and done.statistics is not None
whole = uzushio.open_checkpoint("run")["u"]  # each rank for itself
np.testing.assert_array_equal(whole.values[mine], u.values)

left_open = uzushio.Simulation(CHANNEL)  # as in a notebook, to the end of the process
for _ in left_open:
    pass
w = left_open.fields["w"]
where = left_open.save("channel")
comm.Barrier()
stored = uzushio.open_checkpoint(where, "w")["w"]
np.testing.assert_allclose(stored.sel(z_faces=w.z_faces, y=w.y), w, atol=1e-13)
print("all is well", flush=True)
