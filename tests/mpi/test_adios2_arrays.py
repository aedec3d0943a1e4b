"""Global arrays that plain ADIOS2 programs write are read, inspected and drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import Run

from uzushio import staging
from uzushio.errors import StagingError

_WRITER = """
import sys, time
import adios2, numpy

io = adios2.Adios().declare_io("other")
io.set_engine(sys.argv[2])
if sys.argv[2] == "SST":
    io.set_parameter("RendezvousReaderCount", "1")
lines = numpy.arange(5.0) ** 2, 0.5 * numpy.arange(4), numpy.arange(6.0)
z, y, x = numpy.meshgrid(*lines, indexing="ij")
with adios2.Stream(io, sys.argv[1], "w") as stream:
    for n in range(3):
        stream.begin_step()
        if n == 0:
            stream.write("zc", numpy.arange(5.0) ** 2, [5], [0], [5])
        stream.write("t", 0.25 * n)
        for lower, upper in ((0, 2), (2, 5)):
            part = (x + 10 * y + 100 * z + n)[lower:upper].copy()
            stream.write("temperature", part, [5, 4, 6], [lower, 0, 0], list(part.shape))
        u = numpy.stack([x, y, z], axis=-1)[1:, 1:, 1:].astype(numpy.float32).copy()
        stream.write("u", u, list(u.shape), [0] * 4, list(u.shape))
        flat = numpy.arange(12, dtype=numpy.int32).reshape(3, 4)
        stream.write("flat", flat, [3, 4], [0, 0], [3, 4])
        stream.end_step()
"""

_CONTACT = """
adios2: {{path: {path}, kind: {kind}, time: t}}
meshes:
  box: {{x: {{spacing: 1}}, y: [0, 0.5, 1, 1.5], z: zc}}
  wall: {{x: {{spacing: 0.1}}, y: {{origin: -1, spacing: 0.5}}}}
fields:
  T: {{mesh: box, variable: temperature, unit: K}}
  u: {{mesh: box, association: element, components: 3, unit: m/s}}
  flat: {{mesh: wall}}
"""


def _contact(folder: Path, kind: str) -> Path:
    file = folder / "other.yaml"
    file.write_text(_CONTACT.format(path=f"flow.{'bp' if kind == 'bp5' else 'sst'}", kind=kind))
    return file


def _started(folder: Path, kind: str) -> subprocess.Popen[str]:
    path = folder / f"flow.{'bp' if kind == 'bp5' else 'sst'}"
    engine = kind.upper()
    return subprocess.Popen([sys.executable, "-c", _WRITER, str(path), engine], text=True)


@pytest.mark.parametrize("kind", ["bp5", "sst"])
def test_arrays_of_another_program_are_fields_on_the_named_meshes(
    tmp_path: Path, kind: str
) -> None:
    contact = _contact(tmp_path, kind)
    z, y, x = np.meshgrid(np.arange(5.0) ** 2, 0.5 * np.arange(4), np.arange(6.0), indexing="ij")
    with _started(tmp_path, kind) as writer:
        if kind == "bp5":
            assert writer.wait(60) == 0
        count = 0
        with staging.attach(contact, attach_limit=60.0, step_limit=60.0) as reader:
            for n, step in enumerate(reader):
                assert (step.index, step.time) == (n, 0.25 * n)
                np.testing.assert_array_equal(step.read("T"), x + 10 * y + 100 * z + n)
                part = step.read("T", np.s_[1:4, 2, 1:5])
                np.testing.assert_array_equal(part, (x + 10 * y + 100 * z + n)[1:4, 2, 1:5])
                u = np.stack([x, y, z], axis=-1)[1:, 1:, 1:]
                np.testing.assert_array_equal(step.read("u"), u)
                assert step.read("u").dtype == np.float32
                flat = step.read("flat")
                np.testing.assert_array_equal(flat.reshape(3, 4), np.arange(12).reshape(3, 4))
                box, wall = step.meshes["box"], step.meshes["wall"]
                assert box.coordinates is not None
                np.testing.assert_array_equal(box.coordinates[0], np.arange(5.0) ** 2)
                np.testing.assert_array_equal(box.coordinates[1], 0.5 * np.arange(4))
                assert wall.dimension == 2
                assert step.fields["T"].attributes == {"unit": "K"}
                count += 1
        assert count == 3
        assert writer.wait(60) == 0


def test_commands_take_the_file_as_a_contact(tmp_path: Path, uzushio: Run) -> None:
    contact = _contact(tmp_path, "bp5")
    assert _started(tmp_path, "bp5").wait(60) == 0
    shown = uzushio("inspect", contact)
    assert shown.returncode == 0, shown.stderr
    assert "T" in shown.stdout and "box" in shown.stdout
    pipeline = tmp_path / "p.yaml"
    pipeline.write_text("actions: [{slice: {field: T, normal: y, at: 0.7}, name: cut}]\n")
    drawn = uzushio("render", pipeline, "--from", contact, "--ranks", 2, "--out", tmp_path / "out")
    assert drawn.returncode == 0, drawn.stderr
    assert len(list((tmp_path / "out").rglob("*.png"))) == 3


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("mesh: wall", "mesh: floor", "names an unknown mesh, floor"),
        ("variable: temperature", "association: element, variable: temperature", "different num"),
        ("y: [0, 0.5, 1, 1.5]", "y: [0, 0.5, 1]", "3 coordinates along y, and its fields need 4"),
        ("z: zc", "z: heights", 'no variable "heights"'),
        (
            "mesh: wall",
            "mesh: wall, variable: temperature",
            "has the shape 5 x 4 x 6; a field on the mesh",
        ),
        ("components: 3", "components: 2", "has the shape 4 x 3 x 5 x 3; a field on"),
        ("time: t", "time: clock", 'no variable "clock"'),
    ],
)
def test_a_description_that_does_not_fit_is_a_sentence(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    contact = _contact(tmp_path, "bp5")
    assert _started(tmp_path, "bp5").wait(60) == 0
    text = contact.read_text()
    assert old in text
    contact.write_text(text.replace(old, new))
    with pytest.raises(StagingError, match=sentence):
        list(staging.attach(contact, attach_limit=20.0, step_limit=20.0))
