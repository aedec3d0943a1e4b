"""Parser of case files: YAML with numbers of version 1.2, without duplicate keys.

It returns the line of each key. The size of a file, the number of its values with aliases expanded,
and the depth of its sections are limited. A few lines of nested aliases can expand to more values
than fit into memory.
"""

from __future__ import annotations

import errno
import os
import re
import select
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError
from yaml.reader import ReaderError

from uzushio.errors import CaseError

#: Path of a key from the top of the file, list indices included.
KeyPath = tuple[str | int, ...]


#: Maximum bytes of a file; PyYAML reads about 0.1 MB a second.
MAX_BYTES = 500_000
#: Maximum number of values, sections and lists of a file, with aliases expanded.
MAX_VALUES = 100_000
#: Maximum depth of nested sections and lists.
MAX_DEPTH = 32
#: Maximum wait for data of a pipe.
_PIPE_SECONDS = 10.0
#: Maximum of whole numbers.
MAX_WHOLE = 2**63 - 1


class _Loader(yaml.SafeLoader):
    """PyYAML's loader with limits and the numbers of YAML 1.2."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._sizes: dict[int, int] = {}  # by id of the node: values in it, aliases expanded
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node within the limits, or raise `ComposerError`."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        if self._depth >= MAX_DEPTH:
            raise ComposerError(None, None, f"nested in more than {MAX_DEPTH} levels", mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent):
            if id(node) not in self._sizes:
                raise ComposerError(None, None, "a list or section that contains itself", mark)
        elif node is not None:
            self._sizes[id(node)] = self._size(node, mark)
        return node

    def _size(self, node: yaml.Node, mark: yaml.Mark) -> int:
        inside = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = (part for item in inside for part in (item if isinstance(item, tuple) else (item,)))
        size = 1 + sum(self._sizes[id(part)] for part in parts)
        if size > MAX_VALUES:
            raise ComposerError(
                None, None, f"more than {MAX_VALUES} values, aliases expanded", mark
            )
        return size

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Construct a value; raise `ConstructorError` if invalid, such as a date in month 13."""
        try:
            return super().construct_object(node, deep)
        except ValueError as error:  # month 13, more digits than Python accepts
            raise ConstructorError(None, None, f"no value ({error})", node.start_mark) from error

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Construct a whole number of at most 64 bits."""
        value = MAX_WHOLE + 1  # if the text is too long to be parsed
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
    # Before the resolvers of YAML 1.1, which would match the same text.
    _Loader.yaml_implicit_resolvers[_first] = [
        (
            "tag:yaml.org,2002:float",
            re.compile(r"^[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
        ),
        *_Loader.yaml_implicit_resolvers.get(_first, []),
    ]


def read_text(path: Path, kind: str = "case") -> str:
    """Read a file of this kind; raise `CaseError` if it cannot be read."""
    try:
        data = _read_bytes(path)
        if len(data) > MAX_BYTES:
            raise CaseError(
                f"{path} has more than {MAX_BYTES // 1000} kB; a {kind} file has a few: name one."
            )
        return data.decode("utf-8")
    except OSError as error:
        reason = f"a link to {path.readlink()}" if path.is_symlink() else error.strerror
        raise CaseError(f"{path} cannot be read ({reason}); name a {kind} file.") from error
    except UnicodeDecodeError as error:
        raise CaseError(f"{path} is not UTF-8 text; name a YAML {kind} file.") from error


def _read_bytes(path: Path) -> bytes:
    """Read at most one byte more than a file may have.

    A pipe is read until its end; a `TimeoutError` is raised if nothing comes for `_PIPE_SECONDS`.
    """
    # Without O_NONBLOCK the kernel waits for a program that opens a named pipe for writing.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            return file.read(MAX_BYTES + 1)
        waiting, data = select.poll(), b""
        waiting.register(file, select.POLLIN)
        while len(data) <= MAX_BYTES:
            if not waiting.poll(1000.0 * _PIPE_SECONDS):
                raise TimeoutError(
                    errno.ETIMEDOUT, f"a pipe into which nothing came for {_PIPE_SECONDS:g} s"
                )
            part = os.read(file.fileno(), MAX_BYTES + 1 - len(data))
            if not part:
                break
            data += part
        return data


def parse(text: str, name: str, kind: str = "case") -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """Return a mapping and the line number (from 1) of each of its keys.

    Raises:
        CaseError: naming `name` and the line: bad syntax, a duplicate key, or no mapping.
    """
    try:
        loader = _Loader(text)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise CaseError(
            f"{name}:{line}: the character U+{error.character:04X} is not allowed; correct the "
            "YAML."
        ) from error
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
    """Parse the value of `--set key=value`, or any YAML; raise `yaml.YAMLError` if invalid."""
    return yaml.load(text, _Loader)


class _Dumper(yaml.SafeDumper):
    """PyYAML's dumper that quotes text which the loader would read as another type."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    def represent_str(self, data: str) -> yaml.ScalarNode:
        # Unicode's line breaks are lost in all styles but this one, which escapes them.
        style = '"' if any(character in data for character in "\x85\u2028\u2029") else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


def dump(values: Mapping[str, Any]) -> str:
    """Return the YAML text of values in YAML's types; `parse` reads it back."""
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def plain(value: Any) -> Any:
    """Return a copy in YAML's types: dicts, lists for tuples and arrays, text for paths."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        return value.tolist()
    return str(value) if isinstance(value, Path) else value


def _walk(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int], name: str) -> None:
    """Collect the line of each key and list item below `node`; raise for duplicate keys."""
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
