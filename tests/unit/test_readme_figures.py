"""The README's figures are those of the pages that it links to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def figures() -> Iterator[tuple[str, str, Path]]:
    """Yield name, value and page of each row; a row without a page has that of the row above."""
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("| figure | value |")[2]
    page = None
    for line in table.partition("\n\n")[0].splitlines()[2:]:
        name, value, _, script = (cell.strip() for cell in line.strip("|").split("|"))
        if link := re.search(r"\((docs/[^)#]+)\)", script):
            page = ROOT / link[1]
        assert page is not None, name
        yield name, value, page


ROWS = list(figures())


def test_the_table_is_found() -> None:
    assert len(ROWS) >= 10


@pytest.mark.parametrize(("name", "value", "page"), ROWS, ids=[name for name, *_ in ROWS])
def test_each_figure_stands_on_its_page(name: str, value: str, page: Path) -> None:
    on_page = set(NUMBER.findall(page.read_text(encoding="utf-8")))
    missing = [number for number in NUMBER.findall(value) if number not in on_page]
    assert not missing, f"{page.name} has no {', '.join(missing)} for '{name}: {value}'"
