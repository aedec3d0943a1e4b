"""Off-screen pictures of meshes of any kind by VTK."""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np
import pytest
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkStructuredGrid
from vtkmodules.vtkFiltersSources import vtkPlaneSource, vtkSphereSource

from uzushio.compositing import DEPTH_PIXEL
from uzushio.errors import RenderError
from uzushio.raycast import Camera
from uzushio.render import vtk_window
from uzushio.render.background import averaged
from uzushio.render.colors import Colors
from uzushio.render.view import IsosurfaceLayer, SliceLayer
from uzushio.render.vtk_filters import surfaces
from uzushio.render.vtk_window import MeshPart, VtkWindow, data_sets, view_range, window_class

BOUNDS = ((-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0))


@pytest.fixture(scope="module")
def window() -> VtkWindow:
    return VtkWindow(120, 80)


def sphere() -> object:
    source = vtkSphereSource()
    source.SetRadius(1.0)
    source.SetThetaResolution(96)
    source.SetPhiResolution(96)
    source.Update()
    return source.GetOutput()


def plane(z: float) -> object:
    """A square at height z with the value x at its points."""
    source = vtkPlaneSource()
    source.SetOrigin(-1, -1, z)
    source.SetPoint1(1, -1, z)
    source.SetPoint2(-1, 1, z)
    source.SetResolution(20, 20)
    source.Update()
    data = source.GetOutput()
    values = numpy_to_vtk(vtk_to_numpy(data.GetPoints().GetData())[:, 0].astype(float), deep=True)
    values.SetName("x")
    data.GetPointData().AddArray(values)
    return data


def test_half_spaces_clip_a_mesh_and_keep_a_surface_in_their_plane(window: VtkWindow) -> None:
    camera = Camera((0, -5, 0), (0, 0, 0), parallel_height=2.4)
    whole = window.draw([MeshPart(sphere())], camera, BOUNDS)["depth"]
    across = (((0.25, 0.0, 0.0), (2.0, 0.0, 0.0)),)
    half = window.draw([MeshPart(sphere(), half_spaces=across)], camera, BOUNDS)["depth"]
    x = (np.arange(120) + 0.5 - 60) * 2.4 / 80
    kept = np.isfinite(whole) & (x < 0.25)
    assert (np.isfinite(half) == kept).mean() > 0.995
    assert np.array_equal(half[:, x < 0.2], whole[:, x < 0.2])
    # Without its front half, the sphere shows its back from inside.
    front = (((0.0, 0.0, 0.0), (0.0, -1.0, 0.0)),)
    back = window.draw([MeshPart(sphere(), half_spaces=front)], camera, BOUNDS)["depth"]
    assert back[40, 60] == pytest.approx(6.0, abs=1e-2)
    above = Camera((0, 0, 5), (0, 0, 0), up=(0, 1, 0), parallel_height=2.4)
    flat = window.draw([MeshPart(plane(0.5))], above, BOUNDS)["depth"].copy()
    for sign in (1.0, -1.0):
        same = (((0.0, 0.0, 0.5), (0.0, 0.0, sign)),)
        depth = window.draw([MeshPart(plane(0.5), half_spaces=same)], above, BOUNDS)["depth"]
        assert np.array_equal(np.isfinite(depth), np.isfinite(flat))


@pytest.mark.parametrize(("at", "points"), [(0.5, 441), (0.4, 0)])
def test_a_slice_through_the_plane_of_a_flat_mesh_is_the_mesh(at: float, points: int) -> None:
    layer = SliceLayer(field="x", normal="z", at=at)
    pieces = surfaces(layer, [plane(0.5)], BOUNDS)
    assert sum(surface.GetNumberOfPoints() for surface in pieces) == points


@pytest.mark.parametrize("normal", ["x", "y", "z", (0.0, 0.0, -1.0)])
@pytest.mark.parametrize("single", [False, True])
def test_a_slice_in_any_side_of_a_mesh_is_that_side(normal: Any, single: bool) -> None:
    """A plane that touches the mesh is not outside, also where single precision rounds."""
    angles = np.linspace(0.0, 0.5 * np.pi, 9)
    mesh = cylinder(angles)
    places = vtk_to_numpy(mesh.GetPoints().GetData()) + np.array([0.0, 0.0, 0.3])
    mesh.GetPoints().SetData(numpy_to_vtk(places.astype("f4" if single else "f8"), deep=True))
    bounds: Any = ((0.0, 2.0), (0.0, 2.0), (0.3, 1.3))
    axis = "xyz".index(normal) if isinstance(normal, str) else 2
    for at in (0.3, 1.3) if axis == 2 else (0.0,):
        point = tuple(at if axis == n else 0.5 for n in range(3))
        place = {"at": at} if isinstance(normal, str) else {"origin": point}
        layer = SliceLayer(field="r", normal=normal, **place)
        (side,) = surfaces(layer, [mesh], bounds)
        radii = vtk_to_numpy(side.GetPointData().GetArray("r"))
        assert radii.min() == pytest.approx(1.0) and radii.max() == pytest.approx(2.0)
        on_side = vtk_to_numpy(side.GetPoints().GetData())[:, axis]
        np.testing.assert_allclose(on_side, at, rtol=0, atol=2e-7)
    beyond = SliceLayer(field="r", normal="z", at=0.2999)
    assert surfaces(beyond, [mesh], bounds) == []


