"""Arguments and options that several commands have, each declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from uzushio._base.config.paths import expanded
from uzushio._base.config.quantities import parse_size
from uzushio._cli.completion import case_names, keys_of_case
from uzushio._job.options import Help
from uzushio.errors import UzushioError

if TYPE_CHECKING:
    from uzushio.staging.contact import Contact


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with parameters of typer, in any order.

    The fields of a dataclass replace a parameter of its type; those without a description are left
    out.
    """
    own = inspect.signature(command, eval_str=True).parameters
    groups = {
        name: {
            field.name: _with_typer(field)
            for field in inspect.signature(parameter.annotation, eval_str=True).parameters.values()
            if hasattr(field.annotation, "__metadata__")
        }
        for name, parameter in own.items()
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def called(**given: Any) -> None:
        for name, fields in groups.items():
            values = {field: given.pop(fields[field].name) for field in fields}
            for field in fields.keys() - {parameter.name for parameter in fields.values()}:
                values[field] = not values[field]  # --no-FIELD
            given[name] = own[name].annotation(**values)
        command(**given)

    flat = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)  # in any order
        for name in own
        for parameter in groups.get(name, {name: _with_typer(own[name])}).values()
    ]
    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return called


def _with_typer(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose `Help` is replaced by the corresponding option of typer."""
    value_type, *notes = get_args(parameter.annotation) or (None,)
    if not notes or not isinstance(notes[0], Help):
        return parameter
    text, metavar = notes[0].text, notes[0].metavar
    if parameter.default is True:
        parameter = parameter.replace(name=f"no_{parameter.name}", default=False)
    if value_type is bool:
        option = typer.Option(f"--{parameter.name.replace('_', '-')}", help=text)
    elif value_type == Path | None:
        option = path_option(metavar=metavar or "PATH", help=text)
    else:
        option = typer.Option(help=text)
    return parameter.replace(annotation=Annotated[value_type, option])


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

NoVerify = Annotated[
    bool,
    typer.Option("--no-verify", help="Read stored steps without verifying their checksums."),
]

Secret = Annotated[
    str, typer.Option(envvar="UZUSHIO_SECRET", help="Secret in hexadecimal, for host:port.")
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
