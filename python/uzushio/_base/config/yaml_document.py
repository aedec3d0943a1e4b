"""Values of a YAML file with the line of each key, validated by a pydantic model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from uzushio._base.config import yaml_file
from uzushio._base.config.case_errors import explain
from uzushio._base.config.prepared_values import prepared
from uzushio._base.config.yaml_file import KeyPath
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from mpi4py import MPI

Model = TypeVar("Model", bound=BaseModel)

#: Keys that only one kind of file has: the kind, and the command that reads it.
_KINDS = {
    "solver": ("the case of a run", "uzushio run"),
    "model": ("the case of an assimilation", "uzushio assimilate"),
    "actions": ("a pipeline", "uzushio render"),
    "hops": ("a plan", "uzushio plan"),
}


@dataclass
class Document:
    """Values of a file, and where they were given.

    Attributes:
        name: name of the file in messages.
        values: nested values by key.
        lines: line of each key, from 1.
        given: keys that an override replaced, with its text.
        folder: folder of the file, at which relative paths in it start.
    """

    name: str
    values: dict[str, Any]
    lines: Mapping[KeyPath, int]
    given: dict[KeyPath, str] = field(default_factory=dict)
    folder: Path = Path()

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
        folder = path.resolve().parent if path.is_symlink() else path.parent
        if folder.is_relative_to(Path.cwd()):  # short in messages
            folder = folder.relative_to(Path.cwd())
        return cls(str(path), values, lines, folder=folder)

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

    def refuse_other(self, kind: str, own: str) -> None:
        """Raise `CaseError` if the file is of another kind.

        Args:
            kind: kind of file that is expected, for the message.
            own: a key of this kind.
        """
        for key, (what, command) in _KINDS.items():
            if key != own and key in self.values and own not in self.values:
                raise CaseError(
                    f"{self.where((key,))}: a file with '{key}' is {what}, not {kind}; give it to "
                    f"{command}."
                )

    def folder_of(self, key: KeyPath) -> Path:
        """Return the folder of relative paths: of an override the current one."""
        overridden = any(key[:end] in self.given for end in range(1, len(key) + 1))
        return Path() if overridden else self.folder

    def validate(self, model: type[Model], comm: MPI.Comm | None = None) -> Model:
        """Return the model of the values.

        Args:
            model: the model.
            comm: ranks that all validate the same document, which validators find in their context.

        Raises:
            CaseError: one line for each mistake, naming the file and line, the key, the value given
                and what is allowed.
        """
        values = prepared(model, self.values, self.folder_of)
        try:
            return model.model_validate(values, context={"comm": comm})
        except ValidationError as error:
            lines = explain(error, model, values, self.where)
            raise CaseError("\n".join(lines)) from error
