"""Bind the ranks by the policy argv[1], and compare the binding with what the system says."""

import os
import sys
from pathlib import Path

from mpi4py import MPI

from uzushio._base.parallel import affinity
from uzushio._base.parallel.affinity import Policy

world = MPI.COMM_WORLD
allowed = set().union(*world.allgather(os.sched_getaffinity(0)))
bound = affinity.bind(world, Policy(sys.argv[1]), threads=2)
own = os.sched_getaffinity(0)
# Of all threads of this process: those of MPI keep the launcher's binding.
threads = [os.sched_getaffinity(int(task.name)) for task in Path("/proc/self/task").iterdir()]
every = world.gather((own, threads))
assert (bound is None) == (world.rank > 0 or sys.argv[1] == "none")
if bound is not None and every is not None:
    assert [binding.rank for binding in bound.ranks] == list(range(world.size))
    for binding, (processors, cores) in zip(bound.ranks, every, strict=True):
        assert len(binding.threads) == 2
        assert set(binding.threads[0]) == processors <= allowed
        assert set(binding.threads[1]) in cores
    print(bound.text())
    print(*bound.conflicts, sep="\n")
