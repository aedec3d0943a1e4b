"""The values that a tuning found, kept for later runs in the user's cache folder.

One file for each processor model, number of cores, room, number of ranks and problem size: values
that were measured for another of these say nothing.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from uzushio.config import user_cache
from uzushio.tuning.subject import Subject, Value

FORMAT = 1


@dataclass(frozen=True)
class Kept:
    """What a tuning found.

    Attributes:
        values: by the keys of the case.
        seconds: of the workload with them, least of the finals.
        default_seconds: with the default values, in the same finals.
        found_by: the strategy.
        created: day and time.
        case: the file that was tuned.
        uzushio: version that was measured.
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
        """Times as fast as the default."""
        return self.default_seconds / self.seconds


def _key(subject: Subject) -> dict[str, object]:
    """What the best values depend on."""
    return {
        "room": subject.room,
        "ranks": subject.ranks,
        "size": dict(subject.size),
        "processor": user_cache.processor_name(),
        "cores": os.cpu_count() or 1,
    }


def name_of(subject: Subject) -> str:
    """Name of the file in the cache folder."""
    text = json.dumps([user_cache.processor_key(), _key(subject)], sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"tuned-{subject.room}-{subject.ranks}-{key}.json"


def file_of(subject: Subject) -> Path:
    """Path of that file; raises `OSError` for a user without a home."""
    return user_cache.folder() / name_of(subject)


def keep(subject: Subject, kept: Kept) -> Path | None:
    """Store what was found in place of what was kept before.

    Returns:
        The file, or None where the cache folder cannot be written.
    """
    content = {"format": FORMAT, **_key(subject), **dataclasses.asdict(kept)}
    return user_cache.keep(name_of(subject), json.dumps(content, indent=2) + "\n")


def recall(subject: Subject) -> Kept | None:
    """What was kept for this machine, number of ranks and size; None if nothing that is usable is.

    A file that is damaged, or of a version that knew other parameters or allowed more, is as none.
    """
    try:
        content = json.loads(user_cache.recall(name_of(subject)))
        if content.pop("format") != FORMAT:
            return None
        for name, value in _key(subject).items():
            if content.pop(name) != value:
                return None
        kept = Kept(**content)
        return kept if _fits(kept.values, subject) and kept.seconds > 0 else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _fits(values: Mapping[str, Value], subject: Subject) -> bool:
    """Whether these are values of the subject's parameters that its rules allow."""
    return set(values) == {one.name for one in subject.parameters} and not any(
        rule.refusal(*(values[name] for name in rule.names)) for rule in subject.rules
    )
