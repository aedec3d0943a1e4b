"""Tunable parameters of a case file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uzushio._base.config.yaml_document import Document
from uzushio.case import registry
from uzushio.case.model import read_document
from uzushio.errors import CaseError
from uzushio.tuning.subject import Parameter, Subject, Value

#: Case file, overrides, ranks.
Declare = Callable[[Path, list[str], int], Subject]

#: Keys of a case with its model or solver.
_KINDS = ("model", "solver")
#: Key of a case for the use of tuned values in its runs.
USE_KEY = "tuned"


@dataclass(frozen=True)
class Declared:
    """Tunable parameters of a case.

    Attributes:
        subject: declaration of the room.
        given: values set in the case; they are not tuned.
        used: whether runs of this case use tuned values.
    """

    subject: Subject
    given: dict[str, Value]
    used: bool


def declare(file: Path, overrides: list[str], ranks: int) -> Declared:
    """Read a case, and get the declaration of its room.

    Raises:
        CaseError: the case is invalid, or its model or solver has no tunable parameters.
    """
    document = read_document(file, overrides)
    name, where = _about(document)
    if name not in registry.TUNABLES.known() and name in registry.known() | registry.known_models():
        allowed = ", ".join(sorted(registry.TUNABLES.known()))
        raise CaseError(
            f"{where}: '{name}' has no tunable parameters, so there is nothing to tune (tunable: "
            f"{allowed})."
        )
    try:
        function: Declare = registry.TUNABLES.find(name)
    except CaseError as error:
        raise CaseError(f"{where}: {error}") from error
    subject = function(file, overrides, ranks)
    fixed = given(document, subject.parameters)
    return Declared(subject, fixed, document.values.get(USE_KEY, True) is True)


def is_tunable(document: Document) -> bool:
    """Whether a case has tunable parameters."""
    name = next((document.values[key] for key in _KINDS if key in document.values), None)
    return name in registry.TUNABLES.known()


def given(document: Document, parameters: Iterable[Parameter]) -> dict[str, Value]:
    """Return the values of parameters that a case sets, by key "section.key"; null is not set."""
    given_values: dict[str, Value] = {}
    for parameter in parameters:
        value: Any = document.values
        for key in parameter.name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, (int, float, str)) and (
            parameter.unset is None or value != parameter.unset
        ):
            given_values[parameter.name] = value
    return given_values


def _about(document: Document) -> tuple[str, str]:
    """Return model or solver of the case, with file and line."""
    for key in _KINDS:
        name = document.values.get(key)
        if isinstance(name, str):
            return name, document.where((key,))
    allowed = ", ".join(sorted(registry.TUNABLES.known()))
    raise CaseError(f"{document.name}: {' or '.join(_KINDS)} is required (tunable: {allowed})")
