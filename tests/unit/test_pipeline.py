"""Pipelines: content of files, triggers, values of actions, and failures."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from pipeline_case import Flow, Grab, Lines, stretched

from uzushio import staging
from uzushio.domain.box import Box
from uzushio.errors import CaseError, StagingError
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline
from uzushio.pipeline.tiles import best_cut, rank_share
from uzushio.pipeline.trigger import Trigger, TriggerSettings
from uzushio.staging import Mesh
from uzushio.staging.step import Step

GRAB = "actions:\n- {grab: {fields: [u]}}"
LINES: Lines = (stretched(9, -1.0, 1.0), stretched(8), stretched(11))


def flow(**more: Any) -> Flow:
    fields = {
        "u": ("m", lambda x, y, z, n: n + x * y),
        "v": ("m", lambda x, y, z, n: z - n * x),
    }
    return Flow({"m": LINES}, fields, **more)


def mistakes(tmp_path: Path, text: str) -> str:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    with pytest.raises(CaseError) as caught:
        load(file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("action: []", "1: action is not known; did you mean 'actions'?"),
        ("actions: []", "1: actions: got [], "),
        ("actions:\n- {pictur: a}", "2: actions.0: the key 'pictur' is not known; did you mean"),
        ("actions:\n- {every: 2}", "2: actions.0: needs a kind of action (allowed: "),
        ("actions:\n- {count: {fields: [u]}, picture: a}", "an action is of one kind"),
        ("actions:\n- {count: {field: [u]}}", "count.field is not known; did you mean 'fields'?"),
        ("actions:\n- {count: {fields: [u]}, evry: 2}", "actions.0.evry is not known; did you"),
        ("actions:\n- count: {fields: [u]}\n  every: 0", "3: actions.0.every: got 0, must be"),
        ("actions:\n- count: {fields: [u]}\n- {movie: a, evry: 2}", "3: actions.1.evry is not"),
        (f"sources: {{q: {{kind: q, of: u}}}}\n{GRAB}", "sources.q.kind: got"),
        (f"sources: {{q: {{of: u}}}}\n{GRAB}", "needs 'expression' or 'kind'"),
        (f"views: {{a: {{cam: top, layers: []}}}}\n{GRAB}", "views.a.cam is not known"),
        ("a: 1\na: 2", "2: a was given before, in line 1"),
        (f"sources: {{a-b: u}}\n{GRAB}", "got 'a-b', must be letters, digits and _, and not begin"),
        (f"views: {{a: {{size: 5, layers: []}}}}\n{GRAB}", "views.a.size: got 5, must be a list"),
        (f"views: {{a: {{size: [64], layers: []}}}}\n{GRAB}", "got [64], which lacks entry 2"),
        (
            f"views: {{a: {{layers: [outline]}}}}\n{GRAB}",
            "layers.0: got 'outline', must be a section",
        ),
        (f"views: {{a: {{legend: maybe, layers: []}}}}\n{GRAB}", "must be true or false"),
        ("actions:\n- {count: {fields: []}}", "count.fields: got [], must have at least 1 entry"),
        ("actions:\n- {python: {file: 5}}", "python.file: got 5, must be a path"),
        ("actions:\n- {count: {fields: [u]}, name: a/b}", "must be letters, digits, _, - and full"),
        (
            "views:\n  a: {layers: [], camera: {direction: [0, 0, 2], up: [0, 0, 1]}}\n" + GRAB,
            "2: views.a.camera the camera looks along its own upward axis; give it another `up`",
        ),
    ],
)
def test_mistakes_in_a_file_are_reported_with_line_key_and_suggestion(
    tmp_path: Path, text: str, sentence: str
) -> None:
    message = mistakes(tmp_path, text)
    assert sentence in message and "p.yaml:" in message


def test_a_missing_file_is_reported_as_no_pipeline(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="name a pipeline file"):
        load(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("actions:\n- {count: {fields: [uu]}}", "p.yaml:2: count: the field 'uu' is not known"),
        ("actions:\n- {picture: wall}", "the view 'wall' is not known"),
        ("actions:\n- {count: {fields: [u]}, when: max(q) > 1}", "'q' is not known"),
        ("actions:\n- {count: {fields: [u]}, when: u > 1}", "reduce it to one number, as max(u)"),
        ("actions:\n- {slice: {field: w}}\n- {volume: {field: p}}", "3: volume_p: the field 'p'"),
        (
            "views:\n  a: {layers: [{kind: slice, field: p}]}\nactions:\n- {count: {fields: [u]}}",
            "p.yaml:2: views.a: the field 'p' is not known",
        ),
        (
            "actions:\n- {slice: {field: u, view: {font: none.ttf}}}",
            "p.yaml:2: slice_u: font: The font",
        ),
        (
            "actions:\n- {slice: {field: u, view: {camera: {position: [0.5, 0.5, 3]}}}}"
            "\n- {slice: {field: v, view: {camera: {position: [0.5, 0.5, 3], up: [0, 0, 1]}}}}",
            "p.yaml:3: slice_v: camera: the camera looks along its own upward axis",
        ),
    ],
)
def test_unknown_names_are_errors_before_the_first_step(
    tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "p.yaml").write_text(text)
    Grab.values.clear()
    with pytest.raises(StagingError) as caught:
        flow().inside(text + "\n- {grab: {fields: [u]}}", tmp_path)
    assert sentence.replace("p.yaml", "pipeline.yaml") in str(caught.value)
    assert not Grab.values


def fired(steps: list[tuple[int, float]], **when: Any) -> list[int]:
    trigger, fired_at = Trigger(TriggerSettings(**when)), []
    for index, time in steps:
        if trigger.due(index, time):
            fired_at.append(index)
        trigger.record_step(index, time)
    return fired_at


def test_an_action_runs_at_multiples_also_after_missed_steps() -> None:
    every = [(n, 0.1 * n) for n in range(31)]
    assert fired(every, every=10) == [0, 10, 20, 30]
    assert fired(every[1:], every=10) == [10, 20, 30]
    assert fired(every[7::4], every=10) == [11, 23]  # 7, 11, 15, 19, 23, 27
    assert fired(every, every_time=1.0) == [0, 10, 20, 30]
    assert fired(every[5::2], every_time=1.0) == [5, 11, 21]
    assert fired(every, every=10, start=0.95, end=2.0) == [10, 20]
    assert fired(every, every=3, every_time=0.5) == [0, 15, 30]
    assert fired(every) == list(range(31))


def test_conditions_over_reductions_are_those_of_the_whole_field(tmp_path: Path) -> None:
    z, y, x = np.meshgrid(*LINES, indexing="ij")
    text = """\
