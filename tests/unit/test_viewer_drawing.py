"""Drawing side of the live view, in one process on stored steps and a stream of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from pipeline_case import Flow
from viewer_driver import Driver, RequestFailed, run_viewer

from uzushio import staging
from uzushio.errors import StagingError
from uzushio.pipeline.stream import Stream
from uzushio.pipeline.values import StepValues
from uzushio.render.view import View
from uzushio.staging.step import Step
from uzushio.viewer import scene as scene_module
from uzushio.viewer import sources
from uzushio.viewer.describe import default_view
from uzushio.viewer.held_steps import HeldStep, RewindBuffer
from uzushio.viewer.scene import Scene

COMM = MPI.COMM_SELF
SIZE = (96, 64)
SLICE = {"kind": "slice", "field": "u", "normal": "z", "color": {"follow": "step"}}


def view(*layers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"layers": list(layers or (SLICE,)), "size": SIZE, **more}


def line(n: int) -> np.ndarray:
    return np.linspace(0.0, 1.0, n)


def flow() -> Flow:
    """u is linear along each axis, v is not; each step adds 1 to u."""
    lines = (line(9), line(8), line(7))
    return Flow(
        {"box": lines},
        {
            "u": ("box", lambda x, y, z, n: x + 2 * y + 4 * z + n),
            "v": ("box", lambda x, y, z, n: np.sin(5 * x) * y + z * n),
        },
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Six stored steps, with the numbers 0 to 5."""
    path = tmp_path / "flow.zarr"
    with staging.open("flow", None, {"engine": "file", "file": {"folder": str(path)}}) as writer:
        flow().write(writer, 6)
    return path


def on_store(store: Path, work: Callable[[Driver], None], **more: Any) -> None:
    run_viewer(str(store), COMM, work, **more)


# ---- stored steps -------------------------------------------------------------------------------


def test_a_reader_of_stored_steps_reads_any_of_them_also_after_the_end(store: Path) -> None:
    with staging.attach(store) as reader:
        assert [step.index for step in reader] == [0, 1, 2, 3, 4, 5]
        for sequence in (4, 1, 1, 5, 0):
            reader.seek(sequence)
            step = reader.next(5.0)
            assert step is not None and step.index == sequence
            assert step.read("u", np.s_[0, 0, 0]) == sequence


def test_steps_of_a_running_stream_cannot_be_chosen(tmp_path: Path) -> None:
    contact = tmp_path / "flow.contact"
    with staging.open("flow", None, {"engine": "tcp", "contact": str(contact)}) as writer:
        with staging.attach(contact) as reader, pytest.raises(StagingError, match="chosen"):
            reader.seek(0)
        flow().write(writer, 1)


def test_a_stored_run_shows_its_last_step_first_and_any_other_on_request(store: Path) -> None:
    def work(page: Driver) -> None:
        assert page.picture(view()).step == 5
        for step in (2, 0, 4):
            drawn = page.picture(view(), step=step)
            assert (drawn.step, drawn.time) == (step, pytest.approx(0.1 * step))
            assert drawn.limits["u"] == pytest.approx((2.0 + step, 5.0 + step))
        assert page.description is not None
        assert page.description.steps == (0, 1, 2, 3, 4, 5) and not page.description.live
        with pytest.raises(RequestFailed, match="Step 17 is no longer kept"):
            page.picture(view(), step=17)

    on_store(store, work)


def test_another_field_of_a_stored_step_is_read_when_it_is_shown(store: Path) -> None:
    def work(page: Driver) -> None:
        page.picture(view(), step=3)
        drawn = page.picture(view({**SLICE, "field": "v"}), step=3)
        assert drawn.limits["v"] == pytest.approx((1.5 + np.sin(5.0 * line(7)).min(), 2.5), abs=0.1)

    on_store(store, work)


# ---- views --------------------------------------------------------------------------------------


