"""The order of the rooms of the Python package, which pyproject.toml states."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_rooms_import_only_rooms_below_them() -> None:
    done = subprocess.run(
        ["lint-imports", "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout
    assert "Contracts: 3 kept, 0 broken" in done.stdout
