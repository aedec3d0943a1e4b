"""Pictures of meshes of any kind on many ranks, composited by depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio._base.parallel.sync import collective, minimum
from uzushio.compositing import Compositor
from uzushio.domain.axes import Bounds
from uzushio.errors import UzushioError
from uzushio.raycast.surface import CurvilinearBlock, Surface
from uzushio.render import casting
from uzushio.render.annotate import Annotator, Caption
from uzushio.render.background import averaged
from uzushio.render.block_surfaces import SurfacePicker, block_surfaces, paint_surfaces
from uzushio.render.casting import ColorScale, LayerRange, layer_range
from uzushio.render.colors import rgba
from uzushio.render.errors import render_errors
from uzushio.render.limits import LimitTracker, Range
from uzushio.render.pending_picture import is_blank, scale_notes, slice_note
from uzushio.render.picking import Picker
from uzushio.render.picture import Picture
from uzushio.render.picture_sections import PictureSections
from uzushio.render.ranges import merged, value_range
from uzushio.render.ticks import number as formatted
from uzushio.render.view import IsosurfaceLayer, MeshLayer, SliceLayer, View
from uzushio.render.vtk_filters import meshes_of, surfaces
from uzushio.render.vtk_window import MeshPart, VtkWindow, values_of, window_class

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class MeshSurfaces:
    """Surfaces of a view's layers in this rank's meshes, for pictures by any camera.

    Attributes:
        bounds: bounds of the domain along x, y and z.
        extent: bounds of the data of all ranks.
        layer_data: surfaces of each layer on this rank.
        ranges: ranges of the values that colour the layers, over all ranks.
        ranks: those that have surfaces.
        empty: layers of which no rank has a surface.
        nan_count: values that colour the layers and are not finite, over all ranks.
    """

    bounds: Bounds
    extent: Bounds
    layer_data: list[list[Any]]
    ranges: list[LayerRange]
    ranks: list[int]
    empty: frozenset[int]
    nan_count: int

    @cached_property
    def picker(self) -> Picker | SurfacePicker:
        """Search for the first point of this rank's surfaces on a ray."""
        data = [dataset for layer in self.layer_data for dataset in layer]
        own = any(isinstance(dataset, Surface) for dataset in data)
        return SurfacePicker(data) if own else Picker(data)


