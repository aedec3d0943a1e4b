"""Placements of ranks: patterns, methods, and what holds of every placement."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from uzushio.errors import PlacementError
from uzushio.placement import (
    Dragonfly,
    FatTree,
    Pattern,
    Phase,
    TofuD,
    Torus,
    binary_swap,
    boxes,
    evaluate,
    halo,
    link_loads,
    pencils,
    place,
    process_grid,
    read_slurm,
    scotch,
)
from uzushio.placement.assignment import assign
from uzushio.placement.paths import shortest_path


def matrix(pattern: Pattern, phase: int = 0) -> np.ndarray:
    """Return the bytes from rank to rank of a phase."""
    sent = np.zeros((pattern.ranks, pattern.ranks))
    phase_messages = pattern.phases[phase]
    np.add.at(sent, (phase_messages.source, phase_messages.target), phase_messages.sent)
    return sent


# ---- patterns ------------------------------------------------------------------------------------


def test_pencils_exchange_with_their_group_and_shift_to_the_next() -> None:
    pattern = pencils(3, 4, in_groups=2.0, along_z=5.0)
    group, position = np.divmod(np.arange(12), 3)
    same = (group[:, None] == group) & (position[:, None] != position)
    above = (group[:, None] + 1 == group) & (position[:, None] == position)
    np.testing.assert_array_equal(matrix(pattern), 2.0 * same)
    np.testing.assert_array_equal(matrix(pattern, 1), 5.0 * above)


def test_a_halo_exchange_sends_each_face_edge_and_corner_once() -> None:
    """Of 4 x 6 x 6 cells on 2 ranks, periodic: faces of 6 x 6 cells to both sides, twice."""
    pattern = halo(*boxes((4, 6, 6), (2, 1, 1)), layers=1, periodic=(True, False, False))
    np.testing.assert_array_equal(matrix(pattern), 8.0 * 72 * (1 - np.eye(2)))


@pytest.mark.parametrize("periodic", [(False, False), (True, False), (True, True)])
def test_a_halo_exchange_sends_what_ghost_cells_need(periodic: tuple[bool, bool]) -> None:
    cells, layers = (7, 9), 2
    starts, stops = boxes(cells, (3, 2))
    owner = np.empty(cells, int)
    for rank, (low, high) in enumerate(zip(starts, stops, strict=True)):
        owner[low[0] : high[0], low[1] : high[1]] = rank
    expected = np.zeros((6, 6))
    for rank, (low, high) in enumerate(zip(starts, stops, strict=True)):
        for i in range(low[0] - layers, high[0] + layers):
            for j in range(low[1] - layers, high[1] + layers):
                inside = [periodic[0] or 0 <= i < 7, periodic[1] or 0 <= j < 9]
                if all(inside):
                    expected[owner[i % 7, j % 9], rank] += 8.0
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_array_equal(matrix(halo(starts, stops, layers, periodic)), expected)


def test_a_process_grid_has_the_smallest_surface() -> None:
    assert process_grid(8, (64, 64, 64)) == (2, 2, 2)
    assert process_grid(8, (256, 16, 16)) == (8, 1, 1)
    with pytest.raises(PlacementError, match="do not divide among 7 ranks"):
        process_grid(7, (4, 4))
    with pytest.raises(PlacementError, match="each rank needs a cell"):
        boxes((4, 4), (5, 1))


@pytest.mark.parametrize("ranks", [1, 2, 6, 8])
def test_binary_swap_leaves_each_rank_with_an_equal_part_and_gathers_all(ranks: int) -> None:
    pattern = binary_swap(ranks, picture=64.0)
    power = 1 << (ranks.bit_length() - 1)
    swaps = [phase for phase in pattern.phases if phase.name.startswith("swap")]
    kept = 64.0 - sum(phase.sent[0] for phase in swaps)
    assert kept == pytest.approx(64.0 / power)
    assert pattern.phases[-1].sent.sum() == pytest.approx(64.0 - kept)
    folded = sum(len(phase.source) for phase in pattern.phases if phase.name == "fold")
    assert folded == ranks - power


# ---- figures -------------------------------------------------------------------------------------


def test_figures_of_three_messages_on_a_ring_are_those_counted_by_hand() -> None:
    """0 to 1 and 0 to 2 share the link from 0 to 1; rank 3 shares the node of rank 2."""
    phase = Phase("p", np.array([0, 0, 2]), np.array([1, 2, 3]), np.array([4.0, 6.0, 9.0]))
    (figures,) = evaluate(Torus((6,)), Pattern(4, (phase,)), np.array([0, 1, 2, 2]))
    assert (figures.max_hops, figures.hop_bytes, figures.max_load) == (2, 16.0, 10.0)
    assert figures.mean_hops == pytest.approx(16 / 19)
    (loads,) = link_loads(Torus((6,)), Pattern(4, (phase,)), np.array([0, 1, 2, 2]))
    assert sorted(loads[loads > 0]) == [6.0, 10.0]


@given(some.integers(1, 6), some.integers(0, 2**32 - 1))
def test_an_assignment_is_the_best_of_all_permutations(count: int, seed: int) -> None:
    costs = np.random.default_rng(seed).integers(0, 5, (count, count)).astype(float)
    columns = assign(costs)
    assert sorted(columns) == list(range(count))
    least = min(sum(costs[range(count), order]) for order in permutations(range(count)))
    assert costs[range(count), columns].sum() == least


# ---- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(3, 3, 3), (4, 3, 2), (1, 5, 2), (2, 2, 7)])
def test_a_path_through_all_units_of_a_mesh_has_no_step_longer_than_one(sizes) -> None:
    machine = TofuD(sizes, periodic=False)
    units = machine.units(12)
    path = shortest_path(machine, units, np.arange(machine.size))
    assert sorted(path) == list(range(machine.size // 12))
    first = np.array([np.argmax(units.unit == unit) for unit in path])
    np.testing.assert_array_equal(machine.hops(first[:-1], first[1:]), 1)


def test_a_path_around_missing_units_is_as_short_as_the_best_of_all() -> None:
    machine = Torus((3, 3), periodic=False)
    available = np.delete(np.arange(9), [4, 1])
    units = machine.units(1)
    path = shortest_path(machine, units, available)
    assert sorted(path) == sorted(available)

    def length(order) -> int:
        return int(machine.hops(np.array(order[:-1]), np.array(order[1:])).sum())

    assert length(path) == min(map(length, permutations(available)))


# ---- placements ----------------------------------------------------------------------------------

MACHINES = (
    TofuD((2, 3, 2)),
    TofuD((3, 2, 2), (False, True, False)),
    Torus((6, 6, 4)),
    FatTree((8, 6, 3), (1, 2, 2)),
    Dragonfly(9, 4, 4, 2),
    read_slurm("SwitchName=a Nodes=n[0-71]\nSwitchName=b Nodes=n[72-143]"),
)


@settings(max_examples=25, deadline=None)
@given(
    some.sampled_from(MACHINES),
    some.integers(1, 3),
    some.integers(1, 13),
    some.floats(0.0, 0.4),
    some.integers(0, 99),
    some.booleans(),
)
def test_a_placement_is_a_bijection_that_does_not_cost_more(
    machine, per_node: int, py: int, missing: float, seed: int, exchange: bool
) -> None:
    """Each node of the job has at most its number of ranks, and each rank a node."""
    random = np.random.default_rng(seed)
    nodes = machine.default_order()
    nodes = nodes[random.random(len(nodes)) >= missing]
    pz = max(1, int(0.9 * per_node * len(nodes)) // py)
    if per_node * len(nodes) < py * pz:
        return
    pattern = pencils(py, pz, 3.0, 1.0)
    placed = place(machine, pattern, nodes=nodes, per_node=per_node, rounds=3, exchange=exchange)
    used, ranks = np.unique(placed.node, return_counts=True)
    assert np.isin(used, nodes).all() and ranks.max() <= per_node
    assert len(placed.node) == py * pz
    total = [
        sum(phase.max_load + phase.hop_bytes / machine.links for phase in figures)
        for figures in (placed.before, placed.after)
    ]
    assert total[1] <= total[0] * (1 + 1e-12)
    if exchange:
        assert placed.uses_default_nodes
    if placed.uses_default_nodes:
        order = placed.permutation
        assert sorted(order) == list(range(py * pz))
        np.testing.assert_array_equal(placed.node[order], placed.default)


def test_groups_of_a_unit_each_lie_in_one_unit_with_several_ranks_a_node() -> None:
    machine = TofuD((3, 2, 2), periodic=False)
    placed = place(machine, pencils(48, 12), per_node=4)
    unit = machine.units(12).unit[placed.node].reshape(12, 48)
    assert (unit == unit[:, :1]).all()
    assert placed.after[1].max_hops == 1 and placed.after[1].max_load == 4.0


def test_the_local_search_finds_the_ring_that_was_shuffled() -> None:
    """Neighbours on a ring of 12 nodes can all be neighbours on the machine."""
    rank = np.arange(12)
    order = np.random.default_rng(3).permutation(12)
    phase = Phase("ring", order[rank], order[(rank + 1) % 12], np.ones(12))
    placed = place(Torus((12,)), Pattern(12, (phase,)), method="packed", rounds=400)
    assert placed.before[0].hop_bytes > 24
    assert placed.after[0].hop_bytes <= 0.75 * placed.before[0].hop_bytes
    assert placed.after[0].max_load < placed.before[0].max_load


@pytest.mark.skipif(not scotch.available(), reason="the library of Scotch is not installed")
def test_scotch_finds_the_grid_that_was_shuffled() -> None:
    pattern = halo(*boxes((64, 64), (8, 8)), periodic=(True, True))
    order = np.random.default_rng(1).permutation(64)
    phase = pattern.phases[0]
    shuffled = Pattern(64, (Phase("halo", order[phase.source], order[phase.target], phase.sent),))
    placed = place(Torus((8, 8)), shuffled, method="scotch", rounds=0)
    assert sorted(placed.node) == list(range(64))
    assert placed.after[0].mean_hops < 0.75 * placed.before[0].mean_hops
    odd = np.delete(np.arange(100), np.arange(0, 100, 3))[:64]  # listed in another order
    placed = place(Torus((10, 10)), shuffled, nodes=odd[::-1], method="scotch", rounds=0)
    assert np.isin(placed.node, odd).all() and len(np.unique(placed.node)) == 64


def test_without_the_library_scotch_is_refused_and_auto_works(monkeypatch) -> None:
    monkeypatch.setattr("uzushio.placement.scotch._load", lambda: None)
    pattern = halo(*boxes((8, 8), (2, 2)))
    with pytest.raises(PlacementError, match="needs the library of Scotch 7; install it"):
        place(Torus((2, 2)), pattern, method="scotch")
    assert len(place(Torus((2, 2)), pattern).node) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"nodes": np.arange(3)}, "8 ranks do not fit 3 nodes with 2 ranks each"),
        ({"nodes": np.array([0, 1, 2, 2])}, "listed twice"),
        ({"nodes": np.array([0, 1, 2, 64])}, "has the nodes 0 to 15 only"),
        ({"method": "best"}, "method 'best' is not known; choose auto"),
        ({"per_node": 0}, "at least one rank"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(arguments: dict, words: str) -> None:
    with pytest.raises(PlacementError, match=words):
        place(Torus((4, 4)), pencils(4, 2), **{"per_node": 2, **arguments})


def test_other_nodes_than_the_launchers_have_no_permutation() -> None:
    machine = TofuD((2, 1, 1))
    nodes = np.concatenate([[0, 12], np.arange(1, 12)])
    placed = place(machine, pencils(12, 1), nodes=nodes)
    assert not placed.uses_default_nodes
    with pytest.raises(PlacementError, match="place with --in-run"):
        _ = placed.permutation
    assert place(machine, pencils(12, 1), nodes=nodes, exchange=True).uses_default_nodes


def test_placements_need_no_mpi() -> None:
    code = (
        "import sys; from uzushio.placement import TofuD, pencils, place;"
        "place(TofuD((1, 1, 1)), pencils(4, 3));"
        "assert not {'mpi4py', 'uzushio._core'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
