"""One rank of a job of bench/staging.py.

    mpiexec -n RANKS python -m mpi4py _staging_worker.py ROLE CONFIG

CONFIG is JSON: the engine's options, bytes of a rank, repetitions, and a folder for files that jobs
exchange. Rank 0 of the measuring job prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _staging_windows import get, put_and_copy, timed
from mpi4py import MPI

from uzushio import staging

CHUNK = 4 << 20  # bytes of a call to a plain socket
WAIT = 60.0  # timeout of all waits, seconds
WARM = 6  # steps until all buffers of the engine have been used
Config = dict[str, Any]


def tell(comm: MPI.Comm, measured: dict[str, Any]) -> None:
    """Print the measurements on rank 0."""
    if comm.rank == 0:
        print(json.dumps(measured), flush=True)


# ---- plain sockets, to compare with -----------------------------------------------------------


def announce_port(listener: socket.socket, file: Path) -> None:
    """Write the port of a listener for other processes."""
    new = file.with_name(f"{file.name}.new")  # one for each rank
    new.write_text(str(listener.getsockname()[1]))
    new.rename(file)


def connect(file: Path) -> socket.socket:
    """Connect to the port announced by another process."""
    deadline = time.monotonic() + WAIT
    while not file.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{file} did not appear")
        time.sleep(0.01)
    connection = socket.create_connection(("127.0.0.1", int(file.read_text())))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def bytes_of(values: np.ndarray) -> memoryview:
    """Return the memory of a contiguous array."""
    return values.reshape(-1).data.cast("B")


class PlainSender(threading.Thread):
    """Sender of a buffer over plain sockets, once for each received byte."""

    def __init__(self, values: np.ndarray, file: Path) -> None:
        super().__init__(daemon=True)
        self._values = bytes_of(values)
        self._listener = socket.create_server(("127.0.0.1", 0))
        announce_port(self._listener, file)
        self.start()

    def run(self) -> None:
        """Serve one connection until it is closed."""
        connection, _ = self._listener.accept()
        while connection.recv(1):
            for at in range(0, len(self._values), CHUNK):
                connection.sendall(self._values[at : at + CHUNK])


def receive_plain(connection: socket.socket, values: np.ndarray) -> None:
    """Request the buffer of a PlainSender, and receive it into reused memory."""
    into, at = bytes_of(values), 0
    connection.sendall(b"1")
    while at < len(into):
        got = connection.recv_into(into[at : at + CHUNK])
        if got == 0:
            raise ConnectionError("the plain socket was closed")
        at += got


def relay_plain(config: Config) -> None:
    """Copy from one plain socket to another in a loop with one reused buffer of 1 MiB."""
    rank = MPI.COMM_WORLD.rank
    listener = socket.create_server(("127.0.0.1", 0))
    upstream = connect(Path(config["folder"], f"plain.{rank}"))
    announce_port(listener, Path(config["folder"], f"relayed.{rank}"))
    downstream, _ = listener.accept()
    buffer = memoryview(bytearray(1 << 20))
    while asked := downstream.recv(1):
        upstream.sendall(asked)
        left = config["bytes"]
        while left:
            got = upstream.recv_into(buffer[: min(left, len(buffer))])
            downstream.sendall(buffer[:got])
            left -= got


# ---- the stream -------------------------------------------------------------------------------


def shape_of(size: int) -> tuple[int, int, int]:
    """Return the shape (z, y, x) of float64 values with about `size` bytes."""
    return max(1, round(size / (8 * 250 * 500))), 250, 500


def parts_of(values: np.ndarray, config: Config) -> list[np.ndarray]:
    """Divide a rank's values into blocks of equal numbers of planes."""
    nz, ny, _ = values.shape
    many = config.get("blocks", 1)
    if many == 1:
        return [values]
    rows = nz * ny // many
    return [values[z : z + 1, y : y + rows] for z in range(nz) for y in range(0, ny, rows)]


def copy_parts(to: list[np.ndarray], parts: list[np.ndarray]) -> None:
    """Copy blocks into memory, one by one."""
    for into, part in zip(to, parts, strict=True):
        np.copyto(into, part)


def open_writer(comm: MPI.Comm, config: Config) -> Any:
    """Open a stream of one field; blocks are numbered from rank × number of blocks."""
    nz, ny, nx = shape_of(config["bytes"])
    writer = staging.open("bench", comm, config["options"])
    writer.uniform_mesh("mesh", (comm.size * nz, ny, nx))
    writer.field("u", "mesh")
    many = config.get("blocks", 1)
    if many == 1:
        writer.block(comm.rank, "mesh", ((comm.rank * nz, 0, 0), (nz, ny, nx)))
        return writer
    rows = nz * ny // many
    for n in range(many):
        z, y = divmod(n * rows, ny)
        box = (comm.rank * nz + z, y, 0), (1, rows, nx)
        writer.block(comm.rank * many + n, "mesh", box)
    return writer


