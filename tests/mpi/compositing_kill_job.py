"""Composite until a rank is killed. Each rank writes its process number first."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from uzushio.compositing import Compositor

algorithm, folder = sys.argv[1], Path(sys.argv[2])
comm = MPI.COMM_WORLD
image = np.full((200, 300, 4), 9, np.uint8)
compositor = Compositor(comm, 300, 200, algorithm=algorithm)
for picture in range(10**7):
    compositor.submit(image)
    compositor.finish()
    if picture == 20:
        (folder / f"{comm.rank}.part").write_text(str(os.getpid()))
        (folder / f"{comm.rank}.part").rename(folder / f"{comm.rank}.pid")
