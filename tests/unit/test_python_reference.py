"""The reference page on Python: its examples run, and it lists all that is public."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from conftest import wait
from reference_pages import MARK, python_api, python_names

PAGE = Path(__file__).parents[2] / "docs/reference/python.md"


def test_the_examples_run_from_top_to_bottom(
    start: Callable[..., subprocess.Popen[str]], python: Path, tmp_path: Path
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 7
    (tmp_path / "page.py").write_text("\n".join(blocks))
    done = wait(start(python, "page.py"), 280)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "small 8 ['step-00000006', 'step-00000008']" in done.stdout
    assert "grid.nx: got -3" in done.stdout
    assert "truth 1.0" in done.stdout


def test_the_reference_lists_all_public_names_as_they_are() -> None:
    page = PAGE.read_text()
    assert page.partition(MARK)[2] == python_names(), "run make docs"
    assert PAGE.with_name("python-api.md").read_text() == python_api(), "run make docs"
