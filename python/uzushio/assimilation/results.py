"""Results of an assimilation in its folder: the estimate, its history, and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uzushio._base.files import atomic_write
from uzushio._base.store.series import write_whole
from uzushio._job import run_folder
from uzushio._job.results import Results, ResultWriter
from uzushio.assimilation import observation_store
from uzushio.assimilation.assimilation import Assimilation
from uzushio.assimilation.deviations import Deviation
from uzushio.assimilation.ensemble import Member, table
from uzushio.assimilation.fit import Fit
from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.panels import Panels
from uzushio.assimilation.problem import Problem
from uzushio.assimilation.summary import ending, poor_fit, summarise
from uzushio.domain.fields import Field

#: Maximum number of points of a picture along each axis.
_PICTURE = 1024


@dataclass(kw_only=True)
class AssimilationResults(ResultWriter):
    """Estimate, history, members, figures and summary of an assimilation at its current state.

    Attributes:
        work: the assimilation.
        deviations: standard deviations of the parameters.
        members: members of an ensemble; may be empty.
        seconds_in: seconds of each part; None if unknown.
        before: earlier summary of the same iteration, which is kept.
    """

    kind = "assimilation"

    work: Assimilation
    deviations: Sequence[Deviation]
    members: Sequence[Member]
    seconds_in: Mapping[str, float] | None
    before: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self._summary: dict[str, Any] | None = None
        self._fit: Fit | None = None

    @staticmethod
    def modules(figures: bool) -> list[str]:
        """Return the modules that the results need."""
        return ["zarr", *(["uzushio.assimilation.figures"] if figures else [])]

    def announce(self, results: Results) -> None:
        """Print the reason of the end of the search, the estimate, and how well it fits."""
        with results.part("the goodness of fit"):
            self._fit = self.work.fit()
        with results.part("the summary"):
            if self.before is None:
                self._summary = summarise(self.work, self.deviations, self._fit)
                self.job.say(ending(self._summary))
                if self.work.is_over and self._fit is not None and self._fit.is_poor:
                    self.job.warn(poor_fit(self._fit, self.work.setup.search.ended is not None))

    def write_data(self, results: Results) -> None:
        """Write the estimate, the history and the members of an ensemble."""
        work, folder, first = self.work, self.job.path, self.job.rank == 0
        with results.part("the estimate"):
            path = folder / run_folder.ESTIMATE
            if work.problem.groups.mine == 0:
                _write_estimate(path, work.problem, work.estimate(), self.deviations, self._fit)
            if first:
                results.wrote(path)
        observed = work.case.observations
        if observed.store is None and observed.keep and first:
            kept = folder / run_folder.OBSERVATIONS
            if kept.exists():
                results.wrote(kept)
        with results.part("the history"):
            if first:
                path = folder / run_folder.HISTORY
                atomic_write(path, work.history.table())
                results.wrote(path)
        with results.part("the fit at each time"):
            if first and self._fit is not None:
                path = folder / run_folder.FIT
                atomic_write(path, self._fit.table())
                results.wrote(path)
        with results.part("the members"):
            if first and self.members:
                path = folder / run_folder.MEMBERS_TABLE
                atomic_write(path, table(self.members, work.history.parameters))
                results.wrote(path)

    def summary(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """Return the results and their cost."""
        if self.before is not None:
            return dict(self.before)
        summary = self._summary or summarise(self.work, self.deviations, self._fit)
        return {**head, **summary, "seconds_in": self.seconds_in}

    def draw(self, folder: Path) -> Iterator[Path]:
        """Draw states and the progress of the search; yield each file after it is written."""
        first = self.work.problem.groups.mine == 0
        panels = _panels(self.work, self._fit) if first else None
        if self.job.rank or panels is None:
            return
        from uzushio.assimilation import figures  # matplotlib: needed on one rank only

        yield from figures.draw(folder, self.work, panels, self.deviations, self._fit)


def _write_estimate(
    path: Path, problem: Problem, estimate: Guess, deviations: Sequence[Deviation], fit: Fit | None
) -> None:
    """Write the estimated initial state, and the parameters as attributes (collective)."""
    model = problem.model
    name, unit = model.state.name, model.state.unit
    attributes: dict[str, object] = {}
    for index, quantity in enumerate(model.parameters):
        attributes[quantity.name] = float(estimate.parameters[index])
        attributes[f"{quantity.name}_sd"] = deviations[index].sd
        if deviations[index].ensemble is not None:
            attributes[f"{quantity.name}_sd_ensemble"] = deviations[index].best
        if deviations[index].note:
            attributes[f"{quantity.name}_sd_note"] = deviations[index].note
    variables, values = {}, {}
    fields = [
        (name, estimate.state, "estimated initial state", unit),
        (f"{name}_first_guess", problem.guess.state, "first guess of the initial state", unit),
    ]
    if fit is not None:
        words = "of observation minus run from the estimate, over all times, in sigma"
        fields += [
            ("residual_mean", fit.mean, f"mean {words}", "1"),
            ("residual_rms", fit.rms, f"root mean square {words}", "1"),
        ]
    for key, state, words, unit_of_field in fields:
        notes = {"description": words, "unit": unit_of_field}
        variables[key] = Field(key, attributes=notes)
        values[key] = [observation_store.in_box(state)]
    frame = observation_store.schema_of(model, variables, attributes, once=True)
    write_whole(model.comm, path, frame, observation_store.distribution_of(model), values)


def _panels(work: Assimilation, fit: Fit | None) -> Panels | None:
    """Gather the fields of the picture on the first rank of the group (collective over it)."""
    problem, estimate = work.problem, work.estimate()
    model, observations = problem.model, problem.observations
    last = len(observations.steps) - 1
    step = observations.steps[last]
    state = estimate.state.copy()
    model.forward(state, estimate.parameters, 0, step)
    weight = np.broadcast_to(observations.weight_of(last), state.shape)
    observed = np.where(weight > 0.0, observations.values[last], np.nan)
    truth = problem.truth
    stride = max(1, -(-max(model.shape[-2:]) // _PICTURE))
    arrays = {
        "truth": None if truth is None else truth.state,
        "first_guess": problem.guess.state,
        "estimate": estimate.state,
        "observation": observed,
        "run": state,
        "residual": (observed - state) * np.sqrt(weight),
        "mean": None if fit is None else fit.mean,
        "rms": None if fit is None else fit.rms,
    }
    gathered: dict[str, Any] = {
        name: _gathered(model, array, stride) for name, array in arrays.items() if array is not None
    }
    if model.comm.rank:
        return None
    *above, columns = model.coordinates()
    return Panels(
        x=columns[::stride],
        y=above[-1][::stride] if above else np.zeros(1),
        step=step,
        time=step * model.step_length(),
        state=model.state,
        place=f"Plane z = {above[0][len(above[0]) // 2]:.4g}." if len(above) > 1 else "",
        **gathered,
    )


def _gathered(model: Model, array: np.ndarray, stride: int) -> np.ndarray | None:
    """Gather rows and columns of the whole grid at an interval, on the first rank.

    Of a grid of three axes it is the middle plane; one of one axis is a row.
    """
    depth, height, width = (1,) * (3 - len(model.shape)) + model.shape
    planes, rows, columns = (slice(0, 1),) * (3 - len(model.shape)) + model.own
    middle = slice(depth // 2 - planes.start, depth // 2 - planes.start + 1)
    if not planes.start <= depth // 2 < planes.stop:
        middle = slice(0)
    plane = observation_store.in_box(array)[middle].reshape(-1, columns.stop - columns.start)
    first_row, first_column = -rows.start % stride, -columns.start % stride
    part = np.ascontiguousarray(plane[first_row::stride, first_column::stride])
    place = ((rows.start + first_row) // stride, (columns.start + first_column) // stride)
    parts = model.comm.gather((place, part))
    if parts is None:
        return None
    whole = np.empty([-(-height // stride), -(-width // stride)])
    for (row, column), values in parts:
        whole[row : row + values.shape[0], column : column + values.shape[1]] = values
    return whole
