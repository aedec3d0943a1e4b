"""`uzushio place`: where each rank of a job belongs on the machine's network."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uzushio._base.files import atomic_write
from uzushio._base.parallel.console import standard_console
from uzushio._base.terminal import print_table, tell
from uzushio._cli.arguments import Overrides, path_option
from uzushio._job.options import Quiet
from uzushio.errors import OutputError, PlacementError

if TYPE_CHECKING:
    from uzushio.placement import Machine, Pattern, Placement

PERMUTATION = "permutation.txt"
_SIZES = re.compile(r"\d{1,7}(x\d{1,7})*")


def place(
    machine: Annotated[
        str,
        typer.Option(
            metavar="KIND:SIZES",
            help="tofu-d:8x8x8 (units), torus:16x16x8, mesh:16x16, fat-tree:16x8x4/1x4x2 (children "
            "/ parents a level), dragonfly:33x8x4 (groups, routers, nodes), slurm:FILE "
            "(topology.conf or scontrol show topology).",
        ),
    ],
    meshes: Annotated[
        str, typer.Option("--mesh", metavar="AXES", help="Axes that are meshes, as xz.")
    ] = "",
    nodes: Annotated[
        Path | None,
        path_option(
            metavar="FILE",
            help="Nodes of the job in the launcher's order: a line with coordinates or a name "
            "each. Default: all nodes.",
        ),
    ] = None,
    names: Annotated[
        Path | None,
        path_option(metavar="FILE", help="Names of these nodes, a line each, for host files."),
    ] = None,
    per_node: Annotated[int, typer.Option(min=1, help="Ranks of a node.")] = 1,
    case: Annotated[
        Path | None,
        path_option(metavar="CASE.yaml", help="Messages of a case of the channel, on --ranks."),
    ] = None,
    overrides: Overrides = None,
    ranks: Annotated[int | None, typer.Option(min=1, help="Number of ranks.")] = None,
    pencils: Annotated[
        str, typer.Option(metavar="PYxPZ", help="All-to-alls in groups of Py; shifts along z.")
    ] = "",
    halo: Annotated[
        str,
        typer.Option(metavar="NXxNYxNZ", help="Halo exchange of so many cells on --ranks."),
    ] = "",
    periodic: Annotated[
        str, typer.Option(metavar="AXES", help="Periodic axes of --halo, as xy.")
    ] = "",
    binary_swap: Annotated[
        bool, typer.Option("--binary-swap", help="Binary-swap compositing on --ranks.")
    ] = False,
    traffic: Annotated[
        list[Path] | None,
        path_option(metavar="FILE", help="Recorded traffic (Matrix Market). Repeatable: phases."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="auto, packed, scotch, or default (no change).")
    ] = "auto",
    rounds: Annotated[int, typer.Option(min=0, help="Maximum rounds of the local search.")] = 60,
    in_run: Annotated[
        bool,
        typer.Option(
            "--in-run",
            help="Exchange ranks inside the run (parallel.placement) only: no others "
            "than the nodes that the launcher fills are used.",
        ),
    ] = False,
    shape: Annotated[
        str, typer.Option(metavar="NXxNYxNZ", help="Node shape of the job, for --vcoordfile.")
    ] = "",
    out: Annotated[
        Path | None, path_option(metavar="DIR", help="Folder for files of launchers and pictures.")
    ] = None,
    simgrid: Annotated[
        Path | None,
        path_option(
            metavar="FILE.xml",
            help="Platform file of SimGrid. Beside it FILE.hosts and FILE.default.hosts: the host "
            "of each rank, placed and by default.",
        ),
    ] = None,
    link: Annotated[
        str,
        typer.Option(metavar="BANDWIDTH,LATENCY", help="Links of --simgrid. Default: of Tofu-D."),
    ] = "6.8GBps,0.5us",
    pictures: Annotated[bool, typer.Option(help="Draw pictures into --out.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Place the ranks of a job on the nodes of a machine.

    Prints hops, hop-bytes and loads of links, by default and placed, and writes files for launchers
    and for parallel.placement of a case. docs/how-to/placement.md describes them.
    """
    from uzushio.placement import place as place_ranks
    from uzushio.placement import read_machine, read_nodes, report

    network = read_machine(machine, meshes)
    job = None if nodes is None else read_nodes(nodes, network)
    given = [case, pencils, halo, binary_swap, traffic]
    if sum(map(bool, given)) != 1:
        raise PlacementError(
            "give the messages of the job by one of --case, --pencils, --halo, --binary-swap and "
            "--traffic."
        )
    pattern = _pattern(case, overrides or [], ranks, pencils, halo, periodic, traffic)
    placed = place_ranks(
        network,
        pattern,
        nodes=job,
        per_node=per_node,
        method=method,
        rounds=rounds,
        exchange=in_run,
    )
    if as_json:
        print(json.dumps(report.summary(placed), indent=2))
    elif not quiet:
        print_table(report.table(placed), standard_console(highlight=False))
        for line in report.sentences():
            tell(line)
    if simgrid is not None:
        for line in _write_simgrid(simgrid, link, placed):
            if not (quiet or as_json):
                tell(line)
    if out is not None:
        hosts = None if names is None else _names(names, network, job)
        sizes = [int(size) for size in _sizes("--shape", shape)] if shape else None
        for line in _write(out, placed, job, hosts, sizes, pictures):
            if not (quiet or as_json):
                tell(line)


