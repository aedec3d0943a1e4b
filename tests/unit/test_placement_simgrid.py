"""Machines and placements as files of SimGrid."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import Run

from uzushio.errors import PlacementError
from uzushio.placement import Dragonfly, FatTree, TofuD, Torus, simgrid


@pytest.mark.parametrize(
    ("machine", "topology", "sizes"),
    [
        (Torus((2, 3, 4)), "TORUS", "2,3,4"),
        (TofuD((1, 8, 1)), "TORUS", "8,2,3,2"),  # without axes of one node
        (TofuD((8, 8, 8)), "TORUS", "8,8,8,2,3,2"),  # a and c have two nodes: one link
        (FatTree((16, 8), (1, 4)), "FAT_TREE", "2;16,8;1,4;1,1"),
        (Dragonfly(4, 6, 2), "DRAGONFLY", "4,1;1,1;6,1;2"),
    ],
)
def test_a_machine_becomes_a_cluster_of_its_topology(
    machine: Torus, topology: str, sizes: str
) -> None:
    text = simgrid.platform(machine, "5GBps", "2us")
    assert f'topology="{topology}" topo_parameters="{sizes}"' in text
    assert f'radical="0-{machine.size - 1}"' in text
    assert 'bw="5GBps" lat="2us"' in text


def test_hosts_of_a_torus_are_numbered_with_the_first_axis_fastest() -> None:
    machine = Torus((2, 3, 4))
    nodes = machine.node_at(np.array([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, 3)]))
    assert simgrid.hosts(machine, nodes).split() == ["node-1", "node-2", "node-6", "node-23"]


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (Torus((4, 4), periodic=(True, False)), "the axis y of .* is a mesh"),
        (Dragonfly(17, 12, 4), "at least 17 routers a group"),
    ],
)
def test_a_machine_that_simgrid_does_not_have_is_an_error(machine: Torus, message: str) -> None:
    with pytest.raises(PlacementError, match=message):
        simgrid.platform(machine)


@pytest.mark.parametrize("link", [("fast", "1us"), ("1GBps", "1"), ('1GBps"', "1us")])
def test_a_link_needs_units(link: tuple[str, str]) -> None:
    with pytest.raises(PlacementError, match="of a link is not of the form"):
        simgrid.platform(Torus((2, 2)), *link)


def test_the_command_writes_platform_and_hosts(uzushio: Run, tmp_path: Path) -> None:
    file = tmp_path / "machine.xml"
    options = ["--machine", "tofu-d:2x2x2", "--pencils", "12x8", "--simgrid", str(file)]
    done = uzushio("place", *options, "--link", "5GBps,1us", "--quiet")
    assert done.returncode == 0, done.stderr
    assert 'bw="5GBps"' in file.read_text()
    everything = {f"node-{number}" for number in range(96)}
    for name in ("machine.hosts", "machine.default.hosts"):
        assert set((tmp_path / name).read_text().split()) == everything
    # The first group of 12 ranks fills a unit: its hosts differ in a, b, c alone.
    first = (tmp_path / "machine.hosts").read_text().split()[:12]
    assert len({int(re.sub(r"\D", "", host)) % 8 for host in first}) == 1
