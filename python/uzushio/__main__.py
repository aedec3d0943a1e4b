"""The command line from its first moment: `uzushio`, and `python -m uzushio`."""

from __future__ import annotations

import os
import sys

from uzushio.parallel.signals import exit_on_signal


def main() -> None:
    """Run the command line.

    The modules of the commands take most of a second to import. A signal that arrives meanwhile
    ends the process with a sentence.
    """
    exit_on_signal("Stopped before anything was done.")
    _open_closed_streams()
    from uzushio.cli.app import main as command_line

    command_line()


def _open_closed_streams() -> None:
    """Connect closed standard streams (`>&-`) to /dev/null.

    The next file that is opened would take the number of a closed stream, and receive its text.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            setattr(sys, name, open(number, mode))  # noqa: SIM115 - open as long as the process


if __name__ == "__main__":
    main()
