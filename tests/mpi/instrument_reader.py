"""Checks the steps of an example of the same launch: python instrument_reader.py NAME."""

from __future__ import annotations

import sys

from mpi4py import MPI
from test_instrument import SOLVERS

from uzushio import staging

(example,) = (example for example in SOLVERS if example.name == sys.argv[1])
seen = []
ours = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.Get_attr(MPI.APPNUM))  # as the examples do
with staging.attach(f"mpi:{example.name}", ours, attach_limit=100, step_limit=100) as reader:
    for step in reader:
        example.check(step)
        seen.append(step.index)
assert seen == sorted(set(seen)) and seen[-1] == example.steps, seen
print(f"{len(seen)} correct steps")