def solve(config: Config) -> None:
    """Time publishing with one copy and without, compared with memcpy."""
    comm = MPI.COMM_WORLD
    values = np.full(shape_of(config["bytes"]), float(comm.rank))
    parts = parts_of(values, config)
    blocks = [comm.rank * len(parts) + n for n in range(len(parts))]
    memory = parts_of(np.zeros_like(values), config)
    times: dict[str, list[float]] = {"memcpy": [], "put": [], "put all": [], "buffer": []}
    with open_writer(comm, config) as writer:

        def put() -> None:
            for block, part in zip(blocks, parts, strict=True):
                writer.put("u", part, block=block)
            writer.end_step()

        def put_all() -> None:
            writer.put("u", dict(zip(blocks, parts, strict=True)))
            writer.end_step()

        def publish(index: int, how: str, fill: bool) -> float:
            writer.begin_step(index, float(index))
            if how != "buffer":
                return timed(comm, put if how == "put" else put_all)
            for block, part in zip(blocks, parts, strict=True):
                filled = writer.buffer("u", block=block)
                if fill:
                    filled[...] = part  # the solver's own output; not timed
            return timed(comm, writer.end_step)

        index = 0
        for how in ("put", "put all", "buffer"):
            for repeat in range(WARM + config["repeats"]):
                seconds = publish(index, how, repeat < WARM)
                index += 1
                if repeat >= WARM:
                    times[how].append(seconds)
                    times["memcpy"].append(timed(comm, lambda: copy_parts(memory, parts)))
                time.sleep(config.get("pause", 0.0))
        counters = writer.counters()
    tell(
        comm,
        {
            **{name: min(seconds) for name, seconds in times.items()},
            "put_median": float(np.median(times["put"])),
            "buffer_median": float(np.median(times["buffer"])),
            "waited": counters.seconds_waited / counters.published,
            "bytes": values.nbytes,
            "dropped": counters.dropped,
        },
    )


def look(config: Config) -> None:
    """Read a stream as a viewer does: one value of each block, then a pause."""
    with staging.attach(config["contact"], MPI.COMM_WORLD) as reader:
        for step in reader:
            for block in step.blocks:
                assert block.view("u")[0, 0, 0] == block.rank
            time.sleep(config.get("look", 0.0))


def feed(config: Config) -> None:
    """Publish the same values repeatedly without a copy; a plain socket sends them too."""
    comm = MPI.COMM_WORLD
    values = np.full(shape_of(config["bytes"]), float(comm.rank))
    plain = PlainSender(values, Path(config["folder"], f"plain.{comm.rank}"))
    publish_all(comm, config, values)
    plain.join(WAIT)  # readers of files still need the plain sender


def publish_all(
    comm: MPI.Comm, config: Config, values: np.ndarray, after: Callable[[], None] | None = None
) -> None:
    """Publish as many steps as readers measure, filling each buffer of the engine only once."""
    parts = parts_of(values, config)
    with open_writer(comm, config) as writer:
        for index in range(WARM + config["repeats"]):
            with writer.step(index, float(index)):
                for n, part in enumerate(parts):
                    block = comm.rank * len(parts) + n
                    if config["options"]["engine"] == "adios2":
                        writer.put("u", part, block=block)
                        continue
                    filled = writer.buffer("u", block=block)
                    if index < WARM:
                        filled[...] = part
            if after:
                after()


def fetch(config: Config) -> None:
    """Time the transfer of one block per rank, compared with plain sockets."""
    comm = MPI.COMM_WORLD
    mine = np.zeros(shape_of(config["bytes"]))
    plain = connect(Path(config["folder"], f"{config['plain']}.{comm.rank}"))
    measure_fetch(comm, config, mine, lambda: receive_plain(plain, mine))


def measure_fetch(
    comm: MPI.Comm,
    config: Config,
    mine: np.ndarray,
    limit: Callable[[], None],
    prepare: Callable[[], None] = lambda: None,
    more: dict[str, float] | None = None,
) -> None:
    """Time reads of this rank's blocks, and `limit` after each; `prepare` signals the other side.

    `more` is told beside these times.
    """
    other, parts = parts_of(np.zeros_like(mine), config), parts_of(mine, config)
    reads, limits, copies = [], [], []
    with staging.attach(
        config["contact"], comm, connections=config.get("connections", 2), step_limit=WAIT
    ) as reader:
        mine.fill(-1.0)
        for step in reader:
            blocks = [b for b in step.blocks if b.rank == comm.rank]

            def read(step: Any = step, blocks: list[Any] = blocks) -> None:
                if config.get("at once"):
                    step.values(
                        "u", blocks, out={b.id: p for b, p in zip(blocks, parts, strict=True)}
                    )
                    return
                for block, part in zip(blocks, parts, strict=True):
                    block.values("u", out=part)

            seconds = timed(comm, read)
            assert mine.min() == mine.max() == comm.rank, "what was read is not what was written"
            prepare()
            mine.fill(-1.0)  # caches as they were before the read
            plain = timed(comm, limit)
            if step.index >= WARM:
                reads.append(seconds)
                limits.append(plain)
                copies.append(timed(comm, lambda: copy_parts(other, parts)))
            mine.fill(-1.0)  # now, as a step is read as soon as it is available
    measured = {"read": min(reads), "limit": min(limits), "memcpy": min(copies)}
    tell(comm, {**measured, **(more or {}), "bytes": mine.nbytes, "steps": len(reads)})


