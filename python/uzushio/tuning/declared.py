"""From a case file to what can be tuned of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uzushio.case import registry
from uzushio.case.model import read_document
from uzushio.config.yaml_document import Document
from uzushio.errors import CaseError
from uzushio.tuning.subject import Parameter, Subject, Value

#: Case file, overrides, ranks.
Declare = Callable[[Path, list[str], int], Subject]

#: Keys of a case that say what it is about.
_KINDS = ("model", "solver")
#: Key of a case that says whether its runs use tuned values.
USE_KEY = "tuned"


@dataclass(frozen=True)
class Declared:
    """What can be tuned of a case.

    Attributes:
        subject: the room's declaration.
        given: values that the case itself says: they stay, and are not tuned.
        used: whether runs of this case are to use tuned values.
    """

    subject: Subject
    given: dict[str, Value]
    used: bool


def declare(file: Path, overrides: list[str], ranks: int) -> Declared:
    """Read a case, and ask its room what can be tuned.

    Raises:
        CaseError: the case is wrong, or nothing can be tuned of what it is about.
    """
    document = read_document(file, overrides)
    name, where = _about(document)
    if name not in registry.known_tunables() and name in registry.known() | registry.known_models():
        allowed = ", ".join(sorted(registry.known_tunables()))
        raise CaseError(
            f"{where}: '{name}' has no tunable parameters, so there is nothing to tune (tunable: "
            f"{allowed})."
        )
    try:
        function = registry.tunables(name)
    except CaseError as error:
        raise CaseError(f"{where}: {error}") from error
    subject = function(file, overrides, ranks)
    said = given(document, subject.parameters)
    return Declared(subject, said, document.values.get(USE_KEY, True) is True)


def is_tunable(document: Document) -> bool:
    """Whether somebody declares what can be tuned of a case."""
    name = next((document.values[key] for key in _KINDS if key in document.values), None)
    return name in registry.known_tunables()


def given(document: Document, parameters: Iterable[Parameter]) -> dict[str, Value]:
    """What a case says of parameters, by their keys "section.key"; null says nothing."""
    found: dict[str, Value] = {}
    for one in parameters:
        value: Any = document.values
        for key in one.name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, (int, float, str)) and (one.unsaid is None or value != one.unsaid):
            found[one.name] = value
    return found


def _about(document: Document) -> tuple[str, str]:
    """Model or solver of the case, and where it says so."""
    for key in _KINDS:
        name = document.values.get(key)
        if isinstance(name, str):
            return name, document.where((key,))
    allowed = ", ".join(sorted(registry.known_tunables()))
    raise CaseError(f"{document.name}: {' or '.join(_KINDS)} is required (tunable: {allowed})")
