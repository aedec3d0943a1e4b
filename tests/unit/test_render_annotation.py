"""Annotation of pictures: round numbers, typography, and no overlaps."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uzushio.errors import OutputError, RenderError
from uzushio.render import (
    CAMERAS,
    Colors,
    IsosurfaceLayer,
    Picture,
    SliceLayer,
    View,
    legend,
    save_png,
)
from uzushio.render import axes as axes_of
from uzushio.render.annotate import Annotator, Caption
from uzushio.render.background import on_background, plain
from uzushio.render.cameras import Rectangle
from uzushio.render.casting import ColorScale
from uzushio.render.marks import Mark, Silhouette, box, line, paint, polygon
from uzushio.render.outline import edges, strokes
from uzushio.render.ticks import number, ticks
from uzushio.render.typeface import Typeface, typeset

BOUNDS = ((0.0, 6.0), (-1.0, 1.0), (0.0, 2.0))


@given(lo=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6), max_count=st.integers(2, 12))
def test_ticks_are_evenly_spaced_round_numbers_inside_the_limits(
    lo: float, width: float, max_count: int
) -> None:
    axis_ticks = ticks(lo, lo + width, max_count)
    assert len(axis_ticks.values) <= max_count and len(axis_ticks.labels) == len(axis_ticks.values)
    assert all(lo - 1e-5 * width <= value <= lo + width * (1 + 1e-5) for value in axis_ticks.values)
    if len(axis_ticks.values) > 1:
        steps = np.diff(axis_ticks.values)
        assert np.allclose(steps, steps[0], rtol=1e-6)
        mantissa = steps[0] / 10 ** math.floor(math.log10(steps[0]) + 1e-9)
        assert any(abs(mantissa - round_one) < 1e-4 for round_one in (1, 2, 2.5, 5, 10))


def test_there_are_at_least_two_ticks_where_there_is_room_for_four() -> None:
    for width in np.geomspace(0.01, 1000, 61):
        assert len(ticks(0.123, 0.123 + width, 4).values) >= 2


@given(lo=st.floats(-1e9, 1e9), width=st.floats(1e-9, 1e9))
def test_labels_are_the_values_of_the_ticks(lo: float, width: float) -> None:
    if width < 1e-6 * abs(lo):
        return
    axis_ticks = ticks(lo, lo + width, 8)
    assert len(set(axis_ticks.labels)) == len(axis_ticks.labels)
    power = axis_ticks.factor.removeprefix("×10").translate(
        str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
    )
    for value, label in zip(axis_ticks.values, axis_ticks.labels, strict=True):
        shown = float(label.replace("−", "-")) * 10 ** int(power or 0)
        assert shown == pytest.approx(value, abs=1e-6 * width, rel=1e-9)


def test_large_and_small_numbers_share_a_factor() -> None:
    assert ticks(0, 3e-5, 4).labels == ["0", "1", "2", "3"]
    assert ticks(0, 3e-5, 4).factor == "×10⁻⁵"
    assert ticks(-2e6, 2e6, 5).factor == "×10⁶"
    assert ticks(-2, 2, 5).labels == ["−2", "−1", "0", "1", "2"]


def test_logarithmic_ticks_are_powers_of_ten() -> None:
    assert ticks(1e-6, 1e6, 20, "log").labels[:2] == ["10⁻⁶", "10⁻⁵"]
    assert ticks(0.1, 1000, 8, "log").labels == ["0.1", "1", "10", "100", "1000"]
    assert ticks(1, 10, 8, "log").values == [1, 2, 5, 10]
    assert len(ticks(1e-12, 1e12, 5, "log").values) <= 5


def test_exponents_are_superscripts() -> None:
    assert typeset("s^-2") == "s⁻²"
    assert typeset("m**3 s^{-1}") == "m³ s⁻¹"
    assert typeset("u^(10)") == "u¹⁰"
    assert typeset("q_criterion") == "q_criterion"
    assert number(-1.5e-7) == "−1.5·10⁻⁷" and number(20.0) == "20" and number(1e9) == "10⁹"


def test_indices_are_subscripts_and_names_of_fields_are_unchanged() -> None:
    face = Typeface()
    plain, index = face.mask("u", 20), face.mask("u_τ", 20)
    assert index.top + index.coverage.shape[0] > plain.top + plain.coverage.shape[0] + 2
    assert plain.advance < index.advance < face.mask("uτ", 20).advance
    assert index.advance == pytest.approx(face.width("u_τ", 20))
    assert face.mask("Re_τ = 180", 20).advance < face.mask("Reτ = 180", 20).advance
    assert face.width(typeset("V_0^2"), 20) < face.width(typeset("V0^2"), 20)
    assert face.width("p_{wall}", 20) < face.width("pwall", 20)
    for name in ("q_criterion", "u_mean", "a_b_cd"):
        apart = sum(face.width(character, 20) for character in name)
        assert face.width(name, 20) == pytest.approx(apart, rel=0.05)


def test_words_are_wrapped_and_cut_to_the_width() -> None:
    face = Typeface()
    lines = face.wrapped("magnitude of the streamwise velocity fluctuation", 16, 130, 3)
    assert len(lines) == 3 and all(face.width(text, 16) <= 130 for text in lines)
    assert lines[-1].endswith("…")
    assert face.wrapped("u [m/s]", 16, 130, 3) == ["u [m/s]"]


def test_a_missing_font_raises_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="name a TrueType file with `font`"):
        Typeface(tmp_path / "none.ttf")
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    with pytest.raises(RenderError, match=r"broken\.ttf cannot be used"):
        Typeface(tmp_path / "broken.ttf")


def test_a_missing_bundled_font_raises_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uzushio.render.typeface.find_spec", lambda name: None)
    with pytest.raises(RenderError, match="of matplotlib is missing"):
        Typeface()


def test_marks_cover_as_much_as_their_shape() -> None:
    black = np.zeros(3, np.uint8)
    for mark, area in (
        (line((3.3, 4.1), (40.7, 30.9), 2.0, black), 2.0 * math.hypot(37.4, 26.8)),
        (line((3, 4), (3, 24), 0.5, black), 10.0),
        (polygon([(2.2, 3.1), (30.4, 5.0), (12.3, 27.7)], black), 337.3),
        (box(Rectangle(2, 12, 3, 7), black, 0.5), 20.0),
    ):
        assert mark.coverage.sum() / 255 == pytest.approx(area, rel=0.03)


def test_marks_outside_of_the_picture_are_cut_off() -> None:
    pixels = np.full((10, 12, 3), 200, np.uint8)
    full = np.full((6, 6), 255, np.uint8)
    red = np.array([255, 0, 0], np.uint8)
    paint(pixels, [Mark(-3, -3, full, red), Mark(9, 7, full, red), Mark(50, 50, full, red)])
    is_red = (pixels == red).all(axis=2)
    assert is_red.sum() == 3 * 3 + 3 * 3 and is_red[0, 0] and is_red[9, 11]


def test_painting_rounds_correctly() -> None:
    amounts = np.arange(256, dtype=np.uint8)[None]
    pixels = np.full((1, 256, 3), 37, np.uint8)
    paint(pixels, [Mark(0, 0, amounts, np.array([211, 5, 99], np.uint8))])
    exact = 37 + (np.array([211, 5, 99]) - 37.0) * np.arange(256)[:, None] / 255
    assert np.abs(pixels[0] - exact).max() <= 0.51


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("background", ["white", "#123456", ("white", "black")])
def test_the_background_fills_what_is_clear(kind: type, background: str | tuple[str, str]) -> None:
    rng = np.random.default_rng(0)
    opacity = rng.uniform(0, 1, (40, 30, 1))
    image = np.concatenate([rng.uniform(0, 1, (40, 30, 3)) * opacity, opacity], axis=2)
    given_image = np.round(255 * image).astype(np.uint8) if kind is np.uint8 else image
    behind = plain(background, 30, 40)
    filled = on_background(given_image.astype(kind), behind)
    exact = 255 * image[..., :3] + behind * (1 - opacity)
    assert (on_background(None, behind) == behind).all()
    assert np.abs(filled - exact).max() <= (1.6 if kind is np.uint8 else 0.51)


def test_a_silhouette_is_the_area_of_the_domain() -> None:
    square = Silhouette(np.array([(10, 10), (50, 10), (50, 50), (10, 50), (30, 30)], float))
    assert square.meets(Rectangle(40, 60, 40, 60)) and square.meets(Rectangle(20, 25, 20, 25))
    assert not square.meets(Rectangle(51, 60, 0, 60))
    diamond = Silhouette(np.array([(30, 0), (60, 30), (30, 60), (0, 30)], float))
    assert not diamond.meets(Rectangle(0, 10, 0, 10)) and diamond.meets(Rectangle(12, 20, 12, 20))
    assert Silhouette(np.array([(np.nan, 1.0)])).meets(Rectangle(0, 1, 0, 1))


def caption(size: tuple[int, int], camera: object, many: bool = False, **more: object) -> Caption:
    """A picture's caption, with the camera that leaves space for it."""
    colors = Colors(map="RdBu_r", label="streamwise velocity fluctuation", unit="m s^-1")
    layers: list[object] = [
        SliceLayer(field="u", color=colors),
        IsosurfaceLayer(field="q", values=[20, 40], color="teal"),
    ]
    if many:
        layers.append(SliceLayer(field="p", color=Colors(map="magma", unit="Pa")))
    view = View(
        layers=layers,
        size=size,
        camera=camera,
        title="Turbulent flow between two walls at Re = 180",
        orientation=True,
        length_unit="h",
        **more,
    )
    made = Caption(view, BOUNDS, time=1.25, step=10, units={"q": "s^-2"})
    made.scales[0] = ColorScale(colors, "u", (-1.5, 1.5), (-2.0, 2.0))
    if many:
        made.scales[2] = ColorScale(view.layers[2].color, "p", (0.0, 3e-5))
    made.camera = Annotator(*size).camera(made)
    return made


