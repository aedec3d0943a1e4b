"""Colours of values, and limits that follow them."""

from __future__ import annotations

import math

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from uzushio.errors import SettingsError
from uzushio.raycast import Block
from uzushio.render import Colors, SliceLayer, VolumeLayer
from uzushio.render.casting import ColorScale, transfer
from uzushio.render.limits import (
    EMPTY_RANGE,
    MAX_DECADES,
    MIN_POSITIVE,
    LimitTracker,
    drawable_limits,
)
from uzushio.render.ranges import field_range, merged, plane_range
from uzushio.render.vtk_window import lookup_table

finite = st.floats(-1e12, 1e12)


def test_a_table_has_the_colours_of_the_map_by_name() -> None:
    table = Colors(map="magma").table((-2.0, 3.0))
    assert (table.lo, table.hi) == (-2.0, 3.0)
    places = np.linspace(0, 1, len(table.rgba))
    np.testing.assert_allclose(table.rgba, mpl.colormaps["magma"](places), atol=1e-6)
    assert table.ends[0] == pytest.approx(mpl.colormaps["magma"](0.0), abs=1e-6)


def test_a_map_may_be_a_list_of_colours() -> None:
    table = Colors(map=("black", "white"), above="red", nan="#00ff00").table((0.0, 1.0))
    np.testing.assert_allclose(table.rgba[len(table.rgba) // 2][:3], 0.5, atol=0.01)
    assert table.above == (1, 0, 0, 1) and table.nan == (0, 1, 0, 1)


def test_on_a_logarithmic_scale_decades_have_equal_length() -> None:
    colors = Colors(map=("black", "white"), scale="log")
    table = colors.table((1e-2, 1e2))
    assert table.logarithmic
    values = np.geomspace(table.lo, table.hi, len(table.rgba))
    shades = [float(np.interp(v, values, table.rgba[:, 0])) for v in (1e-2, 1e-1, 1, 10, 100)]
    np.testing.assert_allclose(shades, [0, 0.25, 0.5, 0.75, 1], atol=0.02)
    of_meshes = [0.0, 0.0, 0.0]
    for value, shade in ((1e-2, 0), (1e-1, 0.25), (1, 0.5), (10, 0.75), (100, 1)):
        lookup_table(table).GetColor(value, of_meshes)
        assert of_meshes[0] == pytest.approx(shade, abs=2 / 255)


def test_bands_have_one_colour_each() -> None:
    table = Colors(map="viridis", levels=5).table((0.0, 1.0))
    assert len(np.unique(table.rgba, axis=0)) == 5


@given(lo=finite, hi=finite, symmetric=st.sampled_from([None, True, False]))
@example(lo=0.0, hi=2.2250738585e-313, symmetric=None)
def test_limits_are_finite_apart_and_around_the_values(
    lo: float, hi: float, symmetric: bool | None
) -> None:
    lo, hi = min(lo, hi), max(lo, hi)
    limits = drawable_limits(Colors(symmetric=symmetric), (lo, hi))
    assert math.isfinite(limits[0]) and math.isfinite(limits[1]) and limits[0] < limits[1]
    slack = 1e-12 * max(abs(lo), abs(hi))
    assert limits[0] <= lo + slack and limits[1] >= hi - slack
    if symmetric:
        assert limits[0] == pytest.approx(-limits[1])
    Colors().table(limits)


@given(lo=st.floats(-10, 1e12), hi=st.floats(-10, 1e12))
@example(lo=0.0, hi=5e-324)
@example(lo=0.0, hi=MIN_POSITIVE)
@example(lo=MIN_POSITIVE * 1e-6, hi=MIN_POSITIVE * 0.999)
def test_logarithmic_limits_are_positive_for_any_values(lo: float, hi: float) -> None:
    limits = drawable_limits(Colors(scale="log"), (min(lo, hi), max(lo, hi)))
    assert 0 < limits[0] < limits[1] < math.inf
    assert limits[1] / limits[0] <= 10**MAX_DECADES * 1.0001
    assert np.isfinite(Colors(scale="log").table(limits).rgba).all()


@pytest.mark.parametrize("value", [0.0, 5.0, -3e-9, 1e30])
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_constant_field_has_limits(value: float, scale: str) -> None:
    lo, hi = drawable_limits(Colors(scale=scale), (value, value))
    assert lo < hi and np.isfinite(Colors(scale=scale).table((lo, hi)).rgba).all()


def test_limits_without_values_can_be_drawn() -> None:
    assert drawable_limits(Colors(), EMPTY_RANGE) == (-1.0, 1.0)
    assert drawable_limits(Colors(limits=(3.0, None)), EMPTY_RANGE)[0] == 3.0


def test_diverging_maps_have_their_middle_at_zero_where_the_values_have_both_signs() -> None:
    assert drawable_limits(Colors(map="coolwarm"), (-1.0, 4.0)) == (-4.0, 4.0)
    assert drawable_limits(Colors(map="RdBu_r"), (2.0, 4.0)) == (2.0, 4.0)
    assert drawable_limits(Colors(map="coolwarm", symmetric=False), (-1.0, 4.0)) == (-1.0, 4.0)
    assert drawable_limits(Colors(map="viridis"), (-1.0, 4.0)) == (-1.0, 4.0)


def test_limits_widen_follow_or_are_smoothed() -> None:
    steps = [(0.0, 1.0), (-1.0, 0.5), (0.2, 0.4)]
    limits_by_rule = {}
    for follow in ("widen", "step", "smooth"):
        tracker, colors = LimitTracker(), Colors(follow=follow)
        limits_by_rule[follow] = [tracker.follow("key", colors, values) for values in steps]
    assert limits_by_rule["widen"] == [(0.0, 1.0), (-1.0, 1.0), (-1.0, 1.0)]
    assert limits_by_rule["step"] == steps
    lo, hi = limits_by_rule["smooth"][1]
    assert -1.0 < lo < 0.0 and 0.5 < hi < 1.0


def test_one_limit_may_be_fixed() -> None:
    tracker = LimitTracker()
    assert tracker.follow("a", Colors(limits=(0.0, None)), (-5.0, 2.0)) == (0.0, 2.0)
    assert tracker.follow("a", Colors(limits=(0.0, None)), (-5.0, 3.0)) == (0.0, 3.0)


def test_limits_continue_after_a_restart() -> None:
    before, after = LimitTracker(), LimitTracker()
    before.follow("a", Colors(), (0.0, 9.0))
    after.restore(before.state())
    assert after.follow("a", Colors(), (1.0, 2.0)) == (0.0, 9.0)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"map": "virdis"}, "did you mean viridis"),
        ({"map": ("blue",)}, "at least two colours"),
        ({"nan": "reddd"}, "there is no colour 'reddd'"),
        ({"limits": (2.0, 1.0)}, "must be below the second"),
        ({"limits": (0.0, 1.0), "scale": "log"}, "must be above zero"),
        ({"symmetric": True, "scale": "log"}, "cannot lie symmetric"),
        ({"levels": 1}, "greater than or equal to 2"),
        ({"colour": "u"}, "colour is not known"),
    ],
)
def test_impossible_colours_are_errors(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        Colors(**settings)


def blocks_of(values: np.ndarray, cuts: int) -> list[Block]:
    """A field on a stretched mesh, cut along x into blocks with a ghost point on each side."""
    shape = values.shape
    z, y, x = (np.linspace(0, 1, n) ** 1.5 for n in shape)
    blocks = []
    for cut in range(cuts):
        first, last = ((shape[2] - 1) * n // cuts for n in (cut, cut + 1))
        lo, hi = max(0, first - 1), min(shape[2], last + 2)
        blocks.append(
            Block(
                (z, y, x[lo:hi]),
                (0, 0, lo),
                ((0, 0, first), (shape[0] - 1, shape[1] - 1, last - first)),
                {"u": values[:, :, lo:hi]},
            )
        )
    return blocks


@pytest.mark.parametrize("cuts", [1, 2, 5])
def test_ranges_of_blocks_are_those_of_the_field(cuts: int) -> None:
    values = np.random.default_rng(1).normal(size=(7, 8, 23)).astype(np.float32)
    blocks = blocks_of(values, cuts)
    whole = merged([field_range(block, "u") for block in blocks])
    assert whole == (float(values.min()), float(values.max()))
    planes = [
        merged([plane_range(block, "u", (0.3, 0.4, 0.2), normal) for block in blocks])
        for normal in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, -1.5))
    ]
    whole_ranges = [
        plane_range(blocks_of(values, 1)[0], "u", (0.3, 0.4, 0.2), normal)
        for normal in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, -1.5))
    ]
    np.testing.assert_allclose(planes, whole_ranges, rtol=1e-6)


