"""Checkpoints: Zarr v3; each chunk is written by one rank, and the manifest last.

    RUN/checkpoints/step-00001000/
        zarr.json
        state/NAME/c.K.0.0      chunk of the array NAME (default: plane K), ends with its CRC32C
        state/actions/…         arrays of the actions of the run's pipeline
        statistics/NAME/…       running averages
        manifest.json           step, time, attributes, size and CRC32C of every file; written last

A folder without a manifest is incomplete and is never restarted from. Chunks do not depend on the
ranks' boxes, so any number of ranks can read any box. The manifest has the checksum of each chunk
under the name of its array and place. A whole chunk of another place, array or checkpoint is
detected as well as a damaged one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:  # Zarr, which reading and writing need, takes a third of the start of a command
    from uzushio._base.store.checkpoint.folder import complete as complete
    from uzushio._base.store.checkpoint.folder import newest as newest
    from uzushio._base.store.checkpoint.folder import run_of as run_of
    from uzushio._base.store.checkpoint.folder import set_aside as set_aside
    from uzushio._base.store.checkpoint.folder import step_of as step_of
    from uzushio._base.store.checkpoint.manifest import Manifest as Manifest
    from uzushio._base.store.checkpoint.reading import Checkpoint as Checkpoint
    from uzushio._base.store.checkpoint.reading import open_checkpoint as open_checkpoint
    from uzushio._base.store.checkpoint.writing import Snapshot as Snapshot
    from uzushio._base.store.checkpoint.writing import write as write
else:
    __getattr__, __dir__ = lazy.names(__name__)
