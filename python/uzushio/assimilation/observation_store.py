"""Observations in a Zarr store, written by a twin experiment or by another program.

observations.zarr/
    time        (n,)           in the model's unit, increasing, each at one of its steps
    values      (n, y, x)      NaN: not observed
    mask        (n, y, x) or (y, x), optional: true (or 1) where a value was observed
    sigma       standard deviation of a value: an attribute of the store, or an array of shape
                (), (y, x), (n,) or (n, y, x)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.assimilation.model import Model
from uzushio.assimilation.real_numbers import read_flags, read_real
from uzushio.config.quantities import LARGEST, SMALLEST
from uzushio.domain.box import Box
from uzushio.errors import CaseError
from uzushio.observations import Observations
from uzushio.parallel.sync import collective, maximum
from uzushio.store.distribution import Distribution
from uzushio.store.schema import StoreSchema, Variable
from uzushio.store.series import ZarrSeries

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.assimilation.case import AssimilationCase

#: Maximum distance of a time from a step, as a share of the step.
_CLOSE = 1e-6


def write(path: Path, model: Model, observations: Observations) -> None:
    """Write observations of one sigma (collective over the model's ranks).

    Raises:
        OutputError: on all ranks; the store cannot be written.
    """
    sigma = 1.0 / np.sqrt(observations.weight)
    name = model.state.name
    notes = {"description": f"observed {model.state.description or name}", "unit": model.state.unit}
    frame = schema_of(
        model,
        {"values": Variable("values", np.dtype(np.float64), attributes=notes)},
        {"sigma": float(sigma), "observed": name},
    )
    series, spread = ZarrSeries(path, frame, steps_per_chunk=1), distribution_of(model)
    for step, values in zip(observations.steps, observations.values, strict=True):
        series.append(step, step * model.step_length(), spread, {"values": [values[np.newaxis]]})


def is_complete(path: Path, observations: Observations, comm: MPI.Comm) -> bool:
    """Whether the store has all steps of these observations (collective)."""
    import zarr

    there = False
    with collective(comm):
        if comm.rank == 0 and path.exists():
            try:
                found = zarr.open_group(path, mode="r")["step"]
                there = np.array_equal(np.asarray(found[...]), observations.steps)  # type: ignore[index]
            except (OSError, ValueError, KeyError, TypeError):
                there = False
    whole: bool = comm.bcast(there)
    return whole


def schema_of(
    model: Model, variables: dict[str, Variable], attributes: dict[str, Any], once: bool = False
) -> StoreSchema:
    """Return the schema of a store of fields on a model's grid."""
    rows, columns = model.coordinates()
    return StoreSchema(
        count=(1, len(rows), len(columns)),
        variables=variables,
        lines=(np.zeros(1), rows, columns),
        dropped=(0,),
        attributes=attributes,
        once=once,
    )


def distribution_of(model: Model) -> Distribution:
    """Return the distribution of a model's grid over its ranks (collective)."""
    rows, columns = model.own
    count = (1, rows.stop - rows.start, columns.stop - columns.start)
    return Distribution(model.comm, [Box((0, rows.start, columns.start), count)])


def observed_times(case: AssimilationCase) -> int:
    """Return the number of times of a case's observations; 0 if a store cannot be read.

    With a weight for each value, it is twice as large.
    """
    import zarr

    wanted = case.observations
    if wanted.store is None:
        last = case.time.steps if wanted.last is None else wanted.last
        return len(range(wanted.first, last + 1, wanted.every))
    try:
        group: Any = zarr.open_group(wanted.store, mode="r", use_consolidated=False)
        times = int(group["values"].shape[0])
        wide = any(name in group and group[name].ndim in (1, 3) for name in ("sigma", "mask"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return 0  # `read` raises the error
    return 2 * times if wide else times


def read(path: Path, model: Model, steps: int, comm: MPI.Comm) -> Observations:
    """Read this rank's part of observations (collective over `comm`).

    Args:
        path: path of the store.
        model: model of the run.
        steps: steps of the run.
        comm: all ranks that read.

    Raises:
        CaseError: on all ranks: there is no store, or it does not fit the run.
    """
    found: Observations | None = None
    with collective(comm):
        found = _Store(path, model).observations(steps)
    assert found is not None
    observed = bool(np.any(found.weight))
    if not comm.allreduce(observed, maximum()):
        raise CaseError(
            f"observations.store: {path}: nothing was seen: all values are NaN or masked."
        )
    return found


class _Store:
    """Reader of a store, whose errors name it."""

    def __init__(self, path: Path, model: Model) -> None:
        import zarr

        self._path, self._model = path, model
        if not path.exists():
            raise CaseError(f"observations.store: there is no {path}; name a Zarr store.")
        try:
            self._group: Any = zarr.open_group(path, mode="r")
            # Arrays added to a twin's store are not in its consolidated metadata.
            self._added: Any = zarr.open_group(path, mode="r", use_consolidated=False)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CaseError(
                f"observations.store: {path} cannot be opened as a Zarr group ({error}); name a "
                "store with arrays time and values."
            ) from error

    def observations(self, steps: int) -> Observations:
        times = self._array("time").reshape(-1)
        found = self._steps(times, steps)
        shape = (len(found), *self._model.shape)
        values = self._checked("values", [shape])
        rows, columns = self._model.own
        own = np.empty((len(found), rows.stop - rows.start, columns.stop - columns.start))
        for index in range(len(found)):
            own[index] = self._real(values, (index, rows, columns), "values")
        return Observations(found, *self._weighed(own, shape))

    def _steps(self, times: np.ndarray, steps: int) -> list[int]:
        """Return the step of each time."""
        dt = self._model.step_length()
        if not times.size:
            raise self._wrong("time is empty; give at least one time")
        if not np.isfinite(times).all():
            raise self._wrong("time must be finite")
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

    def _weighed(
        self, values: np.ndarray, shape: tuple[int, ...]
    ) -> tuple[np.ndarray, float | np.ndarray]:
        """Return values, 0 where nothing was observed, and their weights."""
        rows, columns = self._model.own
        sigma = self._sigma(shape)
        observed = np.isfinite(values)
        if np.isinf(values).any():
            raise self._wrong("values holds infinite numbers; use NaN or the mask where none is")
        if self._has("mask"):
            mask = self._checked("mask", [shape, shape[1:]])
            observed &= read_flags(mask, (..., rows, columns), f"{self._where}: mask")
        wide = np.broadcast_to(sigma, values.shape)
        bad = observed & ~((wide >= SMALLEST) & (wide <= LARGEST))
        if bad.any():
            raise self._wrong(
                f"sigma is {wide[bad][0]:g} where a value was seen; it must be from "
                f"{SMALLEST:g} to {LARGEST:g}"
            )
        if observed.all() and sigma.ndim == 0:
            return values, float(1.0 / sigma**2)
        values[~observed] = 0.0
        weight = np.zeros(values.shape)
        np.divide(1.0, wide**2, out=weight, where=observed)
        if (weight == weight[0]).all():
            return values, weight[0].copy()
        return values, weight

    def _sigma(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return sigma on this rank's part, in a shape that broadcasts to that of the values."""
        if not self._has("sigma"):
            if "sigma" not in self._group.attrs:
                raise self._wrong(
                    "there is no sigma; give it as an attribute of the store or as an array"
                )
            try:
                return np.asarray(float(self._group.attrs["sigma"]))
            except (TypeError, ValueError):
                raise self._wrong("the attribute sigma is not a number") from None
        rows, columns = self._model.own
        found = self._checked("sigma", [(), shape[1:], shape[:1], shape])
        if found.ndim < 2:
            values = self._real(found, ..., "sigma")
            return values[:, np.newaxis, np.newaxis] if found.ndim else values
        return self._real(found, (..., rows, columns), "sigma")

    def _real(self, array: Any, selection: Any, name: str) -> np.ndarray:
        return read_real(array, selection, f"{self._where}: {name}")

    def _array(self, name: str) -> np.ndarray:
        return self._real(self._stored(name), ..., name)

    def _has(self, name: str) -> bool:
        return name in self._group or name in self._added

    def _stored(self, name: str) -> Any:
        if not self._has(name):
            there = ", ".join(sorted(self._added.array_keys())) or "none"
            raise self._wrong(f"there is no array {name} (arrays there: {there})")
        array = self._group[name] if name in self._group else self._added[name]
        if not hasattr(array, "shape"):
            raise self._wrong(f"{name} is a group, must be an array")
        return array

    def _checked(self, name: str, shapes: Sequence[tuple[int, ...]]) -> Any:
        array = self._stored(name)
        if tuple(array.shape) not in shapes:
            allowed = " or ".join(map(str, shapes))
            raise self._wrong(f"{name} has shape {tuple(array.shape)}, must have {allowed}")
        return array

    @property
    def _where(self) -> str:
        return f"observations.store: {self._path}"

    def _wrong(self, what: str) -> CaseError:
        return CaseError(f"{self._where}: {what}.")
