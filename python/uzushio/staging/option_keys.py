"""Keys of staging's options, for the reference of case files; the core reads and validates them."""

from __future__ import annotations

from typing import NamedTuple


class OptionKey(NamedTuple):
    """A key of staging's options: path, type, unit, default, limits and meaning."""

    key: str
    kind: str
    unit: str
    default: str
    limits: str
    meaning: str


def _key(
    key: str, kind: str, default: str, meaning: str, unit: str = "–", limits: str = ""
) -> OptionKey:
    return OptionKey(key, kind, unit, f"`{default}`", limits, meaning)


_ENGINES = "one of `inproc`, `shm`, `tcp`, `mpi`, `adios2`, `file`"
_POLICIES = "one of `block`, `drop_newest`, `drop_oldest`, `latest_only`"
_TIME = "number, or text as `10 s`"
_SIZE = "number, or text as `2 GiB`"

OPTION_KEYS = (
    _key("engine", _ENGINES, "shm", "transport between writer and readers"),
    _key("contact", "path", "NAME.contact", "contact file, in the folder of the run"),
    _key(
        "on_error",
        "one of `warn`, `fail`",
        "warn",
        "after a failure of the stream: continue without it, or end the run",
    ),
    _key("queue.policy", _POLICIES, "latest_only", "action when the queue is full"),
    _key(
        "queue.depth",
        "integer",
        "2",
        "maximum number of steps kept, those held by readers included",
        limits="≥ 1",
    ),
    _key(
        "queue.bytes",
        _SIZE,
        "unlimited",
        "maximum size of these steps on the rank that has most",
        "B",
        "> 0",
    ),
    _key("queue.time_limit", _TIME, "10 s", "maximum time that `block` makes the solver wait", "s"),
    _key(
        "queue.on_timeout",
        "one of `drop`, `fail`",
        "drop",
        "after that time: drop the new step, or end the run",
    ),
    _key(
        "queue.keep_newest", "boolean", "true", "keep the newest step for readers that attach later"
    ),
    _key(
        "wait_for_readers",
        "integer",
        "0",
        "number of readers to wait for before the first step",
        limits="≥ 0",
    ),
    _key("wait_limit", _TIME, "60 s", "timeout of that wait", "s"),
    _key(
        "close_limit", _TIME, "30 s", "maximum time that the end of the run waits for readers", "s"
    ),
    _key("checksums", "boolean", "false", "a CRC32C of every array, which readers may verify"),
    _key("tcp.listen", "text", "127.0.0.1", "address to listen on; `0.0.0.0` or `::` for all"),
    _key(
        "tcp.port",
        "integer",
        "0",
        "port of rank 0, the following ones for other ranks; 0: any free ports",
        limits="≥ 0, ≤ 65535",
    ),
    _key(
        "tcp.advertise",
        "text",
        "''",
        "host name that readers connect to; empty: `tcp.listen`, or the host's name",
    ),
    _key("tcp.tls", "boolean", "false", "TLS 1.3, keyed by the secret in the contact file"),
    _key(
        "mpi.mode",
        "one of `two_sided`, `push`, `pull`",
        "two_sided",
        "messages, puts into the readers' memory, or gets from the writers'",
    ),
    _key("file.folder", "path", "published/NAME.zarr", "Zarr store, in the folder of the run"),
    _key("file.overwrite", "boolean", "false", "replace a store that is there"),
    _key("file.sync", "boolean", "true", "synchronise each step to the disk before it counts"),
    _key("adios2.kind", "one of `sst`, `bp5`", "sst", "engine of ADIOS2"),
    _key("adios2.parameters", "mapping of text to text", "{}", "parameters of that engine"),
)

#: Keys of the options files of other codes only; a case has its own of these names, or a folder.
OTHER_KEYS = ("pipeline", "python", "output")
