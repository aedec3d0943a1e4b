"""Drawing of a view, once a step, shared by all actions that use the picture."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.parallel.sync import collective
from uzushio.domain.axes import bounds_of
from uzushio.errors import PipelineError, RenderError
from uzushio.pipeline.blocks import block_of, curvilinear_block, lines_of
from uzushio.pipeline.context import Context, PartSource, Setup
from uzushio.pipeline.need import Need
from uzushio.pipeline.stream import Grid, Stream
from uzushio.raycast import Block
from uzushio.raycast.ghosts import max_touched
from uzushio.render.bodies import with_bodies
from uzushio.render.limits import LimitTracker, Range
from uzushio.render.picture_sections import PictureSections
from uzushio.render.plates import thickened
from uzushio.render.view import IsosurfaceLayer, MeshLayer, SliceLayer, View, VolumeLayer

if TYPE_CHECKING:
    from uzushio.pipeline.vtk_view import VtkView
    from uzushio.render.mesh_renderer import MeshRenderer, MeshSurfaces
    from uzushio.render.picture import Picture
    from uzushio.render.renderer import Renderer

#: Maximum number of renderers of a drawing: sizes change while a user drags.
_MAX_RENDERERS = 3
#: Bytes of a rank per sample of a pixel, for two images with their buffers; and the additional
#: bytes of the root of several ranks for the gather. Measured at 2048 x 2048 and 4096 x 4096 pixels
#: on 1 and 2 ranks.
_PIXEL_BYTES, _ROOT_BYTES = 33, 18

#: Note on a blank picture without other notes.
BLANK = "The picture is blank: nothing of its layers is in view."


@dataclass
class Drawing:
    """Pictures of one view, drawn in parallel by the ranks that hold the mesh.

    Attributes:
        view: the view; `change` replaces it.
        setup: environment of the actions.
        shown: the view with layers of its bodies, as it is drawn; set by `prepare`.
        keeps_blocks: whether blocks and surfaces of a step are kept for further pictures of its
            values, which must then stay.
        nan: number of non-finite values in all pictures.
        pictures: number of pictures.
        notes: notes that were printed, each once.
    """

    view: View
    setup: Setup
    shown: View = field(init=False)
    keeps_blocks: bool = False
    nan: int = 0
    pictures: int = 0
    notes: set[str] = field(default_factory=set)
    _needs: Sequence[Need] = ()
    _by_vtk: bool = False
    _by_surfaces: bool = False
    _renderers: dict[tuple[Any, ...], Renderer | MeshRenderer] = field(default_factory=dict)
    _limits: LimitTracker = field(default_factory=LimitTracker)
    _limits_before: tuple[int, dict[Hashable, Range]] | None = None
    _blocks: tuple[PartSource, list[Block]] | None = None
    _surfaces: tuple[PartSource, MeshSurfaces, list[VtkView]] | None = None
    _last: tuple[int, Picture | None] | None = None

    @staticmethod
    def of(view: View, setup: Setup) -> Drawing:
        """Return the drawing of a view that all actions share."""
        key = (Drawing, view)
        if view.font is not None:  # relative to the file's folder
            view = view.model_copy(update={"font": setup.base / view.font.expanduser()})
        drawing: Drawing = setup.shared.setdefault(key, Drawing(view, setup))
        return drawing

    def change(self, view: View) -> bool:
        """Draw another view from now on; return whether `prepare` must be called before.

        Other layers need other values, and a font must be found. The limits of colours that follow
        the values start again with other layers.
        """
        before, self.view = self.view, view
        if before.layers == view.layers:
            return before.font != view.font
        self._limits.restore({})
        self._limits_before = None
        return True

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Check the fields, the camera and the font; see `Action.prepare`."""
        self.shown = self._with_bodies(stream)
        parts = self._parts(stream)
        if not parts:
            raise PipelineError("a view needs a layer that shows a field")
        meshes = [stream.grid_of(names[0]).mesh.name for names in parts]
        self._by_vtk, self._by_surfaces, self._blocks = False, False, None
        self._drop_surfaces()
        self._needs = [self._need(names, stream, meshes) for names in parts]
        self._by_surfaces &= not self._by_vtk  # flat meshes beside others
        return self._needs

    def _with_bodies(self, stream: Stream) -> View:
        """Return the view with layers of its bodies, if it has any.

        Bodies that only the solver marks are left out on meshes that VTK draws.
        """
        view = self.view
        mask = stream.body_mask if view.bodies is True else view.bodies
        if not mask or not view.fields():
            return view
        grid = stream.grid_of(stream.scalar(stream.parts(view.fields()[0])[0]).name)
        by_vtk = grid.coordinates is None or any(
            isinstance(layer, MeshLayer) for layer in view.layers
        )
        if view.bodies is True and (by_vtk or stream.grid_of(mask) != grid):
            return view
        if by_vtk:
            raise PipelineError(
                f"bodies are drawn on rectilinear meshes without layers of meshes, and {grid.mesh} "
                "is not drawn so; leave out 'bodies' of the view"
            )
        return with_bodies(view, mask, stream.conducted)

    def _parts(self, stream: Stream) -> list[tuple[str, ...]]:
        """Return the names of the view's fields in the stream, for each mesh of the fields."""
        field_parts = [
            [stream.scalar(part).name for part in stream.parts(name)]
            for name in self.shown.fields()
        ]
        meshes = [[stream.grid_of(part).mesh.name for part in parts] for parts in field_parts]
        for name, those in zip(self.shown.fields(), meshes, strict=True):
            if len(meshes[0]) != len(those) or (len(those) > 1 and those != meshes[0]):
                raise PipelineError(
                    f"the fields of a view are on the same meshes; {self.shown.fields()[0]} is on "
                    f"{', '.join(meshes[0])}, and {name} on {', '.join(those)}"
                )
        return list(zip(*field_parts, strict=True))

    def _need(self, names: Sequence[str], stream: Stream, meshes: Sequence[str]) -> Need:
        """Return the need of the fields on one of the view's meshes."""
        grid = stream.grid_of(names[0])
        by_cells = grid.of_elements and (grid.coordinates is None or len(meshes) > 1)
        flat = 0 if by_cells else sum(n < 2 for n in grid.points.count)
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
        from uzushio.render.vtk_filters import meshes_of

        self._check_camera_and_font(grid)
        with_meshes = any(isinstance(layer, MeshLayer) for layer in self.view.layers)
        if grid.coordinates is None or len(meshes) > 1 or with_meshes:
            by_vtk = with_meshes or min(grid.mesh.vertices.count) < 2
            for layer in self.view.layers:
                meshes_of(layer, dict.fromkeys(meshes))
            surfaces = [layer for layer in self.view.layers if isinstance(layer, IsosurfaceLayer)]
            self._by_vtk |= by_vtk
            self._by_surfaces |= not by_vtk
            if by_cells and by_vtk and not surfaces:
                return Need(tuple(names), corners=True)
            if by_cells:
                stream.vertex_grid(grid)
            return Need(
                tuple(names),
                ghosts=int(any(layer.lighting for layer in surfaces)),
                cells=True,
                periodic_cells=not by_cells,
                vertices=by_cells,
            )
        solid = [layer for layer in self.shown.layers if not isinstance(layer, SliceLayer)]
        lit = any(
            (isinstance(layer, IsosurfaceLayer) and layer.lighting)
            or (isinstance(layer, VolumeLayer) and layer.shading)
            for layer in solid
        )
        lines = lines_of(grid)
        assert lines is not None
        ghosts = max_touched(thickened(lines)) + int(lit) if solid else 0  # see `ghost_layers`
        return Need(tuple(names), ghosts=ghosts, cells=True, periodic_cells=True)

    def _check_camera_and_font(self, grid: Grid) -> None:
        """Raise `PipelineError` if the camera is impossible or the font does not exist."""
        from uzushio.render.typeface import Typeface

        view, lines = self.view, lines_of(grid)
        if lines is not None:
            try:
                view.camera.camera(bounds_of(thickened(lines)), *view.size)
            except ValueError as error:
                raise PipelineError(f"camera: {error}") from error
        try:
            with collective(self.setup.comm):
                if self.setup.comm.rank == 0:
                    Typeface(view.font)
        except RenderError as error:
            raise PipelineError(f"font: {str(error).rstrip('.')}") from error

    def _with_units(self, context: Context) -> View:
        """Return the view as it is drawn, with the units of the stream where it gives none."""
        self.shown = self._with_bodies(context.stream)
        return self.shown.with_units(context.stream.length_unit, context.stream.time_unit)

    @property
    def bytes_needed(self) -> int:
        """Bytes that this rank will allocate for images; 0 once it has."""
        if self._renderers:
            return 0
        comm, (width, height) = self.setup.comm, self.view.size
        root = _ROOT_BYTES if comm.rank == 0 and comm.size > 1 else 0
        return (_PIXEL_BYTES + root) * width * height * self.view.samples**2

    def picture(self, context: Context) -> Picture | None:
        """Return the picture of a step on rank 0; drawn at the first call (collective)."""
        if self._last is None or self._last[0] != context.index:
            self._last = context.index, self.draw(context)
        return self._last[1]

    def draw(self, context: Context) -> Picture | None:
        """Draw a step, and return the picture on rank 0 (collective)."""
        if self._limits_before is None or self._limits_before[0] != context.index:
            self._limits_before = context.index, self._limits.state()
        self._limits.restore(self._limits_before[1])
        picture = (
            self._draw_surfaces(context)
            if self._by_vtk or self._by_surfaces
            else self._draw_with_ray_caster(context)
        )
        if picture is not None:
            self.pictures += 1
            self.nan += picture.nan_count
            self._report_notes(picture)
        return picture

    def _labels(self, context: Context) -> dict[str, Any]:
        """Return time, step, units and labels for the annotation of a picture."""
        names = zip(self.shown.fields(), self._needs[0].fields, strict=True)
        quantities = {name: context.stream.quantity(part) for name, part in names}
        return {
            "time": context.time,
            "step": context.index,
            "units": {name: quantity.unit for name, quantity in quantities.items()},
            "labels": {
                n: q.description for n, q in quantities.items() if q.derived and q.description
            },
        }

    def _renderer(self) -> Any:
        """Return the renderer of pictures of the view's size; few are kept (collective)."""
        by_meshes = self._by_vtk or self._by_surfaces
        samples = max(2, self.view.samples) if by_meshes else self.view.samples
        key = (*self.view.size, samples, self._by_vtk, self._by_surfaces)
        renderer = self._renderers.pop(key, None)
        if renderer is None:
            if len(self._renderers) == _MAX_RENDERERS:
                self._renderers.pop(next(iter(self._renderers))).close()
            comm, size = self.setup.comm, self.view.size
            more: dict[str, Any] = {
                "samples": samples,
                "limits": self._limits,
                "sections": self.setup.sections,
                "check": self.setup.check,
            }
            if by_meshes:
                from uzushio.render.mesh_renderer import MeshRenderer

                renderer = MeshRenderer(comm, *size, **more, vtk=self._by_vtk)
            else:
                from uzushio.render.renderer import Renderer

                renderer = Renderer(comm, *size, **more)
        self._renderers[key] = renderer
        return renderer

    def _draw_with_ray_caster(self, context: Context) -> Picture | None:
        """Draw by ray casting."""
        renderer = self._renderer()
        (need,) = self._needs
        with collective(context.comm):
            if self._blocks is not None and self._blocks[0] is context.values:
                blocks = self._blocks[1]
            else:
                blocks = [block_of(part) for part in context.parts(need)]
            self._blocks = (context.values, blocks) if self.keeps_blocks else None
        domain = lines_of(context.stream.grid_of(need.fields[0]))
        assert domain is not None
        done: Picture | None = renderer.picture(
            self._with_units(context),
            blocks,
            thickened(domain),
            **self._labels(context),
        )
        return done

    def _draw_surfaces(self, context: Context) -> Picture | None:
        """Draw surfaces of curvilinear or several meshes."""
        renderer, sections = self._renderer(), PictureSections(self.setup.sections)
        try:
            if self._surfaces is None or self._surfaces[0] is not context.values:
                with sections.section("prepare"):
                    self._find_surfaces(context, renderer)
            assert self._surfaces is not None
            done: Picture | None = renderer.picture_of(
                self._with_units(context),
                self._surfaces[1],
                sections,
                **self._labels(context),
            )
            return done
        finally:
            if not self.keeps_blocks:
                self._drop_surfaces()

    def _find_surfaces(self, context: Context, renderer: MeshRenderer) -> None:
        """Find the surfaces of the layers in a step (collective)."""
        from uzushio.pipeline.vtk_view import VtkView

        self._drop_surfaces()
        if self._by_surfaces:
            with collective(context.comm):
                blocks = {
                    need.grid(context.stream).mesh.name: [
                        curvilinear_block(
                            part, dict(zip(need.fields, self.view.fields(), strict=True))
                        )
                        for part in context.parts(need)
                        if part.cells.size
                    ]
                    for need in self._needs
                }
            self._surfaces = context.values, renderer.surfaces(self.view, blocks), []
            return
        views: dict[str, list[VtkView]] = {}
        try:
            with collective(context.comm):
                for need in self._needs:
                    names = dict(zip(need.fields, self.view.fields(), strict=True))
                    views[need.grid(context.stream).mesh.name] = [
                        VtkView(part, names, need.corners)
                        for part in context.parts(need)
                        if need.corners or part.cells.size
                    ]
            parts = {
                mesh: [view.dataset for view in mesh_views] for mesh, mesh_views in views.items()
            }
            surfaces = renderer.surfaces(self.view, parts)
            self._surfaces = context.values, surfaces, list(itertools.chain(*views.values()))
        finally:
            if self._surfaces is None:
                parts = {}
                for view in itertools.chain(*views.values()):
                    view.release()

    def surfaces_of(self, context: Context) -> MeshSurfaces | None:
        """Return the kept surfaces of a step's picture; None if it was drawn by ray casting."""
        kept = self._surfaces
        return kept[1] if kept is not None and kept[0] is context.values else None

    def _drop_surfaces(self) -> None:
        """Release the memory of a step's surfaces."""
        views = [] if self._surfaces is None else self._surfaces[2]
        self._surfaces = None
        for view in views:
            view.release()

    def _report_notes(self, picture: Picture) -> None:
        """Print each kind of note of a picture once."""
        for note in notes_of(picture):
            kind = note.partition(": it lies between")[0]
            if kind not in self.notes:
                self.notes.add(kind)
                self.setup.say(f"At step {picture.step}: {note}")

    def close_renderers(self) -> None:
        """Close the renderers, which frees their communicators too (collective)."""
        while self._renderers:
            self._renderers.popitem()[1].close()

    def close(self) -> None:
        """Release memory, without communication; the last call."""
        self._renderers.clear()
        self._blocks = None
        self._drop_surfaces()


def notes_of(picture: Picture) -> list[str]:
    """Return the notes of a picture, with one on NaN, or that it is blank."""
    nan = "Some values are not finite, and are drawn in the colour for NaN."
    notes = [*picture.notes, *([nan] if picture.nan_count else [])]
    return notes or ([BLANK] if picture.blank else [])
