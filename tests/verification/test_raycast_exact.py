"""The ray caster against pictures with known values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from raycast_cases import CAMERAS, HEIGHT, WIDTH, cube, domain, draw, whole_domain
from raycast_reference import rays_of

from uzushio.raycast import (
    Camera,
    ColorTable,
    Isosurface,
    Lighting,
    Scene,
    Slice,
    Transfer,
    Volume,
)


def test_the_area_of_a_spheres_silhouette_converges() -> None:
    """The order is two, because the field is interpolated linearly."""
    side, height, radius = 400, 2.0, 0.7
    camera = Camera((5, 0.3, 0.2), (0, 0, 0), parallel_height=height)
    errors = []
    for points in (9, 17, 33):
        axes = cube(points)
        Z, Y, X = np.meshgrid(*axes, indexing="ij")
        block = whole_domain(axes, {"f": (X**2 + Y**2 + Z**2).astype("f8")})
        layers = [Isosurface("f", [radius**2], color=(1, 1, 1))]
        image = draw(Scene(layers, axes), camera, block, side=side).image
        area = image[..., 3].sum() * (height / side) ** 2
        errors.append(abs(area / (np.pi * radius**2) - 1))
    assert errors[0] / errors[1] > 3 and errors[1] / errors[2] > 3
    assert errors[2] < 5e-3


@pytest.mark.parametrize("parallel", [False, True])
def test_depth_is_that_of_the_sphere_and_normals_are_its_radii(parallel: bool) -> None:
    axes, radius = cube(65), 0.6
    Z, Y, X = np.meshgrid(*axes, indexing="ij")
    block = whole_domain(axes, {"f": (X**2 + Y**2 + Z**2).astype("f8")})
    light = Lighting(ambient=0, diffuse=1, specular=0)
    layers = [Isosurface("f", [radius**2], color=(1, 1, 1), lighting=light)]
    scene = Scene(layers, axes)
    camera = Camera((3, 1, 0.5), (0, 0, 0), parallel_height=1.8 if parallel else None)
    result = draw(scene, camera, block, depth=True, side=80)
    rays = rays_of(scene, camera, 80, 80)
    b = (rays.origin * rays.direction).sum(axis=1)
    inside = b**2 - (rays.origin**2).sum(axis=1) + radius**2
    t = -b - np.sqrt(np.maximum(inside, 0))
    sure = inside > 0.05  # away from the silhouette
    assert sure.sum() > 1000
    depth = (t * rays.cosine)[sure]
    np.testing.assert_allclose(result.depth.ravel()[sure], depth, atol=3e-3)
    normals = (rays.origin + t[:, None] * rays.direction) / radius
    cosine = np.abs((normals * rays.direction).sum(axis=1))[sure]
    np.testing.assert_allclose(result.image[..., 0].ravel()[sure], cosine, atol=5e-3)


@pytest.mark.parametrize("step", [0.01, 0.07, 0.3, 5.0])
@pytest.mark.parametrize("camera", ["perspective", "parallel", "inside"])
def test_absorption_of_a_constant_medium_does_not_depend_on_the_step(
    step: float, camera: str
) -> None:
    points = domain(True)
    unit, opacity = 0.4, 0.3
    layers = [Volume("r", np.array([[0.0, 0.2, 0.4, 0.6, opacity]]), unit_distance=unit)]
    scene = Scene(layers, points, step=step)
    values = {"r": np.full([len(c) for c in points], 3.0, "f4")}
    image = draw(scene, CAMERAS[camera], whole_domain(points, values)).image
    length = rays_of(scene, CAMERAS[camera], WIDTH, HEIGHT).length
    exact = 1 - (1 - opacity) ** (length / unit)
    np.testing.assert_allclose(
        image[..., 3].ravel(), exact, atol=1e-4
    )  # sums of thousands of floats
    np.testing.assert_allclose(image[..., 1], 0.4 * image[..., 3], atol=1e-5)


def test_a_medium_between_two_opacities_is_integrated_exactly() -> None:
    """The value is linear along the ray, so a single step gives the exact integral."""
    axes = cube(9)
    Z, _, _ = np.meshgrid(*axes, indexing="ij")
    camera = Camera((0, 0, -5), (0, 0, 0), up=(0, 1, 0), parallel_height=1.0)
    peak = np.array(
        [
            [-1, 1, 0, 0, 0],
            [-0.1, 1, 0, 0, 0],
            [0, 1, 0, 0, 0.5],
            [0.1, 1, 0, 0, 0],
            [1, 1, 0, 0, 0],
        ]
    )
    fine = Scene([Volume("f", peak, unit_distance=0.1)], axes, step=0.001)
    coarse = Scene([Volume("f", peak, unit_distance=0.1)], axes, step=2.5)
    block = whole_domain(axes, {"f": Z.astype("f4")})
    a, b = draw(fine, camera, block).image, draw(coarse, camera, block).image
    tau = -np.log1p(-np.linspace(0, 0.5, 100001)).mean() / 0.1 * 0.2
    np.testing.assert_allclose(a[..., 3], 1 - np.exp(-tau), atol=2e-3)
    np.testing.assert_allclose(b[..., 3], 1 - np.exp(-tau), atol=0.03)


@pytest.mark.parametrize("stretched", [False, True])
@pytest.mark.parametrize("normal", [(0, 0, 1), (1, 0.5, -0.7)])
def test_a_slice_of_a_linear_field_has_exactly_its_colours(
    stretched: bool, normal: tuple[float, float, float]
) -> None:
    points = domain(stretched)
    Z, Y, X = np.meshgrid(*points, indexing="ij")
    values = {"f": (0.5 * X - 0.2 * Y + 0.3 * Z).astype("f4")}
    table = ColorTable(np.array([[0, 0, 0], [1, 1, 1]]), -1, 1)
    scene = Scene([Slice("f", (0.1, 0, 0.2), normal, table)], points)
    result = draw(scene, CAMERAS["perspective"], whole_domain(points, values), depth=True)
    rays = rays_of(scene, CAMERAS["perspective"], WIDTH, HEIGHT)
    t = ((np.array([0.1, 0, 0.2]) - rays.origin) @ normal) / (rays.direction @ normal)
    hit = (t > rays.enter + 1e-6) & (t < rays.enter + rays.length - 1e-6)
    assert hit.sum() > 300
    x, y, z = (rays.origin + t[:, None] * rays.direction)[hit].T
    exact = (0.5 * x - 0.2 * y + 0.3 * z + 1) / 2
    np.testing.assert_allclose(result.image[..., 0].ravel()[hit], exact, atol=0.3 / 255)
    np.testing.assert_allclose(result.depth.ravel()[hit], (t * rays.cosine)[hit], rtol=1e-5)
    assert (result.image[..., 3].ravel() > 0.5).sum() == pytest.approx(hit.sum(), abs=3)


@pytest.mark.parametrize("kind", ["slice", "volume"])
def test_each_decade_of_a_logarithmic_scale_has_its_colours(kind: str) -> None:
    decades = np.repeat(10.0 ** np.arange(-8, 1), 2)
    points = cube(3)[0], cube(3)[0], np.linspace(-1, 1, len(decades))
    block = whole_domain(points, {"f": np.broadcast_to(decades, (3, 3, len(decades))).copy()})
    gray = np.array([[0, 0, 0], [1, 1, 1]])
    layer: Slice | Volume
    if kind == "slice":
        layer = Slice("f", (0, 0, 0), (0, 0, 1), ColorTable(gray, 1e-8, 1, logarithmic=True))
    else:
        ends = np.array([[1e-8, 0, 0, 0, 1], [1, 1, 1, 1, 1]])
        layer = Volume("f", Transfer(ends, logarithmic=True), unit_distance=1e-6)
    scene, camera = Scene([layer], points), CAMERAS["along an axis"]
    result = draw(scene, camera, block, side=100)
    x = rays_of(scene, camera, 100, 100).origin[:, 0]
    value = np.interp(x, points[2], decades)
    inside = result.image[..., 3].ravel() > 0.99
    assert inside.sum() > 4000
    exact = 1 + np.log10(value[inside]) / 8
    np.testing.assert_allclose(result.image[..., 0].ravel()[inside], exact, atol=0.4 / 255)


def test_layers_are_drawn_in_their_order_along_the_ray() -> None:
    axes = cube(9)
    block = whole_domain(axes, {"f": np.zeros((9, 9, 9), "f4")})

    def plane(z: float, color: tuple[float, float, float]) -> Slice:
        return Slice("f", (0, 0, z), (0, 0, 1), ColorTable(np.array([color]), 0, 0), opacity=0.5)

    red, green = plane(0.3, (1, 0, 0)), plane(0.31, (0, 1, 0))
    for layers in ([red, green], [green, red]):
        for height, first in ((5, 1), (-5, 0)):
            camera = Camera((0, 0, height), (0, 0, 0), up=(0, 1, 0), parallel_height=1.0)
            image = draw(Scene(layers, axes), camera, block).image
            assert image[20, 20, first] == pytest.approx(0.5, abs=1e-6)
            assert image[20, 20, 1 - first] == pytest.approx(0.25, abs=1e-6)


def test_the_bounding_box_is_in_front_of_and_behind_its_content() -> None:
    axes = cube(9)
    values = {"f": np.zeros((9, 9, 9), "f4")}
    wall = Slice("f", (0, 0, 0), (1, 0, 0), ColorTable(np.array([[0, 0, 1]]), 0, 0))
    camera = Camera((6, 0.5, 0.4), (0, 0, 0), parallel_height=3.0)
    bare = Scene([], axes, bounding_box=(1, 0, 0), line_width=2)
    filled = Scene([wall], axes, bounding_box=(1, 0, 0), line_width=2)
    box = draw(bare, camera, whole_domain(axes, values), side=200).image
    image = draw(filled, camera, whole_domain(axes, values), side=200).image
    lines = box[..., 0] > 0.9
    # Twelve edges of two pixels' width: the four along the view are short.
    assert 8 * 2 * 100 < lines.sum() < 8 * 2 * 140 + 400
    covered = lines & (image[..., 0] < 0.1)
    assert 150 < covered.sum() < 700  # the lines on the far side, behind the wall
    assert (image[covered][:, 2] > 0.9).all()
    for x, hidden in ((1, False), (-1, True)):
        corner = camera.project([[x, -1, -1]], 200, 200)[0]
        column, row, _ = corner.astype(int)
        assert lines[row, column]
        if not hidden:
            assert image[row, column, 0] > 0.9


def test_colours_beyond_a_table_are_those_given() -> None:
    axes = cube(5)
    _, _, X = np.meshgrid(*axes, indexing="ij")
    ends: dict[str, Any] = {"below": (0, 1, 0), "above": (1, 1, 0)}
    table = ColorTable(np.array([[0, 0, 0], [0, 0, 1]]), -0.5, 0.5, **ends)
    camera = Camera((0, -5, 0), (0, 0, 0), parallel_height=2.0)
    scene = Scene([Slice("f", (0, 0, 0), (0, 1, 0), table)], axes)
    row = draw(scene, camera, whole_domain(axes, {"f": X.astype("f4")}), side=64).image[32]
    np.testing.assert_array_equal(row[:15, :3], np.tile([0, 1, 0], (15, 1)))
    np.testing.assert_array_equal(row[-15:, :3], np.tile([1, 1, 0], (15, 1)))
    assert (row[17:47, 2] > 0).all() and not row[17:47, :2].any()