def _pattern(
    case: Path | None,
    overrides: list[str],
    ranks: int | None,
    pencils: str,
    halo: str,
    periodic: str,
    traffic: list[Path] | None,
) -> Pattern:
    """Return the messages that the options describe."""
    from uzushio import placement

    if traffic:
        return placement.read_traffic(traffic, ranks)
    if pencils:
        sizes = _sizes("--pencils", pencils, 2)
        if ranks not in (None, sizes[0] * sizes[1]):
            raise PlacementError(
                f"--pencils {pencils} has {sizes[0] * sizes[1]} ranks, not {ranks}."
            )
        return placement.pencils(*sizes)
    if ranks is None:
        raise PlacementError("say on how many ranks the job runs, with --ranks.")
    if case is not None:
        return _pattern_of_case(case, overrides, ranks)
    if halo:
        cells = _sizes("--halo", halo)
        axes = "xyzuvw"[: len(cells)]
        if wrong := sorted(set(periodic) - set(axes)):
            raise PlacementError(f"--periodic {periodic}: there is no axis {wrong[0]!r} in {axes}.")
        starts, stops = placement.boxes(cells, placement.process_grid(ranks, cells))
        return placement.halo(starts, stops, periodic=[axis in periodic for axis in axes])
    return placement.binary_swap(ranks)


def _pattern_of_case(file: Path, overrides: list[str], ranks: int) -> Pattern:
    """Return the messages of a step of a channel, from the solver's own estimate."""
    from uzushio.case import registry
    from uzushio.case.model import load_case
    from uzushio.placement import pencils

    case = load_case(file, overrides)
    if case.solver != "channel":
        raise PlacementError(
            f"--case takes a case of the channel, not of {case.solver}; describe the messages of "
            "others with --halo, or record them for --traffic."
        )
    from uzushio.solvers.channel.decomposition import decompose

    chosen: Any = decompose(case, ranks)  # type: ignore[arg-type]
    traffic = registry.solver_class("channel").estimate(case, ranks).traffic
    sent = {kind: amount.bytes for kind, amount in traffic.items()}
    in_planes = sum(count for kind, count in sent.items() if "xy" in kind)
    along_z = sum(count for kind, count in sent.items() if kind == "halo" or kind.endswith(" z"))
    neighbours = 2 if chosen.pz > 2 else 1  # the busiest rank has neighbours on both sides
    return pencils(chosen.py, chosen.pz, in_planes / max(1, chosen.py - 1), along_z / neighbours)