def cylinder(angles: np.ndarray) -> vtkStructuredGrid:
    """A curvilinear mesh around z with the radius as field; right-handed if angles increase."""
    radii, heights = np.linspace(1.0, 2.0, 9), np.linspace(0.0, 1.0, 3)
    z, angle, radius = np.meshgrid(heights, angles, radii, indexing="ij")
    points = vtkPoints()
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=-1).reshape(-1, 3)
    points.SetData(numpy_to_vtk(places, deep=True))
    grid = vtkStructuredGrid()
    grid.SetDimensions(radii.size, angles.size, heights.size)
    grid.SetPoints(points)
    values = numpy_to_vtk(radius.ravel(), deep=True)
    values.SetName("r")
    grid.GetPointData().AddArray(values)
    return grid


def test_isosurfaces_of_left_handed_meshes_are_lit_as_those_of_right_handed_ones(
    window: VtkWindow,
) -> None:
    angles = np.linspace(0.0, np.pi, 25)
    camera = Camera((0.0, -4.0, 2.0), (0.0, 1.0, 0.5), parallel_height=4.0)  # sees the inner side
    layer = IsosurfaceLayer(field="r", values=1.55, lighting=True)
    bounds = ((-2.0, 2.0), (0.0, 2.0), (0.0, 1.0))
    pictures = []
    for order in (angles, angles[::-1]):
        (surface,) = surfaces(layer, [cylinder(order)], bounds)
        drawn = window.draw([MeshPart(surface, color=(1.0, 1.0, 1.0, 1.0))], camera, bounds)
        red = drawn["rgba"][..., 0][np.isfinite(drawn["depth"])].astype(float)
        assert np.median(red) > 0.5 * 255  # the ambient part alone is 0.2
        pictures.append(red)
    assert np.abs(np.median(pictures[0]) - np.median(pictures[1])) <= 1.0


@pytest.mark.parametrize(
    "camera",
    [
        Camera((4, -3, 2), (0.2, 0, 0), view_angle=40),
        Camera((4, -3, 2), (0.2, 0, 0), parallel_height=3.0),
    ],
)
def test_depth_and_place_are_those_of_the_ray_caster(window: VtkWindow, camera: Camera) -> None:
    """Of a sphere, for which a ray's first point is known."""
    image = window.draw([MeshPart(sphere(), color=(1, 0, 0, 1))], camera, BOUNDS)
    assert image.dtype == DEPTH_PIXEL and image.shape == (80, 120)
    rows, columns = np.mgrid[0:80, 0:120] + 0.5
    scale = 2 * camera.half_height / 80
    right, up, forward = camera.axes
    offset = ((columns - 60) * scale)[..., None] * right + ((40 - rows) * scale)[..., None] * up
    eye = np.zeros((80, 120, 3)) + camera.position
    way = np.zeros((80, 120, 3)) + forward
    if camera.parallel_height is None:
        way = way + offset
    else:
        eye = eye + offset
    a, b, c = (way**2).sum(2), (way * eye).sum(2), (eye**2).sum(2) - 1
    under = b * b - a * c
    depth = np.where(under > 0, (-b - np.sqrt(np.maximum(under, 0))) / a, np.inf)
    assert (np.isinf(depth) == np.isinf(image["depth"])).mean() > 0.99
    in_both = np.isfinite(depth) & np.isfinite(image["depth"]) & (under > 0.1 * under.max())
    assert in_both.sum() > 500
    np.testing.assert_allclose(image["depth"][in_both], depth[in_both], atol=3e-3)
    assert (image["rgba"][~np.isfinite(image["depth"])] == 0).all()
    assert (image["rgba"][in_both][:, 3] == 255).all()


