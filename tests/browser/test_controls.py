"""Controls of layers, colours, transfer function, annotation and derived fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from drawn_views import LIMITS, RUNNING
from live_pages import LIMIT, Live
from playwright.sync_api import Locator, Page, expect

from uzushio.render.view import IsosurfaceLayer, SliceLayer, VolumeLayer
from uzushio.viewer.stream_state import FieldDescription, MeshDescription


def enter(field: Locator, text: str) -> None:
    field.fill(text)
    field.press("Enter")


def layer(live: Live, place: int = 0) -> Any:
    layers = live.view().layers
    return layers[place] if place < len(layers) else None


def value(live: Live, page: Page, expected: Any, *keys: str | int, place: int = 0) -> None:
    """Wait until a setting of a layer has a value, and its picture is shown."""

    def shown_value() -> Any:
        inside: Any = layer(live, place)
        for key in keys:  # a colour is a name or a colour map, which has a field
            if inside is None:
                return None
            inside = inside[key] if isinstance(key, int) else getattr(inside, key, None)
        return inside

    live.until(lambda: shown_value() == expected, page)
    live.wait_for_picture(page)


def test_the_field_of_a_slice_is_chosen_among_scalars_and_components(live: Live) -> None:
    page = live.open()
    choice = page.locator("#layer-0").get_by_label("Field")
    names = choice.locator("option").all_inner_texts()
    assert names == ["u", "p", "velocity.x", "velocity.y", "velocity.z"]
    choice.select_option("velocity.z")
    value(live, page, "velocity.z", "field")


def test_a_slice_moves_by_slider_and_by_number(live: Live) -> None:
    page = live.open()
    number = page.get_by_label("Position", exact=True)
    slider = page.get_by_label("Position, slider")
    assert number.get_attribute("placeholder") == "0"
    enter(number, "0.125")
    value(live, page, 0.125, "at")
    assert float(slider.input_value()) == pytest.approx(0.125, abs=0.005)
    page.locator("#layer-0").get_by_text("x", exact=True).first.click()
    value(live, page, "x", "normal")
    assert layer(live).at is None  # the position was on another axis
    assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("0", "4")

    box = slider.bounding_box()
    assert box is not None
    before = len(live.drawing.requests)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.down()
    for share in (0.6, 0.7, 0.8):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 10)
        page.wait_for_timeout(60)
    page.mouse.up()
    live.until(lambda: (layer(live).at or 0) > 2.8, page)
    live.wait_for_picture(page)
    assert any(not request.final for request in live.drawing.requests[before:])
    assert float(number.input_value()) == layer(live).at
    live.until(lambda: live.drawing.requests[-1].final, page)


def test_an_oblique_slice_has_a_direction_and_a_point(live: Live) -> None:
    page = live.open()
    page.get_by_text("oblique").click()
    value(live, page, (0.0, 0.0, 1.0), "normal")
    enter(page.get_by_label("Direction, x"), "1")
    value(live, page, (1.0, 0.0, 1.0), "normal")
    enter(page.get_by_label("Point, y"), "1.5")
    value(live, page, (2.0, 1.5, 0.0), "origin")
    page.locator("#layer-0").get_by_text("y", exact=True).click()
    value(live, page, "y", "normal")
    assert layer(live).origin is None


def test_maps_are_chosen_by_their_gradients_and_reversed(live: Live) -> None:
    page = live.open()
    picker = page.locator("#layer-0 .picker")
    picker.locator("summary").click()
    assert "linear-gradient" in picker.locator(".swatch").nth(2).evaluate(
        "(element) => element.style.background"
    )
    picker.get_by_label("cividis").check()
    value(live, page, "cividis", "color", "map")
    picker.get_by_label("Reversed").check()
    value(live, page, "cividis_r", "color", "map")
    picker.get_by_label("magma").check()
    value(live, page, "magma_r", "color", "map")


def test_a_range_is_automatic_locked_or_typed(live: Live) -> None:
    page = live.open()
    low, high = page.get_by_label("Range, minimum"), page.get_by_label("Range, maximum")
    automatic, lock = (page.get_by_role("button", name=name) for name in ("Automatic", "Lock"))
    expect(high).to_have_attribute("placeholder", "2.5", timeout=LIMIT)
    assert automatic.get_attribute("aria-pressed") == "true"
    lock.click()
    value(live, page, LIMITS, "color", "limits")
    assert lock.get_attribute("aria-pressed") == "true"
    enter(low, "-2")
    value(live, page, (-2.0, 2.5), "color", "limits")
    enter(high, "")
    value(live, page, (-2.0, None), "color", "limits")
    automatic.click()
    value(live, page, (None, None), "color", "limits")
    assert low.input_value() == ""


def test_an_invalid_value_stays_at_its_control_with_the_reason(live: Live) -> None:
    page = live.open()
    page.get_by_role("button", name="Lock").click()
    value(live, page, LIMITS, "color", "limits")
    low = page.get_by_label("Range, minimum")
    enter(low, "7")
    error = page.locator("#layer-0 .error:visible")
    expect(error).to_contain_text("Got [7, 2.5], the first limit must be below", timeout=LIMIT)
    assert low.get_attribute("aria-invalid") == "true"
    assert low.get_attribute("aria-describedby") == error.get_attribute("id")
    assert low.input_value() == "7"
    assert layer(live).color.limits == LIMITS
    enter(low, "-1")
    value(live, page, (-1.0, 2.5), "color", "limits")
    expect(error).to_have_count(0)
    assert low.get_attribute("aria-invalid") is None


def test_a_failed_drawing_is_told_at_the_control_that_caused_it(live: Live) -> None:
    live.drawing.failures["p"] = (
        "the stream has no values of p",
        ("views", "page1", "layers", 0, "field"),
    )
    page = live.open()
    page.locator("#layer-0").get_by_label("Field").select_option("p")
    error = page.locator("#layer-0 .error:visible")
    expect(error).to_contain_text("The stream has no values of p.", timeout=LIMIT)
    page.locator("#layer-0").get_by_label("Field").select_option("u")
    value(live, page, "u", "field")
    expect(error).to_have_count(0)


def test_isosurfaces_have_values_and_a_colour_field(live: Live) -> None:
    page = live.open()
    page.locator(".add-isosurface").click()
    live.until(lambda: isinstance(layer(live, 1), IsosurfaceLayer), page)
    assert layer(live, 1).values == (1.0,)  # the middle of the field's range
    surface = page.locator("#layer-1")
    enter(surface.get_by_label("Value", exact=True), "0.4")
    value(live, page, (0.4,), "values", place=1)
    surface.get_by_role("button", name="Add a value").click()
    live.until(lambda: len(layer(live, 1).values) == 2, page)
    enter(surface.get_by_label("Value 2", exact=True), "2")
    value(live, page, (0.4, 2.0), "values", place=1)
    surface.get_by_role("button", name="Remove value 1").click()
    value(live, page, (2.0,), "values", place=1)
    enter(surface.get_by_label("Surface", exact=True), "teal")
    value(live, page, "teal", "color", place=1)
    surface.get_by_text("by a field").click()
    value(live, page, "u", "color", "field", place=1)
    surface.get_by_label("Colour field").select_option("p")
    value(live, page, "p", "color", "field", place=1)
    surface.get_by_text("one colour").click()
    value(live, page, "#d8a35c", "color", place=1)
    surface.get_by_role("button", name="Remove layer 2, Isosurface").click()
    live.until(lambda: len(live.view().layers) == 1, page)
    live.wait_for_picture(page)
    page.get_by_role("button", name="Remove layer 1, Slice").click()
    live.until(lambda: not live.view().layers, page)
    expect(page.get_by_text("There are no layers.")).to_be_visible()


def test_an_isosurface_takes_its_colours_from_a_field_that_is_chosen(live: Live) -> None:
    page = live.open()
    page.locator(".add-isosurface").click()
    layer = page.locator("#layer-1")
    layer.get_by_text("by a field").click()
    field = layer.get_by_label("Colour field")
    expect(field).to_have_value("u", timeout=LIMIT)
    assert "[object" not in layer.inner_text()
    field.select_option("p")
    live.until(lambda: getattr(live.view().layers[1].color, "field", None) == "p", page)
    layer.get_by_text("one colour").click()
    expect(layer.get_by_label("Surface", exact=True)).to_have_value("#d8a35c", timeout=LIMIT)


def test_another_field_gives_an_isosurface_a_value_of_its_range(live: Live) -> None:
    page = live.open()
    page.locator(".add-isosurface").click()
    live.until(lambda: len(live.view().layers) == 2, page)
    assert live.view().layers[1].values == (1.0,)  # u is from -1 to 3
    choice = page.locator("#layer-1").get_by_label("Field", exact=True)
    choice.select_option("p")  # of which no range is known
    live.until(lambda: live.view().layers[1].field == "p", page)
    assert live.view().layers[1].values == (0.0,)
    live.exchange.describe(replace(RUNNING, ranges={"p": (10.0, 30.0)}))
    live.until(lambda: live.view().layers[1].values == (20.0,), page)
    choice.select_option("u")
    live.until(lambda: live.view().layers[1].values == (1.0,), page)


def test_a_plane_moves_within_all_zones_of_its_field(live: Live) -> None:
    zones = (
        MeshDescription("west", "curvilinear", ((0.0, 1.0), (0.0, 2.0), (0.0, 1.0))),
        MeshDescription("east", "curvilinear", ((1.0, 5.0), (-1.0, 2.0), (0.0, 1.0))),
    )
    fields = (
        FieldDescription("west/T", "west", "K", 1, (1.0, 2.0)),
        FieldDescription("east/T", "east", "K", 1, (0.0, 1.5)),
    )
    start = {"layers": [{"kind": "slice", "field": "T", "normal": "x"}]}
    live.exchange.describe(replace(RUNNING, fields=fields, meshes=zones, start=start))
    page = live.open()
    slider = page.locator("#layer-0 .sliding input[type=range]").first
    expect(slider).to_have_attribute("min", "0", timeout=LIMIT)
    expect(slider).to_have_attribute("max", "5")
    options = page.locator("#layer-0").get_by_label("Field", exact=True).locator("option")
    expect(options).to_have_text(["T", "west/T", "east/T"])
    page.locator(".add-isosurface").click()
    live.until(lambda: len(live.view().layers) == 2, page)
    assert live.view().layers[1].values == (1.0,)  # T is from 0 to 2


def test_points_of_a_transfer_function_are_moved_added_and_removed(live: Live) -> None:
    page = live.open()
    page.locator(".add-volume").click()
    live.until(lambda: isinstance(layer(live, 1), VolumeLayer), page)
    volume = page.locator("#layer-1")
    points = volume.locator("circle")
    points.nth(1).focus()
    page.keyboard.press("ArrowUp")
    value(live, page, ((0.0, 0.0), (1.0, 0.42)), "opacity", place=1)
    assert points.nth(1).get_attribute("aria-valuetext") == "place 1, opacity 0.42"
    enter(volume.get_by_label("Opacity", exact=True), "0.8")
    value(live, page, ((0.0, 0.0), (1.0, 0.8)), "opacity", place=1)
    volume.get_by_role("button", name="Add a point").click()
    value(live, page, ((0.0, 0.0), (0.5, 0.4), (1.0, 0.8)), "opacity", place=1)

    points.nth(1).scroll_into_view_if_needed()
    box = points.nth(1).bounding_box()
    diagram = volume.locator("svg.transfer").bounding_box()
    assert box is not None and diagram is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    # A fifth of the diagram's inner width to the left, a quarter of its inner height upwards.
    page.mouse.move(
        x - 0.2 * diagram["width"] * 280 / 300, y - 0.25 * diagram["height"] * 100 / 120, steps=5
    )
    page.mouse.up()
    live.until(lambda: layer(live, 1).opacity[1] == pytest.approx((0.3, 0.65), abs=0.02), page)
    page.mouse.move(diagram["x"] - 200, y)
    volume.get_by_label("Places").select_option("values")
    live.until(lambda: layer(live, 1).places == "values", page)
    low, high = LIMITS
    assert layer(live, 1).opacity[0][0] == low and layer(live, 1).opacity[2][0] == high
    points.nth(1).focus()
    page.keyboard.press("Delete")
    value(live, page, ((low, 0.0), (high, 0.8)), "opacity", place=1)
    expect(volume.get_by_role("button", name="Remove", exact=True)).to_be_disabled()


def test_annotation_is_edited_by_controls_of_the_schema(live: Live) -> None:
    page = live.open()
    page.locator("summary", has_text="Annotation").click()
    enter(page.get_by_label("Title"), "Step {step}")
    live.until(lambda: live.view().title == "Step {step}", page)
    enter(page.get_by_label("Title"), "{pressure}")
    expect(page.locator("#annotation .error:visible")).to_contain_text("pressure", timeout=LIMIT)
    for label, key in (("Axes with ticks", "axes"), ("Colour bars", "legend")):
        page.get_by_label(label).uncheck()
        live.until(lambda key=key: getattr(live.view(), key) is False, page)  # type: ignore[misc]
    enter(page.get_by_label("Samples"), "2")
    live.until(lambda: live.view().samples == 2, page)
    page.get_by_role("button", name="dark").click()
    live.until(lambda: live.view().background == "#15181c", page)
    enter(page.get_by_label("Background", exact=True), "white, silver")
    live.until(lambda: live.view().background == ("white", "silver"), page)
    live.wait_for_picture(page)


def test_a_derived_field_can_be_drawn(live: Live) -> None:
    page = live.open()
    page.locator("summary", has_text="Derived fields").click()
    new = page.get_by_role("group", name="New field")
    new.get_by_label("Name").fill("speed")
    new.get_by_label("Kind", exact=True).select_option("magnitude")
    new.get_by_label("Of", exact=True).fill("velocity")
    page.get_by_role("button", name="Add the field").click()
    live.until(lambda: "speed" in live.drawing.requests[-1].sources, page)
    page.locator("#layer-0").get_by_label("Field").select_option("speed")
    value(live, page, "speed", "field")
    new.get_by_label("Name").fill("twice")
    new.get_by_label("Kind", exact=True).select_option("")
    new.get_by_label("Expression").fill("2*u")
    page.get_by_role("button", name="Add the field").click()
    live.until(lambda: "twice" in live.drawing.requests[-1].sources, page)
    assert live.drawing.requests[-1].sources["twice"].expression == "2*u"
    page.get_by_role("button", name="Remove the field twice").click()
    live.until(lambda: "twice" not in live.drawing.requests[-1].sources, page)


def test_settings_that_a_control_does_not_show_are_kept(live: Live) -> None:
    page = live.open()
    assert isinstance(layer(live), SliceLayer)
    page.get_by_text("More on colours").click()
    page.get_by_label("Scale").select_option("log")
    value(live, page, "log", "color", "scale")
    enter(page.get_by_label("Bands"), "12")
    value(live, page, 12, "color", "levels")
    page.get_by_label("Automatic range").select_option("step")
    value(live, page, "step", "color", "follow")
    page.locator("#layer-0").get_by_text("x", exact=True).click()
    value(live, page, "x", "normal")
    assert (layer(live).color.scale, layer(live).color.levels) == ("log", 12)


def test_planes_clip_the_view_and_layers_may_be_left_out(live: Live) -> None:
    page = live.open()
    page.locator("summary", has_text="Clip").click()

    def planes(*expected: dict[str, Any]) -> None:
        clip_planes = lambda: [plane.model_dump(exclude_unset=True) for plane in live.view().clip]  # noqa: E731
        live.until(lambda: clip_planes() == list(expected), page)
        live.wait_for_picture(page)

    expect(page.get_by_label("Clipped")).to_have_count(0)
    page.get_by_role("button", name="Add a plane").click()
    planes({"normal": "x"})
    plane = page.locator("#clip-0")
    assert plane.get_by_label("Position", exact=True).get_attribute("placeholder") == "2"
    enter(plane.get_by_label("Position", exact=True), "1.25")
    planes({"normal": "x", "at": 1.25})
    plane.get_by_label("Position, slider").fill("3")
    planes({"normal": "x", "at": 3.0})
    plane.get_by_label("Leave out the other side").check()
    planes({"normal": "x", "at": 3.0, "invert": True})
    plane.get_by_text("z", exact=True).click()
    planes({"normal": "z", "invert": True})  # the position was on another axis
    page.locator("#layer-0").get_by_label("Clipped").uncheck()
    value(live, page, False, "clipped")
    expect(page.locator("#description")).to_contain_text("Clipped at z = 0", timeout=LIMIT)
    page.get_by_role("button", name="Add a plane").click()
    planes({"normal": "z", "invert": True}, {"normal": "x"})
    page.get_by_role("button", name="Remove clip plane 1").click()
    planes({"normal": "x"})
    page.get_by_role("button", name="Remove clip plane 1").click()
    planes()
    expect(page.get_by_label("Clipped")).to_have_count(0)
