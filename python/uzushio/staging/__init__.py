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

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.domain.box import Box as Box
    from uzushio.domain.fields import Field as Field
    from uzushio.domain.fields import Mesh as Mesh
    from uzushio.errors import PeerGone as PeerGone
    from uzushio.errors import PeerSilent as PeerSilent
    from uzushio.errors import QueueTimeout as QueueTimeout
    from uzushio.errors import StagingError as StagingError
    from uzushio.errors import WaitStopped as WaitStopped
    from uzushio.staging.engines import Counters as Counters
    from uzushio.staging.engines import Source as Source
    from uzushio.staging.engines import WriterEngine as WriterEngine
    from uzushio.staging.options import engine_names as engine_names
    from uzushio.staging.reader import Reader as Reader
    from uzushio.staging.reader import attach as attach
    from uzushio.staging.relay import Relay as Relay
    from uzushio.staging.relay import RelayOptions as RelayOptions
    from uzushio.staging.step import Block as Block
    from uzushio.staging.step import Step as Step
    from uzushio.staging.writer import Writer as Writer
    from uzushio.staging.writer import open as open
else:
    __getattr__, __dir__ = lazy.names(__name__)
