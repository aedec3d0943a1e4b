"""Compositing on 64 and 256 simulated ranks of a torus."""

from __future__ import annotations

import pytest
import simulation

pytestmark = pytest.mark.skipif(
    not simulation.available(), reason="SimGrid is not installed (libsimgrid-dev)"
)
SIDE = 128


def test_all_algorithms_give_the_same_picture_on_simulated_ranks() -> None:
    algorithms = [
        "binary_swap",
        "radix_k(8)",
        "binary_tree",
        "multi_step(8, binary_swap, binary_tree)",
        "hybrid(binary_swap)",
    ]
    sums = {
        simulation.simulate("torus", 64, SIDE, algorithm, 16, limit=120)[1]
        for algorithm in algorithms
    }
    assert len(sums) == 1


def test_steps_beat_a_flat_gather_and_a_gather_in_stages_beats_both() -> None:
    def time(algorithm: str, fan_in: int) -> float:
        return simulation.simulate("torus", 256, SIDE, algorithm, fan_in, limit=120)[0]

    flat = time("binary_swap", 256)
    steps = time("multi_step(16, binary_swap, binary_swap)", 256)
    staged = time("radix_k(8)", 16)
    assert steps < flat
    assert staged < steps
