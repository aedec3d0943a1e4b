"""Files that are replaced atomically."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from uzushio._base.files import atomic_file, atomic_write


def test_a_file_is_replaced_completely_and_nothing_else_remains(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old and longer\n")
    atomic_write(path, "µ\n")
    assert path.read_text(encoding="utf-8") == "µ\n"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_a_private_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    atomic_write(tmp_path / "contact", "secret", mode=0o600)
    assert stat.S_IMODE((tmp_path / "contact").stat().st_mode) == 0o600


def test_the_old_file_remains_while_the_new_one_is_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "figure.png"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_file(path) as fresh:
        assert fresh.parent == tmp_path and fresh.suffix == ".png" and fresh.name.startswith(".")
        fresh.write_text("half")
        assert path.read_text() == "old"
        raise KeyboardInterrupt
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["figure.png"]


def test_an_error_names_the_file_that_was_requested(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "none/file"):
        with pytest.raises(OSError) as raised:
            atomic_write(path, "text")
        assert raised.value.filename == str(path)
    assert os.listdir(tmp_path) == ["folder"]


def test_an_error_in_the_block_names_its_own_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised, atomic_file(tmp_path / "copy"):
        (tmp_path / "source").read_text()
    assert raised.value.filename == str(tmp_path / "source")
