"""Actions extract and python in a pipeline: content of files, and use of the solver's memory."""

from __future__ import annotations

import resource
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from made_stream import Made
from pipeline_case import Flow, stretched

from uzushio.errors import PipelineError

LINES = (stretched(9, 0.0, 2.0), np.linspace(0.0, 1.0, 8), np.linspace(0.0, 3.0, 11))
NEAR = int(np.abs(LINES[0] - 0.5).argmin())
UNIFORM = (np.linspace(-1.0, 1.0, 9), LINES[1], LINES[2])


def flow(lines: Any = LINES, **more: Any) -> Flow:
    fields = {
        "u": ("m", lambda x, y, z, n: n + x + 10 * y + 100 * z),
        "v": ("m", lambda x, y, z, n: np.stack([x, y * n, z], axis=-1)),
    }
    return Flow({"m": lines}, fields, **more)


def made() -> Made:
    return Made(
        LINES,
        {"u": lambda t, z, y, x: t + x + 10 * y + 100 * z},
        cuts=(2, 2, 1),
        start=(2, 0, -1),
        periodic="x",
    )


@pytest.mark.parametrize(
    ("where", "part"),
    [
        ({"at": {"z": 1.05}}, np.s_[4, :, :]),
        ({"at": {"z": -0.001}}, np.s_[0, :, :]),  # half a distance beyond the last counts
        ({"at": {"z": 0.5, "y": 0.6}, "stride": {"x": 4}}, np.s_[NEAR, 4, ::4]),
        ({"within": {"x": (0.5, 2.2)}, "stride": 2}, np.s_[::2, ::2, 2:8:2]),
        ({"at_index": {"y": 7}, "within_index": {"z": (2, 3)}}, np.s_[2:4, 7, :]),
        ({"at": {"x": 3.3 + 0.3}}, np.s_[:, :, 1]),  # around the period, which is 3.3
        ({}, np.s_[:, :, :]),
    ],
)
def test_planes_lines_boxes_and_strides_have_the_values_and_places_of_the_field(
    tmp_path: Path, where: dict[str, Any], part: Any
) -> None:
    stream = made()
    action = stream.action("extract", tmp_path, fields=["u"], **where)
    stream.run(action, [(0, 0.0), (5, 0.25)])
    with xarray.open_zarr(tmp_path / "it.zarr") as stored:
        np.testing.assert_array_equal(stored.u[1], stream.values("u", 0.25)[part])
        for axis, line, chosen in zip("zyx", LINES, part, strict=True):
            np.testing.assert_array_equal(stored[axis], line[chosen])
            assert (axis in stored.dims) == isinstance(chosen, slice)
    assert action.summary()["steps"] == 2


def test_a_curvilinear_extract_has_its_points_in_zarr_and_for_vtk(tmp_path: Path) -> None:
    from test_extracts import read_vtk
    from vtkmodules.util.numpy_support import vtk_to_numpy

    stream = made()
    z, y, x = np.meshgrid(*LINES, indexing="ij")
    stream.curved = np.stack([x, y + 0.1 * np.sin(x), z], axis=-1)
    chosen = {"within_index": {"y": (2, 5)}, "stride": {"x": 2}}
    action = stream.action("extract", tmp_path, fields=["u"], to=["a.zarr", "a.vtkhdf"], **chosen)
    stream.run(action, [(0, 0.0), (5, 0.25)])
    expected = stream.curved[:, 2:6, ::2]
    with xarray.open_zarr(tmp_path / "a.zarr") as stored:
        np.testing.assert_array_equal(stored.corners[1], expected)
    grid = read_vtk(tmp_path / "a.vtkhdf", 1)[1]
    assert grid.GetClassName() == "vtkStructuredGrid"
    np.testing.assert_array_equal(vtk_to_numpy(grid.GetPoints().GetData()), expected.reshape(-1, 3))
    with pytest.raises(PipelineError, match="choose by at_index and within_index"):
        stream.action("extract", tmp_path, "other", fields=["u"], at={"z": 1.0})


def test_single_precision_halves_the_bytes(tmp_path: Path) -> None:
    stream = made()
    stream.run(stream.action("extract", tmp_path, fields=["u"], precision="single"), [(0, 0.0)])
    with xarray.open_zarr(tmp_path / "it.zarr") as stored:
        assert stored.u.dtype == np.float32
        np.testing.assert_allclose(stored.u[0], stream.values("u", 0.0), rtol=1e-7)


