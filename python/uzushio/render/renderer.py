"""Pictures of blocks on many ranks: cast, composited in visibility order, and annotated."""

from __future__ import annotations

import time as clock
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio._base.parallel.sync import collective, minimum
from uzushio.domain.axes import bounds_of
from uzushio.errors import RenderError
from uzushio.raycast import Block, Camera, Scene, cast, rounds, visibility_order
from uzushio.render import casting
from uzushio.render.annotate import Annotator, Caption
from uzushio.render.casting import LayerRange
from uzushio.render.cores import CoreSharing
from uzushio.render.errors import render_errors
from uzushio.render.limits import LimitTracker
from uzushio.render.pending_picture import PendingPicture, finished_picture, over
from uzushio.render.picture import Picture
from uzushio.render.picture_sections import PictureSections
from uzushio.render.value_factors import factors, scaled_blocks, scaled_scene
from uzushio.render.view import MeshLayer, View

if TYPE_CHECKING:
    from mpi4py import MPI

#: Coordinates of the points of the whole domain along z, y and x.
Coordinates = Sequence[ArrayLike]


class Renderer:
    """Renderer of pictures of one size, of blocks distributed over ranks.

    All methods are collective. If the blocks have the ghost points that `uzushio.render.ghosts`
    returns, opaque layers have the same pixels for any decomposition of the domain; translucent
    ones and volumes differ by rounding, by at most 2 of 255 with bytes and 1 with floats.

    Use it in a ``with`` statement, or `close` it.

    Args:
        comm: The ranks.
        width: Columns of a picture.
        height: Rows.
        pixels: Format of composited pixels: bytes, or floats with four times the memory.
        algorithm: Compositing algorithm; see `uzushio.compositing`.
        root: The rank that receives the pictures.
        threads: Threads of the ray caster; if 0, this rank's share of the node's cores and those of
            ranks with less to draw.
        frames: Maximum number of images in flight: with two or more, `submit` draws the next
            picture while the previous one is composited.
        samples: Samples along each side of a pixel, averaged after compositing: smooth edges for
            samples² times the work and memory.
        limits: State of colours that follow the values; None: a new one.
        sections: Monitor of the sections of all pictures; None: a new one.
        check: Called several times a second while an image is cast; an exception that it raises is
            one of all ranks.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        width: int,
        height: int,
        *,
        pixels: Literal["rgba8", "rgba_float"] = "rgba8",
        algorithm: str = "auto",
        root: int = 0,
        threads: int = 0,
        frames: int = 2,
        samples: int = 1,
        limits: LimitTracker | None = None,
        sections: SectionMonitor | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        from uzushio.compositing import Compositor

        if not 1 <= samples <= 4:
            raise ValueError(f"a pixel has 1 to 4 samples along a side, not {samples}")

        self.width, self.height, self.root = width, height, root
        self._comm = comm
        self._pixels: Literal["rgba8", "rgba_float"] = pixels
        self._compositor = Compositor(
            comm,
            samples * width,
            samples * height,
            format=pixels,
            algorithm=algorithm,
            root=root,
            frames=frames,
        )
        self._samples = samples
        self._frames = frames
        self._threads, self._check = threads, check
        self._cores = CoreSharing(comm)
        self._work = 1.0  # of this rank for the previous picture, seconds of one thread
        self._tracker = LimitTracker() if limits is None else limits
        self._monitor = SectionMonitor() if sections is None else sections
        self._annotator = Annotator(width, height)
        self._in_flight: deque[PendingPicture] = (
            deque()
        )  # one entry for each image in the compositor
        self._pictures: deque[PendingPicture] = deque()
        self._boxes: list[Any] | None = None  # of this rank, as last sent to the others
        self._known: list[list[Any]] = []  # of all ranks

    def __enter__(self) -> Self:
        """Return the renderer; it is closed at the end of a block without error."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close, except after an error, which the other ranks may not have."""
        if kind is None:
            self.close()

    def close(self) -> None:
        """Discard unfinished pictures and release memory."""
        while self._in_flight:
            self._collect()
        self._pictures.clear()
        self._compositor.close()
        self._cores.close()

    @property
    def limits(self) -> LimitTracker:
        """State of colours that follow the values."""
        return self._tracker

    def picture(
        self,
        view: View,
        blocks: Sequence[Block],
        domain: Coordinates,
        *,
        time: float = 0.0,
        step: int = 0,
        units: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Picture | None:
        """Make a picture; return it at the root, None elsewhere.

        Args:
            view: The view, the same on all ranks. Its size is the renderer's.
            blocks: This rank's blocks, with ghost points and the fields of `view.fields()`; may be
                empty.
            domain: Coordinates of the points of the whole domain along z, y and x.
            time: Time of the step.
            step: Its number.
            units: Units of fields by name, where the view has none.
            labels: Labels of fields in legends, by name, where the view has none.

        Raises:
            RenderError: On all ranks, for example if a field is missing.
        """
        self.submit(view, blocks, domain, time=time, step=step, units=units, labels=labels)
        return self.finish()

    def submit(
        self,
        view: View,
        blocks: Sequence[Block],
        domain: Coordinates,
        *,
        time: float = 0.0,
        step: int = 0,
        units: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Draw a picture and submit it to the compositor; arguments as of `picture`.

        The blocks are not used after the call.
        """
        caption = Caption(view, bounds_of(domain), time, step, units or {}, labels or {})
        pending = PendingPicture(caption, 0, sections=PictureSections(self._monitor))
        with pending.sections.section("prepare"):
            with collective(self._comm), render_errors():
                check_view(view, blocks)
                mine = casting.local_ranges(view, blocks, caption.bounds)
            ranges = self._reduce_ranges(blocks, mine)
            with collective(self._comm), render_errors():
                caption.scales = casting.scales(view, ranges, self._tracker)
                caption.camera = self._annotator.camera(caption)
                pending.factors = factors(view, caption.scales)
                blocks = scaled_blocks(blocks, pending.factors)
                scene = casting.scene(view, caption.scales, domain, caption.bounds)
                scene = scaled_scene(scene, pending.factors)
                compositing_rounds = self._compositing_rounds(caption.camera, domain)
        pending.rounds_left = len(compositing_rounds)
        for parts in compositing_rounds:
            self._draw_round(scene, blocks, parts, pending)
        self._pictures.append(pending)

    def finish(self) -> Picture | None:
        """Wait for the oldest unfinished picture; return it at the root, None elsewhere."""
        if not self._pictures:
            raise RuntimeError("there is no unfinished picture: call submit first")
        pending = self._pictures.popleft()
        while pending.rounds_left:
            self._collect()
        done = None
        with collective(self._comm), render_errors():
            if self._comm.rank == self.root:
                done = finished_picture(pending, self._annotator, self._samples)
        return done

    def _compositing_rounds(
        self, camera: Camera, domain: Coordinates
    ) -> list[list[tuple[int, list[int]]]]:
        """Return rounds of (rank, indices of its blocks), front to back."""
        hulls = [_hull(boxes) for boxes in self._known]
        if all(hull is not None for hull in hulls):
            # Each rank's blocks form a box: one round is enough, which the order of all single
            # blocks would not always give.
            own = [visibility_order(boxes, domain, camera) for boxes in self._known]
            whole = [hull for hull in hulls if hull is not None]
            ranks = visibility_order(whole, domain, camera)
            return [[(rank, own[rank]) for rank in ranks]] if ranks else []
        owned = [(rank, n) for rank, boxes in enumerate(self._known) for n in range(len(boxes))]
        boxes = [box for boxes in self._known for box in boxes]
        order = visibility_order(boxes, domain, camera)
        return [
            [(rank, [owned[box][1] for box in part]) for rank, part in parts]
            for parts in rounds(order, [rank for rank, _ in owned])
        ]

    def _reduce_ranges(
        self, blocks: Sequence[Block], mine: dict[int, LayerRange]
    ) -> dict[int, LayerRange]:
        """Reduce ranges over all ranks, and gather boxes if any has changed (collective)."""
        boxes = [block.cells for block in blocks]
        minima = np.array(
            [float(boxes == self._boxes), *(x for r in mine.values() for x in r.minima())]
        )
        self._comm.Allreduce(minima.copy(), minima, minimum())
        if not minima[0]:
            self._boxes = boxes
            self._known = self._comm.allgather(boxes)
        rows = minima[1:].reshape(-1, 4).tolist()
        return {n: LayerRange.of(row) for n, row in zip(mine, rows, strict=True)}

    def _draw_round(
        self,
        scene: Scene,
        blocks: Sequence[Block],
        parts: list[tuple[int, list[int]]],
        pending: PendingPicture,
    ) -> None:
        """Draw one round and submit it to the compositor."""
        if len(self._in_flight) == self._frames:
            self._collect()
        layers = len(scene.layers)
        counts = np.zeros(1 + layers, np.int64)
        minima = np.full((layers, 2), np.inf)
        touched = None
        numbers = next((part for rank, part in parts if rank == self._comm.rank), None)
        with (
            pending.sections.section("cast"),
            collective(self._comm),
            render_errors(),
            self._with_lent_cores(numbers) as threads,
        ):
            if numbers is not None:
                result = cast(
                    scene,
                    pending.caption.camera,
                    self._samples * self.width,
                    self._samples * self.height,
                    [blocks[n] for n in numbers],
                    format=self._pixels,
                    out=self._compositor.canvas(),
                    threads=threads,
                    check=self._check,
                )
                counts[:] = [result.nan_count, *result.hits]
                touched = result.bounds or (0, 0, 0, 0)
                for n, value_range in enumerate(result.ranges):
                    if value_range is not None:
                        minima[n] = value_range[0], -value_range[1]
        with pending.sections.section("composite"):
            self._compositor.set_order([rank for rank, _ in parts])
            self._compositor.submit(bounds=touched)
            self._in_flight.append(pending)
            self._comm.Allreduce(counts.copy(), counts)
            self._comm.Allreduce(minima.copy(), minima, minimum())
        pending.nan_count += int(counts[0])
        drawn = [
            n
            for n, layer in enumerate(pending.caption.view.layers)
            if not isinstance(layer, MeshLayer)
        ]
        for n, hits, (lo, hi) in zip(drawn, counts[1:], minima, strict=True):
            pending.hits[n] = pending.hits.get(n, 0) + int(hits)
            pending.add_range(n, (float(lo), float(-hi)))

    @contextmanager
    def _with_lent_cores(self, numbers: Sequence[int] | None) -> Iterator[int]:
        """Yield the number of threads for drawing blocks of these indices.

        The work of each rank is assumed to be that of the previous picture.
        """
        if self._threads:
            yield self._threads
            return
        cores = self._cores
        threads = cores.thread_count(self._work if numbers else 0.0)
        with (
            cores.waiting_at_end() if cores.any_lent else nullcontext(),
            cores.on_all_cores(threads),
        ):
            began = clock.perf_counter()
            yield threads
            self._work = threads * (clock.perf_counter() - began)

    def _collect(self) -> None:
        """Finish the oldest image in the compositor and blend it behind earlier rounds."""
        pending = self._in_flight.popleft()
        with pending.sections.section("composite"):
            image = self._compositor.finish()
            pending.rounds_left -= 1
            if image is not None:
                assert isinstance(image, np.ndarray)
                pending.image = (
                    image.copy() if pending.image is None else over(pending.image, image)
                )


def _hull(boxes: Sequence[Any]) -> Any:
    """Return the box that boxes of cells fill, or None if they do not fill one."""
    counts = [count for _, count in boxes if min(count) > 0]
    starts = [start for start, count in boxes if min(count) > 0]
    if not counts:
        return (0, 0, 0), (0, 0, 0)
    low = np.min(starts, axis=0)
    high = np.max(np.add(starts, counts), axis=0)
    if np.prod(high - low) != np.prod(counts, axis=1).sum():
        return None
    return tuple(map(int, low)), tuple(map(int, high - low))


def check_view(view: View, blocks: Sequence[Block]) -> None:
    """Check that a view can be drawn of these blocks.

    Raises:
        RenderError: A block lacks a field, or a layer is of another kind of mesh.
    """
    if any(isinstance(layer, MeshLayer) for layer in view.layers):
        raise RenderError(
            "A view with layers of kind mesh needs MeshRenderer: it cannot be combined with "
            "slices, isosurfaces and volumes of blocks."
        )
    for block in blocks:
        for name in view.fields():
            if name not in block.fields:
                there = ", ".join(block.fields) or "none"
                raise RenderError(f"The picture needs the field {name}; a block has only {there}.")