@pytest.mark.parametrize("camera", sorted(CAMERAS))
@pytest.mark.parametrize("size", [(1280, 720), (640, 480), (1920, 1080), (500, 900)])
def test_annotation_does_not_overlap(camera: str, size: tuple[int, int]) -> None:
    about = caption(size, camera, many=True)
    annotator = Annotator(*size)
    annotator.draw(np.full((size[1], size[0], 3), 255, np.uint8), about)
    em = annotator.em(about.view)
    column = annotator._column(about.view, about.entries())
    texts = axes_texts(about, annotator)
    assert texts, "an axis has labels"
    for first, other in itertools.combinations(texts, 2):
        assert not first.overlaps(other)
    corners = about.camera.project(list(itertools.product(*BOUNDS)), *size)
    domain = Silhouette(corners[:, :2])
    assert not domain.meets(column)
    assert not domain.meets(Rectangle(0, size[0], 0, 2.4 * em))
    for text in texts:
        assert not text.overlaps(column) and not domain.meets(text)
        assert text.left >= 0 and text.right <= size[0] and text.bottom <= size[1]


def axes_texts(about: Caption, annotator: Annotator) -> list[Rectangle]:
    """Return the rectangles of the axes' labels: marks that are not ticks."""
    em = annotator.em(about.view)
    marks = annotator._camera_marks(about, about.entries(), Typeface())
    arrows = 2 * 3 + 3  # of the triad
    return [
        mark.rectangle
        for mark in marks[arrows:]
        if min(mark.coverage.shape) > 0.55 * em and max(mark.coverage.max(initial=0), 0) == 255
    ]


