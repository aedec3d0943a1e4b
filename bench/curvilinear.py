"""Time slices and isosurfaces of a curvilinear mesh against VTK's, in the same run.

A bent mesh of 128³ vertices with a field of doubles to a picture of 1024² with 2² samples a pixel,
on all cores of this machine. Both renderers share annotation and compositing. VTK cuts by
vtkCutter, contours by vtkContourFilter, and draws by its software OpenGL; ours finds and paints
triangles. The renderers alternate; each time is the median of the repetitions.

"first" is a picture of a field that has just changed, "next" another picture of the same surfaces.
Predicted: "first" 5 to 10 times as fast, as VTK cuts on one thread with 30 to 100 ns a cell and
ours tests a vertex in about 1 ns; "next" 2 to 4 times, bound by filling pixels.

    python bench/curvilinear.py [--json FILE] [--repeats 5] [--points 128] [--pictures FOLDER]
"""

from __future__ import annotations

import statistics
from pathlib import Path
from time import perf_counter
from typing import Any

from _job import measured_in_process
from _report import Record, option_parser, record, report
from rich.table import Table

SIDE = 1024
#: For each case the minimum factor over VTK of a first picture.
GOALS = {"slice": 3.0, "oblique slice": 3.0, "isosurface": 3.0, "slice and isosurface": 3.0}


def mesh(points: int) -> tuple[Any, Any]:
    """Return the vertices, (z, y, x, 3), and the values of a bent mesh."""
    import numpy as np

    line = np.linspace(-1, 1, points)
    z, y, x = np.meshgrid(line, line, line, indexing="ij")
    corners = np.stack(
        [
            x + 0.1 * np.sin(2 * y + z),
            y + 0.1 * np.sin(2 * z - x),
            z + 0.1 * np.sin(x + 2 * y),
        ],
        axis=-1,
    )
    values = np.sin(6 * x + 3 * y) * np.cos(5 * y - 2 * z) * np.sin(7 * z + x)
    return corners, values


def views() -> dict[str, Any]:
    """Return the view of each case."""
    from uzushio.render import Colors, IsosurfaceLayer, SliceLayer, View, Viewpoint

    colors = Colors(map="viridis", limits=(-1, 1))
    straight = SliceLayer(field="u", normal="z", at=0.1, color=colors)
    oblique = SliceLayer(field="u", normal=(1, 0.5, 0.7), origin=(0.1, 0, 0), color=colors)
    surface = IsosurfaceLayer(field="u", values=[0.3], color="orange")
    camera = Viewpoint(direction=(1.0, 0.8, 0.6))
    layers = {
        "slice": [straight],
        "oblique slice": [oblique],
        "isosurface": [surface],
        "slice and isosurface": [straight, surface],
    }
    return {name: View(layers=of, camera=camera, size=(SIDE, SIDE)) for name, of in layers.items()}


def measure(points: int, repeats: int, pictures: str) -> Record:
    """Time all cases."""
    import numpy as np
    from mpi4py import MPI
    from PIL import Image
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkStructuredGrid

    from uzushio.raycast.surface import CurvilinearBlock
    from uzushio.render import MeshRenderer

    corners, values = mesh(points)
    block = CurvilinearBlock(corners, {"u": values}, (0, 0, 0), (points - 1,) * 3)
    grid: Any = vtkStructuredGrid()
    grid.SetDimensions(points, points, points)
    places = vtkPoints()
    places.SetData(numpy_to_vtk(corners.reshape(-1, 3)))
    grid.SetPoints(places)
    array = numpy_to_vtk(values.ravel())
    array.SetName("u")
    grid.GetPointData().AddArray(array)
    results: Record = {}
    with (
        MeshRenderer(MPI.COMM_SELF, SIDE, SIDE, vtk=False) as ours,
        MeshRenderer(MPI.COMM_SELF, SIDE, SIDE) as vtk,
    ):
        renderers = {"ours": (ours, {"mesh": block}), "vtk": (vtk, {"mesh": grid})}
        for case, view in views().items():
            times: dict[str, dict[str, list[float]]] = {
                name: {"first": [], "next": []} for name in renderers
            }
            images = {}
            for repeat in range(repeats + 1):
                for name, (renderer, parts) in renderers.items():
                    if name == "vtk":
                        grid.Modified()
                    start = perf_counter()
                    surfaces = renderer.surfaces(view, parts)
                    picture = renderer.picture_of(view, surfaces)
                    middle = perf_counter()
                    renderer.picture_of(view, surfaces)
                    end = perf_counter()
                    assert picture is not None
                    images[name] = np.asarray(picture.pixels)[..., :3].astype(int)
                    if repeat:
                        times[name]["first"].append(middle - start)
                        times[name]["next"].append(end - middle)
            difference = np.abs(images["ours"] - images["vtk"]).max(axis=-1)
            results[case] = {
                name: {kind: statistics.median(of) for kind, of in kinds.items()}
                for name, kinds in times.items()
            } | {"differ": float((difference > 16).mean())}
            if pictures:
                Path(pictures).mkdir(parents=True, exist_ok=True)
                for name, image in images.items():
                    file = Path(pictures) / f"{case.replace(' ', '_')}_{name}.png"
                    Image.fromarray(image.astype(np.uint8)).save(file)
    return results


def table(results: Record) -> Table:
    """Return the table of the times."""
    shown = Table("case", "ours, first", "VTK", "factor", "ours, next", "VTK", "factor", "pixels")
    for case, of in results.items():
        row = [case]
        for kind in ("first", "next"):
            mine, other = of["ours"][kind], of["vtk"][kind]
            row += [f"{1e3 * mine:.0f} ms", f"{1e3 * other:.0f} ms", f"{other / mine:.1f}"]
        shown.add_row(*row, f"{100 * of['differ']:.2f} %")
    return shown


def records(results: Record) -> list[Record]:
    """Return the records of the factors over VTK."""
    return [
        record(
            f"{case}, {kind} picture: times as fast as VTK",
            of["vtk"][kind] / of["ours"][kind],
            goal=GOALS[case] if kind == "first" else None,
            of="VTK",
        )
        for case, of in results.items()
        for kind in ("first", "next")
    ]


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="pictures to time")
    parser.add_argument("--points", type=int, default=128, help="of the mesh, along each axis")
    parser.add_argument("--pictures", default="", help="folder for pictures, ours beside VTK's")
    options = parser.parse_args()
    results = measured_in_process(measure, options.points, options.repeats, options.pictures)
    report(options.json, records(results), table(results))


if __name__ == "__main__":
    main()
