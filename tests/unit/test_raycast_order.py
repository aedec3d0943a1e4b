"""Visibility order of blocks, their ghost layers, and projection of points."""

from __future__ import annotations

import numpy as np
import pytest
from raycast_cases import CAMERAS, HEIGHT, LAYERS, WIDTH, boxes, domain
from raycast_reference import rays_of

from uzushio.raycast import Camera, Scene, default_step, ghost_layers, rounds, visibility_order
from uzushio.raycast.ghosts import max_touched


def test_blocks_come_in_the_order_in_which_any_ray_meets_them() -> None:
    points = domain(True)
    for cuts in (([3, 4, 9], [7], [2, 20]), ([14], [10], [12])):
        parts = boxes(points, cuts)
        for camera in CAMERAS.values():
            order = visibility_order(parts, points, camera)
            assert sorted(order) == list(range(len(parts)))
            position = np.argsort(order)
            scene = Scene([], points)
            rays = rays_of(scene, camera, 20, 20)
            owners = []
            for s in np.linspace(1e-6, 1 - 1e-6, 60):
                at = rays.origin + (rays.enter + s * rays.length)[:, None] * rays.direction
                owner = np.zeros(len(at), int)
                for i, (start, count) in enumerate(parts):
                    inside = np.ones(len(at), bool)
                    for axis in range(3):
                        low = points[axis][start[axis]]
                        high = points[axis][start[axis] + count[axis]]
                        inside &= (at[:, 2 - axis] >= low) & (at[:, 2 - axis] < high)
                    owner[inside] = i
                owners.append(position[owner])
            met = np.array(owners)[:, rays.length > 0]
            assert (np.diff(met, axis=0) >= 0).all()


def test_boxes_that_no_plane_separates_are_ordered_and_a_cycle_is_an_error() -> None:
    axes = tuple(np.arange(4.0) for _ in range(3))
    camera = Camera((20, 1.4, 1.5), (1.5, 1.5, 1.5))
    middle = Camera((1.5, 1.4, 20), (1.5, 1.5, 0), up=(0, 1, 0))
    whirl = [
        ((0, 0, 0), (3, 1, 2)),
        ((0, 0, 2), (3, 2, 1)),
        ((0, 2, 1), (3, 1, 2)),
        ((0, 1, 0), (3, 2, 1)),
        ((0, 1, 1), (3, 1, 1)),
    ]
    assert visibility_order(whirl, axes, camera) == [1, 4, 2, 3, 0]
    with pytest.raises(ValueError, match="in a cycle"):
        visibility_order(whirl, axes, middle)
    empty = [*whirl, ((1, 1, 1), (0, 1, 1))]
    assert sorted(visibility_order(empty, axes, camera)) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="overlap"):
        visibility_order([((0, 0, 0), (3, 2, 2)), ((0, 1, 1), (3, 1, 1))], axes, camera)


def test_owners_with_scattered_blocks_need_several_rounds() -> None:
    assert rounds([2, 0, 1], [0, 1, 1]) == [[(1, [2]), (0, [0])], [(1, [1])]]
    assert rounds([0, 1, 2], [5, 5, 3]) == [[(5, [0, 1]), (3, [2])]]
    assert rounds([], []) == []


def test_ghosts_are_points_within_half_a_segment_and_one_more_for_gradients() -> None:
    points = domain(True)
    z, cells = points[0], ((10, 0, 0), (4, 20, 24))
    surface, plain = LAYERS["surfaces"], LAYERS["volume"]
    assert ghost_layers(points, cells, LAYERS["slices"]) == ((0, 0, 0), (0, 0, 0))
    # Segments are no longer than the cells that they touch, thin ones at a wall too.
    thin = ((4, 0, 0), (4, 20, 24))
    for layers, more in ((plain, 0), (surface, 1)):
        for box in (cells, thin):
            assert ghost_layers(points, box, layers) == ((1 + more, 0, 0), (1 + more, 0, 0))
    # Without a volume a step has no effect; with one, cells count by its ratio to the default.
    step = 6 * default_step(points)
    assert ghost_layers(points, cells, surface, step) == ghost_layers(points, cells, surface)
    below, above = ghost_layers(points, cells, plain, step)
    widths = np.diff(z)
    assert z[10] - z[10 - below[0]] >= min(step, 6 * widths[9 - below[0]]) / 2
    assert z[14 + above[0]] - z[14] >= min(step, 6 * widths[14 + above[0]]) / 2
    assert below[0] > 1 and below[1:] == above[1:] == (0, 0)


@pytest.mark.parametrize(("narrowest", "most"), [(1e-2, 1), (1e-5, 7), (2e-6, 32)])
def test_the_most_ghosts_of_any_block_count_cells_far_narrower_than_their_axis(
    narrowest: float, most: int
) -> None:
    thin = narrowest * np.arange(41.0)
    z = np.concatenate([np.linspace(-1, 0, 9)[:-1], thin, thin[-1] + np.linspace(0, 1, 9)[1:]])
    points = (z, np.linspace(0, 1, 21), np.linspace(0, 1, 5))
    plain = LAYERS["volume"]
    counts = [
        max(*below, *above)
        for first in range(len(z) - 1)
        for below, above in [ghost_layers(points, ((first, 0, 0), (1, 20, 4)), plain)]
    ]
    assert max_touched(points) == max(counts) == most
    assert min(counts) == 1


def test_a_camera_projects_points() -> None:
    for camera in CAMERAS.values():
        points = domain(False)
        rays = rays_of(Scene([], points), camera, WIDTH, HEIGHT)
        at = camera.project(rays.origin + 2.5 * rays.direction, WIDTH, HEIGHT)
        rows, columns = np.divmod(np.arange(WIDTH * HEIGHT), WIDTH)
        np.testing.assert_allclose(at[:, 0], columns + 0.5)
        np.testing.assert_allclose(at[:, 1], rows + 0.5)
        np.testing.assert_allclose(at[:, 2], 2.5 * rays.cosine)
