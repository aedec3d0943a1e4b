"""Writer of a stream."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from uzushio import _core
from uzushio._base.array_values import with_nan
from uzushio._base.error_text import capitalised
from uzushio._base.parallel.mpi_library import python_mismatch
from uzushio.domain.fields import Field
from uzushio.errors import StagingError
from uzushio.staging.box import GhostWidths, ghost_pair
from uzushio.staging.description import Description
from uzushio.staging.engines import Counters, NoEngine, WriterEngine
from uzushio.staging.notice import notice
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
        name: name of the stream; the default contact file is "NAME.contact".
        comm: ranks that publish together; None: this process alone, which then needs no MPI.
        options: path of a YAML file with engine, queue and other options, or its content. A file
            in the environment variable UZUSHIO_STAGING replaces the file.

    Raises:
        StagingError: the options are wrong, or the engine cannot start.
    """
    if comm is not None and (mismatch := python_mismatch()):
        raise StagingError(mismatch)
    chosen = choose_options(options, comm)
    if chosen.engine == "adios2":
        from uzushio.staging.adios2_engine import Adios2Engine

        warn = chosen.on_error == "warn"
        try:
            engine: WriterEngine = Adios2Engine(name, comm, chosen)
        except StagingError as error:  # on all ranks
            if not warn:
                raise
            if comm is None or comm.rank == 0:
                notice(f"Nothing is published, and the program continues: {error}")
            engine = NoEngine()
        handle = None if comm is None else comm.handle
        return Writer(_core.staging.Writer.from_engine(name, handle, engine, warn), comm)
    handle = None if comm is None else comm.handle
    return Writer(_core.staging.Writer(name, handle, chosen), comm)


@dataclass
class OpenStep:
    """Step inside `with writer.step(...)`."""

    index: int
    time: float
    sequence: int | None = None  #: after the block: the step's number, None if it was dropped


@dataclass(frozen=True)
class Command:
    """Command of a reader.

    Attributes:
        reader: number of the reader.
        number: number of the command.
        text: text of the command.
        left: no command: a reader that sent commands has detached.
    """

    reader: int
    number: int
    text: str
    left: bool = False


