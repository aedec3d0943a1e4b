"""The manifest of a checkpoint: what it holds, and the size of each of its files."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from uzushio.errors import CheckpointError

NAME = "manifest.json"
FORMAT = 1


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
        files: path inside the checkpoint to its size in bytes.
    """

    solver: str
    case: str
    version: str
    step: int
    time: float
    attributes: Mapping[str, Any]
    statistics: Mapping[str, Any]
    arrays: Mapping[str, list[Any]]
    files: Mapping[str, int]

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
        if data["format"] != FORMAT:
            raise CheckpointError(
                f"checkpoint {folder} has format {data['format']}, this version of Uzushio reads "
                f"{FORMAT}; restart it with the version that wrote it."
            )
        content = json.dumps(data["content"], sort_keys=True)
        if zlib.crc32(content.encode()) != data["crc32"]:
            raise ValueError("its checksum is wrong")
        return Manifest(**data["content"])
    except FileNotFoundError:
        raise CheckpointError(
            f"checkpoint {folder} is incomplete: it has no {NAME}, which is written last; "
            "restart from another one."
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"checkpoint {folder} is damaged: {NAME} cannot be read ({error})."
        ) from error


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
