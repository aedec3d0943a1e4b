"""Votes and signals of a job on any number of ranks.

Run as: mpiexec -n N python vote_job.py
"""

from __future__ import annotations

import os
import signal
import time

from mpi4py import MPI

from uzushio._job.job import Job

comm = MPI.COMM_WORLD
last = comm.size - 1
clock = [0.0]
commands: list[str] = []

with Job(comm, period=1000.0) as job:
    highest = job.vote.add(lambda: comm.rank)
    # Another rank's clock has no say.
    elapsed = job.vote.add(lambda: int(clock[0] > 1.0), rank=0)
    command = job.vote.add(lambda: comm.rank + 1 if commands else 0)
    assert highest.agreed == elapsed.agreed == command.agreed == 0

    assert job.take_vote() == 0
    assert (highest.agreed, elapsed.agreed, command.agreed) == (last, 0, 0)

    if comm.rank == last:
        clock[0] = 2.0
        commands.append("write a picture")
    assert job.take_vote() == 0
    assert elapsed.agreed == int(last == 0)
    assert command.agreed == last + 1
    command_text = comm.bcast(commands.pop() if commands else None, root=command.agreed - 1)
    assert command_text == "write a picture"
    clock[0] = 2.0
    assert job.take_vote() == 0
    assert elapsed.agreed == 1 and command.agreed == 0

    # One rank receives a signal; all ranks stop after the same step.
    for step in range(100):
        if comm.rank == last and step == 2:
            os.kill(os.getpid(), signal.SIGUSR1)
            while not job.stop.asked():
                time.sleep(0.001)
        if stopped := job.take_vote():
            break
    assert stopped == signal.SIGUSR1
    assert comm.allgather(step) == [2] * comm.size
    job.say("stopped")
    job.warn("careful")

# Outside the block, a signal has the effect that it had before.
assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
