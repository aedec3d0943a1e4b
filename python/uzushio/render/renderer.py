"""Pictures of blocks on many ranks: cast, composited in visibility order, and written on."""

from __future__ import annotations

import dataclasses
import time as clock
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uzushio.errors import RenderError
from uzushio.parallel.collective import minimum
from uzushio.parallel.timings import Timings
from uzushio.raycast import Block, Camera, Scene, cast, rounds, visibility_order
from uzushio.render import casting
from uzushio.render.annotate import Annotator, Caption
from uzushio.render.background import averaged
from uzushio.render.casting import Bounds
from uzushio.render.cores import Cores
from uzushio.render.limits import NOTHING, LimitTracker, Range
from uzushio.render.picture import Picture
from uzushio.render.ticks import number as in_words
from uzushio.render.together import together
from uzushio.render.view import IsosurfaceLayer, MeshLayer, SliceLayer, View, VolumeLayer

if TYPE_CHECKING:
    from mpi4py import MPI

#: Coordinates of the points of the whole domain along z, y and x.
Coordinates = Sequence[ArrayLike]


@dataclasses.dataclass
class ImageInFlight:
    """A picture under way."""

    caption: Caption
    rounds_left: int
    nan_count: int = 0
    hits: dict[int, int] = dataclasses.field(default_factory=dict)
    ranges: dict[int, Range] = dataclasses.field(default_factory=dict)
    seconds: Timings = dataclasses.field(default_factory=Timings)
    image: NDArray[Any] | None = None  # of the rounds so far, at the root


