"""Console of a command's standard output, on a terminal or not, also of the ranks of a job."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console

from uzushio._base.parallel.launch import TERMINAL, ranks_around


def terminal_columns() -> int:
    """Return the columns of rank 0's terminal, 0 if there is none.

    A rank under `mpiexec` may have a pseudo-terminal for any kind of output; therefore the parent
    process that started the job passes the number of columns.
    """
    width = os.environ.get(TERMINAL)
    if width is not None:
        return int(width) if width.isdigit() else 0
    if ranks_around() is None and sys.stdout.isatty():
        return Console().width
    return 0


def standard_console(**more: Any) -> Console:
    """Return the console; its text is plain without a terminal, or if NO_COLOR is set."""
    columns = terminal_columns()
    if columns and not os.environ.get("NO_COLOR"):
        return Console(force_terminal=True, width=columns, **more)
    return Console(force_terminal=False, color_system=None, width=columns or None, **more)
