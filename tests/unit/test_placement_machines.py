"""Routes of the machines: counts by hand, and walks over the links one by one."""

from __future__ import annotations

from collections import deque
from itertools import pairwise, product

import numpy as np
import pytest

from uzushio.errors import PlacementError
from uzushio.placement import Dragonfly, FatTree, TofuD, Torus, read_machine, read_slurm
from uzushio.placement.machines.switch_tree import expand

TREE = """
# three leaf switches, two of them below one switch
SwitchName=s0 Nodes=tux[0-3]
SwitchName=s1 Nodes=tux[4-5],login
SwitchName=s2 Nodes=tux[08-10]
SwitchName=s3 Switches=s[0-1]
SwitchName=s4 Switches=s[2-3]
"""
MACHINES = (
    Torus((5,)),
    Torus((4, 3), (True, False)),
    Torus((2, 3, 4), order=(2, 0, 1)),
    TofuD((2, 3, 1), (True, False, True)),
    FatTree((4, 3, 2), (1, 2, 3)),
    FatTree((3,)),
    Dragonfly(5, 4, 2),
    Dragonfly(3, 4, 2, 2),
    Dragonfly(1, 3, 2),
    read_slurm(TREE),
)


def walk(shape, periodic, order, start, end):
    """Return the nodes that dimension-order routing passes, step by step."""
    here, passed = list(start), [tuple(start)]
    for axis in order:
        size = shape[axis]
        while here[axis] != end[axis]:
            up = (end[axis] - here[axis]) % size
            step = 1 if end[axis] > here[axis] else -1
            if periodic[axis]:
                step = 1 if 2 * up <= size else -1
            here[axis] = (here[axis] + step) % size
            passed.append(tuple(here))
    return passed


@pytest.mark.parametrize(
    "machine", [machine for machine in MACHINES if isinstance(machine, Torus)], ids=str
)
def test_a_torus_routes_as_a_walk_node_by_node(machine: Torus) -> None:
    source, target = np.divmod(np.arange(machine.size**2), machine.size)
    sent = np.random.default_rng(1).random(len(source))
    expected: dict[tuple, float] = {}
    for sender, other, count in zip(source, target, sent, strict=True):
        nodes = walk(
            machine.shape,
            machine.periodic,
            machine.order,
            machine.coordinates[sender].tolist(),
            machine.coordinates[other].tolist(),
        )
        assert len(nodes) - 1 == machine.hops(np.array(sender), np.array(other))
        for link in pairwise(nodes):
            expected[link] = expected.get(link, 0.0) + count
    loads = machine.loads(source, target, sent)
    link_loads: dict[tuple, float] = {}
    axes = len(machine.shape)
    for link in np.flatnonzero(loads):
        node, axis, down = link // (2 * axes), link // 2 % axes, link % 2
        end = machine.coordinates[node].copy()
        end[axis] = (end[axis] + (-1 if down else 1)) % machine.shape[axis]
        pair = (tuple(machine.coordinates[node].tolist()), tuple(end.tolist()))
        link_loads[pair] = link_loads.get(pair, 0.0) + loads[link]
    assert link_loads.keys() == expected.keys()
    assert all(link_loads[link] == pytest.approx(expected[link]) for link in link_loads)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_routes_are_shortest_paths_of_the_graph(machine) -> None:
    """All machines here route minimally; a dragonfly at most by one link between groups."""
    count, pairs = machine.graph()
    assert pairs.min() >= 0 and pairs.max() < count
    beside: list[list[int]] = [[] for _ in range(count)]
    for node, other in pairs:
        beside[node].append(other)
        beside[other].append(node)
    for start in range(machine.size):
        distance = np.full(count, -1)
        distance[start] = 0
        line = deque([start])
        while line:
            here = line.popleft()
            for after in beside[here]:
                if distance[after] < 0:
                    distance[after] = distance[here] + 1
                    line.append(after)
        hops = machine.hops(np.full(machine.size, start), np.arange(machine.size))
        if isinstance(machine, Dragonfly):
            assert (hops >= distance[: machine.size]).all() and hops.max() <= 5
        else:
            np.testing.assert_array_equal(hops, distance[: machine.size])


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_route_has_as_many_links_as_hops_and_none_twice(machine) -> None:
    source, target = np.divmod(np.arange(machine.size**2), machine.size)
    routes = machine.routes(source, target)
    counted = np.bincount(routes.message, minlength=len(source))
    np.testing.assert_array_equal(counted, machine.hops(source, target))
    assert len(np.unique(routes.message * machine.links + routes.link)) == len(routes.link)
    assert routes.link.min() >= 0 and routes.link.max() < machine.links
    assert machine.link_kind().shape == (machine.links,)


def test_an_all_to_all_on_a_ring_of_five_loads_each_link_with_three() -> None:
    """Each node sends one and two links far in both directions: 1 + 2 messages a link."""
    ring = Torus((5,))
    source, target = np.divmod(np.arange(25), 5)
    np.testing.assert_array_equal(ring.loads(source, target, np.ones(25)), np.full(10, 3.0))


