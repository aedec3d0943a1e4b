"""Entry point of the command line: `uzushio`, and `python -m uzushio`."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from uzushio._base.parallel.signals import announce_signals, exit_on_signal


def main() -> None:
    """Run the command line.

    The modules of the commands take most of a second to import. A signal that arrives meanwhile
    ends the process with a sentence.
    """
    exit_on_signal("Stopped before anything was done.")
    _open_closed_streams()
    announce_signals()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a dash must not end a run in another encoding
            with suppress(OSError):  # another kind of file than at the start of the process
                stream.reconfigure(errors="replace")
    from uzushio._cli.app import main as command_line

    command_line()


def _open_closed_streams() -> None:
    """Connect closed standard streams (`>&-`) to /dev/null.

    Else the next file that is opened would get the descriptor of a closed stream, and its text.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor, which is this one
            setattr(sys, name, open(number, mode))  # noqa: SIM115 - stays open until the process ends


if __name__ == "__main__":
    main()
