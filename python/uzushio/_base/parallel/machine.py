"""Description of the machine in a run's summary."""

from __future__ import annotations

import os
import platform

from uzushio._base.config import user_cache


def describe() -> dict[str, str | int]:
    """Return name, processor and number of cores of the node, system and MPI library."""
    from mpi4py import MPI

    return {
        "node": platform.node(),
        "processor": user_cache.processor_name(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "MPI": MPI.Get_library_version().split(",")[0].split("\n")[0].strip("\0 "),
        "Python": platform.python_version(),
    }
