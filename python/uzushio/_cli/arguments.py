"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from uzushio._base.config.paths import expanded
from uzushio._base.config.quantities import parse_size
from uzushio._base.parallel.affinity import Policy
from uzushio._cli.completion import case_names, keys_of_case
from uzushio.errors import UzushioError


def path_argument(text: str) -> Path:
    """Return a path of the command line."""
    try:
        return expanded(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text or 'the path'} {error}.") from None


def path_option(*names: str, metavar: str, help: str) -> Any:
    """Return an option whose value is a path."""
    return typer.Option(*names, parser=path_argument, metavar=metavar, help=help)


def size_argument(option: str, text: str) -> int:
    """Return the bytes of the value of an option, a size with a unit; raises `UzushioError`."""
    try:
        size = parse_size(text)
    except ValueError as error:
        raise UzushioError(f"{option} {text}: {error}.") from None
    assert isinstance(size, float)
    return int(size)


CaseFile = Annotated[
    Path, typer.Argument(metavar="CASE.yaml", parser=path_argument, help="The case to read.")
]

RestartedCase = Annotated[
    Path | None,
    typer.Argument(
        metavar="CASE.yaml",
        parser=path_argument,
        help="The case to read; with --restart the run's own case is the default.",
    ),
]

Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value of the case, as time.steps=200. Repeatable.",
        autocompletion=keys_of_case,
    ),
]

Ranks = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Start an MPI job of this many ranks. Default: one rank, or those of the mpiexec or "
        "srun that started this command.",
    ),
]

Affinity = Annotated[
    Policy,
    typer.Option(
        help="Bind ranks and threads to cores; none leaves the launcher's binding. "
        "docs/how-to/affinity.md"
    ),
]

Restart = Annotated[
    Path | None,
    path_option(
        metavar="DIR",
        help="Continue from the newest checkpoint of a run's folder, or from one checkpoint's "
        "folder, on any number of ranks.",
    ),
]

Fallback = Annotated[
    bool,
    typer.Option(
        "--restart-fallback", help="If that checkpoint is damaged, restart from the one before."
    ),
]

Out = Annotated[
    Path | None, path_option(metavar="DIR", help="Folder of the run. Default: output.folder.")
]

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Remove the run that the folder holds.")
]

NoFigures = Annotated[
    bool, typer.Option("--no-figures", help="Draw no figures, as with output.figures: false.")
]

NoVerify = Annotated[
    bool,
    typer.Option("--no-verify", help="Read stored steps without verifying their checksums."),
]

Secret = Annotated[
    str, typer.Option(envvar="UZUSHIO_SECRET", help="Secret in hexadecimal, for host:port.")
]

Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]

Debug = Annotated[bool, typer.Option("--debug", help="Print tracebacks of errors.")]

CaseName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A solver or model: channel, phasefield, …",
        autocompletion=case_names,
    ),
]