def test_labels_come_from_the_view_or_the_caller_or_the_field() -> None:
    about = caption((640, 480), "front", many=True)
    about.labels = {"u": "velocity", "q": "Q", "p": "pressure"}
    assert [entry.label for entry in about.entries()] == [
        "streamwise velocity fluctuation",
        "Q",
        "pressure",
    ]
    assert list(about.limits()) == ["streamwise velocity fluctuation", "pressure"]


def test_legends_stand_below_each_other() -> None:
    about = caption((1280, 720), "front", many=True)
    column = Rectangle(1000, 1250, 40, 700)
    entries = about.entries()
    assert [entry.label for entry in entries] == ["streamwise velocity fluctuation", "q", "p"]
    marks_of_entries = [legend.draw([entry], column, 16, "black", Typeface()) for entry in entries]
    assert all(marks_of_entries)
    marks = legend.draw(entries, column, 16, "black", Typeface())
    assert min(m.top for m in marks) >= column.top - 2
    assert max(m.rectangle.bottom for m in marks) <= column.bottom + 2
    assert max(m.rectangle.right for m in marks) <= column.right + 2


def test_many_legends_are_written_smaller() -> None:
    column = Rectangle(300, 420, 30, 290)
    bars = [
        legend.ColorBar(f"field {n}", "Pa", Colors(), (0.0, 1.0), (True, True)) for n in range(4)
    ]
    marks = legend.draw(bars, column, 12, "black", Typeface())
    assert max(m.rectangle.bottom for m in marks) <= column.bottom + 2
    assert len([m for m in marks if m.color.ndim == 3]) == 4