# ---- stored steps -----------------------------------------------------------------------------


def store(config: Config) -> None:
    """Time writing and reading a step, compared with a plain file per rank on the same disk."""
    comm = MPI.COMM_WORLD
    values = np.full(shape_of(config["bytes"]), float(comm.rank))
    mine, sync = np.zeros_like(values), config["options"]["file"]["sync"]
    steps = Path(config["options"]["file"]["folder"], "steps")
    file = Path(config["folder"], f"plain.{comm.rank}")
    times: dict[str, list[float]] = defaultdict(list)

    def write_plain() -> None:
        with file.open("wb", buffering=0) as plain:
            plain.write(bytes_of(values))
            if sync:
                os.fsync(plain.fileno())

    def read_plain() -> None:
        with file.open("rb", buffering=0) as plain:
            plain.readinto(bytes_of(mine))

    with open_writer(comm, config) as writer:
        for index in range(config["repeats"]):
            if comm.rank == 0:
                for old in steps.glob("[0-9]*"):  # at most one step and one file on the disk
                    shutil.rmtree(old)
            file.unlink(missing_ok=True)
            writer.begin_step(index, float(index))
            writer.put("u", values)
            times["write"].append(timed(comm, writer.end_step))
            times["plain write"].append(timed(comm, write_plain))
    plane = np.s_[: max(1, values.shape[0] // 100)]
    for _ in range(config["repeats"]):
        for verify, name in ((True, "read"), (False, "unchecked")):
            # A new reader, because the checksum of a chunk is verified once per step.
            with staging.attach(str(steps.parent), comm, verify=verify) as reader:
                step = reader.next(WAIT)
                assert step is not None
                block = next(b for b in step.blocks if b.rank == comm.rank)
                mine.fill(-1.0)
                times[name].append(timed(comm, partial(block.values, "u", out=mine)))
                assert mine.min() == mine.max() == comm.rank, "what was read is not what was stored"
            with staging.attach(str(steps.parent), comm, verify=verify) as reader:
                step = reader.next(WAIT)
                assert step is not None
                times[f"part {name}"].append(timed(comm, partial(step.read, "u", plane)))
        mine.fill(-1.0)
        times["plain read"].append(timed(comm, read_plain))
        assert mine.min() == mine.max() == comm.rank, "what was read is not what was stored"
    tell(comm, {**{name: min(seconds) for name, seconds in times.items()}, "bytes": values.nbytes})


# ---- one MPI launch for both sides ------------------------------------------------------------


def mpi(config: Config) -> None:
    """Half the ranks write and half read; the limit is one message between a pair of them."""
    world = MPI.COMM_WORLD
    pairs = world.size // 2
    reads = world.rank >= pairs
    comm = world.Split(int(reads), world.rank)
    partner = world.rank - pairs if reads else world.rank + pairs
    values = np.full(shape_of(config["bytes"]), float(comm.rank))

    def send_when_asked() -> None:
        while not world.Iprobe(partner, tag=6):
            time.sleep(0.0005)  # like a solver, the writer is not in MPI during the read
        world.recv(source=partner, tag=6)
        world.Send(values, partner, tag=7)

    mode, measured = config["options"]["mpi"]["mode"], {}
    if mode == "push":
        measured["one-sided"] = put_and_copy(world, partner, values, reads)
    elif mode == "pull":
        measured["one-sided"] = get(world, partner, values, reads, pause=0.0)
        measured["late"] = get(world, partner, values, reads, pause=0.001)
    values.fill(float(comm.rank))
    if reads:
        measure_fetch(
            comm,
            config,
            values,
            limit=lambda: world.Recv(values, partner, tag=7),
            prepare=lambda: world.send(None, partner, tag=6),  # filling `values` takes longer
            more=measured,
        )
    else:
        publish_all(comm, config, values, after=send_when_asked)


ROLES: dict[str, Callable[[Config], None]] = {
    "solve": solve,
    "look": look,
    "feed": feed,
    "fetch": fetch,
    "mpi": mpi,
    "relay": relay_plain,
    "store": store,
}

if __name__ == "__main__":
    ROLES[sys.argv[1]](json.loads(sys.argv[2]))
