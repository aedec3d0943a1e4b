"""Fields of a solver as xarray: this rank's part, with coordinates and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.config.names import unknown
from uzushio.domain.box import Box
from uzushio.errors import UzushioError
from uzushio.pipeline.stream import Grid
from uzushio.solvers.contract import Field, Mesh, Solver

if TYPE_CHECKING:
    import xarray as xr

_AXES = ("z", "y", "x")


class Fields(Mapping[str, "xr.DataArray"]):
    """Fields of a solver by name, computed on access.

    ``fields["u"]`` is a new array each time, of the solver's current step, with the dimensions
    (z, y, x), then the components if there are several; access is collective. An axis on which a
    field has other points than the first field has its own name, such as ``z_faces``. Coordinates
    have the attribute ``units``, and ``period`` along periodic axes of whole fields. On several
    ranks the array is this rank's block: the attribute ``start`` has the global index of its first
    value, ``global_shape`` the extents of the whole field. ``fields.blocks("u")`` has one array for
    each block of this rank, with the name of its mesh in the attribute ``mesh``.
    """

    def __init__(self, solver: Solver, blocks: bool) -> None:
        """Read the fields of a solver.

        Args:
            solver: owner of the fields.
            blocks: whether other ranks have parts of them.
        """
        self._solver, self._blocks = solver, blocks
        self._described, self._meshes = solver.fields(), solver.meshes()
        self._dims = _dims(self._described, self._meshes)
        #: Meshes with values in elements, whose last vertices along periodic axes are the first.
        self._filled = {
            mesh
            for field in self._described.values()
            for mesh in field.meshes
            if field.association == "element"
        }

    def __len__(self) -> int:
        return len(self._described)

    def __iter__(self) -> Iterator[str]:
        return iter(self._described)

    def __contains__(self, name: object) -> bool:
        return name in self._described

    def __getitem__(self, name: str) -> xr.DataArray:
        """Return the field of this name.

        Raises:
            KeyError: there is no such field.
            UzushioError: it has no block on this rank, or several.
        """
        blocks = self.blocks(name)
        if len(blocks) != 1:
            raise UzushioError(
                f"The field '{name}' has {len(blocks)} blocks on this rank; use "
                f"fields.blocks('{name}')."
            )
        return blocks[0]

    def blocks(self, name: str) -> list[xr.DataArray]:
        """Return the field on each block of this rank; raises `KeyError` (collective)."""
        if name not in self._described:
            raise KeyError(f"the field '{name}' {unknown(name, list(self._described))}")
        field = self._described[name]
        boxes = field.boxes(self._meshes)
        values = [np.empty(field.shape(box)) for box in boxes]
        self._solver.write_field(name, values)
        places = [(mesh, n) for mesh in field.meshes for n in range(len(self._meshes[mesh].blocks))]
        return [
            self._labelled(name, *place, box, array)
            for place, box, array in zip(places, boxes, values, strict=True)
        ]

    def _labelled(
        self, name: str, mesh: str, block: int, box: Box, values: np.ndarray
    ) -> xr.DataArray:
        """Return an array with dimensions, coordinates and units."""
        import xarray as xr

        field, described, dims = self._described[name], self._meshes[mesh], self._dims[name]
        units = self._solver.attributes()
        time = self._solver.time, _units(units.get("time_unit"))
        coordinates: dict[str, Any] = {"time": ((), *time), "step": self._solver.step_index}
        lines = described.lines(field.association)
        if lines is None:
            vertices = described.box("vertex", described.blocks[block])
            xyz = np.empty((*vertices.count, 3))
            self._solver.write_coordinates(mesh, block, xyz)
            for axis in range(3) if field.association == "element" else ():
                if described.elements.count[axis] < described.vertices.count[axis]:
                    low, high = np.arange(xyz.shape[axis] - 1), np.arange(1, xyz.shape[axis])
                    xyz = 0.5 * (xyz.take(low, axis) + xyz.take(high, axis))
            coordinates |= {f"{axis}_at": (dims, xyz[..., n]) for n, axis in enumerate("xyz")}
        else:
            about_axes = self._axes(mesh)
            slices = zip(dims, lines, box.slices(), about_axes, strict=True)
            coordinates |= {dim: (dim, line[part], more) for dim, line, part, more in slices}
        about: dict[str, Any] = {"units": field.unit or "1", "long_name": field.description or name}
        if self._blocks:
            about["start"] = list(box.start)
            about["global_shape"] = list(described.box(field.association).count)
        if len(field.meshes) > 1:
            about["mesh"] = mesh
        axes = (*dims, "component") if field.components > 1 else dims
        return xr.DataArray(values, coordinates, axes, name, about)

    def _axes(self, mesh: str) -> list[dict[str, Any]]:
        """Return the attributes of the coordinates along z, y, x: units, and period if any."""
        attributes = self._solver.attributes()
        periodic = "" if self._blocks else str(attributes.get("periodic", ""))
        grid = Grid(self._meshes[mesh], "vertex", periodic, mesh in self._filled)
        axes: list[dict[str, Any]] = [_units(attributes.get("length_unit")) for _ in _AXES]
        for axis, about in enumerate(axes):
            if grid.period_points(axis):
                about["period"] = grid.period_length(axis)
        return axes

    def __repr__(self) -> str:
        """Return names, dimensions and descriptions, without computing fields."""
        lines = [
            f"  {name} ({', '.join(self._dims[name])}): {field.description} [{field.unit or 1}]"
            for name, field in self._described.items()
        ]
        return "\n".join(["Fields:", *lines])

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


def dataset(fields: Fields, solver: Solver, names: list[str] | None = None) -> xr.Dataset:
    """Return some fields, or all, with the solver's attributes (collective).

    Raises:
        UzushioError: the solver has no such field.
    """
    import xarray as xr

    for name in names or ():
        if name not in fields:
            raise UzushioError(f"The field '{name}' {unknown(name, list(fields))}.")
    arrays = {name: fields[name] for name in (fields if names is None else names)}
    return xr.Dataset(arrays, attrs=dict(solver.attributes()))


def _units(unit: object) -> dict[str, Any]:
    """Return the attribute of a unit; empty for none."""
    return {} if unit in (None, "", 1, "1") else {"units": str(unit)}


def _dims(
    fields: Mapping[str, Field], meshes: Mapping[str, Mesh]
) -> dict[str, tuple[str, str, str]]:
    """Return the names of the axes of each field.

    Axes on which points differ from those of the first field have their own names. Axes of
    curvilinear meshes and of several meshes are the indices k, j, i.
    """
    lines = {name: meshes[field.mesh].lines(field.association) for name, field in fields.items()}
    first = next(iter(lines.values()), None)
    dims = {}
    for name, field in fields.items():
        mine = lines[name]
        if mine is None or first is None or len(field.meshes) > 1:
            dims[name] = ("k", "j", "i")
            continue
        z, y, x = (
            axis if np.array_equal(line, other) else f"{axis}_{field.mesh}"
            for axis, line, other in zip(_AXES, mine, first, strict=True)
        )
        dims[name] = (z, y, x)
    return dims
