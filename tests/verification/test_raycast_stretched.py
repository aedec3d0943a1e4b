"""Stretched meshes: surfaces are found in every cell, volumes sampled as finely as cells are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from raycast_cases import block_of, boxes, draw, whole_domain
from raycast_reference import Rays, Values, crossings, rays_of

from uzushio.raycast import Block, Camera, Isosurface, Scene, Volume, default_step, visibility_order

SIDE = 64
#: From above the lower wall, along it, and through it from below.
VIEWS = {
    "along the wall": Camera((-0.6, -0.8, -0.75), (1.2, 0.8, -1), view_angle=30),
    "from above": Camera((1, 0.2, 3), (1.6, 0.8, -1), view_angle=30),
    "parallel": Camera((-2, 3, 1), (1.5, 0.8, -0.9), parallel_height=2.5),
}


def channel(stretching: float = 2.6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points (z, y, x) as of a channel, denser at its walls."""
    z = np.tanh(stretching * np.linspace(-1, 1, 73)) / np.tanh(stretching)
    return z, np.linspace(0, np.pi / 2, 17), np.linspace(0, np.pi, 25)


def streaks(points: Any) -> np.ndarray:
    """Return a field whose zero surfaces are sheets, a few of the thinnest cells off a wall."""
    Z, Y, X = np.meshgrid(*points, indexing="ij")
    off = (1 - np.abs(Z) - 0.015) / 0.008
    return np.maximum(0.6 - off**2 + 0.8 * np.sin(6 * X) * np.cos(8 * Y), -2)


def first(scene: Scene, camera: Camera, block: Block, iso: float) -> np.ndarray:
    """Return the depth at which each pixel's ray first crosses the trilinear surface."""
    rays = rays_of(scene, camera, SIDE, SIDE)
    t = crossings(Values(block, scene), rays, "f", iso)[:, 0]
    return ((rays.enter + t) * rays.cosine).reshape(SIDE, SIDE)


@pytest.mark.parametrize("view", VIEWS)
def test_no_pixel_of_a_surface_near_a_wall_is_wrong(view: str) -> None:
    points, camera = channel(), VIEWS[view]
    z = points[0]
    assert default_step(points) > 8 * np.diff(z).min()
    block = whole_domain(points, {"f": streaks(points)})
    scene = Scene([Isosurface("f", [0.0], color=(1, 0.5, 0))], points)
    result = draw(scene, camera, block, side=SIDE, depth=True)
    # Where a ray touches a surface, rounding decides; there depths differ for a value nearby.
    exact, near, far = (first(scene, camera, block, iso) for iso in (0.0, -1e-6, 1e-6))
    hit = np.isfinite(exact)
    sure = (hit == np.isfinite(near)) & (hit == np.isfinite(far))
    in_both = sure & hit
    sure[in_both] = np.abs(near[in_both] - far[in_both]) < 1e-3
    assert sure.mean() > 0.99 and 300 < hit.sum() < SIDE**2 - 100
    np.testing.assert_array_equal(np.isfinite(result.depth)[sure], hit[sure])
    np.testing.assert_array_equal((result.image[..., 3] == 1)[sure], hit[sure])
    in_both &= sure
    np.testing.assert_allclose(result.depth[in_both], exact[in_both], atol=5e-3 * np.diff(z).min())


def test_all_crossings_of_translucent_surfaces_count_in_cells_of_noise() -> None:
    """Noise has surfaces that enter and leave a cell between two of its faces."""
    rng = np.random.default_rng(3)
    points = tuple(np.cumsum(rng.uniform(0.1, 1, n)) for n in (9, 8, 10))
    values = rng.normal(size=(9, 8, 10))
    layers = [Isosurface("f", [-0.3, 0.4], color=(1, 0.5, 0), opacity=0.2, lighting=None)]
    scene, block = Scene(layers, points), whole_domain(points, {"f": values})
    camera = Camera((9, -7, 8), tuple(float(c.mean()) for c in points[::-1]), view_angle=45)
    image = draw(scene, camera, block, side=SIDE).image
    rays = rays_of(scene, camera, SIDE, SIDE)
    count = sum(
        np.isfinite(crossings(Values(block, scene), rays, "f", iso)).sum(axis=1)
        for iso in (-0.3, 0.4)
    )
    assert count.max() > 6
    wrong = np.abs(image[..., 3].ravel() - (1 - 0.8**count)) > 1e-4
    assert wrong.mean() < 0.002  # rays that touch a surface


