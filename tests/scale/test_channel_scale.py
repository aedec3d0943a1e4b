"""Transforms and tridiagonal solves of the channel on 64 simulated ranks."""

from __future__ import annotations

import re
from pathlib import Path

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
    pattern = r"transforms ([\d.]+) ms, solve ([\d.]+) ms, (\d+) messages along z, (\d+) wrong, "
    match = re.match(pattern, output)
    assert match is not None, output
    assert (int(match[3]), int(match[4])) == (messages, 0)
    assert float(match[1]) > 0
    assert float(match[2]) > 0


def test_without_transposes_along_z_a_rank_in_the_column_sends_fewer_messages() -> None:
    # 64 ranks in one column: 496 modes in 8 chunks, against two all-to-alls of 63 messages.
    for scheme, messages in (("pipelined", 8), ("transpose", 126)):
        output = simulation.run("channel", "torus", 64, "32", "32", "128", "1", scheme, limit=120)
        assert f" {messages} messages along z, 0 wrong, " in output


def test_half_of_the_messages_time_is_hidden_behind_computing(tmp_path: Path) -> None:
    machine = simulation.platform(tmp_path, "torus", 64)

    def milliseconds(batch: int, nanoseconds: int) -> float:
        words = ("32", "32", "128", "8", "none", "1", str(batch), *2 * (str(nanoseconds),))
        output = simulation.run_on(machine, simulation.NETWORK, "channel", 64, *words, limit=120)
        found = re.match(r"transforms ([\d.]+) ms.* 0 wrong", output)
        assert found is not None, output
        return float(found[1])

    # A rank has 16 planes of 32² points, shared by 8 ranks: 2048 in rows, 1024 in columns.
    messages, computing = milliseconds(1, 0), (2048 + 1024) * 100e-6
    assert milliseconds(1, 100) == pytest.approx(messages + computing, rel=0.01)
    assert computing < milliseconds(-1, 100) < computing + messages / 2


def test_twice_the_ranks_send_by_the_same_algorithm(tmp_path: Path) -> None:
    # The selector sends messages one after the other from 64 ranks on: 63 latencies, and not one.
    def microseconds(ranks: int) -> float:
        file, hosts = tmp_path / "node.xml", tmp_path / "hosts"
        file.write_text(simulation.shared_node(1, 1e-6))
        hosts.write_text("node\n" * ranks)
        machine = ["-platform", str(file), "-hostfile", str(hosts)]
        words = ("network", ranks, "1", "allv", "8")
        output = simulation.run_on(machine, simulation.NETWORK, *words, limit=120)
        return float(output.split()[2])

    assert microseconds(64) == pytest.approx(microseconds(32), rel=0.1)
