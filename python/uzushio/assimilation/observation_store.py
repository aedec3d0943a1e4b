"""Observations in a Zarr store, written by a twin experiment or by another program.

observations.zarr/
    time        (n,)           in the model's unit, increasing, each at one of its steps
    values      (n, y, x)      NaN: not observed
    mask        (n, y, x) or (y, x), optional: true (or 1) where a value was observed
    sigma       standard deviation of a value: an attribute of the store, or an array of shape
                (), (y, x), (n,) or (n, y, x)
    x, y        optional: positions, compared with the model's

The axes are those of the model's grid: x, or y and x, or z, y and x.

CF attributes are decoded; units and names of dimensions are compared with the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.observations import Observations
from uzushio._base.parallel.sync import collective, minimum, on_root
from uzushio._base.store.distribution import Distribution
from uzushio._base.store.schema import StoreSchema
from uzushio._base.store.series import ZarrSeries
from uzushio.assimilation.model import Model
from uzushio.assimilation.stored_observations import StoredObservations
from uzushio.domain.box import Box
from uzushio.domain.fields import Field
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.assimilation.case import AssimilationCase


def write(path: Path, model: Model, observations: Observations) -> None:
    """Write observations of one sigma (collective over the model's ranks).

    Raises:
        OutputError: on all ranks; the store cannot be written.
    """
    import zarr

    sigma = 1.0 / np.sqrt(observations.weight)
    name = model.state.name
    notes = {"description": f"observed {model.state.description or name}", "unit": model.state.unit}
    frame = schema_of(
        model,
        {"values": Field("values", attributes=notes)},
        {"sigma": float(sigma), "observed": name},
    )
    series, spread = ZarrSeries(path, frame, steps_per_chunk=1), distribution_of(model)
    with zarr.config.set({"array.write_empty_chunks": True}):  # a missing chunk is a lost one
        for step, values in zip(observations.steps, observations.values, strict=True):
            time = step * model.step_length()
            series.append(step, time, spread, {"values": [in_box(values)]})


def is_complete(path: Path, observations: Observations, comm: MPI.Comm) -> bool:
    """Whether the store has all steps of these observations (collective)."""
    import zarr

    def has_steps() -> bool:
        try:
            stored_steps = zarr.open_group(path, mode="r")["step"]
            return np.array_equal(np.asarray(stored_steps[...]), observations.steps)  # type: ignore[index]
        except (OSError, ValueError, KeyError, TypeError):
            return False

    return on_root(comm, lambda: path.exists() and has_steps())


def in_box(values: np.ndarray) -> np.ndarray:
    """Return a view of a field with three axes."""
    return values.reshape((1,) * (3 - values.ndim) + values.shape)


def schema_of(
    model: Model, variables: dict[str, Field], attributes: dict[str, Any], once: bool = False
) -> StoreSchema:
    """Return the schema of a store of fields on a model's grid."""
    dropped = 3 - len(model.shape)
    z, y, x = [np.zeros(1)] * dropped + list(model.coordinates())
    return StoreSchema(
        count=(len(z), len(y), len(x)),
        variables=variables,
        lines=(z, y, x),
        dropped=tuple(range(dropped)),
        attributes=attributes,
        once=once,
    )


def distribution_of(model: Model) -> Distribution:
    """Return the distribution of a model's grid over its ranks (collective)."""
    z, y, x = [slice(0, 1)] * (3 - len(model.shape)) + list(model.own)
    count = (z.stop - z.start, y.stop - y.start, x.stop - x.start)
    return Distribution(model.comm, [Box((z.start, y.start, x.start), count)])


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
        times, axes = int(group["values"].shape[0]), group["values"].ndim
        wide = any(name in group and group[name].ndim in (1, axes) for name in ("sigma", "mask"))
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
    contents: tuple[np.ndarray, np.ndarray] | None = None
    with collective(comm):
        store = StoredObservations(path, model)
        if comm.rank == 0:
            store.require_whole()
        observed_steps = store.steps(steps)
        contents = store.values_and_sigma(len(observed_steps))
    assert contents is not None
    values, sigma = contents
    store.require_no_fill(values, comm)
    seen = np.isfinite(values)
    with collective(comm):
        store.require_sigma(sigma, seen)
    sums = np.array([np.count_nonzero(seen), store.count_implausible(values, sigma)])
    comm.Allreduce(sums.copy(), sums)
    observed, implausible = (int(total) for total in sums)
    if not observed:
        raise CaseError(
            f"observations.store: {path}: nothing was seen: all values are NaN or masked."
        )
    store.require_plausible(values, seen, implausible / observed, comm)
    return _weighed(observed_steps, values, sigma, seen, comm)


def _weighed(
    steps: Sequence[int], values: np.ndarray, sigma: np.ndarray, seen: np.ndarray, comm: MPI.Comm
) -> Observations:
    """Return observations with weights of the smallest form that holds on all ranks (collective).

    The ranks exchange halos of weights, so all of them have the same form.
    """
    values[~seen] = 0.0
    uniform = bool(seen.all()) and sigma.ndim == 0
    if comm.allreduce(uniform, minimum()):
        return Observations(steps, values, float(1.0 / sigma**2))
    weight = np.zeros(values.shape)
    np.divide(1.0, np.broadcast_to(sigma, values.shape) ** 2, out=weight, where=seen)
    constant = bool((weight == weight[0]).all())
    constant = comm.allreduce(constant, minimum())
    return Observations(steps, values, weight[0].copy() if constant else weight)
