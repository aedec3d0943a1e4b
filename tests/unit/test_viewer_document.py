"""Document of the live view: patches, conflicts, errors with their path, files of pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pipeline_case import Flow

from uzushio import pipeline
from uzushio._base.config import yaml_file
from uzushio.errors import CaseError, ViewerError
from uzushio.viewer.document import ViewDocument
from uzushio.viewer.document_limits import MAX_BYTES, RefusedChange

SLICE = {"kind": "slice", "field": "u"}
V = ("views", "a")


def made(**more: Any) -> ViewDocument:
    document = ViewDocument()
    document.add("a", {"layers": [SLICE], "camera": "front", **more})
    return document


def values(document: ViewDocument) -> Any:
    return document.views["a"].values


def test_a_patch_sets_appends_and_removes_and_makes_missing_sections() -> None:
    document = made()
    surface = {"kind": "isosurface", "field": "q", "values": 3}
    document.apply(
        "a",
        [
            ((*V, "layers", 0, "color", "map"), "cividis"),
            ((*V, "layers", 1), surface),
            ((*V, "camera", "azimuth"), 30),
            (("sources", "q"), {"kind": "q_criterion", "of": "velocity"}),
        ],
        document.revision,
        "page1",
    )
    assert values(document)["layers"] == [
        SLICE | {"color": {"map": "cividis"}},
        surface | {"values": [3.0]},
    ]
    assert values(document)["camera"] == {"name": "front", "azimuth": 30.0}
    assert document.sources["q"].fields == ["velocity"]
    assert document.views["a"].settings.layers[1].field == "q"
    document.apply(
        "a",
        [((*V, "layers", 0), None), ((*V, "camera"), None), (("sources", "q"), None)],
        document.revision,
        "page1",
    )
    assert values(document) == {"layers": [surface | {"values": [3.0]}]}
    assert not document.sources


def test_revisions_increase_and_sources_are_a_change_of_every_view() -> None:
    document = made()
    document.add("b", {"layers": [SLICE]})
    a, b = (document.views[name].revision for name in "ab")
    document.apply("a", [((*V, "title"), "x")], a, "page1")
    assert document.views["a"].revision > b == document.views["b"].revision
    document.apply("a", [(("sources", "q"), "2 * u")], document.revision, "page1")
    assert document.views["a"].revision == document.views["b"].revision == document.revision


@pytest.mark.parametrize(
    ("path", "value", "at", "told"),
    [
        ((*V, "samples"), 9, None, "less than or equal to 4"),
        ((*V, "layers", 0, "opacity"), "much", None, "must be a number"),
        ((*V, "layers", 0, "kind"), "cube", None, "must be one of"),
        ((*V, "layers", 2), SLICE, (*V, "layers"), "has 1 entries and no entry 2"),
        ((*V, "layers", "first"), SLICE, (*V, "layers"), "no entry 'first'"),
        ((*V, "layers"), None, None, "is required"),
        ((*V, "layers", 0, "field", "name"), "u", (*V, "layers", 0, "field"), "is a value"),
        ((*V, "camera", "position"), [0, 0, 1], (*V, "camera", "position"), "one of name and"),
        ((*V, "title"), "{tmie}", None, "tmie"),
        ((*V, "size"), [16384, 16384], None, "at most"),
        ((*V, "title"), "x" * MAX_BYTES, V, "more than 64 kB"),
        (V, None, None, "cannot be removed"),
        (("views", "b", "title"), "x", None, "the view that is shown"),
        (("on_error",), "stop", None, "the view that is shown"),
        ((), {}, None, "the view that is shown"),
        (("views",), {}, None, "the view that is shown"),
        (("sources", "2q"), "u", None, "begin with a digit"),
        (("sources",), 3, None, "must be a section"),
    ],
)
def test_a_refused_change_names_its_path_and_changes_nothing(
    path: tuple[str | int, ...], value: Any, at: tuple[str | int, ...] | None, told: str
) -> None:
    document = made()
    before = document.revision, document.save("a")
    with pytest.raises(RefusedChange, match=told) as error:
        document.apply("a", [((*V, "title"), "new"), (path, value)], 99, "page1")
    assert error.value.path == (path if at is None else at)
    assert (document.revision, document.save("a")) == before


def test_only_a_later_change_of_another_page_at_the_same_place_is_a_conflict() -> None:
    document = made()
    seen = document.revision
    document.apply("a", [((*V, "camera", "azimuth"), 1)], seen, "one")
    document.apply("a", [((*V, "camera", "azimuth"), 2)], seen, "one")
    document.apply("a", [((*V, "camera", "zoom"), 2)], seen, "two")
    for path, value in (
        ((*V, "camera", "azimuth"), 3),
        ((*V, "camera"), "top"),
        (V, {"layers": [SLICE]}),
    ):
        with pytest.raises(RefusedChange, match="one has changed this"):
            document.apply("a", [(path, value)], seen, "two")
    document.apply("a", [((*V, "camera", "azimuth"), 3)], document.revision, "two")
    assert values(document)["camera"] == {"name": "front", "azimuth": 3.0, "zoom": 2.0}


def test_what_is_remembered_of_changes_is_bounded() -> None:
    document = made()
    seen = document.revision
    for number in range(1100):
        gone = ((*V, f"key{number}"), None)
        document.apply("a", [((*V, "title"), "new"), gone], document.revision, "one")
    assert len(document._changed) <= 1000
    with pytest.raises(RefusedChange, match="old view"):
        document.apply("a", [((*V, "title"), "x")], seen, "two")
    document.apply("a", [((*V, "title"), "x")], document.revision, "two")


@example("\x85\u2028 \u2029", 0.0)
@given(st.text(max_size=12), st.floats(allow_nan=False, allow_infinity=False))
def test_any_text_and_number_survives_a_file(text: str, number: float) -> None:
    content = {"title": text, "at": number, "list": [text, "1e3", "0o7", "null", "2026-01-01"]}
    assert yaml_file.parse(yaml_file.dump(content), "file")[0] == content


HAND_WRITTEN = """\
sources: {w: {expression: 2 * u + x, label: "1e3"}}
views:
  a:
    layers:
      - {kind: slice, field: w, color: {map: cividis, limits: [-1, null], levels: 5}}
      - {kind: isosurface, field: w, values: [0.3, 0.00001]}
    camera: {azimuth: 33.3, elevation: 1e-7, zoom: 1.25}
    title: "t = {time:.3f}: 'ü' # no comment"
    size: [200, 150]
