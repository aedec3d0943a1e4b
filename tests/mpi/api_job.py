"""Run and step cases from Python on the ranks of an mpiexec; each rank checks its part."""

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

TWIN = {
    "model": "phasefield",
    "grid": {"nx": 20, "ny": 16},
    "time": {"steps": 12, "dt": 0.1},
    "truth": {"m": 1.0, "side": 0.5},
    "first_guess": {"m": -0.5, "side": 0.4},
    "controls": {"phi": {"sigma": 0.5}, "m": {"sigma": 2.0}},
    "optimiser": {"iterations": 15},
    "uncertainty": {"iterations": 2},
}
together = uzushio.assimilate(TWIN, out="together", quiet=True, figures=False)
alone = uzushio.assimilate(
    TWIN, out=f"alone{comm.rank}", quiet=True, figures=False, comm=MPI.COMM_SELF
)
assert together.summary["ranks"] == comm.size and alone.summary["ranks"] == 1
assert together.parameters == alone.parameters
np.testing.assert_array_equal(together.estimate["phi"], alone.estimate["phi"])
print("all is well", flush=True)
