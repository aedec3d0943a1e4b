"""Machines and placements as files of the network simulator SimGrid (version 3.32).

H. Casanova et al., "Versatile, scalable, and accurate simulation of distributed applications and
platforms", J. Parallel Distrib. Comput. 74 (2014).
"""

from __future__ import annotations

import re
from math import prod

import numpy as np

from uzushio.errors import PlacementError
from uzushio.placement.machines.dragonfly import Dragonfly
from uzushio.placement.machines.fat_tree import FatTree
from uzushio.placement.machines.machine import Indices, Machine
from uzushio.placement.machines.torus import Torus

#: Bandwidth and latency of a link by default: those of Tofu-D, 6.8 GB/s in each direction.
BANDWIDTH, LATENCY = "6.8GBps", "0.5us"
_UNITS = {
    "bandwidth": re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?[kMG]?(Bps|bps)"),
    "latency": re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?(s|ms|us|ns)"),
}


def platform(machine: Machine, bandwidth: str = BANDWIDTH, latency: str = LATENCY) -> str:
    """Return the XML of a machine: hosts `node-0`, … of SimGrid's numbering, and its network.

    All links have the same bandwidth in each direction, and the same latency. SimGrid's torus
    routes messages as ours: axis by axis, the shorter way around.

    Args:
        machine: torus, Tofu-D, fat tree or dragonfly.
        bandwidth: of a link in one direction, as `6.8GBps`.
        latency: of a link, as `0.5us`.

    Raises:
        PlacementError: SimGrid has no such machine, or a value without a unit that it knows.
    """
    for name, value in (("bandwidth", bandwidth), ("latency", latency)):
        if not _UNITS[name].fullmatch(value):
            raise PlacementError(
                f"the {name} {value!r} of a link is not of the form "
                f"{BANDWIDTH if name == 'bandwidth' else LATENCY}."
            )
    kind, sizes = _topology(machine)
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'
        f'<cluster id="machine" topology="{kind}" topo_parameters="{sizes}" prefix="node-" '
        f'suffix="" radical="0-{machine.size - 1}" speed="1Gf" bw="{bandwidth}" lat="{latency}"/>\n'
        "</platform>\n"
    )


def hosts(machine: Machine, node: Indices) -> str:
    """Return the host of each rank, a line for each, for `smpirun -hostfile`.

    Args:
        machine: the machine.
        node: node of each rank, (ranks,).
    """
    numbers = node
    if isinstance(machine, Torus):  # SimGrid's first axis is the fastest, ours is the last
        strides = [prod(machine.shape[:axis]) for axis in range(len(machine.shape))]
        numbers = machine.coordinates[node] @ np.array(strides)
    return "".join(f"node-{number}\n" for number in numbers.tolist())


def _topology(machine: Machine) -> tuple[str, str]:
    """Return the topology and its parameters."""
    if isinstance(machine, Torus):
        ends = zip(machine.axes, machine.shape, machine.periodic, strict=True)
        # An axis of two nodes has one link, also where SimGrid closes it.
        if mesh := next((axis for axis, size, closed in ends if not closed and size > 2), None):
            raise PlacementError(
                f"the axis {mesh} of {machine} is a mesh, but all axes of SimGrid's torus are "
                "closed; a simulation needs a machine without --mesh."
            )
        # SimGrid fails at the second axis of one node.
        sizes = [size for size in machine.shape if size > 1] or [1]
        return "TORUS", ",".join(map(str, sizes))
    if isinstance(machine, FatTree):
        levels = (machine.down, machine.up, (1,) * len(machine.down))
        return "FAT_TREE", ";".join(
            [str(len(machine.down)), *(",".join(map(str, level)) for level in levels)]
        )
    if isinstance(machine, Dragonfly):
        if machine.groups > machine.routers:
            raise PlacementError(
                f"SimGrid connects group j of a dragonfly to router j of the others: {machine} "
                f"needs at least {machine.groups} routers a group."
            )
        return "DRAGONFLY", f"{machine.groups},1;1,1;{machine.routers},1;{machine.nodes}"
    raise PlacementError(f"SimGrid has no {machine}; it has tori, fat trees and dragonflies.")
