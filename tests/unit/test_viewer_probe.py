"""Position and values under the pointer, on meshes of each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from pipeline_case import Flow
from viewer_driver import Driver, run_viewer

from uzushio import staging
from uzushio.render.picking import Picker

SIZE = (96, 64)
SLICE = {"kind": "slice", "field": "u", "normal": "z", "color": {"follow": "step"}}


def view(*layers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"layers": list(layers or (SLICE,)), "size": SIZE, **more}


def line(n: int) -> np.ndarray:
    return np.linspace(0.0, 1.0, n)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Six stored steps of a field that is linear along each axis; each step adds 1."""
    path = tmp_path / "flow.zarr"
    fields = {"u": ("box", lambda x, y, z, n: x + 2 * y + 4 * z + n)}
    with staging.open("flow", None, {"engine": "file", "file": {"folder": str(path)}}) as writer:
        Flow({"box": (line(9), line(8), line(7))}, fields).write(writer, 6)
    return path


def on_store(store: Path, work: Callable[[Driver], None]) -> None:
    run_viewer(str(store), MPI.COMM_SELF, work)


@pytest.mark.parametrize("camera", ["top", "isometric"])
def test_the_pointer_on_a_slice_gives_the_place_and_the_value_there(
    store: Path, camera: str
) -> None:
    def work(page: Driver) -> None:
        drawn = page.picture(view(camera=camera), step=2, probe=(0.45, 0.55))
        assert drawn.probe is not None and drawn.probe.position is not None
        x, y, z = drawn.probe.position
        assert z == pytest.approx(0.5) and 0 < x < 1 and 0 < y < 1
        assert drawn.probe.values["u"] == pytest.approx(x + 2 * y + 4 * z + 2)
        moved = page.probe(replace(drawn.request, probe=(0.47, 0.55)))
        assert moved.position is not None and moved.position[0] > x
        assert page.probe(replace(drawn.request, probe=(0.01, 0.01))).position is None

    on_store(store, work)


def test_the_pointer_on_an_isosurface_gives_its_value(store: Path) -> None:
    def work(page: Driver) -> None:
        layers = ({"kind": "isosurface", "field": "u", "values": [8.5]},)
        probed = page.picture(view(*layers), probe=(0.42, 0.5)).probe
        assert probed is not None and probed.values["u"] == pytest.approx(8.5, abs=1e-6)

    on_store(store, work)


def test_the_pointer_finds_nothing_on_what_planes_leave_out(store: Path, sheared: Path) -> None:
    def work(page: Driver) -> None:
        for invert in (False, True):
            clip = {"normal": "x", "at": 0.5, "invert": invert}
            picture = page.picture(view(camera="top", clip=clip), probe=(0.45, 0.5))
            probes = [picture.probe, page.probe(replace(picture.request, probe=(0.55, 0.5)))]
            assert [value is not None and value.position is not None for value in probes] == [
                not invert,
                invert,
            ]

    on_store(store, work)
    on_store(sheared, work)


@pytest.fixture
def sheared(tmp_path: Path) -> Path:
    """A stored step of u = x - 0.3 z in two curvilinear zones."""
    path = tmp_path / "sheared.zarr"
    with staging.open("bent", None, {"engine": "file", "file": {"folder": str(path)}}) as writer:
        for zone in "ab":
            writer.curvilinear_mesh(zone, (4, 5, 6), f"{zone}/xyz")
            writer.field(f"{zone}/xyz", zone, "vertex", components=3)
            writer.field(f"{zone}/u", zone, "vertex")
            writer.block("ab".index(zone), zone, ((0, 0, 0), (4, 5, 6)))
        with writer.step(0, 0.0):
            for number, zone in enumerate("ab"):
                z, y, x = np.meshgrid(line(5), line(6) + number, line(7), indexing="ij")
                writer.put(f"{zone}/xyz", np.stack([x + 0.3 * z, y, z], axis=3), number)
                writer.put(f"{zone}/u", x, number)
    return path


@pytest.mark.parametrize("kind", ["slice", "isosurface"])
def test_the_pointer_on_curvilinear_zones_gives_the_place_and_the_value(
    sheared: Path, kind: str
) -> None:
    layers = {
        "slice": SLICE,
        "isosurface": {"kind": "isosurface", "field": "u", "values": [0.4]},
    }

    def work(page: Driver) -> None:
        camera = {"direction": [-1, 0.2, -1]}
        for place in ((0.4, 0.5), (0.6, 0.5), (0.5, 0.55)):
            probed = page.picture(view(layers[kind], camera=camera), probe=place).probe
            assert probed is not None and probed.position is not None
            x, y, z = probed.position
            assert 0 <= y <= 2
            if kind == "slice":
                assert z == pytest.approx(0.5)
            assert probed.values["u"] == pytest.approx(x - 0.3 * z, abs=1e-6)
            if kind == "isosurface":
                assert probed.values["u"] == pytest.approx(0.4, abs=1e-6)
        assert page.picture(view(camera=camera), probe=(0.01, 0.01)).probe.position is None  # type: ignore[union-attr]

    on_store(sheared, work)


def test_a_ray_meets_the_boundary_of_a_volume_with_the_value_of_its_cell() -> None:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkImageData

    boxes = []
    for first in (0, 2):
        box = vtkImageData()
        box.SetExtent(first, first + 2, 0, 2, 0, 2)
        values = numpy_to_vtk(np.arange(8.0) + 10 * first, deep=True)
        values.SetName("T")
        box.GetCellData().AddArray(values)
        boxes.append(box)
    picker = Picker(boxes)
    along_x = np.array([1.0, 0.0, 0.0])
    assert picker.first(np.array([-3.0, 0.5, 1.5]), along_x, ["T"]) == (
        pytest.approx(3.0),
        {"T": 4.0},
    )
    assert picker.first(np.array([9.0, 0.5, 1.5]), -along_x, ["T", "none"]) == (
        pytest.approx(5.0),
        {"T": 25.0},
    )
    assert picker.first(np.array([-3.0, 5.0, 1.5]), along_x, ["T"]) == (np.inf, {})
    clipped = [(3.5, np.inf), (6.5, np.inf)]  # behind the front side of each
    assert picker.first(np.array([-3.0, 0.5, 1.5]), along_x, ["T"], clipped) == (
        pytest.approx(5.0),
        {"T": 5.0},
    )
