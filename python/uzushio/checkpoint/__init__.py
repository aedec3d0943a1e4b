"""Checkpoints: Zarr v3, one chunk a plane, one writer for each group of ranks that share planes.

    RUN/checkpoints/step-00001000/
        zarr.json
        state/NAME/c.K.0.0      plane K of the array NAME: bytes, then their CRC32C
        statistics/NAME/…       running averages
        manifest.json           step, time, attributes, size and CRC32C of every file; written last

A folder without a manifest is incomplete and is never restarted from. A chunk is a whole plane,
so that two writers never share one, and any number of ranks can read any box. The manifest has the
checksum of each chunk under the name of its array and plane: a whole chunk of another plane, array
or checkpoint is noticed as well as a damaged one.
"""

from uzushio.checkpoint.folder import complete, newest, run_of, set_aside, step_of
from uzushio.checkpoint.manifest import Manifest
from uzushio.checkpoint.reading import Checkpoint, open_checkpoint
from uzushio.checkpoint.writing import Snapshot, write

__all__ = [
    "Checkpoint",
    "Manifest",
    "Snapshot",
    "complete",
    "newest",
    "open_checkpoint",
    "run_of",
    "set_aside",
    "step_of",
    "write",
]
