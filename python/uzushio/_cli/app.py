"""The command line."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer
from typer.main import get_command_name

from uzushio import __version__
from uzushio._base.error_text import capitalised, memory_sentence, system_sentence
from uzushio._base.terminal import discard, warn
from uzushio._cli.bench import bench
from uzushio._cli.build import config
from uzushio._cli.cases import check, init, schema
from uzushio._cli.pictures import render, report, view
from uzushio._cli.place import place
from uzushio._cli.run import assimilate, figures, run
from uzushio._cli.start import fail
from uzushio._cli.streams import inspect, plan, relay
from uzushio._cli.tuning import tune, tuning_worker
from uzushio.errors import MemoryShortageError, OutputError, UzushioError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Massively parallel flow simulation.",
)

for _command in (
    run,
    assimilate,
    check,
    init,
    schema,
    plan,
    config,
    inspect,
    relay,
    render,
    view,
    report,
    figures,
    tune,
    place,
):
    app.command()(_command)
app.command(hidden=True)(tuning_worker)
app.add_typer(bench, name="bench")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"uzushio {__version__}")
        raise typer.Exit


@app.callback()
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


def _name(command: typer.models.CommandInfo) -> str:
    return get_command_name(getattr(command.callback, "__name__", ""))


def main() -> None:
    """Run the command line."""
    warnings.showwarning = _show_warning
    # Else --install-completion takes no name of a shell and installs that of the calling process.
    os.environ.setdefault("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    # To build the parameters of all commands takes a third of the time of a short one.
    named = [command for command in app.registered_commands if _name(command) in sys.argv[1:2]]
    if named:
        app.registered_commands, app.registered_groups = named, []
    for command in (*app.registered_commands, *bench.registered_commands):
        command.help = command.help or _flowing(getattr(command.callback, "__doc__", None) or "")
    try:
        try:
            app(prog_name="uzushio")
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
