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
    ordered = sorted(
        sections(name), key=lambda section: order.index(section.path.split(".")[0] or kind)
    )
    shown: set[object] = set()
    for section in ordered:
        lines += _section(section, values, shown)
    return "\n".join(lines) + "\n"


def _section(section: SectionKeys, values: Mapping[str, Any], shown: set[object]) -> Iterator[str]:
    """Yield the lines of a section; all of them are comments if the example has no such section.

    Args:
        section: the section.
        values: the example.
        shown: paths and kinds of the sections before, to which this one is added. The second
            section of a kind is one line, as is a section below one that is a comment.
    """
    above, _, name = section.path.rpartition(".")
    if section.path in shown or not _is_written(above, values):
        return
    outside = _at(above, values)
    shown.add(section.path)
    if name == "NAME":
        yield from _named(above, outside, section)
        return
    given = outside.get(name, {}) if name else values
    indent, inner = "  " * above.count(".") + ("  " if above else ""), ("  " if name else "")
    mark = "" if given else "# "
    if name and not above:
        yield ""
    kind = (section.meaning, tuple(key.path.rpartition(".")[2] for key in section.keys))
    if above and kind in shown:
        yield f"{indent}{mark}{name}: {inline(given or None)}"
        return
    shown.add(kind)
    if name:
        yield from _lines(f"{indent}{mark}{name}:", summary_line(section.meaning))
    yield from _keys(section, given, f"{indent}{mark}{inner}")


def _at(path: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of the example in a section; none if it has no such section."""
    for part in filter(None, path.split(".")):
        values = values.get(part) or {}
    return values


def _is_written(path: str, values: Mapping[str, Any]) -> bool:
    """Return whether a section inside `path` has lines of its own in the template."""
    return path.count(".") == 0 or bool(_at(path, values))


def _named(path: str, entries: Mapping[str, Any], section: SectionKeys) -> Iterator[str]:
    """Yield a section whose keys are names of the user, with one line for each entry."""
    indent = "  " * path.count(".")
    if not path.count("."):
        yield ""
    if not entries:
        comment = "sections by name; docs/reference/case.md lists their keys"
        yield from _lines(f"{indent}# {path.rpartition('.')[2]}: {{}}", comment)
        return
    yield from _lines(f"{indent}{path.rpartition('.')[2]}:", summary_line(section.meaning))
    for name, values in entries.items():
        yield f"{indent}  {name}: {inline(values)}"


def _keys(section: SectionKeys, given: Mapping[str, Any], lead: str) -> Iterator[str]:
    """Yield a line for each key: its value in the example, or its default as a comment."""
    if section.path == "publish":
        for option in OPTION_KEYS:
            if option.key in given:
                yield from _lines(
                    f"{lead}{option.key}: {inline(given[option.key])}", option.meaning
                )
    for key in section.keys:
        last = key.path.rpartition(".")[2]
        if last in given:
            yield from _lines(f"{lead}{last}: {inline(given[last])}", _comment(key))
        else:
            value = key.default.strip("`")
            yield from _lines(f"{lead}{'# ' if given else ''}{last}: {value}", _comment(key))


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