class Renderer:
    """Makes pictures of one size of what many ranks have.

    All methods are collective. A picture does not depend on how the domain is divided among ranks,
    if the blocks have the ghost points that `uzushio.render.ghosts` names.

    Use it in a ``with`` statement, or `close` it.

    Args:
        comm: The ranks.
        width: Columns of a picture.
        height: Rows.
        pixels: What ranks send each other: bytes, or floats with four times the memory.
        algorithm: Of compositing; see `uzushio.compositing`.
        root: The rank that gets the pictures.
        threads: Of the ray caster; if 0 this rank's share of the node's processors, and those of
            ranks that have less to draw.
        frames: Images that may be under way: with two or more, `submit` draws the next picture
            while the one before is composited.
        samples: Along each side of a pixel, averaged after compositing: smooth edges for samples²
            times the work and memory.
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
        self._threads = threads
        self._cores = Cores(comm)
        self._work = 1.0  # of this rank for the picture before, seconds of one thread
        self._tracker = LimitTracker()
        self._annotator = Annotator(width, height)
        self._flight: deque[ImageInFlight] = deque()  # one entry for each image in the compositor
        self._pictures: deque[ImageInFlight] = deque()
        self._boxes: list[Any] | None = None  # of this rank, as the others know them
        self._known: list[list[Any]] = []  # of all ranks

    def __enter__(self) -> Self:
        """Return the renderer, which is closed when the block ends without an error."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close, unless an error is on its way, of which the other ranks may know nothing."""
        if kind is None:
            self.close()

    def close(self) -> None:
        """Give up pictures under way, and give back memory."""
        while self._flight:
            self._collect()
        self._pictures.clear()
        self._compositor.close()

    @property
    def limits(self) -> LimitTracker:
        """What colours that follow the values remember from picture to picture."""
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
        """Make a picture; at the root it is returned, elsewhere None.

        Args:
            view: What is shown, the same on all ranks. Its size is the renderer's.
            blocks: This rank's part of the domain, with ghosts and the fields that `view.fields()`
                names; empty if it has none.
            domain: Coordinates of the points of the whole domain along z, y and x.
            time: Of the step.
            step: Its number.
            units: Of fields by name, for legends that have none of their own.
            labels: What legends call fields, by name, where the view does not say.

        Raises:
            RenderError: On all ranks, with one sentence: a field is missing, say.
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
        """Begin a picture: draw, and hand over to the compositor. The arguments are `picture`'s.

        The blocks are not looked at any more when it returns.
        """
        caption = Caption(view, bounds_of(domain), time, step, units or {}, labels or {})
        frame = ImageInFlight(caption, 0)
        with frame.seconds.stage("prepare"):
            with together(self._comm):
                check(view, blocks)
                mine = casting.local_ranges(view, blocks, caption.bounds)
            ranges = self._agree(blocks, mine)
            with together(self._comm):
                caption.scales = casting.scales(view, ranges, self._tracker)
                caption.camera = self._annotator.camera(caption)
                scene = casting.scene(view, caption.scales, domain, caption.bounds)
                plan = self._plan(caption.camera, domain)
        frame.rounds_left = len(plan)
        for parts in plan:
            self._draw(scene, blocks, parts, frame)
        self._pictures.append(frame)

    def finish(self) -> Picture | None:
        """Wait for the oldest picture under way; at the root it is returned, elsewhere None."""
        if not self._pictures:
            raise RuntimeError("no picture is under way: call submit first")
        frame = self._pictures.popleft()
        while frame.rounds_left:
            self._collect()
        done = None
        with together(self._comm):
            if self._comm.rank == self.root:
                done = written(frame, self._annotator, self._samples)
        return done

    def _plan(self, camera: Camera, domain: Coordinates) -> list[list[tuple[int, list[int]]]]:
        """Rounds of (rank, its blocks by its own numbers), front to back."""
        hulls = [_hull(boxes) for boxes in self._known]
        if all(hull is not None for hull in hulls):
            # A rank's blocks make one box: then one round does, which the order of all blocks
            # by themselves would not always give.
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

    def _agree(self, blocks: Sequence[Block], mine: dict[int, Range]) -> dict[int, Range]:
        """All ranks' ranges, and, where any has changed, all ranks' boxes."""
        boxes = [block.cells for block in blocks]
        least = np.array(
            [float(boxes == self._boxes), *(x for r in mine.values() for x in (r[0], -r[1]))]
        )
        self._comm.Allreduce(least.copy(), least, minimum())
        if not least[0]:
            self._boxes = boxes
            self._known = self._comm.allgather(boxes)
        pairs = least[1:].reshape(-1, 2)
        return {n: (float(lo), float(-hi)) for n, (lo, hi) in zip(mine, pairs, strict=True)}

    def _draw(
        self,
        scene: Scene,
        blocks: Sequence[Block],
        parts: list[tuple[int, list[int]]],
        frame: ImageInFlight,
    ) -> None:
        """Draw one round and hand it over."""
        if len(self._flight) == self._frames:
            self._collect()
        layers = len(scene.layers)
        counts = np.zeros(1 + layers, np.int64)
        least = np.full((layers, 2), np.inf)
        touched = None
        numbers = next((part for rank, part in parts if rank == self._comm.rank), None)
        with (
            frame.seconds.stage("cast"),
            together(self._comm),
            self._lent(numbers) as threads,
        ):
            if numbers is not None:
                result = cast(
                    scene,
                    frame.caption.camera,
                    self._samples * self.width,
                    self._samples * self.height,
                    [blocks[n] for n in numbers],
                    format=self._pixels,
                    out=self._compositor.canvas(),
                    threads=threads,
                )
                counts[:] = [result.nan_count, *result.hits]
                touched = result.bounds or (0, 0, 0, 0)
                for n, found in enumerate(result.ranges):
                    if found is not None:
                        least[n] = found[0], -found[1]
        with frame.seconds.stage("composite"):
            self._compositor.set_order([rank for rank, _ in parts])
            self._compositor.submit(bounds=touched)
            self._flight.append(frame)
            self._comm.Allreduce(counts.copy(), counts)
            self._comm.Allreduce(least.copy(), least, minimum())
        frame.nan_count += int(counts[0])
        drawn = [
            n
            for n, layer in enumerate(frame.caption.view.layers)
            if not isinstance(layer, MeshLayer)
        ]
        for n, hits, (lo, hi) in zip(drawn, counts[1:], least, strict=True):
            frame.hits[n] = frame.hits.get(n, 0) + int(hits)
            before = frame.ranges.get(n, NOTHING)
            frame.ranges[n] = min(before[0], float(lo)), max(before[1], float(-hi))

    @contextmanager
    def _lent(self, numbers: Sequence[int] | None) -> Iterator[int]:
        """A block that draws blocks of these numbers with so many threads.

        It is taken that a rank has as much to do as it had for the picture before.
        """
        if self._threads:
            yield self._threads
            return
        cores = self._cores
        threads = cores.share(self._work if numbers else 0.0)
        with cores.asleep() if cores.lent else nullcontext(), cores.anywhere(threads):
            began = clock.perf_counter()
            yield threads
            self._work = threads * (clock.perf_counter() - began)

    def _collect(self) -> None:
        """Take the oldest image out of the compositor and lay it behind what there is already."""
        frame = self._flight.popleft()
        with frame.seconds.stage("composite"):
            image = self._compositor.finish()
            frame.rounds_left -= 1
            if image is not None:
                assert isinstance(image, np.ndarray)
                frame.image = image.copy() if frame.image is None else over(frame.image, image)


def written(frame: ImageInFlight, annotator: Annotator, samples: int) -> Picture:
    """Return the picture of what was drawn, at the root.

    Args:
        frame: with its image, or None where nothing was drawn.
        annotator: of pictures of this size.
        samples: along each side of a pixel of the image.
    """
    caption = frame.caption
    caption.nan = frame.nan_count > 0
    for n, scale in caption.scales.items():  # what the ray caster saw of a volume in passing
        if isinstance(caption.view.layers[n], VolumeLayer) and n in frame.ranges:
            caption.scales[n] = dataclasses.replace(scale, values=frame.ranges[n])
    with frame.seconds.stage("annotate"):
        image = None if frame.image is None else averaged(frame.image, samples)
        pixels = annotator.finished(image, caption)
    return Picture(
        pixels,
        caption.step,
        caption.time,
        caption.limits(),
        frame.nan_count,
        tuple(_notes(frame)),
        frame.seconds,
    )


def _hull(boxes: Sequence[Any]) -> Any:
    """The box that boxes of cells make together; None if they leave some of it out."""
    counts = [count for _, count in boxes if min(count) > 0]
    starts = [start for start, count in boxes if min(count) > 0]
    if not counts:
        return (0, 0, 0), (0, 0, 0)
    low = np.min(starts, axis=0)
    high = np.max(np.add(starts, counts), axis=0)
    if np.prod(high - low) != np.prod(counts, axis=1).sum():
        return None
    return tuple(map(int, low)), tuple(map(int, high - low))


def bounds_of(domain: Coordinates) -> Bounds:
    """Return the bounds along x, y and z of a domain with coordinates along z, y and x."""
    z, y, x = ((float(np.asarray(c)[0]), float(np.asarray(c)[-1])) for c in domain)
    return x, y, z


def check(view: View, blocks: Sequence[Block]) -> None:
    """Refuse a view that cannot be drawn of these blocks.

    Raises:
        RenderError: A block lacks a field, or a layer is of another kind of mesh.
    """
    if any(isinstance(layer, MeshLayer) for layer in view.layers):
        raise RenderError(
            "A view with layers of kind mesh is drawn by MeshRenderer: its layers cannot be mixed "
            "with slices, isosurfaces and volumes of blocks."
        )
    for block in blocks:
        for name in view.fields():
            if name not in block.fields:
                there = ", ".join(block.fields) or "none"
                raise RenderError(
                    f"The picture needs the field {name}, and a block has only {there}."
                )


def over(front: NDArray[Any], behind: NDArray[Any]) -> NDArray[Any]:
    """Return a premultiplied image before another one; shapes (height, width, 4)."""
    if front.dtype != np.uint8:
        return np.asarray(front + behind * (1 - front[..., 3:]))
    result: NDArray[Any] = behind.astype(np.uint16)
    result *= (255 - front[..., 3:]).astype(np.uint16)
    result += 128
    result = (result + (result >> 8)) >> 8
    result += front
    return np.asarray(np.minimum(result, 255), np.uint8)


def _notes(frame: ImageInFlight) -> Iterator[str]:
    """Sentences on what somebody may miss in the picture."""
    for n, layer in enumerate(frame.caption.view.layers):
        if isinstance(layer, SliceLayer) and frame.caption.scales[n].values == NOTHING:
            if not frame.nan_count:
                yield f"The slice of {layer.field} lies outside of the mesh, or has no values."
            continue
        if not isinstance(layer, IsosurfaceLayer) or frame.hits.get(n, 0):
            continue
        lo, hi = frame.ranges.get(n, NOTHING)
        values = ", ".join(in_words(value) for value in layer.values)
        if not lo <= hi:
            yield f"There is no surface of {layer.field} = {values}: it has no values."
        elif all(not lo <= value <= hi for value in layer.values):
            yield (
                f"There is no surface of {layer.field} = {values}: it lies between "
                f"{in_words(lo)} and {in_words(hi)}."
            )
        else:
            yield f"No surface of {layer.field} = {values} is inside of the picture."
