"""Drawing of a view, once a step, shared by all actions that use the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.errors import PipelineError, RenderError
from uzushio.parallel.collective import collective
from uzushio.pipeline.context import Context, Setup
from uzushio.pipeline.need import Need, Part
from uzushio.pipeline.stream import Coordinates, Grid, Stream
from uzushio.raycast import Block
from uzushio.raycast.ghosts import max_touched
from uzushio.render.view import IsosurfaceLayer, MeshLayer, SliceLayer, View, VolumeLayer

if TYPE_CHECKING:
    from uzushio.render.mesh_renderer import MeshRenderer
    from uzushio.render.picture import Picture
    from uzushio.render.renderer import Renderer

#: Thickness of a flat mesh in pictures, relative to its longest side.
_PLATE_THICKNESS = 1e-3

#: Bytes of a rank per sample of a pixel, for two images with their buffers; and the additional
#: bytes of the root of several ranks for the gather. Measured at 2048 x 2048 and 4096 x 4096 pixels
#: on 1 and 2 ranks.
_PIXEL_BYTES, _ROOT_BYTES = 33, 18


@dataclass
class Drawing:
    """Pictures of one view, drawn in parallel by the ranks that hold the mesh.

    Attributes:
        view: the view.
        setup: environment of the actions.
        nan: number of non-finite values in all pictures.
        pictures: number of pictures.
        notes: notes that were printed, each once.
    """

    view: View
    setup: Setup
    nan: int = 0
    pictures: int = 0
    notes: set[str] = field(default_factory=set)
    _need: Need | None = None
    _by_vtk: bool = False
    _renderer: Renderer | None = None
    _mesh_renderer: MeshRenderer | None = None
    _last: tuple[int, Picture | None] | None = None

    @staticmethod
    def of(view: View, setup: Setup) -> Drawing:
        """Return the drawing of a view that all actions share."""
        key = (Drawing, view)
        if view.font is not None:  # relative to the file's folder
            view = view.model_copy(update={"font": setup.base / view.font.expanduser()})
        found: Drawing = setup.shared.setdefault(key, Drawing(view, setup))
        return found

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Check the fields, the camera and the font; see `Action.prepare`."""
        names = [stream.scalar(name).name for name in self.view.fields()]
        if not names:
            raise PipelineError("a view needs a layer that shows a field")
        grid = stream.grid_of(names[0])
        flat = sum(n < 2 for n in grid.points.count)
        if flat > (grid.coordinates is not None):
            raise PipelineError(
                f"the mesh {grid.mesh} has one point along an axis; pictures are of meshes with "
                "two or more along each, or along two if it is not curvilinear"
            )
        for axis, line in zip("zyx", lines_of(grid) or (), strict=False):
            if (np.diff(line) <= 0).any():
                raise PipelineError(
                    f"the coordinates of the mesh {grid.mesh} along {axis} do not increase, and "
                    "pictures need meshes with increasing coordinates"
                )
        self._check_camera_and_font(grid)
        if grid.coordinates is None or any(isinstance(n, MeshLayer) for n in self.view.layers):
            self._need = self._meshes_need(names, grid)
            return [self._need]
        solid = [layer for layer in self.view.layers if not isinstance(layer, SliceLayer)]
        lit = any(
            (isinstance(layer, IsosurfaceLayer) and layer.lighting)
            or (isinstance(layer, VolumeLayer) and layer.shading)
            for layer in solid
        )
        lines = lines_of(grid)
        assert lines is not None
        ghosts = max_touched(thickened(lines)) + int(lit) if solid else 0  # see `ghost_layers`
        self._need = Need(tuple(names), ghosts=ghosts, cells=True, periodic_cells=True)
        return [self._need]

    def _check_camera_and_font(self, grid: Grid) -> None:
        """Raise `PipelineError` if the camera is impossible or the font does not exist."""
        from uzushio.render.typeface import Typeface

        view, lines = self.view, lines_of(grid)
        if lines is not None:
            bounds = [(float(line[0]), float(line[-1])) for line in reversed(thickened(lines))]
            try:
                view.camera.camera(bounds, *view.size)
            except ValueError as error:
                raise PipelineError(f"camera: {error}") from error
        try:
            with collective(self.setup.comm):
                if self.setup.comm.rank == 0:
                    Typeface(view.font)
        except RenderError as error:
            raise PipelineError(f"font: {str(error).rstrip('.')}") from error

    def _meshes_need(self, names: Sequence[str], grid: Grid) -> Need:
        """Return the need of a view that VTK draws; raises `PipelineError` if VTK cannot."""
        from uzushio.render.vtk_filters import meshes_of

        if grid.coordinates is None and grid.of_elements:
            raise PipelineError(
                f"pictures of the curvilinear mesh {grid.mesh} take fields at its vertices, and "
                f"{names[0]} is at its elements"
            )
        for layer in self.view.layers:
            meshes_of(layer, {grid.mesh: None})
        self._by_vtk = True
        return Need(tuple(names), cells=True, periodic_cells=True)

    def _with_units(self, context: Context) -> View:
        """Return the view, with the units of the stream where it gives none."""
        view, stream, more = self.view, context.stream, {}
        if "length_unit" not in view.model_fields_set:
            more["length_unit"] = stream.length_unit
        if "time_stamp" not in view.model_fields_set and stream.time_unit:
            unit = stream.time_unit.replace("{", "{{").replace("}", "}}")
            more["time_stamp"] = f"{view.time_stamp} {unit}"
        return view.model_copy(update=more)

    @property
    def bytes_needed(self) -> int:
        """Bytes that this rank will allocate for images; 0 once it has."""
        if self._renderer is not None or self._mesh_renderer is not None:
            return 0
        comm, (width, height) = self.setup.comm, self.view.size
        root = _ROOT_BYTES if comm.rank == 0 and comm.size > 1 else 0
        return (_PIXEL_BYTES + root) * width * height * self.view.samples**2

    def picture(self, context: Context) -> Picture | None:
        """Return the picture of a step on rank 0; drawn at the first call (collective)."""
        if self._last is None or self._last[0] != context.index:
            self._last = context.index, self._draw(context)
        return self._last[1]

    def _draw(self, context: Context) -> Picture | None:
        picture = (
            self._draw_with_vtk(context) if self._by_vtk else self._draw_with_ray_caster(context)
        )
        if picture is not None:
            self.pictures += 1
            self.nan += picture.nan_count
            for stage, seconds in picture.seconds.items():
                self.setup.timings.add(f"picture: {stage}", seconds)
            self._report_notes(picture)
        return picture

    def _labels(self, context: Context) -> dict[str, Any]:
        """Return time, step, units and labels for the annotation of a picture."""
        assert self._need is not None
        found = {name: context.stream.quantity(name) for name in self._need.fields}
        return {
            "time": context.time,
            "step": context.index,
            "units": {name: quantity.unit for name, quantity in found.items()},
            "labels": {n: q.description for n, q in found.items() if q.derived and q.description},
        }

    def _draw_with_ray_caster(self, context: Context) -> Picture | None:
        """Draw by ray casting."""
        if self._renderer is None:
            from uzushio.render.renderer import Renderer

            self._renderer = Renderer(self.setup.comm, *self.view.size, samples=self.view.samples)
        need = self._need
        assert need is not None
        with context.collective():
            blocks = [_block(part) for part in context.parts(need)]
        domain = lines_of(context.stream.grid_of(need.fields[0]))
        assert domain is not None
        return self._renderer.picture(
            self._with_units(context), blocks, thickened(domain), **self._labels(context)
        )

    def _draw_with_vtk(self, context: Context) -> Picture | None:
        """Draw by VTK."""
        from uzushio.pipeline.vtk_view import VtkView

        if self._mesh_renderer is None:
            from uzushio.render.mesh_renderer import MeshRenderer

            size, samples = self.view.size, max(2, self.view.samples)
            self._mesh_renderer = MeshRenderer(self.setup.comm, *size, samples=samples)
        need = self._need
        assert need is not None
        with context.collective():
            views = [VtkView(part) for part in context.parts(need) if part.cells.size]
        mesh = context.stream.grid_of(need.fields[0]).mesh
        try:
            parts = {mesh: [view.dataset for view in views]}
            return self._mesh_renderer.picture(
                self._with_units(context), parts, **self._labels(context)
            )
        finally:
            parts.clear()
            for view in views:
                view.release()

    def _report_notes(self, picture: Picture) -> None:
        """Print each kind of note of a picture once."""
        notes = list(picture.notes)
        if picture.nan_count:
            notes.append("Some values are not finite, and are drawn in the colour for NaN.")
        for note in notes:
            kind = note.partition(": it lies between")[0]
            if kind not in self.notes:
                self.notes.add(kind)
                self.setup.say(f"At step {picture.step}: {note}")

    def close(self) -> None:
        """Release memory, without communication; the last call."""
        self._renderer = None
        self._mesh_renderer = None


