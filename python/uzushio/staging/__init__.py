"""Staging: transfer of the steps of a running solver to readers.

Writing, on the ranks of a communicator::

    with staging.open("channel", comm, "staging.yaml") as writer:
        writer.uniform_mesh("box", elements=(nz, ny, nx), spacing=(dz, dy, dx))
        writer.field("u", "box")
        writer.block(comm.rank, "box", mine)
        for n in range(steps):
            ...
            with writer.step(n, time):
                writer.put("u", u)

Reading, in any other process (or inside the step: `Writer.on_step`)::

    with staging.attach("channel.contact") as reader:
        for step in reader:
            u = step.read("u", np.s_[10, :, :])

Arrays always have the three axes (z, y, x), and a last one for components if a field has several.
Indices are global, of the whole mesh. Failures raise `StagingError` or its subclasses `PeerGone`
and `PeerSilent`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy
from uzushio.errors import PeerGone, PeerSilent, QueueTimeout, StagingError, WaitStopped

if TYPE_CHECKING:
    from uzushio.domain.box import Box
    from uzushio.staging.datamodel import Field, Mesh
    from uzushio.staging.engines import Counters, Source, WriterEngine
    from uzushio.staging.options import engine_names
    from uzushio.staging.reader import Reader, attach
    from uzushio.staging.relay import Relay, RelayOptions
    from uzushio.staging.step import Block, Step
    from uzushio.staging.writer import Writer, open

__all__ = [
    "Block",
    "Box",
    "Counters",
    "Field",
    "Mesh",
    "PeerGone",
    "PeerSilent",
    "QueueTimeout",
    "Reader",
    "Relay",
    "RelayOptions",
    "Source",
    "StagingError",
    "Step",
    "WaitStopped",
    "Writer",
    "WriterEngine",
    "attach",
    "engine_names",
    "open",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__)
