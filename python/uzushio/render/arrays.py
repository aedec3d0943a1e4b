"""Pictures of arrays in one process, without MPI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uzushio._base.array_values import real, with_nan
from uzushio._base.config.yaml_document import Document
from uzushio.domain.axes import Lines, bounds_of
from uzushio.errors import RenderError
from uzushio.raycast import Block, cast
from uzushio.render import casting
from uzushio.render.annotate import Annotator, Caption
from uzushio.render.bodies import with_bodies
from uzushio.render.cameras import flat_axis
from uzushio.render.colors import Colors
from uzushio.render.errors import render_errors
from uzushio.render.limits import LimitTracker
from uzushio.render.pending_picture import PendingPicture, finished_picture
from uzushio.render.picture import Picture
from uzushio.render.plates import thickened
from uzushio.render.renderer import check_view
from uzushio.render.value_factors import factors, scaled_blocks, scaled_scene
from uzushio.render.view import Layer, SliceLayer, View

if TYPE_CHECKING:
    import xarray as xr

#: Name of an array without a name.
NAME = "field"

#: Coordinates of points along z, y and x.
ViewLike: TypeAlias = "View | Layer | Sequence[Layer] | Mapping[str, Any] | None"
FieldsLike: TypeAlias = "ArrayLike | xr.DataArray | xr.Dataset | Mapping[str, Any]"


def draw(
    fields: FieldsLike,
    view: ViewLike = None,
    *,
    coordinates: Sequence[ArrayLike] | None = None,
    size: tuple[int, int] | None = None,
    time: float | None = None,
    step: int = 0,
    units: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    periods: Mapping[str, float] | None = None,
    threads: int = 0,
) -> Picture:
    """Draw arrays of this process, without MPI; a notebook displays the result.

    Args:
        fields: arrays (z, y, x), or (y, x) of a plane, by name, a dataset of xarray, or one array,
            whose name is that in xarray, or "field". Real numbers, at the points of the
            coordinates; values under the mask of a masked array of NumPy are drawn as NaN.
        view: a `View`, one or several layers, or a mapping as in a pipeline's file.
            None: slices through the middle of the first field.
        coordinates: coordinates of the points along z, y and x, or y and x, increasing; those of
            xarray's arrays if not given, or else 0, 1, 2, ….
        size: columns and rows of pixels; the view's if None.
        time: time of the step, for the title and the time stamp; xarray's coordinate `time` if
            there is one.
        step: number of the step.
        units: units of fields by name; the attribute `units` of xarray's arrays if None.
        labels: labels of fields in legends, by name.
        periods: lengths of periods by axis, as ``{"x": 6.28}``: the cell from the last point to the
            first one is drawn too. Those of xarray's coordinates (attribute `period`) if None.
        threads: number of threads; `uzushio.raycast.default_threads` if 0.

    Raises:
        CaseError: a mapping is not a view; one line for each mistake.
        RenderError: a field is missing, has other dimensions, or lies at other points.
    """
    data = _Arrays.of(fields, coordinates, time, units)
    data.periods = periods
    shown = _view(view, data, size)
    blocks = [data.block(shown.fields())]
    caption = Caption(
        shown, bounds_of(data.domain), data.time or 0.0, step, data.units, labels or {}
    )
    pending, annotator = PendingPicture(caption, 0), Annotator(*shown.size)
    with render_errors():
        with pending.sections.section("prepare"):
            check_view(shown, blocks)
            ranges = casting.local_ranges(shown, blocks, caption.bounds)
            caption.scales = casting.scales(shown, ranges, LimitTracker())
            caption.camera = annotator.camera(caption)
            pending.factors = factors(shown, caption.scales)
            blocks = [*scaled_blocks(blocks, pending.factors)]
            scene = casting.scene(shown, caption.scales, data.domain, caption.bounds)
            scene = scaled_scene(scene, pending.factors)
        with pending.sections.section("cast"):
            width, height = (shown.samples * side for side in shown.size)
            result = cast(scene, caption.camera, width, height, blocks, threads=threads)
        pending.image, pending.nan_count = result.image, result.nan_count
        pending.hits = dict(enumerate(result.hits))
        for number, value_range in enumerate(result.ranges):
            if value_range is not None:
                pending.add_range(number, value_range)
        return finished_picture(pending, annotator, shown.samples)


@dataclass
class _Arrays:
    """Arguments of `draw` in one form.

    Attributes:
        given: arrays by name, unchanged.
        lines: given coordinates, or None.
        units: units by field.
        time: time of the arrays, or None.
        domain: coordinates along z, y, x of the first converted array.
        periods: given periods by axis, or None.
        time_unit: unit of the time, if known.
        length_unit: unit of the coordinates, if all axes have the same.
        body_mask: field that is 1 in the fluid and 0 in bodies; "" if not known.
        conducted: fields that have values in bodies.
    """

    given: Mapping[str, Any]
    lines: Lines | None
    units: dict[str, str]
    time: float | None
    domain: tuple[NDArray[np.float64], ...] = ()
    periods: Mapping[str, float] | None = None
    time_unit: str = ""
    length_unit: str = ""
    body_mask: str = ""
    conducted: Sequence[str] = ()

    @staticmethod
    def of(
        fields: FieldsLike,
        coordinates: Sequence[ArrayLike] | None,
        time: float | None,
        units: Mapping[str, str] | None,
    ) -> _Arrays:
        """Convert the arguments without reading an array."""
        given: Any = fields
        about = getattr(fields, "attrs", {})
        if hasattr(given, "data_vars"):  # a dataset
            given = {str(name): array for name, array in given.data_vars.items()}
        elif not isinstance(given, Mapping):
            given = {str(getattr(given, "name", None) or NAME): given}
        if not given:
            raise RenderError("There is nothing to draw: give at least one array.")
        lines = None
        if coordinates is not None:
            if len(coordinates) == 2 and all(np.ndim(values) == 2 for values in given.values()):
                coordinates = [[0.0], *coordinates]
            if len(coordinates) != 3:
                raise RenderError(
                    f"Coordinates are three arrays, z, y and x, not {len(coordinates)}."
                )
            z, y, x = map(_line, coordinates)
            lines = z, y, x
        data = _Arrays(given, lines, {}, time)
        data.conducted = str(about.get("conducted", "")).split()
        data.body_mask = str(about.get("body_mask", ""))
        for name, array in given.items():
            data.units[name] = _unit_of(array)
            known, dims = getattr(array, "coords", {}), getattr(array, "dims", ())
            lengths = {_unit_of(known.get(dim)) for dim in dims if dim in ("z", "y", "x")}
            data.length_unit = data.length_unit or (lengths.pop() if len(lengths) == 1 else "")
            times = known.get("time")
            if data.time is None and times is not None and times.ndim == 0:
                data.time = float(times) if times.dtype.kind in "fi" else None
                data.time_unit = _unit_of(times)
        data.units |= dict(units or {})
        return data

    def block(self, names: Sequence[str]) -> Block:
        """Return one block of all cells with these fields; raises `RenderError`."""
        arrays: dict[str, NDArray[Any]] = {}
        for name in names:
            if name not in self.given:
                there = ", ".join(self.given)
                raise RenderError(f"The picture needs the field {name}; there is only {there}.")
            arrays[name], lines = self._array(name)
            if not self.domain:
                self.domain = lines
            elif any(not np.array_equal(a, b) for a, b in zip(lines, self.domain, strict=True)):
                raise RenderError(
                    f"The fields {next(iter(arrays))} and {name} lie at different points; "
                    f"interpolate one to the points of the other first, or draw them separately."
                )
        with render_errors():
            cells = tuple(len(line) - 1 for line in self.domain)
            return Block(self.domain, (0, 0, 0), ((0, 0, 0), cells), arrays)

    def _array(self, name: str) -> tuple[NDArray[Any], Lines]:
        """Return values in a form for the ray caster, and the coordinates of their points."""
        given = self.given[name]
        dims = tuple(getattr(given, "dims", ()))
        if len(dims) in (2, 3) and set(dims) <= {"z", "y", "x"}:
            given = given.expand_dims([axis for axis in "zyx" if axis not in dims])
            given = given.transpose("z", "y", "x")
            dims = ("z", "y", "x")
        masked = np.ma.is_masked(given) and given.dtype.kind in "iub"  # these have no NaN
        values = with_nan(given.astype(np.float64) if masked else given, f"the field {name}")
        if values.dtype.kind not in "fiub":
            raise RenderError(
                f"The field {name} is of type {values.dtype}; a picture needs real numbers."
            )
        if values.ndim == 2 and not dims:
            values = values[None]
        if values.ndim != 3:
            axes = ", ".join(map(str, dims)) or f"{values.ndim} of them"
            raise RenderError(
                f"The field {name} has the dimensions {axes}: a picture needs z, y and x, or two "
                "of them; choose one time, for example by .isel(time=-1)."
            )
        if values.dtype not in (np.float32, np.float64) or not values.dtype.isnative:
            values = values.astype(np.float64)
        if sorted(values.shape)[1] < 2:
            raise RenderError(
                f"The field {name} has the shape {values.shape}: a picture needs at least two "
                "points along two axes."
            )
        known = getattr(given, "coords", {})
        lines = self.lines if self.lines is not None else self._lines(known, dims, values.shape)
        about = [getattr(known.get(dim), "attrs", {}) for dim in dims or "zyx"]
        given_periods = self.periods
        periods = [
            attributes.get("period") if given_periods is None else given_periods.get(axis)
            for axis, attributes in zip("zyx", about, strict=True)
        ]
        return _with_thickness(*_closed(values, lines, periods))

    @staticmethod
    def _lines(known: Any, dims: Sequence[Any], shape: tuple[int, ...]) -> Lines:
        """Return xarray's coordinates, or the indices of axes without any."""
        z, y, x = (
            _line(known[dim]) if dim in known else np.arange(float(count))
            for dim, count in zip(dims or "zyx", shape, strict=True)
        )
        return z, y, x


