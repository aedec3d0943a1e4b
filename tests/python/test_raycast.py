"""The ray caster against exact pictures, and against its rules in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raycast_cases import (
    BLUE_RED,
    CAMERAS,
    CUTS,
    LAYERS,
    block_of,
    boxes,
    domain,
    fields,
    whole,
)
from raycast_reference import rays_of, reference_cast

from uzushio.raycast import (
    Block,
    Camera,
    ColorTable,
    Isosurface,
    Lighting,
    Scene,
    Slice,
    Transfer,
    Volume,
    cast,
    cell_centres,
    default_step,
    ghost_layers,
    rounds,
    visibility_order,
)

WIDTH, HEIGHT = 45, 35


def cube(points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.linspace(-1, 1, points)
    return x, x, x


def draw(scene: Scene, camera: Camera, *blocks: Block, side: int = 0, **options: Any) -> Any:
    options.setdefault("format", "rgba_float")
    return cast(scene, camera, side or WIDTH, side or HEIGHT, blocks, threads=1, **options)


# ---- against the rules in NumPy -----------------------------------------------------------------


@pytest.mark.parametrize("stretched", [False, True])
@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("camera", ["perspective", "along an axis", "inside"])
def test_a_picture_is_what_the_rules_say(stretched: bool, layers: str, camera: str) -> None:
    points = domain(stretched)
    scene = Scene(LAYERS[layers], points)
    block = whole(points, fields(points))
    result = draw(scene, CAMERAS[camera], block, depth=True)
    image, depth, _ = reference_cast(scene, CAMERAS[camera], WIDTH, HEIGHT, [block])
    errors = 255 * np.abs(result.image - image).max(axis=2)
    # Where a ray grazes a surface, rounding decides whether it meets it.
    assert np.quantile(errors, 0.998) < 1
    assert np.isfinite(result.depth).mean() == pytest.approx(np.isfinite(depth).mean(), abs=0.03)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", ["C", "F", "backwards", "every other", "one of three"])
def test_values_are_read_where_they_lie(dtype: str, layout: str) -> None:
    points = domain(False)
    values = fields(points, dtype)
    scene = Scene(LAYERS["all"], points)
    expected = draw(scene, CAMERAS["perspective"], whole(points, values)).image

    def lay(array: np.ndarray) -> np.ndarray:
        if layout == "F":
            return np.asfortranarray(array)
        if layout == "backwards":
            return array[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1]
        if layout == "every other":
            wide = np.full([2 * n for n in array.shape], np.nan, dtype)
            wide[::2, ::2, ::2] = array
            return wide[::2, ::2, ::2]
        if layout == "one of three":
            wide = np.full((*array.shape, 3), np.nan, dtype)
            wide[..., 1] = array
            return wide[..., 1]
        return array

    laid = {name: lay(array) for name, array in values.items()}
    image = draw(scene, CAMERAS["perspective"], whole(points, laid)).image
    np.testing.assert_allclose(image, expected, atol=1e-3)  # sums are of another order


def test_small_differences_of_large_doubles_are_seen() -> None:
    points = domain(False)
    small = fields(points)["r"].astype("f8")
    layers = [Isosurface("r", [1e6 + 0.5], color=(1, 0, 0))]
    block = whole(points, {"r": small + 1e6})
    image = draw(Scene(layers, points), CAMERAS["perspective"], block).image
    plain = [Isosurface("r", [0.5], color=(1, 0, 0))]
    expected = draw(Scene(plain, points), CAMERAS["perspective"], whole(points, {"r": small})).image
    assert np.quantile(255 * np.abs(image - expected), 0.999) < 1


# ---- against exact values -----------------------------------------------------------------------


def test_the_silhouette_of_a_sphere_has_its_area_ever_more_closely() -> None:
    """Error of second order in the spacing: the field is interpolated linearly."""
    side, height, radius = 400, 2.0, 0.7
    camera = Camera((5, 0.3, 0.2), (0, 0, 0), parallel_height=height)
    errors = []
    for points in (9, 17, 33):
        axes = cube(points)
        Z, Y, X = np.meshgrid(*axes, indexing="ij")
        block = whole(axes, {"f": (X**2 + Y**2 + Z**2).astype("f8")})
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
    block = whole(axes, {"f": (X**2 + Y**2 + Z**2).astype("f8")})
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
def test_a_constant_medium_absorbs_by_its_length_whatever_the_step(
    step: float, camera: str
) -> None:
    points = domain(True)
    unit, opacity = 0.4, 0.3
    layers = [Volume("r", np.array([[0.0, 0.2, 0.4, 0.6, opacity]]), unit_distance=unit)]
    scene = Scene(layers, points, step=step)
    values = {"r": np.full([len(c) for c in points], 3.0, "f4")}
    image = draw(scene, CAMERAS[camera], whole(points, values)).image
    length = rays_of(scene, CAMERAS[camera], WIDTH, HEIGHT).length
    exact = 1 - (1 - opacity) ** (length / unit)
    np.testing.assert_allclose(image[..., 3].ravel(), exact, atol=2e-5)
    np.testing.assert_allclose(image[..., 1], 0.4 * image[..., 3], atol=1e-6)


def test_a_medium_between_two_opacities_is_integrated_and_not_sampled() -> None:
    """The value rises linearly along the ray, and so a single step gives the exact integral."""
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
    block = whole(axes, {"f": Z.astype("f4")})
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
    result = draw(scene, CAMERAS["perspective"], whole(points, values), depth=True)
    rays = rays_of(scene, CAMERAS["perspective"], WIDTH, HEIGHT)
    t = ((np.array([0.1, 0, 0.2]) - rays.origin) @ normal) / (rays.direction @ normal)
    hit = (t > rays.enter + 1e-6) & (t < rays.enter + rays.length - 1e-6)
    assert hit.sum() > 300
    x, y, z = (rays.origin + t[:, None] * rays.direction)[hit].T
    exact = (0.5 * x - 0.2 * y + 0.3 * z + 1) / 2
    np.testing.assert_allclose(result.image[..., 0].ravel()[hit], exact, atol=0.3 / 255)
    np.testing.assert_allclose(result.depth.ravel()[hit], (t * rays.cosine)[hit], rtol=1e-5)
    assert (result.image[..., 3].ravel() > 0.5).sum() == pytest.approx(hit.sum(), abs=3)


def test_layers_are_drawn_in_their_order_along_the_ray() -> None:
    axes = cube(9)
    block = whole(axes, {"f": np.zeros((9, 9, 9), "f4")})

    def plane(z: float, color: tuple[float, float, float]) -> Slice:
        return Slice("f", (0, 0, z), (0, 0, 1), ColorTable(np.array([color]), 0, 0), opacity=0.5)

    red, green = plane(0.3, (1, 0, 0)), plane(0.31, (0, 1, 0))
    for layers in ([red, green], [green, red]):
        for height, first in ((5, 1), (-5, 0)):
            camera = Camera((0, 0, height), (0, 0, 0), up=(0, 1, 0), parallel_height=1.0)
            image = draw(Scene(layers, axes), camera, block).image
            assert image[20, 20, first] == pytest.approx(0.5, abs=1e-6)
            assert image[20, 20, 1 - first] == pytest.approx(0.25, abs=1e-6)


def test_the_bounding_box_is_before_and_behind_what_it_holds() -> None:
    axes = cube(9)
    values = {"f": np.zeros((9, 9, 9), "f4")}
    wall = Slice("f", (0, 0, 0), (1, 0, 0), ColorTable(np.array([[0, 0, 1]]), 0, 0))
    camera = Camera((6, 0.5, 0.4), (0, 0, 0), parallel_height=3.0)
    bare = Scene([], axes, bounding_box=(1, 0, 0), line_width=2)
    filled = Scene([wall], axes, bounding_box=(1, 0, 0), line_width=2)
    box = draw(bare, camera, whole(axes, values), side=200).image
    both = draw(filled, camera, whole(axes, values), side=200).image
    lines = box[..., 0] > 0.9
    # Twelve edges of two pixels' width: the four along the view are short.
    assert 8 * 2 * 100 < lines.sum() < 8 * 2 * 140 + 400
    covered = lines & (both[..., 0] < 0.1)
    assert 150 < covered.sum() < 700  # the lines on the far side, behind the wall
    assert (both[covered][:, 2] > 0.9).all()
    for x, hidden in ((1, False), (-1, True)):
        corner = camera.project([[x, -1, -1]], 200, 200)[0]
        column, row, _ = corner.astype(int)
        assert lines[row, column]
        if not hidden:
            assert both[row, column, 0] > 0.9


# ---- the decomposition --------------------------------------------------------------------------


def over(images: list[np.ndarray]) -> np.ndarray:
    """Composite front to back in double precision, of floats, or of bytes in units of 1/255."""
    total = np.zeros(images[0].shape)
    for image in images:
        scale = 255 if image.dtype == np.uint8 else 1
        total += (1 - total[..., 3:]) * (image / scale)
    return 255 * total


@pytest.mark.parametrize("stretched", [False, True])
@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("count", CUTS)
def test_a_picture_does_not_depend_on_how_the_domain_is_cut(
    stretched: bool, layers: str, count: int
) -> None:
    points = domain(stretched)
    scene = Scene(LAYERS[layers], points, bounding_box=(1, 1, 1))
    values = fields(points)
    for cuts in CUTS[count]:
        parts = boxes(points, cuts)
        assert len(parts) == count
        blocks = [block_of(scene, box, values) for box in parts]
        for camera in CAMERAS.values():
            order = visibility_order(parts, points, camera)
            expected = 255 * draw(scene, camera, whole(points, values)).image
            images = [draw(scene, camera, blocks[i]).image for i in order]
            assert np.abs(over(images) - expected).max() < 0.5
            together = draw(scene, camera, *(blocks[i] for i in order)).image
            assert np.abs(255 * together - expected).max() < 0.5
            if count <= 3:
                bytes_ = [draw(scene, camera, blocks[i], format="rgba8").image for i in order]
                one = draw(scene, camera, whole(points, values), format="rgba8").image
                assert np.abs(np.round(over(bytes_)) - one).max() <= 2


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 11), max_size=3, unique=True),
    st.lists(st.integers(1, 11), max_size=2, unique=True),
    st.lists(st.integers(1, 11), max_size=2, unique=True),
    st.tuples(*[st.floats(-4, 4)] * 3).filter(lambda p: np.hypot(p[0], p[1]) > 0.3),
    st.floats(0.03, 0.8),
    st.booleans(),
)
def test_noise_on_a_random_mesh_cut_at_random_looks_the_same(
    seed: int,
    z: list[int],
    y: list[int],
    x: list[int],
    eye: tuple[float, float, float],
    step: float,
    parallel: bool,
) -> None:
    rng = np.random.default_rng(seed)
    points = tuple(np.concatenate([[0], np.cumsum(rng.uniform(0.02, 1, 12))]) for _ in range(3))
    points = tuple(2 * c / c[-1] - 1 for c in points)
    values = {"r": rng.normal(size=(13, 13, 13)).astype("f4")}
    layers = [
        Volume("r", np.array([[0, 1, 0, 0, 0], [0.5, 1, 1, 0, 0.2], [0.6, 0, 1, 0, 0]])),
        Isosurface("r", [1.0], color=(0.2, 0.5, 1), opacity=0.6),
        Slice("r", (0.1, 0.2, 0), (1, 2, 3), BLUE_RED, opacity=0.5),
    ]
    scene = Scene(layers, points, step=step)
    camera = Camera(eye, (0, 0, 0), parallel_height=3.0 if parallel else None, view_angle=50)
    expected = 255 * draw(scene, camera, whole(points, values)).image
    parts = boxes(points, (sorted(z), sorted(y), sorted(x)))
    order = visibility_order(parts, points, camera)
    images = [draw(scene, camera, block_of(scene, parts[i], values)).image for i in order]
    assert np.abs(over(images) - expected).max() < 1


# ---- what is asked for, and what is wrong -------------------------------------------------------


def test_a_value_beyond_the_field_gives_an_empty_picture_and_is_reported() -> None:
    points = domain(False)
    layers = [Isosurface("r", [9.0], color=(1, 0, 0)), Isosurface("r", [0.5], color=(1, 0, 0))]
    block = whole(points, fields(points))
    both = draw(Scene(layers, points), CAMERAS["perspective"], block)
    assert both.hits[0] == 0 and both.hits[1] > 100
    low, high = both.ranges[0]
    assert low == pytest.approx(0) and high == pytest.approx(fields(points)["r"].max())
    alone = draw(Scene(layers[:1], points), CAMERAS["perspective"], block)
    assert not alone.image.any() and alone.bounds is None and alone.hits == [0]


def test_what_is_no_number_is_drawn_in_its_colour_and_counted() -> None:
    points = domain(False)
    values = fields(points)
    values["r"][10:14, 5:9, 6:11] = np.nan
    values["g"][14, 10, 12] = np.nan
    nan = (0.0, 1.0, 0.0, 1.0)
    table = ColorTable(BLUE_RED.rgba, -1, 1, nan=nan)
    block = whole(points, values)
    camera = CAMERAS["perspective"]

    solid = Volume("r", Transfer(np.array([[0, 1, 0, 0, 0.0]]), nan=nan))
    result = draw(Scene([solid], points), camera, block)
    assert result.nan_count == 4 * 4 * 5
    assert result.image[..., 1].max() > 0.99 and not result.image[..., 0].any()

    cut = draw(Scene([Slice("g", (0, 0, 0), (0, 0, 1), table)], points), camera, block)
    green = (cut.image == np.array(nan, "f4")).all(axis=2)
    assert 0 < green.sum() == cut.nan_count

    surface = draw(Scene([Isosurface("r", [0.5], color=(1, 0, 0))], points), camera, block)
    assert surface.nan_count == 4 * 4 * 5 and np.isfinite(surface.image).all()

    parts = boxes(points, ([12], [7], [8]))
    scene = Scene([solid], points)
    counts = [draw(scene, camera, block_of(scene, box, values)).nan_count for box in parts]
    assert sum(counts) == 4 * 4 * 5


def test_an_empty_block_draws_nothing() -> None:
    points = domain(False)
    values = {"r": np.empty((0, 21, 25), "f4"), "g": np.empty((0, 21, 25), "f4")}
    empty = Block((points[0][:0], *points[1:]), (5, 0, 0), ((5, 0, 0), (0, 20, 24)), values)
    scene = Scene(LAYERS["all"], points, bounding_box=(1, 1, 1))
    result = draw(scene, CAMERAS["perspective"], empty)
    assert result.bounds is None and not result.image.any()
    assert not draw(scene, CAMERAS["perspective"]).image.any()


def test_nothing_outside_the_bounds_is_drawn_and_all_memory_is_written() -> None:
    points = domain(False)
    scene = Scene(LAYERS["volume"], points, bounding_box=(1, 1, 1))
    values = fields(points)
    for box in boxes(points, ([14], [10], [12])):
        out = np.full((HEIGHT, WIDTH, 4), 77, np.uint8)
        depth = np.full((HEIGHT, WIDTH), np.nan, np.float32)
        result = draw(
            scene,
            CAMERAS["perspective"],
            block_of(scene, box, values),
            format="rgba8",
            out=out,
            depth=depth,
        )
        assert result.image is out and result.depth is depth
        left, right, top, bottom = result.bounds
        outside = np.ones((HEIGHT, WIDTH), bool)
        outside[top:bottom, left:right] = False
        assert not out[outside].any() and out[~outside].any()
        assert np.isinf(depth[outside]).all() and not np.isnan(depth).any()


def test_a_picture_is_the_same_whatever_the_threads_and_the_same_each_time() -> None:
    points = domain(True)
    scene = Scene(LAYERS["all"], points, bounding_box=(1, 1, 0))
    block = whole(points, fields(points))
    first = cast(scene, CAMERAS["perspective"], 64, 64, [block], threads=1)
    for threads in (1, 3, 7):
        again = cast(scene, CAMERAS["perspective"], 64, 64, [block], threads=threads)
        assert (first.image == again.image).all() and first.hits == again.hits


def test_values_of_cells_are_drawn_from_centre_to_centre() -> None:
    z, _, x = (cell_centres(c) for c in domain(True))
    assert x[0] == pytest.approx(-1 + 1 / 24) and len(x) == 24
    assert z[3] == pytest.approx(domain(True)[0][3:5].mean())


def test_colours_beyond_a_table_are_those_stated() -> None:
    axes = cube(5)
    _, _, X = np.meshgrid(*axes, indexing="ij")
    ends: dict[str, Any] = {"below": (0, 1, 0), "above": (1, 1, 0)}
    table = ColorTable(np.array([[0, 0, 0], [0, 0, 1]]), -0.5, 0.5, **ends)
    camera = Camera((0, -5, 0), (0, 0, 0), parallel_height=2.0)
    scene = Scene([Slice("f", (0, 0, 0), (0, 1, 0), table)], axes)
    row = draw(scene, camera, whole(axes, {"f": X.astype("f4")}), side=64).image[32]
    np.testing.assert_array_equal(row[:15, :3], np.tile([0, 1, 0], (15, 1)))
    np.testing.assert_array_equal(row[-15:, :3], np.tile([1, 1, 0], (15, 1)))
    assert (row[17:47, 2] > 0).all() and not row[17:47, :2].any()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda p, v: Block(p, (0, 0, 0), ((0, 0, 0), (28, 20, 25)), v), "it stores 0 to 24"),
        (lambda p, v: Block(p, (0, 0, 0), ((0, 0, 0), (1, 1, 1)), {"f": v["r"][1:]}), "its block"),
        (lambda p, v: Block(p, (0, 0, 0), ((0, 0, 0), (1, 1, 1)), {"f": v["r"] > 0}), "bool"),
        (lambda p, v: Scene([], (p[0][::-1], p[1], p[2])), "must rise"),
        (lambda p, v: Scene([], p, step=0), "a positive number"),
        (lambda p, v: Isosurface("r", [np.nan], color=(1, 0, 0)), "finite values"),
        (lambda p, v: Isosurface("r", [1]), "either a color or a table"),
        (lambda p, v: Isosurface("r", [1], (1, 0, 0), color_field="g"), "needs a table"),
        (lambda p, v: Slice("r", (0, 0, 0), (0, 0, 0), BLUE_RED), "not all zero"),
        (lambda p, v: Volume("r", np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]])), "do not fall"),
        (lambda p, v: Camera((1, 0, 0), (0, 0, 0), up=(1, 0, 0)), "its own up direction"),
        (lambda p, v: ColorTable(np.zeros((0, 4)), 0, 1), "rows of 3 or 4"),
        (
            lambda p, v: draw(
                Scene([Isosurface("w", [1], (1, 0, 0))], p), CAMERAS["below"], whole(p, v)
            ),
            "no field 'w', which the scene shows; it has 'r', 'g'",
        ),
        (
            lambda p, v: draw(
                Scene(LAYERS["volume"], tuple(2 * c for c in p)), CAMERAS["below"], whole(p, v)
            ),
            "are not where the scene's domain has them",
        ),
        (
            lambda p, v: draw(
                Scene([], p), CAMERAS["below"], whole(p, v), out=np.empty((3, 3, 4), "f4")
            ),
            "must be contiguous, of shape",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(change: Any, sentence: str) -> None:
    points = domain(False)
    with pytest.raises(ValueError, match=sentence):
        change(points, fields(points))


# ---- order and ghosts ---------------------------------------------------------------------------


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


def test_boxes_that_no_plane_parts_are_ordered_and_a_circle_is_refused() -> None:
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
    with pytest.raises(ValueError, match="in a circle"):
        visibility_order(whirl, axes, middle)
    empty = [*whirl, ((1, 1, 1), (0, 1, 1))]
    assert sorted(visibility_order(empty, axes, camera)) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="overlap"):
        visibility_order([((0, 0, 0), (3, 2, 2)), ((0, 1, 1), (3, 1, 1))], axes, camera)


def test_owners_with_scattered_blocks_take_several_rounds() -> None:
    assert rounds([2, 0, 1], [0, 1, 1]) == [[(1, [2]), (0, [0])], [(1, [1])]]
    assert rounds([0, 1, 2], [5, 5, 3]) == [[(5, [0, 1]), (3, [2])]]
    assert rounds([], []) == []


def test_ghosts_reach_half_a_step_beyond_and_one_point_for_gradients() -> None:
    points = domain(True)
    z, step = points[0], default_step(points)
    cells = ((10, 0, 0), (4, 20, 24))
    surface, plain = LAYERS["surfaces"], LAYERS["volume"]
    assert ghost_layers(points, cells, LAYERS["slices"]) == ((0, 0, 0), (0, 0, 0))
    for layers, more in ((plain, 0), (surface, 1)):
        below, above = ghost_layers(points, cells, layers)
        assert z[10 - below[0] + more] <= z[10] - step / 2
        assert z[14 + above[0] - more] >= z[14] + step / 2
        assert below[1:] == above[1:] == (0, 0)
    # Thin cells at a wall: more of them.
    thin, _ = ghost_layers(points, ((4, 0, 0), (4, 20, 24)), plain)
    assert thin[0] > ghost_layers(points, cells, plain)[0][0]


def test_a_camera_says_where_points_are() -> None:
    for camera in CAMERAS.values():
        points = domain(False)
        rays = rays_of(Scene([], points), camera, WIDTH, HEIGHT)
        at = camera.project(rays.origin + 2.5 * rays.direction, WIDTH, HEIGHT)
        rows, columns = np.divmod(np.arange(WIDTH * HEIGHT), WIDTH)
        np.testing.assert_allclose(at[:, 0], columns + 0.5)
        np.testing.assert_allclose(at[:, 1], rows + 0.5)
        np.testing.assert_allclose(at[:, 2], 2.5 * rays.cosine)
