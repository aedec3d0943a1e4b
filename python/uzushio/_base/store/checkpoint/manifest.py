"""Manifest of a checkpoint: its content, and size and checksum of each of its files."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import google_crc32c

from uzushio._base.files import atomic_write
from uzushio.errors import CheckpointError

NAME = "manifest.json"
FORMAT = 2
#: Formats that can be read. The first one has sizes of files, and no checksums.
READABLE = (1, 2)

#: Bytes of the checksum at the end of a chunk.
CRC_BYTES = 4

#: Size of a file in bytes, and its checksum as `checksum` defines it; None if it is not known.
Entry = tuple[int, int | None]


@dataclass(frozen=True)
class Manifest:
    """Everything in a checkpoint that is not an array.

    Attributes:
        solver: name of the solver in the case file.
        case: digest of the case.
        version: version of Uzushio.
        step, time: step and time of the state.
        attributes: attributes of the state.
        statistics: values that `TimeAverage.restore` needs beside the arrays.
        arrays: name to `[dtype, *shape]` of each array of the state.
        files: path inside the checkpoint to size and checksum of the file.
        compression: name and ratio of the compression of the state; None: it is not compressed.
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
    compression: Mapping[str, Any] | None = None

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the global shape of an array of the state."""
        return tuple(self.arrays[name][1:])


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest atomically, and wait until it is on the disk."""
    values = asdict(manifest)
    if manifest.compression is None:
        del values["compression"]  # which earlier versions do not know
    content = json.dumps(values, sort_keys=True, default=_plain)
    text = f'{{"format": {FORMAT}, "crc32": {zlib.crc32(content.encode())},\n"content": {content}}}'
    atomic_write(folder / NAME, text)
    sync_all([folder, folder.parent])


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
    """Return an entry of `files`; format 1 has sizes alone."""
    if isinstance(stored, int):
        return stored, None
    size, crc = stored
    return int(size), None if crc is None else int(crc)


def checksum(path: Path) -> int:
    """Return the CRC32C of a file; of a chunk the one at its end, which is that of its values.

    Reading a chunk compares its values with it.
    """
    if path.name == "zarr.json":
        return int(google_crc32c.value(path.read_bytes()))
    with path.open("rb") as file:
        file.seek(-CRC_BYTES, os.SEEK_END)
        return int.from_bytes(file.read(), "little")


def sync(path: Path) -> None:
    """Wait until the content of a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(paths: Sequence[Path]) -> None:
    """Sync many files and folders in parallel, so that the file system commits them together."""
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(sync, paths))


def seal_all(folder: Path, files: Sequence[str]) -> dict[str, Entry]:
    """Wait until files of a checkpoint are on the disk; return their entries."""
    paths = [folder / file for file in files]
    sync_all(paths)
    entries = [(path.stat().st_size, checksum(path)) for path in paths]
    return dict(zip(files, entries, strict=True))


def _plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is not a plain JSON value")
