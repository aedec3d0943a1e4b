"""Limits of pipelines: conflicting files, no steps, flat, thin and decreasing meshes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pipeline_case import Flow, Lines, stretched

from uzushio.errors import PipelineError, StagingError
from uzushio.pipeline.drawing import Drawing

LINES: Lines = (stretched(9, -1.0, 1.0), stretched(8), stretched(11))


def flow() -> Flow:
    fields = {
        "u": ("m", lambda x, y, z, n: n + x * y),
        "v": ("m", lambda x, y, z, n: z - n * x),
    }
    return Flow({"m": LINES}, fields)


@pytest.mark.parametrize(
    ("actions", "file"),
    [
        (("count: {fields: [u], file: a.txt}", "count: {fields: [v], file: ./a.txt}"), "a"),
        (("slice: {field: u, movie: a.mp4}", "slice: {field: v, movie: a.mp4}"), "a.mp4"),
        (
            ("slice: {field: u, file: 'a{step}.png'}", "slice: {field: v, file: 'a{step}.png'}"),
            "a0",
        ),
        (("extract: {fields: [u], to: other.zarr}", "statistics: {fields: [u]}"), "other.zarr"),
        (("extract: {fields: [u], to: a.zarr}", "extract: {fields: [v], to: a.zarr}"), "a.zarr"),
    ],
)
def test_two_actions_do_not_write_to_one_file(
    tmp_path: Path, actions: tuple[str, str], file: str
) -> None:
    text = f"actions:\n- {{{actions[0]}, name: one}}\n- {{{actions[1]}, name: other}}\n"
    with pytest.raises(PipelineError, match=rf":3: the actions one and other both write {file}"):
        flow().inside(text, tmp_path)


def test_counts_without_a_name_have_files_of_their_own(tmp_path: Path) -> None:
    pipeline = flow().inside(
        "actions:\n- {count: {fields: [u]}}\n- {count: {fields: [v]}}", tmp_path, 2
    )
    for number, field in enumerate("uv"):
        assert pipeline.summary()["actions"][f"count{number}"]["steps"] == 2
        lines = (tmp_path / f"out/count{number}.jsonl").read_text().splitlines()
        assert [list(json.loads(line)) for line in lines] == [["step", "time", field]] * 2


def test_without_a_step_there_is_a_summary_and_nothing_to_finish(tmp_path: Path) -> None:
    messages: list[str] = []
    text = """\
actions:
- {count: {fields: [u]}}
- {slice: {field: u, movie: a.mp4}}
- {plot: {profile: {fields: [u], along: z}}}
- {probe: {fields: [u], points: [[0.5, 0.5, 0.5]]}}
- {statistics: {fields: [u]}}
- {extract: {fields: [u], to: [a.zarr, a.vtkhdf]}}
"""
    pipeline = flow().inside(text, tmp_path, 0, messages)
    summary = pipeline.summary()
    assert summary["steps"] == 0 and pipeline.failures == 0 and not messages
    assert [action["runs"] for action in summary["actions"].values()] == [0] * 6


def test_slices_outside_the_mesh_and_decreasing_coordinates_are_reported(
    tmp_path: Path,
) -> None:
    messages: list[str] = []
    around = "view: {size: [32, 32]}"
    actions = f"actions:\n- {{slice: {{field: u, at: 7, {around}}}}}"
    for steps, which in ((1, "The picture is"), (2, "All 2 pictures are")):
        messages.clear()
        pipeline = flow().inside(actions, tmp_path / str(steps), steps, messages)
        outside, blank = messages
        assert "slice of u lies outside of the mesh" in outside
        assert f"{which} blank: nothing of the layers is in view." in blank
        assert pipeline.failures == 1
        assert len([*(tmp_path / str(steps)).rglob("*.png")]) == steps
    falls = Flow({"m": (LINES[0][::-1].copy(), *LINES[1:])}, flow().fields)
    with pytest.raises(StagingError, match="along z do not increase"):
        falls.inside(f"actions:\n- {{slice: {{field: u, {around}}}}}", tmp_path / "falls")


def test_a_thin_mesh_needs_only_the_samples_of_its_cells() -> None:
    from uzushio.raycast import default_step

    line = np.linspace(0, 1, 65)
    assert default_step((line, line, line)) == 1 / 64
    assert default_step((line[::32] * 1e-2, line, line)) == pytest.approx(5e-3)
    for thin in (1e-6, 1e-12):
        assert np.sqrt(2) / default_step((line[:2] * thin, line, line)) <= 8 * 129 + 1e-6


@pytest.mark.parametrize("camera", ["top", "isometric"])
def test_a_flat_mesh_is_a_thin_plate_with_the_same_values_on_both_sides(
    tmp_path: Path, camera: str
) -> None:
    half = 0.5e-3 * np.sqrt(np.ptp(LINES[1]) * np.ptp(LINES[2]))
    angled = "{name: top, elevation: -40}" if camera == "top" else camera
    pictures = []
    text = f"""\
