"""The compositor for NumPy arrays."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from uzushio import _core
from uzushio._base.array_values import unmasked

if TYPE_CHECKING:
    from mpi4py import MPI

ImageFormat = Literal["rgba8", "rgba_float", "rgba8_depth"]
Bounds = tuple[int, int, int, int]

#: Pixel of format ``rgba8_depth``: colour and depth; a smaller depth is nearer.
DEPTH_PIXEL = np.dtype([("rgba", np.uint8, 4), ("depth", np.float32)])

#: Data type and channels of the pixels of each format.
_PIXELS: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {
    "rgba8": (np.dtype(np.uint8), (4,)),
    "rgba_float": (np.dtype(np.float32), (4,)),
    "rgba8_depth": (DEPTH_PIXEL, ()),
}


class MachineRates(NamedTuple):
    """Rates of the ranks of a job, measured while all ranks are busy."""

    latency: float
    """Seconds per message, besides its bytes."""
    bandwidth: float
    """Bytes a second, into or out of a rank."""
    blending: float
    """Bytes a second that a rank reads and writes while it blends."""
    barrier: float
    """Seconds of a barrier."""


@dataclass(frozen=True)
class Tile:
    """Pixels of a picture that a rank keeps when nothing is gathered.

    Attributes:
        indices: Indices of its pixels in the picture, row by row; shape (n,).
        pixels: Their values; shape (n, 4), or (n,) with depth.
    """

    indices: NDArray[np.int64]
    pixels: NDArray[Any]


def algorithms() -> list[str]:
    """Return the names of the message-based algorithms."""
    names: list[str] = _core.compositing.algorithms()
    return names


def visibility_order(comm: MPI.Comm, depth: float | None) -> list[int]:
    """Return the ranks that have data, front to back (collective).

    For callers that do not know the other ranks' data. The cost is one all-gather of a number per
    rank, so reuse the list while camera and data stay the same.

    Args:
        comm: The ranks.
        depth: Distance of this rank's data from the camera; None for a rank without data.

    Raises:
        ValueError: A distance is NaN. On all ranks.
    """
    mine = np.array([np.inf if depth is None else depth], dtype=np.float64)
    depths = np.empty(comm.size, dtype=np.float64)
    comm.Allgather(mine, depths)
    if np.isnan(depths).any():
        rank = int(np.isnan(depths).argmax())
        raise ValueError(f"the distance of rank {rank}'s data from the camera is NaN")
    order = np.argsort(depths, kind="stable")
    return [int(rank) for rank in order if np.isfinite(depths[rank])]


class Compositor:
    """Compositor of the images of all ranks of a communicator.

    All methods are collective, in the same order on all ranks, except `progress`. A rank that is
    not in the visibility order sends nothing and returns at once, unless it is the root.

    Use it in a ``with`` statement, or `close` it: shared memory is released by all ranks together,
    and stays until the end of the process otherwise.

    Args:
        comm: The ranks. The compositor duplicates it.
        width: Columns of an image.
        height: Rows of an image.
        format: ``rgba8`` or ``rgba_float``, premultiplied and composited by `over`; or
            ``rgba8_depth``, composited by the smaller depth.
        algorithm: See the package's docstring.
        root: The rank that receives the picture.
        gather: Whether the root receives it; else every rank keeps a tile.
        interlace: Pixels of a block that stays together when the image is interlaced, which
            balances the numbers of active pixels of the ranks; 0 for no interlacing.
        frames: Maximum number of pictures in flight.
        far: Depth of the background.
        fan_in: Maximum number of messages that a rank gathers at a time.
        ranks_per_node: Maximum number of ranks that a hybrid treats as a node; 0 for all ranks that
            share memory.
        limit: Timeout of a call in seconds, including the other ranks' drawing; 0 for unlimited.

    Raises:
        ValueError: An argument is not valid (the message states the allowed values) or differs
            between ranks. On all ranks.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        width: int,
        height: int,
        *,
        format: ImageFormat = "rgba8",
        algorithm: str = "auto",
        root: int = 0,
        gather: bool = True,
        interlace: int = 0,
        frames: int = 2,
        far: float = np.inf,
        fan_in: int = 16,
        ranks_per_node: int = 0,
        limit: float = 600.0,
    ) -> None:
        options = _core.compositing.CompositorOptions()
        options.width, options.height = width, height
        problem = ""
        if format in _PIXELS:
            options.format = getattr(_core.compositing.ImageFormat, format)
        else:
            problem = f"compositing: format is {format!r}; it may be {', '.join(_PIXELS)}"
        options.algorithm, options.root, options.gather = algorithm, root, gather
        options.interlace, options.frames, options.far = interlace, frames, far
        options.fan_in, options.ranks_per_node = fan_in, ranks_per_node
        options.limit = limit
        self._core = _core.compositing.Compositor(comm.handle, options, problem)
        self._dtype, self._channels = _PIXELS[format]
        self._shape = (height, width, *self._channels)
        self._images: list[Any] = []  # of pictures in flight: they are read until `finish`
        self._views: list[weakref.ref[Any]] = []

    def __enter__(self) -> Self:
        """Return the compositor, which is closed when the block ends without an error."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close, unless an exception is propagating, which the other ranks may not have."""
        if kind is None:
            self.close()

    def close(self) -> None:
        """Finish the pictures in flight and release memory and communicator (collective).

        If any rank still references an array that `canvas` or `finish` returned, the memory stays
        until the end of the process and the array stays valid. Copy arrays to avoid this.

        Raises:
            ValueError: The visibility orders of the ranks differ.
            RuntimeError: The call timed out.
        """
        self._core.close(any(array() is not None for array in self._views))

    def set_order(self, front_to_back: Sequence[int]) -> None:
        """Set the ranks that have data, front to back, from the next picture on.

        The default is all ranks by number. The list must be the same on all ranks, including those
        that are not in it. Where it differs, `submit`, `finish`, `canvas`, `progress` or `close`
        raises `ValueError` on all ranks, and the compositor can only be closed.

        Raises:
            ValueError: The list names a rank twice, or a rank outside the communicator.
        """
        self._core.set_order(list(front_to_back))

    def canvas(self) -> NDArray[Any]:
        """Return memory for the next image, of undefined content, which `submit` does not copy.

        Shape (height, width, 4), or (height, width) with depth. Write to it only before `submit`,
        and call `canvas` again for the next image: other ranks may read it even after `finish`, and
        this call waits for them.
        """
        return self._view(self._core.canvas(), self._shape)

    def submit(self, image: NDArray[Any] | None = None, bounds: Bounds | None = None) -> None:
        """Begin to composite a picture.

        Args:
            image: This rank's image, contiguous and shaped as `canvas`; it must not change until
                `finish` has returned the picture. None: the canvas.
            bounds: Columns and rows (x0, x1, y0, y1), ends exclusive: pixels outside are background
                and are not read.

        Raises:
            ValueError: The image has another shape, type or layout, or the visibility orders of the
                ranks differ.
            RuntimeError: `frames` pictures are in flight.
        """
        if image is None:
            self._core.submit_canvas(bounds)
        else:
            unmasked(image, "the image")
            if image.shape != self._shape or image.dtype != self._dtype:
                raise ValueError(
                    f"the image has shape {image.shape} and type {image.dtype}, "
                    f"not {self._shape} and {self._dtype}"
                )
            if not image.flags.c_contiguous:
                raise ValueError("the rows of the image must follow each other in memory")
            self._core.submit(image.reshape(-1).view(np.uint8), bounds)
        self._images.append(image)

    def finish(self) -> NDArray[Any] | Tile | None:
        """Wait for the oldest picture in flight.

        Returns:
            The picture at the root, shaped as `canvas`; a tile where nothing is gathered; None on
            other ranks. The memory is the compositor's, valid until the picture `frames` after it
            is submitted.

        Raises:
            ValueError: The visibility orders of the ranks differ. The compositor can only be closed
                then.
            RuntimeError: No picture is in flight; or the call timed out (the message names the
                ranks that it waited for), and the compositor can only be closed.
        """
        result: Any = self._core.finish()
        self._images.pop(0)
        if result is None:
            return None
        begin, end, memory = result
        if end - begin == self._shape[0] * self._shape[1]:
            return self._view(memory, self._shape)
        indices = np.array(self._core.pixels_of(begin, end), dtype=np.int64)
        return Tile(indices, self._view(memory, (end - begin, *self._channels)))

    def progress(self) -> None:
        """Advance the pictures in flight without waiting: for a rank that is busy for long."""
        self._core.progress()

    @property
    def algorithm(self) -> str:
        """The algorithm of the next picture, or the choice of ``auto``."""
        name: str = self._core.algorithm
        return name

    @property
    def messages(self) -> int:
        """Messages that this rank sent for the last finished picture."""
        count: int = self._core.messages
        return count

    def machine(self) -> MachineRates:
        """Return the rates of the ranks, measured at the first call (collective)."""
        return MachineRates(*self._core.machine())

    def predict(self, algorithm: str) -> float:
        """Return the predicted seconds of an algorithm if every pixel is active (collective).

        From latency, bandwidth and blending rate: equations 2 to 5 of the performance model.
        """
        seconds: float = self._core.predict(algorithm)
        return seconds

    def _view(self, memory: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        self._views = [array for array in self._views if array() is not None]
        self._views.append(weakref.ref(memory))
        return memory.view(self._dtype).reshape(shape)
