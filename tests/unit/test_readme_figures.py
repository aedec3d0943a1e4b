"""The README's figures are those of the pages that it links to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import readme_figures

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


def test_the_table_is_that_of_the_script() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme_figures.write(readme) == readme, "run make docs"


def test_the_table_follows_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("performance", "validation"):
        shutil.copytree(ROOT / "docs" / folder, tmp_path / folder)
    page = tmp_path / "performance/channel.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(
        re.sub(r"(step over floor.. \| ..)[\d.]+", r"\g<1>9.87", text), encoding="utf-8"
    )
    monkeypatch.setattr(readme_figures, "DOCS", tmp_path)
    before, after = readme_figures.README.read_text(encoding="utf-8"), readme_figures.table()
    changed = [line for line in after.splitlines() if line not in before]
    assert [line.partition(" |")[0] for line in changed] == ["| one step at 128³, 1 and 2 ranks"]
    assert "| 9.87, " in changed[0]