actions:
- slice: {{field: u, view: {{size: [96, 64], camera: {camera}}}}}
- isosurface: {{field: u, values: 0.3, view: {{size: [96, 64], camera: {angled}}}}}
"""
    for name, heights in (("flat", [0.7]), ("plate", [0.7 - half, 0.7 + half])):
        made = Flow({"m": (np.array(heights), *LINES[1:])}, {"u": flow().fields["u"]})
        pipeline = made.inside(text, tmp_path / name)
        assert pipeline.failures == 0
        pictures.append(
            [
                np.asarray(Image.open(p))
                for p in sorted((tmp_path / name / "out/pictures").iterdir())
            ]
        )
    for flat, plate in zip(*pictures, strict=True):
        np.testing.assert_array_equal(flat, plate)
        assert np.ptp(flat) > 200


def test_bodies_that_a_solver_marks_are_grey_in_pictures(tmp_path: Path) -> None:
    line = np.linspace(-1.0, 1.0, 41)
    fields = {
        "u": ("m", lambda x, y, z, n: x + 0 * z),
        "T": ("m", lambda x, y, z, n: y + 0 * z),
        "fluid": ("m", lambda x, y, z, n: (np.hypot(x, y) > 0.5) + 0.0 * z),
    }
    lines = {"m": (np.array([0.0]), line, line)}
    text = """\
actions:
- {slice: {field: u, file: u.png, view: &view {size: [200, 150], legend: false, axes: false}}}
- {slice: {field: T, file: T.png, view: *view}}
- {slice: {field: u, file: none.png, view: {<<: *view, bodies: false}}, name: none}
"""
    about = {"body_mask": "fluid", "conducted": "T"}
    messages: list[str] = []
    made = Flow(lines, fields, attributes=about)  # type: ignore[arg-type]
    assert made.inside(text, tmp_path, messages=messages).failures == 0 and not messages
    grey = {
        name: (np.asarray(Image.open(tmp_path / f"out/{name}.png")) == 0xB0).all(axis=2)
        for name in ("u", "T", "none")
    }
    rows, columns = np.nonzero(grey["u"])
    assert grey["u"].sum() == pytest.approx(np.pi / 4 * np.ptp(rows) * np.ptp(columns), rel=0.1)
    assert not grey["T"].any() and not grey["none"].any()


def test_pictures_read_the_ghosts_that_narrow_cells_need(
    tmp_path: Path,
) -> None:
    z = np.append(1e-5 * np.arange(9.0), [0.5, 1.0])
    made = Flow({"m": (z, *LINES[1:])}, {"u": ("m", lambda x, y, z, n: x * y + z)})
    text = """\
views:
  v: {size: [32, 32], layers: [{kind: isosurface, field: u, values: [0.3]}]}
actions:
- {picture: {view: v, file: p.png}}
"""
    pipeline = made.inside(text, tmp_path, 1)
    (drawing,) = (
        shared for shared in pipeline._setup.shared.values() if isinstance(shared, Drawing)
    )
    (need,) = drawing._needs
    # Half of 1/16384 of the axis is 3.1 cells; a normal takes one more.
    assert need.ghosts == 4 + 1
