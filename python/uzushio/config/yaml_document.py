"""Values of a YAML file with the line of each key, validated by a pydantic model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from uzushio.config import yaml_file
from uzushio.config.case_errors import explain
from uzushio.config.yaml_file import KeyPath
from uzushio.errors import CaseError

Model = TypeVar("Model", bound=BaseModel)


@dataclass
class Document:
    """Values of a file, and where they were given.

    Attributes:
        name: name of the file in messages.
        values: nested values by key.
        lines: line of each key, from 1.
        given: keys that an override replaced, with its text.
    """

    name: str
    values: dict[str, Any]
    lines: Mapping[KeyPath, int]
    given: dict[KeyPath, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | str, kind: str = "case") -> Self:
        """Read a file.

        Args:
            path: path of the file.
            kind: kind of file, for messages.

        Raises:
            CaseError: the file cannot be read, or is not YAML; with the line.
        """
        path = Path(path)
        values, lines = yaml_file.parse(yaml_file.read_text(path, kind), str(path), kind)
        return cls(str(path), values, lines)

    @classmethod
    def of(cls, values: Mapping[str, Any], name: str) -> Self:
        """Return a document of values that are not from a file; `name` is for messages."""
        return cls(name, yaml_file.plain(values), {})

    def where(self, key: KeyPath) -> str:
        """Return the file and line of `key`, or its override."""
        for end in range(len(key), 0, -1):
            if key[:end] in self.given:
                return self.given[key[:end]]
            if key[:end] in self.lines:
                return f"{self.name}:{self.lines[key[:end]]}"
        return self.name

    def validate(self, model: type[Model]) -> Model:
        """Return the model of the values.

        Raises:
            CaseError: one line for each mistake, naming the file and line, the key, the value given
                and what is allowed.
        """
        try:
            return model.model_validate(self.values)
        except ValidationError as error:
            lines = explain(error, model, self.values, self.where)
            raise CaseError("\n".join(lines)) from error
