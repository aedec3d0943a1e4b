"""Read all steps of a stream and write the fields: python publish_reader.py CONTACT OUT."""

from __future__ import annotations

import sys

import numpy as np

from uzushio import staging

if sys.argv[1].startswith("mpi:"):
    from mpi4py import MPI  # noqa: F401 - starts MPI

limits = {"attach_limit": 100.0, "step_limit": 100.0}
values = {}
with staging.attach(sys.argv[1], **limits) as reader:
    for step in reader:
        values |= {f"{name}{step.index}": step.read(name) for name in step.fields}
        if "bulk_velocity" in step.attributes:
            values[f"bulk{step.index}"] = np.array(step.attributes["bulk_velocity"])
np.savez(sys.argv[2], **values)
