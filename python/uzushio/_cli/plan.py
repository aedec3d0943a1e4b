"""`uzushio plan`: prints results of a plan as tables and sentences, or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from uzushio._base.config.quantities import show_rate, show_size, show_time
from uzushio._base.parallel.console import standard_console
from uzushio._base.terminal import print_table
from uzushio._cli.arguments import path_argument
from uzushio.staging.plan import StagingPlan, load_plan
from uzushio.staging.plan_rates import Assessment, RouteRate, assess


def plan(
    file: Annotated[
        Path, typer.Argument(parser=path_argument, metavar="PLAN.yaml", help="The plan to read.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, in SI units.")] = False,
) -> None:
    """Predict whether staged steps reach their readers in time, and name the bottleneck."""
    planned = load_plan(file)
    assessment = assess(planned)
    if as_json:
        print(to_json(assessment))
    else:
        print_report(planned, assessment, standard_console(highlight=False))


def to_json(assessment: Assessment) -> str:
    """Write all figures in bytes, bytes per second and seconds."""
    return json.dumps(asdict(assessment), indent=2, ensure_ascii=False)


def print_report(plan: StagingPlan, assessment: Assessment, console: Console) -> None:
    """Print the hops, the route, the minimum numbers of ranks, and the memory."""

    def say(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    if plan.title:
        say(plan.title)
    say(
        f"{show_size(plan.step.size)} every {show_time(plan.step.interval)}: "
        f"{show_rate(assessment.need)} needed"
    )
    console.print()
    print_table(_hop_table(assessment), console)
    console.print()
    for way in assessment.ways:
        for line in _way_lines(plan, way):
            say(line)
    say("memory per process:")
    for relay in plan.relays:
        budget = assessment.relay_memory[relay.name]
        say(f"  {relay.name}: {show_size(budget)}, whatever the size of the step")
    say(f"  {plan.readers.name}: {show_size(assessment.reader_memory)}{_fit(plan, assessment)}")


def _hop_table(assessment: Assessment) -> Table:
    """Return a table of each hop by each transport; those in use are marked."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, padding=0, caption="* in use", caption_justify="left"
    )
    table.add_column("hop", overflow="fold")
    table.add_column("by", no_wrap=True)
    for name in ("connections", "can use", "available"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("limited by", no_wrap=True)
    table.add_column("per step", justify="right", no_wrap=True)
    above = ""
    for hop in assessment.hops:
        table.add_row(
            "" if hop.hop == above else Text(hop.hop),
            Text(f"{hop.transport} *" if hop.in_use else hop.transport),
            f"{hop.connections:,}",
            show_rate(hop.usable),
            show_rate(hop.available),
            hop.limited_by,
            show_time(hop.seconds_per_step),
        )
        above = hop.hop
    return table


def _way_lines(plan: StagingPlan, way: RouteRate) -> list[str]:
    """Return sentences about the route."""
    slowest = way.bottleneck
    limit = "its total rate"
    if slowest.limited_by == "connections":
        limit = f"{slowest.connections:,} × {show_rate(slowest.per_connection)}"
    lines = [
        f"{'in use' if way.transport == 'in use' else f'{way.transport} on every hop'}: "
        f"{show_rate(way.rate)}, {show_time(way.seconds_per_step)} per step, "
        f"{'keeps up' if way.keeps_up else 'does not keep up'} ({way.factor:.3g} × the need)",
        f"  bottleneck: {slowest.hop} by {slowest.transport}, limited by {limit}",
    ]
    if way.smallest is None:
        lines.append("  no number of relay and reader ranks keeps up:")
        return lines + [f"    {obstacle}" for obstacle in way.obstacles]
    counts = ", ".join(f"{name} {ranks:,}" for name, ranks in way.smallest.items())
    return [*lines, f"  smallest number of ranks that keeps up: {counts}"]


def _fit(plan: StagingPlan, assessment: Assessment) -> str:
    """Return a sentence on whether a reader's share fits the memory in the plan."""
    steps = plan.readers.steps_held
    held = f" for its share of {steps} step{'s' if steps > 1 else ''}"
    if plan.readers.memory is None:
        return held
    verdict = "within" if assessment.reader_fits else "more than"
    return f"{held}, {verdict} its {show_size(plan.readers.memory)}"
