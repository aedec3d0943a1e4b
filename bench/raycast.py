"""Time the ray caster against VTK on the same field, cameras and sampling, in the same run.

A field of 256³ floats to a picture of 1024², on all cores of this machine: a dense volume, a sparse
one, a coarse and a fine iso-surface, and three slices. Ours and VTK's alternate; each time is the
median of the repetitions. VTK draws volumes by its fixed-point ray caster with the same distance of
samples, iso-surfaces by contouring and triangles, slices as images.

"first" is a picture of a field that has just changed, including its preprocessing (ours: ranges of
bricks). "next" is another picture of the same field.

    python bench/raycast.py [--json FILE] [--repeats 5] [--pictures FOLDER] [--points 256]
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from time import perf_counter
from typing import Any

from _job import measured_in_process
from _report import Record, option_parser, record, report
from rich.table import Table

SIDE = 1024  # pixels
#: For each case the minimum factor over VTK, and the picture that it is for.
GOALS = {
    "dense volume": (5.0, "next"),
    "sparse volume": (5.0, "next"),
    "iso-surface": (4.0, "first"),
    "fine iso-surface": (5.0, "first"),
    "slices": (1.2, "next"),
}
CASES = tuple(GOALS)
#: Value, red, green, blue, opacity on a spacing of the mesh.
DENSE = [[-1.5, 0, 0.1, 0.8, 0.02], [0, 0.9, 0.9, 0.9, 0.005], [1.5, 0.8, 0.1, 0, 0.02]]
SPARSE = [[-1.5, 0, 0, 0, 0], [0.8, 0.1, 0.2, 0.9, 0], [1.0, 1, 1, 1, 0.2], [1.5, 1, 0.2, 0, 0.5]]
ISO = 0.5
VIEW = (1.5, 1.25, 1.0)  # from the middle to the camera


def field(points: int) -> Any:
    """Return waves of several lengths, with values from −1.5 to 1.5."""
    import numpy as np

    x = np.linspace(-1, 1, points, dtype=np.float32)
    Z, Y, X = np.meshgrid(x, x, x, indexing="ij", sparse=True)
    slow = np.sin(6 * X + 3 * Y) * np.cos(5 * Y - 2 * Z) * np.sin(7 * Z + X)
    fast = np.cos(20 * X) * np.cos(18 * Y) * np.cos(22 * Z)
    return np.ascontiguousarray(slow + 0.5 * fast, dtype=np.float32)


def fine_field(points: int) -> Any:
    """Return waves so short that an iso-surface at 256³ points has 2.8 million triangles."""
    import numpy as np

    x = np.linspace(-1, 1, points, dtype=np.float32)
    Z, Y, X = np.meshgrid(x, x, x, indexing="ij", sparse=True)
    waves = np.cos(25 * X + 3 * Z) * np.cos(23 * Y - 5 * X) * np.cos(26 * Z + 4 * Y)
    return np.ascontiguousarray(waves + 0.5 * np.sin(5 * X + 4 * Y + 3 * Z), dtype=np.float32)


class Vtk:
    """Pictures by VTK."""

    def __init__(self, values: Any, fine: Any) -> None:
        import vtk

        self.spacing = 2 / (values.shape[0] - 1)
        self.data = self._image(vtk, values)
        self.fine = self._image(vtk, fine)
        props = {
            "dense volume": [self._volume(vtk, DENSE)],
            "sparse volume": [self._volume(vtk, SPARSE)],
            "iso-surface": [self._isosurface(vtk, self.data)],
            "fine iso-surface": [self._isosurface(vtk, self.fine)],
            "slices": self._slices(vtk),
        }
        self.windows = {name: self._window(vtk, some) for name, some in props.items()}
        self._vtk = vtk

    def _image(self, vtk: Any, values: Any) -> Any:
        from vtkmodules.util import numpy_support

        image = vtk.vtkImageData()
        image.SetDimensions(values.shape[::-1])
        image.SetOrigin(-1, -1, -1)
        image.SetSpacing(self.spacing, self.spacing, self.spacing)
        image.GetPointData().SetScalars(numpy_support.numpy_to_vtk(values.ravel()))
        return image

    def _volume(self, vtk: Any, transfer: list[list[float]]) -> Any:
        color, opacity = vtk.vtkColorTransferFunction(), vtk.vtkPiecewiseFunction()
        for value, red, green, blue, alpha in transfer:
            color.AddRGBPoint(value, red, green, blue)
            opacity.AddPoint(value, alpha)
        mapper = vtk.vtkFixedPointVolumeRayCastMapper()
        mapper.SetInputData(self.data)
        mapper.SetAutoAdjustSampleDistances(0)
        mapper.SetLockSampleDistanceToInputSpacing(0)
        mapper.SetSampleDistance(self.spacing)
        mapper.SetInteractiveSampleDistance(self.spacing)
        mapper.SetImageSampleDistance(1)
        mapper.SetNumberOfThreads(os.cpu_count() or 1)
        volume = vtk.vtkVolume()
        volume.SetMapper(mapper)
        volume.GetProperty().SetColor(color)
        volume.GetProperty().SetScalarOpacity(opacity)
        volume.GetProperty().SetScalarOpacityUnitDistance(self.spacing)
        volume.GetProperty().SetInterpolationTypeToLinear()
        volume.GetProperty().ShadeOff()
        return volume

    def _isosurface(self, vtk: Any, data: Any) -> Any:
        contour = vtk.vtkFlyingEdges3D()
        contour.SetInputData(data)
        contour.SetValue(0, ISO)
        contour.ComputeNormalsOn()
        contour.ComputeScalarsOff()
        mapper = vtk.vtkPolyDataMapper()
        mapper.SetInputConnection(contour.GetOutputPort())
        mapper.ScalarVisibilityOff()
        actor = vtk.vtkActor()
        actor.SetMapper(mapper)
        actor.GetProperty().SetColor(1, 0.6, 0.2)
        return actor

    def _slices(self, vtk: Any) -> list[Any]:
        table = vtk.vtkColorTransferFunction()
        for value, color in zip((-1, 0, 1), ((0, 0, 1), (1, 1, 1), (1, 0, 0)), strict=True):
            table.AddRGBPoint(value, *color)
        result = []
        for axis in range(3):
            mapper = vtk.vtkImageSliceMapper()
            mapper.SetInputData(self.data)
            mapper.SetOrientation(axis)
            mapper.SetSliceNumber(self.data.GetDimensions()[axis] // 2)
            actor = vtk.vtkImageSlice()
            actor.SetMapper(mapper)
            actor.GetProperty().SetLookupTable(table)
            actor.GetProperty().UseLookupTableScalarRangeOn()
            actor.GetProperty().SetInterpolationTypeToLinear()
            result.append(actor)
        return result

    def _window(self, vtk: Any, props: list[Any]) -> Any:
        renderer = vtk.vtkRenderer()
        renderer.SetBackground(0, 0, 0)
        for prop in props:
            renderer.AddViewProp(prop)
        window = vtk.vtkRenderWindow()
        window.SetOffScreenRendering(1)
        window.SetMultiSamples(0)
        window.SetSize(SIDE, SIDE)
        window.AddRenderer(renderer)
        camera = renderer.GetActiveCamera()
        camera.SetFocalPoint(0, 0, 0)
        camera.SetPosition(*VIEW)
        camera.SetViewUp(0, 0, 1)
        renderer.ResetCamera(-1, 1, -1, 1, -1, 1)
        camera.Zoom(1.4)
        renderer.ResetCameraClippingRange()
        self.camera = (camera.GetPosition(), camera.GetViewAngle())
        return window

    def draw(self, case: str, changed: bool) -> None:
        """Draw one picture and wait until it is complete."""
        if changed:
            for data in (self.data, self.fine):
                data.GetPointData().GetScalars().Modified()
                data.Modified()
        self.windows[case].Render()
        self.windows[case].WaitForCompletion()

    def picture(self, case: str) -> Any:
        """Return the picture, shape (SIDE, SIDE, 3), the first row at the top."""
        from vtkmodules.util import numpy_support

        grab = self._vtk.vtkWindowToImageFilter()
        grab.SetInput(self.windows[case])
        grab.ReadFrontBufferOff()
        grab.Update()
        image = numpy_support.vtk_to_numpy(grab.GetOutput().GetPointData().GetScalars())
        return image.reshape(SIDE, SIDE, 3)[::-1]


class Ours:
    """Pictures by the ray caster."""

    def __init__(self, values: Any, fine: Any, camera: tuple[Any, float]) -> None:
        import numpy as np

        from uzushio.raycast import (
            Camera,
            ColorTable,
            Isosurface,
            Lighting,
            Scene,
            Slice,
            Volume,
        )

        points = values.shape[0]
        x = np.linspace(-1, 1, points)
        spacing = 2 / (points - 1)
        # VTK's middle slice goes through points.
        middle = float(x[points // 2])
        table = ColorTable(np.array([[0, 0, 1], [1, 1, 1], [1, 0, 0]]), -1, 1)
        light = Lighting(0, 1, 0, 1)
        layers: dict[str, list[Any]] = {
            "dense volume": [Volume("f", np.array(DENSE), unit_distance=spacing)],
            "sparse volume": [Volume("f", np.array(SPARSE), unit_distance=spacing)],
            "iso-surface": [Isosurface("f", [ISO], color=(1, 0.6, 0.2), lighting=light)],
            "fine iso-surface": [Isosurface("fine", [ISO], color=(1, 0.6, 0.2), lighting=light)],
            "slices": [
                Slice("f", (middle,) * 3, normal, table)
                for normal in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
            ],
        }
        self.domain = (x, x, x)
        self.scenes = {
            name: Scene(some, self.domain, step=spacing) for name, some in layers.items()
        }
        self.camera = Camera(camera[0], (0, 0, 0), view_angle=camera[1])
        self.fields = {"f": values, "fine": fine}
        self.out = np.empty((SIDE, SIDE, 4), np.uint8)
        self._new_block()

    def _new_block(self) -> None:
        from uzushio.raycast import Block

        cells = tuple(len(c) - 1 for c in self.domain)
        self.block = Block(self.domain, (0, 0, 0), ((0, 0, 0), cells), self.fields)

    def draw(self, case: str, changed: bool) -> None:
        """Draw one picture."""
        from uzushio.raycast import cast

        if changed:
            self._new_block()
        cast(self.scenes[case], self.camera, SIDE, SIDE, [self.block], out=self.out)

    def picture(self, case: str) -> Any:
        """Return the picture on black."""
        self.draw(case, False)
        return self.out[..., :3].copy()


def measure(points: int, repeats: int, folder: str) -> dict[str, Any]:
    """Time all cases; ours and VTK's alternate."""
    import numpy as np

    values, fine = field(points), fine_field(points)
    vtk = Vtk(values, fine)
    ours = Ours(values, fine, vtk.camera)
    times: dict[str, dict[str, list[float]]] = {}
    pictures: dict[str, Any] = {}
    for case in CASES:
        vtk.draw(case, True)
        ours.draw(case, True)
        a, b = ours.picture(case), vtk.picture(case)
        if folder:
            pictures[case] = np.concatenate([a, b], axis=1)
        times[case] = {}
        for name in ("ours", "vtk"):
            for when in ("first", "next"):
                times[case][f"{name} {when}"] = []
        for _ in range(repeats):
            for name, side in (("ours", ours), ("vtk", vtk)):
                for when in ("first", "next"):
                    begin = perf_counter()
                    side.draw(case, when == "first")
                    times[case][f"{name} {when}"].append(perf_counter() - begin)
        times[case]["difference"] = [float(np.abs(a.astype(int) - b).mean())]
    if folder:
        from PIL import Image

        for case, pair in pictures.items():
            small = Image.fromarray(pair).resize((1024, 512), Image.Resampling.LANCZOS)
            small.save(Path(folder) / f"{case.replace(' ', '_')}.png", optimize=True)
        label_pairs(pictures, Path(folder) / "raycast.png")
    return {
        case: {name: statistics.median(some) for name, some in values.items()}
        for case, values in times.items()
    }