def test_the_range_in_a_plane_is_that_of_the_interpolated_values() -> None:
    z, y, x = np.meshgrid(*(np.linspace(0, 1, n) ** 1.5 for n in (6, 7, 9)), indexing="ij")
    block = blocks_of(2 * x + 3 * y - z, 1)[0]
    lo, hi = plane_range(block, "u", (0.5, 0.5, 0.25), (0, 0, 1))
    assert (lo, hi) == pytest.approx((-0.25, 4.75))
    # On the plane through the field's own level there is one value only.
    lo, hi = plane_range(block, "u", (0.5, 0.5, 0.5), (2, 3, -1))
    assert (lo, hi) == pytest.approx((2.0, 2.0))
    assert plane_range(block, "u", (0, 0, 3.0), (0, 0, 1)) == EMPTY_RANGE


def test_values_that_are_not_finite_do_not_count() -> None:
    values = np.ones((3, 4, 5))
    values[1, 1, 1], values[0, 0, 0], values[2, 2, 2], values[2, 3, 4] = np.nan, np.inf, -2, 7
    block = blocks_of(values, 1)[0]
    assert field_range(block, "u") == (-2.0, 7.0)
    assert field_range(block, "u", positive=True) == (1.0, 7.0)
    block.fields["u"][:] = np.nan
    assert field_range(block, "u") == EMPTY_RANGE


