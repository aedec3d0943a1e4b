"""Memory, time and disk space of a run, without running it (`uzushio check`)."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

from rich.console import Console
from rich.table import Table

from uzushio._base.config.quantities import show_duration, show_size
from uzushio._base.config.yaml_document import Document
from uzushio._base.parallel import launch, memory
from uzushio._base.parallel.affinity import Policy, plan
from uzushio._base.parallel.console import standard_console
from uzushio._base.terminal import print_table
from uzushio._job.publish_check import check_published
from uzushio.case.model import Case, load_case
from uzushio.case.registry import solver_class
from uzushio.solvers.contract import Estimate, Solver


def check_run(path: Path, document: Document, ranks: int, policy: Policy = Policy.NONE) -> None:
    """Print grid, memory, communication, time, disk space and affinity of a case on so many ranks.

    Raises:
        CaseError: the case is not usable, or does not fit the ranks.
    """
    case = load_case(document)
    kind: type[Solver] = solver_class(case.solver)
    estimate = kind.estimate(case, ranks)
    check_published(case, kind)
    console = standard_console(highlight=False, soft_wrap=True, markup=False)
    console.print(f"{path} is valid: {case.title or case.solver}")
    console.print(estimate.grid)
    _print_memory(estimate, ranks, console)
    print_table(_traffic_table(estimate), console)
    steps = number_of_steps(case, estimate)
    launch.prepare_environment()
    _print_time(steps, kind.seconds_per_step(case, ranks), console)
    _print_disk(case, estimate, steps, console)
    for note in (*estimate.notes, *estimate.result_notes):
        console.print(f"note: {note}")
    if policy is not Policy.NONE:
        console.print(plan(policy, ranks, case.threads_per_rank).check_text())


def number_of_steps(case: Case, estimate: Estimate) -> int | None:
    """Return the number of steps to the end of a case; None if that is not known."""
    steps = [case.time.steps]
    if case.time.end is not None and estimate.step_length:
        # The last step may be 1 % longer: `solver.next_step`.
        steps.append(max(1, math.ceil(case.time.end / estimate.step_length - 0.01)))
    return min((count for count in steps if count is not None), default=None)


def _print_memory(estimate: Estimate, ranks: int, console: Console) -> None:
    """Print the memory of a rank and of all ranks, and the free memory of this machine."""
    total, free = ranks * estimate.memory_per_rank + estimate.average_bytes, memory.node_memory()
    console.print(
        f"memory per rank: {show_size(estimate.memory_per_rank)} "
        f"({estimate.field_arrays:.3g} arrays of the size of a field); all {ranks}: "
        f"{show_size(total)}; free on this machine: {show_size(free.bytes)} ({free.limit})"
    )
    if estimate.average_bytes:
        console.print(
            f"of it averages over time on rank 0: {show_size(estimate.average_bytes)}; "
            "'statistics.over' makes them smaller"
        )
    if total > free.bytes:
        console.print(
            "note: this machine does not have the memory for it; a run on this machine alone is "
            "refused"
        )


def _traffic_table(estimate: Estimate) -> Table:
    """Return a table of messages and bytes of the busiest rank in one step."""
    table = Table(title="communication per step (busiest rank)", title_justify="left")
    table.add_column("kind")
    table.add_column("messages", justify="right")
    table.add_column("bytes", justify="right")
    for kind, traffic in estimate.traffic.items():
        table.add_row(kind, f"{traffic.messages:,}", show_size(traffic.bytes))
    return table


def _print_time(steps: int | None, seconds: float | None, console: Console) -> None:
    if seconds is None:
        return
    whole = "" if steps is None else f"about {show_duration(steps * seconds)}: {steps:,} steps of "
    console.print(
        f"time: {whole}{show_duration(seconds)} a step on cores such as this machine's, "
        "communication not counted"
    )


def _print_disk(case: Case, estimate: Estimate, steps: int | None, console: Console) -> None:
    """Print the size of checkpoints and stored steps, and the free space of the run's folder."""
    parts = []
    if estimate.checkpoint_bytes:
        # An old checkpoint is removed after the new one is complete.
        parts.append((case.checkpoint.keep + 1, "checkpoints", estimate.checkpoint_bytes))
    published = case.publish
    if published is not None and published.options().engine == "file" and steps:
        names = published.fields or estimate.field_bytes
        each = sum(estimate.field_bytes.get(name, 0) for name in names)
        parts.append((-(-steps // published.every), "published steps", each))
    total = sum(count * each for count, _, each in parts)
    if not total:
        return
    counts = ", ".join(f"{count:,} {what} of {show_size(each)}" for count, what, each in parts)
    above = case.output.folder.absolute().parents
    folder = next(path for path in [case.output.folder, *above] if path.exists())
    free = shutil.disk_usage(folder).free
    console.print(f"disk: {show_size(total)} ({counts}); free in {folder}: {show_size(free)}")
    if total > free:
        console.print("note: the folder of the run does not have the space for it")