def _closed(
    values: NDArray[Any], lines: Lines, periods: Sequence[float | None]
) -> tuple[NDArray[Any], Lines]:
    """Repeat the first points behind the last ones of a period, where that closes a gap.

    A gap is at most twice the largest distance of points: a part of a periodic axis stays open.
    """
    closed = [*lines]
    for axis, period in enumerate(periods):
        line = closed[axis]
        if len(line) < 2:
            continue
        end = line[0] + float(period or 0.0)
        widths = np.diff(line)
        if len(line) != values.shape[axis] or not 1e-6 < (end - line[-1]) / widths.max() <= 2.0:
            continue
        closed[axis] = np.append(line, end)
        values = np.concatenate([values, values.take([0], axis)], axis)
    return values, (closed[0], closed[1], closed[2])


def _with_thickness(values: NDArray[Any], lines: Lines) -> tuple[NDArray[Any], Lines]:
    """Repeat the values of a plane, without a copy, at both sides of a plate."""
    z, y, x = thickened(lines)
    counts = zip(values.shape, map(len, lines), strict=True)
    shape = [2 if (count, points) == (1, 1) else count for count, points in counts]
    return np.broadcast_to(values, shape), (z, y, x)


def _unit_of(array: Any) -> str:
    """Return the unit of an array of xarray's; empty for none or 1."""
    unit = getattr(array, "attrs", {}).get("units", "")
    return "" if unit in (1, "1") else str(unit)


