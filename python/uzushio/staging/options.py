"""Options of a stream, from a YAML file or a section of a case."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio import _core
from uzushio._base.config.yaml_file import plain

if TYPE_CHECKING:
    from mpi4py import MPI


def engine_names() -> list[str]:
    """Return the valid values of the option `engine`."""
    return sorted({*_core.staging.engine_names(), "adios2"})


def parse_options(options: Mapping[str, Any], where: str = "") -> Any:
    """Return the core's options from a mapping.

    Args:
        options: values by key, as in an options file.
        where: source of the options, with which messages begin.

    Raises:
        StagingError: an invalid option; names the key, the value, and the allowed values.
    """
    return _core.staging.parse_options(plain(options), where)


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
    return _core.staging.choose_options("" if options is None else options, handle)
