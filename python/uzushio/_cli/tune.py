"""`uzushio tune`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from uzushio._base.parallel.signals import restore_default_signals
from uzushio._cli.arguments import CaseFile, Overrides, path_option
from uzushio._job.options import Quiet


@dataclass(frozen=True)
class TuneOptions:
    """Arguments of `uzushio tune`."""

    case: CaseFile
    ranks: Annotated[
        int,
        typer.Option(min=1, help="Ranks of the runs to tune; trials run in an MPI job of as many."),
    ] = 1
    overrides: Overrides = None
    budget: Annotated[
        str,
        typer.Option(
            metavar="TRIALS|TIME", help="Number of trials, as 40, or total time, as '5 min'."
        ),
    ] = "40"
    out: Annotated[
        Path | None,
        path_option(
            metavar="DIR",
            help="Folder of the tuning. Default: tuned/CASE-RANKS. An interrupted tuning of the "
            "same case continues there.",
        ),
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Discard the tuning in that folder.")
    ] = False
    repetitions: Annotated[
        int, typer.Option(min=2, help="Repetitions of each point; twice as many in the finals.")
    ] = 4
    baseline: Annotated[
        bool, typer.Option(help="Run a random search of as many trials beside, for comparison.")
    ] = True
    limit: Annotated[
        float,
        typer.Option(min=1.0, metavar="SECONDS", help="Timeout of one repetition of a point."),
    ] = 120.0
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")] = 0
    keep: Annotated[bool, typer.Option(help="Let later runs use the values found.")] = True
    quiet: Quiet = False


def tune(options: TuneOptions) -> None:
    """Find the fastest values of a case's tunables on this machine, and keep them for its runs.

    Tunables that the case does not set are varied, such as tiles, time blocking and threads;
    docs/how-to/tune.md. A cost model excludes slow points; the others are measured, interleaved, in
    one MPI job. Runs on as many ranks at the same size use the values found, unless --no-tuned is
    given or the case sets others.
    """
    from uzushio._cli.tuning import tune_case

    restore_default_signals()
    try:
        raise SystemExit(tune_case(options))
    except KeyboardInterrupt:
        print("\nStopped; the same command continues the tuning.")
        raise SystemExit(130) from None
