"""What an assimilation leaves in its folder: the estimate, its history, and figures."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uzushio import run_folder
from uzushio.assimilation import figures, store
from uzushio.assimilation.case import AssimilationCase
from uzushio.assimilation.deviations import Deviation
from uzushio.assimilation.ensemble import Member, table
from uzushio.assimilation.history import History
from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.problem import Problem
from uzushio.collective import collective
from uzushio.extracts.frame import Variable
from uzushio.extracts.zarr_series import ZarrSeries

if TYPE_CHECKING:
    from mpi4py import MPI

#: Points of a picture along each axis, at most.
_PICTURE = 1024


def write(
    folder: Path,
    case: AssimilationCase,
    problem: Problem,
    estimate: Guess,
    history: History,
    found: Sequence[Deviation],
    members: Sequence[Member],
    comm: MPI.Comm,
    draw: bool = True,
) -> list[Path]:
    """Write all but the summary (collective); the files are named on rank 0.

    Args:
        folder: of the run.
        case: of it.
        problem: of it.
        estimate: the point found.
        history: of the search.
        found: standard deviations of the parameters.
        members: of an ensemble; none if there was none.
        comm: all ranks.
        draw: whether figures are drawn.

    Raises:
        OutputError: on all ranks, if something cannot be written.
    """
    files = [folder / run_folder.ESTIMATE]
    with collective(comm):
        if comm.rank == 0 and files[0].exists():  # of the run that this one goes on with
            shutil.rmtree(files[0])
    if problem.groups.mine == 0:
        _write_estimate(files[0], problem, estimate, found)
    seen = case.observations
    if seen.store is None and seen.keep:
        files.append(folder / run_folder.OBSERVATIONS)
    panels = _panels(problem, estimate, case.time.steps) if problem.groups.mine == 0 else None
    with collective(comm):
        if comm.rank == 0 and panels is not None:
            files.append(folder / run_folder.HISTORY)
            run_folder.replace(files[-1], history.table())
            if members:
                files.append(folder / run_folder.MEMBERS_TABLE)
                run_folder.replace(files[-1], table(members, history.parameters))
            if not draw:
                return files
            (folder / run_folder.FIGURES).mkdir(exist_ok=True)
            truth = None if problem.truth is None else problem.truth.parameters
            files += figures.draw(
                folder / run_folder.FIGURES,
                title=case.title,
                panels=panels,
                history=history,
                deviations=found,
                truth=truth,
                parameters=problem.model.parameters,
            )
    return files


def _write_estimate(
    path: Path, problem: Problem, estimate: Guess, found: Sequence[Deviation]
) -> None:
    """Write the estimated initial state, and the parameters as attributes."""
    model = problem.model
    name, unit = model.state.name, model.state.unit
    attributes: dict[str, object] = {}
    for index, quantity in enumerate(model.parameters):
        attributes[quantity.name] = float(estimate.parameters[index])
        attributes[f"{quantity.name}_sd"] = found[index].sd
        if found[index].ensemble is not None:
            attributes[f"{quantity.name}_sd_ensemble"] = found[index].best
    variables, values = {}, {}
    for key, state, words in (
        (name, estimate.state, "estimated initial state"),
        (f"{name}_first_guess", problem.guess.state, "first guess of the initial state"),
    ):
        notes = {"description": words, "unit": unit}
        variables[key] = Variable(key, np.dtype(np.float64), attributes=notes)
        values[key] = [state[np.newaxis]]
    frame = store.frame_of(model, variables, attributes, once=True)
    ZarrSeries(path, frame).append(0, 0.0, store.spread_of(model), values)


def _panels(problem: Problem, estimate: Guess, steps: int) -> figures.Panels | None:
    """What is drawn, gathered on the first rank of the group (collective over it)."""
    model, observations = problem.model, problem.observations
    assert observations is not None
    last = len(observations.steps) - 1
    step = observations.steps[last]
    state = estimate.state.copy()
    model.forward(state, estimate.parameters, 0, step)
    weight = np.broadcast_to(observations.weight_of(last), state.shape)
    seen = np.where(weight > 0.0, observations.values[last], np.nan)
    truth = problem.truth
    stride = max(1, -(-max(model.shape) // _PICTURE))
    arrays = {
        "truth": None if truth is None else truth.state,
        "first_guess": problem.guess.state,
        "estimate": estimate.state,
        "observation": seen,
        "run": state,
        "residual": (seen - state) * np.sqrt(weight),
    }
    gathered = {
        name: None if array is None else _gathered(model, array, stride)
        for name, array in arrays.items()
    }
    if model.comm.rank:
        return None
    rows, columns = model.coordinates()
    return figures.Panels(
        x=columns[::stride],
        y=rows[::stride],
        step=step,
        time=step * model.step_length(),
        state=model.state,
        truth=gathered["truth"],
        first_guess=_there(gathered["first_guess"]),
        estimate=_there(gathered["estimate"]),
        observation=_there(gathered["observation"]),
        run=_there(gathered["run"]),
        residual=_there(gathered["residual"]),
    )


def _there(array: np.ndarray | None) -> np.ndarray:
    assert array is not None
    return array


def _gathered(model: Model, array: np.ndarray, stride: int) -> np.ndarray | None:
    """Every so many rows and columns of the whole grid, on the first rank."""
    rows, columns = model.own
    first_row, first_column = -rows.start % stride, -columns.start % stride
    part = np.ascontiguousarray(array[first_row::stride, first_column::stride])
    place = ((rows.start + first_row) // stride, (columns.start + first_column) // stride)
    parts = model.comm.gather((place, part))
    if parts is None:
        return None
    whole = np.empty([-(-count // stride) for count in model.shape])
    for (row, column), values in parts:
        whole[row : row + values.shape[0], column : column + values.shape[1]] = values
    return whole
