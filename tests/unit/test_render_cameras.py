"""Named cameras and their pictures of the domain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uzushio.errors import SettingsError
from uzushio.render import CAMERAS, View, Viewpoint
from uzushio.render.cameras import Rectangle

BOUNDS = ((-1.0, 5.0), (0.5, 2.5), (0.0, 1.0))
CORNERS = np.array(list(itertools.product(*BOUNDS)))
SIZE = (640, 400)

#: Axis and sign that point to the right, up, and at the eye.
LOOKS = {
    "front": ("+x", "+z", "-y"),
    "back": ("-x", "+z", "+y"),
    "left": ("-y", "+z", "-x"),
    "right": ("+y", "+z", "+x"),
    "top": ("+x", "+y", "+z"),
    "bottom": ("-x", "+y", "-z"),
}


def seen(viewpoint: Viewpoint, frame: Rectangle | None = None) -> np.ndarray:
    """Columns and rows of the domain's corners."""
    return viewpoint.camera(BOUNDS, *SIZE, frame).project(CORNERS, *SIZE)[:, :2]


@pytest.mark.parametrize(("name", "axes"), LOOKS.items())
def test_straight_cameras_look_along_the_axes(name: str, axes: tuple[str, str, str]) -> None:
    camera = Viewpoint(name=name).camera(BOUNDS, *SIZE)
    expected = [np.eye(3)["xyz".index(a)] * (1 if sign == "+" else -1) for sign, a in axes]
    right, up, forward = camera.axes
    np.testing.assert_allclose([right, up, -forward], expected, atol=1e-12)
    assert camera.parallel_height is not None


def test_the_isometric_camera_has_x_and_y_to_the_right_and_z_up() -> None:
    right, up, _ = Viewpoint(name="isometric").camera(BOUNDS, *SIZE).axes
    assert right[0] > 0 and right[1] > 0 and right[2] == 0 and up[2] > 0


@given(
    name=st.sampled_from(sorted(CAMERAS)),
    parallel=st.booleans(),
    azimuth=st.floats(-180, 180),
    elevation=st.floats(-40, 40),
    angle=st.floats(5, 100),
    frame=st.tuples(st.floats(0, 200), st.floats(350, 640), st.floats(0, 150), st.floats(250, 400)),
)
def test_the_whole_domain_fills_its_rectangle(
    name: str,
    parallel: bool,
    azimuth: float,
    elevation: float,
    angle: float,
    frame: tuple[float, float, float, float],
) -> None:
    viewpoint = Viewpoint(
        name=name, parallel=parallel, azimuth=azimuth, elevation=elevation, view_angle=angle
    )
    places = seen(viewpoint, Rectangle(*frame))
    low, high = places.min(axis=0), places.max(axis=0)
    left, right, top, bottom = frame
    slack = 1e-3
    assert low[0] >= left - slack and high[0] <= right + slack
    assert low[1] >= top - slack and high[1] <= bottom + slack
    # and touches it, on two sides at least: it could not be nearer
    width, height = high - low
    assert width > right - left - 1 or height > bottom - top - 1


@pytest.mark.parametrize("parallel", [True, False])
def test_zoom_keeps_the_middle_of_the_domain_in_place(parallel: bool) -> None:
    frame = Rectangle(20, 400, 80, 380)
    centre = np.mean(BOUNDS, axis=1)[None]
    near, far = (
        Viewpoint(parallel=parallel, zoom=zoom).camera(BOUNDS, *SIZE, frame) for zoom in (2.5, 1.0)
    )
    np.testing.assert_allclose(
        near.project(centre, *SIZE)[:, :2], far.project(centre, *SIZE)[:, :2], atol=1e-6
    )
    spread = [np.ptp(camera.project(CORNERS, *SIZE)[:, 0]) for camera in (near, far)]
    assert spread[0] > 2.4 * spread[1]


def test_azimuth_goes_to_the_right_and_elevation_up() -> None:
    front = Viewpoint(name="front", parallel=False)
    position = np.array(front.camera(BOUNDS, *SIZE).position)
    right = np.array(front.model_copy(update={"azimuth": 20.0}).camera(BOUNDS, *SIZE).position)
    above = np.array(front.model_copy(update={"elevation": 20.0}).camera(BOUNDS, *SIZE).position)
    assert right[0] > position[0] + 0.1 and abs(right[2] - position[2]) < 1e-9
    assert above[2] > position[2] + 0.1


def test_a_camera_with_position_and_target_is_unchanged() -> None:
    camera = Viewpoint(position=(1, 2, 9), focal_point=(1, 2, 0), up=(0, 1, 0), view_angle=40)
    chosen = camera.camera(BOUNDS, *SIZE, Rectangle(0, 10, 0, 10))
    np.testing.assert_allclose(chosen.position, (1, 2, 9))
    np.testing.assert_allclose(chosen.axes[2], (0, 0, -1), atol=1e-12)
    assert chosen.view_angle == 40


def test_a_view_takes_the_name_of_a_camera() -> None:
    assert View(layers=(), camera="top").camera == Viewpoint(name="top")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"name": "front", "position": (1, 1, 1)}, "has one of name and position"),
        ({"position": (1, 1, 1), "focal_point": (1, 1, 1)}, "must differ"),
        ({"direction": (0, 0, 0)}, "must not be zero"),
        ({"parallel_height": 2.0}, "needs `parallel: true`"),
        ({"zoom": 0}, "greater than 0"),
        ({"view_angle": 200}, "less than 170"),
    ],
)
def test_impossible_cameras_are_errors(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        Viewpoint(**settings)


def test_an_unknown_camera_is_an_error_with_the_known_names() -> None:
    with pytest.raises(SettingsError, match="'above'; it may be front, back"):
        View(layers=(), camera="above")


def test_a_camera_along_its_upward_axis_is_an_error() -> None:
    with pytest.raises(ValueError, match="its own upward axis"):
        Viewpoint(direction=(0, 0, 1), up=(0, 0, 1)).camera(BOUNDS, *SIZE)
