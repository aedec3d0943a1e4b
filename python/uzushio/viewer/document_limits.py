"""Limits of what pages write into the document: texts, numbers and lists, and derived fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from uzushio._base.config.yaml_file import KeyPath
from uzushio.errors import PipelineError, ViewerError
from uzushio.pipeline.expression import MAX_LENGTH, FieldExpression
from uzushio.pipeline.graph import Graph
from uzushio.pipeline.sources import SourceSettings, used_sources
from uzushio.pipeline.stream import Stream

#: Maximum bytes of a view, and of the sources, as JSON.
MAX_BYTES = 64 * 1024
#: Maximum characters of a text, and of a key.
MAX_TEXT, MAX_KEY = 500, 64
#: Maximum entries of a list or a section, and maximum size of a number.
MAX_ENTRIES, MAX_NUMBER = 64, 1e100
#: Maximum of the numbers that are pixels, and their keys.
MAX_PIXELS, _PIXELS = 256.0, ("text_size", "line_width", "point_size")


class RefusedChange(ViewerError):  # noqa: N818
    """Change that was not applied; `path` is the control that caused it."""


def check_limits(section: Any, path: KeyPath) -> None:
    """Raise `RefusedChange` for the first value of a section that is beyond a limit."""
    if len(json.dumps(section, default=str)) > MAX_BYTES:
        raise RefusedChange(f"has more than {MAX_BYTES // 1024} kB; remove some of it", path)
    _check_value(section, path)


def _check_value(value: Any, path: KeyPath) -> None:
    key = path[-1]
    if isinstance(value, str):
        is_expression = key == "expression" or (path[0] == "sources" and len(path) == 2)
        longest = MAX_LENGTH if is_expression else MAX_TEXT
        if len(value) > longest:
            raise RefusedChange(
                f"has {len(value)} characters, and the maximum is {longest}; shorten it", path
            )
    elif isinstance(value, int | float):
        largest = MAX_PIXELS if key in _PIXELS else MAX_NUMBER
        if abs(value) > largest:
            raise RefusedChange(f"is beyond the largest number, {largest:g}", path)
    elif isinstance(value, list | tuple | Mapping):
        if len(value) > MAX_ENTRIES:
            raise RefusedChange(
                f"has {len(value)} entries, and the maximum is {MAX_ENTRIES}; remove some", path
            )
        named = value.items() if isinstance(value, Mapping) else enumerate(value)
        for name, inside in named:
            if len(str(name)) > MAX_KEY:
                raise RefusedChange(f"has a name of more than {MAX_KEY} characters", path)
            _check_value(inside, (*path, name))


def check_sources(
    sources: Mapping[str, SourceSettings],
    before: Mapping[str, SourceSettings],
    stream: Stream | None,
) -> None:
    """Raise `RefusedChange` for a changed source, or one that uses it, that cannot be computed.

    Args:
        sources: the changed section.
        before: the section before the change; its own mistakes do not count.
        stream: content of the stream; None while it is not known: names are not checked then.
    """
    changed = {name for name in {*sources, *before} if sources.get(name) != before.get(name)}
    affected = [
        name
        for name in sources
        if changed & (used_sources(sources, [name]).keys() | used_sources(before, [name]).keys())
    ]
    try:
        if stream is not None:
            Graph(stream, used_sources(sources, affected))
            return
        for name in affected:
            if (expression := sources[name].expression) is not None:
                FieldExpression(expression)
    except PipelineError as error:
        raise RefusedChange(str(error), error.path or ("sources", name)) from error
