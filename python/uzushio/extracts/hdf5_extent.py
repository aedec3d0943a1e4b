"""Extents of HDF5 files: arrays allocated by HDF5, and written by positioned writes.

HDF5 caches a file's metadata while it writes, so a crash can leave inconsistent metadata on disk.
Here the metadata are written once, and a crash can only lose values. Disk blocks are reserved
before values are written, so a full disk raises an error outside HDF5.
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

from uzushio._base.files import atomic_file


@contextmanager
def new_file(path: Path) -> Iterator[h5py.File]:
    """Yield a new file that replaces `path` at the end of the block.

    Raises:
        OSError: with errno and file name, also for errors that HDF5 reports in its message.
    """
    with atomic_file(path) as fresh:
        try:
            with h5py.File(fresh, "w") as file:
                yield file
        except (OSError, RuntimeError) as error:
            match = re.search(r"errno = (\d+)", str(error))
            number = int(match[1]) if match else getattr(error, "errno", None) or errno.EIO
            raise OSError(number, os.strerror(number), str(path)) from error


def create(path: Path, arrays: Mapping[str, tuple[tuple[int, ...], np.dtype]]) -> None:
    """Create a file with allocated, unwritten arrays.

    Args:
        path: path of the file, replaced if it exists.
        arrays: shape and type of each array by its name in the file.

    Raises:
        OSError: the file cannot be created.
    """
    with new_file(path) as file:
        for name, (shape, dtype) in arrays.items():
            made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            made.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            made.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
            links.set_create_intermediate_group(True)
            space = h5py.h5s.create_simple(shape)
            kind = h5py.h5t.py_create(dtype, logical=True)
            h5py.h5d.create(file.id, name.encode(), kind, space, dcpl=made, lcpl=links)


@dataclass
class Hdf5Extent:
    """Byte range of an array in a file, written sequentially.

    Attributes:
        path: path of the file.
        offset: offset of the next byte.
        end: end of the range.
    """

    path: Path
    offset: int
    end: int

    @staticmethod
    def of(path: Path, name: str) -> Hdf5Extent:
        """Return the extent of an array in a file of `create`; raises OSError."""
        with h5py.File(path, "r") as file:
            dataset = file[name]
            return Hdf5Extent(
                path, dataset.id.get_offset(), dataset.id.get_offset() + dataset.nbytes
            )

    def part(self, offset: int, size: int) -> Hdf5Extent:
        """Return a part of the extent; `offset` and `size` in bytes."""
        assert self.offset + offset + size <= self.end
        return Hdf5Extent(self.path, self.offset + offset, self.offset + offset + size)

    def write(self, values: np.ndarray) -> None:
        """Write the next values.

        Raises:
            OSError: no space, for example; earlier values are unchanged.
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
    """Reserve disk blocks; file systems without support are ignored."""
    try:
        if size:
            os.posix_fallocate(file, offset, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
