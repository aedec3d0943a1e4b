"""Plans of time-blocked sweeps as data, as the pictures of the documentation show them."""

from __future__ import annotations

from typing import Any

import pytest
from mpi4py import MPI

from uzushio import _core

WIDTH, HEIGHT, STEPS = 200, 12, 4
SCHEMES = ("pa1", "pa2", "diamond")


def computed(scheme: str, width: int, height: int, steps: int, overlap: bool) -> list[Any]:
    """All points that a block computes: (update, x, y)."""
    plan = _core.stencil.plan(MPI.COMM_SELF.handle, width, height, scheme, steps, overlap=overlap)
    return [
        (update, x, y)
        for _, meanwhile, after in plan
        for updates in (meanwhile, after)
        for update, rects in enumerate(updates)
        for x0, x1, y0, y1 in rects
        for x in range(x0, x1)
        for y in range(y0, y1)
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_point_is_computed_twice_and_overlap_changes_only_when(scheme: str) -> None:
    points = computed(scheme, WIDTH, HEIGHT, STEPS, overlap=False)
    assert len(points) == len(set(points))
    assert set(points) == set(computed(scheme, WIDTH, HEIGHT, STEPS, overlap=True))


def test_pa1_computes_the_redundant_points_of_the_published_example() -> None:
    points = computed("pa1", WIDTH, HEIGHT, 8, overlap=True)
    assert len(points) - 8 * WIDTH * HEIGHT == 12096


def test_each_level_of_a_diamond_is_as_large_as_the_tile() -> None:
    points = computed("diamond", WIDTH, HEIGHT, STEPS, overlap=True)
    for update in range(STEPS):
        level = [(x, y) for u, x, y in points if u == update]
        moved = update + 1
        assert len(level) == WIDTH * HEIGHT
        assert min(level) == (-moved, -moved)
        assert max(level) == (WIDTH - 1 - moved, HEIGHT - 1 - moved)


def test_a_block_that_the_tile_is_too_small_for_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        computed("diamond", WIDTH, HEIGHT, 7, overlap=True)
