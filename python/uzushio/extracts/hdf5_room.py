"""Room for values in an HDF5 file: arrays that are allocated, and written to without HDF5.

HDF5 keeps a file's structure in memory while it writes, and a crash can leave half of it on the
disk. Files made here have their structure once and for all; a crash can cost values, never that.
A full disk is noticed before values are written, and by this program, not by HDF5.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np


@contextmanager
def whole_or_not(path: Path) -> Iterator[None]:
    """A block that makes a file of its own, and leaves nothing of it behind when it fails.

    Raises:
        OSError: with number and file name, also where HDF5 only said so in its message.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise
        found = re.search(r"errno = (\d+)", str(error))
        number = int(found[1]) if found else getattr(error, "errno", None) or errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error
    finally:
        path.unlink(missing_ok=True)


def make(path: Path, arrays: Mapping[str, tuple[tuple[int, ...], np.dtype]]) -> None:
    """Make a file with room for arrays: a hole where their values will be.

    Args:
        path: of the file, replaced if it is there.
        arrays: shape and type of each by its name in the file.

    Raises:
        OSError: it cannot be made.
    """
    fresh = path.with_name(f".{path.name}.new")
    with whole_or_not(fresh):
        with h5py.File(fresh, "w") as file:
            for name, (shape, dtype) in arrays.items():
                made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                made.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                made.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
                links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
                links.set_create_intermediate_group(True)
                space = h5py.h5s.create_simple(shape)
                kind = h5py.h5t.py_create(dtype, logical=True)
                h5py.h5d.create(file.id, name.encode(), kind, space, dcpl=made, lcpl=links)
        fresh.rename(path)


@dataclass
class Room:
    """A part of a file that an array's values are written to, one piece after the other.

    Attributes:
        path: of the file.
        offset: of the next byte.
        end: of the part.
    """

    path: Path
    offset: int
    end: int

    @staticmethod
    def of(path: Path, name: str) -> Room:
        """The room of an array that `make` made; raises OSError."""
        with h5py.File(path, "r") as file:
            found = file[name]
            return Room(path, found.id.get_offset(), found.id.get_offset() + found.nbytes)

    def part(self, offset: int, size: int) -> Room:
        """A part of the room, in bytes from its beginning."""
        assert self.offset + offset + size <= self.end
        return Room(self.path, self.offset + offset, self.offset + offset + size)

    def write(self, values: np.ndarray) -> None:
        """Write the next values.

        Raises:
            OSError: no space, for one; what was there is as it was then, or not used yet.
        """
        assert self.offset + values.nbytes <= self.end
        memory = memoryview(np.ascontiguousarray(values).reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        file = os.open(self.path, os.O_WRONLY)
        try:
            _reserve(file, self.offset, len(memory))
            while memory:
                written = os.pwrite(file, memory, self.offset)
                memory = memory[written:]
                self.offset += written
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        finally:
            os.close(file)


def _reserve(file: int, offset: int, size: int) -> None:
    """Have the disk's blocks before anything is written; file systems that cannot are let be."""
    try:
        if size:
            os.posix_fallocate(file, offset, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