def test_another_camera_size_or_title_reads_plans_and_derives_nothing(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def counted(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def call(*given: Any, **more: Any) -> Any:
            calls.append(name)
            return original(*given, **more)

        monkeypatch.setattr(owner, name, call)

    counted(Step, "read")
    counted(scene_module, "plan_step")
    counted(scene_module, "Graph")
    counted(StepValues, "_derive")
    counted(StepValues, "parts")
    twice = {"twice": "2 * u"}
    layers = ({"kind": "isosurface", "field": "twice", "values": [11.0]},)

    def work(page: Driver) -> None:
        first = page.picture(view(*layers), twice)
        before = list(calls)
        assert {"read", "plan_step", "Graph", "_derive", "parts"} <= set(before)
        pictures = [
            page.picture(view(*layers, camera={"azimuth": 10.0 * n}), twice) for n in (1, 2)
        ]
        pictures.append(page.picture(view(*layers, title="another"), twice))
        pictures.append(page.picture(view(*layers, size=(48, 32)), twice, final=False))
        assert calls == before
        assert not any(np.array_equal(first.pixels, picture.pixels) for picture in pictures)
        again = page.picture(view(*layers), twice)
        np.testing.assert_array_equal(again.pixels, first.pixels)

    on_store(store, work)


def test_limits_that_follow_smoothly_stay_while_a_step_is_drawn_again(store: Path) -> None:
    layers = ({**SLICE, "color": {"follow": "smooth"}},)

    def work(page: Driver) -> None:
        limits = [
            page.picture(view(*layers, camera={"azimuth": n}), step=step).limits["u"]
            for step in (0, 1)
            for n in (0.0, 5.0, 10.0)
        ]
        assert limits[:3] == [pytest.approx((2.0, 5.0))] * 3
        assert limits[3:] == [pytest.approx((2.2, 5.2))] * 3  # a fifth of the way

    on_store(store, work)


@pytest.mark.parametrize(
    ("layers", "given", "message", "path"),
    [
        ([{**SLICE, "field": "w"}], {}, "'w' is not known", ("views", "a", "layers", 0, "field")),
        (
            [{"kind": "isosurface", "field": "u", "values": 1, "color": {"field": "w"}}],
            {},
            "'w' is not known",
            ("views", "a", "layers", 0, "color", "field"),
        ),
        (
            [{**SLICE, "field": "s"}],
            {"s": "u + nothing"},
            "'nothing' is not known",
            ("sources", "s"),
        ),
    ],
)
def test_an_error_names_its_control_and_the_next_picture_is_drawn(
    store: Path, layers: Any, given: Any, message: str, path: tuple[Any, ...]
) -> None:
    def work(page: Driver) -> None:
        page.picture(view())
        with pytest.raises(RequestFailed, match=message) as failed:
            page.picture(view(*layers), given)
        assert failed.value.path == path
        assert page.picture(view()).step == 5

    on_store(store, work)


def test_a_layer_that_cannot_be_drawn_is_left_out_with_the_reason(store: Path) -> None:
    surface = {"kind": "isosurface", "field": "u", "values": 8.0}
    bad = {"kind": "isosurface", "field": "u", "values": 1, "color": {"field": "w"}}
    derived = {**SLICE, "field": "s"}

    def work(page: Driver) -> None:
        whole = page.picture(view(SLICE, surface), name="b")
        part = page.picture(view(SLICE, bad, surface, derived), {"s": "u + nothing"})
        np.testing.assert_array_equal(part.pixels, whole.pixels)
        (path, message), (other_path, other_message) = part.refused
        assert path == ("views", "a", "layers", 1, "color", "field") and "'w'" in message
        assert other_path == ("sources", "s") and "'nothing'" in other_message
        assert [note.partition(":")[0] for note in part.notes] == [
            "Layer 2 is left out", "Layer 4 is left out",
        ]  # fmt: skip

    on_store(store, work)


def test_derived_fields_and_components_have_ranges_when_they_were_drawn(store: Path) -> None:
    def ranges(page: Driver) -> Any:
        assert page.description is not None
        return page.description.ranges

    surface = {"kind": "isosurface", "field": "s", "values": 0.0}

    def work(page: Driver) -> None:
        page.picture(view(surface), {"s": "2 * u"})  # u is from 5 to 12 in the last step
        page.until(lambda: ranges(page).get("s") == pytest.approx((10.0, 24.0)), "a range")
        page.picture(view(surface), {"s": "-u"})
        page.until(lambda: ranges(page).get("s") == pytest.approx((-12.0, -5.0)), "a range")
        assert page.description is not None
        assert page.description.fields[0].range == pytest.approx((5.0, 12.0))

    on_store(store, work)


def test_a_view_without_layers_is_its_background(store: Path) -> None:
    def work(page: Driver) -> None:
        page.picture(view())
        empty = page.picture({"layers": [], "size": SIZE, "background": "#204060"})
        assert (empty.pixels == (0x20, 0x40, 0x60)).all() and empty.step == 5
        assert page.picture(view()).limits

    on_store(store, work)


def test_a_mistake_in_a_derived_field_concerns_only_the_views_that_use_it(store: Path) -> None:
    sources = {"bad": "u +* v", "round": "round + u", "good": "2 * u"}

    def work(page: Driver) -> None:
        alone = page.picture(view({**SLICE, "field": "good"}), {"good": "2 * u"})
        beside = page.picture(view({**SLICE, "field": "good"}), sources)
        np.testing.assert_array_equal(beside.pixels, alone.pixels)

    on_store(store, work)


def test_two_views_have_their_own_sources_cameras_and_steps(store: Path) -> None:
    def work(page: Driver) -> None:
        picture = page.picture(view({**SLICE, "field": "s"}), {"s": "u"}, "a")
        other = page.picture(view({**SLICE, "field": "s"}), {"s": "-u"}, "b", step=1)
        assert picture.limits["s"] == pytest.approx((7.0, 10.0))
        assert other.limits["s"] == pytest.approx((-6.0, -3.0))
        again = page.picture(view({**SLICE, "field": "s"}), {"s": "u"}, "a")
        np.testing.assert_array_equal(again.pixels, picture.pixels)

    on_store(store, work)


# ---- first views --------------------------------------------------------------------------------


def drawn_by_default(writer_fields: Callable[[Any], None], folder: Path) -> Any:
    path = folder / "made.zarr"
    with staging.open("made", None, {"engine": "file", "file": {"folder": str(path)}}) as writer:
        writer_fields(writer)
    pictures: list[Any] = []

    def work(page: Driver) -> None:
        page.until(lambda: page.description is not None, "description")
        assert page.description is not None
        pictures.append(page.picture({**page.description.start, "size": SIZE}))

    on_store(path, work)
    return pictures[0]


def colourful(picture: Any) -> bool:
    """Whether a picture has colours of a map beyond those of a colour bar."""
    pixels = picture.pixels[:, : 2 * SIZE[0] // 3].astype(int)
    return int((np.ptp(pixels, axis=2) > 40).sum()) > 100


def test_the_first_view_of_a_flat_mesh_shows_its_field(tmp_path: Path) -> None:
    def write(writer: Any) -> None:
        lines = (np.zeros(1), line(8), line(9))
        Flow({"plane": lines}, {"p": ("plane", lambda x, y, z, n: x + y)}).write(writer, 1)

    assert colourful(drawn_by_default(write, tmp_path))


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("zones", [1, 2])
def test_the_first_view_of_curvilinear_zones_shows_their_field(
    tmp_path: Path, dimension: int, zones: int
) -> None:
    layers = 1 if dimension == 2 else 3

    def write(writer: Any) -> None:
        for zone in range(zones):
            name = f"zone{zone}"
            count = (layers, 6, 7)
            writer.curvilinear_mesh(name, count, f"{name}/xyz", dimension=dimension)
            vertices = (1 if dimension == 2 else layers + 1, 7, 8)
            writer.field(f"{name}/xyz", name, "vertex", components=3)
            writer.field(f"{name}/T", name, "element")
            writer.block(zone, name, ((0, 0, 0), count))
        with writer.step(0, 0.0):
            for zone in range(zones):
                z, angle, r = np.meshgrid(
                    np.linspace(0, 0.5, vertices[0]),
                    np.linspace(0, np.pi, vertices[1]) + zone * np.pi,
                    np.linspace(1, 2, vertices[2]),
                    indexing="ij",
                )
                xyz = np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=3)
                writer.put(f"zone{zone}/xyz", xyz, zone)
                values = np.arange(np.prod(count), dtype=float).reshape(count)
                writer.put(f"zone{zone}/T", values, zone)

    first = drawn_by_default(write, tmp_path)
    assert colourful(first)


def test_another_camera_cuts_curvilinear_meshes_not_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from uzushio.render import block_surfaces

    cuts: list[object] = []
    cut = block_surfaces.slice_surface
    monkeypatch.setattr(
        block_surfaces,
        "slice_surface",
        lambda *given: cuts.append(given) or cut(*given),  # type: ignore[func-returns-value]
    )
    path = tmp_path / "bent.zarr"
    z, y, x = np.meshgrid(line(5), line(6), line(7), indexing="ij")
    with staging.open("bent", None, {"engine": "file", "file": {"folder": str(path)}}) as writer:
        writer.curvilinear_mesh("bent", (4, 5, 6), "xyz")
        writer.field("xyz", "bent", "vertex", components=3)
        writer.field("u", "bent", "vertex")
        writer.block(0, "bent", ((0, 0, 0), (4, 5, 6)))
        for step in range(2):
            with writer.step(step, 0.0):
                writer.put("xyz", np.stack([x + 0.3 * z, 2 * y, z], axis=3), 0)
                writer.put("u", x + step, 0)

    def work(page: Driver) -> None:
        pictures = [page.picture(view(camera={"azimuth": 9.0 * n})) for n in range(3)]
        pictures.append(page.picture(view(size=(48, 32))))
        assert len(cuts) == 1
        again = page.picture(view())
        np.testing.assert_array_equal(again.pixels, pictures[0].pixels)
        assert page.picture(view(), step=0).limits["u"] == pytest.approx((0.0, 1.0))
        assert len(cuts) == 2
        assert page.description is not None
        (mesh,) = page.description.meshes
        assert mesh.bounds == (pytest.approx((0, 1.3)), pytest.approx((0, 2)), (0.0, 1.0))

    on_store(path, work)


def test_a_vector_alone_is_shown_by_its_first_component(tmp_path: Path) -> None:
    made = Flow(
        {"box": (line(5), line(5), line(5))},
        {"velocity": ("box", lambda x, y, z, n: np.stack([x, y, z], axis=3))},
    )
    assert colourful(drawn_by_default(lambda writer: made.write(writer, 1), tmp_path))


# ---- kept steps ---------------------------------------------------------------------------------


def test_kept_steps_are_bounded_in_bytes_and_those_in_use_stay(store: Path) -> None:
    scene = Scene(COMM, Path())
    buffer = RewindBuffer(COMM, 3 * 8 * 9 * 8 * 7)
    with staging.attach(store) as reader:
        for step in reader:
            if scene.stream is None:
                scene.update_stream(step)
                scene.prepare("a", View.model_validate(view()), {})
            held = scene.read(step)
            assert held.bytes == 8 * 9 * 8 * 7
            buffer.add(held, used={1})
    assert buffer.numbers == (1, 4, 5)
    assert buffer.bytes == 3 * 8 * 9 * 8 * 7
    assert buffer.newest is not None and buffer.newest.index == 5
    buffer.add(HeldStep(held.step, dict(held.values)), newest=False)
    assert buffer.numbers == (1, 4, 5)


def test_a_default_view_is_empty_without_a_field_to_draw() -> None:
    assert default_view(Stream({}, {})) == {}


# ---- streams of this machine --------------------------------------------------------------------


def test_streams_below_a_folder_are_found_and_a_run_stands_for_its_stream(
    tmp_path: Path, store: Path
) -> None:
    run = tmp_path / "runs/one"
    run.mkdir(parents=True)
    contact = run / "flow.contact"
    with staging.open("live", None, {"engine": "tcp", "contact": str(contact)}):
        live, stored = sources.find([tmp_path])
        assert (live.path, live.kind, live.stream, live.answers) == (
            contact,
            "running",
            "live",
            True,
        )
        assert (stored.path, stored.kind, stored.steps) == (store, "stored", 6)
        assert sources.contact_of(str(run)) == str(contact)
    assert sources.contact_of(str(tmp_path)) == str(store)
    assert sources.contact_of("host:4711") == "host:4711"
    with pytest.raises(StagingError, match="holds no contact file and no stored steps"):
        sources.contact_of(str(run))


def test_the_folder_of_a_run_to_come_is_awaited_until_it_publishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    contact = run / "flow.contact"
    searched, find = threading.Event(), sources.find

    def noted(folders: Iterable[Path]) -> list[sources.StreamLocation]:
        searched.set()
        return find(folders)

    monkeypatch.setattr(sources, "find", noted)
    with ThreadPoolExecutor() as pool:
        awaited = pool.submit(sources.awaited_contact, str(run), 60.0)
        assert searched.wait(60.0)
        (run / "published").mkdir(parents=True)
        for _ in range(2):  # the folder is there, and nothing in it: the wait goes on
            searched.clear()
            assert searched.wait(60.0)
        assert not awaited.done()
        with staging.open("live", None, {"engine": "tcp", "contact": str(contact)}):
            assert awaited.result(60.0) == str(contact)
    with pytest.raises(StagingError, match="none does not exist"):
        sources.awaited_contact(str(tmp_path / "none"), 0.2)
