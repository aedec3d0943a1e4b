"""Placements of the channel's messages on whole machines: bounds by the distances in a unit.

The mean distance of two of the 2 × 3 × 2 nodes of a unit is 20/11 hops, and the busiest link of
an all-to-all in it carries 6 messages each way; a chain of neighbouring units has 1 hop.
"""

from __future__ import annotations

import numpy as np
import pytest

from uzushio.placement import Dragonfly, TofuD, evaluate, pencils, place
from uzushio.placement.machines.machine import Machine


def snake(machine: Machine, nodes: np.ndarray, ranks: int) -> np.ndarray:
    """Return the nodes along the machine's first snake through the units, in each unit alike."""
    units = machine.units(12)
    position = np.argsort(units.paths[0])
    return nodes[np.lexsort((units.inside[0][nodes], position[units.unit[nodes]]))][:ranks]


@pytest.mark.parametrize("periodic", [True, False], ids=["torus", "mesh"])
def test_6144_nodes_reach_the_distances_of_a_unit_and_chains_of_one_hop(periodic: bool) -> None:
    """12 × 512 ranks on 8 × 8 × 8 units (by hand on the torus: default 2.79, snake 1.82 and 1)."""
    placed = place(TofuD((8, 8, 8), periodic), pencils(12, 512))
    in_groups, along_z = placed.after
    assert in_groups.mean_hops == pytest.approx(20 / 11)
    assert (in_groups.max_hops, in_groups.max_load) == (3, 6.0)
    assert (along_z.mean_hops, along_z.max_hops, along_z.max_load) == (1.0, 1, 1.0)
    assert placed.before[0].mean_hops > (2.78 if periodic else 3.3)
    assert placed.before[0].max_load >= 20.0


@pytest.mark.parametrize("along", [1.0, 20.0])
def test_with_missing_nodes_the_work_of_the_network_is_below_that_of_a_snake(along: float) -> None:
    """3 % of the nodes; a single node in another unit takes 11 messages over its link there."""
    machine = TofuD((4, 3, 4), periodic=False)
    nodes = machine.default_order()
    nodes = nodes[np.random.default_rng(2).permutation(len(nodes)) >= 0.03 * len(nodes)]
    pattern = pencils(12, len(nodes) // 12, 1.0, along)
    placed = place(machine, pattern, nodes=nodes)
    plain = evaluate(machine, pattern, snake(machine, nodes, pattern.ranks))
    assert sum(phase.hop_bytes for phase in placed.after) < sum(phase.hop_bytes for phase in plain)
    assert placed.after[0].max_load <= min(12.0, plain[0].max_load)
    heavier = 0 if along < 11 else 1  # the phase with more bytes
    assert placed.after[heavier].mean_hops < plain[heavier].mean_hops


def test_a_dragonfly_carries_at_least_a_tenth_less_over_its_busiest_link() -> None:
    """11 messages cross the link of each node itself, which no placement changes."""
    placed = place(Dragonfly(5, 12, 4), pencils(12, 20))
    assert placed.before[0].max_load == 16.0
    assert placed.after[0].max_load == 11.0