def lines_of(grid: Grid) -> Coordinates | None:
    """Return the coordinates of the drawn domain: up to the end of the period where periodic."""
    return None if grid.coordinates is None else grid.lines(grid.wrapped_points)


def thickened(lines: Coordinates) -> Coordinates:
    """Return the coordinates of a mesh, with a thin plate along axes with one point."""
    thick = _PLATE_THICKNESS * max(float(np.ptp(line)) for line in lines)
    z, y, x = (line if len(line) > 1 else line[0] + thick * np.array([-0.5, 0.5]) for line in lines)
    return z, y, x


def _block(part: Part) -> Block:
    """Make a ray caster's block of a part; a flat part has its values twice, by stride 0."""
    fields = {
        name: values if values.dtype in (np.float32, np.float64) else values.astype(np.float32)
        for name, values in part.fields.items()
    }
    whole = lines_of(part.grid)
    assert whole is not None
    if min(part.grid.points.count) > 1:
        return Block(part.coordinates, part.stored.start, part.cells, fields)
    flat = [n == 1 for n in part.grid.points.count]
    shape = [2 if one else n for one, n in zip(flat, part.stored.count, strict=True)]
    cells = [one or n for one, n in zip(flat, part.cells.count, strict=True)]
    places = part.stored.slices(part.grid.points.start)
    return Block(
        [
            line if one else line[place]
            for one, line, place in zip(flat, thickened(whole), places, strict=True)
        ],
        part.stored.start,
        (part.cells.start, [int(n) for n in cells]),
        {name: np.broadcast_to(values, shape) for name, values in fields.items()},
    )
