"""Commands on case files: `check`, `init`, `schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from uzushio._base.parallel.affinity import Policy
from uzushio._cli.arguments import Affinity, CaseFile, CaseName, Overrides
from uzushio.case.model import read_document
from uzushio.errors import OutputError


def check(
    case: CaseFile,
    ranks: Annotated[int, typer.Option(min=1, help="Number of ranks to plan for.")] = 1,
    overrides: Overrides = None,
    affinity: Affinity = Policy.NONE,
) -> None:
    """Validate a case and print its memory, time and disk space, without running it."""
    if "model" in read_document(case, overrides).values:
        from uzushio.assimilation.check import check as check_case
    else:
        from uzushio._job.check import check_run as check_case

    check_case(case, overrides, ranks, affinity)


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


def schema(name: CaseName) -> None:
    """Print the JSON schema of the cases of a solver or model, for editors.

    An editor with a YAML language server completes and checks a case that begins with
    # yaml-language-server: $schema=FILE
    """
    from uzushio.case.schema import json_schema

    print(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
