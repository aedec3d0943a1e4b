"""Staging from Python: published values are read, and errors have messages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_box import ENGINES, LIMITS, box_writer, contact, numbers, options, u_writer

from uzushio import _core, staging
from uzushio.staging.engines import Counters, Piece, Source, WriterEngine


@pytest.mark.parametrize("engine", ENGINES)
def test_published_values_are_read(engine: str, tmp_path: Path) -> None:
    writer = box_writer(options(engine, tmp_path))
    writer.attribute("Re", 180.0)
    writer.attribute("title", "a box")
    writer.field("u", "box", unit="m/s")
    writer.field("c", "box", "vertex", np.float32, components=3)
    writer.block(7, "box", ((0, 0, 0), (2, 5, 6)))
    writer.block(9, "box", ((2, 0, 0), (2, 5, 6)))
    u, c = numbers(4, 5, 6), numbers(5, 6, 7, 3, dtype="float32")
    ghosts = np.pad(u, 1, constant_values=-1.0)
    with writer.step(12, 0.5) as step:
        writer.put("u", ghosts[0:4], block=7, ghosts=1)
        writer.put("u", ghosts[2:6], block=9, ghosts=1)
        writer.put("c", c[0:3], block=7)
        writer.put("c", c[2:5], block=9)
    assert step.sequence == 0
    with staging.attach(contact(engine, tmp_path), **LIMITS) as reader:
        published = reader.next(60.0)
        assert published is not None
        assert (published.index, published.time) == (12, 0.5)
        assert published.attributes == {"Re": 180.0, "title": "a box"}
        assert published.fields["u"].attributes == {"unit": "m/s"}
        assert published.fields["c"].dtype == np.float32
        mesh = published.meshes["box"]
        assert (mesh.elements.count, mesh.vertices.count) == ((4, 5, 6), (5, 6, 7))
        assert mesh.coordinates is not None
        np.testing.assert_allclose(mesh.coordinates[2], 3 + 0.5 * np.arange(7))
        np.testing.assert_array_equal(published.read("u"), u)
        np.testing.assert_array_equal(published.read("c"), c)
        np.testing.assert_array_equal(published.read("u", np.s_[1:3, 4, 2:]), u[1:3, 4, 2:])
        np.testing.assert_array_equal(published.read("c", np.s_[2]), c[2])
        out = np.zeros((5, 6, 4), order="F").transpose(2, 0, 1)
        assert published.read("u", out=out) is out
        np.testing.assert_array_equal(out, u)
        first, second = published.blocks
        assert (first.id, second.id, second.rank) == (7, 9, 0)
        np.testing.assert_array_equal(second.values("u"), u[2:])
        kept = engine not in ("bp5", "sst")  # ADIOS2's global arrays have no ghosts
        stored, start = (ghosts[2:6], (1, -1, -1)) if kept else (u[2:], (2, 0, 0))
        np.testing.assert_array_equal(second.values("u", ghosts=True), stored)
        assert second.box("u", ghosts=True).start == start
        # SST lets its writer end only after the reader.
        reader.detach()
    writer.close()
    assert writer.counters().published == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_many_blocks_are_put_and_read_in_one_call(engine: str, tmp_path: Path) -> None:
    """As block by block: with ghosts, components, other strides, and empty blocks."""
    writer = box_writer(options(engine, tmp_path))
    writer.field("u", "box")
    writer.field("c", "box", "vertex", np.float32, components=3)
    for z in range(4):
        writer.block(10 + z, "box", ((z, 0, 0), (1, 5, 6)))
    u, c = numbers(6, 7, 8), numbers(5, 6, 7, 3, dtype="float32")
    ghosts = {10 + z: np.asfortranarray(u[z : z + 3])[:, ::-1] for z in range(4)}
    with writer.step(0, 0.0):
        writer.put("u", ghosts, ghosts=1)
        writer.put("c", {12: c[2:4], 10: c[0:2]})
    with staging.attach(contact(engine, tmp_path), **LIMITS) as reader:
        step = reader.next(60.0)
        assert step is not None
        # ADIOS2's global arrays have no ghosts.
        for with_ghosts in (False, *(() if engine in ("bp5", "sst") else (True,))):
            blocks = step.values("u", ghosts=with_ghosts)
            assert list(blocks) == [10, 11, 12, 13]
            for block in step.blocks:
                values = ghosts[block.id] if with_ghosts else ghosts[block.id][1:2, 1:6, 1:7]
                np.testing.assert_array_equal(blocks[block.id], values)
        few = step.values(
            "c", (block for block in step.blocks if block.id != 10 and "c" in block.fields)
        )
        assert list(few) == [12]
        np.testing.assert_array_equal(few[12], c[2:4])
        out = {10 + z: np.zeros((1, 5, 6)) for z in range(4)}
        assert step.values("u", step.blocks[1:], out=out)[11] is out[11]
        np.testing.assert_array_equal(out[13], ghosts[13][1:2, 1:6, 1:7])
        assert not out[10].any()
        assert step.values("u", []) == {}
        with pytest.raises(staging.StagingError, match="Block 11 has no values of"):
            step.values("c", step.blocks)
        with pytest.raises(staging.StagingError, match="no array for block 10 in out="):
            step.values("u", out={11: out[11]})
        reader.detach()
    writer.close()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({0: numbers(4, 5, 7)}, "4 x 5 x 7"),
        ({1: numbers(4, 5, 6)}, "no block 1"),
        ({0: numbers(4, 5, 6, dtype="float32")}, "are float32"),
        ({0: numbers(4, 5, 6, 1)}, "need the axes z, y, x"),
        ({-1: numbers(4, 5, 6)}, "whole numbers"),
    ],
)
def test_many_blocks_that_do_not_fit_are_refused(
    values: dict[int, np.ndarray], sentence: str, tmp_path: Path
) -> None:
    writer = u_writer("shm", tmp_path)
    writer.begin_step(0, 0.0)
    with pytest.raises((staging.StagingError, TypeError), match=sentence):
        writer.put("u", values)
    with pytest.raises(staging.StagingError, match="leave block= out"):
        writer.put("u", {0: numbers(4, 5, 6)}, block=0)
    writer.put("u", {0: numbers(4, 5, 6)})
    assert writer.end_step() == 0
    writer.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared")


@given(data=st.data())
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_arrays_of_any_type_and_strides_are_published_unchanged(
    shared: Path, data: st.DataObject
) -> None:
    dtype = data.draw(st.sampled_from(["float32", "float64", "int32", "int64", "uint8"]))
    components = data.draw(st.integers(1, 3))
    order = data.draw(st.permutations(range(4)))
    steps = data.draw(st.tuples(*[st.sampled_from([-1, 1, 2])] * 3))
    shape = data.draw(st.tuples(*[st.integers(1, 4)] * 3))
    ghosts = [data.draw(st.tuples(st.integers(0, 2), st.integers(0, 2))) for _ in range(3)]
    stored = [n + a + b for n, (a, b) in zip(shape, ghosts, strict=True)]
    big = [n * abs(s) for n, s in zip(stored, steps, strict=True)] + [components]
    memory = numbers(*(big[axis] for axis in order), dtype=dtype).transpose(np.argsort(order))
    array = memory[tuple(slice(None, None, s) for s in steps)]
    writer = box_writer(options("shm", shared), shape)
    writer.field("u", "box", dtype=dtype, components=components)
    writer.block(1, "box", shape)
    with writer.step(1, 0.0):
        writer.put("u", array if components > 1 else array[..., 0], ghosts=ghosts)
    with staging.attach(shared / "s.contact", **LIMITS) as reader:
        step = reader.next(60.0)
        assert step is not None
        whole = step.blocks[0].values("u", ghosts=True)
        np.testing.assert_array_equal(whole.reshape(array.shape), array)
        inside = tuple(slice(a, a + n) for n, (a, _) in zip(shape, ghosts, strict=True))
        np.testing.assert_array_equal(step.read("u"), whole[inside])
    writer.close()


def test_other_meshes_arrive_as_they_were_described(tmp_path: Path) -> None:
    lines = [np.array([0.0, 0.1, 0.4]), np.array([1.0, 2.0]), np.array([5.0, 6.0, 8.0, 9.0])]
    with staging.open("s", None, options("file", tmp_path)) as writer:
        writer.rectilinear_mesh("lines", lines)
        writer.curvilinear_mesh("bent", (1, 2, 3), "xyz", np.float32, dimension=2)
        writer.field("u", "lines", "vertex")
        writer.block(0, "lines", (3, 2, 4), "vertex")
        writer.block(1, "bent", (1, 2, 3))
        xyz = numbers(3, 4, 3, dtype="float32")
        with writer.step(0, 0.0):
            writer.put("u", numbers(3, 2, 4), block=0)
            writer.put("xyz", xyz, block=1)
    with staging.attach(tmp_path / "s.zarr") as reader:
        (step,) = (candidate for candidate in reader if candidate.meshes["bent"])
        for given_line, line in zip(lines, step.meshes["lines"].coordinates or (), strict=True):
            np.testing.assert_array_equal(given_line, line)
        assert step.meshes["bent"].coordinate_field == "xyz"
        assert step.meshes["bent"].dimension == 2


def test_values_that_no_block_has_are_an_error_unless_something_is_put_there(
    tmp_path: Path,
) -> None:
    with box_writer(options("file", tmp_path)) as writer:
        writer.field("u", "box")
        writer.block(1, "box", ((0, 0, 0), (4, 5, 3)))
        with writer.step(0, 0.0):
            writer.put("u", np.ones((4, 5, 3)))
    with staging.attach(tmp_path / "s.zarr") as reader:
        step = reader.next(10.0)
        assert step is not None
        with pytest.raises(staging.StagingError, match=r"\[0:4, 0:5, 3:6\].*fill="):
            step.read("u")
        values = step.read("u", fill=-2.0)
        assert (values[..., :3] == 1.0).all() and (values[..., 3:] == -2.0).all()
        assert step.read("u", np.s_[-1:2, 0, 0], fill=7.0).tolist() == [7.0, 1.0, 1.0]


def test_a_buffer_is_published_as_it_was_filled_and_closed_afterwards(tmp_path: Path) -> None:
    writer = box_writer(options("shm", tmp_path))
    writer.field("u", "box")
    writer.block(1, "box", (4, 5, 6))
    with writer.step(1, 0.0):
        buffer = writer.buffer("u", ghosts=((1, 0), (0, 0), (0, 0)))
        assert buffer.shape == (5, 5, 6)
        buffer[...] = numbers(5, 5, 6)
    with pytest.raises(ValueError, match="read-only"):
        buffer[0, 0, 0] = 1.0
    with staging.attach(tmp_path / "s.contact", **LIMITS) as reader:
        step = reader.next(60.0)
        assert step is not None
        np.testing.assert_array_equal(step.read("u"), numbers(5, 5, 6)[1:])
    writer.close()


def test_functions_inside_the_step_get_the_solvers_memory() -> None:
    seen = []
    with box_writer({"engine": "inproc"}) as writer:
        writer.field("u", "box")
        writer.block(1, "box", (4, 5, 6))

        def look(step: staging.Step) -> None:
            view = step.blocks[0].view("u")
            seen.append((step.index, view.ctypes.data, float(step.read("u", np.s_[2, 3, 4]))))

        writer.on_step(look)
        u = numbers(4, 5, 6)
        with writer.step(3, 0.0):
            writer.put("u", u)
    assert seen == [(3, u.ctypes.data, u[2, 3, 4])]


def test_an_error_of_a_function_inside_the_step_ends_the_step_with_its_cause() -> None:
    kept = []
    with box_writer({"engine": "inproc"}) as writer:
        writer.field("u", "box")
        writer.block(1, "box", (4, 5, 6))
        writer.on_step(lambda step: kept.append(step.blocks[0].view("u")) or 1 / (step.index - 1))

        def publish(index: int) -> None:
            with writer.step(index, 0.0):
                writer.put("u", np.zeros((4, 5, 6)))

        with pytest.raises(staging.StagingError, match="ZeroDivisionError") as caught:
            publish(1)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        kept.clear()
        with pytest.raises(staging.StagingError, match="1 array of view"):
            publish(2)
        kept.clear()


class Tape(WriterEngine):
    """Engine that stores the published steps."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, list[np.ndarray]]] = []
        self.closed = False

    def publish(self, part: Any, values: list[np.ndarray]) -> int | None:
        self.steps.append((part, [value.copy() for value in values]))
        return len(self.steps) - 1

    def close(self) -> None:
        self.closed = True

    def counters(self) -> Counters:
        return Counters(published=len(self.steps))