def test_a_bar_shows_its_colours_from_bottom_to_top_and_points_where_values_go_beyond() -> None:
    colors = Colors(map=("blue", "red"), above="lime", below="black")
    column = Rectangle(10, 200, 10, 300)

    def drawn(pointed: tuple[bool, bool]) -> np.ndarray:
        pixels = np.full((310, 210, 3), 255, np.uint8)
        bar = legend.ColorBar("u", "", colors, (0.0, 1.0), pointed)
        paint(pixels, legend.draw([bar], column, 14, "black", Typeface()))
        return pixels[:, 14]

    plain, pointed = drawn((False, False)), drawn((True, True))
    is_blue, is_red = ((plain == c).all(axis=1) for c in ((0, 0, 255), (255, 0, 0)))
    assert np.flatnonzero(is_red).max() < np.flatnonzero(is_blue).min()
    assert not (plain == (0, 255, 0)).all(axis=1).any()
    assert (pointed == (0, 255, 0)).all(axis=1).any()


def test_axes_along_the_view_have_no_ticks_and_a_camera_inside_sees_none() -> None:
    top = caption((800, 600), "top").camera
    picture = Rectangle(0, 800, 0, 600)
    names = ("x", "y", "z")
    arguments = (BOUNDS, names, "", picture, 14, "black", "white", Typeface())
    assert axes_of._outline(2, top, top.project(axes_of._points(BOUNDS), 800, 600), BOUNDS) is None
    assert axes_of.draw(top, *arguments)
    inside = {"position": (1, 0, 1), "focal_point": (3, 0, 1)}
    assert not axes_of.draw(caption((800, 600), inside).camera, *arguments)


@pytest.mark.parametrize("camera", sorted(CAMERAS))
def test_edges_at_the_back_are_hidden_and_those_in_front_hide(camera: str) -> None:
    """Compared with the distance of each edge's middle from that of the domain."""
    eye = caption((640, 480), {"name": camera, "parallel": True, "azimuth": 25, "elevation": 10})
    behind, before = edges(eye.camera, BOUNDS, 640, 480)
    assert len(behind) == 3 and len(before) == 9
    corners = np.array(list(itertools.product(*BOUNDS)))
    depth = eye.camera.project(corners, 640, 480)
    far = depth[depth[:, 2].argmax(), :2]
    near = depth[depth[:, 2].argmin(), :2]
    assert all(np.abs(edge - far).sum(axis=1).min() < 1e-6 for edge in behind)
    assert sum(np.abs(edge - near).sum(axis=1).min() < 1e-6 for edge in before) == 3


def test_a_camera_in_the_domain_has_all_edges_behind() -> None:
    inside = caption((640, 480), {"position": (1, 0, 1), "focal_point": (5, 0.3, 1.2)})
    behind, before = edges(inside.camera, BOUNDS, 640, 480)
    assert not before and 4 <= len(behind) <= 12
    assert all(np.isfinite(edge).all() for edge in behind)


