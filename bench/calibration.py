"""Simulated against measured times of 2 to 16 ranks that share this machine's cores.

A few measured times give the parameters of the simulation; it is compared with the others. All are
measured in one run, in turn.

    python bench/calibration.py [--rounds 5] [--json FILE]

Model: a message of s bytes takes c(s) of a core, counted at the sender; with more ranks than cores
each takes that many times longer. A receiver waits for l(s) more for each rank of a core: ranks
take turns. An all-to-all copies a rank's own part, m(s). Where the buffers of all ranks exceed the
cache, a byte takes e(W) more. Computing shares the cores.

Fitted: c by `ring` and m by `all` with 2 ranks, l by `ring` and e by `all` with 8 ranks, each at
some sizes, linear between them; computing by the transforms of 2 ranks, for a point.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _job import build_worker, launcher, output_of
from _report import option_parser, record, report
from rich.table import Table

from uzushio._base.parallel.launch import prepare_environment

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "scale"))
import simulation

RANKS = (2, 4, 8, 16)
#: Sizes of messages in bytes, to fit and to compare; all have been measured.
FITTED = (8, 1024, 4096, 16384, 65536, 262144, 1048576)
HELD_OUT = (512, 3072, 8192, 32768, 131072, 524288)
PATTERNS = ("ring", "all", "allv")
#: Cubes of the transforms: points in x, y and z; the first one with 2 ranks is fitted.
CUBES = ((128, 128, 64), (96, 96, 32), (64, 64, 64))
#: Planes of an all-to-all.
BATCH = 5
GOAL = 0.15
#: Bytes of messages from which the cache matters.
LARGE = 65536
CORES = len(os.sched_getaffinity(0))

Times = dict[tuple[str, int, int], float]


def measure(rounds: int, file: Path | None) -> tuple[Times, dict[int, tuple[float, float]]]:
    """Return microseconds of (pattern or cube, bytes, ranks), and ns a point of each cube.

    They are the least of the rounds, and of earlier ones in the file.
    """
    network, channel = build_worker("network_worker"), build_worker("channel_worker")
    prepare_environment()
    words = [word for p in PATTERNS for size in FITTED + HELD_OUT for word in (p, size)]
    times: Times = {}
    computing: dict[int, tuple[float, float]] = {}
    if file and file.exists():
        stored = json.loads(file.read_text())
        times = {(str(p), int(size), int(ranks)): time for p, size, ranks, time in stored["times"]}
        computing = {i: (rows, columns) for i, rows, columns in stored["computing"]}
    for _ in range(rounds):
        for ranks in RANKS:
            start = launcher(ranks)
            for line in output_of([*start, network, 10, *words]).splitlines():
                pattern, size, microseconds = line.split()
                key = pattern, int(size), ranks
                times[key] = min(times.get(key, np.inf), float(microseconds))
            for i, cube in enumerate(CUBES):
                command = [*start, channel, *cube, ranks, "none", 20, BATCH]
                time, _, rows, columns = numbers(output_of(command, {"OMP_NUM_THREADS": "1"}))
                key = "transforms", i, ranks
                times[key] = min(times.get(key, np.inf), 1e3 * time)
                if ranks == 2:
                    old = computing.get(i, (np.inf, np.inf))
                    computing[i] = min(old[0], rows), min(old[1], columns)
            if file:
                stored = {
                    "times": [[*key, time] for key, time in times.items()],
                    "computing": [[i, *both] for i, both in computing.items()],
                }
                file.write_text(json.dumps(stored))
    return times, computing


def numbers(output: str) -> list[float]:
    """Return the milliseconds and the ns a point that `channel` prints."""
    pattern = r"transforms (\S+) ms, solve (\S+) ms, .* 0 wrong, (\S+) ns .*, (\S+) of columns"
    match = re.search(pattern, output)
    if match is None:
        raise RuntimeError(output)
    return [float(one) for one in match.groups()]


@dataclass(frozen=True)
class Model:
    """Parameters in microseconds, at the sizes `FITTED`."""

    message: list[float]
    own: list[float]
    turn: list[float]
    buffers: list[float]  # bytes of all ranks' buffers
    excess: list[float]  # microseconds a byte, at `buffers`

    @classmethod
    def fitted(cls, times: Times) -> Model:
        """Fit the parameters to the times of 2 and of 8 ranks."""
        share = 8 / CORES
        message = [times["ring", s, 2] for s in FITTED]
        own = [max(times["all", s, 2] - times["ring", s, 2], 0) for s in FITTED]
        turn = [
            max(times["ring", s, 8] / share - c, 0) for s, c in zip(FITTED, message, strict=True)
        ]
        first = cls(message, own, turn, [1.0], [0.0])
        large = [s for s in FITTED if s >= LARGE]
        excess = [
            max(times["all", s, 8] / share - first.core(s, "all", 8, 7) * 7 - first.wait(s), 0)
            / (7 * s)
            for s in large
        ]
        return cls(message, own, turn, [2.0e6, *(2.0 * 64 * s for s in large)], [0.0, *excess])

    def core(self, size: int, pattern: str, ranks: int, messages: int) -> float:
        """Return the time of a core for a message."""
        total = 2.0 * ranks * size * (ranks if pattern.startswith("all") else 1)
        excess = own = 0.0
        if pattern.startswith("all"):
            excess = float(np.interp(np.log(total), np.log(self.buffers), self.excess))
            own = float(np.interp(size, FITTED, self.own)) / messages
        return float(np.interp(size, FITTED, self.message) + own + excess * size)

    def wait(self, size: int) -> float:
        """Return the time of another rank of a core before a receiver goes on."""
        return float(np.interp(size, FITTED, self.turn))

    def options(self, size: int, pattern: str, ranks: int) -> tuple[tuple[str, ...], float]:
        """Return SimGrid's options, and the latency of a message in microseconds."""
        share = max(ranks / CORES, 1)
        cost = self.core(size, pattern, ranks, ranks - 1) * share
        # SimGrid charges receivers (smpi/or) for messages that were copied at once only.
        short = f"0:{1e-6 * self.message[0] * share:.6e}:0"  # of barriers
        costs = f"smpi/ois:{short};{max(size // 2, 1)}:{1e-6 * cost:.6e}:0"
        return (*simulation.NETWORK, costs), self.wait(size) * share if share > 1 else 0.0