def test_an_all_to_all_on_a_line_of_four_loads_the_middle_with_four() -> None:
    line = Torus((4,), periodic=False)
    source, target = np.divmod(np.arange(16), 4)
    loads = line.loads(source, target, np.ones(16)).reshape(4, 2)
    np.testing.assert_array_equal(loads[:, 0], [3, 4, 3, 0])
    np.testing.assert_array_equal(loads[:, 1], [0, 3, 4, 3])


def test_a_unit_of_tofu_has_the_distances_of_2_by_3_by_2_nodes() -> None:
    """Sum over the other 11 nodes: 6 along a, 8 along the ring b, 6 along c."""
    unit = TofuD((1, 1, 1))
    hops = unit.hops(np.arange(12)[:, None], np.arange(12)[None, :])
    np.testing.assert_array_equal(hops.sum(axis=1), np.full(12, 20))
    source, target = np.divmod(np.arange(144), 12)
    assert unit.loads(source, target, np.ones(144)).max() == 6.0


def test_neighbours_along_a_logical_axis_of_tofu_are_connected() -> None:
    machine = TofuD((3, 2, 2), periodic=False)
    logical = machine.logical
    assert sorted(map(tuple, logical.tolist())) == list(product(range(6), range(6), range(4)))
    node = {tuple(place): number for number, place in enumerate(logical.tolist())}
    for place, number in node.items():
        for axis in range(3):
            after = tuple(p + (k == axis) for k, p in enumerate(place))
            if after in node:
                assert machine.hops(np.array(number), np.array(node[after])) == 1


def test_the_destinations_of_a_fat_tree_share_the_uplinks_evenly() -> None:
    """A shift by a leaf switch's nodes is free of contention with as many uplinks as nodes."""
    tree = FatTree((4, 6), (1, 4))
    node = np.arange(tree.size)
    assert tree.loads(node, (node + 4) % tree.size, np.ones(tree.size)).max() == 1.0
    thin = FatTree((4, 6), (1, 2))
    assert thin.loads(node, (node + 4) % tree.size, np.ones(tree.size)).max() == 2.0


def test_groups_of_a_dragonfly_share_their_only_link() -> None:
    machine = Dragonfly(5, 2, 3, 2)
    node = np.arange(machine.size)
    loads = machine.loads(node, (node + 6) % machine.size, np.ones(machine.size))
    between = loads[machine.link_kind() == "between groups"]
    assert sorted(between[between > 0]) == [6.0] * 5


def test_slurm_lists_expand_and_switches_form_a_tree() -> None:
    assert expand("tux[0-2,07],login,r[1-2]n[1-2]") == [
        *("tux0", "tux1", "tux2", "tux07", "login", "r1n1", "r1n2", "r2n1", "r2n2")
    ]
    tree = read_slurm(TREE)
    assert tree.node_names[4:7] == ("tux4", "tux5", "login")
    hops = tree.hops(np.zeros(10, int), np.arange(10))
    np.testing.assert_array_equal(hops, [0, 2, 2, 2, 4, 4, 4, 5, 5, 5])


def test_scontrol_repeats_the_nodes_of_lower_switches() -> None:
    shown = """
    SwitchName=s0 Level=0 LinkSpeed=1 Nodes=a[0-1]
    SwitchName=s1 Level=0 LinkSpeed=1 Nodes=a[2-3]
    SwitchName=s2 Level=1 LinkSpeed=1 Nodes=a[0-3] Switches=s[0-1]
    """
    tree = read_slurm(shown)
    np.testing.assert_array_equal(tree.hops(np.zeros(4, int), np.arange(4)), [0, 2, 4, 4])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tofu-e:8x8x8", "'tofu-e:8x8x8' is not known"),
        ("tofu-d:8x8", "three sizes"),
        ("torus:8x0", "at least one node"),
        ("torus:8 x 8", "needs sizes with x"),
        ("fat-tree:4x4/1", "children and parents at each level"),
        ("dragonfly:9x2x2x1", "do not connect 9 groups"),
        ("dragonfly:9x2", "three or four sizes"),
        ("slurm:/no/such/file", "cannot be read"),
    ],
)
def test_a_text_that_is_no_machine_is_refused_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(PlacementError, match=words) as raised:
        read_machine(text)
    assert "\n" not in str(raised.value) and str(raised.value).endswith(".")


def test_texts_give_machines() -> None:
    assert read_machine("tofu-d:2x3x4", "y").periodic == (True, False, True, False, True, False)
    assert read_machine("mesh:4x5").periodic == (False, False)
    assert read_machine("fat-tree:16x8x4/1x4x2").size == 512
    assert read_machine("dragonfly:33x8x4").ports == 4
    with pytest.raises(PlacementError, match="no axis 'q'"):
        read_machine("torus:4x4", "q")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NodeName=a", "names no switch with nodes"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a Nodes=n", "names no switch"),
        ("SwitchName=a Nodes=n\nSwitchName=b Nodes=n", "'n' is below the switches 'a' and 'b'"),
        ("SwitchName=a Nodes=n[1-", "bracket that is not closed"),
        ("SwitchName=a Nodes=n[1-x]", "where a number belongs"),
        ("SwitchName=a Nodes=n\nSwitchName=b Switches=a,c\nSwitchName=c Switches=b", "itself"),
    ],
)
def test_a_text_that_is_no_tree_is_refused_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(PlacementError, match=words):
        read_slurm(text)
