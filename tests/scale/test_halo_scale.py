"""Halo exchange and redistribution on 64 simulated ranks."""

from __future__ import annotations

import pytest
import simulation

pytestmark = pytest.mark.skipif(
    not simulation.available(), reason="SimGrid is not installed (libsimgrid-dev)"
)


def test_each_of_64_ranks_exchanges_one_message_with_each_neighbour() -> None:
    # 4 x 4 x 4 blocks of a periodic cube: neighbours at 6 faces, 12 edges and 8 corners.
    output = simulation.run("halo", "torus", 64, "16", limit=120)
    assert output.startswith("26 messages, 0 wrong, ")
