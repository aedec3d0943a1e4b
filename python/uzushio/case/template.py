"""Commented cases, for `uzushio init`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from uzushio.case.schema import (
    Key,
    SectionKeys,
    case_model,
    inline,
    kind_key,
    sections,
    summary_line,
)
from uzushio.errors import CaseError
from uzushio.staging.option_keys import OPTION_KEYS

#: Column in which the comments of keys begin.
_COMMENTS = 28
_WIDTH = 100


def template(name: str) -> str:
    """Return a commented case: the example of a solver or model, and all other keys as comments.

    Raises:
        CaseError: there is no such solver or model, or it has no example.
    """
    model, kind = case_model(name), kind_key(name)
    if not model.example:
        raise CaseError(
            f"{kind} {name} has no example case; docs/reference/case.md lists its keys."
        )
    values = {kind: name, **model.example}
    command = "assimilate" if kind == "model" else "run"
    lines = [
        f"# {summary_line(model.__doc__)} A key after a # has its default.",
        f"# uzushio check FILE prints what the case needs, uzushio {command} FILE computes it.",
    ]
    order = [*values, *model.model_fields]
    found = sorted(
        sections(name), key=lambda section: order.index(section.path.split(".")[0] or kind)
    )
    for section in found:
        lines += _section(section, values)
    return "\n".join(lines) + "\n"


def _section(section: SectionKeys, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a section; all of them are comments if the example has no such section."""
    name, _, named = section.path.partition(".")
    given = values.get(name, {}) if name else values
    mark, indent = ("" if given else "# "), ("  " if name else "")
    if name:
        yield ""
        yield from _lines(f"{mark}{name}:", summary_line(section.meaning))
    if named:
        for each, entries in given.items():
            yield f"  {each}: {inline(entries)}"
        return
    if name == "publish":
        for one in OPTION_KEYS:
            if one.key in given:
                yield from _lines(f"{indent}{one.key}: {inline(given[one.key])}", one.meaning)
    for key in section.keys:
        last = key.path.rpartition(".")[2]
        if last in given:
            yield from _lines(f"{indent}{last}: {inline(given[last])}", _comment(key))
        else:
            value = key.default.strip("`")
            yield from _lines(
                f"{mark}{indent}{'# ' if given else ''}{last}: {value}", _comment(key)
            )


def _comment(key: Key) -> str:
    return key.meaning if key.unit == "–" else f"{key.meaning} [{key.unit}]"


def _lines(text: str, comment: str) -> Iterator[str]:
    """Yield a key followed by its comment, or the comment first if the line would be too long."""
    line = f"{text:<{_COMMENTS}}  # {comment}"
    if len(line) <= _WIDTH:
        yield line
        return
    indent = " " * (len(text) - len(text.lstrip()))
    yield from textwrap.wrap(
        comment, _WIDTH, initial_indent=f"{indent}## ", subsequent_indent=f"{indent}## "
    )
    yield text
