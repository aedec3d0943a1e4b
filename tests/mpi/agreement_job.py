"""A pipeline with an action `python` inside a flow cut over these ranks.

Run as: mpiexec -n N python agreement_job.py FOLDER LIMIT FAULT; the function does what FAULT says.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI
from pipeline_case import Flow

SCRIPT = """\
import time

def trip(rank):
    raise ValueError(f"rank {rank} found nothing")

def run(step):
    comm, fault = step.comm, FAULT
    last = comm.rank == comm.size - 1
    if fault == "slow" and step.index == 0:
        time.sleep(4.0 * last)
    if fault == "slow" and step.index == 1:
        time.sleep(0.0 if last else 1.0)
        if last:
            trip(comm.rank)
    if step.index != 1 or fault == "slow":
        return
    if fault == "raise" and last:
        trip(comm.rank)
    if fault == "return" and comm.rank > 0:
        return
    comm.bcast(None, root=comm.size - 1)
"""


def main() -> None:
    comm, folder = MPI.COMM_WORLD, Path(sys.argv[1])
    if comm.rank == 0:
        (folder / "mine.py").write_text(SCRIPT.replace("FAULT", repr(sys.argv[3])))
    comm.Barrier()
    line = np.linspace(0.0, 1.0, 8)
    flow = Flow(
        {"box": (line, line, line)}, {"u": ("box", lambda x, y, z, n: x)}, comm, (comm.size, 1, 1)
    )
    text = (
        f"actions:\n- {{python: {{file: mine.py}}, name: stress, wait_limit: {sys.argv[2]}}}\n"
        "- {count: {fields: [u]}}\n"
    )
    messages: list[str] = []
    pipeline = flow.inside(text, folder, 3, messages)
    if comm.rank == 0:
        print("\n".join(messages))
        print(f"the end: {pipeline.failures} failures, {pipeline.counts.used} steps")


main()
