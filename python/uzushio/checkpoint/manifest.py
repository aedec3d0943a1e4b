"""The manifest of a checkpoint: what it holds, and size and checksum of each of its files."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import google_crc32c

from uzushio.errors import CheckpointError

NAME = "manifest.json"
FORMAT = 2
#: Formats that can be read. The first one has sizes of files, and no checksums.
READABLE = (1, 2)

_CRC_BYTES = 4

#: Size of a file in bytes, and its checksum as `checksum` defines it; None if it is not known.
Entry = tuple[int, int | None]


@dataclass(frozen=True)
class Manifest:
    """All of a checkpoint that is not an array.

    Attributes:
        solver: name of the solver in the case file.
        case: digest of the case that wrote it.
        version: of Uzushio.
        step, time: of the state.
        attributes: those of the solver's state.
        statistics: what `TimeAverage.restore` needs beside the arrays.
        arrays: name to `[dtype, *shape]` of each array of the state.
        files: path inside the checkpoint to size and checksum of the file.
    """

    solver: str
    case: str
    version: str
    step: int
    time: float
    attributes: Mapping[str, Any]
    statistics: Mapping[str, Any]
    arrays: Mapping[str, list[Any]]
    files: Mapping[str, Entry]

    def shape(self, name: str) -> tuple[int, ...]:
        """Global shape of an array of the state."""
        return tuple(self.arrays[name][1:])


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put the manifest in place, whole or not at all, and on the disk."""
    content = json.dumps(asdict(manifest), sort_keys=True, default=_plain)
    text = f'{{"format": {FORMAT}, "crc32": {zlib.crc32(content.encode())},\n"content": {content}}}'
    fresh = folder / f".{NAME}.new"
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(folder / NAME)
    sync(folder)
    sync(folder.parent)


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest; raises `CheckpointError`."""
    path = folder / NAME
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] not in READABLE:
            raise CheckpointError(
                f"checkpoint {folder} has format {data['format']}, this version of Uzushio reads "
                f"{' and '.join(map(str, READABLE))}; restart it with the version that wrote it."
            )
        content = json.dumps(data["content"], sort_keys=True)
        if zlib.crc32(content.encode()) != data["crc32"]:
            raise ValueError("its checksum is wrong")
        manifest = Manifest(**data["content"])
        return replace(manifest, files={k: _entry(v) for k, v in manifest.files.items()})
    except FileNotFoundError:
        raise CheckpointError(
            f"checkpoint {folder} is incomplete: it has no {NAME}, which is written last; "
            "restart from another one."
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"checkpoint {folder} is damaged: {NAME} cannot be read ({error})."
        ) from error


def _entry(stored: Any) -> Entry:
    """An entry of `files`; in format 1 it was a size alone."""
    if isinstance(stored, int):
        return stored, None
    size, crc = stored
    return int(size), None if crc is None else int(crc)


def checksum(path: Path) -> int:
    """The CRC32C of a file of a checkpoint; of a chunk the one that it ends with, of its values.

    Whether a chunk's values have that checksum is found out when they are read.
    """
    if path.name == "zarr.json":
        return int(google_crc32c.value(path.read_bytes()))
    with path.open("rb") as file:
        file.seek(-_CRC_BYTES, os.SEEK_END)
        return int.from_bytes(file.read(), "little")


def seal(path: Path) -> Entry:
    """Wait until a chunk is on the disk, and return its entry."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
        size = os.fstat(handle).st_size
        return size, int.from_bytes(os.pread(handle, _CRC_BYTES, size - _CRC_BYTES), "little")
    finally:
        os.close(handle)


def seal_all(paths: Sequence[Path]) -> list[Entry]:
    """Do the same for many: in parallel, which lets the file system commit them together."""
    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(seal, paths))


def sync(path: Path) -> None:
    """Wait until a file's or a folder's content is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(paths: Iterable[Path]) -> None:
    """Do the same for many: in parallel, which lets the file system commit them together."""
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(sync, paths))


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is no plain JSON value")