class Writer(Description):
    """Writer of a stream on the ranks of a communicator. Made by `open`.

    `open`, `step` and `close` are collective; other methods are local. Descriptions of meshes,
    fields and blocks stay valid until they are replaced. Boxes are `Box`, (start, count), or counts
    alone, along z, y, x. Calls of several threads are serialised.
    """

    def __init__(self, core: Any, comm: MPI.Comm | None = None) -> None:
        super().__init__(core)
        self.comm = comm
        self._put_arrays: list[np.ndarray] = []
        self._buffers: list[np.ndarray] = []
        self._functions: list[Callable[[Step], object]] = []
        self._failure: Exception | None = None
        self._last: Counters | None = None

    @staticmethod
    def with_engine(name: str, comm: MPI.Comm | None, engine: WriterEngine) -> Writer:
        """Make a writer with a user-defined engine."""
        handle = None if comm is None else comm.handle
        return Writer(_core.staging.Writer.from_engine(name, handle, engine), comm)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Close; after an error abandon the stream, which readers see as a lost writer."""
        if error is None:
            self.close()
        else:
            self.abandon(f"{type(error).__name__}: {error}".removesuffix(": "))

    @property
    def name(self) -> str:
        """Name of the stream."""
        return str(self._open().name)

    def take_commands(self) -> list[Command]:
        """Return the commands of readers since the last call, in the order of their arrival.

        On rank 0, empty elsewhere; never waits. Engines shm, tcp and mpi have commands.
        """
        return [Command(*command) for command in self._open().take_commands()]

    def reply(self, command: Command, text: str) -> None:
        """Reply to a command on rank 0; `text` has at most 60 000 bytes.

        Raises:
            StagingError: the text is too long.
        """
        self._open().reply(command.reader, command.number, text)

    @contextmanager
    def step(self, index: int, time: float) -> Iterator[OpenStep]:
        """Publish a step with the values put inside the block (collective).

        After an exception inside the block on any rank, nothing is published, and the next step
        may follow; the other ranks raise a `StagingError` with its message.

        Args:
            index: the solver's number of the step.
            time: time of the step.
        """
        opened = OpenStep(index, time)
        self.begin_step(index, time)
        try:
            yield opened
        except BaseException as error:
            if self._core is not None:
                # The original exception matters more than a failure of the cancellation.
                with suppress(StagingError):
                    self.cancel_step(f"{type(error).__name__}: {error}")
            raise
        opened.sequence = self.end_step()

    def begin_step(self, index: int, time: float) -> None:
        """Begin a step, the same on all ranks; not collective. `step` calls this."""
        self._put_arrays.clear()
        self._open().begin_step(index, time)

    def put(
        self,
        field: str,
        values: np.ndarray | Mapping[int, np.ndarray],
        block: int | None = None,
        ghosts: GhostWidths = 0,
    ) -> None:
        """Put values of a field on one block, or on many blocks, into this step.

        The values are read in place at the end of the step, with any strides: do not change them
        until then. Only arrays with negative or zero strides are copied in this call.

        Args:
            field: name of the field.
            values: (z, y, x) with ghosts, and components last if there are several; axes that the
                mesh does not use may be left out. Of the field's dtype; masked values are NaN. For
                many blocks in one call, which is faster: {id: array}, without `block`.
            block: id of the block; None: the only block of this rank.
            ghosts: widths of the ghost layers in `values`: one number for all axes in use, or
                one or (lower, upper) for each of z, y, x.

        Raises:
            StagingError: shape or dtype do not match the field and the block, or an integer is
                masked.
        """
        described = self._field(field)
        dimension = self._meshes[described.mesh].dimension
        widths = ghost_pair(ghosts, dimension)
        component_axis = described.components > 1
        if isinstance(values, np.ndarray) or not isinstance(values, Mapping):
            array = _puttable(values, described, dimension)
            self._open().put(field, self._block_id(block), array, widths, component_axis)
            self._put_arrays.append(array)
            return
        if block is not None:
            raise StagingError("Values of many blocks are given by id: leave block= out.")
        arrays = {id: _puttable(array, described, dimension) for id, array in values.items()}
        self._put_arrays.extend(arrays.values())
        self._open().put_blocks(field, arrays, widths, component_axis)

    def buffer(self, field: str, block: int | None = None, ghosts: GhostWidths = 0) -> np.ndarray:
        """Return memory for a block's values of this step, in place of `put`.

        If the engine supports it, readers get this memory without a copy. The array is valid until
        the end of the step and read-only afterwards: request a new one in each step.

        Args:
            field: name of the field.
            block: id of the block; None: the only block of this rank.
            ghosts: as in `put`.

        Returns:
            Uninitialised array (z, y, x) with ghosts, and components last if there are several.
        """
        described = self._field(field)
        widths = ghost_pair(ghosts, self._meshes[described.mesh].dimension)
        array: np.ndarray = self._open().buffer(
            field, self._block_id(block), widths, described.dtype.name
        )
        if described.components == 1:
            array = array[..., 0]
        self._buffers.append(array)
        return array

    def end_step(self, stop: Callable[[], bool] | None = None) -> int | None:
        """Publish the step (collective).

        Args:
            stop: called ten times a second while the step waits for the first readers or for space
                in the queue; True ends the wait. For programs that record signals; all ranks must
                pass it.

        Returns:
            Sequence number of the step, or None if the queue's policy dropped it for all readers.

        Raises:
            WaitStopped: `stop` ended the wait; this step was not published, others may follow.
        """
        try:
            sequence: int | None = self._open().end_step(stop)
        except StagingError as error:
            failure, self._failure = self._failure, None
            raise error from failure
        finally:
            self._drop_arrays()
        return sequence

    def cancel_step(self, reason: str) -> None:
        """Cancel the step, in place of `end_step` (collective; `step` calls this).

        Nothing is published, and the next step may begin. Ranks in `end_step` raise a
        `StagingError` with the reason.
        """
        try:
            self._open().cancel_step(reason)
        finally:
            self._drop_arrays()

    def _drop_arrays(self) -> None:
        """Drop the arrays of the step, and make those of `buffer` read-only."""
        self._put_arrays.clear()
        for array in self._buffers:
            array.flags.writeable = False
        self._buffers.clear()

    def close(self, stop: Callable[[], bool] | None = None) -> None:
        """Deliver the remaining steps to readers, then end the stream (collective).

        Args:
            stop: as in `end_step`; after True, readers have two seconds.

        Raises:
            WaitStopped: not all readers received the remaining steps; the stream is closed.
        """
        if self._core is not None:
            self._core.close(stop)
            self._last = self.counters()
            self._core = None

    def abandon(self, reason: str = "") -> None:
        """Close at once without an end of stream; readers see a lost writer.

        Not collective: the other ranks raise a `StagingError` with the reason at their next step.
        """
        core, self._core = self._core, None
        if core is not None:
            core.abandon(reason)
            self._drop_arrays()

    def counters(self) -> Counters:
        """Return the counters of the stream; complete on rank 0."""
        if self._last is not None:
            return self._last
        return Counters(**self._open().counters())

    def on_step(self, work: Callable[[Step], object]) -> None:
        """Engine `inproc`: run `work` on every rank inside each step, on the solver's own arrays.

        `work` gets a `Step`, as a reader in another process does. No array of `Block.view` may
        remain when it returns. Its exception becomes a `StagingError` at the end of the step.
        """
        # The core holds only a number, so objects of the function can be garbage-collected.
        owner, number = weakref.ref(self), len(self._functions)
        self._functions.append(work)
        self._open().on_step(lambda core: _run(owner(), number, core))


def _run(writer: Writer | None, number: int, core: Any) -> None:
    """Run a function of `Writer.on_step` on the core's current step."""
    if writer is None:
        raise StagingError("The writer was deleted while it published; keep it until close().")
    step = Step(core, writer.comm)
    try:
        writer._functions[number](step)
    except Exception as error:
        writer._failure = error
        raise StagingError(
            f"The function that runs inside the step failed: {type(error).__name__}: {error}"
        ) from error
    finally:
        step._invalidate()


def _puttable(values: np.ndarray, described: Field, dimension: int) -> np.ndarray:
    """Check values for the core; copy them if their strides require it."""
    name = described.name
    try:
        array = with_nan(values, f'the array of "{name}"')
    except ValueError as error:
        raise StagingError(f"{capitalised(error)}.") from None
    if array.dtype != described.dtype:
        raise StagingError(
            f'Field "{name}" is of {described.dtype}, the values put are {array.dtype}; '
            "describe the field with that dtype, or convert the values."
        )
    axes = array.ndim
    if described.components > 1:
        if not axes or array.shape[-1] != described.components:
            raise StagingError(
                f'Field "{name}" has {described.components} components, the values put have the '
                f"shape {array.shape}; components are the last axis."
            )
        axes -= 1
    if not dimension <= axes <= 3:
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