def simulate(options: tuple[tuple[str, ...], float], ranks: int, *words: object) -> str:
    """Run a program on simulated ranks of one node with this machine's cores."""
    configuration, latency = options
    with tempfile.TemporaryDirectory() as folder:
        file, hosts = Path(folder) / "node.xml", Path(folder) / "hosts"
        file.write_text(simulation.shared_node(CORES, 1e-6 * latency))
        hosts.write_text("node\n" * ranks)
        machine = ["-platform", str(file), "-hostfile", str(hosts)]
        program, *arguments = map(str, words)
        output: str = simulation.run_on(
            machine, configuration, program, ranks, *arguments, limit=120
        )
        return output


def message_size(cube: tuple[int, int, int], ranks: int) -> int:
    """Return the mean bytes of a message of an all-to-all of the transforms."""
    return 16 * BATCH * (cube[1] // ranks) * (cube[0] // 2) // ranks


def simulate_time(
    model: Model, computing: tuple[float, float], pattern: str, size: int, ranks: int
) -> float:
    """Return simulated microseconds of what was measured."""
    if pattern == "transforms":
        cube = CUBES[size]
        options = model.options(message_size(cube, ranks), "allv", ranks)
        words = ("channel", *cube, ranks, "none", 1, BATCH, *computing)
        return 1e3 * numbers(simulate(options, ranks, *words))[0]
    output = simulate(model.options(size, pattern, ranks), ranks, "network", 1, pattern, size)
    return float(output.split()[2])


def is_fitted(pattern: str, size: int, ranks: int) -> bool:
    """Return whether a measured time is used to fit a parameter."""
    if pattern == "transforms":
        return size == 0 and ranks == 2
    return size in FITTED and (pattern, ranks) in {
        ("ring", 2),
        ("all", 2),
        ("ring", 8),
        *([("all", 8)] if size >= LARGE else []),
    }


def main() -> int:
    """Measure, fit, simulate and compare."""
    parser = option_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of measurement")
    parser.add_argument("--times", type=Path, metavar="FILE", help="measured times to add to")
    options = parser.parse_args()
    if not simulation.available():
        raise SystemExit("SimGrid is not installed (libsimgrid-dev).")
    measured, computing = measure(options.rounds, options.times)
    model = Model.fitted(measured)
    simulated = {key: simulate_time(model, computing[0], *key) for key in sorted(measured)}
    table = Table("", *(f"{n} ranks" for n in RANKS), title="Simulated / measured µs; fitted: *")
    errors: dict[tuple[str, int], list[float]] = {}
    records = []
    for pattern, size in dict.fromkeys(key[:2] for key in simulated):
        cells = []
        name = f"{pattern} {size} B"
        if pattern == "transforms":
            name = "transforms of {} × {} × {}".format(*CUBES[size])
        for key in ((pattern, size, ranks) for ranks in RANKS):
            if key not in measured:
                cells.append("")
                continue
            star = "*" if is_fitted(*key) else ""
            cells.append(f"{simulated[key]:.4g} / {measured[key]:.4g}{star}")
            records.append(record(f"simulated {name}, {key[2]} ranks{star}", simulated[key], "µs"))
            records.append(record(f"measured {name}, {key[2]} ranks{star}", measured[key], "µs"))
            if not star:
                errors.setdefault((pattern, key[2]), []).append(simulated[key] / measured[key] - 1)
        table.add_row(name, *cells)
    summary = Table(
        "not fitted",
        *(f"{n} ranks" for n in RANKS),
        title="Error, median and maximum; cases within 15 %",
    )
    for pattern in (*PATTERNS, "transforms"):
        cells = []
        for ranks in RANKS:
            if (pattern, ranks) not in errors:
                cells.append("")
                continue
            sizes = np.abs(errors[pattern, ranks])
            within = int(np.sum(sizes <= GOAL))
            cells.append(f"{np.median(sizes):.0%}, {sizes.max():.0%}; {within} of {sizes.size}")
            records.append(
                record(
                    f"median error of {pattern}, {ranks} ranks",
                    float(np.median(sizes)),
                    goal=GOAL,
                    at_most=True,
                )
            )
            records.append(record(f"maximum error of {pattern}, {ranks} ranks", float(sizes.max())))
        summary.add_row(pattern, *cells)
    for name, values in (("c", model.message), ("m", model.own), ("l", model.turn)):
        records += [
            record(f"{name} of {s} B", v, "µs") for s, v in zip(FITTED, values, strict=True)
        ]
    records += [
        record(f"e of buffers of {w:.3g} B", 1e3 * v, "ns/B")
        for w, v in zip(model.buffers, model.excess, strict=True)
    ]
    records += [
        record(f"computing of {n}", v, "ns a point")
        for n, v in zip(("rows", "columns"), computing[0], strict=True)
    ]
    report(options.json, records, table, summary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
