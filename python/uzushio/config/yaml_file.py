"""YAML as case files are written: YAML 1.2 numbers, no duplicate keys, and the line of each key.

A file's text, its values with all aliases written out, and the depth of its sections are limited:
a few lines of aliases of aliases stand for more values than any memory holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

from uzushio.errors import CaseError

#: A key's path from the top of the file, list indices included.
KeyPath = tuple[str | int, ...]


#: Bytes of a file; PyYAML reads about 0.1 MB a second.
MAX_BYTES = 500_000
#: Values, sections and lists of a file, each alias counted as what it stands for.
MAX_VALUES = 100_000
#: Sections and lists inside each other.
MAX_DEPTH = 32
#: Largest whole number; what is larger is no count of anything.
MAX_WHOLE = 2**63 - 1


class _Loader(yaml.SafeLoader):
    """PyYAML reads YAML 1.1, where `1e-3` is a string: this one reads it as a number."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._sizes: dict[int, int] = {}  # by id of the node: values in it, aliases written out
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node within the limits; raises `ComposerError`."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        if self._depth >= MAX_DEPTH:
            raise ComposerError(None, None, f"nested in more than {MAX_DEPTH} levels", mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent):
            if id(node) not in self._sizes:
                raise ComposerError(None, None, "a list or section that holds itself", mark)
        elif node is not None:
            self._sizes[id(node)] = self._size(node, mark)
        return node

    def _size(self, node: yaml.Node, mark: yaml.Mark) -> int:
        inside = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = (one for item in inside for one in (item if isinstance(item, tuple) else (item,)))
        size = 1 + sum(self._sizes[id(one)] for one in parts)
        if size > MAX_VALUES:
            raise ComposerError(
                None, None, f"more than {MAX_VALUES} values, aliases written out", mark
            )
        return size

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Construct a value; raises `ConstructorError` for what looks like one and is none."""
        try:
            return super().construct_object(node, deep)
        except ValueError as error:  # a 13th month, more digits than Python takes
            raise ConstructorError(None, None, f"no value ({error})", node.start_mark) from error

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Construct a whole number of at most 64 bits."""
        value = MAX_WHOLE + 1  # of a text that is too long to be read
        if len(node.value) < 80:
            value = super().construct_yaml_int(node)
        if abs(value) > MAX_WHOLE:
            raise ConstructorError(
                None, None, f"a whole number beyond {MAX_WHOLE}", node.start_mark
            )
        return value


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)

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
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise CaseError(
                f"{path} has more than {MAX_BYTES // 1000} kB; a {kind} file has a few: name one."
            )
        return data.decode("utf-8")
    except OSError as error:
        raise CaseError(f"{path} cannot be read ({error.strerror}); name a {kind} file.") from error
    except UnicodeDecodeError as error:
        raise CaseError(f"{path} is not UTF-8 text; name a YAML {kind} file.") from error


def parse(text: str, name: str, kind: str = "case") -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """Parse a mapping and the line number (from 1) of each of its keys.

    Raises:
        CaseError: naming `name` and the line: bad syntax, a duplicate key, or no mapping.
    """
    try:
        loader = _Loader(text)
    except yaml.YAMLError as error:  # a character that no YAML has
        raise CaseError(f"{name}: {error}; correct the YAML.") from error
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
    """Parse the value of `--set key=value`, or any YAML; raises `yaml.YAMLError`."""
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
