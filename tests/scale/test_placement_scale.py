"""Default and placed ranks on 96 simulated nodes of a Tofu-D."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import simulation

from uzushio.placement import TofuD, pencils, place, simgrid

pytestmark = pytest.mark.skipif(
    not simulation.available(), reason="SimGrid is not installed (libsimgrid-dev)"
)

#: Bandwidth of a link in bytes a second, and points of a plane in x and y.
BANDWIDTH, SIDE = 1e5, 96


def test_all_to_alls_take_the_load_of_the_busiest_link(tmp_path: Path) -> None:
    machine = TofuD((2, 2, 2))
    placed = place(machine, pencils(12, 8))
    file = tmp_path / "machine.xml"
    file.write_text(simgrid.platform(machine, "100kBps", "1us"))
    # Forward and back, a complex value for each mode: half the modes of a real plane.
    message = 16 * (SIDE // 12) * (SIDE // 2 // 12)
    for node, figures in ((placed.node, placed.after), (placed.default, placed.before)):
        hosts = tmp_path / "hosts"
        hosts.write_text(simgrid.hosts(machine, node))
        output = simulation.run_on(
            ["-platform", str(file), "-hostfile", str(hosts)],
            simulation.NETWORK,
            "channel",
            96,
            *(str(SIDE), str(SIDE), "8", "12", "none", "1"),
            limit=120,
        )
        found = re.search(r"transforms ([\d.]+) ms.* 0 wrong", output)
        assert found is not None, output
        seconds = 2 * message * figures[0].max_load / BANDWIDTH
        assert float(found[1]) / 1e3 == pytest.approx(seconds, rel=0.1)
