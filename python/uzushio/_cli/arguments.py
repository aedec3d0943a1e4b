"""Arguments and options that several commands have, each declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uzushio._base.config.paths import expanded
from uzushio._base.config.quantities import parse_size
from uzushio._base.parallel.affinity import Policy
from uzushio._cli.completion import case_names, keys_of_case
from uzushio.errors import UzushioError

if TYPE_CHECKING:
    from uzushio.staging.contact import Contact


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters of dataclasses are replaced by the fields of these."""
    own = inspect.signature(command, eval_str=True).parameters
    groups = {
        name: inspect.signature(parameter.annotation, eval_str=True).parameters
        for name, parameter in own.items()
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def called(**given: Any) -> None:
        for name, fields in groups.items():
            given[name] = own[name].annotation(**{field: given.pop(field) for field in fields})
        command(**given)

    flat = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)  # in any order
        for name in own
        for parameter in (groups[name].values() if name in groups else (own[name],))
    ]
    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return called


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

Fallback = Annotated[
    bool,
    typer.Option(
        "--restart-fallback", help="If that checkpoint is damaged, restart from the one before."
    ),
]

NoVerify = Annotated[
    bool,
    typer.Option("--no-verify", help="Read stored steps without verifying their checksums."),
]

Secret = Annotated[
    str, typer.Option(envvar="UZUSHIO_SECRET", help="Secret in hexadecimal, for host:port.")
]

Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]

NoTuned = Annotated[
    bool,
    typer.Option(
        "--no-tuned", help="Ignore the values that `uzushio tune` found for this machine."
    ),
]

Debug = Annotated[bool, typer.Option("--debug", help="Print tracebacks of errors.")]

CaseName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A solver or model: channel, phasefield, …",
        autocompletion=case_names,
    ),
]


@dataclass(frozen=True)
class StreamArguments:
    """Arguments of a reader of a stream."""

    stream: Annotated[
        str, typer.Option(help="Expected name of the stream; another one is an error.")
    ] = ""
    wait: Annotated[float, typer.Option(min=0.0, help="Timeout in seconds of the writer.")] = 60.0
    secret: Secret = ""
    tls: Annotated[bool, typer.Option("--tls", help="For host:port: the writer uses TLS.")] = False
    no_verify: NoVerify = False

    def contact(self, source: str) -> Contact:
        """Return the contact of the stream that `source` leads to."""
        from uzushio.staging.contact import Contact

        verify = False if self.no_verify else None
        return Contact(source, self.stream, self.wait, self.secret, self.tls, verify)
