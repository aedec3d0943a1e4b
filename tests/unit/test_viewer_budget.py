"""Time budget and limits of a view: work of one page neither stops nor delays that of another."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from pipeline_case import Flow
from viewer_driver import Driver, RequestFailed, run_viewer

from uzushio import raycast, staging
from uzushio.errors import PipelineError
from uzushio.pipeline.graph import Graph
from uzushio.pipeline.sources import SourceSettings
from uzushio.pipeline.stream import Stream
from uzushio.render.typeface import Typeface
from uzushio.render.view import View
from uzushio.viewer import budget
from uzushio.viewer.budget import Budget
from uzushio.viewer.document import ViewDocument
from uzushio.viewer.document_limits import MAX_ENTRIES, MAX_TEXT, RefusedChange
from uzushio.viewer.exchange import DrawRequest, Exchange

N = 33
SIZE = (96, 64)
VIEW: dict[str, Any] = {"layers": [{"kind": "slice", "field": "u"}], "size": SIZE}
VIEW_SETTINGS = View.model_validate(VIEW)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two stored steps of u."""
    path = tmp_path / "flow.zarr"
    line = np.linspace(0.0, 1.0, N)
    flow = Flow({"box": (line, line, line)}, {"u": ("box", lambda x, y, z, n: x + y + z + n)})
    with staging.open("flow", None, {"engine": "file", "file": {"folder": str(path)}}) as writer:
        flow.write(writer, 2)
    return path


def test_a_long_text_is_cut_at_the_last_letter_that_fits_within_few_measurements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    face, measured = Typeface(), [0]
    width = Typeface.width

    def counted(self: Typeface, text: str, size: int, slanted: bool = False) -> float:
        measured[0] += 1
        return width(self, text, size, slanted)

    monkeypatch.setattr(Typeface, "width", counted)
    text = "Wi" * 10_000
    (cut,) = face.wrapped(text, 20, 300.0, 1)
    assert measured[0] < 50
    assert cut.endswith("…") and text.startswith(cut[:-1])
    assert width(face, cut, 20) <= 300.0 < width(face, text[: len(cut)] + "…", 20)
    assert face.wrapped("short", 20, 300.0, 1) == ["short"]
    assert face.wrapped("W", 20, 1.0, 1) == ["…"]


def test_an_exception_of_the_check_ends_the_drawing_of_an_image() -> None:
    line = np.linspace(0.0, 1.0, N)
    z, y, x = np.meshgrid(line, line, line, indexing="ij")
    block = raycast.Block((line,) * 3, (0, 0, 0), ((0, 0, 0), (N - 1,) * 3), {"u": x + y + z})
    scene = raycast.Scene([raycast.Isosurface("u", [1.5], color=(1, 1, 1, 1))], (line,) * 3)
    camera = raycast.Camera((3, -3, 3), (0.5, 0.5, 0.5), (0, 0, 1), 30.0)
    calls = [0]

    def check() -> None:
        calls[0] += 1
        raise KeyError("the end")

    with pytest.raises(KeyError, match="the end"):
        raycast.cast(scene, camera, 256, 256, [block], threads=1, check=check)
    assert calls == [1]  # and never again
    whole = raycast.cast(scene, camera, 256, 256, [block], check=lambda: None)
    np.testing.assert_array_equal(whole.image, raycast.cast(scene, camera, 256, 256, [block]).image)


