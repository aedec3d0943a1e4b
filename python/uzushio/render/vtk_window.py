"""Off-screen rendering by VTK into memory.

Without its graphics libraries VTK ends the process instead of raising an error, so a child process
tests it first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio.compositing import DEPTH_PIXEL
from uzushio.domain.axes import Bounds
from uzushio.errors import RenderError
from uzushio.raycast import Camera, ColorTable, default_threads
from uzushio.raycast.surface import CurvilinearBlock, Surface
from uzushio.render.cameras import Vector
from uzushio.render.colors import RGBA

#: Timeout of the child process in seconds.
TRIAL_TIMEOUT = 60.0
#: Classes of off-screen windows, in order of preference.
WINDOWS = ("vtkEGLRenderWindow", "vtkOSOpenGLRenderWindow")

_TRIAL = """
import sys
from vtkmodules import vtkRenderingOpenGL2 as gl
from vtkmodules.vtkRenderingCore import vtkRenderer
window = getattr(gl, sys.argv[1])()
window.SetOffScreenRendering(1)
window.SetSize(16, 16)
window.AddRenderer(vtkRenderer())
window.Render()
found = window.ReportCapabilities()
assert "OpenGL version" in found, found
print("it draws")
"""


@cache
def window_class() -> str:
    """Return the name of a class of windows that works here, tested once in a child process.

    Raises:
        RenderError: VTK is missing, or no class works.
    """
    reasons = []
    for name in WINDOWS:
        try:
            trial = subprocess.run(
                [sys.executable, "-c", _TRIAL, name],
                env=_quiet_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TRIAL_TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            reasons.append(f"{name} did not draw within {TRIAL_TIMEOUT:g} s")
            continue
        if trial.returncode == 0 and "it draws" in trial.stdout:
            return name
        if "No module named" in trial.stderr:
            raise RenderError(
                "Pictures of such meshes need VTK; install it with `pip install vtk`."
            )
        last = (trial.stderr.strip() or "no message").splitlines()[-1][:200]
        ended = f"signal {-trial.returncode}" if trial.returncode < 0 else last
        reasons.append(f"{name}: {ended}")
    raise RenderError(
        "VTK cannot draw without a screen here: it needs EGL or OSMesa "
        f"(Debian: apt-get install libegl1 libgl1-mesa-dri). Its errors: {'; '.join(reasons)}."
    )


def _quiet_environment() -> dict[str, str]:
    """Return the environment without variables that make the child a rank of this job."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PMIX_", "PMI_", "OMPI_COMM_", "SLURM_"))
    }


@dataclass(frozen=True)
class MeshPart:
    """A rank's part of one layer, and its appearance.

    Attributes:
        data: A `vtkDataSet` of any kind, or a `Surface`.
        color: One colour, or None for the colours of `table`.
        field: Name of the array of values for colours, one for each point or cell.
        table: Colours of the values.
        edges: Colour of the mesh's lines, or None.
        lighting: Whether the surface is lit from the camera.
        smooth: Whether facets are smoothed where the data has normals.
        line_width: Width of lines in pixels.
        point_size: Size of points in pixels.
        half_spaces: Half spaces in whose intersection it is drawn: a point of the plane and the
            outward normal of each.
    """

    data: Any
    color: RGBA | None = None
    field: str = ""
    table: ColorTable | None = None
    edges: RGBA | None = None
    lighting: bool = True
    smooth: bool = True
    line_width: float = 1.0
    point_size: float = 3.0
    half_spaces: Sequence[tuple[Vector, Vector]] = ()


