"""Bindings of the part of ADIOS2's C interface that the engine `adios2` needs.

The Python bindings of the adios2 package hold the GIL while SST waits for its readers; a reader in
the same process would then never continue.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uzushio.errors import StagingError

if TYPE_CHECKING:
    from mpi4py import MPI

Status = Literal["ok", "not ready", "ended", "failed"]

_STATUS: dict[int, Status] = {0: "ok", 1: "not ready", 2: "ended"}
_WRITE, _READ, _DEFERRED, _SYNC = 1, 2, 4, 5
_APPEND_STEP, _READ_STEP = 0, 2
_STRING_TYPE = 0
_TYPES = {"float32": 1, "float64": 2, "int32": 7, "int64": 8, "uint8": 9}

_handle, _text, _size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
_sizes = ctypes.POINTER(_size)
_CALLS: dict[str, tuple[Any, list[Any]]] = {
    "init_serial": (_handle, []),
    "finalize": (ctypes.c_int, [_handle]),
    "declare_io": (_handle, [_handle, _text]),
    "set_engine": (ctypes.c_int, [_handle, _text]),
    "set_parameter": (ctypes.c_int, [_handle, _text, _text]),
    "open": (_handle, [_handle, _text, ctypes.c_int]),
    "close": (ctypes.c_int, [_handle]),
    "begin_step": (
        ctypes.c_int,
        [_handle, ctypes.c_int, ctypes.c_float, ctypes.POINTER(ctypes.c_int)],
    ),
    "end_step": (ctypes.c_int, [_handle]),
    "define_variable": (
        _handle,
        [_handle, _text, ctypes.c_int, _size, _sizes, _sizes, _sizes, ctypes.c_int],
    ),
    "define_attribute": (_handle, [_handle, _text, ctypes.c_int, ctypes.c_void_p]),
    "define_attribute_array": (
        _handle,
        [_handle, _text, ctypes.c_int, ctypes.c_void_p, _size],
    ),
    "variable_type": (ctypes.c_int, [ctypes.POINTER(ctypes.c_int), _handle]),
    "variable_ndims": (ctypes.c_int, [_sizes, _handle]),
    "variable_shape": (ctypes.c_int, [_sizes, _handle]),
    "current_step": (ctypes.c_int, [_sizes, _handle]),
    "inquire_variable": (_handle, [_handle, _text]),
    "set_block_selection": (ctypes.c_int, [_handle, _size]),
    "set_shape": (ctypes.c_int, [_handle, _size, _sizes]),
    "set_selection": (ctypes.c_int, [_handle, _size, _sizes, _sizes]),
    "selection_size": (ctypes.c_int, [_sizes, _handle]),
    "put": (ctypes.c_int, [_handle, _handle, ctypes.c_void_p, ctypes.c_int]),
    "get": (ctypes.c_int, [_handle, _handle, ctypes.c_void_p, ctypes.c_int]),
    "perform_gets": (ctypes.c_int, [_handle]),
}


class Adios2Library:
    """Functions of libadios2_c, without their prefix; failures raise `StagingError`."""

    def __init__(self, folders: Sequence[Path]) -> None:
        plain = _load(folders, "libadios2_c.so")
        if plain is None:
            raise StagingError(
                "ADIOS2's library for C, libadios2_c.so, is in none of "
                f"{', '.join(map(str, folders))}; the engine adios2 needs it there."
            )
        for name, (result, arguments) in _CALLS.items():
            self._add(plain, name, result, arguments)
        # Functions with a communicator are in a second library, in builds with MPI.
        parallel = _load(folders, "libadios2_c_mpi.so")
        self.has_mpi = parallel is not None
        if parallel is not None:
            from mpi4py import MPI

            handle = ctypes.c_int if MPI._sizeof(MPI.Comm) == 4 else ctypes.c_void_p
            self._add(parallel, "init_mpi", _handle, [handle])

    def _add(self, library: ctypes.CDLL, name: str, result: Any, arguments: list[Any]) -> None:
        function = library[f"adios2_{name}"]
        function.restype, function.argtypes = result, arguments

        def check(returned: Any, *_: Any) -> Any:
            # A missing variable is not a failure.
            null = returned is None and name != "inquire_variable"
            if null or (result is ctypes.c_int and returned != 0):
                raise StagingError(
                    f"ADIOS2's function adios2_{name} failed; its message is on standard error."
                )
            return returned

        function.errcheck = check
        setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:  # for mypy: the functions are set one by one
        raise AttributeError(name)


def _load(folders: Sequence[Path], name: str) -> ctypes.CDLL | None:
    """Load a library from one of these folders; None if it is in none."""
    for folder in folders:
        if (folder / name).exists():
            try:
                return ctypes.CDLL(str(folder / name))
            except OSError as error:
                raise StagingError(f"ADIOS2's library cannot be loaded: {error}.") from error
    return None


@functools.cache
def library() -> Adios2Library:
    """Load ADIOS2 of the installed adios2 package; raises `StagingError` if it is missing."""
    spec = importlib.util.find_spec("adios2")
    if spec is None or spec.origin is None:
        raise StagingError(
            "The engine adios2 needs the Python package adios2; install it (pip install adios2, "
            "or make adios2 for one with MPI), or choose another engine."
        )
    package = Path(spec.origin).parent  # PREFIX/lib/pythonX.Y/site-packages/adios2
    prefix = package.parents[3]
    return Adios2Library([package, prefix / "lib", prefix / "lib64"])


class Adios2Stream:
    """ADIOS2 engine, opened by this rank or, with a communicator, by all of its ranks.

    Every call may wait as long as ADIOS2 does, without the GIL.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        parameters: Mapping[str, str],
        comm: MPI.Comm | None,
        *,
        write: bool,
    ) -> None:
        self._library = adios2 = library()
        self._write = write
        self._variables: dict[str, tuple[np.dtype[Any], Any]] = {}
        self._attributes: set[str] = set()
        self._adios = adios2.init_serial() if comm is None else adios2.init_mpi(comm.handle)
        self._engine: Any = None
        try:
            self._io = adios2.declare_io(self._adios, b"uzushio")
            adios2.set_engine(self._io, kind.encode())
            for key, value in parameters.items():
                adios2.set_parameter(self._io, key.encode(), value.encode())
            mode = _WRITE if write else _READ
            self._engine = adios2.open(self._io, str(path).encode(), mode)
        except BaseException:
            adios2.finalize(self._adios)
            raise

    def begin_step(self, limit: float = 0.0) -> Status:
        """Begin the next step; in a reader, wait at most `limit` seconds for it."""
        status = ctypes.c_int(-1)
        mode = _APPEND_STEP if self._write else _READ_STEP
        self._library.begin_step(self._engine, mode, limit, ctypes.byref(status))
        return _STATUS.get(status.value, "failed")

    def end_step(self) -> None:
        """End the step."""
        self._library.end_step(self._engine)

    def put(
        self, name: str, array: np.ndarray, shape: Sequence[int] = (), start: Sequence[int] = ()
    ) -> None:
        """Put a contiguous array as another block of a variable.

        SST copies it in this call, BP5 in `end_step`.

        Args:
            name: name of the variable.
            array: values of the block; a variable of no axes is a global value.
            shape: shape of the global array that the block is a part of; empty: a local array.
            start: first index of the block in the global array.
        """
        dtype, variable = self._variables.get(name, (array.dtype, None))
        axes, adios2 = array.ndim, self._library
        count = (_size * axes)(*array.shape)
        whole = (_size * axes)(*shape) if shape else None
        first = (_size * axes)(*start) if shape else None
        if variable is None:
            variable = adios2.define_variable(
                self._io, name.encode(), _TYPES[dtype.name], axes, whole, first, count, 0
            )
            self._variables[name] = dtype, variable
        if dtype != array.dtype:
            raise StagingError(f'Field "{name}" was {dtype}; ADIOS2 does not change its type.')
        if axes:
            if whole is not None:
                adios2.set_shape(variable, axes, whole)
            adios2.set_selection(variable, axes, first, count)
        adios2.put(self._engine, variable, array.ctypes.data, _DEFERRED)

    def set_attribute(self, name: str, value: str | float | np.ndarray) -> None:
        """Define an attribute: a text, a number, or a 1-D array; later values are ignored."""
        if name in self._attributes:
            return
        self._attributes.add(name)
        if isinstance(value, str):
            text = ctypes.c_char_p(value.encode())
            self._library.define_attribute(self._io, name.encode(), _STRING_TYPE, text)
            return
        array = np.atleast_1d(np.ascontiguousarray(value))
        kind, data = _TYPES[array.dtype.name], array.ctypes.data
        if np.ndim(value):
            self._library.define_attribute_array(self._io, name.encode(), kind, data, array.size)
        else:
            self._library.define_attribute(self._io, name.encode(), kind, data)

    def _variable(self, name: str) -> Any:
        variable = self._library.inquire_variable(self._io, name.encode())
        if variable is None:
            raise StagingError("This ADIOS2 stream was not written by Uzushio: it has no table.")
        return variable

    def current_step(self) -> int:
        """Return ADIOS2's number of the current step."""
        number = _size()
        self._library.current_step(ctypes.byref(number), self._engine)
        return number.value

    def described(self, name: str) -> tuple[str, tuple[int, ...]] | None:
        """Return type and global shape of a variable; None if the step lacks it.

        A single value has the shape ().

        Raises:
            StagingError: the type is none that staging supports.
        """
        variable = self._library.inquire_variable(self._io, name.encode())
        if variable is None:
            return None
        kind, axes = ctypes.c_int(), _size()
        self._library.variable_type(ctypes.byref(kind), variable)
        self._library.variable_ndims(ctypes.byref(axes), variable)
        shape = (_size * axes.value)()
        if axes.value:
            self._library.variable_shape(shape, variable)
        names = {code: kind for kind, code in _TYPES.items()}
        if kind.value not in names:
            raise StagingError(
                f'The ADIOS2 variable "{name}" has a type that staging does not support; it '
                f"supports {', '.join(_TYPES)}."
            )
        return names[kind.value], tuple(shape)

    def read(self, name: str) -> np.ndarray:
        """Read a whole global array, or a single value, immediately."""
        found = self.described(name)
        if found is None:
            raise StagingError(f'This ADIOS2 stream has no variable "{name}".')
        kind, shape = found
        values = np.empty(shape, kind)
        variable = self._variable(name)
        if shape:
            axes = len(shape)
            self._library.set_selection(
                variable, axes, (_size * axes)(*(0 for _ in shape)), (_size * axes)(*shape)
            )
        self._library.get(self._engine, variable, values.ctypes.data, _SYNC)
        return values

    def get_all(self, name: str, block: int, dtype: type) -> np.ndarray:
        """Read a whole 1-D block of a local array immediately."""
        variable = self._variable(name)
        self._library.set_block_selection(variable, block)
        count = _size()
        self._library.selection_size(ctypes.byref(count), variable)
        values: np.ndarray = np.empty(count.value, dtype)
        self._library.get(self._engine, variable, values.ctypes.data, _SYNC)
        return values

    def get(self, name: str, start: Sequence[int], count: Sequence[int], into: np.ndarray) -> None:
        """Request a box of a global array; contiguous `into` holds it after `perform_gets`."""
        variable = self._variable(name)
        axes = len(start)
        self._library.set_selection(variable, axes, (_size * axes)(*start), (_size * axes)(*count))
        self._library.get(self._engine, variable, into.ctypes.data, _DEFERRED)

    def perform_gets(self) -> None:
        """Read all requested boxes."""
        self._library.perform_gets(self._engine)

    def close(self) -> None:
        """Close the engine; the last call."""
        try:
            self._library.close(self._engine)
        finally:
            self._library.finalize(self._adios)
