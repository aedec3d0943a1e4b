"""Placement of ranks: hops and loads of links, default against placed, by counting routes.

Nothing is measured: the routes of all messages are counted, one message of an all-to-all in each
group of 12 ranks, and one from each rank to the next group. The rows of a machine are the default
order of the launcher; a plain snake through the units; Scotch, where its library is installed and
the machine small; and `uzushio place`. Loads are messages over the busiest link, one way and both
ways together. Times of the placement itself are seconds on one core.

    python bench/placement.py [--missing 0.03] [--json FILE]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
from _report import Record, option_parser, record, report
from rich.table import Table

from uzushio.placement import (
    Dragonfly,
    FatTree,
    Machine,
    Pattern,
    TofuD,
    Torus,
    link_loads,
    pencils,
    place,
    scotch,
)
from uzushio.placement.evaluation import PhaseFigures, evaluate
from uzushio.placement.machines.machine import Indices

#: Mean hops in a unit of 2 x 3 x 2 nodes, and messages over its busiest link.
UNIT_HOPS, UNIT_LOAD = 20 / 11, 6.0
#: Minimum factor by which the busiest link of a dragonfly carries less in the all-to-all.
DRAGONFLY_GOAL = 1.1
#: Maximum nodes for Scotch here, and maximum seconds of a placement of 20 000 nodes.
SCOTCH_NODES, MAX_SECONDS = 6200, 10.0

Case = tuple[str, Machine, Indices, Pattern, int]


def cases(missing: float) -> Iterator[Case]:
    """Yield name, machine, nodes of the job, pattern and ranks of a node."""
    random = np.random.default_rng(0)
    for kind, periodic in (("torus", True), ("mesh", False)):
        machine = TofuD((8, 8, 8), periodic)
        nodes = machine.default_order()
        yield f"Tofu-D 8 × 8 × 8, {kind}", machine, nodes, pencils(12, 512), 1
        left = nodes[random.permutation(len(nodes)).argsort() >= int(missing * len(nodes))]
        name = f"Tofu-D 8 × 8 × 8, {kind}, {100 * missing:.0f} % missing"
        yield name, machine, left, pencils(12, len(left) // 12), 1
    for units, groups in (((10, 8, 12), 960), ((12, 10, 12), 1440)):
        machine = TofuD(units)
        name = f"Tofu-D {' × '.join(map(str, units))}, 12 × {groups}"
        yield name, machine, machine.default_order(), pencils(12, groups), 1
    machine = TofuD((10, 6, 8))
    yield (
        "Tofu-D 10 × 6 × 8, 144 × 480, 12 a node",
        machine,
        machine.default_order(),
        pencils(144, 480),
        12,
    )
    other: Machine
    for other, groups in ((Dragonfly(17, 12, 4), 68), (FatTree((18, 18, 6), (1, 9, 9)), 162)):
        yield str(other)[4:], other, np.arange(other.size), pencils(12, groups), 1


def snake(machine: Machine, nodes: Indices, pattern: Pattern, per_node: int) -> Indices:
    """Return the nodes of the ranks along the machine's first path, in each unit alike."""
    units = machine.units(12)
    position = np.empty(units.unit.max() + 1, np.int64)
    position[units.paths[0]] = np.arange(len(units.paths[0]))
    order = np.lexsort((units.inside[0][nodes], position[units.unit[nodes]]))
    return np.repeat(nodes[order], per_node)[: pattern.ranks]


def both_ways(machine: Machine, pattern: Pattern, node: Indices) -> list[float]:
    """Return the load of the busiest pair of opposite links in each phase; 0: not a torus."""
    result = []
    for loads in link_loads(machine, pattern, node):
        if not isinstance(machine, Torus):
            result.append(0.0)
            continue
        grid = loads.reshape(*machine.shape, len(machine.shape), 2)
        sums = [
            grid[..., axis, 0] + np.roll(grid[..., axis, 1], -1, axis)
            for axis in range(len(machine.shape))
        ]
        result.append(float(max(load.max() for load in sums)))
    return result


def main() -> int:
    """Count the routes of all cases and print them."""
    parser = option_parser(__doc__)
    parser.add_argument("--missing", type=float, default=0.03, help="share of missing nodes")
    options = parser.parse_args()
    table = Table("machine", "placement", title="12 ranks a group; all-to-all / shift along z")
    for name in ("mean hops", "max. hops", "max. load, one way", "both ways", "s"):
        table.add_column(name, justify="right")
    records: list[Record] = []
    for name, machine, nodes, pattern, per_node in cases(options.missing):
        began = time.perf_counter()
        placed = place(machine, pattern, nodes=nodes, per_node=per_node)
        seconds = time.perf_counter() - began
        rows = {"default": placed.default, "snake": snake(machine, nodes, pattern, per_node)}
        if scotch.available() and len(nodes) <= SCOTCH_NODES:
            rows["Scotch"] = scotch.scotch_mapping(machine, nodes, pattern, placed.default)
        rows[f"placed ({placed.method})"] = placed.node
        for kind, node in rows.items():
            figures = evaluate(machine, pattern, node)
            loads = both_ways(machine, pattern, node)
            table.add_row(
                name if kind == "default" else "",
                kind,
                " / ".join(f"{evaluation.mean_hops:.2f}" for evaluation in figures),
                " / ".join(str(evaluation.max_hops) for evaluation in figures),
                " / ".join(f"{evaluation.max_load:.0f}" for evaluation in figures),
                " / ".join(f"{load:.0f}" for load in loads) if loads[0] else "",
                f"{seconds:.1f}" if node is placed.node else "",
            )
        records += figures_of(name, placed.before, placed.after, machine, per_node, seconds)
    report(options.json, records, table)
    return 0


def figures_of(
    name: str,
    before: list[PhaseFigures],
    after: list[PhaseFigures],
    machine: Machine,
    per_node: int,
    seconds: float,
) -> list[Record]:
    """Return the figures of a case, with the goals that hold for it."""
    whole = isinstance(machine, TofuD) and "missing" not in name and per_node == 1
    rows = [
        record(
            f"mean hops of the all-to-all, {name}",
            after[0].mean_hops,
            "hops",
            UNIT_HOPS + 1e-9 if whole else None,
            at_most=True,
        ),
        record(
            f"mean hops of the shift, {name}",
            after[1].mean_hops,
            "hops",
            1.0 if whole else None,
            at_most=True,
        ),
        record(
            f"busiest link in the all-to-all, {name}",
            before[0].max_load / after[0].max_load,
            "× less",
            DRAGONFLY_GOAL if isinstance(machine, Dragonfly) else None,
            of="default order",
        ),
    ]
    if machine.size >= 17000:
        rows.append(record(f"time of a placement, {name}", seconds, "s", MAX_SECONDS, at_most=True))
    return rows


if __name__ == "__main__":
    sys.exit(main())
