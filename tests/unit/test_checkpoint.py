"""Checkpoints on one rank: contents, number kept, detection of damage."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from mpi4py import MPI

from uzushio._base.store import checkpoint
from uzushio._base.store.checkpoint import folder as folders
from uzushio._base.store.checkpoint import writing
from uzushio.errors import CheckpointError, OutputError
from uzushio.solvers.contract import DistributedArray, State

COMM = MPI.COMM_SELF
SHAPE = (5, 4, 3)


def snapshot(step: int, **more: np.ndarray) -> checkpoint.Snapshot:
    values = np.random.default_rng(step).normal(size=SHAPE)
    arrays = {"u": values, **more}
    boxes = {
        name: DistributedArray(a.shape, a.dtype, [((0,) * a.ndim, a)]) for name, a in arrays.items()
    }
    return checkpoint.Snapshot(
        solver="toy",
        case="digest",
        step=step,
        time=0.1 * step,
        state=State(boxes, {"dt": 0.1 + 0.2, "name": "渦", "n": np.int64(3)}),
        averages={"mean": np.linspace(0.0, 1.0, 7) * step, "k": np.array(0.3)},
        notes={"samples": 3, "dims": {"mean": ["z"], "k": []}},
    )


def write(run: Path, step: int, keep: int = 3, **more: np.ndarray) -> Path:
    return checkpoint.write(run, snapshot(step, **more), keep, COMM)


def names(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").iterdir())


def test_arrays_that_are_the_same_as_before_share_its_files(tmp_path: Path) -> None:
    kept, other = np.arange(6.0).reshape(2, 3), np.ones((2, 2))
    before = write(tmp_path, 1, kept=kept, other=other)
    after = checkpoint.write(
        tmp_path, snapshot(2, kept=kept, other=other + 1), 3, COMM, before, ["kept", "other.gone"]
    )
    first_file, two = ((path / "state/kept/c.1.0").stat() for path in (before, after))
    assert first_file.st_ino == two.st_ino
    assert (after / "state/other/c.1.0").stat().st_nlink == 1
    checkpoint.write(tmp_path, snapshot(3, kept=kept), 1, COMM, after, ["kept"])
    assert names(tmp_path) == ["step-00000003"]
    stored = checkpoint.open_checkpoint(tmp_path, COMM).state()
    assert np.array_equal(stored.read("kept", (0, 0), (2, 3)), kept)


def test_without_hard_links_all_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, link = np.arange(6.0).reshape(2, 3), os.link
    before = write(tmp_path, 1, kept=kept)

    def refuse(source: Path, *more: Any, **options: Any) -> None:
        if before in Path(source).parents:
            raise PermissionError("links are not supported")
        link(source, *more, **options)

    monkeypatch.setattr("os.link", refuse)
    checkpoint.write(tmp_path, snapshot(2, kept=kept), 3, COMM, before, ["kept"])
    stored = checkpoint.open_checkpoint(tmp_path, COMM).state()
    assert np.array_equal(stored.read("kept", (0, 0), (2, 3)), kept)
    assert (before / "state/kept/c.1.0").stat().st_nlink == 1


def test_stored_arrays_are_read_back_bit_for_bit(tmp_path: Path) -> None:
    spectrum = np.array([[1 + 2j, math.pi], [-0.0, 1e-320]], np.complex128)
    zeros = np.zeros((3, 2), np.float32)
    write(tmp_path, 7, spectrum=spectrum, zeros=zeros)
    opened_checkpoint = checkpoint.open_checkpoint(tmp_path, COMM)
    stored = opened_checkpoint.state()
    assert (opened_checkpoint.manifest.step, opened_checkpoint.manifest.time) == (7, 0.1 * 7)
    assert stored.attributes == {"dt": 0.1 + 0.2, "name": "渦", "n": 3}
    assert stored.shapes == {"u": SHAPE, "spectrum": (2, 2), "zeros": (3, 2)}
    u = np.random.default_rng(7).normal(size=SHAPE)
    assert np.array_equal(stored.read("u", (0, 0, 0), SHAPE), u)
    assert np.array_equal(stored.read("u", (1, 2, 0), (3, 1, 2)), u[1:4, 2:3, 0:2])
    assert stored.read("spectrum", (0, 0), (2, 2)).tobytes() == spectrum.tobytes()
    assert stored.read("zeros", (0, 0), (3, 2)).dtype == np.float32
    arrays, notes = opened_checkpoint.averages()
    assert arrays["mean"].tolist() == (np.linspace(0.0, 1.0, 7) * 7).tolist()
    assert arrays["k"] == 0.3
    assert notes["samples"] == 3
    with pytest.raises(CheckpointError, match="holds no array 'w'"):
        stored.read("w", (0,), (1,))


@pytest.fixture(scope="module")
def opened() -> list[str]:
    """Files that this process has opened, from now on."""
    names: list[str] = []
    sys.addaudithook(lambda event, given: names.append(str(given[0])) if event == "open" else None)
    return names


def test_a_restart_opens_each_chunk_once(tmp_path: Path, opened: list[str]) -> None:
    path = write(tmp_path, 7)
    opened.clear()
    u = np.random.default_rng(7).normal(size=SHAPE)

    def use(opened_checkpoint: checkpoint.Checkpoint) -> None:
        stored = opened_checkpoint.state()
        assert np.array_equal(stored.read("u", (1, 2, 0), (3, 1, 2)), u[1:4, 2:3, 0:2])
        assert np.array_equal(stored.read("u", (0, 0, 0), SHAPE), u)

    checkpoint.open_checkpoint(tmp_path, COMM, use=use)
    chunks = [name for name in opened if "/state/u/c." in name]
    assert sorted(chunks) == [str(path / f"state/u/c.{k}.0.0") for k in range(SHAPE[0])]


def test_damage_found_in_the_state_goes_back_to_the_checkpoint_before(tmp_path: Path) -> None:
    write(tmp_path, 10)
    flip(write(tmp_path, 20) / "state/u/c.3.0.0")
    u = np.zeros(SHAPE)

    def use(opened_checkpoint: checkpoint.Checkpoint) -> None:
        opened_checkpoint.state().fill("u", DistributedArray(SHAPE, u.dtype, [((0, 0, 0), u)]))

    with pytest.raises(CheckpointError, match=r"c\.3\.0\.0 .* has a wrong checksum"):
        checkpoint.open_checkpoint(tmp_path, COMM, use=use)
    older = checkpoint.open_checkpoint(tmp_path, COMM, fallback=True, use=use)
    assert older.manifest.step == 10
    assert np.array_equal(u, np.random.default_rng(10).normal(size=SHAPE))


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compressed_states_are_read_back_bit_for_bit(tmp_path: Path, compression: str) -> None:
    values = np.arange(200.0).reshape(2, 10, 10)
    values[0, 0, :4] = math.nan, math.inf, -math.inf, -0.0
    values.view(np.uint64)[0, 0, 0] |= 5  # payload of the NaN
    ints = np.arange(90, dtype=np.int32).reshape(3, 30)
    path = checkpoint.write(
        tmp_path, snapshot(1, values=values, ints=ints), 1, COMM, compression=compression
    )
    stored = checkpoint.open_checkpoint(tmp_path, COMM).state()
    for name, array in (("values", values), ("ints", ints)):
        assert stored.read(name, (0,) * array.ndim, array.shape).tobytes() == array.tobytes()
        with_zarr = zarr.open_array(path / "state" / name, mode="r")[...]
        assert np.asarray(with_zarr).tobytes() == array.tobytes()
    assert (path / "state/values/c.0.0.0").stat().st_size < 0.8 * 8 * 100
    recorded = checkpoint.open_checkpoint(path, COMM).manifest.compression
    assert recorded is not None
    assert recorded["name"] == compression
    assert recorded["ratio"] > 1
    flip(path / "state/values/c.0.0.0")
    with pytest.raises(CheckpointError, match="wrong checksum"):
        checkpoint.open_checkpoint(tmp_path, COMM)


def test_small_planes_share_chunks_but_leave_one_for_each_of_32_writers(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(100, 4, 5))
    path = write(tmp_path, 1, values=values)
    array = zarr.open_array(path / "state/values", mode="r")
    assert array.chunks == (3, 4, 5)  # the last one is padded
    assert np.array_equal(array[...], values)
    read = checkpoint.open_checkpoint(tmp_path, COMM).state().read
    assert np.array_equal(read("values", (97, 0, 0), (3, 4, 5)), values[97:])


def test_a_strided_view_is_stored_as_its_values(tmp_path: Path) -> None:
    padded = np.random.default_rng(0).normal(size=(6, 8, 10))
    view = padded[1:-1, 1:-1, ::2]
    write(tmp_path, 1, view=view)
    read = checkpoint.open_checkpoint(tmp_path, COMM).state().read
    assert np.array_equal(read("view", (0, 0, 0), view.shape), view)


def test_the_newest_are_kept_and_incomplete_ones_removed(tmp_path: Path) -> None:
    for step in (10, 20, 30):
        write(tmp_path, step, keep=2)
    assert names(tmp_path) == ["step-00000020", "step-00000030"]
    (tmp_path / "checkpoints/step-00000030/manifest.json").unlink()
    assert checkpoint.newest(tmp_path) == tmp_path / "checkpoints/step-00000020"
    write(tmp_path, 40, keep=2)
    assert names(tmp_path) == ["step-00000020", "step-00000040"]


def test_a_step_written_again_replaces_its_checkpoint(tmp_path: Path) -> None:
    write(tmp_path, 10, extra=np.ones(4))
    write(tmp_path, 10)
    assert set(checkpoint.open_checkpoint(tmp_path, COMM).state().shapes) == {"u"}


def test_later_checkpoints_are_set_aside(tmp_path: Path) -> None:
    for _ in range(2):
        for step in (10, 20, 30):
            write(tmp_path, step)
        checkpoint.set_aside(tmp_path, after=10)
    assert names(tmp_path) == [
        "step-00000010",
        "step-00000020.set-aside",
        "step-00000020.set-aside-2",
        "step-00000030.set-aside",
        "step-00000030.set-aside-2",
    ]
    assert checkpoint.newest(tmp_path) == tmp_path / "checkpoints/step-00000010"


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


DAMAGE = [
    (
        flip,
        "state/u/c.3.0.0",
        r"\(\[3:4, 0:4, 0:3\] of 'u'\) has a wrong checksum",
    ),
    (truncate, "state/u/c.3.0.0", r"state/u/c\.3\.0\.0 is truncated or altered \(91 bytes ins"),
    (Path.unlink, "state/u/c.3.0.0", r"state/u/c\.3\.0\.0: No such file"),
    (Path.unlink, "manifest.json", r"is incomplete: it has no manifest\.json"),
    (truncate, "manifest.json", r"manifest\.json cannot be read"),
    (flip, "manifest.json", r"manifest\.json cannot be read"),
    (flip, "statistics/mean/c.0", r"its statistics cannot be read"),
    (truncate, "state/u/zarr.json", r"state/u/zarr\.json is truncated"),
]


@pytest.mark.parametrize(("harm", "file", "sentence"), DAMAGE)
def test_damage_is_named_and_the_checkpoint_before_is_offered(
    tmp_path: Path, harm: Callable[[Path], None], file: str, sentence: str
) -> None:
    write(tmp_path, 10)
    newest = write(tmp_path, 20)
    harm(newest / file)
    messages: list[str] = []
    with pytest.raises(CheckpointError, match=sentence) as caught:
        checkpoint.open_checkpoint(newest, COMM)
    assert "With --restart-fallback, step-00000010 is used instead." in str(caught.value)
    assert str(newest) in str(caught.value)
    opened_checkpoint = checkpoint.open_checkpoint(
        newest, COMM, fallback=True, tell=messages.append
    )
    assert opened_checkpoint.manifest.step == 10
    assert len(messages) == 1
    assert "Going back to step-00000010." in messages[0]


def instead(path: str, other: str) -> Callable[[Path], None]:
    """Put one file of a checkpoint, or of the one before, in the place of another."""

    def harm(newest: Path) -> None:
        shutil.copy(newest / other, newest / path)

    return harm


def refill(newest: Path) -> None:
    """Another fill value, in a text of the same length."""
    file = newest / "state/u/zarr.json"
    file.write_text(file.read_text().replace('"fill_value": 0.0', '"fill_value": 1.0'))


@pytest.mark.parametrize(
    ("harm", "file"),
    [
        (instead("state/u/c.3.0.0", "state/u/c.2.0.0"), "state/u/c.3.0.0 ([3:4, 0:4, 0:3] of 'u')"),
        (instead("state/u/c.3.0.0", "state/v/c.3.0.0"), "state/u/c.3.0.0 ([3:4, 0:4, 0:3] of 'u')"),
        (
            instead("state/v/c.0.0.0", "../step-00000010/state/v/c.0.0.0"),
            "state/v/c.0.0.0 ([0:1, 0:4, 0:3] of 'v')",
        ),
        (instead("statistics/mean/c.0", "../step-00000010/statistics/mean/c.0"), "statistics/mean"),
        (refill, "state/u/zarr.json"),
    ],
)
def test_a_chunk_in_the_place_of_another_is_detected(
    tmp_path: Path, harm: Callable[[Path], None], file: str
) -> None:
    v = np.random.default_rng(1).normal(size=SHAPE)
    write(tmp_path, 10, v=v)
    newest = write(tmp_path, 20, v=v + 1.0)
    harm(newest)
    with pytest.raises(CheckpointError, match=re.escape(file)) as caught:
        checkpoint.open_checkpoint(newest, COMM)
    assert "is not what was written there" in str(caught.value)
    assert checkpoint.open_checkpoint(newest, COMM, fallback=True).manifest.step == 10


def test_chunks_that_are_shared_with_another_checkpoint_are_known_too(tmp_path: Path) -> None:
    kept = np.arange(6.0).reshape(2, 3)
    before = write(tmp_path, 1, kept=kept)
    after = checkpoint.write(tmp_path, snapshot(2, kept=kept), 3, COMM, before, ["kept"])
    checkpoint.open_checkpoint(after, COMM)
    (after / "state/kept/c.0.0").unlink()
    shutil.copy(after / "state/kept/c.1.0", after / "state/kept/c.0.0")
    with pytest.raises(CheckpointError, match=r"\[0:1, 0:3\] of 'kept'"):
        checkpoint.open_checkpoint(after, COMM)


def test_a_folder_of_another_step_is_refused(tmp_path: Path) -> None:
    written = write(tmp_path, 10)
    moved = written.rename(written.with_name("step-00000030"))
    with pytest.raises(CheckpointError, match="its manifest is of step 10"):
        checkpoint.open_checkpoint(moved, COMM)


def test_checkpoints_of_the_first_format_are_read(tmp_path: Path) -> None:
    """They have sizes of files, and no checksums."""
    path = write(tmp_path, 10)
    content = json.loads((path / "manifest.json").read_text())["content"]
    content["files"] = {name: size for name, (size, _) in content["files"].items()}
    crc = zlib.crc32(json.dumps(content, sort_keys=True).encode())
    old = {"format": 1, "crc32": crc, "content": content}
    (path / "manifest.json").write_text(json.dumps(old))
    opened_checkpoint = checkpoint.open_checkpoint(tmp_path, COMM)
    u = np.random.default_rng(10).normal(size=SHAPE)
    assert np.array_equal(opened_checkpoint.state().read("u", (0, 0, 0), SHAPE), u)
    flip(path / "state/u/c.0.0.0")
    with pytest.raises(CheckpointError, match="has a wrong checksum"):
        checkpoint.open_checkpoint(tmp_path, COMM)


def test_without_an_older_checkpoint_the_fallback_reports_it(tmp_path: Path) -> None:
    flip(write(tmp_path, 10) / "state/u/c.0.0.0")
    with pytest.raises(CheckpointError, match="There is no older checkpoint"):
        checkpoint.open_checkpoint(tmp_path, COMM, fallback=True)


def test_a_folder_without_checkpoints_is_an_error_with_its_contents(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="holds no complete checkpoint"):
        checkpoint.open_checkpoint(tmp_path / "none", COMM)
    (write(tmp_path, 10) / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"step-00000010 has no manifest\.json"):
        checkpoint.open_checkpoint(tmp_path, COMM)
    write(tmp_path, 20)
    with pytest.raises(CheckpointError, match=r"does not exist; there are: step-00000020"):
        checkpoint.open_checkpoint(tmp_path / "checkpoints/step-00000030", COMM)


def test_another_format_is_refused(tmp_path: Path) -> None:
    manifest = write(tmp_path, 10) / "manifest.json"
    data = json.loads(manifest.read_text()) | {"format": 99}
    manifest.write_text(json.dumps(data))
    with pytest.raises(CheckpointError, match="has format 99"):
        checkpoint.open_checkpoint(tmp_path, COMM)


@pytest.mark.parametrize("stage", ["_create", "receive_all", "seal_all", "write_manifest"])
def test_a_full_disk_keeps_the_old_checkpoint_and_removes_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    write(tmp_path, 10, keep=1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(writing, stage, full)
    with pytest.raises(OutputError, match=r"step 20 \(480 bytes\) cannot .* No space left"):
        write(tmp_path, 20, keep=1)
    assert names(tmp_path) == ["step-00000010"]
    assert checkpoint.open_checkpoint(tmp_path, COMM).manifest.step == 10


def test_removing_starts_with_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, 10)
    seen = []
    monkeypatch.setattr(
        folders.shutil, "rmtree", lambda _: seen.append((path / "manifest.json").exists())
    )
    folders.remove(path)
    assert seen == [False]


def test_boxes_that_do_not_make_up_the_array_are_a_mistake(tmp_path: Path) -> None:
    part = DistributedArray((4, 4), np.dtype(float), [((0, 0), np.zeros((4, 3)))])
    bad = checkpoint.Snapshot("toy", "", 1, 0.0, State({"u": part}))
    with pytest.raises(ValueError, match="do not make up the array"):
        checkpoint.write(tmp_path, bad, 1, COMM)
