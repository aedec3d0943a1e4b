"""Commands that measure this machine: `uzushio bench poisson`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio._base.files import atomic_write
from uzushio._base.parallel.affinity import Policy, bind
from uzushio._base.parallel.console import standard_console
from uzushio._base.terminal import print_table, tell, warn
from uzushio._cli.arguments import Debug, Ranks
from uzushio._cli.start import run_on_ranks, start_job
from uzushio._job.options import Affinity
from uzushio.errors import UzushioError

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.linalg.benchmark import Problem, Timing

bench = typer.Typer(no_args_is_help=True, help="Measure the speed of solvers on this machine.")


@bench.callback()
def _group() -> None:
    pass


@bench.command()
def poisson(
    cells: Annotated[
        str, typer.Option("--cells", help="Cells along each axis: 128, or 256,128,64.")
    ] = "128",
    conditions: Annotated[
        str,
        typer.Option(
            "--conditions",
            help="Of x, y and z: periodic, neumann, dirichlet, or a pair such as "
            "neumann+dirichlet.",
        ),
    ] = "periodic,periodic,neumann",
    solvers: Annotated[
        str, typer.Option("--solvers", help="Names, separated by commas.")
    ] = "fft,multigrid,cg,pipelined_cg,bicgstab",
    variable: Annotated[
        bool, typer.Option("--variable", help="With a coefficient that varies tenfold.")
    ] = False,
    stretching: Annotated[
        float,
        typer.Option(
            "--stretching",
            min=0.0,
            max=8.0,
            help="Of axes that are not periodic, finer at both ends (tanh); 0: equal cells.",
        ),
    ] = 0.0,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="Relative residual at which iterations end.")
    ] = 1e-8,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            min=1,
            help="OpenMP threads of a rank (default: OMP_NUM_THREADS). They share the planes of "
            "each solver, with the same bits.",
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Solves of each; the fastest counts.")
    ] = 5,
    file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file too.")
    ] = None,
    ranks: Ranks = None,
    affinity: Affinity = Policy.NONE,
    debug: Debug = False,
) -> None:
    """Solve Poisson's equation by several solvers, and print times and rates.

    MDOF/s a core: millions of cells a second for each thread of each rank. GB/s: bytes that a
    solve moves between memory and processor by theory, over its time. predicted: the time in which
    STREAM's triad, which this command measures too, moves them. With several ranks, the efficiency
    compares with rank 0 alone on the same cells while the others wait. A second table has the
    iterations, bytes and memory for each cell, and the share of the time of each section.
    """
    problem = _problem(cells, conditions, variable, stretching, tolerance, repeats)
    if threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(threads)
    names = [name.strip() for name in solvers.split(",")]
    start_job(ranks, affinity=affinity)

    def work(comm: MPI.Intracomm) -> int:
        from uzushio import _core
        from uzushio._base.parallel.affinity import thread_count
        from uzushio.linalg.benchmark import measure

        count = thread_count()
        _core.parallel.set_threads(count)
        bound = bind(comm, affinity)
        if bound is not None:
            tell(bound.text())
            for conflict in bound.conflicts:
                warn(conflict)
        try:
            timings, triad = measure(comm, problem, names, count, tell)
        except ValueError as error:
            raise UzushioError(f"{error}.") from None
        if comm.rank == 0:
            shape = " x ".join(str(count) for count in problem.cells)
            of = ", variable coefficient" if variable else ""
            of += f", stretching {stretching:g}" if stretching else ""
            job = f"{comm.size} rank{'s' if comm.size > 1 else ''}"
            job += f" of {count} threads" if count > 1 else ""
            title = f"Poisson, {shape} cells, {conditions}{of}, {job}, triad {triad / 1e9:.3g} GB/s"
            _print(comm.size, title, timings, triad)
            _print_work(timings)
            if file is not None:
                figures = {
                    "triad": triad,
                    "threads": count,
                    "solvers": [asdict(t) for t in timings],
                }
                atomic_write(file, json.dumps(figures, indent=2))
        return 0

    raise SystemExit(run_on_ranks(work, ranks, debug))


def _problem(
    cells: str, conditions: str, variable: bool, stretching: float, tolerance: float, repeats: int
) -> Problem:
    from uzushio.linalg.benchmark import Problem
    from uzushio.linalg.poisson import ends_of

    try:
        counts = [int(count) for count in cells.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--cells {cells}: write 128, or 256,128,64") from None
    pairs = [tuple(part.strip().split("+")) for part in conditions.split(",")]
    try:
        ends = [ends_of(pair[0] if len(pair) == 1 else pair) for pair in pairs]
    except ValueError as error:
        raise typer.BadParameter(f"--conditions {conditions}: {error}") from None
    all_counts = counts * len(ends) if len(counts) == 1 else counts
    if len(all_counts) != len(ends) or len(ends) not in (2, 3) or min(all_counts) < 1:
        raise typer.BadParameter("--cells and --conditions are those of two or three axes")
    return Problem(all_counts, ends, variable, stretching, tolerance, repeats)


def _print(ranks: int, title: str, timings: list[Timing], triad: float) -> None:
    """Print a row of rates for each solver."""
    from rich.table import Table

    table = Table(title=title)
    columns = ["solver", "ms", "predicted", "MDOF/s a core", "GB/s", "of triad"]
    if ranks > 1:
        columns.append("efficiency")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for t in timings:
        share = t.predicted / t.seconds
        row = [
            t.solver,
            f"{t.seconds * 1e3:.3g}",
            f"{t.predicted * 1e3:.3g}",
            f"{t.rate * 1e-6:.3g}",
            f"{triad * share / 1e9:.3g}",
            f"{share:.0%}",
        ]
        if ranks > 1:
            row.append(f"{t.efficiency:.0%}")
        table.add_row(*row)
    print_table(table, standard_console())


def _print_work(timings: list[Timing]) -> None:
    """Print a column for each solver: iterations, bytes, and where its time goes."""
    from rich.table import Table

    table = Table()
    table.add_column("")
    for t in timings:
        table.add_column(t.solver, justify="right")

    def add(head: str, cell: Callable[[Timing], str]) -> None:
        table.add_row(head, *map(cell, timings))

    add("iterations", _iterations)
    add("residual", lambda t: f"{t.residual:.1e}" if t.iterations else "")
    add("B/cell moved", lambda t: f"{t.moved:.0f}")
    add("B/cell held", lambda t: f"{t.bytes:.0f}")
    for name in dict.fromkeys(name for t in timings for name in t.sections):
        shares = [t.sections.get(name) for t in timings]
        table.add_row(name, *["" if share is None else f"{share:.0%}" for share in shares])
    print_table(table, standard_console())


def _iterations(timing: Timing) -> str:
    if not timing.iterations:
        return "direct"
    return f"{timing.iterations}{'' if timing.converged else ', not converged'}"
