"""Camera of the page: formulas, mouse, touch, wheel, keys, presets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn_views import BOUNDS
from live_pages import Live
from playwright.sync_api import Page

from uzushio.raycast import Camera
from uzushio.render.cameras import Viewpoint

CAMERAS: list[dict[str, Any]] = [
    {},
    {"name": "front", "azimuth": 20.0, "elevation": -35.0},
    {"name": "top", "azimuth": 50.0, "elevation": 10.0, "roll": 25.0},
    {"name": "bottom"},
    {"direction": [1.0, 2.0, -3.0], "azimuth": -70.0},
    {"direction": [0.0, 0.0, 2.0]},
    {"direction": [1.0, 2.0, -3.0], "up": [1.0, 0.0, 0.2], "elevation": 12.0},
    {"position": [9.0, -7.0, 5.0], "focal_point": [2.0, 1.0, 0.0], "roll": -10.0},
]


def camera_of(section: dict[str, Any], width: int = 900, height: int = 600) -> Camera:
    return Viewpoint(**section).camera(BOUNDS, width, height)


def axes_of(section: dict[str, Any]) -> np.ndarray:
    """Return the axes right, up and forward of a camera."""
    camera = camera_of(section)
    forward = np.subtract(camera.focal_point, camera.position)
    forward /= np.linalg.norm(forward)
    up = np.asarray(camera.up)
    up = up - forward * (up @ forward)
    up /= np.linalg.norm(up)
    return np.array([np.cross(forward, up), up, forward])


def call(page: Page, function: str, *arguments: Any) -> Any:
    return page.evaluate(
        "async ([name, args]) => (await import('./camera.js'))[name](...args)",
        [function, list(arguments)],
    )


def drag(page: Page, right: float, down: float, button: str = "left") -> None:
    page.mouse.move(300, 300)
    page.mouse.down(button=button)  # type: ignore[arg-type]
    page.mouse.move(300 + right / 2, 300 + down / 2)
    page.mouse.move(300 + right, 300 + down)
    page.mouse.up(button=button)  # type: ignore[arg-type]


def test_axes_are_those_of_the_drawing(live: Live) -> None:
    page = live.open()
    for section in CAMERAS:
        np.testing.assert_allclose(call(page, "turnedAxes", section), axes_of(section), atol=1e-12)


def test_a_camera_without_a_place_faces_flat_data_as_in_the_drawing(live: Live) -> None:
    page = live.open()
    for axis in range(3):
        for thickness in (0.0, 0.01, 0.5):
            bounds = [[0.0, 3.0], [-1.0, 1.0], [0.0, 4.0]]
            bounds[axis] = [0.5, 0.5 + thickness]
            for section in ({}, {"azimuth": 10.0}, {"name": "front"}, {"direction": [1, 0, 0]}):
                expected = Viewpoint(**section).facing([(lo, hi) for lo, hi in bounds]).name
                assert call(page, "facing", section, bounds).get("name") == expected


def test_an_orbit_by_nothing_keeps_the_picture(live: Live) -> None:
    page = live.open()
    for section in CAMERAS:
        if abs(Viewpoint(**section).elevation) > 0 and section.get("name") == "top":
            continue  # beyond the pole, where an orbit stops
        turned = {**section, **call(page, "orbit", section, 0, 0)}
        np.testing.assert_allclose(axes_of(turned), axes_of(section), atol=1e-9)


def test_an_orbit_moves_the_camera_to_the_right_and_up_and_stops_at_the_poles(live: Live) -> None:
    page = live.open()
    for section in CAMERAS[:2]:
        before = axes_of(section)
        right = axes_of({**section, **call(page, "orbit", section, 5, 0)})
        above = axes_of({**section, **call(page, "orbit", section, 0, 5)})
        assert -right[2] @ before[0] > 0.05  # the camera is where the picture's right side was
        assert -above[2] @ before[1] > 0.05
        pole = axes_of({**section, **call(page, "orbit", section, 0, 1000)})
        np.testing.assert_allclose(-pole[2], [0, 0, 1], atol=1e-3)


@pytest.mark.parametrize("parallel", [False, True])
def test_a_pan_moves_the_focal_point_with_the_pointer(live: Live, parallel: bool) -> None:
    """A camera with a position does not depend on the annotation, so the motion is exact."""
    page = live.open()
    section = {"position": [9.0, -7.0, 5.0], "focal_point": [2.0, 1.0, 0.0], "zoom": 1.3}
    if parallel:
        section |= {"parallel": True, "parallel_height": 5.0}
    moved = {**section, **call(page, "pan", section, 0.2, -0.1, BOUNDS, 1.5)}
    camera = camera_of(moved)
    point = np.asarray(section["focal_point"]) - np.asarray(camera.position)
    right, up, forward = axes_of(moved)
    height = 2 * np.tan(np.radians(15)) * (point @ forward)
    if camera.parallel_height is not None:
        height = camera.parallel_height
    np.testing.assert_allclose(
        [point @ right / height, point @ up / height], [0.2, -0.1], atol=1e-4
    )


def test_the_mouse_orbits_pans_and_zooms(live: Live) -> None:
    page = live.open()
    drag(page, -60, 40)
    live.until(lambda: live.view().camera.elevation > 0, page)
    live.until(lambda: live.view().camera.azimuth > 0, page)
    degrees = 180 / page.locator("#picture").bounding_box()["height"]  # type: ignore[index]
    live.until(lambda: abs(live.view().camera.azimuth - 60 * degrees) < 0.1, page)
    live.until(lambda: abs(live.view().camera.elevation - 40 * degrees) < 0.1, page)
    assert live.view().camera.focal_point is None

    azimuth = live.view().camera.azimuth
    drag(page, 80, 0, "right")
    live.until(lambda: live.view().camera.focal_point is not None, page)
    moved = live.view().camera.focal_point
    page.keyboard.down("Shift")
    drag(page, -80, 0)
    page.keyboard.up("Shift")
    live.until(lambda: live.view().camera.focal_point != moved, page)
    # There and back again: the focus is at the centre.
    live.until(lambda: np.allclose(live.view().camera.focal_point or 9, [2, 1, 0], atol=1e-3), page)
    assert live.view().camera.azimuth == azimuth

    page.mouse.wheel(0, -200)
    live.until(lambda: live.view().camera.zoom > 1.2, page)
    page.mouse.wheel(0, 400)
    live.until(lambda: live.view().camera.zoom < 1, page)
    live.wait_for_picture(page)


def test_one_finger_orbits_and_two_pan_and_zoom(live: Live) -> None:
    page = live.open(viewport={"width": 820, "height": 1180}, has_touch=True, is_mobile=True)
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        fingers = [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})

    touch("touchStart", (400, 300))
    for x in range(400, 301, -20):
        touch("touchMove", (x, 300))
    touch("touchEnd")
    degrees = 80 * 180 / page.locator("#picture").bounding_box()["height"]  # type: ignore[index]
    live.until(lambda: abs(live.view().camera.azimuth - degrees) < 0.1, page)
    live.wait_for_picture(page)
    azimuth = live.view().camera.azimuth

    touch("touchStart", (350, 300), (450, 300))
    for n in range(1, 6):
        touch("touchMove", (350 - 10 * n, 300), (450 + 10 * n, 300))
    touch("touchEnd")
    live.until(lambda: abs(live.view().camera.zoom - 2) < 0.01, page)
    live.wait_for_picture(page)

    centre = np.array(live.view().camera.focal_point or [2, 1, 0])
    touch("touchStart", (350, 300), (450, 300))
    for n in range(1, 6):
        touch("touchMove", (350, 300 + 20 * n), (450, 300 + 20 * n))
    touch("touchEnd")
    live.until(
        lambda: (
            live.view().camera.focal_point is not None
            and live.view().camera.focal_point[2] > centre[2] + 0.1
        ),
        page,
    )
    assert live.view().camera.azimuth == azimuth
    assert abs(live.view().camera.zoom - 2) < 0.05


def test_keys_move_the_camera(live: Live) -> None:
    page = live.open()
    page.locator("#picture").focus()
    page.keyboard.press("ArrowRight")
    live.until(lambda: live.view().camera.azimuth == 5, page)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    live.until(lambda: live.view().camera.azimuth == -5, page)
    page.keyboard.press("ArrowUp")
    live.until(lambda: live.view().camera.elevation == 5, page)
    page.keyboard.press("+")
    live.until(lambda: live.view().camera.zoom == 1.15, page)
    page.keyboard.press("-")
    live.until(lambda: live.view().camera.zoom == 1, page)
    page.keyboard.press("Shift+ArrowRight")
    live.until(lambda: live.view().camera.focal_point is not None, page)
    for key, name in zip(
        "1234567", ["front", "back", "left", "right", "top", "bottom", "isometric"], strict=True
    ):
        page.keyboard.press(key)
        live.until(lambda name=name: live.view().camera == Viewpoint(name=name), page)  # type: ignore[misc]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("0")
    live.until(lambda: live.view().camera == Viewpoint(name="isometric"), page)
    live.wait_for_picture(page)
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    assert "Isometric camera" in page.locator("#help table").inner_text()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_keys_of_the_picture_do_nothing_in_a_text(live: Live) -> None:
    page = live.open()
    page.locator("summary", has_text="Annotation").click()
    page.get_by_label("Title").fill("case 1")
    page.keyboard.press("Enter")
    live.until(lambda: live.view().title == "case 1", page)
    assert live.view().camera == Viewpoint(name="isometric")


def test_controls_set_the_camera(live: Live) -> None:
    page = live.open()
    page.get_by_role("button", name="left", exact=True).click()
    live.until(lambda: live.view().camera == Viewpoint(name="left"), page)
    assert (
        page.get_by_role("button", name="left", exact=True).get_attribute("aria-pressed") == "true"
    )
    page.get_by_label("Azimuth", exact=True).fill("33.5")
    page.keyboard.press("Tab")
    live.until(lambda: live.view().camera.azimuth == 33.5, page)
    assert (
        page.get_by_role("button", name="left", exact=True).get_attribute("aria-pressed") == "false"
    )
    page.get_by_label("Zoom, slider").fill("2.5")
    live.until(lambda: abs(live.view().camera.zoom - 2.5) < 0.02, page)
    page.get_by_text("More on the camera").click()
    page.get_by_label("Projection").select_option("parallel")
    live.until(lambda: live.view().camera.parallel is True, page)
    page.get_by_label("Focus, z").fill("0.25")
    page.keyboard.press("Tab")
    live.until(lambda: live.view().camera.focal_point == (2.0, 1.0, 0.25), page)
    page.get_by_role("button", name="reset").click()
    live.until(lambda: live.view().camera == Viewpoint(name="isometric"), page)
    live.wait_for_picture(page)
