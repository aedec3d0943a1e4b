"""Reading of real numbers from Zarr arrays of any origin; each error is one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from uzushio.errors import CaseError

#: Kinds of NumPy types that are real numbers.
_REAL = "iuf"


def read_real(array: Any, selection: Any, where: str) -> np.ndarray:
    """Read a part of a Zarr array as float64.

    Args:
        array: array of the store.
        selection: as in `array[selection]`.
        where: key of the case, store and array, for messages.

    Raises:
        CaseError: the array holds no real numbers, or a chunk of it is damaged.
    """
    if array.dtype.kind not in _REAL:
        raise CaseError(f"{where} has the type {array.dtype}; it must hold real numbers.")
    return np.asarray(_read(array, selection, where), dtype=np.float64)


def read_flags(array: Any, selection: Any, where: str) -> np.ndarray:
    """Read a part of a mask: true or false, or numbers that are 0 or 1.

    Args:
        array: array of the store.
        selection: as in `array[selection]`.
        where: key of the case, store and array, for messages.

    Raises:
        CaseError: the array holds other values, or a chunk of it is damaged.
    """
    if array.dtype.kind not in "b" + _REAL:
        raise CaseError(f"{where} has the type {array.dtype}; it must be true or false, or 0 or 1.")
    found = np.asarray(_read(array, selection, where))
    other = found[(found != 0) & (found != 1)]
    if other.size:
        raise CaseError(
            f"{where} holds {other.flat[0]:g}; it must be 1 at observed points and 0 elsewhere."
        )
    return found.astype(bool)


def _read(array: Any, selection: Any, where: str) -> Any:
    try:
        return array[selection]
    except MemoryError:
        raise
    except Exception as error:  # codecs raise errors of their own types
        message = " ".join(str(error).split())[:200] or type(error).__name__
        raise CaseError(
            f"{where} cannot be read ({message}): a chunk is damaged or of another type; write the "
            "array again."
        ) from error