sources: {q: u * u}
actions:
- {grab: {fields: [u]}, name: a, when: "max(u) > 2.5 and time < 0.45"}
- {grab: {fields: [v]}, name: b, when: "std(v) > %.15g or step == 1", every: 1}
- {grab: {fields: [q]}, name: c, when: "mean(q) + 0 * sum(u * x) + 0 * min(abs(v) - z) > 9 * rho"}
"""
    spread = [np.std(z - n * x) for n in range(6)]
    Grab.values.clear()
    flow(attributes={"rho": 1.5}).inside(text % (0.5 * (spread[2] + spread[3])), tmp_path, 6)
    u = [n + x * y for n in range(6)]
    assert [n for name, n in Grab.values if name == "u"] == [2, 3, 4]
    assert [n for name, n in Grab.values if name == "v"] == [1, 3, 4, 5]
    assert [n for name, n in Grab.values if name == "q"] == [
        n for n in range(6) if np.mean(u[n] ** 2) > 13.5
    ]


def test_a_failure_is_printed_once_and_other_actions_continue(tmp_path: Path) -> None:
    messages: list[str] = []
    text = "actions:\n- {fail: {}}\n- {grab: {fields: [u]}}"
    Grab.values.clear()
    pipeline = flow().inside(text, tmp_path, 3, messages)
    assert len(messages) == 1 and "fail failed at step 0, and the others continue" in messages[0]
    assert "no good" in messages[0]
    assert len(Grab.values) == 3
    actions = pipeline.summary()["actions"]
    assert (actions["fail"]["failures"], actions["grab"]["failures"]) == (3, 0)


def test_a_failure_with_on_error_stop_stops_the_pipeline(tmp_path: Path) -> None:
    for text in (
        "on_error: stop\nactions:\n- {fail: {}}",
        "actions:\n- {fail: {}, on_error: stop}",
    ):
        with pytest.raises(StagingError, match=r"fail failed at step 0.*on_error is stop.*no good"):
            flow().inside(text, tmp_path, 3)


def test_a_source_that_cannot_be_computed_fails_only_actions_that_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from uzushio.pipeline import nodes

    def broken(*_: object) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr(nodes.Magnitude, "compute", broken)
    messages: list[str] = []
    text = """\
