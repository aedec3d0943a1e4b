"""The writing side of a stream."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from uzushio import _core
from uzushio.errors import StagingError
from uzushio.staging.box import GhostWidths, ghost_pair
from uzushio.staging.description import DescribedField, Description
from uzushio.staging.engines import Counters, WriterEngine
from uzushio.staging.options import choose_options
from uzushio.staging.step import Step

if TYPE_CHECKING:
    from mpi4py import MPI


def open(
    name: str,
    comm: MPI.Comm | None = None,
    options: str | Path | Mapping[str, Any] | None = None,
) -> Writer:
    """Open a stream for writing; collective over `comm`.

    Args:
        name: of the stream; its contact file is "NAME.contact" unless the options say otherwise.
        comm: ranks that publish together; None: this process alone, which then needs no MPI.
        options: engine, queue and the rest: a YAML file, or a mapping of what would be in it. The
            environment variable UZUSHIO_STAGING, if set, names a file to take instead of a file.

    Raises:
        StagingError: the options are wrong, or the engine cannot start.
    """
    chosen = choose_options(options, comm)
    if chosen.engine == "adios2":
        from uzushio.staging.adios2_engine import Adios2Engine

        return Writer.with_engine(name, comm, Adios2Engine(name, comm, chosen))
    handle = None if comm is None else comm.handle
    return Writer(_core.staging.Writer(name, handle, chosen), comm)


@dataclass
class OpenStep:
    """What `with writer.step(...)` hands out."""

    index: int
    time: float
    sequence: int | None = None  #: after the block: the step's number, None if it was dropped


class Writer(Description):
    """A stream that the ranks of a communicator write. Made by `open`.

    `open`, `step` and `close` are collective; the rest is each rank's own. What is described stays
    until it is described anew. Boxes are `Box`, (start, count), or counts alone, along z, y, x. One
    thread at a time may use it: threads take turns.
    """

    def __init__(self, core: Any, comm: MPI.Comm | None = None) -> None:
        super().__init__(core)
        self.comm = comm
        self._held: list[np.ndarray] = []
        self._handed: list[np.ndarray] = []
        self._works: list[Callable[[Step], object]] = []
        self._failure: Exception | None = None
        self._last: Counters | None = None

    @staticmethod
    def with_engine(name: str, comm: MPI.Comm | None, engine: WriterEngine) -> Writer:
        """A writer with an engine of one's own."""
        handle = None if comm is None else comm.handle
        return Writer(_core.staging.Writer.from_engine(name, handle, engine), comm)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; after an error stop at once, and readers see the writer gone."""
        if error is None:
            self.close()
        else:
            self.abandon(f"{type(error).__name__}: {error}".removesuffix(": "))

    @property
    def name(self) -> str:
        """Of the stream."""
        return str(self._open().name)

    @contextmanager
    def step(self, index: int, time: float) -> Iterator[OpenStep]:
        """Publish a step: what is put inside the block belongs to it (collective).

        After an exception inside the block, on whichever rank, nothing is published, and the next
        step may follow: `StagingError` on the ranks that it was not raised on says what it was.

        Args:
            index: the solver's number of the step.
            time: of the step.
        """
        opened = OpenStep(index, time)
        self.begin_step(index, time)
        try:
            yield opened
        except BaseException as error:
            if self._core is not None:
                # What is wrong with giving up matters less than why.
                with suppress(StagingError):
                    self.cancel_step(f"{type(error).__name__}: {error}")
            raise
        opened.sequence = self.end_step()

    def begin_step(self, index: int, time: float) -> None:
        """Begin a step (collective); `step` does this too."""
        self._held.clear()
        self._open().begin_step(index, time)

    def put(
        self,
        field: str,
        values: np.ndarray | Mapping[int, np.ndarray],
        block: int | None = None,
        ghosts: GhostWidths = 0,
    ) -> None:
        """Values of a field on a block for this step, or on many blocks.

        They are read at the end of the step, where they lie, whatever their strides: leave them
        alone until then. Only arrays with negative or zero strides are copied here.

        Args:
            field: its name.
            values: (z, y, x) with ghosts, and components last if there are several; axes that the
                mesh does not use may be left out. Of the field's dtype. For many blocks at once,
                which is faster than one by one: {id: array}, without `block`.
            block: its id; None: the only block of this rank.
            ghosts: widths of the ghost layers in `values`: one number for all axes in use, or
                one or (lower, upper) for each of z, y, x.

        Raises:
            StagingError: the shape or the dtype is not what the field and the block have.
        """
        described = self._described(field)
        widths = ghost_pair(ghosts, described.dimension)
        component_axis = described.components > 1
        if isinstance(values, np.ndarray) or not isinstance(values, Mapping):
            array = _to_put(field, values, described)
            self._open().put(field, self._which(block), array, widths, component_axis)
            self._held.append(array)
            return
        if block is not None:
            raise StagingError("Values of many blocks say which they are of: leave block= out.")
        arrays = {id: _to_put(field, array, described) for id, array in values.items()}
        self._held.extend(arrays.values())
        self._open().put_blocks(field, arrays, widths, component_axis)

    def buffer(self, field: str, block: int | None = None, ghosts: GhostWidths = 0) -> np.ndarray:
        """Memory to write a block's values of this step into, instead of `put`.

        Where the engine can, readers then get it without a copy. The array is valid until the end
        of the step, and read-only from then on: ask for the next one in the next step.

        Args:
            field: its name.
            block: its id; None: the only block of this rank.
            ghosts: as in `put`.

        Returns:
            (z, y, x) with ghosts, and components last if there are several. What is in it is not
            defined.
        """
        described = self._described(field)
        widths = ghost_pair(ghosts, described.dimension)
        array: np.ndarray = self._open().buffer(
            field, self._which(block), widths, described.dtype.name
        )
        if described.components == 1:
            array = array[..., 0]
        self._handed.append(array)
        return array

    def end_step(self, stop: Callable[[], bool] | None = None) -> int | None:
        """Publish the step (collective).

        Args:
            stop: asked ten times a second while the step waits for readers, for those that are to
                come and for room in the queue: True ends the wait. For programs that note a
                signal, as on all ranks.

        Returns:
            Its sequence number, or None if the queue's policy dropped it, for all readers.

        Raises:
            WaitStopped: `stop` ended the wait; the step was not published, the next one may be.
        """
        try:
            sequence: int | None = self._open().end_step(stop)
        except StagingError as error:
            failure, self._failure = self._failure, None
            raise error from failure
        finally:
            self._forget()
        return sequence

    def cancel_step(self, reason: str) -> None:
        """Give the step up in place of `end_step` (collective; `step` does this too).

        Nothing is published, and the next step may begin. Ranks that call `end_step` meanwhile
        raise a `StagingError` with the reason.
        """
        try:
            self._open().cancel_step(reason)
        finally:
            self._forget()

    def _forget(self) -> None:
        """Arrays of the step that is over are the solver's; those of `buffer` are closed."""
        self._held.clear()
        for array in self._handed:
            array.flags.writeable = False
        self._handed.clear()

    def close(self, stop: Callable[[], bool] | None = None) -> None:
        """Give readers what is left, then end the stream (collective).

        Args:
            stop: as of `end_step`; where it says True, readers get two seconds.

        Raises:
            WaitStopped: not all readers have had what was left; the stream is closed.
        """
        if self._core is not None:
            self._core.close(stop)
            self._last = self.counters()
            self._core = None

    def abandon(self, reason: str = "") -> None:
        """Stop at once, without a word to readers, who see the writer gone.

        Not collective: the other ranks raise a `StagingError` with the reason at their next step.
        """
        core, self._core = self._core, None
        if core is not None:
            core.abandon(reason)
            self._forget()

    def counters(self) -> Counters:
        """What happened to the steps so far; whole on rank 0."""
        if self._last is not None:
            return self._last
        return Counters(**self._open().counters())

    def on_step(self, work: Callable[[Step], object]) -> None:
        """Engine `inproc`: run `work` on every rank inside each step, on the solver's own arrays.

        It gets the same `Step` that a reader in another process does. Arrays of `Block.view` must
        be gone when it returns. What it raises becomes a `StagingError` at the end of the step.
        """
        # The core holds no more than a number: whatever the function refers to can be collected.
        owner, number = weakref.ref(self), len(self._works)
        self._works.append(work)
        self._open().on_step(lambda core: _run(owner(), number, core))


