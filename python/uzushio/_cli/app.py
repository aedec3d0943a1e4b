"""The command line."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer
from typer.main import get_command_name

from uzushio import __version__
from uzushio._base.error_text import capitalised, memory_sentence, system_sentence
from uzushio._base.terminal import discard, warn
from uzushio._cli.arguments import flattened
from uzushio._cli.start import fail
from uzushio.errors import MemoryShortageError, OutputError, UzushioError

#: Commands, each a function in the module of its name.
COMMANDS = (
    "run",
    "assimilate",
    "check",
    "init",
    "schema",
    "plan",
    "config",
    "doctor",
    "inspect",
    "relay",
    "render",
    "record",
    "view",
    "report",
    "figures",
    "grid",
    "tune",
    "place",
    "tuning_worker",
    "bench",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"uzushio {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning of a library as a sentence, without the line of its source."""
    warn(capitalised(message))


def _flowing(text: str) -> str:
    """Return a docstring with each paragraph on one line; the terminal wraps them."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def application(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """Return the command line with some of its commands, whose modules alone are imported."""
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        callback=_options,
        help="Massively parallel flow simulation.",
    )
    for name in names:
        command = getattr(import_module(f"uzushio._cli.{name}"), name)
        if isinstance(command, typer.Typer):
            for inner in command.registered_commands:
                assert inner.callback is not None
                inner.callback = flattened(inner.callback)
                inner.help = _flowing(str(inner.callback.__doc__))
            app.add_typer(command, name=name)
        else:
            declare = app.command(hidden=name == "tuning_worker", help=_flowing(command.__doc__))
            declare(flattened(command))
    return app


def main() -> None:
    """Run the command line."""
    warnings.showwarning = _show_warning
    # Else --install-completion takes no name of a shell and installs that of the calling process.
    os.environ.setdefault("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    named = [name for name in COMMANDS if get_command_name(name) in sys.argv[1:2]]
    try:
        try:
            application(named or COMMANDS)(prog_name="uzushio")
        finally:
            sys.stdout.flush()
    except UzushioError as error:
        fail(error)
    except MemoryError as error:
        fail(MemoryShortageError(memory_sentence(error)))
    except OSError as error:
        if error.filename is not None:
            fail(OutputError(system_sentence(error)))
        discard()  # what is in the buffer, which Python writes at its end
        fail(OutputError(f"the output cannot be written ({error.strerror})."))
