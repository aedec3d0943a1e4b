"""Fields of a solver as xarray: this rank's part, with coordinates and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.config.names import unknown
from uzushio.errors import UzushioError
from uzushio.solver import FieldLayout, Solver

if TYPE_CHECKING:
    import xarray as xr

_AXES = ("z", "y", "x")


class Fields(Mapping[str, "xr.DataArray"]):
    """Fields of a solver by name, computed on access.

    ``fields["u"]`` is a new array each time, of the solver's current step, with the dimensions
    (z, y, x); access is collective. An axis on which a field lies at other points than the
    first field has a name of its own, as ``z_faces``. On several ranks it is this rank's block:
    the attribute ``start`` has the global index of its first value, ``global_shape`` the extents of
    the whole.
    """

    def __init__(self, solver: Solver, blocks: bool) -> None:
        """Read the fields of a solver.

        Args:
            solver: owner of the fields.
            blocks: whether other ranks hold parts of them.
        """
        self._solver, self._blocks = solver, blocks
        self._layouts = solver.fields()
        self._dims = _dims(self._layouts)

    def __len__(self) -> int:
        return len(self._layouts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._layouts)

    def __contains__(self, name: object) -> bool:
        return name in self._layouts

    def __getitem__(self, name: str) -> xr.DataArray:
        """Return the field of this name; raises `KeyError`."""
        import xarray as xr

        if name not in self._layouts:
            raise KeyError(f"the field '{name}' {unknown(name, list(self._layouts))}")
        layout, dims = self._layouts[name], self._dims[name]
        values = np.empty(layout.extent)
        self._solver.write_field(name, values)
        coordinates: dict[str, Any] = {
            dim: (dim, np.asarray(layout.coordinates[axis][first : first + count]))
            for dim, axis, first, count in zip(
                dims, _AXES, layout.start, layout.extent, strict=True
            )
        }
        coordinates |= {"time": self._solver.time, "step": self._solver.step_index}
        about: dict[str, Any] = {"units": layout.unit, "long_name": layout.description or name}
        if self._blocks:
            about["start"] = list(layout.start)
            about["global_shape"] = [len(layout.coordinates[axis]) for axis in _AXES]
        return xr.DataArray(values, coordinates, dims, name, about)

    def __repr__(self) -> str:
        """Names, dimensions and descriptions; nothing is computed."""
        lines = [
            f"  {name} ({', '.join(self._dims[name])}): {layout.description} [{layout.unit}]"
            for name, layout in self._layouts.items()
        ]
        return "\n".join(["Fields:", *lines])

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


def dataset(fields: Fields, solver: Solver, names: list[str] | None = None) -> xr.Dataset:
    """Some fields, or all, and the numbers that go with them as attributes (collective).

    Raises:
        UzushioError: the solver has no such field.
    """
    import xarray as xr

    for name in names or ():
        if name not in fields:
            raise UzushioError(f"The field '{name}' {unknown(name, list(fields))}.")
    arrays = {name: fields[name] for name in (fields if names is None else names)}
    return xr.Dataset(arrays, attrs=dict(solver.attributes()))


def _dims(layouts: Mapping[str, FieldLayout]) -> dict[str, tuple[str, str, str]]:
    """Names of the axes of each field: points that differ from the first field's have their own."""
    first = next(iter(layouts.values()), None)

    def name(axis: str, layout: FieldLayout) -> str:
        assert first is not None
        same = np.array_equal(layout.coordinates[axis], first.coordinates[axis])
        return axis if same else f"{axis}_{layout.mesh}"

    return {
        field: (name("z", layout), name("y", layout), name("x", layout))
        for field, layout in layouts.items()
    }
