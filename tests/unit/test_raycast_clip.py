"""Half spaces clip layers exactly, on any decomposition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from raycast_cases import (
    BLUE_RED,
    CAMERAS,
    HEIGHT,
    LAYERS,
    WIDTH,
    block_of,
    boxes,
    cube,
    domain,
    draw,
    fields,
    whole_domain,
)
from raycast_reference import rays_of

from uzushio.raycast import (
    Camera,
    HalfSpace,
    Isosurface,
    Lighting,
    Scene,
    Slice,
    Volume,
    visibility_order,
)

UNIFORM = np.array([[0.0, 0.2, 0.6, 1.0, 0.3], [1.0, 0.2, 0.6, 1.0, 0.3]])
X_BELOW = HalfSpace((0.13, 0, 0), (1, 0, 0))
OBLIQUE = HalfSpace((0.05, 0, 0.1), (1, -0.4, 0.7))
#: A light that changes no colour; volumes with it are not drawn by the fast path.
PLAIN = Lighting(ambient=1, diffuse=0, specular=0)


def inside(points: np.ndarray, *half_spaces: HalfSpace) -> np.ndarray:
    """Return whether points are in all half spaces."""
    return np.all([(points - h.origin) @ np.array(h.normal) <= 0 for h in half_spaces], axis=0)


def clipped(scene: Scene, *half_spaces: HalfSpace) -> Scene:
    return replace(scene, half_spaces=half_spaces)


@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize("shading", [None, PLAIN])
def test_a_uniform_volume_clipped_to_a_box_is_that_of_a_smaller_domain(
    camera: str, shading: Lighting | None
) -> None:
    points = cube(17)
    ends = {0: (-0.6, 0.13), 1: (-1.0, 0.4), 2: (-0.21, 1.0)}  # along x, y, z
    axes = np.eye(3)
    half_spaces = [
        HalfSpace(end * axes[axis], sign * axes[axis])
        for axis, axis_ends in ends.items()
        for end, sign in zip(axis_ends, (-1, 1), strict=True)
    ]
    volume = Volume("f", UNIFORM, unit_distance=0.3, shading=shading)
    block = whole_domain(points, {"f": np.full((17, 17, 17), 0.5, "f4")})
    image = draw(clipped(Scene([volume], points), *half_spaces), CAMERAS[camera], block).image
    small = tuple(np.linspace(*ends[axis], 9) for axis in (2, 1, 0))
    part = whole_domain(small, {"f": np.full((9, 9, 9), 0.5, "f4")})
    expected = draw(Scene([volume], small), CAMERAS[camera], part).image
    # Rays along an edge of the box differ by rounding.
    assert np.abs(image - expected).max() < 2e-4
    assert image[..., 3].max() > (0.05 if camera == "inside" else 0.5)


def test_the_absorption_of_a_clipped_linear_field_is_exact() -> None:
    # Opacity rises with x; the rays go along x, so the extinction is known.
    points = cube(9)
    x = np.broadcast_to(points[2], (9, 9, 9))
    block = whole_domain(points, {"f": x.astype("f4")})
    rows = np.array([[x, 1, 1, 1, 1 - np.exp(-(1 + x))] for x in np.linspace(-1, 1, 257)])
    camera = Camera((5, 0, 0), (0, 0, 0), up=(0, 0, 1), parallel_height=1.8)
    for at in (-0.73, -0.25, 0.013, 0.5, 0.99):
        scene = Scene([Volume("f", rows, unit_distance=1.0)], points)
        half_space = HalfSpace((at, 0, 0), (1, 0, 0))
        opacity = draw(clipped(scene, half_space), camera, block, side=16).image[..., 3]
        expected = 1 - np.exp(-((1 + at) ** 2) / 2)  # the integral of 1 + x from -1 to `at`
        assert np.abs(opacity - expected).max() < 3e-4
        kept = HalfSpace((at, 0, 0), (-1, 0, 0))
        opacity = draw(clipped(scene, kept), camera, block, side=16).image[..., 3]
        assert np.abs(opacity - (1 - np.exp(-2 + (1 + at) ** 2 / 2))).max() < 3e-4


@pytest.mark.parametrize("camera", ["perspective", "below", "parallel"])
@pytest.mark.parametrize("half_spaces", [[X_BELOW], [OBLIQUE], [X_BELOW, OBLIQUE]])
def test_a_clipped_sphere_shows_the_first_point_that_is_left(
    camera: str, half_spaces: list[HalfSpace]
) -> None:
    points, radius = cube(33), 0.7
    Z, Y, X = np.meshgrid(*points, indexing="ij")
    block = whole_domain(points, {"r": np.sqrt(X**2 + Y**2 + Z**2)})
    scene = clipped(Scene([Isosurface("r", [radius], color=(1, 1, 1))], points), *half_spaces)
    result = draw(scene, CAMERAS[camera], block, depth=True)
    rays = rays_of(scene, CAMERAS[camera], WIDTH, HEIGHT)
    along = (rays.origin * rays.direction).sum(axis=1)
    root = along**2 - (rays.origin**2).sum(axis=1) + radius**2
    distances = -along + np.sqrt(np.maximum(root, 0)) * np.array([[-1], [1]])
    expected = np.full(len(root), np.inf)
    for distance in distances[::-1]:
        there = inside(rays.origin + distance[:, None] * rays.direction, *half_spaces)
        expected = np.where((root > 0) & there, distance * rays.cosine, expected)
    depth = result.depth.ravel().astype(float)
    # The surface is that of the interpolated field, so rims differ by single pixels.
    same = np.isfinite(depth) == np.isfinite(expected)
    assert (~same).sum() <= 0.02 * same.sum()
    in_both = np.isfinite(depth) & np.isfinite(expected)
    assert in_both.sum() > 100
    close = np.abs(depth[in_both] - expected[in_both]) < 0.02
    assert (~close).sum() <= 0.02 * close.sum()
    seen = np.isfinite(depth)
    where = (rays.origin + (depth / rays.cosine)[:, None] * rays.direction)[seen]
    slack = [HalfSpace(np.add(h.origin, 1e-4 * np.array(h.normal)), h.normal) for h in half_spaces]
    assert inside(where, *slack).all()


@pytest.mark.parametrize("camera", sorted({*CAMERAS} - {"inside"}))
@pytest.mark.parametrize("with_volume", [False, True])
def test_a_clipped_slice_is_the_part_of_it_in_the_half_space(
    camera: str, with_volume: bool
) -> None:
    points = cube(17)
    block = whole_domain(points, fields(points))
    layers: list[Any] = [Slice("g", (0, 0, 0.05), (0.2, 0.1, 1), BLUE_RED)]
    if with_volume:  # rays are then divided into segments
        layers.append(Volume("g", np.array([[-9.0, 0, 0, 0, 0], [9.0, 0, 0, 0, 0]])))
    scene = Scene(layers, points)
    whole = draw(scene, CAMERAS[camera], block, depth=True)
    picture = draw(clipped(scene, OBLIQUE), CAMERAS[camera], block, depth=True)
    rays = rays_of(scene, CAMERAS[camera], WIDTH, HEIGHT)
    seen = np.isfinite(whole.depth)
    depth = np.where(seen, whole.depth, 0.0).ravel()
    where = rays.origin + (depth / rays.cosine)[:, None] * rays.direction
    distance = (where - OBLIQUE.origin) @ np.array(OBLIQUE.normal)
    kept = seen & (distance <= 0).reshape(HEIGHT, WIDTH)
    sure = (np.abs(distance) > 1e-3).reshape(HEIGHT, WIDTH)
    expected = np.where(kept[..., None], whole.image, 0)
    assert np.abs(picture.image - expected)[sure].max() < 1e-6
    assert 0 < kept.sum() < seen.sum()


@pytest.mark.parametrize("camera", ["perspective", "below", "parallel"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_a_slice_in_the_plane_of_the_half_space_is_complete(
    camera: str, sign: int, scale: float
) -> None:
    points = cube(12)
    block = whole_domain(points, fields(points))
    origin, normal = (0.137, 0.2, -0.1), np.array((0.3, 1.0, 0.2))
    scene = Scene([Slice("g", origin, normal, BLUE_RED)], points)
    whole = draw(scene, CAMERAS[camera], block).image
    picture = draw(
        clipped(scene, HalfSpace(origin, sign * scale * normal)), CAMERAS[camera], block
    ).image
    assert (picture == whole).all()


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("camera", CAMERAS)
def test_half_spaces_that_clip_nothing_change_no_bit(layers: str, camera: str) -> None:
    points = domain(True)
    block = whole_domain(points, fields(points))
    scene = Scene(LAYERS[layers], points, bounding_box=(1, 1, 1))
    plain = draw(scene, CAMERAS[camera], block, depth=True)
    exempt = [replace(layer, clipped=False) for layer in LAYERS[layers]]
    picture = draw(
        clipped(replace(scene, layers=exempt), OBLIQUE), CAMERAS[camera], block, depth=True
    )
    assert (picture.image == plain.image).all() and (picture.depth == plain.depth).all()
    around = draw(clipped(scene, HalfSpace((9, 0, 0), (1, 0, 0))), CAMERAS[camera], block).image
    assert (around == plain.image).all()
    none = draw(clipped(scene, HalfSpace((-9, 0, 0), (1, 0, 0))), CAMERAS[camera], block)
    edges = draw(replace(scene, layers=[]), CAMERAS[camera], block).image
    assert none.hits == [0] * len(LAYERS[layers])
    assert np.abs(none.image - edges).max() < 1e-6


@pytest.mark.parametrize("stretched", [False, True])
@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("exempt", [None, 0, -1])
def test_a_clipped_picture_does_not_depend_on_the_decomposition(
    stretched: bool, layers: str, exempt: int | None
) -> None:
    points = domain(stretched)
    chosen = list(LAYERS[layers])
    if exempt is not None:
        chosen[exempt] = replace(chosen[exempt], clipped=False)
    scene = Scene(chosen, points, bounding_box=(1, 1, 1), half_spaces=[OBLIQUE, X_BELOW])
    values = fields(points)
    for cuts in (([14], [], []), ([3, 13], [9], [12])):
        parts = boxes(points, cuts)
        for camera in CAMERAS.values():
            expected = 255 * draw(scene, camera, whole_domain(points, values)).image
            total = np.zeros(expected.shape)
            for i in visibility_order(parts, points, camera):
                image = draw(scene, camera, block_of(scene, parts[i], values)).image
                total += (1 - total[..., 3:]) * image
            assert np.abs(255 * total - expected).max() < 0.5


@pytest.mark.parametrize("camera", sorted({*CAMERAS} - {"along an axis"}))
def test_layers_are_clipped_each_by_its_own_choice(camera: str) -> None:
    # A volume in half of the domain behind or before an opaque slice in all of it.
    points = cube(17)
    block = whole_domain(points, {"f": np.full((17, 17, 17), 0.5, "f4"), **fields(points)})
    volume = Volume("f", UNIFORM, unit_distance=0.3)
    wall = Slice("g", (0, 0, 0.21), (0, 0, 1), BLUE_RED, clipped=False)
    scene = Scene([volume, wall], points, half_spaces=[X_BELOW])
    image = draw(scene, CAMERAS[camera], block).image
    rays = rays_of(scene, CAMERAS[camera], WIDTH, HEIGHT)
    with np.errstate(divide="ignore", invalid="ignore"):
        to_wall = (0.21 - rays.origin[:, 2]) / rays.direction[:, 2]
        to_plane = (0.13 - rays.origin[:, 0]) / rays.direction[:, 0]
    leave = rays.enter + rays.length
    meets = (to_wall >= rays.enter) & (to_wall <= leave)
    end = np.where(meets, to_wall, leave)
    away, back = rays.direction[:, 0] > 0, rays.direction[:, 0] < 0
    begin = np.where(back, np.maximum(rays.enter, to_plane), rays.enter)
    end = np.where(away, np.minimum(end, to_plane), end)
    beside = ~away & ~back & (rays.origin[:, 0] > 0.13)
    length = np.where(beside, 0, np.maximum(end - begin, 0))
    remaining = np.where(rays.length > 0, 0.7 ** (length / 0.3), 1)
    expected = np.where(meets & (rays.length > 0), 1, 1 - remaining).reshape(HEIGHT, WIDTH)
    near = np.abs(image[..., 3] - expected) < 2e-3
    assert (~near).sum() <= 2  # at the end of the wall


def test_a_half_space_has_a_normal_and_an_origin_of_three_numbers() -> None:
    with pytest.raises(ValueError, match="half space's normal"):
        HalfSpace((0, 0, 0), (0, 0, 0))
    with pytest.raises(ValueError, match="half space's origin"):
        HalfSpace((0, 0), (1, 0, 0))  # type: ignore[arg-type]
