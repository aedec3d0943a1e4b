"""Arrays of callers whose values are not all real numbers: masked and complex ones.

`numpy.asarray` drops the mask of a masked array and, with a warning, imaginary parts: what lies
under a mask, such as a fill value of 1e20, would be taken for data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def with_nan(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return an array in which masked values are NaN; without them it is not copied.

    Raises:
        ValueError: values are masked, and their type has no NaN.
    """
    if not np.ma.is_masked(values):
        return np.asarray(values)
    masked: np.ma.MaskedArray[Any, Any] = np.ma.asarray(values)
    if masked.dtype.kind not in "fc":
        raise ValueError(
            f"{name} has masked values, and its type {masked.dtype} has no NaN for them; fill them "
            "first (numpy.ma.filled)"
        )
    return np.asarray(masked.filled(np.nan))


def unmasked(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return an array; raise `ValueError` if values are masked."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked values; fill them first (numpy.ma.filled)")
    return np.asarray(values)


def real(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return an array in double precision; raise `ValueError` if values are masked or complex."""
    array = unmasked(values, name)
    if array.dtype.kind == "c":
        raise ValueError(f"{name} is complex; give real numbers, such as its real part")
    return np.asarray(array, np.float64)
