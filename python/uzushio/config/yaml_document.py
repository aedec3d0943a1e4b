"""A YAML file of `key: value` lines on its way to a pydantic model, with the place of each key."""

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
    """What a file holds.

    Attributes:
        name: of the file, as messages say it.
        values: what is in it.
        lines: of each key, from 1.
        given: keys that were set elsewhere, and where.
    """

    name: str
    values: dict[str, Any]
    lines: Mapping[KeyPath, int]
    given: dict[KeyPath, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | str, kind: str = "case") -> Self:
        """Read a file.

        Args:
            path: of the file.
            kind: of file that is expected, for messages.

        Raises:
            CaseError: it cannot be read, or is not YAML; with the line.
        """
        path = Path(path)
        values, lines = yaml_file.parse(yaml_file.read_text(path, kind), str(path), kind)
        return cls(str(path), values, lines)

    @classmethod
    def of(cls, values: Mapping[str, Any], name: str) -> Self:
        """Take what would be in a file; `name` stands for it in messages."""
        return cls(name, yaml_file.plain(values), {})

    def where(self, key: KeyPath) -> str:
        """The file and line, or what was given elsewhere, that holds `key`."""
        for end in range(len(key), 0, -1):
            if key[:end] in self.given:
                return self.given[key[:end]]
            if key[:end] in self.lines:
                return f"{self.name}:{self.lines[key[:end]]}"
        return self.name

    def validate(self, model: type[Model]) -> Model:
        """Make the model of the values.

        Raises:
            CaseError: one line for each mistake, naming the file and line, the key, the value given
                and what is allowed.
        """
        try:
            return model.model_validate(self.values)
        except ValidationError as error:
            lines = explain(error, model, self.values, self.where)
            raise CaseError("\n".join(lines)) from error
