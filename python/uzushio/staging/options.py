"""Which engine carries a stream, and how: from a YAML file, or from a section of a case."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from uzushio import _core
from uzushio.config import yaml_file
from uzushio.config.yaml_file import plain
from uzushio.errors import StagingError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Names an options file that replaces those that a program opens its streams with.
OVERRIDE = "UZUSHIO_STAGING"


def engine_names() -> list[str]:
    """The engines that `engine:` in the options may name."""
    return sorted({*_core.staging.engine_names(), "adios2"})


def parse_options(options: str | Mapping[str, Any], where: str) -> Any:
    """The core's options, with the section `adios2` as the attribute of that name.

    Args:
        options: YAML, or what would be in it.
        where: what is read, for messages.

    Raises:
        StagingError: names the key, the value, and what is allowed.
    """
    if isinstance(options, Mapping):
        options = yaml.safe_dump(plain(options), sort_keys=False)
    parsed: Any = _core.staging.parse_options(options, where)
    parsed.adios2 = _section(options, where) if "adios2" in options else {}
    return parsed


def _section(options: str, where: str) -> Any:
    """What the key `adios2` holds."""
    try:
        return (yaml_file.parse_value(options) or {}).get("adios2") or {}
    except yaml.YAMLError as error:
        text = " ".join(str(error).split())
        raise StagingError(f"{where} cannot be read for its section adios2: {text}.") from error


def choose_options(
    options: str | Path | Mapping[str, Any] | None, comm: MPI.Comm | None = None
) -> Any:
    """The core's options, the same on all ranks (collective).

    Args:
        options: a YAML file, which rank 0 reads, or what would be in it; None for the defaults. A
            file that rank 0's environment variable UZUSHIO_STAGING names goes before a file, or
            none.
        comm: the ranks; None for this process alone.

    Raises:
        StagingError: as `parse_options`, or the file cannot be read.
    """
    ready: Any = options  # a publisher hands over what the case has had parsed
    if isinstance(ready, _core.staging.Options):
        return ready
    if isinstance(options, Mapping):
        return parse_options(options, "options")
    handle = None if comm is None else comm.handle
    found: bytes = _core.staging.from_rank_0(handle, lambda: "\0".join(_read(options)).encode())
    where, text = found.decode().split("\0", 1)
    return parse_options(text, where)


def _read(options: str | Path | None) -> tuple[str, str]:
    """Name and text of the options."""
    file = os.environ.get(OVERRIDE) or options
    if file is None:
        return "options", ""
    file = os.path.expanduser(file)
    try:
        return str(file), Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StagingError(
            f"The options cannot be read from {file} ({reason}); name a YAML file."
        ) from error
