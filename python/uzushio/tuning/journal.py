"""The trials of a tuning, in an Optuna journal: each repetition is on disk before the next begins.

A study holds the guided search, one the random search beside it, one the default of each batch, one
the finals. Batches are planned as a whole and the plan is written first, so that a tuning that was
killed goes on with the very trials that it would have made.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    IntDistribution,
)
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from uzushio.errors import OutputError
from uzushio.tuning.space import Key, Space
from uzushio.tuning.subject import Parameter, Value

FILE = "journal.log"
#: What the names of plans begin with; their number follows.
_PLAN = "batch "


def quieten() -> None:
    """Keep Optuna's remarks to itself: what matters is said in our words."""
    optuna.logging.set_verbosity(logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


@dataclass
class Record:
    """One trial.

    Attributes:
        key: of the point.
        by: the strategy that proposed it.
        batch: that it is in.
        seconds: of its repetitions.
        failure: why it could not be run.
        done: whether it is over.
    """

    key: Key
    by: str
    batch: int
    seconds: list[float] = field(default_factory=list)
    failure: str = ""
    done: bool = False
    identity: int = -1

    @property
    def best(self) -> float:
        """Least seconds; infinity for a trial that failed or has none."""
        return min(self.seconds, default=float("inf")) if not self.failure else float("inf")


class Trials:
    """One study of the journal."""

    def __init__(self, storage: JournalStorage, name: str, space: Space) -> None:
        self._study = optuna.create_study(storage=storage, study_name=name, load_if_exists=True)
        self._space = space

    def all(self) -> list[Record]:
        """All trials, in their order."""
        return [_record(trial) for trial in self._study.get_trials(deepcopy=False)]

    def batch(self, number: int) -> list[Record]:
        """Those of one batch."""
        return [record for record in self.all() if record.batch == number]

    def begin(self, key: Key, by: str, batch: int) -> Record:
        """Write down that a trial begins."""
        distributions = distributions_of(self._space.parameters)
        self._study.add_trial(
            create_trial(
                state=TrialState.RUNNING,
                params=to_params(self._space.parameters, key),
                distributions=distributions,
                user_attrs={"key": list(key), "by": by, "batch": batch},
            )
        )
        return self.all()[-1]

    def note(self, record: Record) -> None:
        """Write down the repetitions so far, or the failure."""
        trial = Trial(self._study, record.identity)
        if record.failure:
            trial.set_user_attr("failure", record.failure)
        else:
            trial.set_user_attr("seconds", record.seconds)

    def finish(self, record: Record, value: float) -> None:
        """Write down that a trial is over.

        Args:
            record: of it.
            value: its least time in units of the default's in the same batch.
        """
        record.done = True
        number = Trial(self._study, record.identity).number
        if record.failure or not record.seconds:
            self._study.tell(number, state=TrialState.FAIL)
        else:
            self._study.tell(number, value)

    def plan(self, number: int) -> list[tuple[Key, str]] | None:
        """What was planned for a batch, if it was."""
        planned = self._study.user_attrs.get(f"{_PLAN}{number}")
        return None if planned is None else _plan(planned)

    def write_plan(self, number: int, plan: Sequence[tuple[Key, str]]) -> None:
        """Write down what a batch is made of."""
        self._study.set_user_attr(f"{_PLAN}{number}", [[list(key), by] for key, by in plan])

    def note_all(self, name: str, value: Any) -> None:
        """Write down something about the whole study."""
        self._study.set_user_attr(name, value)

    def noted(self, name: str, default: Any) -> Any:
        """What was written down about the whole study."""
        return self._study.user_attrs.get(name, default)


def open_storage(folder: Path) -> JournalStorage:
    """Open the journal of a folder that this process has locked; a torn last line is cut off.

    Raises:
        OutputError: another line is damaged.
    """
    path = folder / FILE
    if path.exists():
        text = path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            os.truncate(path, whole)
    try:
        storage = JournalStorage(JournalFileBackend(str(path), lock_obj=_Locked(str(path))))
        for study in storage.get_all_studies():
            for trial in storage.get_all_trials(study._study_id, deepcopy=False):
                _record(trial)
            plans = (one for name, one in study.user_attrs.items() if name.startswith(_PLAN))
            for plan in plans:
                _plan(plan)
    except OSError:
        raise
    except Exception as error:  # Optuna raises what its replay of a line happens to meet
        said = " ".join(str(error).split())[:200]
        raise OutputError(
            f"{path} is damaged ({type(error).__name__}: {said}); choose another folder with "
            "--out, or say --overwrite to begin anew."
        ) from error
    return storage


class _Locked(JournalFileOpenLock):
    """The folder is locked as a whole, and that lock goes with the process, however it ends."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def distributions_of(parameters: Sequence[Parameter]) -> dict[str, BaseDistribution]:
    """What Optuna is told: numbers as places in their list, so that near ones are near."""
    return {
        one.name: IntDistribution(0, len(one.values) - 1)
        if one.ordered
        else CategoricalDistribution(one.values)
        for one in parameters
        if len(one.values) > 1
    }


def to_params(parameters: Sequence[Parameter], key: Key) -> dict[str, Any]:
    """A point as Optuna has it."""
    return {
        one.name: one.values.index(value) if one.ordered else value
        for one, value in zip(parameters, key, strict=True)
        if len(one.values) > 1
    }


def from_params(parameters: Sequence[Parameter], params: Mapping[str, Any]) -> dict[str, Value]:
    """The opposite of `to_params`."""
    return {
        one.name: one.values[0]
        if len(one.values) == 1
        else one.values[params[one.name]]
        if one.ordered
        else params[one.name]
        for one in parameters
    }


def _plan(planned: Sequence[tuple[Sequence[Value], str]]) -> list[tuple[Key, str]]:
    return [(tuple(key), by) for key, by in planned]


def _record(trial: FrozenTrial) -> Record:
    attributes = trial.user_attrs
    return Record(
        key=tuple(attributes["key"]),
        by=attributes["by"],
        batch=attributes["batch"],
        seconds=list(attributes.get("seconds", [])),
        failure=attributes.get("failure", ""),
        done=trial.state.is_finished(),
        identity=trial._trial_id,
    )
