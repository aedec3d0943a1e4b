"""Surfaces and probes of cell fields on curved zones that meet in any orientation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from mpi4py import MPI
from PIL import Image
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader
from zone_flow import Surfaces, bent, centres, run_inside, zone_corners

from uzushio.compositing import DEPTH_PIXEL
from uzushio.raycast import Camera
from uzushio.raycast.surface import (
    CurvilinearBlock,
    Surface,
    SurfacePaint,
    isosurface,
    paint,
    slice_surface,
)

SURFACES = "actions:\n  - surfaces: {value: %g}\n"


def surfaces(cells: int, function: object, value: float, folder: Path) -> dict[str, object]:
    run_inside(MPI.COMM_SELF, cells, function, SURFACES % value, folder)  # type: ignore[arg-type]
    return dict(Surfaces.gathered)


def open_edges(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Middles of the edges that belong to one triangle, where points at one place are the same."""
    _, number = np.unique(np.round(points, 9), axis=0, return_inverse=True)
    corners = number.reshape(-1)[triangles]
    corners = corners[(corners != np.roll(corners, 1, axis=1)).all(axis=1)]
    edges = Counter(
        tuple(sorted(pair)) for t in corners.tolist() for pair in zip(t, t[1:] + t[:1], strict=True)
    )
    place = np.zeros((number.max() + 1, 3))
    place[number.reshape(-1)] = points
    single = [edge for edge, times in edges.items() if times % 2]
    return np.array([place[list(edge)].mean(axis=0) for edge in single]).reshape(-1, 3)