class Player(Source):
    """Source of the steps of a Tape."""

    def __init__(self, tape: Tape) -> None:
        self.tape, self.at, self.log = tape, 0, list[str]()

    def next(self, limit: float) -> bytes | Literal["timeout", "ended"]:
        if self.at == len(self.tape.steps):
            return "ended"
        self.at += 1
        return _core.staging.announce(self.at - 1, self.tape.steps[self.at - 1][0])

    def begin(self, sequence: int, step: Any) -> None:
        self.log.append(f"begin {sequence}")

    def fetch(self, sequence: int, wanted: list[Piece], limit: float) -> None:
        for _, block, array, (start, count), first, components, to in wanted:
            if sequence == 1:
                raise staging.PeerSilent("The tape is torn.")
            part, values = self.tape.steps[sequence]
            before = sum(len(entry[5]) for entry in part.blocks[:block])
            box = tuple(slice(s, s + n) for s, n in zip(start, count, strict=True))
            to[...] = values[before + array][(*box, slice(first, first + components))]

    def end(self, sequence: int) -> None:
        self.log.append(f"end {sequence}")

    def release(self, sequence: int) -> None:
        self.log.append(f"release {sequence}")

    def close(self) -> None:
        self.log.append("close")


def test_an_engine_and_a_source_may_be_written_in_python() -> None:
    tape = Tape()
    with staging.Writer.with_engine("s", None, tape) as writer:
        writer.uniform_mesh("box", (4, 5, 6))
        writer.field("u", "box")
        writer.block(1, "box", ((0, 0, 0), (4, 5, 2)))
        writer.block(2, "box", ((0, 0, 2), (4, 5, 4)))
        u = numbers(4, 5, 6)
        for index in range(2):
            with writer.step(index, 0.0):
                writer.put("u", u[..., :2], block=1)
                writer.put("u", u[..., 2:], block=2)
        assert writer.counters().published == 2
    assert tape.closed
    player = Player(tape)
    with staging.Reader.with_source(player) as reader:
        step = reader.next(1.0)
        assert step is not None
        np.testing.assert_array_equal(step.read("u", np.s_[1:, 1:4, 1:5]), u[1:, 1:4, 1:5])
        step = reader.next(1.0)
        assert step is not None
        with pytest.raises(staging.PeerSilent, match=r"^The tape is torn\.$"):
            step.read("u")
        assert reader.next(1.0) is None and reader.ended
    assert player.log == [
        *("begin 0", "end 0", "release 0", "begin 1", "end 1", "release 1", "close"),
    ]


