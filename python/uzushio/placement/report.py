"""Table of the figures by default and placed, for people and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table

from uzushio.placement.placing import Placement


def summary(placement: Placement) -> dict[str, Any]:
    """Return the figures as values for JSON: bytes and hops, phase by phase."""
    return {
        "machine": str(placement.machine),
        "nodes": placement.machine.size,
        "ranks": placement.pattern.ranks,
        "ranks_per_node": placement.per_node,
        "method": placement.method,
        "phases": [
            {"default": asdict(before), "placed": asdict(after)}
            for before, after in zip(placement.before, placement.after, strict=True)
        ],
    }


def table(placement: Placement) -> Table:
    """Return the table of hops, hop-bytes and loads of links, phase by phase."""
    result = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        title=f"{placement.pattern.ranks} ranks, {placement.per_node} a node, on "
        f"{placement.machine}; method: {placement.method}",
        title_justify="left",
    )
    for name in ("phase", "", "mean hops", "max. hops", "hop-bytes", "max. link load"):
        result.add_column(name, justify="left" if name in ("phase", "") else "right")
    result.add_column("gain", justify="right")
    for before, after in zip(placement.before, placement.after, strict=True):
        for label, evaluated in (("default", before), ("placed", after)):
            gain = before.max_load / after.max_load if after.max_load else 1.0
            result.add_row(
                before.name if evaluated is before else "",
                label,
                f"{evaluated.mean_hops:.2f}",
                str(evaluated.max_hops),
                f"{evaluated.hop_bytes:.4g}",
                f"{evaluated.max_load:.4g}",
                "" if evaluated is before else f"{gain:.2f} ×",
            )
    return result


def sentences() -> list[str]:
    """Return what the columns mean."""
    return [
        "Hops: links that a byte crosses. Max. link load: bytes over the busiest link, one way.",
        "Gain: how many times less the busiest link carries, which bounds the time of the phase.",
    ]
