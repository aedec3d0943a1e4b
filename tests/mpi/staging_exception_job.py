"""One rank of a writer raises inside a step; the next step is published by all.

python staging_exception_job.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from uzushio import staging

comm = MPI.COMM_WORLD
guilty = comm.size - 1
contact = Path(sys.argv[1]) / "s.contact"
writer = staging.open("s", comm, {"engine": "shm", "contact": str(contact)})
writer.uniform_mesh("box", (comm.size, 4, 4))
writer.field("u", "box")
writer.block(comm.rank, "box", ((comm.rank, 0, 0), (1, 4, 4)))
seen = []
for index in range(3):
    try:
        with writer.step(index, 0.0) as step:
            writer.put("u", np.zeros((1, 4, 4)))
            if index == 1 and comm.rank == guilty:
                raise ValueError("mine")
        seen.append(str(step.sequence))
    except (ValueError, staging.StagingError) as error:
        seen.append(f"{type(error).__name__}: {error}")
writer.close()
expected = "ValueError: mine"
if comm.rank != guilty:
    expected = f"StagingError: Step 1 was cancelled on rank {guilty}: {expected}."
assert seen == ["0", expected, "1"], seen
comm.Barrier()
if comm.rank == 0:
    print("all went on")
