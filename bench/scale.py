"""Simulated times of the channel's communication at 384 to 6144 ranks: nothing here is measured.

SimGrid runs the C++ kernels on simulated networks (tests/scale). Computing takes no time; flows
share links equally. The bytes of messages and the bandwidths of the case of 6144 nodes are both
divided by the same factor, which leaves the time of large messages as it is; the tridiagonal
schemes, which send short messages, are simulated in true size.

    python bench/scale.py [--only PART ...] [--json FILE]

Results are stored in the file one by one; the next run continues from there. A simulation of 6144
ranks takes up to ten minutes of a core, and 6 GB: --large.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from _report import Record, option_parser, record, report
from rich.table import Table

from uzushio.placement import Dragonfly, FatTree, Machine, TofuD, pencils, place, simgrid
from uzushio.placement.machines.machine import Indices

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "scale"))
import simulation

#: Points of the channel of 6144 nodes, and those of its simulation.
CASE, SIDE = (14400, 13824, 5760), 96
#: A step has an all-to-all for ten fields in each of three substeps, a simulation has two.
PER_STEP = 3 * 10 / 2
#: Fields that are solved in a step: four unknowns in each of three substeps.
SOLVES = 3 * 4
#: Bandwidth of a link of Tofu-D, bytes a second.
LINK = 6.8e9
LIMIT = 600.0
#: Computing of a point in rows, and in columns: a round figure for a core of an AMD EPYC
#: (calibration.py), divided by the cores of a node as if none waited for memory.
NANOSECONDS, CORES = 4.4, 48


@dataclass(frozen=True)
class Simulation:
    """A run: 96 × 96 × planes on Py × Pz ranks of Tofu-D units, by default or placed."""

    metric: str
    units: tuple[int, int, int]
    py: int
    pz: int
    planes: int
    scheme: str
    placed: bool = True
    true_size: bool = False


def simulations(large: bool) -> Iterator[Simulation]:
    """Yield all runs, the small ones first."""
    sizes = (((4, 4, 2), 32), ((4, 4, 4), 64), ((8, 4, 4), 128))
    for units, pz in sizes:
        yield Simulation(f"12 × {pz} ranks", units, 12, pz, 4 * pz, "transpose")
        for scheme in ("pipelined", "transpose", "partitioned"):
            name = f"{scheme}, 12 × {pz} ranks"
            yield Simulation(name, units, 12, pz, 4 * pz, scheme, true_size=True)
    for units, groups in (((8, 4, 4), 128), *([((8, 8, 8), 512)] if large else [])):
        for py, pz in ((12, groups), (48, groups // 4)):
            for kind in ("placed", "default"):
                name = f"{kind}, {py} × {pz} ranks"
                yield Simulation(name, units, py, pz, groups, "none", placed=kind == "placed")


def simulate(run: Simulation) -> list[Record]:
    """Simulate a run, and return its records."""
    machine = TofuD(run.units)
    ranks = run.py * run.pz
    scale = CASE[0] * CASE[1] * CASE[2] / 6144 / (SIDE * SIDE * run.planes / ranks)
    link = LINK if run.true_size else LINK / scale
    placed = place(machine, pencils(run.py, run.pz), method="auto" if run.placed else "default")
    with tempfile.TemporaryDirectory() as folder:
        file, hosts = Path(folder) / "machine.xml", Path(folder) / "hosts"
        file.write_text(simgrid.platform(machine, f"{link:.0f}Bps", simgrid.LATENCY))
        hosts.write_text(simgrid.hosts(machine, placed.node))
        output = simulation.run_on(
            ["-platform", str(file), "-hostfile", str(hosts)],
            simulation.NETWORK,
            "channel",
            ranks,
            *(str(SIDE), str(SIDE), str(run.planes), str(run.py), run.scheme, "1"),
            limit=LIMIT,
        )
    found = re.search(r"transforms ([\d.]+) ms, solve ([\d.]+) ms, .* 0 wrong", output)
    if found is None:
        raise RuntimeError(output)
    transforms, solve = (float(one) / 1e3 for one in found.groups())
    if run.true_size:
        return [record(f"solve of a field of {SIDE}² modes, {run.metric}", 1e3 * solve, "ms")]
    two = PER_STEP * transforms
    if run.scheme == "none":
        return [record(f"all-to-alls of a step, {run.metric}", two, "s")]
    return [
        record(f"two transposes, a step, {run.metric}", two, "s"),
        record(f"four transposes, a step, {run.metric}", two + SOLVES * solve, "s"),
    ]


def on(machine: Machine, node: Indices, link: float, program: str, *words: object) -> str:
    """Run a program on simulated ranks of a machine, and return its output.

    Args:
        machine: the machine.
        node: node of each rank, (ranks,).
        link: bandwidth of a link, bytes a second.
        program: name of the program.
        words: its arguments.
    """
    with tempfile.TemporaryDirectory() as folder:
        file, hosts = Path(folder) / "machine.xml", Path(folder) / "hosts"
        file.write_text(simgrid.platform(machine, f"{link:.0f}Bps", simgrid.LATENCY))
        hosts.write_text(simgrid.hosts(machine, node))
        output: str = simulation.run_on(
            ["-platform", str(file), "-hostfile", str(hosts)],
            simulation.NETWORK,
            program,
            len(node),
            *map(str, words),
            limit=LIMIT,
        )
        return output


def transforms(machine: Machine, node: Indices, py: int, *options: object) -> float:
    """Return the seconds of the all-to-alls of a step; four planes a rank of 96² points."""
    ranks = len(node)
    planes = 4 * ranks // py
    scale = CASE[0] * CASE[1] * CASE[2] / 6144 / (SIDE * SIDE * planes / ranks)
    rates = (NANOSECONDS * scale / CORES,) * 2 if options else ()
    words = (SIDE, SIDE, planes, py, "none", 1, *options, *rates)
    output = on(machine, node, LINK / scale, "channel", *words)
    found = re.search(r"transforms ([\d.]+) ms.* 0 wrong", output)
    if found is None:
        raise RuntimeError(output)
    return PER_STEP * float(found[1]) / 1e3


def networks() -> dict[str, Machine]:
    """Return machines of at least 384 nodes."""
    return {
        "Tofu-D": TofuD((4, 4, 2)),
        "fat tree": FatTree((24, 16), (1, 12)),
        "dragonfly": Dragonfly(6, 16, 4),
    }


def others() -> Iterator[tuple[str, str, Callable[[], float]]]:
    """Yield names, units and functions of the other figures."""
    pattern = pencils(12, 32)
    for name, machine in networks().items():
        for kind, method in (("default", "default"), ("placed", "auto")):
            node = place(machine, pattern, method=method).node
            yield (
                f"all-to-alls of a step, {name}, {kind}, 12 × 32 ranks",
                "s",
                partial(transforms, machine, node, 12),
            )
            yield (
                f"halo exchange of 16³ cells a rank, {name}, {kind}, 384 ranks",
                "µs",
                partial(halo, machine, node),
            )
    machine = networks()["Tofu-D"]
    node = place(machine, pattern).node
    for kind, batch in (("one after the other", 1), ("overlapped", -1)):
        yield (
            f"transforms of a step with computing, {kind}, 12 × 32 ranks",
            "s",
            partial(transforms, machine, node, 12, batch),
        )
    for pairs, units in ((1, (2, 2, 2)), (256, (4, 4, 3)), (1024, (8, 6, 4))):
        for way in ("neighbours", "halves", "four", "turns") if pairs > 1 else ("halves",):
            for name, network in (
                ("Tofu-D", TofuD(units)),
                ("fat tree", FatTree((32, 64), (1, 16))),
            ):
                yield (
                    f"writers to readers, {way}, {name}, {pairs} pairs",
                    "GB/s",
                    partial(transfer, network, pairs, way),
                )


def halo(machine: Machine, node: Indices) -> float:
    """Return the microseconds of a halo exchange of a field, two cells deep."""
    output = on(machine, node, LINK, "halo", 116)
    return float(re.search(r" 0 wrong, ([\d.]+) us", output)[1])  # type: ignore[index]


def transfer(machine: Machine, pairs: int, way: str) -> float:
    """Return the GB/s from writers to as many readers, 100 MB each."""
    output = on(machine, np.arange(2 * pairs), LINK / 1000, "network", 1, way, 100_000)
    return pairs * 1e5 / float(output.split()[2])  # bytes and links are smaller by a thousand


def main() -> int:
    """Simulate what is missing, and print all."""
    parser = option_parser(__doc__)
    parser.add_argument("--only", nargs="+", metavar="PART", help="parts of names to simulate")
    parser.add_argument("--large", action="store_true", help="also 6144 ranks")
    options = parser.parse_args()
    if not simulation.available():
        print("SimGrid is not installed (libsimgrid-dev): nothing is simulated.", file=sys.stderr)
    file = options.json or simulation.ROOT / "build" / "scale.json"
    records: list[Record] = json.loads(file.read_text()) if file.exists() else []
    known = [one["metric"] for one in records]
    for run in simulations(options.large) if simulation.available() else ():
        kind = "solve" if run.true_size else "all-to-alls" if run.scheme == "none" else "two"
        stored = any(one.startswith(kind) and one.endswith(f", {run.metric}") for one in known)
        if stored or not any(part in run.metric for part in options.only or [""]):
            continue
        new = simulate(run)
        records += new
        report(
            file, records, *(f"{one['metric']}: {one['value']:.4g} {one['unit']}" for one in new)
        )
    for name, unit, figure in others() if simulation.available() else ():
        if name in known or not any(part in name for part in options.only or [""]):
            continue
        records.append(record(name, figure(), unit))
        report(file, records, f"{name}: {records[-1]['value']:.4g} {unit}")
    table = Table("simulated", "value", "unit", title="Simulated, not measured")
    for one in records:
        table.add_row(one["metric"], f"{one['value']:.4g}", one["unit"])
    report(file, records, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
