"""YAML as case files are written: YAML 1.2 numbers, no duplicate keys, and the line of each key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from uzushio.errors import CaseError

#: A key's path from the top of the file, list indices included.
KeyPath = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """PyYAML reads YAML 1.1, where `1e-3` is a string: this one reads it as a number."""


_Loader.yaml_implicit_resolvers = dict(yaml.SafeLoader.yaml_implicit_resolvers)
for _first in "-+.0123456789":
    # Ahead of the 1.1 resolvers, which otherwise would take the same text first.
    _Loader.yaml_implicit_resolvers[_first] = [
        (
            "tag:yaml.org,2002:float",
            re.compile(r"^[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
        ),
        *_Loader.yaml_implicit_resolvers.get(_first, []),
    ]


def read_text(path: Path, kind: str = "case") -> str:
    """Read a file of this kind; raises `CaseError` with the reason if that is not possible."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CaseError(f"{path} cannot be read ({error.strerror}); name a {kind} file.") from error
    except UnicodeDecodeError as error:
        raise CaseError(f"{path} is not UTF-8 text; name a YAML {kind} file.") from error


def parse(text: str, name: str, kind: str = "case") -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """Parse a mapping and the line number (from 1) of each of its keys.

    Raises:
        CaseError: naming `name` and the line: bad syntax, a duplicate key, or no mapping.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise CaseError(f"{name} must hold `key: value` lines, as a {kind} file does.")
        lines: dict[KeyPath, int] = {}
        _walk(node, (), lines, name)
        return loader.construct_document(node), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}" if mark else name
        raise CaseError(f"{where}: {error.problem or error.context}; correct the YAML.") from error
    except yaml.YAMLError as error:
        raise CaseError(f"{name}: {error}; correct the YAML.") from error
    finally:
        loader.dispose()


def parse_value(text: str) -> Any:
    """Parse the value of `--set key=value`; raises `yaml.YAMLError`."""
    return yaml.load(text, _Loader)


def plain(value: Any) -> Any:
    """Copy as YAML would give it: dicts, lists for tuples and arrays, text for paths."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        return value.tolist()
    return str(value) if isinstance(value, Path) else value


def _walk(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int], name: str) -> None:
    """Note the line of each key and list item below `node`, and refuse a key given twice."""
    if len(path) > 32:
        raise CaseError(f"{name}:{node.start_mark.line + 1}: nested too deeply.")
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[(*path, index)] = item.start_mark.line + 1
            _walk(item, (*path, index), lines, name)
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        here = (*path, str(key.value))
        line = key.start_mark.line + 1
        if here in lines:
            dotted = ".".join(map(str, here))
            raise CaseError(
                f"{name}:{line}: {dotted} was given before, in line {lines[here]}; keep one."
            )
        lines[here] = line
        _walk(value, here, lines, name)
