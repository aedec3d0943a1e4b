"""`make dev`: the installed package reads the Python files of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import TESTS

import uzushio


def test_a_change_of_a_python_file_is_seen_without_a_build(tmp_path: Path) -> None:
    checkout, site = tmp_path / "checkout", tmp_path / "site"
    shutil.copytree(TESTS.parent / "python", checkout / "python")
    (checkout / "tools").mkdir()
    shutil.copy(TESTS.parent / "tools/link_python", checkout / "tools")
    installed = Path(uzushio.__file__).parent
    site.mkdir()
    subprocess.run(["cp", "-rs", installed, site], check=True)
    gone = site / "uzushio/gone.py"
    gone.symlink_to(checkout / "python/uzushio/gone.py")

    subprocess.run([checkout / "tools/link_python", site], check=True)
    source = checkout / "python/uzushio/errors.py"
    source.write_text(source.read_text() + "\nCHANGED = 'seen'\n")

    code = (
        "import uzushio, uzushio.errors; from uzushio import _core;"
        "print(uzushio.__file__, uzushio.errors.CHANGED)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [str(site / "uzushio/__init__.py"), "seen"], done.stderr
    assert not gone.is_symlink()
    assert list((site / "uzushio/_core").glob("*.pyi"))  # what the build made is kept


def test_without_a_compiled_package_it_says_what_to_do(tmp_path: Path) -> None:
    done = subprocess.run(
        [TESTS.parent / "tools/link_python", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"uzushio: there is no compiled package in {tmp_path}: run `make")
