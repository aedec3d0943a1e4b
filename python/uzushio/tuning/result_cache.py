"""Results of tunings, stored for later runs in the user's cache folder.

There is one file for each processor model, number of cores, room, number of ranks and problem size;
results are valid only for the same ones.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from uzushio._base.config import user_cache
from uzushio.errors import TuningError
from uzushio.tuning.subject import Subject, Value

FORMAT = 1


@dataclass(frozen=True)
class TuningResult:
    """Result of a tuning.

    Attributes:
        values: tuned values by key of the case.
        seconds: minimum time of the workload with these values in the finals.
        default_seconds: the same with the default values.
        found_by: strategy that proposed the values.
        created: date and time.
        case: case file.
        uzushio: version of Uzushio.
    """

    values: dict[str, Value]
    seconds: float
    default_seconds: float
    found_by: str
    created: str
    case: str
    uzushio: str

    @property
    def speedup(self) -> float:
        """Time of the default divided by the time of the tuned values."""
        return self.default_seconds / self.seconds


def _key(subject: Subject) -> dict[str, object]:
    """Return the properties for which a result is valid."""
    return {
        "room": subject.room,
        "ranks": subject.ranks,
        "size": dict(subject.size),
        "processor": user_cache.processor_name(),
        "cores": os.cpu_count() or 1,
    }


def file_name(subject: Subject) -> str:
    """Return the name of the file in the cache folder."""
    text = json.dumps([user_cache.processor_key(), _key(subject)], sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"tuned-{subject.room}-{subject.ranks}-{key}.json"


def file_of(subject: Subject) -> Path:
    """Return the path of that file; raises `OSError` for a user without a home folder."""
    return user_cache.folder() / file_name(subject)


def store_result(subject: Subject, result: TuningResult) -> Path | None:
    """Store a result, replacing an earlier one.

    Returns:
        Path of the file, or None if the cache folder is not writable.
    """
    content = {"format": FORMAT, **_key(subject), **dataclasses.asdict(result)}
    return user_cache.store(file_name(subject), json.dumps(content, indent=2) + "\n")


def load_result(subject: Subject) -> TuningResult | None:
    """Return the stored result for this machine, number of ranks and size, or None.

    Raises:
        TuningError: its file is damaged, or of a version with other parameters or rules.
    """
    try:
        text = file_of(subject).read_bytes()
    except OSError:
        return None
    try:
        content = json.loads(text)
        same = content.pop("format") == FORMAT
        for name, value in _key(subject).items():
            same = content.pop(name) == value and same
        result = TuningResult(**content)
        if same and _fits(result.values, subject) and result.speedup > 0:
            return result
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        pass
    raise damaged(subject)


def damaged(subject: Subject) -> TuningError:
    """Return the error of a stored result that cannot be used."""
    return TuningError(
        f"{file_of(subject)} is damaged or of another version; `uzushio tune --ranks "
        f"{subject.ranks}` replaces it."
    )


def _fits(values: Mapping[str, Value], subject: Subject) -> bool:
    """Whether the subject has exactly these parameters, and its rules allow the values."""
    return set(values) == {parameter.name for parameter in subject.parameters} and not any(
        rule.refusal(*(values[name] for name in rule.names)) for rule in subject.rules
    )
