"""Pictures of arrays in one process, without MPI, equal to those of many ranks."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from uzushio.errors import CaseError, RenderError
from uzushio.raycast import Block
from uzushio.render import (
    Colors,
    IsosurfaceLayer,
    Renderer,
    SliceLayer,
    View,
    VolumeLayer,
    draw,
)

LINES = np.linspace(-1.0, 1.0, 17), np.linspace(0.0, 1.0, 13), np.linspace(0.0, 2.0, 21)
Z, Y, X = np.meshgrid(*LINES, indexing="ij")
U = np.sin(np.pi * X) * np.cos(Y) + Z
SIZE = (240, 180)


def labelled(**more: Any) -> xr.DataArray:
    coordinates = dict(zip("zyx", LINES, strict=True))
    about = {"units": "m/s", "long_name": "velocity"}
    return xr.DataArray(U, coordinates | more, ["z", "y", "x"], "u", about)


def test_a_picture_of_arrays_is_that_of_the_renderer_of_many_ranks() -> None:
    from mpi4py import MPI

    view = View(
        layers=(
            IsosurfaceLayer(field="u", values=(0.3,), color=Colors(field="v")),
            SliceLayer(field="u", normal="y"),
            VolumeLayer(field="v"),
        ),
        size=SIZE,
        samples=2,
    )
    fields = {"u": U, "v": X * Y}
    mine = draw(fields, view, coordinates=LINES, time=0.5, step=3)
    block = Block(LINES, (0, 0, 0), ((0, 0, 0), (16, 12, 20)), fields)
    with Renderer(MPI.COMM_SELF, *SIZE, samples=2) as renderer:
        theirs = renderer.picture(view, [block], LINES, time=0.5, step=3)
    assert theirs is not None
    np.testing.assert_array_equal(mine.pixels, theirs.pixels)
    assert (mine.limits, mine.notes, mine.step, mine.time) == (theirs.limits, theirs.notes, 3, 0.5)


def test_a_notebook_shows_the_picture_and_the_file_is_the_same(tmp_path: Path) -> None:
    picture = draw(labelled(time=0.25), size=SIZE)
    shown = Image.open(io.BytesIO(picture._repr_png_()))
    assert shown.size == SIZE and shown.format == "PNG"
    saved = Image.open(picture.save(tmp_path / "u.png"))
    np.testing.assert_array_equal(np.asarray(shown), np.asarray(saved))
    assert shown.info["time"] == "0.25"
    assert picture.limits == {"u": (U.min(), U.max())}
    assert len(repr(picture)) < 500  # no pixels


def test_all_forms_of_the_same_fields_and_view_make_the_same_picture() -> None:
    layer = SliceLayer(field="u", normal="y")
    wanted = draw({"u": U}, layer, coordinates=LINES, size=SIZE, units={"u": "m/s"}).pixels
    assert wanted.shape == (180, 240, 3) and len(np.unique(wanted)) > 50
    array = labelled()
    mapping = {"layers": [{"kind": "slice", "field": "u", "normal": "y"}]}
    forms: list[tuple[Any, Any]] = [
        (array, [layer]),
        (array.to_dataset(), View(layers=(layer,))),
        ({"u": array.transpose("x", "z", "y")}, mapping),
        (array.expand_dims(time=[1.0, 2.0]).isel(time=0, drop=True), layer),
    ]
    for fields, view in forms:
        np.testing.assert_array_equal(draw(fields, view, size=SIZE).pixels, wanted)
    bare = draw(np.round(U).astype(np.int16), SliceLayer(field="field"), size=SIZE)
    assert set(bare.limits) == {"field"}


def test_no_mpi_is_started() -> None:
    program = (
        "import sys, numpy as np\nfrom uzushio.render import draw\n"
        "picture = draw(np.random.default_rng(1).random((4, 5, 6)), size=(64, 48))\n"
        "print(picture.pixels.shape, 'mpi4py.MPI' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split("\n")[0] == "(48, 64, 3) False", done.stderr


@pytest.mark.parametrize(
    ("fields", "more", "message"),
    [
        ({"u": U}, {"view": SliceLayer(field="v")}, "needs the field v; there is only u"),
        ({}, {}, "nothing to draw"),
        ({"u": U[0, 0]}, {}, "has the dimensions 1 of them: a picture needs z, y and x, or two"),
        (labelled().expand_dims(time=[1.0]), {}, r"dimensions time, z, y, x: .*isel\(time=-1\)"),
        ({"u": U + 1j}, {}, "complex128; a picture needs real numbers"),
        ({"u": U[:1, :1]}, {}, "at least two"),
        ({"u": U}, {"coordinates": (LINES[0], LINES[1])}, "three arrays, z, y and x, not 2"),
        ({"u": U}, {"coordinates": (LINES[0], LINES[1], LINES[1])}, "shape"),
        ({"u": U}, {"coordinates": (LINES[0][::-1], *LINES[1:])}, "must increase"),
        (
            {"u": labelled(), "w": labelled(z=LINES[0] + 0.1)},
            {"view": [SliceLayer(field="u"), SliceLayer(field="w")]},
            "u and w lie at different points",
        ),
    ],
)
def test_wrong_fields_raise_one_sentence(fields: Any, more: Any, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        draw(fields, size=SIZE, **more)


def test_a_wrong_view_is_named() -> None:
    with pytest.raises(CaseError, match=r"the view: layers"):
        draw({"u": U}, {"layers": [{"kind": "slice", "feld": "u"}]})
    with pytest.raises(CaseError, match=r"the view: size"):
        draw({"u": U}, size=(1, 1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SliceLayer(feld="u"), "SliceLayer: feld is not known; did you mean 'field'?"),
        (lambda: SliceLayer("u"), r"SliceLayer: arguments are given by name"),
        (lambda: SliceLayer(field="u", opacity=3), "SliceLayer: opacity: got 3, must be less than"),
        (lambda: SliceLayer(field="u", at=1, origin=(0, 0, 0)), "SliceLayer: a plane has `at` or"),
        (lambda: View(layers=({"kind": "slize"},)), "View: layers.0.kind: got 'slize', must be"),
        (lambda: draw({"u": U}, "u"), "View: layers.0: got 'u'"),
        (lambda: draw({"u": U}, size=(1, 1)), "the view: size.0: got 1"),
    ],
)
def test_mistakes_in_layers_are_sentences(make: Any, message: str) -> None:
    with pytest.raises(CaseError, match=message) as caught:
        make()
    assert "pydantic" not in str(caught.value) and "For further" not in str(caught.value)


@pytest.mark.parametrize(("axis", "name"), [("z", "top"), ("y", "front"), ("x", "right")])
def test_a_plane_is_drawn_from_before_it(axis: str, name: str) -> None:
    """The picture is that of the same values on two planes close to each other."""
    plane = labelled().isel({axis: 3})
    picture = draw(plane, size=SIZE)
    named = View(layers=(SliceLayer(field="u", normal=axis),), camera=name, time_stamp="")
    thick = xr.concat([plane, plane.assign_coords({axis: plane[axis] + 1e-3})], axis)
    expected = draw(thick.rename("u"), named, size=SIZE)
    assert picture.camera is not None and expected.camera is not None
    np.testing.assert_allclose(picture.camera.axes, expected.camera.axes, atol=1e-12)
    assert picture.camera.parallel_height is not None
    different = np.abs(picture.pixels.astype(int) - expected.pixels) > 8
    assert np.mean(different.any(axis=2)) < 0.02  # the outline, and letters of the ticks
    assert picture.limits == {"u": (float(plane.min()), float(plane.max()))}


def test_a_plane_of_plain_numbers_is_y_and_x() -> None:
    coordinates = LINES[1], LINES[2]
    plain = draw({"u": U[4]}, coordinates=coordinates, size=SIZE)
    given = draw({"u": U[4:5]}, coordinates=([0.0], *coordinates), size=SIZE)
    np.testing.assert_array_equal(plain.pixels, given.pixels)
    assert plain.camera is not None and abs(plain.camera.axes[2][2]) == 1.0


GREY = (0xB0, 0xB0, 0xB0)


def disc(view: View, **about: str) -> np.ndarray:
    """Pixels of a disc of radius 0.5 in the middle of a square with sides of 2, in grey."""
    line = np.linspace(-1.0, 1.0, 81)
    y, x = np.meshgrid(line, line, indexing="ij")
    outside = (np.hypot(x, y) > 0.5).astype(float)
    data = xr.Dataset(
        {"u": (("y", "x"), x), "fluid": (("y", "x"), outside)}, {"y": line, "x": line}, about
    )
    return np.asarray((draw(data, view).pixels == GREY).all(axis=2))


def test_bodies_are_grey_in_slices() -> None:
    layer = SliceLayer(field="u")
    plain = View(layers=(layer,), size=(400, 300), axes=False, outline=False)
    grey = disc(plain, body_mask="fluid")
    image = grey[:, :280]  # without the legend
    rows, columns = np.nonzero(image)
    assert np.ptp(rows) == pytest.approx(np.ptp(columns), abs=2)
    assert image.sum() == pytest.approx(np.pi / 4 * np.ptp(rows) * np.ptp(columns), rel=0.05)
    assert grey[:, 280:].sum() > 20  # the patch of the legend
    assert not disc(plain)[:, :280].any()
    assert not disc(plain.model_copy(update={"bodies": False}), body_mask="fluid")[:, :280].any()
    named = plain.model_copy(update={"bodies": "fluid"})
    np.testing.assert_array_equal(disc(named), grey)
    # A field with values in bodies is shown there.
    conducted = disc(plain, body_mask="fluid", conducted="u t")
    assert conducted.sum() < 0.1 * grey.sum()


def test_bodies_are_surfaces_beside_isosurfaces_and_volumes() -> None:
    ball = (np.sqrt(X**2 + (2 * Y) ** 2 + Z**2) > 0.8).astype(float)
    for layer in (IsosurfaceLayer(field="u", values=0.3), VolumeLayer(field="u")):
        view = View(layers=(layer,), size=SIZE, legend=False, bodies="fluid")
        with_body = draw({"u": U, "fluid": ball}, view, coordinates=LINES)
        surface = IsosurfaceLayer(field="fluid", values=0.5, color="#b0b0b0")
        changed = view.model_copy(update={"layers": (layer, surface), "bodies": False})
        expected = draw({"u": U, "fluid": ball}, changed, coordinates=LINES)
        np.testing.assert_array_equal(with_body.pixels, expected.pixels)
        without = draw({"u": U, "fluid": ball}, view.model_copy(update={"bodies": False}))
        assert (without.pixels != with_body.pixels).any()


PERIODIC = 2.0 * np.pi * np.arange(16) / 16
FRONT = View(
    layers=(SliceLayer(field="u", normal="z", color=Colors(limits=(-1.0, 1.0))),),
    camera={"name": "top"},
    size=(320, 240),
    axes=False,
    legend=False,
    outline=False,
    time_stamp="",
)


def wave(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.sin(x), (3, 9, len(x)))


def test_the_closing_cell_of_a_period_is_drawn() -> None:
    """The picture is that of the same field with the first points repeated at the end."""
    lines = np.linspace(0.0, 1.0, 3), np.linspace(0.0, 3.0, 9)
    closed = np.append(PERIODIC, 2.0 * np.pi)
    expected = draw({"u": wave(closed)}, FRONT, coordinates=(*lines, closed)).pixels
    given = draw(
        {"u": wave(PERIODIC)}, FRONT, coordinates=(*lines, PERIODIC), periods={"x": 2.0 * np.pi}
    ).pixels
    coordinates = {"z": lines[0], "y": lines[1], "x": ("x", PERIODIC, {"period": 2.0 * np.pi})}
    labelled = xr.DataArray(wave(PERIODIC), coordinates, ["z", "y", "x"], "u")
    np.testing.assert_array_equal(given, expected)
    np.testing.assert_array_equal(draw(labelled, FRONT).pixels, expected)
    half = labelled.isel(x=slice(0, 8))
    open_ = draw({"u": half.values}, FRONT, coordinates=(*lines, PERIODIC[:8])).pixels
    np.testing.assert_array_equal(draw(half, FRONT).pixels, open_)


def test_fields_of_a_simulation_are_drawn_over_whole_periods_with_units() -> None:
    from uzushio import Simulation

    case = {
        "solver": "thermal",
        "grid": {"x": {"cells": 8, "length": 2.0}, "y": {"cells": 6}, "z": {"cells": 6}},
        "periodic": ["x"],
        "boundaries": {
            f"{axis}-{end}": {"type": "wall"} for axis in "yz" for end in ("min", "max")
        },
        "fluid": {"viscosity": 0.1},
        "time": {"steps": 1, "dt": 0.01},
    }
    with Simulation(case) as simulation:
        field = simulation.fields["pressure"]
        units = simulation.solver.attributes()
    assert field.x.attrs["period"] == 2.0 and "period" not in field.y.attrs
    plain = draw(field.rename("u"), FRONT)
    columns = np.flatnonzero((plain.pixels != 255).any(axis=(0, 2)))
    rows = np.flatnonzero((plain.pixels != 255).any(axis=(1, 2)))
    # A whole period of 2 along x; between the outer cell centres, 5/6, along y.
    assert len(columns) / len(rows) == pytest.approx(2.0 / (5.0 / 6.0), rel=0.02)
    assert field.time.attrs.get("units", "") == units["time_unit"]
    stamped = View(layers=FRONT.layers).with_units(field.x.attrs.get("units", ""), "s")
    assert stamped.time_stamp == "t = {time:.4g} s"
    assert stamped.length_unit == units["length_unit"]
