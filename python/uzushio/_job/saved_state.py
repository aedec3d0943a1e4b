"""State and averages of a run in checkpoints: written and restored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio._base.store import checkpoint
from uzushio._job import run_folder
from uzushio.case.model import Case, differences, load_case
from uzushio.errors import CaseError, CheckpointError
from uzushio.solvers.contract import Solver, State, StoredState
from uzushio.solvers.statistics.averages import TimeAverage

if TYPE_CHECKING:
    from mpi4py import MPI

#: Key of the case values on which a checkpoint's averages depend, among its notes.
AVERAGED = "averaged"
#: Key of the notes of the publisher.
PUBLISHED = "published"


def snapshot(
    case: Case,
    solver: Solver,
    average: TimeAverage,
    published: Mapping[str, Any] | None = None,
    actions: Mapping[str, State] | None = None,
) -> checkpoint.Snapshot:
    """Return the content of a checkpoint of the solver's current state (collective).

    Args:
        case: case of the run.
        solver: solver of the run.
        average: averages of the run.
        published: notes of the run's publisher.
        actions: states of the actions of the run's pipeline.
    """
    arrays, notes = average.stored()
    if published is not None:
        notes[PUBLISHED] = published
    return checkpoint.Snapshot(
        solver=case.solver,
        case=case.digest(),
        step=solver.step_index,
        time=solver.time,
        state=solver.state(),
        averages=arrays,
        notes=notes | {AVERAGED: case.averaged_values()},
        actions=actions or {},
    )


def restore(
    where: Path,
    case: Case,
    solver: Solver,
    comm: MPI.Comm,
    fallback: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    interpolate: bool = False,
) -> checkpoint.Checkpoint:
    """Verify a checkpoint and restore the state of a solver from it (collective).

    Args:
        where: folder of a run, or of one checkpoint.
        case: case of the solver.
        solver: solver to restore.
        comm: ranks of the solver.
        fallback: use the checkpoint before a damaged one.
        tell: called with a sentence for each damaged checkpoint.
        interpolate: interpolate a state of another grid in the same box.

    Raises:
        CheckpointError: on all ranks; there is none, it is damaged or of another solver.
    """

    def use(opened: checkpoint.Checkpoint) -> None:
        if opened.manifest.solver == case.solver:
            solver.restore(opened.state())

    # An interpolation reads boxes on each rank by itself, so all is verified before.
    restored = checkpoint.open_checkpoint(where, comm, fallback, tell, None if interpolate else use)
    if restored.manifest.solver != case.solver:
        raise CheckpointError(
            f"checkpoint {restored.path} is of the solver '{restored.manifest.solver}', the "
            f"case is for '{case.solver}'; restart it with its own case."
        )
    if interpolate:
        solver.interpolate(restored.state())
    return restored


def restore_averages(
    restored: checkpoint.Checkpoint, case: Case, average: TimeAverage
) -> str | None:
    """Restore a checkpoint's averages (rank 0); return the reason if they are of another flow."""
    if not restored.manifest.statistics.get("samples"):
        return None
    before = _averaged(restored)
    if before is None:
        return "their case is not known"
    changed = differences(before, case.averaged_values())
    if changed:
        return f"{', '.join(changed)} changed"
    average.restore(*restored.averages())
    return None


def stored_actions(restored: checkpoint.Checkpoint, case: Case) -> dict[str, StoredState]:
    """Return the states of the actions of a checkpoint's pipeline; none if of another flow."""
    before = restored.manifest.statistics.get(AVERAGED)
    same = before is not None and not differences(before, case.averaged_values())
    return restored.actions() if same else {}


def _averaged(restored: checkpoint.Checkpoint) -> dict[str, Any] | None:
    """Return the case values of a checkpoint's averages; None if they are not known.

    Checkpoints without them lie beside the case file of their run.
    """
    stored = restored.manifest.statistics.get(AVERAGED)
    if stored is not None:
        return dict(stored)
    try:
        return load_case(checkpoint.run_of(restored.path) / run_folder.CASE).averaged_values()
    except CaseError:
        return None
