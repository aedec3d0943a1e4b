"""`uzushio check`."""

from __future__ import annotations

from typing import Annotated

import typer

from uzushio._base.parallel.affinity import Policy
from uzushio._cli.arguments import CaseFile, Overrides
from uzushio._job.options import Affinity
from uzushio.case.model import read_document


def check(
    case: CaseFile,
    ranks: Annotated[int, typer.Option(min=1, help="Number of ranks to plan for.")] = 1,
    overrides: Overrides = None,
    affinity: Affinity = Policy.NONE,
) -> None:
    """Validate a case and print its memory, time and disk space, without running it."""
    document = read_document(case, overrides)  # once: a pipe has its content only once
    if "model" in document.values:
        from uzushio.assimilation.check import check as check_case
    else:
        from uzushio._job.check import check_run as check_case

    check_case(case, document, ranks, affinity)