def run(points: int, repeats: int, folder: str) -> dict[str, Any]:
    """Measure in a child process, with VTK's threads on.

    Raises:
        SystemExit: VTK cannot draw here, or the child process failed.
    """
    from uzushio.errors import RenderError
    from uzushio.render.vtk_window import window_class

    try:
        window_class()
    except RenderError as error:
        raise SystemExit(str(error)) from error
    environment = {"VTK_SMP_BACKEND_IN_USE": "STDThread"}
    result: dict[str, Any] = measured_in_process(
        measure, points, repeats, folder, environment=environment
    )
    return result


def table(results: dict[str, Any]) -> Table:
    """Return the times as a table."""
    shown = Table("ms", "ours first", "ours next", "VTK first", "VTK next", "×", "differs by")
    for case, t in results.items():
        names = ("ours first", "ours next", "vtk first", "vtk next")
        cells = [f"{1e3 * t[name]:.1f}" for name in names]
        ratio = f"{t['vtk first'] / t['ours first']:.1f} / {t['vtk next'] / t['ours next']:.1f}"
        shown.add_row(case, *cells, ratio, f"{t['difference']:.2f} of 255")
    return shown


def records(results: dict[str, Any]) -> list[Record]:
    """Return the records of all figures, with goals."""
    rows = []
    than: dict[str, str] = {
        "dense volume": "VTK's fixed-point ray caster, equal sampling",
        "sparse volume": "VTK's fixed-point ray caster, equal sampling",
        "iso-surface": "VTK's contour and drawing",
        "fine iso-surface": "VTK's contour and drawing",
        "slices": "VTK's image slices",
    }
    for case, t in results.items():
        # A volume and slices are drawn from several cameras, a surface mostly of a new field.
        goal, counted = GOALS[case]
        for when in ("first", "next"):
            ratio, aim = t[f"vtk {when}"] / t[f"ours {when}"], goal if when == counted else None
            rows.append(record(f"{case}, {when} picture", ratio, "× faster", aim, than[case]))
        rows += [
            record(f"{case}, next picture", 1e3 * t["ours next"], "ms"),
            record(f"{case}, mean difference", t["difference"], "of 255", of="VTK's picture"),
        ]
    return rows


def label_pairs(pairs: dict[str, Any], path: Path) -> None:
    """Write pairs of pictures, (rows, 2 x columns, RGB), with names of cases and sides."""
    from matplotlib.figure import Figure

    rows = -(-len(pairs) // 2)
    figure = Figure(figsize=(9.0, 0.2 + 2.4 * rows), layout="constrained")
    panels = figure.subfigures(rows, 2, squeeze=False).flatten()
    for panel, (case, pair) in zip(panels, pairs.items(), strict=False):
        panel.suptitle(case, fontsize=10.0)
        middle = pair.shape[1] // 2
        sides = (pair[:, :middle], pair[:, middle:])
        for axes, side, name in zip(panel.subplots(1, 2), sides, ("Uzushio", "VTK"), strict=True):
            axes.imshow(side)
            axes.set_xlabel(name, fontsize=9.0)
            axes.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="pictures to time")
    parser.add_argument("--points", type=int, default=256, help="of the field, along each axis")
    parser.add_argument("--pictures", default="", help="folder for pictures, ours beside VTK's")
    options = parser.parse_args()
    results = run(options.points, options.repeats, options.pictures)
    report(options.json, records(results), table(results))


if __name__ == "__main__":
    main()
