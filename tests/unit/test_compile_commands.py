"""Commands that compile the C++ files."""

from __future__ import annotations

import json
from pathlib import Path

COMMANDS = Path(__file__).parents[2] / "build/release/compile_commands.json"


def test_files_without_contraction_use_no_precompiled_header() -> None:
    """GCC takes the option from the header: sums would depend on where in a row a value lies."""
    commands = [entry["command"] for entry in json.loads(COMMANDS.read_text())]
    without = [command for command in commands if "-ffp-contract=off" in command]
    assert len(without) > 20
    assert not [command for command in without if "cmake_pch" in command]
    assert any("cmake_pch" in command for command in commands)
