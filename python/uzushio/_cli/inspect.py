"""`uzushio inspect`: prints the content of a stream as tables."""

from __future__ import annotations

import time
from os.path import expanduser
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from uzushio._base.config.quantities import show_size
from uzushio._base.parallel.console import standard_console
from uzushio._base.terminal import print_table
from uzushio._cli.arguments import NoVerify, Secret
from uzushio.domain.box import Box
from uzushio.domain.fields import Field, Mesh
from uzushio.errors import StagingError
from uzushio.staging.reader import attach
from uzushio.staging.step import Step


def inspect(
    contact: Annotated[
        str,
        typer.Argument(
            parser=expanduser,
            metavar="CONTACT",
            help="A contact file, host:port, or a folder of stored steps.",
        ),
    ],
    steps: Annotated[
        int, typer.Option(min=0, help="Number of steps to read; 0: until the stream ends.")
    ] = 1,
    limit: Annotated[
        float, typer.Option(min=0.0, help="Timeout in seconds, of the writer and of each step.")
    ] = 60.0,
    secret: Secret = "",
    no_verify: NoVerify = False,
) -> None:
    """Print the meshes, fields and blocks of a running or stored stream, and their ranges."""
    verify = False if no_verify else None
    print_stream(contact, standard_console(highlight=False), steps, limit, secret, verify)


def print_stream(
    contact: str,
    console: Console,
    steps: int,
    limit: float,
    secret: str = "",
    verify: bool | None = None,
) -> int:
    """Attach, print the content of the first step, then a line for each further step.

    Args:
        contact: as `attach`.
        console: output.
        steps: maximum number of steps; 0: until the stream ends.
        limit: timeout in seconds for the writer, and for each step.
        secret: secret of a contact host:port.
        verify: whether to check checksums, as `attach`.

    Returns:
        The number of received steps.
    """
    came, began, dropped = 0, time.monotonic(), 0
    with attach(
        contact, attach_limit=limit, step_limit=limit, secret=secret, verify=verify
    ) as reader:
        for step in reader:
            if came == 0:
                _print_offer(step, console)
            else:
                ranges = (f"{name} {_range(step, name)}" for name in step.fields)
                seconds = time.monotonic() - began
                console.print(
                    f"step {step.index}  t {step.time:.6g}  +{seconds:.3g} s  "
                    f"missed {reader.dropped - dropped}  {'  '.join(ranges)}",
                    markup=False,
                    soft_wrap=True,
                )
            came, began, dropped = came + 1, time.monotonic(), reader.dropped
            if came == steps:
                break
    if came == 0:
        raise StagingError(f"{contact} leads to a stream that ended without a step for us.")
    return came


def _print_offer(step: Step, console: Console) -> None:
    console.print(
        f"step {step.index}  t {step.time:.6g}  (number {step.sequence} of the stream)",
        markup=False,
    )
    for name, value in step.attributes.items():
        console.print(f"  {name} = {value}", markup=False, soft_wrap=True)
    meshes = _table("meshes (z × y × x)", "name", "kind", "elements", "coordinates")
    for mesh in step.meshes.values():
        meshes.add_row(mesh.name, mesh.kind, _counts(mesh.elements), _reach(mesh))
    fields = _table("fields", "name", "of", "type", "min … max", "unit", "description")
    for field in step.fields.values():
        fields.add_row(
            field.name,
            f"{_plural(field)} of {field.mesh}",
            f"{field.dtype}" + (f" × {field.components}" if field.components > 1 else ""),
            _range(step, field.name),
            str(field.attributes.get("unit", field.attributes.get("units", ""))),
            str(field.attributes.get("description", "")),
        )
    ranks = _table("blocks of the writer's ranks", "rank", "blocks", "values")
    for rank in sorted({block.rank for block in step.blocks}):
        mine = [block for block in step.blocks if block.rank == rank]
        size = sum(
            block.box(name).size * step.fields[name].components * step.fields[name].dtype.itemsize
            for block in mine
            for name in block.ghosts
        )
        ranks.add_row(str(rank), str(len(mine)), show_size(size))
    for table in (meshes, fields, ranks):
        print_table(table, console)


def _table(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, title_justify="left")


def _counts(box: Box) -> str:
    return " × ".join(map(str, box.count))


def _plural(field: Field) -> str:
    return "vertices" if field.association == "vertex" else "elements"


def _reach(mesh: Mesh) -> str:
    if mesh.coordinates is None:
        return f"field {mesh.coordinate_field}"
    lines = zip("zyx", mesh.coordinates, strict=True)
    return ", ".join(f"{axis} {line[0]:.4g} … {line[-1]:.4g}" for axis, line in lines)


def _range(step: Step, name: str) -> str:
    """Return minimum and maximum of a field, read block by block; NaN if any value is NaN."""
    lows, highs = [], []
    for block in step.blocks:
        if name in block.ghosts and block.box(name).size:
            values = block.values(name)
            lows.append(values.min())
            highs.append(values.max())
    return f"{np.min(lows):.6g} … {np.max(highs):.6g}" if lows else "no values"
