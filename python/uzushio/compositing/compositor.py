"""The compositor for NumPy arrays."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from uzushio import _core

if TYPE_CHECKING:
    from mpi4py import MPI

Format = Literal["rgba8", "rgba_float", "rgba8_depth"]
Bounds = tuple[int, int, int, int]

#: A pixel of format ``rgba8_depth``: colour, and depth, of which the smaller is nearer.
DEPTH_PIXEL = np.dtype([("rgba", np.uint8, 4), ("depth", np.float32)])

#: Data type and channels of the pixels of each format.
_PIXELS: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {
    "rgba8": (np.dtype(np.uint8), (4,)),
    "rgba_float": (np.dtype(np.float32), (4,)),
    "rgba8_depth": (DEPTH_PIXEL, ()),
}


class Machine(NamedTuple):
    """What the ranks of a job can do, all of them at the same time."""

    latency: float
    """Seconds for a message, besides its bytes."""
    bandwidth: float
    """Bytes a second, into or out of a rank."""
    blending: float
    """Bytes a second that a rank reads and writes while it blends."""
    meeting: float
    """Seconds until the last rank of a node knows that all are there."""


@dataclass(frozen=True)
class Tile:
    """The part of a picture that a rank keeps when nothing is gathered.

    Attributes:
        indices: Numbers of its pixels in the picture, row by row; shape (n,).
        pixels: Their values; shape (n, 4), or (n,) with depth.
    """

    indices: NDArray[np.int64]
    pixels: NDArray[Any]


def algorithms() -> list[str]:
    """Return the names of the algorithms that go by messages."""
    names: list[str] = _core.compositing.algorithms()
    return names


def visibility_order(comm: MPI.Comm, depth: float | None) -> list[int]:
    """Return the ranks that have data, front to back (collective).

    For callers that do not know where the other ranks' data is. It costs one all-gather of a
    number per rank, so keep the list while camera and data stay.

    Args:
        comm: The ranks.
        depth: Distance of this rank's data from the camera; None for a rank without data.
    """
    mine = np.array([np.inf if depth is None else depth], dtype=np.float64)
    if np.isnan(mine[0]):
        raise ValueError("the distance of a rank's data from the camera is not a number")
    depths = np.empty(comm.size, dtype=np.float64)
    comm.Allgather(mine, depths)
    order = np.argsort(depths, kind="stable")
    return [int(rank) for rank in order if np.isfinite(depths[rank])]


def _check_format(comm: MPI.Comm, format: str) -> None:
    """Raise `ValueError` on all ranks if one has a format that there is not (collective)."""
    wrong = min(comm.allgather(comm.size if format in _PIXELS else comm.rank))
    if wrong < comm.size:
        found = comm.bcast(format, root=wrong)
        where = f" on rank {wrong}" if comm.size > 1 else ""
        raise ValueError(f"format is {found!r}{where}; it may be {', '.join(_PIXELS)}")


class Compositor:
    """Composites the images of all ranks of a communicator.

    All methods are collective, in the same order on all ranks, except `progress`. A rank that is
    not in the visibility order takes no part in a picture and passes through at once, unless it is
    the root.

    Use it in a ``with`` statement, or `close` it: memory that ranks share can only be given back
    by all of them together, and stays until the end of the process otherwise.

    Args:
        comm: The ranks. The compositor works in a duplicate of it.
        width: Columns of an image.
        height: Rows of an image.
        format: ``rgba8`` or ``rgba_float``, premultiplied and composited by `over`; or
            ``rgba8_depth``, of which the nearest pixel wins.
        algorithm: See the package's docstring.
        root: The rank that gets the picture.
        gather: Whether it gets it; else every rank keeps a tile.
        interlace: Pixels that stay together when the image is interlaced, so that ranks get about
            as many active pixels each; 0 for no interlacing.
        frames: Pictures that may be under way at a time.
        far: Depth of the background.
        fan_in: Messages that one rank gathers at a time.
        ranks_per_node: Ranks that a hybrid takes for a node, if fewer than share memory.
        limit: Seconds that one call waits for other ranks at most, all their drawing included; 0
            for as long as it takes.

    Raises:
        ValueError: An argument makes no sense, and the message says which are allowed; or ranks
            have different ones. On all ranks.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        width: int,
        height: int,
        *,
        format: Format = "rgba8",
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
        _check_format(comm, format)
        options = _core.compositing.Options()
        options.width, options.height = width, height
        options.format = getattr(_core.compositing.Format, format)
        options.algorithm, options.root, options.gather = algorithm, root, gather
        options.interlace, options.frames, options.far = interlace, frames, far
        options.fan_in, options.ranks_per_node = fan_in, ranks_per_node
        options.limit = limit
        self._dtype, self._channels = _PIXELS[format]
        self._shape = (height, width, *self._channels)
        self._images: list[Any] = []  # of pictures under way: they are read until `finish`
        self._lent: list[weakref.ref[Any]] = []
        self._core = _core.compositing.Compositor(comm.handle, options)

    def __enter__(self) -> Self:
        """Return the compositor, which is closed when the block ends without an error."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close, unless an error is on its way, of which the other ranks may know nothing."""
        if kind is None:
            self.close()

    def close(self) -> None:
        """Finish the pictures under way and release memory and communicator (collective).

        While any rank still holds an array that `canvas` or `finish` returned, memory stays until
        the end of the process, and the array good: copy what has to outlive the compositor.

        Raises:
            ValueError: Ranks were given different visibility orders.
            RuntimeError: Ranks did not come within the limit.
        """
        self._core.close(any(array() is not None for array in self._lent))

    def set_order(self, front_to_back: Sequence[int]) -> None:
        """Name the ranks that have data, front to back, for the pictures from the next on.

        At first it is all ranks by number. The list must be the same on all ranks, also on those
        that are not in it. Where it is not, `submit`, `finish`, `canvas`, `progress` or `close`
        raises `ValueError` on all ranks, and the compositor is of no more use.

        Raises:
            ValueError: The list names a rank twice, or one that there is not.
        """
        self._core.set_order(list(front_to_back))

    def canvas(self) -> NDArray[Any]:
        """Return memory to draw the next image into, of undefined content at first.

        Shape (height, width, 4), or (height, width) with depth. What is drawn here need not be
        copied. Write to it before `submit` only, and call `canvas` again for the next image: other
        ranks may read it even after `finish`, and this call waits until they have.
        """
        return self._view(self._core.canvas(), self._shape)

    def submit(self, image: NDArray[Any] | None = None, bounds: Bounds | None = None) -> None:
        """Begin to composite a picture.

        Args:
            image: This rank's image, contiguous and shaped as `canvas`; it must stay as it is until
                `finish` has returned the picture. None: what was drawn into the canvas.
            bounds: Columns from and to, rows from and to (ends exclusive): pixels outside are
                background and are not looked at.

        Raises:
            ValueError: The image has another shape, type or layout; or ranks were given different
                visibility orders.
            RuntimeError: `frames` pictures are under way.
        """
        if image is None:
            self._core.submit_canvas(bounds)
        else:
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
        """Wait for the oldest picture under way.

        Returns:
            The picture at the root, shaped as `canvas`; a tile where nothing is gathered; None for
            a rank that has nothing of it. The memory is the compositor's, until the picture
            `frames` after it is submitted.

        Raises:
            ValueError: Ranks were given different visibility orders; the compositor is of no more
                use.
            RuntimeError: No picture is under way; or ranks, which the message names, did not come
                within the limit, and the compositor is of no more use.
        """
        found: Any = self._core.finish()
        self._images.pop(0)
        if found is None:
            return None
        begin, end, memory = found
        if end - begin == self._shape[0] * self._shape[1]:
            return self._view(memory, self._shape)
        indices = np.array(self._core.pixels_of(begin, end), dtype=np.int64)
        return Tile(indices, self._view(memory, (end - begin, *self._channels)))

    def progress(self) -> None:
        """Move on what can be moved on without waiting: for a rank that is busy for long."""
        self._core.progress()

    @property
    def algorithm(self) -> str:
        """The algorithm of the next picture: what ``auto`` has chosen."""
        name: str = self._core.algorithm
        return name

    @property
    def messages(self) -> int:
        """Messages that this rank sent for the picture that was finished last."""
        count: int = self._core.messages
        return count

    def machine(self) -> Machine:
        """Return what the ranks can do; measured at the first call (collective)."""
        return Machine(*self._core.machine())

    def predict(self, algorithm: str) -> float:
        """Return the seconds that an algorithm will take if every pixel is active (collective).

        From latency, bandwidth and blending rate: equations 2 to 5 of the performance model.
        """
        seconds: float = self._core.predict(algorithm)
        return seconds

    def _view(self, memory: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        self._lent = [array for array in self._lent if array() is not None]
        self._lent.append(weakref.ref(memory))
        return memory.view(self._dtype).reshape(shape)