def test_a_surface_does_not_depend_on_the_step_of_a_volume_around_it() -> None:
    points, camera = channel(), VIEWS["from above"]
    block = whole_domain(points, {"f": streaks(points).astype("f4")})
    surface = Isosurface("f", [0.0], color=(1, 0.5, 0))
    clear = Volume("f", np.array([[0.0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]))
    alone = draw(Scene([surface], points), camera, block, side=SIDE, depth=True)
    for step in (0.005, 0.1, 7.0):
        together = draw(
            Scene([surface, clear], points, step=step), camera, block, side=SIDE, depth=True
        )
        np.testing.assert_allclose(together.image, alone.image, atol=1 / 255)
        np.testing.assert_allclose(together.depth, alone.depth, atol=1e-5)


def test_a_surface_near_a_wall_does_not_depend_on_the_decomposition() -> None:
    points = channel()
    values = {"f": streaks(points).astype("f4")}
    scene = Scene([Isosurface("f", [0.0], color=(1, 0.5, 0))], points)
    for camera in VIEWS.values():
        expected = draw(scene, camera, whole_domain(points, values), side=SIDE, depth=True)
        for cuts in (([1, 2, 3, 4, 6, 70], [9], [7, 13]), ([36], [], [])):
            parts = boxes(points, cuts)
            order = visibility_order(parts, points, camera)
            blocks = [block_of(scene, parts[i], values) for i in order]
            result = draw(scene, camera, *blocks, side=SIDE, depth=True)
            np.testing.assert_allclose(result.depth, expected.depth, rtol=1e-6)
            assert np.abs(255 * (result.image - expected.image)).max() < 0.5


def layer_of_a_wall(points: Any) -> np.ndarray:
    """Return a field that falls off at the lower wall within its first cells."""
    Z, Y, X = np.meshgrid(*points, indexing="ij")
    return np.exp(-(1 + Z) / 0.03) * (1 + 0.3 * np.sin(2 * X) * np.cos(2 * Y))


def absorption(scene: Scene, rays: Rays, block: Block, opacity: float, unit: float) -> np.ndarray:
    """1 − exp(−∫τ) along each ray, of the trilinear field, by the midpoint rule in 20 000 parts."""
    values, parts = Values(block, scene), 20000
    depth = np.zeros(len(rays.length))
    start = rays.origin + rays.enter[:, None] * rays.direction
    for n in range(len(depth)):
        if rays.length[n] == 0:
            continue
        t = (np.arange(parts) + 0.5) / parts * rays.length[n]
        value = values.value("f", start[n] + t[:, None] * rays.direction[n])
        alpha = opacity * np.clip((value - 0.1) / 1.5, 0, 1)
        depth[n] = -np.log1p(-alpha).sum() / unit * rays.length[n] / parts
    return 1 - np.exp(-depth)


def test_a_volume_at_a_wall_converges_to_the_line_integral() -> None:
    """Below 0.5 of 255 with the default step; the transfer function's table limits convergence."""
    points, side = channel(), 16
    camera = Camera((-1.5, -2.2, 0.8), (1.5, 0.8, -1), view_angle=30)
    block = whole_domain(points, {"f": layer_of_a_wall(points).astype("f4")})
    opacity, unit = 0.5, 0.02
    medium = np.array([[0.1, 1, 1, 1, 0], [1.6, 1, 1, 1, opacity]])
    usual = default_step(points)
    errors = []
    for step in (4 * usual, 2 * usual, usual, usual / 2):
        scene = Scene([Volume("f", medium, unit_distance=unit)], points, step=step)
        rays = rays_of(scene, camera, side, side)
        if not errors:
            exact = absorption(scene, rays, block, opacity, unit)
            assert 0.5 < exact.max() < 0.98
        image = draw(scene, camera, block, side=side).image[..., 3].ravel()
        errors.append(255 * np.abs(image - exact).max())
    assert errors[2] < 0.5, errors
    assert errors[0] / errors[1] > 2 and errors[1] / errors[2] > 2 and errors[3] < 0.25, errors