def _run(writer: Writer | None, number: int, core: Any) -> None:
    """Do a piece of `Writer.on_step`'s work on the step that the core stands at."""
    if writer is None:
        raise StagingError("The writer was dropped while it published; keep it, and close it.")
    step = Step(core, writer.comm)
    try:
        writer._works[number](step)
    except Exception as error:
        writer._failure = error
        raise StagingError(
            f"The function that runs inside the step failed: {type(error).__name__}: {error}"
        ) from error
    finally:
        step._over()


def _to_put(name: str, values: np.ndarray, described: DescribedField) -> np.ndarray:
    """The values as the core takes them: as they lie, or a copy if their strides forbid that."""
    array = np.asarray(values)
    if array.dtype != described.dtype:
        raise StagingError(
            f'Field "{name}" is of {described.dtype}, the values put are {array.dtype}; '
            "describe the field as what it is, or convert the values."
        )
    axes = array.ndim
    if described.components > 1:
        if not axes or array.shape[-1] != described.components:
            raise StagingError(
                f'Field "{name}" has {described.components} components, the values put have the '
                f"shape {array.shape}; components are the last axis."
            )
        axes -= 1
    if not described.dimension <= axes <= 3:
        raise StagingError(
            f'The values of "{name}" have the shape {array.shape}; they need the axes z, y, x.'
        )
    if array.flags.c_contiguous:
        return array
    backwards = any(
        stride <= 0 for stride, n in zip(array.strides, array.shape, strict=True) if n > 1
    )
    if backwards or any(stride % array.itemsize for stride in array.strides):
        return np.ascontiguousarray(array)
    return array
