"""Arguments and results of the ray caster, and messages for wrong arguments."""

from __future__ import annotations

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
    domain,
    draw,
    fields,
    whole_domain,
)

from uzushio.raycast import (
    Block,
    Camera,
    ColorTable,
    Isosurface,
    Scene,
    Slice,
    Volume,
    cast,
    cell_centres,
)


def test_a_value_beyond_the_field_gives_an_empty_picture_and_is_reported() -> None:
    points = domain(False)
    layers = [Isosurface("r", [9.0], color=(1, 0, 0)), Isosurface("r", [0.5], color=(1, 0, 0))]
    block = whole_domain(points, fields(points))
    drawn = draw(Scene(layers, points), CAMERAS["perspective"], block)
    assert drawn.hits[0] == 0 and drawn.hits[1] > 100
    low, high = drawn.ranges[0]
    assert low == pytest.approx(0) and high == pytest.approx(fields(points)["r"].max())
    alone = draw(Scene(layers[:1], points), CAMERAS["perspective"], block)
    assert not alone.image.any() and alone.bounds is None and alone.hits == [0]


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


def test_a_picture_does_not_depend_on_threads_and_is_reproducible() -> None:
    points = domain(True)
    scene = Scene(LAYERS["all"], points, bounding_box=(1, 1, 0))
    block = whole_domain(points, fields(points))
    first = cast(scene, CAMERAS["perspective"], 64, 64, [block], threads=1)
    for threads in (1, 3, 7):
        again = cast(scene, CAMERAS["perspective"], 64, 64, [block], threads=threads)
        assert (first.image == again.image).all() and first.hits == again.hits


def test_cell_centred_values_are_drawn_from_centre_to_centre() -> None:
    z, _, x = (cell_centres(c) for c in domain(True))
    assert x[0] == pytest.approx(-1 + 1 / 24) and len(x) == 24
    assert z[3] == pytest.approx(domain(True)[0][3:5].mean())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda p, v: Block(p, (0, 0, 0), ((0, 0, 0), (28, 20, 25)), v), "it stores 0 to 24"),
        (lambda p, v: Block(p, (0, 0, 0), ((0, 0, 0), (1, 1, 1)), {"f": v["r"][1:]}), "its block"),
        (lambda p, v: Block(p, (0, 0, 0), ((0, 0, 0), (1, 1, 1)), {"f": v["r"] > 0}), "bool"),
        (lambda p, v: Scene([], (p[0][::-1], p[1], p[2])), "must increase"),
        (lambda p, v: Scene([], p, step=0), "a positive number"),
        (lambda p, v: Isosurface("r", [np.nan], color=(1, 0, 0)), "finite values"),
        (lambda p, v: Isosurface("r", [1]), "either a color or a table"),
        (lambda p, v: Isosurface("r", [1], (1, 0, 0), color_field="g"), "needs a table"),
        (lambda p, v: Slice("r", (0, 0, 0), (0, 0, 0), BLUE_RED), "not all zero"),
        (lambda p, v: Volume("r", np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]])), "do not decrease"),
        (lambda p, v: Camera((1, 0, 0), (0, 0, 0), up=(1, 0, 0)), "its own up direction"),
        (lambda p, v: ColorTable(np.zeros((0, 4)), 0, 1), "rows of 3 or 4"),
        (
            lambda p, v: draw(
                Scene([Isosurface("w", [1], (1, 0, 0))], p), CAMERAS["below"], whole_domain(p, v)
            ),
            "no field 'w', which the scene needs; it has 'r', 'g'",
        ),
        (
            lambda p, v: draw(
                Scene(LAYERS["volume"], tuple(2 * c for c in p)),
                CAMERAS["below"],
                whole_domain(p, v),
            ),
            "have other coordinates than in the scene's domain",
        ),
        (
            lambda p, v: draw(
                Scene([], p), CAMERAS["below"], whole_domain(p, v), out=np.empty((3, 3, 4), "f4")
            ),
            "must be contiguous, of shape",
        ),
    ],
)
def test_wrong_arguments_raise_one_sentence(change: Any, sentence: str) -> None:
    points = domain(False)
    with pytest.raises(ValueError, match=sentence):
        change(points, fields(points))
