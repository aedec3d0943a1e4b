"""Overrides of values in a case: `--set section.key=value`, or a mapping in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import yaml

from uzushio._base.config import yaml_file
from uzushio._base.config.yaml_document import Document
from uzushio._base.config.yaml_file import plain
from uzushio.errors import CaseError

#: Values by "section.key", or texts "section.key=value" with the value in YAML.
Overrides: TypeAlias = Mapping[str, Any] | Sequence[str]


def apply(overrides: Overrides, document: Document) -> None:
    """Set the values in a document.

    Raises:
        CaseError: an override is not of the form "section.key=value", or has a key below a value.
    """
    for quoted, dotted, value in _each(overrides):
        keys = dotted.strip().split(".")
        if not all(keys):
            raise CaseError(f"{quoted}: write it as section.key=value, e.g. time.steps=200.")
        _set(quoted, keys, value, document.values)
        document.given[tuple(keys)] = f"{quoted.split()[0]} {'.'.join(keys)}"


def _each(overrides: Overrides) -> Iterator[tuple[str, str, Any]]:
    """Yield the overrides: text for messages, key and value."""
    if isinstance(overrides, Mapping):
        for dotted, value in overrides.items():
            yield f"override {dotted}={value}", dotted, plain(value)
        return
    for text in [overrides] if isinstance(overrides, str) else overrides:
        quoted = f"--set {text}"
        dotted, equals, value = text.partition("=")
        try:
            yield quoted, dotted if equals else "", yaml_file.parse_value(value)
        except yaml.YAMLError as error:
            raise CaseError(f"{quoted}: the value is not YAML ({error}).") from error


def _set(quoted: str, keys: Sequence[str], value: Any, values: dict[str, Any]) -> None:
    section = values
    for depth, key in enumerate(keys[:-1], start=1):
        if section.get(key) is None:
            section[key] = {}
        if not isinstance(section[key], dict):
            above = ".".join(keys[:depth])
            raise CaseError(f"{quoted}: {above} is a value and has no '{keys[depth]}'.")
        section = section[key]
    section[keys[-1]] = value
