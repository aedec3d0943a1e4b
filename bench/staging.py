"""Throughput of staging relative to the limit of the machine in the same run: n writers, n readers.

Each read of a step is followed by the same transfer without staging: memcpy into reused
memory (shm), one plain socket for each pair of ranks with the same buffers (tcp), one MPI
message (mpi), a loop that copies from one plain socket to another (relay). Figures are the minimum
times of the repetitions.

    python bench/staging.py [--json FILE] [--megabytes 100] [--repeats 15] [--only NAME ...]
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from _job import launcher, measured
from _report import Record, option_parser, record, report
from rich.table import Table

from uzushio._base.parallel.launch import prepare_environment

WORKER = Path(__file__).with_name("_staging_worker.py")
TIME_LIMIT = 300.0  # seconds for one job
LOSSLESS = {"policy": "block", "depth": 2, "time_limit": "60 s"}
Config = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """Figure with its limit or peer."""

    metric: str
    value: float
    unit: str
    of: str | None = None
    goal: float | None = None
    at_most: bool = False  #: whether the goal is a maximum
    rate: float | None = None  #: bytes/s of staging
    limit: float | None = None  #: bytes/s of the limit or peer

    def record(self) -> Record:
        """Return the record for the JSON file."""
        return record(self.metric, self.value, self.unit, self.goal, self.of, at_most=self.at_most)


# ---- jobs -------------------------------------------------------------------------------------


def mpiexec(ranks: int, role: str, config: Config) -> list[str]:
    """Return the command line of a job of workers."""
    program = [sys.executable, "-m", "mpi4py", str(WORKER)]
    return [*launcher(ranks), *program, role, json.dumps(config)]


def run(ranks: int, role: str, config: Config) -> dict[str, Any]:
    """Run a job of workers, and return its measurements."""
    result: dict[str, Any] = measured(mpiexec(ranks, role, config), time_limit=TIME_LIMIT)
    return result


@contextmanager
def running(*commands: list[str]) -> Iterator[None]:
    """Run jobs concurrently with the block, and check that they succeed."""
    jobs = [
        subprocess.Popen(c, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for c in commands
    ]
    try:
        yield
        for job in jobs:
            _, error = job.communicate(timeout=TIME_LIMIT)
            if job.returncode:
                raise SystemExit(f"{job.args!r} failed:\n{error.decode()}")
    except SystemExit as error:
        said = "".join(_what_is_left(job) for job in jobs)
        raise SystemExit(f"{error}{said}") from None
    finally:
        for job in jobs:
            job.kill()


def _what_is_left(job: subprocess.Popen[bytes]) -> str:
    """Return the output of the other jobs of a failed one, which may have failed first."""
    job.terminate()
    with suppress(subprocess.TimeoutExpired):
        _, error = job.communicate(timeout=10.0)
        return f"\n{job.args!r} beside it ended with {job.returncode}:\n{error.decode()}"
    return ""


# ---- measurements -----------------------------------------------------------------------------


class Bench:
    """Measurements; each method returns its rows."""

    def __init__(self, size: int, repeats: int, folder: Path) -> None:
        self.size, self.repeats, self.folder = size, repeats, folder
        self._jobs = 0

    def config(self, options: Config, **more: Any) -> Config:
        """Return the configuration for the workers of one measurement."""
        self._jobs += 1
        folder = self.folder / str(self._jobs)
        folder.mkdir()
        contact = str(folder / "bench.contact")
        given = {"contact": contact, "close_limit": "60 s", "wait_for_readers": 1, **options}
        common = {"bytes": self.size, "repeats": self.repeats, "folder": str(folder)}
        return {**common, "contact": contact, "plain": "plain", "options": given, **more}

    def solver(self, pairs: int, size: int, policy: Config, look: float) -> dict[str, Any]:
        """Publish through shared memory while a viewer reads."""
        options = {"engine": "shm", "queue": policy}
        config = self.config(options, bytes=size, look=look, pause=0.002)
        with running(mpiexec(pairs, "look", config)):
            return run(pairs, "solve", config)

    def shm(self) -> Iterator[Row]:
        """Measure the solver's time of publishing, with one copy and without."""
        policy = {"policy": "drop_oldest", "depth": 3}
        for pairs in (1, 2):
            result = self.solver(pairs, self.size, policy, look=0.0)
            copied = {**result, "read": result["put"]}
            yield self.share(f"shm, one copy, {pairs} to {pairs}", pairs, copied, 0.8, "memcpy")
        for size in (self.size // 100, self.size // 10, self.size):
            result = self.solver(1, size, policy, look=0.0)
            yield Row(
                f"shm, no copy, {size / 1e6:g} MB: a step", 1e3 * result["buffer"], "ms", None
            )

    def latest(self) -> Iterator[Row]:
        """Measure the solver's time with a slow viewer and the policy latest_only."""
        result = self.solver(1, self.size, {"policy": "latest_only", "depth": 2}, look=0.2)
        for what, key in (
            ("the solver's wait a step", "waited"),
            ("median step without a copy", "buffer_median"),
        ):
            yield Row(
                f"latest_only, slow reader: {what}",
                result[key] / result["memcpy"],
                "×",
                "memcpy of the step",
                1.0,
                at_most=True,
            )

    def transfer(
        self,
        name: str,
        pairs: int,
        options: Config,
        goal: float | None,
        limit: str,
        **more: Any,
    ) -> Row:
        """Read published steps, compared with plain sockets."""
        config = self.config({"queue": LOSSLESS, **options}, **more)
        with running(mpiexec(pairs, "feed", config)):
            result = run(pairs, "fetch", config)
        return self.share(f"{name}, {pairs} to {pairs}", pairs, result, goal, limit)

    @staticmethod
    def share(
        metric: str, pairs: int, result: dict[str, Any], goal: float | None, limit: str
    ) -> Row:
        """Return the rate relative to the limit measured in the same run."""
        total = pairs * result["bytes"]
        against = result["memcpy"] if limit.startswith("memcpy") else result["limit"]
        return Row(
            metric,
            against / result["read"],
            "×",
            limit,
            goal,
            rate=total / result["read"],
            limit=total / against,
        )

    def read(self) -> Iterator[Row]:
        """Measure readers on the same node, which copy from the writer's memory."""
        for pairs in (1, 2):
            yield self.transfer("shm, read", pairs, {"engine": "shm"}, 0.8, "memcpy")

    def tcp(self) -> Iterator[Row]:
        """Measure readers over TCP, as on other nodes."""
        for pairs in (1, 2):
            yield self.transfer("tcp", pairs, {"engine": "tcp"}, 0.85, "one plain socket a pair")
        tls = {"engine": "tcp", "tcp": {"tls": True}}
        yield self.transfer("tcp with TLS 1.3", 1, tls, None, "one plain socket a pair")

    def mpi(self) -> Iterator[Row]:
        """Measure writers and readers in one MPI launch, in each mode."""
        for pairs in (1, 2):
            rows: list[Row] = []
            beside: list[Row] = []
            for mode in ("two_sided", "push", "pull"):
                options = {"engine": "mpi", "mpi": {"mode": mode}, "queue": LOSSLESS}
                config = self.config(options)
                config["contact"] = "mpi:bench"
                result = run(2 * pairs, "mpi", config)
                name = f"mpi, {mode}, {pairs} to {pairs}"
                rows.append(self.share(name, pairs, result, None, "one MPI message a pair"))
                beside += self.one_sided(name, pairs, mode, result)
            yield from rows + beside
            best = max(rows, key=lambda row: row.value)
            yield replace(best, metric=f"mpi, best mode, {pairs} to {pairs}", goal=0.9)

    def one_sided(self, name: str, pairs: int, mode: str, result: dict[str, Any]) -> Iterator[Row]:
        """Compare modes push and pull with the same MPI operations without staging."""
        if "one-sided" in result:
            what = "MPI_Put and a copy a pair" if mode == "push" else "MPI_Get a pair"
            plain = {**result, "limit": result["one-sided"]}
            yield self.share(name, pairs, plain, None, what)
        if "late" in result:
            late = {**result, "read": result["late"], "limit": result["one-sided"]}
            how = f"MPI_Get, owner calls MPI each ms, {pairs} to {pairs}"
            yield self.share(how, pairs, late, None, "MPI_Get, owner stays in MPI")

    def relay(self) -> Iterator[Row]:
        """Compare a relay with a loop that copies from socket to socket."""
        for pairs, processes in ((1, 1), (2, 1), (2, 2)):
            config = self.config({"engine": "tcp", "queue": LOSSLESS}, plain="relayed")
            there = str(Path(config["folder"], "relayed.contact"))
            start = launcher(processes) if processes > 1 else []
            ours = ["relay", "--from", config["contact"], "--to", there, "--once"]
            with running(
                mpiexec(pairs, "feed", config),
                mpiexec(pairs, "relay", config),
                [*start, sys.executable, "-m", "uzushio", *ours],
            ):
                result = run(pairs, "fetch", {**config, "contact": there})
            what = "a relay" if processes == 1 else f"a relay of {processes} ranks"
            name = f"tcp through {what}, {pairs} to {pairs}"
            yield self.share(name, pairs, result, 0.9, "a plain two-socket copy loop a pair")

    def file(self) -> Iterator[Row]:
        """Compare stored steps with a plain file for each rank."""
        for pairs in (1, 2):
            for sync in (True, False):
                config = self.config({})
                folder = str(Path(config["folder"], "bench.zarr"))
                config["options"] = {"engine": "file", "file": {"folder": folder, "sync": sync}}
                result = run(pairs, "store", config)
                shutil.rmtree(config["folder"])
                for kind in ("write",) if sync else ("write", "read", "unchecked"):
                    times = {
                        "bytes": result["bytes"],
                        "read": result[kind],
                        "limit": result["plain write" if kind == "write" else "plain read"],
                    }
                    how = f"{kind} and sync" if sync else kind
                    how = "read without checksums" if kind == "unchecked" else how
                    plain = "read" if kind == "unchecked" else how
                    name = f"file, {how}, {pairs} rank{'s' if pairs > 1 else ''}"
                    yield self.share(name, pairs, times, None, f"a plain file a rank, {plain}")
                if not sync:
                    part = {"bytes": result["bytes"] // 100, "read": result["part read"]}
                    part["limit"] = result["part unchecked"]
                    name = f"file, read of a hundredth, {pairs} rank{'s' if pairs > 1 else ''}"
                    yield self.share(name, pairs, part, None, "the same without checksums")

    def blocks(self) -> Iterator[Row]:
        """Compare many small blocks per rank, one by one and in one call, with one large block."""
        memcpy = "memcpy of the same blocks"
        planes = max(1, round(self.size / 1e6))
        for many in (1, 10 * planes):
            what = f"shm, {many} block{'s' if many > 1 else ''}"
            options = {"engine": "shm", "queue": {"policy": "drop_oldest", "depth": 3}}
            config = self.config(options, blocks=many, pause=0.002)
            with running(mpiexec(1, "look", config)):
                result = run(1, "solve", config)
            for how, name in (("put", ""), ("put all", " in one call")):
                copied = {**result, "read": result[how]}
                goal = 0.9 if name else None
                yield self.share(f"{what}, one copy{name}", 1, copied, goal, memcpy)
            for engine, limit in (("shm", memcpy), ("tcp", "one plain socket a pair")):
                for once, name in ((False, ""), (True, " in one call")):
                    yield self.transfer(
                        f"{what.replace('shm', engine)}, read{name}",
                        1,
                        {"engine": engine},
                        0.9 if once else None,
                        limit,
                        blocks=many,
                        **{"at once": once},
                    )

    def adios2(self) -> Iterator[Row]:
        """Measure ADIOS2's SST and BP5 as peers, through the engine adios2."""
        if importlib.util.find_spec("adios2") is None:
            return
        from uzushio.staging.adios2_library import library

        for pairs in (1, 2) if library().has_mpi else (1,):  # SST's readers of two ranks need MPI
            options: dict[str, Any] = {"engine": "adios2"}
            yield self.transfer("adios2 SST", pairs, options, None, "one plain socket a pair")
        for pairs in (1, 2):
            options = {"engine": "adios2", "adios2": {"kind": "bp5"}}
            yield self.transfer("adios2 BP5, read", pairs, options, None, "memcpy")


MEASUREMENTS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "shm": Bench.shm,
    "latest": Bench.latest,
    "read": Bench.read,
    "tcp": Bench.tcp,
    "mpi": Bench.mpi,
    "relay": Bench.relay,
    "file": Bench.file,
    "blocks": Bench.blocks,
    "adios2": Bench.adios2,
}


def table(rows: list[Row], size: int) -> Table:
    """Make the table of the rows."""
    shown = Table(f"{size / 1e6:g} MB a rank", "GB/s", "limit GB/s", "figure", "of", "goal", "met")

    def rate(value: float | None) -> str:
        return "" if value is None else f"{value / 1e9:.2f}"

    for row in rows:
        goal = "" if row.goal is None else f"{'≤' if row.at_most else '≥'} {row.goal:g}"
        met = {None: "", True: "yes", False: "no"}[row.record()["met"]]
        figure = f"{row.value:.3g} {row.unit}"
        shown.add_row(row.metric, rate(row.rate), rate(row.limit), figure, row.of or "", goal, met)
    return shown


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--megabytes", type=float, default=100.0, help="of a rank's block")
    parser.add_argument("--repeats", type=int, default=15, help="steps to time")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    options = parser.parse_args()
    prepare_environment()
    os.environ.pop("UZUSHIO_STAGING", None)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="uzushio-bench-") as folder:
        bench = Bench(round(options.megabytes * 1e6), options.repeats, Path(folder))
        for name in options.only:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows += MEASUREMENTS[name](bench)
    report(options.json, [row.record() for row in rows], table(rows, bench.size))


if __name__ == "__main__":
    main()
