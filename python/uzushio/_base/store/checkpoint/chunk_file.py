"""File of a chunk, as Zarr's codecs `bytes`, (`blosc`,) `crc32c` define it, in few copies.

Zarr writes a chunk in about a millisecond of Python and copies it several times. Here values pass
from the solver's memory to the system in one call, and files wait for the disk in threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Literal

import google_crc32c
import numpy as np
from numcodecs.blosc import Blosc

from uzushio._base.store.checkpoint.manifest import CRC_BYTES, Entry

#: Lossless compressions of a checkpoint, and compressor and level of each in Blosc.
COMPRESSIONS: dict[str, tuple[Literal["lz4", "zstd"], int]] = {
    "lz4": ("lz4", 5),
    "zstd": ("zstd", 3),
}
#: Threads of a rank that write files and wait for the disk.
THREADS = 16


@dataclass(frozen=True)
class ChunkFormat:
    """Format of all chunks of an array.

    Attributes:
        chunk: extents of a chunk; one at the end of an axis is padded with zeros.
        dtype: type of the values, little-endian in files.
        compression: lossless compression; None: values as they are.
    """

    chunk: tuple[int, ...]
    dtype: np.dtype[Any]
    compression: str | None = None

    @property
    def compressors(self) -> list[Any]:
        """Codecs of the array in Zarr."""
        from zarr.codecs import BloscCodec, Crc32cCodec

        if self.compression is None:
            return [Crc32cCodec()]
        name, level = COMPRESSIONS[self.compression]
        shuffled: Any = BloscCodec(
            typesize=self.dtype.itemsize, cname=name, clevel=level, shuffle="shuffle"
        )
        return [shuffled, Crc32cCodec()]

    def encoded(self, values: np.ndarray) -> Any:
        """Return the content of a file without its checksum."""
        if values.shape != self.chunk:
            whole = np.zeros(self.chunk, self.dtype)
            whole[tuple(map(slice, values.shape))] = values
            values = whole
        values = np.ascontiguousarray(values, self.dtype.newbyteorder("<")).reshape(-1)
        if self.compression is None:
            return values.view(np.uint8)
        name, level = COMPRESSIONS[self.compression]
        return np.frombuffer(Blosc(name, level, Blosc.SHUFFLE).encode(values), np.uint8)

    def decoded(self, content: np.ndarray) -> np.ndarray:
        """Return the values of a chunk with its padding."""
        if self.compression is not None:
            content = np.frombuffer(Blosc().decode(content), np.uint8)
        return content.view(self.dtype.newbyteorder("<")).reshape(self.chunk)

    @property
    def nbytes(self) -> int:
        """Bytes of the values of a chunk."""
        return math.prod(self.chunk) * self.dtype.itemsize


class ChunkWriter:
    """Writer of chunk files, which are on the disk after `wait`.

    Each thread encodes and writes a file and waits until it is on the disk, so that the system
    writes all the time, and never has more than `THREADS` files to write.
    """

    def __init__(self) -> None:
        """Start no thread before the first file."""
        self._pool = ThreadPoolExecutor(THREADS)
        self._entries: dict[str, Future[Entry]] = {}

    def __enter__(self) -> ChunkWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def write(self, folder: Path, files: Sequence[tuple[str, np.ndarray]], of: ChunkFormat) -> None:
        """Write chunks, which need not be on the disk at the return.

        Args:
            folder: folder of the checkpoint.
            files: path and values of each chunk; values may change after the return.
            of: format of the chunks.
        """
        copied: list[Event] = []
        for name, values in files:
            copied.append(Event())
            self._entries[name] = self._pool.submit(_write, folder / name, values, of, copied[-1])
        for event in copied:
            event.wait()

    def wait(self) -> dict[str, Entry]:
        """Wait until all files are on the disk; return their entries in the manifest.

        Raises:
            OSError: a file cannot be written.
        """
        return {name: entry.result() for name, entry in self._entries.items()}


def read_chunk(
    path: Path, of: ChunkFormat, memory: np.ndarray | None = None
) -> tuple[np.ndarray, int]:
    """Return values and checksum of a chunk.

    Args:
        path: path of the file.
        of: format of the chunk.
        memory: bytes for the values; None: the values get their own.

    Raises:
        ValueError: the checksum or the size is wrong.
        OSError: the file cannot be read.
    """
    file = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(file).st_size
        length = max(size - CRC_BYTES, 0)
        if of.compression is not None or memory is None:
            content = np.empty(length, np.uint8)
        else:
            content = memory[:length]
        stored = bytearray(CRC_BYTES)
        read = 0
        while read < size:
            left = content[read:] if read < length else content[:0]
            count = os.readv(file, [left.data, memoryview(stored)[max(read - length, 0) :]])
            if not count:
                raise ValueError("the file is truncated")
            read += count
    finally:
        os.close(file)
    crc = int(google_crc32c.value(content))
    if crc != int.from_bytes(stored, "little"):
        raise ValueError("the checksum is wrong")
    try:
        return of.decoded(content), crc
    except RuntimeError as error:  # of Blosc
        raise ValueError(str(error)) from error


def _write(path: Path, values: np.ndarray, of: ChunkFormat, copied: Event) -> Entry:
    """Write a file and wait until it is on the disk; `copied` is set before the wait."""
    try:
        content = of.encoded(values)
        crc = int(google_crc32c.value(content))
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            _write_all(file, content, crc.to_bytes(CRC_BYTES, "little"))
            copied.set()
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        copied.set()
    return len(content) + CRC_BYTES, crc


def _write_all(file: int, content: np.ndarray, end: bytes) -> None:
    """Write all bytes."""
    written = os.writev(file, [content.data, end])
    while written < len(content) + len(end):
        left = content[written:] if written < len(content) else content[:0]
        written += os.writev(file, [left.data, end[max(written - len(content), 0) :]])