def test_a_picture_beyond_its_budget_is_given_up_until_the_view_changes(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(page: Driver) -> None:
        assert page.picture(VIEW, name="other").step == 1
        monkeypatch.setattr(budget, "SHARED", 0.0)
        with pytest.raises(RequestFailed, match="given up after 0 s, which is the maximum"):
            page.picture(VIEW)
        monkeypatch.setattr(budget, "SHARED", 10.0)
        assert page.picture({**VIEW, "title": "other"}, name="other").step == 1
        assert page.picture({**VIEW, "title": "changed"}).step == 1

    run_viewer(str(store), MPI.COMM_SELF, work)


def test_a_view_that_was_given_up_is_not_due_with_newer_steps_and_rests() -> None:
    exchange, views = Exchange(), {}

    def want(name: str, revision: int) -> DrawRequest:
        views[name] = DrawRequest(name, revision, {}, VIEW_SETTINGS)
        exchange.want(views[name])
        exchange.set_ready(name, True)
        return views[name]

    want("slow", 1)
    exchange.advance(1)
    assert exchange.take(0.0) is not None
    exchange.give_up(views["slow"], "too slow", 1000.0)
    exchange.advance(2)
    assert exchange.take(0.0) is None
    want("slow", 2)
    taken = exchange.take(0.0)
    assert taken is not None and taken.revision == 2  # it is the only one
    exchange.give_up(views["slow"], "too slow", 1000.0)
    want("other", 3)
    want("slow", 4)
    taken = exchange.take(0.0)
    assert taken is not None and taken.view == "other"
    assert exchange.take(0.0) is None  # the slow one rests while the other is watched
    exchange.drop("other")
    assert exchange.take(0.0) is not None


def test_a_signal_ends_the_picture_in_progress_and_the_viewer(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, failures = Budget.check, list[str]()

    def stop(self: Budget) -> None:
        monkeypatch.setattr(Budget, "check", check)
        os.kill(os.getpid(), signal.SIGTERM)
        self.check()

    def work(page: Driver) -> None:
        monkeypatch.setattr(Budget, "check", stop)
        with pytest.raises(RequestFailed) as failed:
            page.picture(VIEW)
        failures.append(str(failed.value))
        answered.set()
        ended.wait(60.0)

    answered, ended = threading.Event(), threading.Event()
    try:
        assert run_viewer(str(store), MPI.COMM_SELF, work, signals=True) == signal.SIGTERM
        assert answered.wait(60.0)
    finally:
        ended.set()
    assert failures == ["The picture was given up: the live view ends."]


def test_a_chain_of_derived_fields_keeps_few_of_them_in_memory(store: Path) -> None:
    names = ["u", *(f"s{n}" for n in range(40))]
    sources = {name: f"{before} + 1" for before, name in itertools.pairwise(names)}
    last = {"layers": [{"kind": "slice", "field": names[-1]}], "size": SIZE}

    def work(page: Driver) -> None:
        page.picture(VIEW)
        tracemalloc.start()
        try:
            picture = page.picture(last, sources)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert picture.limits[names[-1]] == pytest.approx((41.5, 43.5))  # u + 40 at z = 1/2
        assert peak < 10 * 8 * N**3

    run_viewer(str(store), MPI.COMM_SELF, work)


# ---- limits at entry ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("title",), "x" * (MAX_TEXT + 1), f"{MAX_TEXT + 1} characters, and the maximum"),
        (("time_stamp",), "x" * 20_000, "20000 characters"),
        (("layers", 0, "color"), {"label": "x" * 20_000}, "20000 characters"),
        (("layers", 0, "at"), 1e200, "beyond the largest number"),
        (("layers", 0, "at"), 10**300, "beyond the largest number"),
        (("text_size",), 1e6, "beyond the largest number, 256"),
        (("layers",), [VIEW["layers"][0]] * (MAX_ENTRIES + 1), f"{MAX_ENTRIES + 1} entries"),
        (("layers", 0, "color"), {"map": ["red"] * 1000}, "1000 entries"),
    ],
)
def test_texts_numbers_and_lists_of_a_view_have_limits(path: Any, value: Any, message: str) -> None:
    document = ViewDocument()
    document.add("a", VIEW)
    with pytest.raises(RefusedChange, match=message) as refused:
        document.apply("a", [(("views", "a", *path), value)], 9, "page")
    assert refused.value.path[: 2 + len(path)] == ("views", "a", *path)
    assert document.revision == 1


def test_the_number_of_derived_fields_and_their_length_have_limits() -> None:
    document = ViewDocument()
    document.add("a", VIEW)
    for expression, message in (("u" * 5000, "5000 characters"), ("u +", "no expression")):
        with pytest.raises(RefusedChange, match=message) as refused:
            document.apply("a", [(("sources", "s"), expression)], 9, "page")
        assert refused.value.path == ("sources", "s")
    many = {f"s{n}": "u" for n in range(MAX_ENTRIES + 1)}
    with pytest.raises(RefusedChange, match=f"{MAX_ENTRIES + 1} entries"):
        document.apply("a", [(("sources",), many)], 9, "page")


def test_an_error_in_a_derived_field_has_its_path(store: Path) -> None:
    with staging.attach(store) as reader:
        stream = Stream.of_step(next(iter(reader)))
    sources = {"a": SourceSettings(expression="b + u"), "b": SourceSettings(expression="c + u")}
    with pytest.raises(PipelineError, match=r"sources\.b: ") as raised:
        Graph(stream, sources)
    assert raised.value.path == ("sources", "b")


def test_a_derived_field_that_the_stream_cannot_give_is_refused_at_entry(store: Path) -> None:
    document = ViewDocument()
    document.add("a", VIEW)
    document.apply("a", [(("sources", "old"), "v")], 9, "page")  # no stream is known yet
    with staging.attach(store) as reader:
        document.stream = Stream.of_step(next(iter(reader)))
    for source, message in (
        ("u + nothing", "'nothing' is not known"),
        ("s + u", "depends on itself"),
        ({"kind": "vorticity", "of": "u"}, "three fields"),
        ("old + u", "'v' is not known"),
    ):
        with pytest.raises(RefusedChange, match=message):
            document.apply("a", [(("sources", "s"), source)], 9, "page")
    document.apply("a", [(("sources", "s"), "2 * u")], 9, "page")
    document.apply("a", [(("sources", "t"), "s + 1")], 9, "page")
    with pytest.raises(RefusedChange, match="'s' is not known"):
        document.apply("a", [(("sources", "s"), None)], 9, "page")  # t uses it
    document.apply("a", [(("sources", "t"), None), (("sources", "s"), None)], 9, "page")
    assert list(document.sources) == ["old"]