def test_a_tolerance_is_kept_and_its_error_recorded(tmp_path: Path) -> None:
    stream = made()
    z, y, x = np.meshgrid(*LINES, indexing="ij")
    stream.curved = np.stack([x, y + 0.1 * np.sin(x), z], axis=-1)
    action = stream.action("extract", tmp_path, fields=["u"], tolerance=0.01)
    stream.run(action, [(0, 0.0), (5, 0.25)])
    summary = action.summary()
    assert 0.0 < summary["max_error"]["u"] <= 0.01
    assert summary["compression_ratio"][0] > 1.0
    with xarray.open_zarr(tmp_path / "it.zarr") as stored:
        np.testing.assert_allclose(stored.u[1], stream.values("u", 0.25), rtol=0, atol=0.01)
        np.testing.assert_array_equal(stored.corners[1], stream.curved)  # places are exact
    with pytest.raises(ValueError, match=r"for Zarr only, not for a\.vtkhdf"):
        stream.action("extract", tmp_path, "b", fields=["u"], to=["a.vtkhdf"], tolerance=0.01)


def test_an_action_without_space_is_reported_and_the_others_continue(tmp_path: Path) -> None:
    text = """\
actions:
- {extract: {fields: [u], to: [big.zarr, big.vtkhdf]}}
- {extract: {fields: [u], at: {z: 1}, to: plane.zarr}, name: plane}
"""
    messages: list[str] = []
    lines = tuple(np.linspace(0.0, 1.0, 40) for _ in range(3))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
        big = {"u": ("m", lambda x, y, z, n: np.sin(1e6 * x + 1e7 * y + 1e8 * z + n))}
        Flow({"m": lines}, big).inside(text, tmp_path, 2, messages)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert len(messages) == 1, messages  # a repeated failure is not reported again
    assert "action extract0 failed at step 0, and the others continue" in messages[0]
    assert (
        "big.zarr" in messages[0]
        and "big.vtkhdf" in messages[0]
        and "File too large" in messages[0]
    )
    with xarray.open_zarr(tmp_path / "out/plane.zarr") as stored:
        assert stored.sizes["time"] == 2


SCRIPT = """\
import numpy as np
from seen import SEEN

def run(step):
    for one in step.datasets:
        SEEN.append((step.index, type(one).__name__, one.bounds, one.GetExtent(), step.copied,
                     {name: np.asarray(one[name]).ctypes.data for name in one.array_names},
                     float(np.asarray(one["u"]).max()), one))
    step.keep["count"] = step.keep.get("count", 0) + 1
    if step.index == 1:
        raise ValueError(f"not {step.keep['count']}.")
"""


@pytest.mark.parametrize("kind", ["RectilinearGrid", "ImageData"])
def test_the_users_function_gets_the_solvers_memory_and_its_failure_is_local(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "seen.py").write_text("SEEN = []\n")
    (tmp_path / "mine.py").write_text(SCRIPT)
    monkeypatch.delitem(__import__("sys").modules, "seen", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    lines = LINES if kind == "RectilinearGrid" else UNIFORM
    made_flow, messages = flow(lines), list[str]()
    addresses = []

    class Watched(dict[str, np.ndarray]):
        def __setitem__(self, name: str, array: np.ndarray) -> None:
            addresses.append((name, array.ctypes.data))
            super().__setitem__(name, array)

    made_flow.arrays = Watched()
    text = "actions:\n- {python: {file: mine.py}}\n- {count: {fields: [u]}}\n"
    pipeline = made_flow.inside(text, tmp_path, 3, messages)
    from seen import SEEN  # type: ignore[import-not-found]

    assert [call[0] for call in SEEN] == [0, 1, 2]
    for number, (_, name, bounds, extent, copied, where, largest, dataset) in enumerate(SEEN):
        assert name == kind and copied == 0
        assert where == dict(addresses[2 * number : 2 * number + 2])
        flat = [end for line in reversed(lines) for end in (line[0], line[-1])]
        np.testing.assert_allclose(bounds, flat, atol=1e-15)
        assert tuple(extent) == (0, 10, 0, 7, 0, 8)
        assert largest == number + 3.0 + 10.0 + 100.0 * lines[0][-1]
        assert dataset.n_points == 0  # emptied: the memory is the solver's again
    (message,) = messages  # a sentence, and the traceback of the user's function
    assert message.splitlines()[0] == (
        "The action python failed at step 1, and the others continue: "
        f"{tmp_path / 'mine.py'}, line 11: ValueError: not 2."
    )
    assert f'{tmp_path / "mine.py"}", line 11, in run' in message
    summary = pipeline.summary()["actions"]
    assert (summary["python"]["runs"], summary["python"]["failures"]) == (3, 1)
    assert summary["count"]["steps"] == 3


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("def run(step)\n", "line 1: SyntaxError: expected ':'"),
        ("import nothing_of_that_name\n", "line 1: ModuleNotFoundError: No module named"),
        ("def walk(step): ...\n", r"needs a function run\(step\)"),
    ],
)
def test_an_unusable_file_is_reported_before_the_first_step(
    tmp_path: Path, script: str, sentence: str
) -> None:
    (tmp_path / "mine.py").write_text(script)
    with pytest.raises(PipelineError, match=sentence):
        made().action("python", tmp_path, file="mine.py")
