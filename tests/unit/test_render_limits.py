"""Limits and legends of values that are close together, huge, missing or not above 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkFiltersSources import vtkPlaneSource

from uzushio.render import (
    Colors,
    IsosurfaceLayer,
    MeshLayer,
    MeshRenderer,
    Picture,
    SliceLayer,
    View,
    VolumeLayer,
    draw,
)
from uzushio.render.ticks import ticks

RAMP = np.broadcast_to(np.linspace(-1.0, 1.0, 21), (9, 11, 21))
LOG = Colors(scale="log")


def shown(values: np.ndarray, colors: Colors | None = None, **more: Any) -> Picture:
    layer = SliceLayer(field="u", normal="z", color=colors or Colors(), **more)
    return draw({"u": values}, View(layers=(layer,), size=(320, 240), axes=False, outline=False))


@pytest.mark.parametrize("change", [0.01, 1e-6])
def test_small_differences_of_large_values_have_all_colours(change: float) -> None:
    picture = shown(101325.0 + change * RAMP)
    assert picture.limits["u"] == pytest.approx((101325.0 - change, 101325.0 + change), abs=1e-10)
    plain = shown(RAMP)
    inside = (slice(40, 200), slice(20, 180))
    difference = np.abs(picture.pixels[inside].astype(int) - plain.pixels[inside])
    assert np.mean(difference > 3) < 0.01
    assert len(np.unique(plain.pixels[inside].reshape(-1, 3), axis=0)) > 50


@pytest.mark.parametrize("change", [0.01, 0.004, 1e-4, 1e-6])
def test_small_differences_have_all_colours_on_a_logarithmic_scale(change: float) -> None:
    """A logarithm of close values is linear in them."""
    picture = shown(1000.0 * (1.0 + change * RAMP), LOG)
    expected = (1000.0 * (1.0 - change), 1000.0 * (1.0 + change))
    assert picture.limits["u"] == pytest.approx(expected, rel=1e-12)
    plain = shown(RAMP)
    inside = (slice(40, 200), slice(20, 180))
    difference = np.abs(picture.pixels[inside].astype(int) - plain.pixels[inside])
    assert np.mean(difference > 3) < 0.01
    assert len(np.unique(plain.pixels[inside].reshape(-1, 3), axis=0)) > 50


@pytest.mark.parametrize("colors", [Colors(), LOG])
def test_a_field_that_is_constant_up_to_rounding_has_one_colour(colors: Colors) -> None:
    noise = np.random.default_rng(0).uniform(-1.0, 1.0, RAMP.shape)
    lo, hi = shown(101325.0 * (1.0 + 4e-16 * noise), colors).limits["u"]
    assert 0.8 * 101325.0 < lo < 0.95 * 101325.0 and 1.05 * 101325.0 < hi < 1.2 * 101325.0


def test_labels_of_close_values_are_differences_from_a_round_number() -> None:
    axis_ticks = ticks(101324.99, 101325.01, 6)
    assert axis_ticks.labels == ["−1.0", "−0.5", "0.0", "0.5", "1.0"] or axis_ticks.factor.endswith(
        "101325"
    )
    assert axis_ticks.factor.endswith("+ 101325")
    below = ticks(-101325.01, -101324.99, 6)
    assert below.factor.endswith("− 101325") and len(set(below.labels)) == len(below.labels)


@pytest.mark.parametrize("layer", [SliceLayer(field="u"), VolumeLayer(field="u")])
def test_a_field_without_values_has_no_scale(layer: Any) -> None:
    view = View(layers=(layer,), size=(320, 240))
    picture = draw({"u": np.full((9, 11, 21), np.nan)}, view)
    assert picture.limits == {} and picture.nan_count > 0
    given = layer.model_copy(update={"color": Colors(limits=(0.0, 1.0))})
    view = View(layers=(given,), size=(320, 240))
    assert draw({"u": np.full((9, 11, 21), np.nan)}, view).limits == {"u": (0.0, 1.0)}


@pytest.mark.parametrize("factor", [2.0**996, 2.0**-1000])  # 6.7e299, 9.3e-302
@pytest.mark.parametrize(
    "layer",
    [
        SliceLayer(field="u"),
        SliceLayer(field="u", color=Colors(limits=(-0.5, 0.5))),
        SliceLayer(field="u", color=LOG),
        IsosurfaceLayer(field="u", values=(0.25, 0.5), color=Colors(field="u")),
        IsosurfaceLayer(field="v", values=0.5, color=Colors(field="u")),
        VolumeLayer(field="u"),
        VolumeLayer(field="u", places="values", opacity=((-0.5, 0.0), (0.5, 0.9))),
    ],
)
def test_values_out_of_float32_have_the_picture_of_the_same_values_times_a_constant(
    layer: Any, factor: float
) -> None:
    v = np.broadcast_to(np.linspace(0.0, 1.0, 11)[:, None], RAMP.shape)
    view = {"layers": (layer,), "size": (320, 240), "legend": False, "time_stamp": ""}
    plain = draw({"u": RAMP, "v": v}, View(**view))
    color = getattr(layer, "color", None)
    change: dict[str, Any] = {}
    if isinstance(color, Colors) and color.fixed:
        change["color"] = color.model_copy(update={"limits": (-0.5 * factor, 0.5 * factor)})
    if isinstance(layer, IsosurfaceLayer) and layer.field == "u":
        change["values"] = tuple(factor * value for value in layer.values)
    if isinstance(layer, VolumeLayer) and layer.places == "values":
        change["opacity"] = tuple((factor * place, share) for place, share in layer.opacity)
    view["layers"] = (layer.model_copy(update=change),)
    large = draw({"u": factor * RAMP, "v": v}, View(**view))
    assert large.limits == {name: (factor * a, factor * b) for name, (a, b) in plain.limits.items()}
    assert large.nan_count == 0 and len(large.notes) == len(plain.notes)
    np.testing.assert_array_equal(large.pixels, plain.pixels)


@pytest.mark.parametrize("single", [False, True])
def test_tiny_values_have_all_colours(single: bool) -> None:
    values = (1e-40 * RAMP).astype(np.float32) if single else 1e-310 * RAMP
    picture, plain = shown(values), shown(RAMP)
    difference = np.abs(picture.pixels.astype(int) - plain.pixels)[40:200, 20:180]
    assert np.mean(difference > 3) < 0.01


@pytest.mark.parametrize("limits", [(-1.0, 1.0), (-1e-320, 1e-320)])
@pytest.mark.filterwarnings("error")
def test_between_values_far_beyond_both_limits_nothing_is_infinite(limits: Any) -> None:
    picture = shown(1e300 * np.sign(RAMP - 0.05), Colors(limits=limits))
    assert picture.nan_count == 0


def test_values_beyond_float32_and_given_limits_have_the_colour_of_the_end() -> None:
    colors = Colors(limits=(-1.0, 1.0), below="#0000ff", above="#ff0000")
    picture = shown(np.where(RAMP > 0.5, 1e300, np.where(RAMP < -0.5, -np.inf, RAMP)), colors)
    assert (picture.pixels == (255, 0, 0)).all(axis=2).any()
    assert picture.nan_count > 0
    assert not (picture.pixels[:, :200] == (0, 0, 255)).all(axis=2).any()  # -inf has no place


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (np.ones(RAMP.shape), "linear"),
        (-np.ones(RAMP.shape), "linear"),
        (1.7 * np.sign(RAMP), "linear"),
        (np.ones(RAMP.shape), "log"),
        (1.7 * np.sign(RAMP), "log"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_values_near_the_largest_number_are_drawn_with_finite_limits(
    values: np.ndarray, scale: Any
) -> None:
    picture = shown(1e308 * values, Colors(scale=scale))
    lo, hi = picture.limits["u"]
    assert np.isfinite([lo, hi, hi - lo]).all() and lo < hi
    assert picture.nan_count == 0


@pytest.mark.parametrize(
    "layer",
    [
        SliceLayer(field="u", color=LOG),
        SliceLayer(field="u", color=Colors(scale="log", limits=(0.1, 1.0))),
        VolumeLayer(field="u", color=LOG),
        VolumeLayer(field="u", color=Colors(scale="log", limits=(0.1, 1.0))),
        IsosurfaceLayer(field="v", values=0.5, color=Colors(field="u", scale="log")),
    ],
)
def test_values_without_a_place_on_a_logarithmic_scale_are_noted(layer: Any) -> None:
    v = np.broadcast_to(np.linspace(0.0, 1.0, 11)[:, None], RAMP.shape)
    view = View(layers=(layer,), size=(320, 240))
    note = (
        "Values of u that are not above 0 have no place on its logarithmic scale, and are drawn in "
        "the lowest colour."
    )
    picture = draw({"u": RAMP, "v": v}, view)
    assert picture.notes == (note,)
    assert picture.limits["u"][0] > 0.0
    assert draw({"u": 1.5 + RAMP, "v": v}, view).notes == ()


def flat_mesh() -> Any:
    """A square at z = 0 with the value x."""
    source = vtkPlaneSource()
    source.SetResolution(8, 8)
    source.Update()
    data = source.GetOutput()
    x = vtk_to_numpy(data.GetPoints().GetData())[:, 0].astype(float)
    values = numpy_to_vtk(x, deep=True)
    values.SetName("u")
    data.GetPointData().AddArray(values)
    return data


def test_layers_of_meshes_that_are_not_visible_are_noted() -> None:
    layers = (
        SliceLayer(field="u", normal="x", at=7.0),
        IsosurfaceLayer(field="u", values=3.0),
        MeshLayer(mesh="m", color=Colors(field="u", scale="log")),
    )
    view = View(layers=layers, size=(160, 120))
    with MeshRenderer(MPI.COMM_SELF, *view.size) as renderer:
        picture = renderer.picture(view, {"m": flat_mesh()})
        visible = View(layers=(SliceLayer(field="u", normal="x"),), size=(160, 120))
        plain = renderer.picture(visible, {"m": flat_mesh()})
    assert picture is not None and plain is not None
    assert picture.notes == (
        "Values of u that are not above 0 have no place on its logarithmic scale, and are drawn in "
        "the lowest colour.",
        "The slice of u lies outside of the mesh, or has no values.",
        "There is no surface of u = 3 in the mesh.",
    )
    assert plain.notes == ()


@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf])
def test_values_of_a_mesh_that_are_not_finite_have_an_entry_in_the_legend(lost: float) -> None:
    mesh = flat_mesh()
    values = vtk_to_numpy(mesh.GetPointData().GetArray("u"))
    view = View(layers=(MeshLayer(mesh="m", color=Colors(field="u")),), size=(320, 240))
    with MeshRenderer(MPI.COMM_SELF, *view.size) as renderer:
        whole = renderer.picture(view, {"m": mesh})
        values[values > 0.4] = lost  # 9 of 81
        picture = renderer.picture(view, {"m": mesh})
    assert whole is not None and picture is not None
    assert (whole.nan_count, picture.nan_count) == (0, 9)
    magenta = (picture.pixels == (255, 0, 255)).all(axis=2)
    assert magenta[:, 240:].any()  # the legend
    assert not (whole.pixels == (255, 0, 255)).all(axis=2).any()


@pytest.mark.parametrize(
    "layer", [IsosurfaceLayer(field="u", values=0.5), VolumeLayer(field="u"), SliceLayer(field="u")]
)
def test_layers_that_a_flat_mesh_does_not_show_are_noted(layer: Any) -> None:
    picture = draw({"u": RAMP[0]}, View(layers=(layer,), size=(160, 120)))
    assert [
        note for note in picture.notes if "mesh is flat" in note and "draw a slice" in note
    ] == [*picture.notes]
    assert len(picture.notes) == (not isinstance(layer, SliceLayer))
