"""Tables on terminals of any width."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text


def print_table(table: Table, console: Console) -> None:
    """Print a table, or its rows as lists of values where its words do not fit the width."""
    if sum(map(_narrowest, table.columns)) + 3 * len(table.columns) + 1 <= console.width:
        console.print(table)
        return
    if table.title:
        console.print(table.title, markup=False)
    names = [str(column.header) for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        first, *others = map(_plain, cells)
        if first:
            console.print(f"{names[0]} {first}".strip(), markup=False)
        lead = "- "
        for name, value in zip(names[1:], others, strict=True):
            if value:
                console.print(f"{lead}{name}: {value}", markup=False)
                lead = "  "
    if table.caption:
        console.print(table.caption, markup=False)


def _narrowest(column: Column) -> int:
    """Return the width of the longest cell of a column, or of its longest word if it may wrap."""
    texts = [_plain(column.header), *map(_plain, column.cells)]
    parts = texts if column.no_wrap else [word for text in texts for word in text.split()]
    return max(map(cell_len, parts), default=0)


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