def _line(coordinates: ArrayLike) -> NDArray[np.float64]:
    """Return the coordinates along an axis."""
    with render_errors():
        return real(coordinates, "an axis of coordinates")


def _view(view: ViewLike, data: _Arrays, size: tuple[int, int] | None) -> View:
    """Convert a view from any of its forms."""
    if isinstance(view, View):
        checked = view
    elif isinstance(view, Mapping):
        checked = Document.of(view, "the view").validate(View)
    else:
        layers = _middle_slices(data) if view is None else view
        checked = View(layers=tuple(layers) if isinstance(layers, Sequence) else (layers,))
    checked = checked.with_units(data.length_unit, data.time_unit)
    changes: dict[str, Any] = {} if size is None else {"size": size}
    if data.time is None and "time_stamp" not in checked.model_fields_set:
        changes["time_stamp"] = ""
    if changes:
        checked = Document.of(checked.model_dump() | changes, "the view").validate(View)
    known = data.body_mask if data.body_mask in data.given else ""
    mask = known if checked.bodies is True else checked.bodies
    return with_bodies(checked, mask, data.conducted) if mask else checked


def _middle_slices(data: _Arrays) -> tuple[SliceLayer, ...]:
    """Return slices through the middle of the first field, coloured by all its values.

    There is one slice of a flat field.
    """
    name = next(iter(data.given))
    values, lines = data._array(name)
    finite = values[np.isfinite(values)]
    limits = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    colors = Colors(limits=limits if limits[0] < limits[1] else (None, None))
    flat = flat_axis(bounds_of(lines))
    normals = "xyz" if flat is None else "xyz"[flat]
    return tuple(SliceLayer(field=name, normal=normal, color=colors) for normal in normals)
