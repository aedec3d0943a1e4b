"""Rows of the page's tables, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from uzushio._base.parallel.section_rows import section_rows
from uzushio.report import words

#: Name, value and length in percent of the longest bar.
Bar = tuple[str, str, float]


class SummaryPart(NamedTuple):
    """Entries of a summary that belong together: bars of seconds, or a table of all else."""

    title: str
    bars: Sequence[Bar] = ()
    rows: Sequence[Sequence[str]] = ()
    head: Sequence[str] = ()
    numbers: int = 1


def facts(values: Mapping[str, object], keys: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """Return keys and values of a summary."""
    chosen = values.keys() if keys is None else [key for key in keys if key in values]
    return [(words.name(key), words.value(key, values[key])) for key in chosen]


def plain_facts(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return keys and values of the entries without entries of their own."""
    return facts({key: value for key, value in values.items() if not isinstance(value, Mapping)})


def bars(seconds: Mapping[str, float]) -> list[Bar]:
    """Return bars, the longest first."""
    ordered = sorted(seconds.items(), key=lambda item: -item[1])
    longest = max((value for _, value in ordered), default=0.0) or 1.0
    return [(name, words.duration(value), 100.0 * value / longest) for name, value in ordered]


def sections(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of the sections of a run, those inside others indented."""
    return [(first.replace("  ", "\u2003"), *rest) for first, *rest in section_rows(data)]


def nested(results: Mapping[str, Any]) -> list[SummaryPart]:
    """Return the entries that have entries of their own."""
    return [_part(key, values) for key, values in results.items() if isinstance(values, Mapping)]


def _part(key: str, values: Mapping[str, Any]) -> SummaryPart:
    title = words.name(key)
    if values and all(isinstance(value, Mapping) for value in values.values()):
        columns = [
            name
            for name in dict.fromkeys(name for value in values.values() for name in value)
            if not any(isinstance(value.get(name), Mapping) for value in values.values())
        ]
        rows = [
            (words.name(name), *(words.value(column, value.get(column)) for column in columns))
            for name, value in values.items()
        ]
        return SummaryPart(title, (), rows, ("", *map(words.name, columns)), len(columns))
    if key.startswith("seconds") and all(
        isinstance(value, (int, float)) for value in values.values()
    ):
        return SummaryPart(title, bars(values))
    return SummaryPart(title, (), facts(values))
