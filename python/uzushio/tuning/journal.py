"""Trials of a tuning in an Optuna journal; each repetition is on disk before the next one starts.

There are four studies: the guided search, the random search, the default in each batch, and the
finals. The plan of a batch is written before its trials, so a tuning that was killed continues with
the same trials.
"""

from __future__ import annotations

import json
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
#: Prefix of the names of plans, followed by the number of the batch.
_PLAN = "batch "


def silence_optuna() -> None:
    """Silence Optuna's log messages and warnings."""
    optuna.logging.set_verbosity(logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


@dataclass
class TrialRecord:
    """Record of one trial.

    Attributes:
        key: values of the point.
        by: strategy that proposed it.
        batch: number of its batch.
        seconds: times of its repetitions.
        failure: reason of a failure.
        done: whether the trial is complete.
        identity: Optuna's number of the trial.
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
        """Minimum of the seconds; infinity for a trial that failed or has none."""
        return min(self.seconds, default=float("inf")) if not self.failure else float("inf")


class Trials:
    """Study of the journal."""

    def __init__(self, storage: JournalStorage, name: str, space: Space) -> None:
        self._study = optuna.create_study(storage=storage, study_name=name, load_if_exists=True)
        self._space = space

    def all(self) -> list[TrialRecord]:
        """Return all trials, in order."""
        return [_record(trial) for trial in self._study.get_trials(deepcopy=False)]

    def batch(self, number: int) -> list[TrialRecord]:
        """Return the trials of one batch."""
        return [record for record in self.all() if record.batch == number]

    def begin(self, key: Key, by: str, batch: int) -> TrialRecord:
        """Write the start of a trial."""
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

    def update(self, record: TrialRecord) -> None:
        """Write the repetitions so far, or the failure."""
        trial = Trial(self._study, record.identity)
        if record.failure:
            trial.set_user_attr("failure", record.failure)
        else:
            trial.set_user_attr("seconds", record.seconds)

    def finish(self, record: TrialRecord, value: float) -> None:
        """Write the end of a trial.

        Args:
            record: the trial.
            value: minimum time relative to the default's in the same batch.
        """
        record.done = True
        number = Trial(self._study, record.identity).number
        if record.failure or not record.seconds:
            self._study.tell(number, state=TrialState.FAIL)
        else:
            self._study.tell(number, value)

    def plan(self, number: int) -> list[tuple[Key, str]] | None:
        """Return the plan of a batch; None if there is none."""
        planned = self._study.user_attrs.get(f"{_PLAN}{number}")
        return None if planned is None else _plan(planned)

    def write_plan(self, number: int, plan: Sequence[tuple[Key, str]]) -> None:
        """Write the plan of a batch."""
        self._study.set_user_attr(f"{_PLAN}{number}", [[list(key), by] for key, by in plan])

    def set_attribute(self, name: str, value: Any) -> None:
        """Write an attribute of the study."""
        self._study.set_user_attr(name, value)

    def attribute(self, name: str, default: Any) -> Any:
        """Return an attribute of the study."""
        return self._study.user_attrs.get(name, default)


def open_storage(folder: Path) -> JournalStorage:
    """Open the journal of a folder that this process has locked; removes an incomplete last line.

    Raises:
        OutputError: another line is damaged.
    """
    path = folder / FILE
    if path.exists():
        text = path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            os.truncate(path, whole)
        for number, line in enumerate(text[:whole].splitlines(), start=1):
            try:
                json.loads(line)
            except ValueError as error:  # Optuna overlooks the last line, and fails later
                raise OutputError(
                    f"{path} is damaged (line {number}: {error}); choose another folder with "
                    "--out, or start again with --overwrite."
                ) from error
    try:
        storage = JournalStorage(JournalFileBackend(str(path), lock_obj=_NoLock(str(path))))
        for study in storage.get_all_studies():
            for trial in storage.get_all_trials(study._study_id, deepcopy=False):
                _record(trial)
            plans = (plan for name, plan in study.user_attrs.items() if name.startswith(_PLAN))
            for plan in plans:
                _plan(plan)
    except OSError:
        raise
    except Exception as error:  # Optuna's replay of a line raises any kind of exception
        reason = " ".join(str(error).split())[:200]
        raise OutputError(
            f"{path} is damaged ({type(error).__name__}: {reason}); choose another folder with "
            "--out, or start again with --overwrite."
        ) from error
    return storage


class _NoLock(JournalFileOpenLock):
    """Empty lock: the folder is locked as a whole, until the end of the process."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def distributions_of(parameters: Sequence[Parameter]) -> dict[str, BaseDistribution]:
    """Return Optuna's distributions; numbers are indices of their values, which keeps the order."""
    return {
        parameter.name: IntDistribution(0, len(parameter.values) - 1)
        if parameter.ordered
        else CategoricalDistribution(parameter.values)
        for parameter in parameters
        if len(parameter.values) > 1
    }


def to_params(parameters: Sequence[Parameter], key: Key) -> dict[str, Any]:
    """Convert a point to Optuna's parameters."""
    return {
        parameter.name: parameter.values.index(value) if parameter.ordered else value
        for parameter, value in zip(parameters, key, strict=True)
        if len(parameter.values) > 1
    }


def from_params(parameters: Sequence[Parameter], params: Mapping[str, Any]) -> dict[str, Value]:
    """Convert Optuna's parameters to a point."""
    return {
        parameter.name: parameter.values[0]
        if len(parameter.values) == 1
        else parameter.values[params[parameter.name]]
        if parameter.ordered
        else params[parameter.name]
        for parameter in parameters
    }


def _plan(planned: Sequence[tuple[Sequence[Value], str]]) -> list[tuple[Key, str]]:
    return [(tuple(key), by) for key, by in planned]


def _record(trial: FrozenTrial) -> TrialRecord:
    attributes = trial.user_attrs
    return TrialRecord(
        key=tuple(attributes["key"]),
        by=attributes["by"],
        batch=attributes["batch"],
        seconds=list(attributes.get("seconds", [])),
        failure=attributes.get("failure", ""),
        done=trial.state.is_finished(),
        identity=trial._trial_id,
    )
