"""Options of a stream, from a YAML file or a section of a case."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from uzushio import _core
from uzushio._base.config import yaml_file
from uzushio._base.config.yaml_file import plain
from uzushio.errors import StagingError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Environment variable with the path of an options file that replaces a program's own.
OVERRIDE = "UZUSHIO_STAGING"


def engine_names() -> list[str]:
    """Return the valid values of the option `engine`."""
    return sorted({*_core.staging.engine_names(), "adios2"})


def parse_options(options: str | Mapping[str, Any], where: str) -> Any:
    """Parse options; the section `adios2` becomes the attribute of that name.

    Args:
        options: YAML text, or its content.
        where: source of the options, for messages.

    Raises:
        StagingError: an invalid option; names the key, the value, and the allowed values.
    """
    if isinstance(options, Mapping):
        options = yaml.safe_dump(plain(options), sort_keys=False)
    parsed: Any = _core.staging.parse_options(options, where)
    parsed.adios2 = _section(options, where) if "adios2" in options else {}
    return parsed


def _section(options: str, where: str) -> Any:
    """Return the section `adios2`."""
    try:
        return (yaml_file.parse_value(options) or {}).get("adios2") or {}
    except yaml.YAMLError as error:
        text = " ".join(str(error).split())
        raise StagingError(f"{where} cannot be read for its section adios2: {text}.") from error


def choose_options(
    options: str | Path | Mapping[str, Any] | None, comm: MPI.Comm | None = None
) -> Any:
    """Return the core's options, the same on all ranks (collective).

    Args:
        options: path of a YAML file, which rank 0 reads, or its content; None for the defaults.
            The file in rank 0's environment variable UZUSHIO_STAGING replaces a file or None.
        comm: the ranks; None for this process alone.

    Raises:
        StagingError: as `parse_options`, or the file cannot be read.
    """
    ready: Any = options  # a publisher passes the parsed options of the case
    if isinstance(ready, _core.staging.Options):
        return ready
    if isinstance(options, Mapping):
        return parse_options(options, "options")
    handle = None if comm is None else comm.handle
    found: bytes = _core.staging.from_rank_0(handle, lambda: "\0".join(_read(options)).encode())
    where, text = found.decode().split("\0", 1)
    return parse_options(text, where)


def _read(options: str | Path | None) -> tuple[str, str]:
    """Return name and text of the options."""
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
