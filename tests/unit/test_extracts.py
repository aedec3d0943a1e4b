"""Stores of extracts: reading by VTK and xarray, and state after a crash or with a full disk."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
import zarr
from mpi4py import MPI

from uzushio._base.store.distribution import Distribution
from uzushio._base.store.schema import StoreSchema
from uzushio._base.store.series import ZarrSeries, rounded
from uzushio.domain.box import Box, intersection
from uzushio.domain.fields import Field
from uzushio.errors import OutputError
from uzushio.extracts.vtkhdf_layout import kind_of
from uzushio.extracts.vtkhdf_series import VtkhdfSeries

ALONE = MPI.COMM_SELF
SHAPES = [(4, 5, 6), (1, 5, 6), (4, 1, 6), (4, 5, 1), (4, 1, 1)]


def lines(shape: Sequence[int], power: float) -> Any:
    return tuple(0.5 + np.linspace(0.0, 1.0, n) ** power for n in shape)


def schema(shape: tuple[int, int, int] = (4, 5, 6), power: float = 2.0, **more: Any) -> StoreSchema:
    variables = {
        "u": Field("u", attributes={"units": "m/s"}),
        "v": Field("v", dtype=np.dtype(np.float32), components=3),
    }
    return StoreSchema(shape, variables, more.pop("lines", lines(shape, power)), **more)


def values(shape: Sequence[int], step: int) -> dict[str, np.ndarray]:
    count = int(np.prod(shape))
    u = np.arange(count, dtype=float).reshape(shape) + 1000.0 * step
    v = np.arange(3 * count, dtype=np.float32).reshape(*shape, 3) - np.float32(step)
    return {"u": u, "v": v}


def append(store: Any, step: int, shape: tuple[int, int, int], *more: Any) -> None:
    distribution = Distribution(ALONE, [Box((0, 0, 0), shape)])
    lists = {name: [array] for name, array in values(shape, step).items()}
    store.append(10 * step, 0.5 * step, distribution, lists, *more)


def read_vtk(path: Path, step: int) -> tuple[list[float], Any]:
    """The times, and the dataset of a step, as VTK's reader has them."""
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    if times:
        reader.UpdateTimeStep(times[step])
    else:
        reader.Update()
    return list(times or []), reader.GetOutputDataObject(0)


