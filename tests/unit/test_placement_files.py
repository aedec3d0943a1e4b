"""Files of placements: nodes of a job, traffic, files of launchers, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Run

from uzushio.errors import PlacementError
from uzushio.placement import (
    Dragonfly,
    TofuD,
    Torus,
    launchers,
    pencils,
    place,
    read_nodes,
    read_slurm,
    read_traffic,
    write_traffic,
)

HEADER = "%%MatrixMarket matrix coordinate real general\n"


def test_nodes_of_a_job_are_read_by_coordinates_and_by_names(tmp_path: Path) -> None:
    file = tmp_path / "nodes"
    file.write_text("# rank 0 first\n(1, 0, 1, 0, 2, 1)\n\n0 0 0 1 0 0  # corner\n")
    machine = TofuD((2, 1, 2))
    coordinates = machine.coordinates[read_nodes(file, machine)]
    np.testing.assert_array_equal(coordinates, [[1, 0, 1, 0, 2, 1], [0, 0, 0, 1, 0, 0]])
    file.write_text("b\na\n")
    np.testing.assert_array_equal(read_nodes(file, read_slurm("SwitchName=s Nodes=a,b")), [1, 0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no nodes"),
        ("0 0 0", "'0 0 0' is not a node of Tofu-D"),
        ("2 0 0 0 0 0", r"has no node \(2, 0, 0, 0, 0, 0\)"),
        ("0 0 0 0 0 -1", "has no node"),
        ("0 0 0 0 0 1\n0 0 0 0 0 1", "twice"),
    ],
)
def test_coordinates_that_are_no_nodes_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "nodes").write_text(text)
    with pytest.raises(PlacementError, match=words):
        read_nodes(tmp_path / "nodes", TofuD((2, 1, 1)))


def test_traffic_that_is_written_is_read_again(tmp_path: Path) -> None:
    source, target, sent = np.array([0, 2, 1]), np.array([1, 0, 1]), np.array([3.5, 1e12, 8.0])
    write_traffic(tmp_path / "halo.mtx", 3, source, target, sent)
    pattern = read_traffic([tmp_path / "halo.mtx"], 3)
    phase = pattern.phases[0]
    assert (pattern.ranks, phase.name) == (3, "halo")
    np.testing.assert_array_equal(phase.source, [0, 2])  # none to a rank itself
    np.testing.assert_array_equal(phase.target, [1, 0])
    np.testing.assert_array_equal(phase.sent, [3.5, 1e12])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 1 1\n", "its first line must be"),
        (HEADER + "4 4\n", "is damaged"),
        (HEADER + "4 5 0\n", "4 rows and 5 columns; traffic is square"),
        (HEADER + "4 4 2\n1 2 3\n", "announces 2 entries and has 1"),
        (HEADER + "4 4 1\n1 5 3\n", "not between 1 and 4"),
        (HEADER + "4 4 1\n1 2 -3\n", "negative or no number"),
        (HEADER + "4 4 1\n1 2 3\n", "the traffic of 4 ranks, but the job has 8"),
    ],
)
def test_traffic_that_does_not_fit_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.mtx").write_text(text)
    with pytest.raises(PlacementError, match=words):
        read_traffic([tmp_path / "t.mtx"], 8)


def test_files_of_launchers_name_the_node_of_each_rank() -> None:
    machine = TofuD((1, 2, 2), periodic=False)
    nodes = machine.default_order()
    placed = place(machine, pencils(24, 4), nodes=nodes, per_node=2)
    lines = launchers.fujitsu_coordinates(placed, nodes).split()
    logical = np.array([eval(line) for line in lines])
    np.testing.assert_array_equal(logical, machine.logical[placed.node])
    names = [f"n{number:02}" for number in range(48)]
    hosts = launchers.host_lines(placed, nodes, names).split()
    number = np.argsort(nodes)[placed.node]
    assert hosts == [names[node] for node in number]
    ranks = launchers.open_mpi_ranks(placed, nodes, names, threads=3).splitlines()
    assert ranks[5] == f"rank 5={hosts[5]} slot={'3-5' if hosts[5] in hosts[:5] else '0-2'}"
    assert len({line.split("=", 1)[1] for line in ranks}) == 96
    assert launchers.open_mpi_ranks(placed, nodes, None).startswith(f"rank 0=+n{number[0]} slot=0")


def test_the_order_of_cray_fills_the_launchers_nodes_with_the_placed_ranks() -> None:
    machine = TofuD((1, 2, 2), periodic=False)
    placed = place(machine, pencils(24, 4), per_node=2)
    order = [int(rank) for rank in launchers.cray_order(placed).split(",")]
    np.testing.assert_array_equal(placed.node[order], np.repeat(machine.default_order(), 2))


def test_a_coordinate_file_needs_the_shape_of_the_job() -> None:
    machine = Dragonfly(3, 2, 2)
    placed = place(machine, pencils(4, 3))
    nodes = machine.default_order()
    with pytest.raises(PlacementError, match="give --shape"):
        launchers.fujitsu_coordinates(placed, nodes)
    assert len(launchers.fujitsu_coordinates(placed, nodes, (3, 4)).split()) == 12


def test_a_permutation_is_read_as_it_was_written(tmp_path: Path) -> None:
    launchers.write_permutation(tmp_path / "p", np.array([2, 0, 1]))
    np.testing.assert_array_equal(launchers.read_permutation(tmp_path / "p"), [2, 0, 1])
    for text, words in (("0\n0\n", "does not name each"), ("0\nx\n", "'x' is no rank")):
        (tmp_path / "p").write_text(text)
        with pytest.raises(PlacementError, match=words):
            launchers.read_permutation(tmp_path / "p")


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_prints_figures_and_writes_files_and_pictures(
    uzushio: Run, tmp_path: Path
) -> None:
    options = ("--machine", "tofu-d:2x2x1", "--mesh", "xyz", "--pencils", "12x4")
    done = uzushio("place", *options, "--out", "placed")
    assert done.returncode == 0, done.stderr
    assert "all-to-all in groups" in done.stdout and "gain" in done.stdout
    figures = json.loads((tmp_path / "placed/placement.json").read_text())
    chain = figures["phases"][1]
    assert chain["placed"]["max_hops"] == 1 < chain["default"]["max_hops"]
    for name in ("placement.png", "link_loads.png"):
        assert (tmp_path / "placed" / name).read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "placed/vcoordfile").read_text().split()) == 48
    assert len(launchers.read_permutation(tmp_path / "placed/permutation.txt")) == 48


def test_the_command_writes_hosts_for_the_nodes_of_slurm(uzushio: Run, tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text("SwitchName=a Nodes=n[0-2]\nSwitchName=b Nodes=m[0-2]")
    (tmp_path / "nodes").write_text("n0\nm0\nn1\nm1\n")
    options = ("--machine", "slurm:topology.conf", "--nodes", "nodes", "--pencils", "2x2")
    done = uzushio("place", *options, "--out", "placed", "--no-pictures")
    assert done.returncode == 0, done.stderr
    hosts = (tmp_path / "placed/hosts").read_text().split()
    assert sorted(hosts) == ["m0", "m1", "n0", "n1"]
    assert hosts[0][0] == hosts[1][0] and hosts[2][0] == hosts[3][0]


def test_the_command_takes_the_messages_of_a_channel(uzushio: Run, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "solver: channel\ngrid: {nx: 16, ny: 16, nz: 24, lx: pi, ly: pi}\n"
        "flow: {reynolds_tau: 100}\ntime: {steps: 1, cfl: 0.4}\n"
        "decomposition: {py: 4, pz: 6}\n"
    )
    machine = ("--machine", "tofu-d:2x1x1", "--ranks", "24", "--json")
    done = uzushio("place", "--case", "c.yaml", *machine)
    assert done.returncode == 0, done.stderr
    sent = [phase["placed"]["sent"] for phase in json.loads(done.stdout)["phases"]]
    # All products and velocities of 16 x 24 x 24 points and more cross the groups in each substep.
    assert sent[0] > 3 * 10 * 8 * 16 * 16 * 24 * 3 / 4 > sent[1] > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--machine", "torus:4x4"), "give the messages of the job by one of"),
        (("--machine", "torus:4x4", "--pencils", "4x5"), "20 ranks do not fit 16 nodes"),
        (("--machine", "torus:4x4", "--halo", "8x8"), "with --ranks"),
        (("--machine", "torus:4x4", "--pencils", "4"), "give sizes with x between them"),
        (
            ("--machine", "torus:4x4", "--halo", "8x8", "--ranks", "4", "--periodic", "z"),
            "axis 'z'",
        ),
    ],
)
def test_the_command_refuses_what_does_not_fit(
    uzushio: Run, options: tuple[str, ...], words: str
) -> None:
    done = uzushio("place", *options)
    assert done.returncode == 1 and words in done.stderr
    assert done.stderr.startswith("uzushio: error: ") and len(done.stderr.splitlines()) == 1


def test_a_torus_of_more_than_three_axes_has_no_coordinate_file() -> None:
    assert launchers.node_shape(place(Torus((2, 2, 2, 2)), pencils(4, 4))) == (2, 2, 2, 2)