def test_a_volume_has_the_opacity_of_its_points() -> None:
    layer = VolumeLayer(field="u", color=Colors(map="viridis"), opacity=((0.5, 0), (1, 0.8)))
    points = transfer(layer, ColorScale(layer.color, "u", (10.0, 20.0))).points
    assert (np.diff(points[:, 0]) >= 0).all()
    np.testing.assert_allclose(
        np.interp([5, 12, 15, 17.5, 20, 30], points[:, 0], points[:, 4]), [0, 0, 0, 0.4, 0.8, 0.8]
    )
    first, last = mpl.colormaps["viridis"](0.0)[:3], mpl.colormaps["viridis"](1.0)[:3]
    np.testing.assert_allclose(points[0, 1:4], first, atol=1e-6)
    np.testing.assert_allclose(points[-1, 1:4], last, atol=1e-6)


def test_a_slice_is_at_its_position() -> None:
    bounds = ((0.0, 4.0), (0.0, 2.0), (-1.0, 1.0))
    assert SliceLayer(field="u", normal="y").plane(bounds) == ((2.0, 1.0, 0.0), (0.0, 1.0, 0.0))
    assert SliceLayer(field="u", at=0.5).plane(bounds)[0] == (2.0, 1.0, 0.5)
    oblique = SliceLayer(field="u", normal=(1, 1, 0), origin=(1, 1, 1))
    assert oblique.plane(bounds) == ((1.0, 1.0, 1.0), (1.0, 1.0, 0.0))
    with pytest.raises(SettingsError, match="not both"):
        SliceLayer(field="u", at=0.5, origin=(0, 0, 0))
