"""`uzushio init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uzushio._cli.arguments import CaseName
from uzushio.errors import OutputError


def init(
    name: CaseName,
    file: Annotated[
        Path, typer.Argument(metavar="CASE.yaml", help="The file to write; - prints it.")
    ] = Path("case.yaml"),
) -> None:
    """Write a commented first case of a solver or model.

    The case can be run unchanged. Keys with a default are comments with that default.
    """
    from uzushio.case.template import template

    text = template(name)
    if str(file) == "-":
        print(text, end="")
        return
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise OutputError(f"{file} exists; name another file, or remove it.") from None
    print(f"Wrote {file}. Next: uzushio check {file}")