def _sizes(option: str, text: str, count: int | None = None) -> list[int]:
    if not _SIZES.fullmatch(text) or count not in (None, text.count("x") + 1):
        raise PlacementError(f"{option} {text}: give sizes with x between them, as 12x512.")
    return [int(size) for size in text.split("x")]


def _names(path: Path, machine: Machine, job: Any) -> list[str]:
    from uzushio.placement.machines.description import read_text

    names = read_text(path).split()
    count = machine.size if job is None else len(job)
    if len(names) != count:
        raise PlacementError(f"{path} has {len(names)} names, but the job has {count} nodes.")
    return names


def _write_simgrid(file: Path, link: str, placed: Placement) -> list[str]:
    """Write a machine and the hosts of the ranks for SimGrid; return a sentence on each file."""
    from uzushio.placement.simgrid import hosts, platform

    bandwidth, comma, latency = link.partition(",")
    if not comma:
        raise PlacementError(f"--link {link}: give bandwidth and latency, as 6.8GBps,0.5us.")
    placed_hosts = file.with_suffix(".hosts")
    files = {
        file: platform(placed.machine, bandwidth, latency),
        placed_hosts: hosts(placed.machine, placed.node),
        file.with_suffix(".default.hosts"): hosts(placed.machine, placed.default),
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{file.parent} cannot be made ({error.strerror}).") from error
    for path, text in files.items():
        atomic_write(path, text)
    how = f"smpirun -np {len(placed.node)} -platform {file} -hostfile {placed_hosts} PROGRAM"
    return [f"Wrote {file} (links of {bandwidth}, {latency}): {how}."]


def _write(
    folder: Path,
    placed: Placement,
    job: Any,
    names: list[str] | None,
    shape: list[int] | None,
    pictures: bool,
) -> list[str]:
    """Write the files that the placement allows; return a sentence on each."""
    from uzushio.placement import launchers, report
    from uzushio.placement.pictures import draw_loads, draw_placement

    machine = placed.machine
    nodes = machine.default_order() if job is None else job
    if names is None and machine.node_names is not None:
        names = [machine.node_names[node] for node in nodes]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made ({error.strerror}).") from error
    files = {"openmpi.rankfile": launchers.open_mpi_ranks(placed, nodes, names)}
    how = {"openmpi.rankfile": "mpirun --map-by rankfile:file=FILE"}
    if shape is not None or (
        job is None
        and launchers.node_shape(placed) is not None
        and len(launchers.node_shape(placed) or ()) <= 3
    ):
        files["vcoordfile"] = launchers.fujitsu_coordinates(placed, nodes, shape)
        how["vcoordfile"] = "mpiexec --vcoordfile FILE"
    if names is not None:
        files["hosts"] = launchers.host_lines(placed, nodes, names)
        how["hosts"] = "SLURM_HOSTFILE=FILE srun --distribution=arbitrary; mpiexec -f FILE of MPICH"
    if placed.uses_default_nodes:
        files["MPICH_RANK_ORDER"] = launchers.cray_order(placed)
        how["MPICH_RANK_ORDER"] = "MPICH_RANK_REORDER_METHOD=3 of Cray MPICH"
    files["placement.json"] = json.dumps(report.summary(placed), indent=2) + "\n"
    for name, text in files.items():
        atomic_write(folder / name, text)
    written = [f"Wrote {folder / name}: {text}." for name, text in how.items()]
    if placed.uses_default_nodes:
        launchers.write_permutation(folder / PERMUTATION, placed.permutation)
        written.append(f"Wrote {folder / PERMUTATION}: parallel.placement of a case.")
    if pictures:
        drawn = [
            draw_placement(placed, folder / "placement.png"),
            draw_loads(placed, folder / "link_loads.png"),
        ]
        written += [f"Wrote {path}." for path in drawn if path is not None]
    return written