def test_strokes_cover_as_much_as_their_length_and_width() -> None:
    ways = [((3.3, 4.1), (80.7, 30.9)), ((20, 4), (20, 54)), ((70, 50), (10, 8)), ((5, 9), (90, 9))]
    for begin, end in ways:
        for width in (0.6, 1.0, 2.3):
            drawn = strokes([np.array([begin, end])], width, np.zeros(3, np.uint8), 0.5, 100, 60)
            length = math.dist(begin, end)
            assert drawn.coverage.sum() / 255 == pytest.approx(0.5 * width * length, rel=0.04)


def test_an_image_hides_the_back_edges_and_is_hidden_by_those_in_front() -> None:
    about = caption((640, 480), "isometric", axes=False, legend=False)
    annotator = Annotator(640, 480)
    full = np.full((480, 640, 4), 255, np.uint8)
    empty, covered = (annotator.annotated(image, about) for image in (None, full))
    behind, before = edges(about.camera, BOUNDS, 640, 480)
    for shown_edges, shown in ((behind, False), (before, True)):
        for edge in shown_edges:
            column, row = edge.mean(axis=0).astype(int)
            around = slice(row - 2, row + 3), slice(column - 2, column + 3)
            assert (empty[around] < 235).any()
            assert (covered[around] < 235).any() == shown


def test_constant_marks_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    about = caption((640, 480), "front")
    annotator = Annotator(640, 480)
    pixels = [np.full((480, 640, 3), 255, np.uint8) for _ in range(2)]
    annotator.draw(pixels[0], about)
    monkeypatch.setattr(annotator, "_camera_marks", None)
    monkeypatch.setattr("uzushio.render.legend.draw", None)
    annotator.draw(pixels[1], about)
    assert (pixels[0] == pixels[1]).all()


@pytest.mark.parametrize("outline", [True, False])
@pytest.mark.parametrize("drawn", ["nothing", "in the middle", "everywhere"])
def test_constant_marks_are_the_same_painted_before_or_after(drawn: str, outline: bool) -> None:
    about = caption((640, 480), "isometric", outline=outline)
    image = np.zeros((480, 640, 4), np.uint8)
    part = {
        "nothing": np.s_[:0],
        "in the middle": np.s_[200:280, 250:350],
        "everywhere": np.s_[::3],
    }[drawn]
    image[part] = (40, 90, 20, 128)
    annotator = Annotator(640, 480)
    behind, before = annotator._edges(about)
    expected = on_background(image, behind)
    if before is not None:
        before.paint(expected)
    annotator.draw(expected, about)
    for _ in range(3):  # the second paints marks that do not change, the third has them
        assert (annotator.annotated(image, about) == expected).all()


def test_text_is_dark_on_light_and_light_on_dark() -> None:
    for background, dark in (("white", True), ("black", False), (("#333333", "navy"), False)):
        about = caption((640, 480), "front", background=background)
        pixels = plain(background, 640, 480)
        before = pixels.copy()
        Annotator(640, 480).draw(pixels, about)
        title = pixels[:40, :300].astype(int) - before[:40, :300]
        assert (title.min() < -150) if dark else (title.max() > 150)


def test_a_picture_is_written_completely_with_its_time(tmp_path: Path) -> None:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    path = Picture(pixels, step=7, time=0.1).save(tmp_path / "new" / "a.png")
    with Image.open(path) as image:
        assert (np.asarray(image) == pixels).all()
        assert image.text["time"] == "0.1" and image.text["step"] == "7"
    assert [file.name for file in path.parent.iterdir()] == ["a.png"]


def test_a_picture_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="The picture was not written"):
        save_png(np.zeros((4, 4, 3), np.uint8), tmp_path / "file" / "a.png")


@pytest.mark.parametrize("text", ["{velocity}", "{time:.2q}", "{", "{0}"])
def test_a_title_with_a_wrong_placeholder_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"may hold \{time\} and \{step\} only"):
        View(layers=(), title=text)