sources: {m: {kind: magnitude, of: [u, v]}, of_m: 2 * m, fine: u + v}
actions:
- {grab: {fields: [of_m]}, name: a}
- {grab: {fields: [fine]}, name: b}
"""
    Grab.values.clear()
    pipeline = flow().inside(text, tmp_path, 2, messages)
    assert len(messages) == 1 and "the source 'm' cannot be computed: no memory" in messages[0]
    assert pipeline.summary()["actions"]["b"]["failures"] == 0
    assert list(Grab.values) == [("fine", 0), ("fine", 1)]


def test_inside_the_solver_a_field_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, shared = flow(), []
    monkeypatch.setattr(
        Grab,
        "look",
        lambda part: shared.append(np.shares_memory(part.fields["u"], made.arrays["u"])),
    )
    pipeline = made.inside("actions:\n- {grab: {fields: [u], ghosts: 2, cells: true}}", tmp_path, 2)
    assert shared == [True, True]
    assert pipeline.summary()["bytes_kept"] == 0 and pipeline.counts.bytes_read == 0


@pytest.mark.parametrize("kind", ["vertex", "element"])
def test_several_blocks_of_a_rank_make_one_field(tmp_path: Path, kind: str) -> None:
    z, y, x = np.meshgrid(*LINES, indexing="ij")
    u, more = np.sin(z) * x + y * y, int(kind == "element")
    text = (
        "sources: {g: {kind: gradient, of: u}}\nactions:\n- {grab: {fields: [g, u], ghosts: 1}}\n"
    )
    (tmp_path / "p.yaml").write_text(text)

    def gradient(cuts: list[int]) -> np.ndarray:
        Grab.values.clear()
        pipeline = Pipeline(load(tmp_path / "p.yaml"), MPI.COMM_SELF, tmp_path, print, in_situ=True)
        with staging.open("made", MPI.COMM_SELF, {"engine": "inproc"}) as writer:
            writer.on_step(pipeline.step)
            writer.rectilinear_mesh("m", list(LINES))
            writer.field("u", "m", "vertex")
            for number, (low, high) in enumerate(itertools.pairwise(cuts)):
                end = high + 1 - more if high == 8 else high
                writer.block(number, "m", Box((low, 0, 0), (end - low, 8 - more, 11 - more)), kind)
            with writer.step(0, 0.0):
                for number, (low, high) in enumerate(itertools.pairwise(cuts)):
                    writer.put("u", u[low : high + 1 if more or high == 8 else high], number)
        pipeline.finish()
        pipeline.close()
        np.testing.assert_array_equal(Grab.values["u", 0], u)
        return Grab.values["g", 0]

    np.testing.assert_array_equal(gradient([0, 3, 5, 8]), gradient([0, 8]))


def test_arrays_of_actions_are_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = []
    monkeypatch.setattr(Grab, "look", lambda part: flags.append(part.fields["u"].flags.writeable))
    flow().inside("actions:\n- {grab: {fields: [u]}}", tmp_path)
    assert flags == [False]


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Six steps in a store."""
    store = tmp_path / "steps.zarr"
    options = {"engine": "file", "file": {"folder": str(store)}}
    with staging.open("made", MPI.COMM_SELF, options) as writer:
        flow(elements=True).write(writer, 6)
    return store