def test_points_have_the_colours_of_their_values(window: VtkWindow) -> None:
    camera = Camera((0, 0, 5), (0, 0, 0), up=(0, 1, 0), parallel_height=2.0)
    colors = Colors(map="viridis", above="red")
    part = MeshPart(plane(0.0), field="x", table=colors.table((-1.0, 0.5)), lighting=False)
    row = window.draw([part], camera, BOUNDS)["rgba"][40]
    x = (np.arange(120) + 0.5 - 60) / 40
    inside = np.abs(x) < 0.97
    place = (x + 1) / 1.5
    ramp = colors.ramp(256)[:, :3]
    expected = 255 * np.stack([np.interp(place, np.linspace(0, 1, 256), c) for c in ramp.T], axis=1)
    expected[x > 0.5] = (255, 0, 0)
    sure = inside & (np.abs(x - 0.5) > 0.05)
    assert np.abs(row[sure, :3] - expected[sure]).max() <= 4


def test_the_nearer_of_two_surfaces_is_visible_in_any_order(window: VtkWindow) -> None:
    camera = Camera((0, 0, 5), (0, 0, 0), up=(0, 1, 0), parallel_height=2.0)
    red, blue = (
        MeshPart(plane(z), color=color, lighting=False)
        for z, color in ((0.5, (1, 0, 0, 1)), (-0.5, (0, 0, 1, 1)))
    )
    for parts in ([red, blue], [blue, red]):
        centre = window.draw(parts, camera, BOUNDS)[40, 60]
        assert tuple(centre["rgba"]) == (255, 0, 0, 255)
        assert centre["depth"] == pytest.approx(4.5, abs=1e-3)


def test_view_ranges_hold_the_bounds_and_are_positive() -> None:
    near, far = view_range(Camera((0, 0, 5), (0, 0, 0), up=(0, 1, 0)), BOUNDS)
    assert 3.9 < near < 4.0 and 6.0 < far < 6.1
    near, far = view_range(Camera((0, 0, 0.5), (0, 0, 0), up=(0, 1, 0)), BOUNDS)
    assert 0 < near < 0.01 and 1.5 < far < 1.6


def test_trees_and_lists_of_data_are_flattened() -> None:
    import pyvista

    tree = pyvista.MultiBlock([sphere(), pyvista.MultiBlock([plane(0), None]), pyvista.PolyData()])
    assert len(data_sets(tree)) == 2
    assert len(data_sets([tree, plane(0), None])) == 3
    assert data_sets(None) == []


def test_samples_are_averaged_with_rounding() -> None:
    image = np.zeros((4, 6, 4), np.uint8)
    image[0, 0], image[0, 1], image[1, 0] = 1, 1, 255
    small = averaged(image, 2)
    assert small.shape == (2, 3, 4) and (small[0, 0] == 64).all() and not small[1].any()
    floats = np.random.default_rng(0).random((60, 30, 4)).astype(np.float32)
    exact = floats.reshape(20, 3, 10, 3, 4).mean(axis=(1, 3))
    np.testing.assert_allclose(averaged(floats, 3), exact, rtol=1e-6)


def test_without_graphics_libraries_the_message_names_the_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("__EGL_VENDOR_LIBRARY_FILENAMES", "/nowhere.json")
    with pytest.raises(RenderError, match="apt-get install libegl1 libgl1-mesa-dri"):
        window_class.__wrapped__()


def test_a_child_that_crashes_or_hangs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    monkeypatch.setattr(vtk_window, "_TRIAL", crash)
    with pytest.raises(RenderError, match="vtkEGLRenderWindow: signal 11"):
        window_class.__wrapped__()
    monkeypatch.setattr(vtk_window, "_TRIAL", "import time; time.sleep(60)")
    monkeypatch.setattr(vtk_window, "TRIAL_TIMEOUT", 0.5)
    with pytest.raises(RenderError, match=r"did not draw within 0\.5 s"):
        window_class.__wrapped__()
    monkeypatch.setattr(vtk_window, "_TRIAL", "import vtkmodules.no_such")
    with pytest.raises(RenderError, match="pip install vtk"):
        window_class.__wrapped__()


def test_the_child_is_not_a_rank_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def run(command: object, env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        seen.update(env)
        return subprocess.CompletedProcess([], 0, "it draws", "")

    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    monkeypatch.setenv("PMIX_RANK", "3")
    monkeypatch.setattr(vtk_window.subprocess, "run", run)
    assert window_class.__wrapped__() == "vtkEGLRenderWindow"
    assert "PATH" in seen and not any(name.startswith(("PMIX", "OMPI_COMM")) for name in seen)