def area(points: np.ndarray, triangles: np.ndarray) -> float:
    a, b, c = (points[triangles[:, n]] for n in range(3))
    return float(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


def test_the_surface_of_a_linear_field_is_the_plane_and_slices_have_its_values(
    tmp_path: Path,
) -> None:
    slope = np.array([0.5, -0.3, 1.0])
    results = surfaces(5, lambda x, y, z: 0.5 * x - 0.3 * y + z, 0.2, tmp_path)
    points, triangles, values = results["isosurface"]  # type: ignore[misc]
    assert len(triangles) > 100
    np.testing.assert_allclose(points @ slope, 0.2, atol=1e-12)
    np.testing.assert_allclose(values, 0.2, atol=1e-12)
    points, triangles, values = results["slice"]  # type: ignore[misc]
    np.testing.assert_allclose(points @ slope, values, atol=1e-12)
    np.testing.assert_allclose(points @ (0, 0.1, 1), 0.1, atol=1e-12)


def test_a_sphere_is_closed_and_its_area_and_radius_converge(tmp_path: Path) -> None:
    errors = []
    for cells in (8, 16):
        results = surfaces(
            cells, lambda x, y, z: x * x + y * y + z * z, 0.36, tmp_path / str(cells)
        )
        points, triangles, _ = results["isosurface"]  # type: ignore[misc]
        assert len(open_edges(points, triangles)) == 0
        radius = np.linalg.norm(points, axis=1)
        errors.append(
            (abs(area(points, triangles) / (4 * np.pi * 0.36) - 1), abs(radius / 0.6 - 1).max())
        )
    (coarse_area, coarse_radius), (fine_area, fine_radius) = errors
    assert fine_area < 0.02 and fine_radius < 0.02
    assert coarse_area / fine_area > 3.2 and coarse_radius / fine_radius > 3.2


def test_rough_surfaces_have_no_cracks_between_zones(tmp_path: Path) -> None:
    """Saddles on the faces of cells occur; edges are open at the ends of the domain only."""
    results = surfaces(
        6, lambda x, y, z: np.cos(9 * x) * np.cos(8 * y + 1) * np.cos(10 * z), 0.02, tmp_path
    )
    points, triangles, _ = results["isosurface"]  # type: ignore[misc]
    loose = open_edges(points, triangles)
    assert len(triangles) > 1000
    # The boundary is where one coordinate before the mapping is -1 or 1.
    line = np.linspace(-1, 1, 13)
    faces = []
    for axis in range(3):
        for end in (-1.0, 1.0):
            a, b = np.meshgrid(line, line, indexing="ij")
            faces.append(bent(np.insert(np.stack([a, b], axis=-1), axis, end, axis=-1)))
    room = 0.12  # half a diagonal of a face
    nodes = np.concatenate([face.reshape(-1, 3) for face in faces])
    for place in loose:
        assert np.linalg.norm(nodes - place, axis=1).min() < room
    inner = (np.abs(loose) < 0.7).all(axis=1)
    assert not inner.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probes_of_a_linear_field_are_exact(tmp_path: Path, dtype: type) -> None:
    text = (
        "actions:\n  - probe: {fields: [u], points: {a: [0, 0, 0], b: [0.3, -0.2, 0.6], "
        "c: [-0.5, 0.01, -0.4]}}\n"
    )
    run_inside(MPI.COMM_SELF, 5, lambda x, y, z: 2 * x - y + 0.5 * z, text, tmp_path, dtype)
    (table,) = (tmp_path / "out").rglob("*.csv")
    row = np.loadtxt(table, delimiter=",", skiprows=1, ndmin=2)[0]
    exact = [0.0, 0.6 + 0.2 + 0.3, -1 - 0.01 - 0.2]
    np.testing.assert_allclose(row[-3:], exact, atol=1e-12 if dtype is np.float64 else 1e-6)


@pytest.mark.parametrize("compatible", ["false", "true"])
def test_an_extract_of_cells_has_their_centres(tmp_path: Path, compatible: str) -> None:
    text = f"""
actions:
- extract:
    {{fields: [zone_1/u], to: [e.zarr, e.vtkhdf], within_index: {{x: [1, 4]}}, stride: {{y: 2}},
     compatible: {compatible}}}
"""
    run_inside(MPI.COMM_SELF, 5, lambda x, y, z: 2 * x - y + 0.5 * z, text, tmp_path)
    wanted = centres(zone_corners(5)[1])[:, ::2, 1:5]
    with xr.open_zarr(tmp_path / "out/e.zarr", consolidated=False) as stored:
        (name,) = [name for name in stored.data_vars if stored[name].ndim == 5]
        np.testing.assert_allclose(stored[name].values[0], wanted, atol=1e-14)
        (u,) = [name for name in stored.data_vars if stored[name].ndim == 4]
        np.testing.assert_allclose(stored[u].values[0], wanted @ [2.0, -1.0, 0.5], atol=1e-13)
    reader = vtkHDFReader(file_name=str(tmp_path / "out/e.vtkhdf"))
    reader.Update()
    data = reader.GetOutputDataObject(0)
    points = vtk_to_numpy(data.GetPoints().GetData())
    np.testing.assert_allclose(points, wanted.reshape(-1, 3), atol=1e-14)
    values = data.GetPointData()
    arrays = {values.GetArrayName(n): values.GetArray(n) for n in range(values.GetNumberOfArrays())}
    (field,) = [array for array in arrays.values() if array.GetNumberOfComponents() == 1]
    np.testing.assert_allclose(vtk_to_numpy(field), points @ [2.0, -1.0, 0.5], atol=1e-13)


def test_a_view_of_cell_fields_has_a_slice_and_an_isosurface(tmp_path: Path) -> None:
    text = """\
views:
  both:
    size: [200, 160]
    axes: false
    camera: top
    layers:
      - {kind: isosurface, field: u, values: [0.36], color: "#0000ff", lighting: false}
      - {kind: slice, field: u, normal: z, at: -0.8, color: {map: gray, limits: [0, 3]}}
actions:
  - {picture: {view: both, file: p.png}}
"""
    run_inside(MPI.COMM_SELF, 8, lambda x, y, z: x * x + y * y + z * z, text, tmp_path)
    (file,) = (tmp_path / "out").rglob("p.png")
    pixels = np.asarray(Image.open(file).convert("RGB")).astype(int)
    blue = (pixels[..., 2] > 200) & (pixels[..., 0] < 60)
    blue[:, 108:] = False  # the legend
    rows, columns = np.nonzero(blue)
    # A disc: its area is that of the circle through its extent.
    assert blue.sum() == pytest.approx(np.pi / 4 * np.ptp(rows) * np.ptp(columns), rel=0.06)
    gray = (np.ptp(pixels, axis=2) == 0) & (pixels[..., 0] < 220)
    assert gray.sum() > 1000


def block_of(function: object, n: int = 17, dtype: type = np.float64) -> CurvilinearBlock:
    line = np.linspace(-1, 1, n)
    z, y, x = np.meshgrid(line, line, line, indexing="ij")
    corners = bent(np.stack([x, y, z], axis=-1))
    values = function(*np.moveaxis(corners, -1, 0))  # type: ignore[operator]
    return CurvilinearBlock(corners, {"u": values.astype(dtype)}, (0, 0, 0), (n - 1,) * 3)


CAMERA = Camera((0, 0, 5), (0, 0, 0), (0, 1, 0), parallel_height=4)


def painted(surface: Surface, how: SurfacePaint, camera: Camera = CAMERA) -> np.ndarray:
    image = np.zeros((64, 96), DEPTH_PIXEL)
    paint([(surface, how)], camera, image)
    return image


def ramp() -> np.ndarray:
    """Red counts the value, 0 to 254; below, above and NaN have colours of their own."""
    rows = np.zeros((258, 4), np.uint8)
    rows[1:256, 0] = np.arange(255)
    rows[[0, 256, 257]] = [[0, 255, 0, 255], [0, 0, 255, 255], [255, 255, 255, 255]]
    return rows


@pytest.mark.parametrize("perspective", [False, True])
def test_pixels_of_a_slice_have_the_value_and_the_depth_of_their_place(perspective: bool) -> None:
    camera = Camera((1, 0.5, 5), (0, 0, 0), (0, 1, 0)) if perspective else CAMERA
    block = block_of(lambda x, y, z: 0.5 + 0.3 * x - 0.2 * y)
    surface = slice_surface(block, (0, 0, 0.2), (0, 0, 1), ["u"])
    image = painted(surface, SurfacePaint(values=0, table=ramp(), low=0, high=1), camera)
    seen = np.isfinite(image["depth"])
    assert seen.mean() > 0.15
    for row, column in np.argwhere(seen)[::37]:
        origin, direction = camera.ray(column + 0.5, row + 0.5, 96, 64)
        distance = (0.2 - origin[2]) / direction[2]
        x, y, _ = origin + distance * direction
        assert image["depth"][row, column] == pytest.approx(
            distance * (direction @ camera.axes[2]), rel=1e-5
        )
        assert image["rgba"][row, column, 0] == pytest.approx(
            255 * (0.5 + 0.3 * x - 0.2 * y), abs=1.01
        )


def test_values_that_are_not_finite_have_their_colour_and_no_isosurface() -> None:
    block = block_of(lambda x, y, z: np.where(x > 0.5, np.nan, x))
    surface = slice_surface(block, (0, 0, 0), (0, 0, 1), ["u"])
    image = painted(surface, SurfacePaint(values=0, table=ramp(), low=-0.2, high=0.2))
    colors = {tuple(color) for color in image["rgba"][np.isfinite(image["depth"])].tolist()}
    assert {(0, 255, 0, 255), (0, 0, 255, 255), (255, 255, 255, 255)} < colors
    assert len(isosurface(block, "u", 0.4).points) > 0
    assert isosurface(block, "u", 0.4).points[:, 0].max() < 0.5
    assert len(isosurface(block, "u", 0.6).points) == 0


def test_lit_surfaces_are_brightest_where_they_face_the_camera_in_any_orientation() -> None:
    block = block_of(lambda x, y, z: x * x + y * y + z * z, dtype=np.float32)
    turned = CurvilinearBlock(
        np.ascontiguousarray(block.corners[::-1]),
        {"u": np.ascontiguousarray(block.fields["u"][::-1])},
        (0, 0, 0),
        block.cells,
    )
    how = SurfacePaint((200, 200, 200, 255), lit=True)
    images = [painted(isosurface(one, "u", 0.64), how) for one in (block, turned)]
    seen = np.isfinite(images[0]["depth"])
    # Polygons of the same points are divided by other diagonals.
    np.testing.assert_allclose(images[0]["depth"][seen], images[1]["depth"][seen], atol=0.02)
    assert np.abs(images[0]["rgba"].astype(int) - images[1]["rgba"])[seen].mean() < 1
    red = images[0]["rgba"][..., 0].astype(int)
    assert red[32, 48] > 240 and 0 < red[32, 48 + 12] < 150
    points = isosurface(block, "u", 0.64)
    normals = np.asarray(points.core.normals)
    outward = points.points / np.linalg.norm(points.points, axis=1)[:, None]
    assert (normals * outward).sum(axis=1).min() > 0.995


def test_triangles_without_gaps_cover_each_pixel_once() -> None:
    """The pixels of a closed sphere are those of its outline: no holes between triangles."""
    block = block_of(lambda x, y, z: x * x + y * y + z * z, 41)
    image = painted(isosurface(block, "u", 0.81), SurfacePaint())
    seen = np.isfinite(image["depth"])
    y, x = np.mgrid[:64, :96] + 0.5
    distance = np.hypot((x - 48) / 16, (32 - y) / 16)
    assert seen[distance < 0.89].all() and not seen[distance > 0.905].any()


def test_a_clipped_surface_ends_at_the_plane() -> None:
    surface = slice_surface(block_of(lambda x, y, z: x), (0, 0, 0), (0, 0, 1), ["u"])
    half = surface.clip((0.1, 0, 0), (1, 0, 0))
    used = half.points[np.unique(half.triangles)]
    assert used[:, 0].max() == pytest.approx(0.1, abs=1e-12)
    assert area(half.points, half.triangles) == pytest.approx(
        area(surface.points, surface.triangles) / 2 + 0.2, abs=0.02
    )