def read_of(store: Path, text: str, tmp_path: Path, monkeypatch: Any) -> list[tuple[int, str, int]]:
    """Step, name and number of values of all reads of a pipeline on a store."""
    reads = []
    read = Step.read

    def noted(step: Step, name: str, box: Any = None, **more: Any) -> np.ndarray:
        reads.append((step.index, name, box.size))
        return read(step, name, box, **more)

    monkeypatch.setattr(Step, "read", noted)
    (tmp_path / "p.yaml").write_text(text)
    pipeline = Pipeline(load(tmp_path / "p.yaml"), MPI.COMM_SELF, tmp_path / "out", print)
    with staging.attach(store, MPI.COMM_SELF) as reader:
        for step in reader:
            pipeline.step(step, reader.release)
    pipeline.finish()
    pipeline.close()
    return reads


def test_stored_steps_are_read_only_for_due_actions_and_their_fields(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """\
sources: {g: {kind: gradient, of: u}}
actions:
- {grab: {fields: [u]}, name: a, every: 4}
- {grab: {fields: [g], ghosts: 1}, name: b, every: 2}
- {grab: {fields: [v], region: [[3, 0, 0], [1, 8, 11]]}, name: c, when: max(u) > 3.5, every: 2}
"""
    Grab.values.clear()
    reads = read_of(stored, text, tmp_path, monkeypatch)
    whole = 9 * 8 * 11
    assert reads == [
        (0, "u", whole), (2, "u", whole), (4, "u", whole), (4, "v", 8 * 11),
    ]  # fmt: skip
    z, y, x = np.meshgrid(*LINES, indexing="ij")
    np.testing.assert_array_equal(Grab.values["u", 4], 4 + x * y)
    np.testing.assert_allclose(Grab.values["g", 4][..., 0], y, atol=1e-12)
    np.testing.assert_array_equal(Grab.values["v", 4][3], (z - 4 * x)[3])


def test_a_file_gives_the_same_results_inside_and_on_stored_steps(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """\
sources: {speed: sqrt(u**2 + v**2)}
actions:
- {count: {fields: [u, v, speed]}, every: 2}
- {slice: {field: speed, normal: x, view: {size: [96, 64], camera: left}, movie: s.mp4}, every: 3}
"""
    flow().inside(text, tmp_path / "in", 6)
    read_of(stored, text, tmp_path, monkeypatch)
    for name in ("count.jsonl", "pictures/slice_speed_00000003.png"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "in/out" / name).read_bytes()
    lines = (tmp_path / "out/count.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0, 2, 4]
    assert json.loads(lines[1])["u"] == {"points": 792, "nan": 0, "min": 2.0, "max": 3.0}
    assert (tmp_path / "out/s.mp4").stat().st_size > 0


def test_non_finite_values_are_counted_and_reported(tmp_path: Path) -> None:
    def holed(x: np.ndarray, y: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
        return np.where((x > 0.4) & (x < 0.6), np.nan, x + y)

    messages: list[str] = []
    made = Flow({"m": LINES}, {"u": ("m", holed)})
    text = """\
actions:
- {count: {fields: [u]}}
- {slice: {field: u, view: {size: [64, 64]}}, when: max(u) > 1}
- {isosurface: {field: u, values: 17, view: {size: [64, 64]}}}
"""
    pipeline = made.inside(text, tmp_path, 2, messages)
    line = json.loads((tmp_path / "out/count.jsonl").read_text().splitlines()[0])
    bad = int(((LINES[2] > 0.4) & (LINES[2] < 0.6)).sum()) * 9 * 8
    assert line["u"]["nan"] == bad > 0 and line["u"]["max"] == 2.0
    assert pipeline.summary()["actions"]["slice_u"]["runs"] == 2
    outside = [text for text in messages if "There is no surface of u = 17" in text]
    assert len(outside) == 1, messages


def test_a_reader_with_more_ranks_than_points_gives_some_none() -> None:
    from uzushio.pipeline.stream import Grid

    grid = Grid(Mesh("m", Box((2, 0, 0), (5, 1, 3))), "element")
    for ranks in (1, 2, 3, 7):
        owned = np.zeros((7, 1, 3), int)
        for rank in range(ranks):
            owned[rank_share(grid, rank, ranks).slices()] += 1
        assert owned[2:].min() == owned.max() == 1 and owned[:2].max() == 0
    assert best_cut((72, 64, 64), 2) == (2, 1, 1)
    assert best_cut((64, 64, 64), 4) == (2, 2, 1)
    assert best_cut((4, 64, 64), 8) == (1, 4, 2)  # the thin axis is not cut
