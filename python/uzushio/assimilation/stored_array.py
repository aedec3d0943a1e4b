"""Arrays of Zarr stores of any origin, decoded as xarray decodes them; each error is one sentence.

xarray applies the CF attributes: `_FillValue` and `missing_value` become NaN, `scale_factor` and
`add_offset` unpack numbers. A chunk that is not stored has the array's fill value; unless that
means "missing", the chunk may have been lost, and the array is refused.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from uzushio.assimilation.model import Model
from uzushio.errors import CaseError

#: Kinds of NumPy types that are real numbers.
_REAL = "iuf"
#: Attributes that change values.
_CODING = ("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned")
#: Maximum error of a distance between points, and of the position of the grid, in spacings: the
#: positions of cells may be those of their edges.
_UNEVEN, _SHIFTED = 1e-3, 0.5
#: Units of quantities without a dimension.
_PLAIN = {"", "1", "-", "none", "dimensionless"}


class StoredArray:
    """Array of a Zarr group in a file system."""

    def __init__(self, group: Any, name: str, path: Path, where: str) -> None:
        """Find the array; no values are read.

        Args:
            group: the opened group.
            name: name of the array.
            path: path of the group.
            where: key of the case and store, for messages.

        Raises:
            CaseError: the group has no such array.
        """
        self.where = f"{where}: {name}"
        if name not in group:
            there = ", ".join(sorted(group.array_keys())) or "none"
            raise CaseError(f"{where}: there is no array {name} (arrays there: {there}).")
        array = group[name]
        if not hasattr(array, "shape"):
            raise CaseError(f"{where}: {name} is a group, must be an array.")
        self._array: Any = array
        self._path = path / name
        self.shape: tuple[int, ...] = tuple(array.shape)

    @property
    def dimensions(self) -> tuple[str | None, ...]:
        """Names of the dimensions; empty if the store does not name them."""
        metadata = self._array.metadata
        if metadata.zarr_format == 2:
            return tuple(self._array.attrs.get("_ARRAY_DIMENSIONS", ()))
        return tuple(metadata.dimension_names or ())

    def require_unit(self, unit: str) -> None:
        """Raise `CaseError` if an attribute names another unit than the model's."""
        attributes = self._array.attrs
        given = str(attributes.get("units", attributes.get("unit", ""))).strip()
        if given != unit and not (given.lower() in _PLAIN and unit in _PLAIN):
            wanted = "no unit" if unit in _PLAIN else f"the unit {unit}"
            raise CaseError(
                f"{self.where} is in {given!r}, and has {wanted} in the model; convert the values, "
                "or correct the attribute."
            )

    def require_order(self, axes: Sequence[str]) -> None:
        """Raise `CaseError` if dimensions are named, and one has another place than in `axes`.

        The last ones of `axes` are those of the array.
        """
        order = axes[len(axes) - len(self.shape) :]
        pairs = zip(self.dimensions, order, strict=False)
        if any(name != right and name in axes for name, right in pairs):
            raise CaseError(
                f"{self.where} has the dimensions {', '.join(map(str, self.dimensions))}; "
                f"transpose it to {', '.join(order)}."
            )

    def numbers(self, selection: Any) -> np.ndarray:
        """Read a part as float64; NaN where a value is missing.

        Raises:
            CaseError: the array holds no real numbers, or a chunk of it is damaged.
        """
        if self._array.dtype.kind not in _REAL:
            raise CaseError(
                f"{self.where} has the type {self._array.dtype}; it must hold real numbers."
            )
        return np.asarray(self._decoded(np.asarray(self._read(selection))), dtype=np.float64)

    def flags(self, selection: Any) -> np.ndarray:
        """Read a part of a mask: true or false, or numbers that are 0 or 1.

        Raises:
            CaseError: the array holds other values, or a chunk of it is damaged.
        """
        if self._array.dtype.kind not in "b" + _REAL:
            raise CaseError(
                f"{self.where} has the type {self._array.dtype}; it must be true or false, "
                "or 0 or 1."
            )
        values = np.asarray(self._read(selection))
        other = values[(values != 0) & (values != 1)]
        if other.size:
            raise CaseError(
                f"{self.where} holds {other.flat[0]:g}; it must be 1 at observed points and 0 "
                "elsewhere."
            )
        return values.astype(bool)

    def require_chunks(self, missing: bool = True) -> None:
        """Raise `CaseError` if a chunk is not stored and its fill value counts as data.

        Args:
            missing: whether a value of NaN after decoding is missing; False: 0 is, as in a mask.
        """
        array = self._array
        fill = np.full(1, 0 if array.fill_value is None else array.fill_value, array.dtype)
        if array.dtype.kind not in "b" + _REAL:
            return  # refused when it is read
        if np.isnan(self._decoded(fill)[0]) if missing else fill[0] == 0:
            return
        extents = array.shards or array.chunks
        counts = [range(-(-n // extent)) for n, extent in zip(array.shape, extents, strict=True)]
        for index in itertools.product(*counts):
            key = array.metadata.encode_chunk_key(index)
            if not (self._path / key).exists():
                raise CaseError(
                    f"{self.where}: its chunk {key} is not stored, and would be read as "
                    f"{self._decoded(fill)[0]:g}: it may be lost; copy the store again, or write "
                    "it with the fill value NaN, or with empty chunks (write_empty_chunks)."
                )

    def _decoded(self, raw: np.ndarray) -> np.ndarray:
        import xarray as xr

        coding = {key: self._array.attrs[key] for key in _CODING if key in self._array.attrs}
        if self._array.metadata.zarr_format == 2 and self._array.fill_value is not None:
            coding["_FillValue"] = self._array.fill_value
        if not coding:
            return raw
        dimensions = [f"axis{axis}" for axis in range(raw.ndim)]
        try:
            if isinstance(coding.get("_FillValue"), str):
                coding["_FillValue"] = _fill_value(coding["_FillValue"], raw.dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # two different fill values are both missing
                whole = xr.Dataset({"values": (dimensions, raw, coding)})
                return xr.decode_cf(whole, decode_times=False)["values"].values
        except (TypeError, ValueError) as error:
            message = " ".join(str(error).split())[:200]
            raise CaseError(
                f"{self.where} cannot be decoded ({message}); its attributes are {coding}."
            ) from error

    def _read(self, selection: Any) -> Any:
        try:
            return self._array[selection]
        except MemoryError:
            raise
        except Exception as error:  # codecs raise errors of their own types
            message = " ".join(str(error).split())[:200] or type(error).__name__
            raise CaseError(
                f"{self.where} cannot be read ({message}): a chunk is damaged or of another type; "
                "write the array again."
            ) from error


def _fill_value(text: str, dtype: np.dtype[Any]) -> Any:
    """Return a fill value stored as text: "NaN", or xarray's code of a number in Zarr 3."""
    from xarray.backends.zarr import FillValueCoder

    try:
        return float(text)
    except ValueError:
        return FillValueCoder.decode(text, dtype)


def open_stored(path: Path, key: str, wanted: str) -> Any:
    """Open a Zarr group for reading.

    Args:
        path: path of the group.
        key: key of the case, for messages.
        wanted: description of a group that would do.

    Raises:
        CaseError: there is none.
    """
    import zarr

    if not path.exists():
        raise CaseError(f"{key}: there is no {path}; name a Zarr store.")
    try:
        # Consolidated metadata do not name arrays that were added later.
        return zarr.open_group(path, mode="r", use_consolidated=False)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CaseError(
            f"{key}: {path} cannot be opened as a Zarr group ({error}); name a store {wanted}."
        ) from error


def axes_of(model: Model) -> tuple[str, ...]:
    """Return the names of a model's axes."""
    return tuple("zyx"[-len(model.shape) :])


def require_positions(group: Any, path: Path, where: str, model: Model) -> None:
    """Raise `CaseError` if a group has positions that are not those of a model's grid.

    Args:
        group: the opened group.
        path: path of the group.
        where: key of the case and store, for messages.
        model: the model.
    """
    for name, positions in zip(axes_of(model), model.coordinates(), strict=True):
        if name not in group:
            continue
        stored = StoredArray(group, name, path, where)
        if stored.shape != positions.shape:
            raise CaseError(
                f"{stored.where} has shape {stored.shape}, must have {positions.shape}."
            )
        stored.require_unit(model.length_unit)
        numbers = stored.numbers(...)
        spacing = abs(float(positions[-1] - positions[0])) / max(1, len(positions) - 1)
        shift = numbers - positions
        even = np.abs(shift - shift[0]).max() <= _UNEVEN * spacing
        if not (even and abs(shift[0]) <= (_SHIFTED + _UNEVEN) * spacing):
            raise CaseError(
                f"{stored.where} goes from {numbers[0]:g} to {numbers[-1]:g}, but from "
                f"{positions[0]:g} to {positions[-1]:g} in the case; interpolate the values to "
                "the case's grid, or change the case's grid."
            )