@pytest.mark.parametrize(
    ("misuse", "sentence"),
    [
        (lambda w: w.put("w", np.zeros((4, 5, 6))), "'w' is not known|\"w\" is not known"),
        (lambda w: w.put("u", np.zeros((4, 5, 6), np.float32)), "float64.*float32"),
        (lambda w: w.put("u", np.zeros((4, 5))), "z, y, x"),
        (lambda w: w.put("u", np.zeros((4, 5, 7))), "7"),
        (lambda w: w.put("u", np.zeros((4, 5, 6)), block=3), "3"),
        (lambda w: w.put("u", np.zeros((4, 5, 6)), ghosts=(1, 2)), "Ghost widths"),
        (lambda w: w.field("k", "box", dtype=np.complex128), "complex128"),
        (lambda w: w.field("k", "box", "edges"), "edges"),
    ],
)
def test_misuse_is_refused_in_a_sentence(misuse: Any, sentence: str) -> None:
    with box_writer({"engine": "inproc"}) as writer:
        writer.field("u", "box")
        writer.block(1, "box", (4, 5, 6))
        writer.begin_step(0, 0.0)
        with pytest.raises(staging.StagingError, match=sentence):
            misuse(writer)
        writer.put("u", np.zeros((4, 5, 6)))
        writer.end_step()


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"engine": "shn"}, "shm"),
        ({"queue": {"depht": 2}}, r"queue\.depht.*depth"),
        ({"engine": "adios2", "adios2": {"kind": "bp9"}}, "bp9.*sst, bp5"),
        ({"engine": "adios2", "adios2": {"knd": "sst"}}, "kind"),
        ({"engine": "adios2", "queue": {"policy": "drop_oldest"}}, "drop_oldest"),
        ({"engine": "adios2", "queue": {"bytes": "1 GB"}}, "bytes"),
        ({"engine": "adios2", "checksums": True}, "checksums"),
    ],
)
def test_wrong_options_name_the_key(chosen: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(staging.StagingError, match=sentence):
        staging.open("s", None, chosen)


def test_the_environment_names_options_that_replace_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.yaml").write_text("engine: tcp\n")
    (tmp_path / "two.yaml").write_text("engine: inproc\n")
    monkeypatch.setenv("UZUSHIO_STAGING", str(tmp_path / "two.yaml"))
    with staging.open("s", None, tmp_path / "one.yaml") as writer:
        writer.on_step(lambda step: None)  # only inproc can
    monkeypatch.setenv("UZUSHIO_STAGING", str(tmp_path / "three.yaml"))
    with pytest.raises(staging.StagingError, match=r"three\.yaml"):
        staging.open("s", None, tmp_path / "one.yaml")


def test_a_reader_alone_starts_no_mpi(tmp_path: Path) -> None:
    with box_writer(options("file", tmp_path)) as writer:
        writer.field("u", "box")
        writer.block(1, "box", (4, 5, 6))
        with writer.step(0, 0.0):
            writer.put("u", np.ones((4, 5, 6)))
    program = (
        "import sys; from uzushio import staging\n"
        f"with staging.attach({str(tmp_path / 's.zarr')!r}) as reader:\n"
        "    print([float(step.read('u').sum()) for step in reader], 'mpi4py' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split("\n")[0] == "[120.0] False", done.stderr


def test_inspect_prints_what_a_stream_offers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    from uzushio._cli.inspect import print_stream

    with box_writer(options("file", tmp_path)) as writer:
        writer.field("u", "box", unit="m/s")
        writer.block(1, "box", (4, 5, 6))
        for index in range(3):
            with writer.step(index, 0.5 * index):
                writer.put("u", numbers(4, 5, 6) + index)
    assert print_stream(str(tmp_path / "s.zarr"), Console(width=200), 0, 10.0) == 3
    printed = capsys.readouterr().out
    assert "0 … 119" in printed and "m/s" in printed and "4 × 5 × 6" in printed
    assert "step 2  t 1  " in printed and "u 2 … 121" in printed


@pytest.mark.parametrize(
    ("more", "sentence"), [({"dtype": ">f8"}, "float64"), ({"components": -1}, "-1 components")]
)
def test_a_field_that_cannot_be_is_refused(
    more: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with (
        u_writer("shm", tmp_path) as writer,
        pytest.raises(staging.StagingError, match=sentence),
    ):
        writer.field("v", "box", **more)


@pytest.mark.parametrize(
    "text", ["engine: !!python/name:os.system x\nadios2: {}\n", "\tengine: shm\n"]
)
def test_invalid_yaml_is_reported_with_its_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "staging.yaml"
    file.write_text(text)
    with pytest.raises(staging.StagingError, match=r"staging\.yaml"):
        staging.open("s", None, file)


@pytest.mark.parametrize(
    ("wanted", "more", "sentence"),
    [(np.s_[..., 0], {}, "integers and slices"), (None, {"out": [1]}, "not a list")],
)
def test_invalid_targets_and_selections_are_reported(
    wanted: Any, more: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with u_writer("shm", tmp_path) as writer, staging.attach(contact("shm", tmp_path)) as reader:
        with writer.step(0, 0.0):
            writer.put("u", numbers(4, 5, 6))
        with pytest.raises(staging.StagingError, match=sentence):
            reader.next(20.0).read("u", wanted, **more)


def test_an_invalid_contact_is_reported(tmp_path: Path) -> None:
    with pytest.raises(staging.StagingError, match=r"folder .*nowhere does not exist"):
        box_writer({"engine": "shm", "contact": tmp_path / "nowhere" / "s.contact"})
    script = tmp_path / "solver.py"
    script.write_text("print(1)")
    script.chmod(0o644)
    with pytest.raises(staging.StagingError, match="is not a contact file"):
        staging.attach(script)


def test_a_second_writer_does_not_replace_the_contact_of_a_living_one(tmp_path: Path) -> None:
    def script(ending: str) -> list[str]:
        lines = [
            "from uzushio import staging",
            "w = staging.open('box', None, {'engine': 'shm', 'contact': 's.contact'})",
            ending,
        ]
        return [sys.executable, "-c", "\n".join(lines)]

    with u_writer("shm", tmp_path) as writer:
        second = subprocess.run(
            script("w.close()"), cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert second.returncode == 1
        assert f"is in use: process {os.getpid()} on" in second.stderr
        with writer.step(0, 0.0):
            writer.put("u", numbers(4, 5, 6))
        with staging.attach(contact("shm", tmp_path), attach_limit=20.0) as reader:
            assert reader.next(20.0) is not None
    # The file of a killed writer does not affect others.
    killed = script("import os; os.kill(os.getpid(), 9)")
    assert subprocess.run(killed, cwd=tmp_path, timeout=60, check=False).returncode == -9
    assert (contact("shm", tmp_path)).exists()
    with u_writer("shm", tmp_path), staging.attach(contact("shm", tmp_path)):
        pass


def test_end_step_reports_steps_that_a_slow_reader_does_not_get(tmp_path: Path) -> None:
    queue = {"policy": "block", "depth": 3, "time_limit": 0.05}
    with box_writer(options("shm", tmp_path, queue=queue)) as writer:
        writer.field("u", "box")
        writer.block(0, "box", (4, 5, 6))
        reader = staging.attach(contact("shm", tmp_path))
        taken = []
        for number in range(8):
            with writer.step(number, 0.0) as opened:
                writer.put("u", numbers(4, 5, 6))
            if opened.sequence is not None:
                taken.append(number)
        counters = writer.counters()
        assert taken == [0, 1, 2]
        assert (counters.published, counters.dropped) == (8, 5)
        assert counters.seconds_waited < 1.0, "one limit, not five"
        for number in taken:
            step = reader.next(20.0)
            assert step is not None and step.index == number
        reader.detach()


def test_a_tilde_in_paths_of_staging_is_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "options.yaml").write_text("engine: file\nfile: {folder: ~/steps.zarr}\n")
    for given_options in ("~/options.yaml", {"engine": "file", "file": {"folder": "~/steps.zarr"}}):
        with staging.open("wave", options=given_options) as writer:
            writer.rectilinear_mesh("box", [np.arange(n + 1.0) for n in (2, 3, 4)])
            writer.field("u", "box")
            writer.block(0, "box", (2, 3, 4))
            with writer.step(0, 0.0):
                writer.put("u", np.ones((2, 3, 4)), block=0)
        assert (tmp_path / "steps.zarr").is_dir() and not (tmp_path / "~").exists()
        with staging.attach("~/steps.zarr", attach_limit=5.0) as reader:
            step = reader.next()
            assert step is not None and np.sum(step.read("u")) == 24.0
        shutil.rmtree(tmp_path / "steps.zarr")
