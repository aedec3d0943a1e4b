"""Transforms and tridiagonal solves of the channel on 64 simulated ranks."""

from __future__ import annotations

import re

import pytest
import simulation

pytestmark = pytest.mark.skipif(
    not simulation.available(), reason="SimGrid is not installed (libsimgrid-dev)"
)


@pytest.mark.parametrize(
    ("scheme", "messages"),
    [
        ("pipelined", 1),  # one chunk of modes, to the neighbour above
        ("transpose", 2 * 7),  # to the column's 7 other ranks, there and back
        ("partitioned", 2 * 7),
    ],
)
def test_8_by_8_ranks_transform_planes_and_solve_columns(scheme: str, messages: int) -> None:
    arguments = ("32", "32", "128", "8", scheme)
    output = simulation.run("channel", "torus", 64, *arguments, limit=120)
    pattern = r"transforms ([\d.]+) ms, solve ([\d.]+) ms, (\d+) messages along z, (\d+) wrong\n"
    match = re.fullmatch(pattern, output)
    assert match is not None, output
    assert (int(match[3]), int(match[4])) == (messages, 0)
    assert float(match[1]) > 0
    assert float(match[2]) > 0


def test_without_transposes_along_z_a_rank_in_the_column_sends_fewer_messages() -> None:
    # 64 ranks in one column: 496 modes in 8 chunks, against two all-to-alls of 63 messages.
    for scheme, messages in (("pipelined", 8), ("transpose", 126)):
        output = simulation.run("channel", "torus", 64, "32", "32", "128", "1", scheme, limit=120)
        assert output.endswith(f" {messages} messages along z, 0 wrong\n"), output
