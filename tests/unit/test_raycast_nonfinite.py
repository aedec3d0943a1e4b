"""Values that are not finite are drawn in the colour for NaN, and counted."""

from __future__ import annotations

import numpy as np
import pytest
from raycast_cases import (
    BLUE_RED,
    CAMERAS,
    LAYERS,
    block_of,
    boxes,
    domain,
    draw,
    fields,
    whole_domain,
)

from uzushio.raycast import ColorTable, Isosurface, Scene, Slice, Transfer, Volume

NAN = (0.0, 1.0, 0.0, 1.0)
TABLE = ColorTable(BLUE_RED.rgba, -1, 1, below=(1, 1, 0), above=(0, 1, 1), nan=NAN)
CLEAR = Volume("r", Transfer(np.array([[0, 1, 0, 0, 0.0]]), nan=NAN))
BAD = [np.nan, np.inf, -np.inf]
camera = CAMERAS["perspective"]


@pytest.mark.parametrize("bad", BAD)
def test_a_volume_shows_them_and_counts_points_once(bad: float) -> None:
    points = domain(False)
    values = fields(points)
    values["r"][10:14, 5:9, 6:11] = bad
    scene = Scene([CLEAR], points)
    result = draw(scene, camera, whole_domain(points, values))
    assert result.nan_count == 4 * 4 * 5
    assert result.image[..., 1].max() > 0.99 and not result.image[..., 0].any()
    assert np.isfinite(result.image).all() and np.isfinite(result.ranges[0]).all()

    parts = boxes(points, ([12], [7], [8]))
    counts = [draw(scene, camera, block_of(scene, box, values)).nan_count for box in parts]
    assert sum(counts) == 4 * 4 * 5


@pytest.mark.parametrize("bad", BAD)
def test_a_slice_shows_them_in_all_cells_around_and_counts_pixels(bad: float) -> None:
    points = domain(False)
    values = fields(points)
    scene = Scene([Slice("g", (0, 0, 0.03), (0, 0, 1), TABLE)], points)
    good = draw(scene, camera, whole_domain(points, values), side=160)
    assert good.nan_count == 0
    values["g"][14, 10, 12] = bad
    cut = draw(scene, camera, whole_domain(points, values), side=160)
    green = (cut.image == np.array(NAN, "f4")).all(axis=2)
    assert 20 < green.sum() == cut.nan_count
    np.testing.assert_array_equal(cut.image[~green], good.image[~green])


@pytest.mark.parametrize("bad", BAD)
def test_a_surface_leaves_their_cells_out_and_counts_points(bad: float) -> None:
    points = domain(False)
    values = fields(points)
    layers = [Isosurface("r", [0.5], color=(1, 0, 0))]
    before = draw(Scene(layers, points), camera, whole_domain(points, values))
    assert before.nan_count == 0
    values["r"][18:24, 5:15, 6:20] = bad  # the top of the sphere
    after = draw(Scene(layers, points), camera, whole_domain(points, values))
    assert after.nan_count == 6 * 10 * 14 and np.isfinite(after.image).all()
    assert 0.5 * before.hits[0] < after.hits[0] < 0.95 * before.hits[0]


@pytest.mark.parametrize("bad", BAD)
def test_a_surface_coloured_by_another_field_shows_them_and_counts_pixels(bad: float) -> None:
    points = domain(False)
    values = fields(points)
    values["g"][18:24, 5:15, 6:20] = bad
    layer = Isosurface("r", [0.5], colors=TABLE, color_field="g", lighting=None)
    result = draw(Scene([layer], points), camera, whole_domain(points, values))
    green = (result.image == np.array(NAN, "f4")).all(axis=2)
    assert 20 < green.sum() == result.nan_count < result.hits[0]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layers", LAYERS)
def test_all_kinds_of_nonfinite_values_give_the_same_picture(dtype: str, layers: str) -> None:
    points = domain(True)
    scene = Scene(LAYERS[layers], points)
    rng = np.random.default_rng(7)
    holes = {name: rng.random(v.shape) < 0.01 for name, v in fields(points).items()}
    large = [1e300, -1e300] if dtype == "f8" else []  # beyond the range of floats
    pictures = []
    for kinds in (BAD[:1], BAD[1:], [*BAD, *large]):
        values = fields(points, dtype)
        for name, where in holes.items():
            values[name][where] = rng.choice(kinds, where.sum())
        pictures.append(draw(scene, camera, whole_domain(points, values), depth=True))
    for other in pictures[1:]:
        np.testing.assert_array_equal(other.image, pictures[0].image)
        np.testing.assert_array_equal(other.depth, pictures[0].depth)
        assert other.nan_count == pictures[0].nan_count > 30
        assert other.ranges == pictures[0].ranges and other.hits == pictures[0].hits