def check_vtk(path: Path, shape: tuple[int, int, int], steps: Sequence[int], points: Any) -> None:
    """Values and points of all steps, by VTK's reader."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    for place, step in enumerate(steps):
        times, dataset = read_vtk(path, place)
        assert times == ([0.5 * step for step in steps] if len(steps) > 1 else times)
        for name, expected in values(shape, step).items():
            array = dataset.GetPointData().GetArray(name)
            assert array.GetNumberOfComponents() == (expected.shape[3:] or (1,))[0]
            np.testing.assert_array_equal(vtk_to_numpy(array).reshape(expected.shape), expected)
        assert dataset.GetNumberOfCells() == np.prod([max(n - 1, 1) for n in shape])
        places = [dataset.GetPoint(number) for number in range(dataset.GetNumberOfPoints())]
        np.testing.assert_allclose(places, points.reshape(-1, 3), rtol=1e-14)


def grid_points(along: Any) -> np.ndarray:
    return np.stack(np.meshgrid(*along, indexing="ij")[::-1], axis=-1)


@pytest.mark.parametrize("compatible", [False, True])
@pytest.mark.parametrize("mesh", ["uniform", "stretched", "curvilinear"])
def test_vtk_reads_all_steps_of_each_kind_of_mesh_while_the_file_grows_and_when_it_is_one(
    tmp_path: Path, mesh: str, compatible: bool
) -> None:
    for shape in SHAPES:
        along = lines(shape, 1.0 if mesh == "uniform" else 2.0)
        points = grid_points(along)
        corners: tuple[Any, ...] = ()
        described = schema(shape, lines=along)
        if mesh == "curvilinear":
            points = points + 0.1 * np.sin(3.0 * points[..., ::-1])
            described, corners = schema(shape, lines=None), ([points],)
        path = tmp_path / f"{'x'.join(map(str, shape))}.vtkhdf"
        store = VtkhdfSeries(path, described, kind_of(described, compatible))
        for step in range(10):  # beyond the size of the first file of parts
            append(store, step, shape, *corners)
            if step in (0, 1, 8):
                check_vtk(path, shape, range(step + 1), points)
        store.merge()
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
        check_vtk(path, shape, range(10), points)
        path.unlink()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tolerance", [1e-3, 0.25, 1.0, 3e-7, np.nextafter(0.5, 0.0)])
def test_rounded_numbers_differ_by_at_most_the_tolerance(dtype: Any, tolerance: float) -> None:
    special = [np.nan, np.inf, -np.inf, 1e38, -1e38, 0.0, 0.5, 1e-40, 1.5 * tolerance]
    spread = np.random.default_rng(0).normal(size=4000) * 10.0 ** np.arange(-10, 10).repeat(200)
    given = np.concatenate([special, spread]).astype(dtype)
    values, measured = rounded(given, tolerance)
    assert values.dtype == given.dtype
    np.testing.assert_array_equal(values[:5], given[:5])
    errors = np.abs(values[5:].astype(np.longdouble) - given[5:].astype(np.longdouble))
    assert errors.max() == measured
    assert tolerance / 5 < measured <= tolerance
    numbers = np.arange(7)
    assert rounded(numbers, tolerance)[0] is numbers


def test_a_rounded_store_is_smaller_and_states_its_error(tmp_path: Path) -> None:
    shape = (16, 16, 16)
    u = np.random.default_rng(0).normal(size=shape)
    u[0, 0, :3] = np.nan, np.inf, -np.inf
    distribution = Distribution(ALONE, [Box((0, 0, 0), shape)])
    described = StoreSchema(shape, {"u": Field("u")})
    ratios = {}
    for name, compression, tolerance in (("exact", "lz4", None), ("rounded", None, 1e-2)):
        path = tmp_path / f"{name}.zarr"
        store = ZarrSeries(path, described, compression=compression, tolerance=tolerance)
        for step in range(2):
            store.append(step, 0.0, distribution, {"u": [u + step]})
        ratios[name] = store.ratio()
        array = zarr.open_group(path)["u"]
        if tolerance is None:
            assert np.asarray(array[0]).tobytes() == u.tobytes()
            continue
        finite = np.isfinite(u)
        found = np.asarray(array[1])
        np.testing.assert_array_equal(found[~finite], u[~finite])
        assert array.attrs["tolerance"] == tolerance
        assert np.abs(found[finite] - u[finite] - 1).max() <= array.attrs["max_error"] <= tolerance
        assert store.max_errors == {"u": array.attrs["max_error"]}
    assert ratios["rounded"] > 3 > 0.9 < ratios["exact"]


def test_a_compatible_file_fills_the_domain_with_cells_of_positive_volume(tmp_path: Path) -> None:
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter

    described = schema()
    store = VtkhdfSeries(tmp_path / "a.vtkhdf", described, kind_of(described, compatible=True))
    append(store, 0, described.count)
    sizes = vtkCellSizeFilter()
    sizes.SetInputData(read_vtk(store.path, 0)[1])
    sizes.Update()
    volumes = vtk_to_numpy(sizes.GetOutput().GetCellData().GetArray("Volume"))
    assert volumes.min() > 0.0
    assert volumes.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("finished", [False, True])
def test_a_vtkhdf_file_continues_from_the_first_repeated_step(
    tmp_path: Path, finished: bool
) -> None:
    described, path = schema(), tmp_path / "a.vtkhdf"
    for steps in (range(5), range(3, 12)):
        store = VtkhdfSeries(path, described, kind_of(described, compatible=False))
        for step in steps:
            append(store, step, described.count)
            if step == steps.start:
                check_vtk(path, described.count, range(step + 1), grid_points(described.lines))
        if finished:
            store.merge()
        check_vtk(path, described.count, range(steps.stop), grid_points(described.lines))


def test_a_vtkhdf_file_whose_writer_was_killed_at_any_moment_has_the_steps_before(
    tmp_path: Path,
) -> None:
    """A child appends until it is killed, and the next one continues."""
    job = Path(__file__).with_name("extract_writer.py")
    path, steps = tmp_path / "a.vtkhdf", 0
    for number in range(3):
        child = subprocess.Popen(
            [sys.executable, job, path, str(steps)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        output = [child.stdout.readline() for _ in range(2 + 5 * number)]
        child.send_signal(signal.SIGKILL)
        output += child.stdout.read().splitlines()  # communicate loses what is buffered
        child.wait(60)
        done = max(int(line) for line in output if line.strip())
        times, _ = read_vtk(path, 0)
        assert len(times) in (
            done + 1,
            done + 2,
        )  # with or without the step after the last reported one
        shape = (6, 7, 40)
        check_vtk(path, shape, range(len(times)), grid_points(lines(shape, 2.0)))
        steps = len(times)


def test_xarray_opens_a_zarr_extract_at_each_moment_without_a_warning(tmp_path: Path) -> None:
    described = schema((4, 1, 6), dropped=(1,), attributes={"title": "a plane"})
    store = ZarrSeries(tmp_path / "a.zarr", described)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(3):
            append(store, step, described.count)
            with xarray.open_zarr(store.path) as stored:
                assert stored.u.dims == ("time", "z", "x")
                assert stored.v.dims == ("time", "z", "x", "component")
                assert stored.u.attrs["units"] == "m/s"
                assert stored.coords["y"].item() == described.lines[1][0]  # type: ignore[index]
                np.testing.assert_array_equal(stored.time, 0.5 * np.arange(step + 1))
                np.testing.assert_array_equal(stored.step, 10 * np.arange(step + 1))
                for before in range(step + 1):
                    for name, expected in values(described.count, before).items():
                        np.testing.assert_array_equal(stored[name][before], expected[:, 0])


def test_a_zarr_extract_that_was_cut_off_in_a_step_opens_with_the_steps_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = schema()
    store = ZarrSeries(tmp_path / "a.zarr", described)
    append(store, 0, described.count)
    append(store, 1, described.count)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(store, "_commit", _interrupt)  # all chunks are written, and no more
        append(store, 2, described.count)
    with xarray.open_zarr(store.path) as stored:
        assert dict(stored.sizes)["time"] == 2
        np.testing.assert_array_equal(stored.u[1], values(described.count, 1)["u"])
    again = ZarrSeries(store.path, described)
    for step in (1, 2, 3):  # the run restarts from an earlier checkpoint
        append(again, step, described.count)
    with xarray.open_zarr(store.path) as stored:
        np.testing.assert_array_equal(stored.step, [0, 10, 20, 30])
        np.testing.assert_array_equal(stored.u[3], values(described.count, 3)["u"])


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_names_with_percent_signs_are_names(tmp_path: Path) -> None:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    double = np.dtype(np.float64)
    described = StoreSchema(
        (2, 2, 2), {"c%2Fd": Field("c%2Fd", dtype=double)}, lines((2, 2, 2), 1.0)
    )
    store = VtkhdfSeries(tmp_path / "100%b.vtkhdf", described, kind_of(described, compatible=False))
    whole, distribution = np.arange(8.0).reshape(2, 2, 2), Distribution(ALONE, [described.whole])
    for step in range(2):
        store.append(step, step, distribution, {"c%2Fd": [whole + step]})
    for _ in range(2):
        array = read_vtk(store.path, 1)[1].GetPointData().GetArray("c%2Fd")
        np.testing.assert_array_equal(vtk_to_numpy(array), whole.ravel() + 1.0)
        store.merge()


@pytest.mark.parametrize("kind", ["zarr", "file.zarr", "vtkhdf"])
def test_files_of_other_programs_are_not_changed(tmp_path: Path, kind: str) -> None:
    described, path = schema(), tmp_path / f"a.{kind}"
    if kind == "zarr":
        path.mkdir()
        (path / "own_boxes.txt").write_text("dear")
    else:
        path.write_text("dear")
    store: Any = ZarrSeries(path, described)
    if kind == "vtkhdf":
        store = VtkhdfSeries(path, described, "RectilinearGrid")
    with pytest.raises(OutputError, match="was not written by a pipeline; move it away"):
        append(store, 0, described.count)
    assert (path / "own_boxes.txt" if kind == "zarr" else path).read_text() == "dear"


@pytest.mark.parametrize("kind", ["zarr", "vtkhdf"])
def test_steps_of_other_points_are_not_mixed(tmp_path: Path, kind: str) -> None:
    def store(described: StoreSchema) -> Any:
        path = tmp_path / f"a.{kind}"
        return (
            ZarrSeries(path, described)
            if kind == "zarr"
            else VtkhdfSeries(path, described, kind_of(described, False))
        )

    append(store(schema()), 0, (4, 5, 6))
    with pytest.raises(OutputError, match="has 1 steps of other fields or points"):
        append(store(schema(power=3.0)), 1, (4, 5, 6))
    append(store(schema(power=3.0)), 0, (4, 5, 6))  # all done again: nothing is mixed


@pytest.mark.parametrize("kind", ["zarr", "vtkhdf"])
def test_lack_of_space_is_reported_and_earlier_and_later_steps_are_complete(
    tmp_path: Path, kind: str
) -> None:
    """A limit of file sizes simulates a full disk: the same calls fail with another error."""
    shape = (40, 50, 60)
    described = schema(shape)
    path = tmp_path / f"a.{kind}"
    store: Any = ZarrSeries(path, described)
    if kind == "vtkhdf":
        store = VtkhdfSeries(path, described, kind_of(described, compatible=False))
    append(store, 0, shape)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, before[1]))
        with pytest.raises(OutputError, match=r"a\.(zarr|vtkhdf)") as raised:
            append(store, 1, shape)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "raise the limit of file sizes" in str(raised.value)
    append(store, 2, shape)
    if kind == "zarr":
        with xarray.open_zarr(path) as stored:
            np.testing.assert_array_equal(stored.step, [0, 20])
            np.testing.assert_array_equal(stored.u[1], values(shape, 2)["u"])
    else:
        check_vtk(path, shape, [0, 2], grid_points(described.lines))


def test_a_merge_without_space_leaves_the_pieces_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = schema()
    store = VtkhdfSeries(tmp_path / "a.vtkhdf", described, kind_of(described, compatible=False))
    append(store, 0, described.count)
    append(store, 1, described.count)

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28), "a.vtkhdf")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(Path, "replace", full)
        store.merge()
    check_vtk(store.path, described.count, [0, 1], grid_points(described.lines))
    assert store.parts.exists()


def test_the_intersection_of_boxes_is_symmetric_and_may_be_empty() -> None:
    box, other = Box((0, 0, 0), (4, 4, 4)), Box((3, 1, 2), (9, 1, 1))
    assert intersection(box, other) == Box((3, 1, 2), (1, 1, 1)) == intersection(other, box)
    assert intersection(box, Box((4, 0, 0), (1, 1, 1))).size == 0