class MeshRenderer:
    """Renderer of pictures of one size, of meshes distributed over ranks.

    VTK draws its data sets, and this project's own code slices and isosurfaces of
    `CurvilinearBlock`s.

    All methods are collective. Surfaces are opaque: the nearest one is visible. The picture is that
    of the whole mesh except for pixels along the rims of parts; parts with ghost cells
    (`vtkGhostType`) have no walls between them.

    Use it in a ``with`` statement, or `close` it.

    Args:
        comm: The ranks.
        width: Columns of a picture.
        height: Rows.
        algorithm: Compositing algorithm; see `uzushio.compositing`.
        root: The rank that receives the pictures.
        samples: Samples along each side of a pixel, averaged after compositing: smooth edges for
            samples² times the work and memory.
        limits: State of colours that follow the values; None: a new one.
        sections: Monitor of the sections of all pictures; None: a new one.
        check: Called before each layer; an exception that it raises is one of all ranks.
        vtk: Whether meshes are VTK data sets; otherwise blocks, which need no VTK.

    Raises:
        RenderError: VTK is missing or cannot draw without a screen, on all ranks.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        width: int,
        height: int,
        *,
        algorithm: str = "auto",
        root: int = 0,
        samples: int = 2,
        limits: LimitTracker | None = None,
        sections: SectionMonitor | None = None,
        check: Callable[[], None] | None = None,
        vtk: bool = True,
    ) -> None:
        if not 1 <= samples <= 4:
            raise ValueError(f"a pixel has 1 to 4 samples along a side, not {samples}")
        self.width, self.height, self.root = width, height, root
        self._comm = comm
        self._vtk = vtk
        self._kind = _window_of_the_node(comm) if vtk else ""
        self._window: VtkWindow | None = None
        self._compositor = Compositor(
            comm,
            samples * width,
            samples * height,
            format="rgba8_depth",
            algorithm=algorithm,
            root=root,
            frames=1,
        )
        self._samples = samples
        self._check = check or (lambda: None)
        self._tracker = LimitTracker() if limits is None else limits
        self._monitor = SectionMonitor() if sections is None else sections
        self._annotator = Annotator(width, height)

    def __enter__(self) -> Self:
        """Return the renderer; it is closed at the end of a block without error."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close, except after an error, which the other ranks may not have."""
        if kind is None:
            self.close()

    def close(self) -> None:
        """Release memory."""
        if self._window is not None:
            self._window.close()
            self._window = None
        self._compositor.close()

    def picture(
        self,
        view: View,
        parts: Mapping[str, Any],
        *,
        bounds: Bounds | None = None,
        time: float = 0.0,
        step: int = 0,
        units: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Picture | None:
        """Make a picture; return it at the root, None elsewhere.

        Args:
            view: The view, with layers of meshes, and with slices and isosurfaces of all meshes.
                Its size is the renderer's.
            parts: This rank's data by name of the mesh: a VTK or pyvista data set, several, a tree
                of them, or None.
            bounds: Of the domain along x, y and z; those of all parts if None.
            time: Time of the step.
            step: Its number.
            units: Units of fields by name, where the view has none.
            labels: Labels of fields in legends, by name, where the view has none.

        Raises:
            RenderError: On all ranks, for example if a field is missing.
        """
        sections = PictureSections(self._monitor)
        with sections.section("prepare"):
            mesh_surfaces = self.surfaces(view, parts, bounds)
        return self.picture_of(
            view, mesh_surfaces, sections, time=time, step=step, units=units, labels=labels
        )

    def surfaces(
        self, view: View, parts: Mapping[str, Any], bounds: Bounds | None = None
    ) -> MeshSurfaces:
        """Return the surfaces of a view's layers; arguments and errors as of `picture`."""
        with collective(self._comm), render_errors():
            data = [meshes_of(layer, parts) for layer in view.layers]
            mine = _extent([mesh for meshes in data for mesh in meshes])
        extent = _box(self._reduce_ranges(mine))
        with collective(self._comm), render_errors():
            layer_data = []
            for layer, meshes in zip(view.layers, data, strict=True):
                self._check()
                surfaces_of = surfaces if self._vtk else block_surfaces
                layer_data.append(surfaces_of(layer, meshes, bounds or extent))
            pairs = zip(view.layers, layer_data, strict=True)
            ranges = [_range(layer, data_of_layer) for layer, data_of_layer in pairs]
        everywhere = self._comm.allgather([bool(of_layer) for of_layer in layer_data])
        ranks = [rank for rank, there in enumerate(everywhere) if any(there)]
        empty = frozenset(
            n for n in range(len(layer_data)) if not any(there[n] for there in everywhere)
        )
        minima = np.array([limits.minima() for limits in ranges])
        self._comm.Allreduce(minima.copy(), minima, minimum())
        reduced = [LayerRange.of(row) for row in minima.tolist()]
        nan_count = self._comm.allreduce(sum(map(_nan_count, view.layers, layer_data)))
        return MeshSurfaces(bounds or extent, extent, layer_data, reduced, ranks, empty, nan_count)

    def picture_of(
        self,
        view: View,
        meshes: MeshSurfaces,
        sections: PictureSections | None = None,
        *,
        time: float = 0.0,
        step: int = 0,
        units: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Picture | None:
        """Make a picture of surfaces of the view's layers; other arguments as of `picture`."""
        sections = PictureSections(self._monitor) if sections is None else sections
        caption = Caption(view, meshes.bounds, time, step, units or {}, labels or {})
        with sections.section("prepare"), collective(self._comm), render_errors():
            ranges = dict(enumerate(meshes.ranges))
            caption.scales = casting.scales(view, ranges, self._tracker)
            caption.nan = meshes.nan_count > 0
            caption.camera = self._annotator.camera(caption)
        with sections.section("draw"), collective(self._comm), render_errors():
            if any(meshes.layer_data):
                self._draw(caption, meshes.layer_data, meshes.extent)
        with sections.section("composite"):
            image: Any = None
            if meshes.ranks:
                self._compositor.set_order(meshes.ranks)
                self._compositor.submit()
                image = self._compositor.finish()
        done = None
        with collective(self._comm), render_errors():
            if self._comm.rank == self.root:
                with sections.section("annotate"):
                    notes = (*scale_notes(caption), *_notes(view, meshes))
                    done = replace(
                        self._finished_picture(caption, image, sections, notes),
                        nan_count=meshes.nan_count,
                    )
        return done

    def _reduce_ranges(self, mine: Sequence[Range]) -> list[Range]:
        """Return ranges over all ranks (collective)."""
        minima = np.array([[lo, -hi] for lo, hi in mine])
        self._comm.Allreduce(minima.copy(), minima, minimum())
        return [(float(lo), float(-hi)) for lo, hi in minima]

    def _draw(self, caption: Caption, layer_data: list[list[Any]], extent: Bounds) -> None:
        view = caption.view
        parts = [
            replace(
                _part(layer, data_set, caption.scales.get(number), view.ink, self._samples),
                half_spaces=view.half_spaces(layer, caption.bounds),
            )
            for number, (layer, data_of_layer) in enumerate(
                zip(view.layers, layer_data, strict=True)
            )
            for data_set in data_of_layer
        ]
        if not self._vtk:
            paint_surfaces(parts, caption.camera, self._compositor.canvas())
            return
        if self._window is None:
            self._window = VtkWindow(
                self._samples * self.width, self._samples * self.height, self._kind
            )
        pairs = zip(caption.bounds, extent, strict=True)
        a, b, c = ((min(p[0], q[0]), max(p[1], q[1])) for p, q in pairs)
        self._window.draw(
            parts,
            caption.camera,
            (a, b, c),
            self._compositor.canvas(),
        )

    def _finished_picture(
        self, caption: Caption, image: Any, sections: PictureSections, notes: tuple[str, ...]
    ) -> Picture:
        colors = None if image is None else averaged(image["rgba"], self._samples)
        pixels = self._annotator.annotated(colors, caption)
        return Picture(
            pixels,
            caption.step,
            caption.time,
            caption.limits(),
            notes=notes,
            seconds=sections.seconds(),
            camera=caption.camera,
            blank=is_blank(colors),
        )


def _window_of_the_node(comm: MPI.Comm) -> str:
    """Return the class of windows that works here, tested by one rank of each node.

    Raises:
        RenderError: On all ranks, if a node has none.
    """
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    name, failure = "", None
    try:
        if node.rank == 0:
            try:
                name = window_class()
            except UzushioError as error:
                failure = error
        name = str(node.bcast(name))
    finally:
        node.Free()
    with collective(comm), render_errors():
        if failure is not None:
            raise failure
    return name


def _box(ends: list[Range]) -> Bounds:
    """Return bounds with an extent along each axis, of data that may be flat or empty."""
    if not np.isfinite(ends).all():
        ends = [(0.0, 1.0)] * 3
    thin = 5e-4 * (max(hi - lo for lo, hi in ends) or 1.0)
    x, y, z = ((lo, hi) if hi > lo else (lo - thin, hi + thin) for lo, hi in ends)
    return x, y, z


def _range(layer: Any, data: list[Any]) -> LayerRange:
    """Return the ranges of the values that colour a layer."""
    coloring = casting.colouring(layer)
    if coloring is None:
        return LayerRange()
    colors, name = coloring
    return layer_range(colors, [values_of(data_set, name)[0] for data_set in data], value_range)


def _nan_count(layer: Any, data: list[Any]) -> int:
    """Return the number of values that colour a layer and are not finite."""
    coloring = casting.colouring(layer)
    if coloring is None:
        return 0
    return sum(
        int(np.count_nonzero(~np.isfinite(values_of(dataset, coloring[1])[0]))) for dataset in data
    )


def _notes(view: View, meshes: MeshSurfaces) -> Iterator[str]:
    """Yield notes on layers that are not visible."""
    for n in sorted(meshes.empty):
        layer = view.layers[n]
        if isinstance(layer, SliceLayer):
            yield slice_note(layer.field)
        elif isinstance(layer, IsosurfaceLayer):
            values = ", ".join(formatted(value) for value in layer.values)
            yield f"There is no surface of {layer.field} = {values} in the mesh."
        else:
            yield f"The mesh {layer.mesh} has no points."  # type: ignore[union-attr]


def _extent(data: list[Any]) -> Bounds:
    """Return the bounds of data sets along x, y and z; (inf, -inf) if there are none."""
    ends = np.array(
        [
            data_set.bounds if isinstance(data_set, CurvilinearBlock) else data_set.GetBounds()
            for data_set in data
        ]
    ).reshape(-1, 3, 2)
    x, y, z = (merged([(float(lo), float(hi)) for lo, hi in ends[:, axis]]) for axis in range(3))
    return x, y, z


def _part(layer: Any, data: Any, scale: ColorScale | None, ink: str, samples: int) -> MeshPart:
    more: dict[str, Any] = {}
    if isinstance(layer, MeshLayer):
        more = {
            "edges": rgba(ink) if layer.edges else None,
            "smooth": layer.smooth,
            "line_width": samples * layer.line_width,
            "point_size": samples * layer.point_size,
        }
    return MeshPart(
        data,
        color=rgba(layer.color) if isinstance(layer.color, str) else None,
        field="" if scale is None else scale.field,
        table=None if scale is None else scale.colors.table(scale.limits),
        lighting=getattr(layer, "lighting", False),  # a slice is not lit
        **more,
    )