class VtkWindow:
    """Off-screen window that is kept from picture to picture.

    Args:
        width: Columns.
        height: Rows.
        kind: Result of `window_class`, if known.

    Raises:
        RenderError: VTK cannot draw here.
    """

    def __init__(self, width: int, height: int, kind: str | None = None) -> None:
        os.environ.setdefault("LP_NUM_THREADS", str(default_threads()))  # threads of Mesa
        kind = kind or window_class()
        from vtkmodules import vtkRenderingOpenGL2
        from vtkmodules.vtkRenderingCore import vtkRenderer

        self.width, self.height = width, height
        self._renderer = vtkRenderer()
        self._renderer.SetBackgroundAlpha(0.0)
        self._renderer.SetUseFXAA(False)
        self._window = getattr(vtkRenderingOpenGL2, kind)()
        self._window.SetOffScreenRendering(1)
        self._window.SetAlphaBitPlanes(1)
        self._window.SetMultiSamples(0)  # a blend of two surfaces has no depth
        self._window.SetSize(width, height)
        self._window.AddRenderer(self._renderer)

    def draw(
        self,
        parts: Iterable[MeshPart],
        camera: Camera,
        bounds: Bounds,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Draw, and return pixels of type `uzushio.compositing.DEPTH_PIXEL`.

        Depth is the distance along the view, infinite where there is nothing.

        Args:
            parts: This rank's parts.
            camera: Camera of the picture.
            bounds: Bounds of the data of all ranks along x, y and z.
            out: Memory for the result, shape (height, width).

        Raises:
            RenderError: A part lacks its field.
        """
        from vtkmodules.vtkCommonCore import vtkFloatArray, vtkUnsignedCharArray

        if out is None:
            out = np.empty((self.height, self.width), DEPTH_PIXEL)
        near, far = view_range(camera, bounds)
        self._set_camera(camera, near, far)
        self._renderer.RemoveAllViewProps()
        for part in parts:
            self._renderer.AddActor(_actor(part))
        self._window.Render()

        colors, z = vtkUnsignedCharArray(), vtkFloatArray()
        corner = (0, 0, self.width - 1, self.height - 1)
        self._window.GetRGBACharPixelData(*corner, 0, colors)
        self._window.GetZbufferData(*corner, z)
        self._renderer.RemoveAllViewProps()  # release references to the data
        shape = self.height, self.width
        out["rgba"] = _array(colors).reshape(*shape, 4)[::-1]
        out["depth"] = _distance(_array(z).reshape(shape)[::-1], camera, near, far)
        out["rgba"][np.isinf(out["depth"])] = 0
        return out

    def close(self) -> None:
        """Release the resources of the graphics library."""
        self._window.Finalize()

    def _set_camera(self, camera: Camera, near: float, far: float) -> None:
        eye = self._renderer.GetActiveCamera()
        eye.SetPosition(camera.position)
        eye.SetFocalPoint(camera.focal_point)
        eye.SetViewUp(camera.up)
        if camera.parallel_height is not None:
            eye.ParallelProjectionOn()
            eye.SetParallelScale(camera.parallel_height / 2)
        else:
            eye.ParallelProjectionOff()
            eye.SetViewAngle(camera.view_angle)
        eye.SetClippingRange(near, far)


def view_range(camera: Camera, bounds: Bounds) -> tuple[float, float]:
    """Return minimum and maximum distance of the bounds along the view, with a margin.

    They are the same on all ranks, so that their depths are comparable.
    """
    corners = [[x, y, z] for x in bounds[0] for y in bounds[1] for z in bounds[2]]
    distance = (np.array(corners) - camera.position) @ camera.axes[2]
    room = 1e-3 * float(np.ptp(np.array(bounds), axis=1).max()) or 1e-3
    far = max(float(distance.max()) + room, room)
    near = float(distance.min()) - room
    return max(near, 1e-3 * far), far


def _distance(
    z: NDArray[np.float32], camera: Camera, near: float, far: float
) -> NDArray[np.float32]:
    """Return distances along the view for values of the depth buffer, 0 to 1."""
    z = z.astype(np.float64)
    if camera.parallel_height is not None:
        depth = near + z * (far - near)
    else:
        depth = near * far / (far - z * (far - near))
    return np.where(z < 1.0, depth, np.inf).astype(np.float32)


def data_sets(data: Any) -> list[Any]:
    """Return the data sets in a data set, a tree of them, a sequence of them, or None."""
    if data is None:
        return []
    if isinstance(data, list | tuple):
        return [leaf for item in data for leaf in data_sets(item)]
    if isinstance(data, CurvilinearBlock):
        return [data]
    if data.IsA("vtkCompositeDataSet"):
        tree = data.NewIterator()
        leaves = []
        tree.InitTraversal()
        while not tree.IsDoneWithTraversal():
            leaves.append(tree.GetCurrentDataObject())
            tree.GoToNextItem()
        return [leaf for leaf in leaves if leaf.GetNumberOfPoints()]
    return [data] if data.GetNumberOfPoints() else []


def values_of(data: Any, name: str) -> tuple[NDArray[Any], bool]:
    """Return the values of a field, and whether they belong to points (otherwise to cells).

    Raises:
        RenderError: The field is missing, or has more than one component.
    """
    if isinstance(data, Surface):
        return data.values(name), True
    for attributes, at_points in ((data.GetPointData(), True), (data.GetCellData(), False)):
        array = attributes.GetArray(name)
        if array is None:
            continue
        if array.GetNumberOfComponents() != 1:
            raise RenderError(
                f"The field {name} has {array.GetNumberOfComponents()} components; colours need "
                "one: compute its magnitude, or a component, first."
            )
        return _array(array), at_points
    there = [
        attributes.GetArrayName(n)
        for attributes in (data.GetPointData(), data.GetCellData())
        for n in range(attributes.GetNumberOfArrays())
    ]
    raise RenderError(f"The mesh has no field {name}; it has {', '.join(there) or 'none'}.")


def _array(vtk_array: Any) -> NDArray[Any]:
    """Return a view of the memory of a VTK array."""
    from vtkmodules.util import numpy_support

    view: NDArray[Any] = numpy_support.vtk_to_numpy(vtk_array)
    return view


def surface_of(data: Any) -> Any:
    """Return a data set if it is a surface, else its boundary without faces between parts."""
    if data.IsA("vtkPolyData"):
        return data
    from vtkmodules.vtkFiltersGeometry import vtkGeometryFilter

    boundary = vtkGeometryFilter()
    boundary.SetInputData(data)
    boundary.Update()
    return boundary.GetOutput()


def _actor(part: MeshPart) -> Any:
    from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

    data = surface_of(part.data)
    mapper = vtkPolyDataMapper()
    mapper.SetInputData(data)
    for origin, normal in part.half_spaces:
        mapper.AddClippingPlane(_clipping_plane(origin, normal, data.GetLength()))
    actor = vtkActor()
    actor.SetMapper(mapper)
    appearance = actor.GetProperty()
    if part.color is not None or part.table is None:
        mapper.ScalarVisibilityOff()
        appearance.SetColor(*(part.color or (0.8, 0.8, 0.8, 1.0))[:3])
    else:
        _, at_points = values_of(data, part.field)
        mapper.SetScalarMode(3 if at_points else 4)  # field of points, or of cells, by name
        mapper.SelectColorArray(part.field)
        mapper.SetScalarVisibility(True)
        mapper.SetInterpolateScalarsBeforeMapping(at_points)
        mapper.SetUseLookupTableScalarRange(True)
        mapper.SetLookupTable(lookup_table(part.table))
    appearance.SetAmbient(0.2 if part.lighting else 1.0)
    appearance.SetDiffuse(0.8 if part.lighting else 0.0)
    appearance.SetSpecular(0.2 if part.lighting else 0.0)
    appearance.SetSpecularPower(30.0)
    if part.smooth and data.GetPointData().GetNormals() is not None:
        appearance.SetInterpolationToPhong()
    else:
        appearance.SetInterpolationToFlat()
    appearance.SetLineWidth(part.line_width)
    appearance.SetPointSize(part.point_size)
    if part.edges is not None:
        appearance.EdgeVisibilityOn()
        appearance.SetEdgeColor(part.edges[:3])
    return actor


def _clipping_plane(origin: Vector, normal: Vector, size: float) -> Any:
    """Return the plane of a half space; surfaces in the plane are not lost to rounding."""
    from vtkmodules.vtkCommonDataModel import vtkPlane

    outward = np.array(normal) / np.linalg.norm(normal)
    plane = vtkPlane()
    plane.SetOrigin(np.array(origin) + 1e-5 * size * outward)
    plane.SetNormal(-outward)  # VTK draws the side to which it points
    return plane


def lookup_table(table: ColorTable) -> Any:
    """Return VTK's form of a table."""
    from vtkmodules.util import numpy_support
    from vtkmodules.vtkCommonCore import vtkLookupTable

    # VTK divides the range equally; 4096 is the maximum number of colours of a texture.
    count = min(len(table.rgba), 4096)
    rows = table.rgba[np.linspace(0, len(table.rgba) - 1, count).round().astype(int)].copy()
    rows[:, 3] = 1.0
    lookup = vtkLookupTable()
    lookup.SetNumberOfTableValues(count)
    table_array = numpy_support.numpy_to_vtk(np.round(255 * rows).astype(np.uint8), deep=True)
    lookup.SetTable(table_array)
    lookup.SetTableRange(table.lo, table.hi)
    if table.logarithmic:
        lookup.SetScaleToLog10()
    below, above = table.ends
    lookup.SetBelowRangeColor(below)
    lookup.SetAboveRangeColor(above)
    lookup.UseBelowRangeColorOn()
    lookup.UseAboveRangeColorOn()
    lookup.SetNanColor(table.nan)
    return lookup