actions: [{picture: a}]
"""


def test_a_saved_view_makes_the_picture_of_the_same_file_by_hand_and_loads_again(
    tmp_path: Path,
) -> None:
    document = made(size=[200, 150])
    before = document.save("a")
    document.apply(
        "a",
        [
            (("sources", "w"), {"expression": "2 * u + x", "label": "1e3"}),
            ((*V, "layers", 0, "field"), "w"),
            ((*V, "layers", 0, "color"), {"map": "cividis", "limits": [-1, None], "levels": 5}),
            ((*V, "layers", 1), {"kind": "isosurface", "field": "w", "values": [0.3, 1e-5]}),
            ((*V, "camera"), {"azimuth": 33.3, "elevation": 1e-7, "zoom": 1.25}),
            ((*V, "title"), "t = {time:.3f}: 'ü' # no comment"),
        ],
        document.revision,
        "page1",
    )
    saved = document.save("a")
    assert drawn(saved, tmp_path / "saved") == drawn(HAND_WRITTEN, tmp_path / "by_hand")
    assert drawn(saved, tmp_path / "saved") != drawn(before, tmp_path / "before")
    path = tmp_path / "saved.yaml"
    path.write_text(saved, encoding="utf-8")
    assert pipeline.load(path).file.views["a"] == document.views["a"].settings
    again = ViewDocument()
    assert again.load(path) == ["a"]
    assert again.save("a") == saved
    other = made()
    other.apply("a", other.changes_of(saved, "a", None), other.revision, "page1")
    assert other.save("a") == saved


def drawn(text: str, folder: Path) -> bytes:
    """Return the PNG file that a pipeline makes of an analytic field."""
    lines = np.linspace(0, 1, 6), np.linspace(0, 1, 7), np.linspace(0, 2, 9)
    fields = {"u": ("box", lambda x, y, z, n: np.sin(3 * x) * y + z)}
    Flow({"box": lines}, fields).inside(text, folder)
    (picture,) = (folder / "out" / "pictures").glob("*.png")
    return picture.read_bytes()


def test_a_relative_font_of_a_file_is_found_from_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("views: {a: {layers: [], font: f.ttf}}\nactions: [{picture: a}]\n")
    document = ViewDocument()
    document.load(path)
    assert values(document)["font"] == str(tmp_path / "f.ttf")


def test_a_file_of_views_alone_begins_a_live_view(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("views: {a: {layers: [{kind: slice, field: u}]}}\n")
    assert ViewDocument().load(path) == ["a"]
    with pytest.raises(CaseError, match="actions is required"):
        pipeline.load(path)
    path.write_text("views: {a: {layers: []}}\nactions: []\n")
    with pytest.raises(CaseError, match="actions"):
        ViewDocument().load(path)


def test_a_file_without_views_or_with_mistakes_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text("actions: [{count: u}]\n")
    with pytest.raises((ViewerError, CaseError)):
        ViewDocument().load(path)
    path.write_text("views: {a: {layers: 3}}\nactions: [{picture: a}]\n")
    with pytest.raises(CaseError, match=r"pipeline.yaml:1: views.a.layers"):
        ViewDocument().load(path)


def test_plots_are_the_actions_of_the_document_and_of_the_saved_file(tmp_path: Path) -> None:
    document = made()
    plot = {"name": "p", "plot": {"profile": {"fields": ["u"], "along": "z"}}}
    document.apply("a", [(("actions", 0), plot)], document.revision, "page1")
    assert list(document.requested_plots().plots) == ["p"]
    path = tmp_path / "saved.yaml"
    path.write_text(document.save("a"))
    assert pipeline.load(path).kinds == ["picture", "plot"]
    other = ViewDocument()
    other.load(path)
    assert other.plot_values == document.plot_values == [plot]
    for change, told in (
        ({**plot, "name": "q", "every": 5}, "every"),
        ({"name": "q", "picture": "a"}, "plot is required"),
        (plot, "the same name"),
        (
            {"name": "q", "plot": {**plot["plot"], "compare": [{"file": "f", "x": "x", "y": "y"}]}},
            "reference curves are files",
        ),
    ):
        with pytest.raises(RefusedChange, match=told) as caught:
            document.apply("a", [(("actions", 1), change)], document.revision, "page1")
        assert caught.value.path[:1] == ("actions",)
    document.apply("a", [(("actions", 0), None)], document.revision, "page1")
    assert document.plot_values == [] and not document.requested_plots().plots
