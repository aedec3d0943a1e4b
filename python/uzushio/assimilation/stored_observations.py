"""Reader of an observation store on one rank, whose errors name the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.config.quantities import LARGEST, SMALLEST
from uzushio._base.parallel.sync import maximum, minimum
from uzushio.assimilation.model import Model
from uzushio.assimilation.stored_array import (
    StoredArray,
    axes_of,
    open_stored,
    require_positions,
)
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Minimum magnitude of a fill value, such as 1e20 and netCDF's 9.97e36, and its minimum ratio to
#: the largest observed magnitude. Real values of this magnitude, in a small unit, are among others.
_FILL, _FILL_RATIO = 1e15, 1e6
#: Magnitude of a fill value where no other value was observed.
_LONE_FILL = 1e30
#: Maximum distance of a time from a step, as a share of the step.
_CLOSE = 1e-6
#: Distance from the plausible range in standard deviations, and maximum share of values beyond.
_FAR, _SHARE = 6.0, 0.1


class StoredObservations:
    """Observations in a store, compared with a model. No method but the last is collective."""

    def __init__(self, path: Path, model: Model) -> None:
        """Open the store; raise `CaseError` if there is none."""
        self._path, self._model = path, model
        self._axes = axes_of(model)
        self._order = ("time", *self._axes)
        self._where = f"observations.store: {path}"
        self._group: Any = open_stored(path, "observations.store", "with arrays time and values")

    def require_whole(self) -> None:
        """Raise `CaseError` if a chunk of an array is lost."""
        for name in ("time", "values", "sigma", "mask"):
            if name in self._group:
                self._array(name).require_chunks(missing=name != "mask")

    def steps(self, steps: int) -> list[int]:
        """Return the step of each time of a run of `steps` steps; raise `CaseError` if it has none.

        Units and positions are compared with the model's too.
        """
        time = self._array("time")
        time.require_unit(self._model.time_unit)
        require_positions(self._group, self._path, self._where, self._model)
        return self._nearest(time.numbers(...).reshape(-1), steps)

    def values_and_sigma(self, times: int) -> tuple[np.ndarray, np.ndarray]:
        """Return this rank's values, NaN where nothing was observed, and their sigma.

        Sigma has a shape that broadcasts to that of the values.
        """
        shape = (times, *self._model.shape)
        stored = self._checked("values", [shape])
        stored.require_unit(self._model.state.unit)
        stored.require_order(self._order)
        part = self._model.own
        own = np.empty((times, *(axis.stop - axis.start for axis in part)))
        for index in range(times):
            own[index] = stored.numbers((index, *part))
        if "mask" in self._group:
            mask = self._checked("mask", [shape, shape[1:]])
            mask.require_order(self._order)
            own[~np.broadcast_to(mask.flags((..., *part)), own.shape)] = np.nan
        if np.isinf(own).any():
            raise self._wrong("values holds infinite numbers; use NaN or the mask where none is")
        return own, self._sigma(shape)

    def require_no_fill(self, values: np.ndarray, comm: MPI.Comm) -> None:
        """Raise `CaseError` on all ranks if values hold an undeclared fill value (collective)."""
        observed = np.abs(values[np.isfinite(values)])
        largest = comm.allreduce(float(observed.max(initial=0.0)), maximum())
        if largest < _FILL:
            return
        others = observed[observed < largest / _FILL_RATIO]
        near = observed[(observed >= largest / _FILL_RATIO) & (observed < largest * (1.0 - 1e-6))]
        sizes = np.array([others.size, near.size])
        comm.Allreduce(sizes.copy(), sizes)
        if sizes[1] == 0 and (sizes[0] > 0 or largest > _LONE_FILL):
            raise self._wrong(
                f"values holds {largest:g} or its negative, the fill value of some program; name "
                "it in the attribute _FillValue, or use NaN"
            )

    def require_sigma(self, sigma: np.ndarray, seen: np.ndarray) -> None:
        """Raise `CaseError` if a sigma of a seen value is not positive."""
        wide = np.broadcast_to(sigma, seen.shape)
        bad = seen & ~((wide >= SMALLEST) & (wide <= LARGEST))
        if bad.any():
            raise self._wrong(
                f"sigma is {wide[bad][0]:g} where a value was seen; it must be from "
                f"{SMALLEST:g} to {LARGEST:g}"
            )

    def count_implausible(self, values: np.ndarray, sigma: np.ndarray) -> int:
        """Return the number of values far outside of the model's plausible range."""
        plausible = self._model.state.plausible
        if plausible is None:
            return 0
        low, high = plausible
        beyond = np.maximum(values - high, low - values) > _FAR * np.broadcast_to(
            sigma, values.shape
        )
        return int(np.count_nonzero(beyond))

    def require_plausible(
        self, values: np.ndarray, seen: np.ndarray, share: float, comm: MPI.Comm
    ) -> None:
        """Raise `CaseError` on all ranks if too many values are implausible (collective)."""
        plausible = self._model.state.plausible
        if plausible is None or share <= _SHARE:
            return
        least = comm.allreduce(float(values[seen].min(initial=np.inf)), minimum())
        largest = comm.allreduce(float(values[seen].max(initial=-np.inf)), maximum())
        raise self._wrong(
            f"values goes from {least:g} to {largest:g}, but {self._model.state.name} from about "
            f"{plausible[0]:g} to {plausible[1]:g}: {100.0 * share:.0f} % of the values lie beyond "
            "that by six sigma; convert them (scale_factor and add_offset are applied)"
        )

    def _nearest(self, times: np.ndarray, steps: int) -> list[int]:
        """Return the step of each time."""
        dt = self._model.step_length()
        if not times.size:
            raise self._wrong("time is empty; give at least one time")
        if not np.isfinite(times).all():
            raise self._wrong("time must be finite, without missing values (_FillValue)")
        late = np.flatnonzero(np.diff(times) <= 0.0)
        if late.size:
            before, after = times[late[0]], times[late[0] + 1]
            raise self._wrong(f"time must increase, but {after:g} follows {before:g}")
        nearest = np.rint(times / dt)
        outside = (nearest < 0) | (nearest > steps)
        if outside.any():
            raise self._wrong(
                f"{int(outside.sum())} of {len(times)} times lie outside the run, the first at "
                f"{times[outside][0]:g}; it goes from 0 to {steps * dt:g} ({steps} steps of {dt:g})"
            )
        between = np.abs(times / dt - nearest) > _CLOSE * np.maximum(1.0, nearest)
        if between.any():
            raise self._wrong(
                f"time {times[between][0]:g} lies between two steps of {dt:g}; move it to the "
                f"nearest one, {nearest[between][0] * dt:g}, or choose another time.dt"
            )
        if (np.diff(nearest) == 0).any():
            raise self._wrong(f"two times are at one step of {dt:g}; keep one of them")
        return [int(step) for step in nearest]

    def _sigma(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return sigma on this rank's part, in a shape that broadcasts to that of the values."""
        if "sigma" not in self._group:
            if "sigma" not in self._group.attrs:
                raise self._wrong(
                    "there is no sigma; give it as an attribute of the store or as an array"
                )
            given = self._group.attrs["sigma"]
            try:
                if isinstance(given, bool):
                    raise TypeError
                return np.asarray(float(given))
            except (TypeError, ValueError):
                raise self._wrong("the attribute sigma is not a number") from None
        stored = self._checked("sigma", [(), shape[1:], shape[:1], shape])
        stored.require_unit(self._model.state.unit)
        if not stored.shape:
            return stored.numbers(...)
        of_times = stored.shape == shape[:1]
        if of_times and stored.shape == shape[1:]:  # one axis, as many points as times
            of_times = stored.dimensions[:1] == ("time",)
        if of_times:
            return stored.numbers(...).reshape(-1, *[1] * len(self._axes))
        stored.require_order(self._order)
        return stored.numbers((..., *self._model.own))

    def _array(self, name: str) -> StoredArray:
        return StoredArray(self._group, name, self._path, self._where)

    def _checked(self, name: str, shapes: Sequence[tuple[int, ...]]) -> StoredArray:
        array = self._array(name)
        if array.shape not in shapes:
            allowed = " or ".join(map(str, shapes))
            raise self._wrong(f"{name} has shape {array.shape}, must have {allowed}")
        return array

    def _wrong(self, what: str) -> CaseError:
        return CaseError(f"{self._where}: {what}.")
