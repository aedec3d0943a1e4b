"""Output of an MPI job that is passed on, without the messages that Open MPI adds."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from uzushio._base.parallel.signals import READY_LINE

#: Harmless messages of Open MPI: `mpiexec` closed its sockets before a rank, or a rank closed its
#: pipe before the event loop of `mpiexec`.
_LATE = (b"PMIX_ERR_UNREACH", b"[warn] Epoll MOD(")
_RULE = re.compile(r"^-{70,}\s*$")
#: Blocks of Open MPI that repeat the failure of a rank, or report that a forwarded signal reached a
#: rank before its handler was installed.
_REPEATS = re.compile(
    r"exited with non-zero status|MPI_ABORT was invoked|User defined signal 1"
    r'|calling\s+"abort"'
)


class JobOutput:
    """Output of a job that is passed on, until the job is ended before it has begun.

    Attributes:
        ready: whether all ranks handle signals: each has written `READY_LINE`, or rank 0 a text.
        ended: whether the output is no longer passed on.
    """

    def __init__(self, ranks: int) -> None:
        self._missing = ranks
        self.ready = self.ended = False

    def end(self, sentence: bytes) -> None:
        """Write a sentence instead of all that follows."""
        self.ended = True
        with suppress(OSError):
            os.write(1, sentence)

    def copy(self, source: int, target: int) -> None:
        """Copy a file to another as data arrive; when the target is closed, only read."""
        target_open, cut = True, b""
        while text := os.read(source, 65536):
            if self._missing > 0:
                text = cut + text
                self._missing -= text.count(READY_LINE)
                text = text.replace(READY_LINE, b"")
                cut = READY_LINE[:1] if text.endswith(READY_LINE[:1]) else b""
                text = text.removesuffix(cut)
                self.ready = self.ready or self._missing <= 0 or bool(text)
            try:
                while target_open and text and not self.ended:
                    text = text[os.write(target, text) :]
            except OSError:
                target_open = False

    def write(self, text: bytes) -> None:
        """Write to the standard error."""
        if not self.ended:
            sys.stderr.buffer.write(text)
            sys.stderr.buffer.flush()


def pass_on(source: IO[bytes], write: Callable[[bytes], object]) -> None:
    """Write lines except blocks of Open MPI that repeat the failure of a rank."""
    block: list[bytes] = []
    for line in source:
        line = line.replace(b"\0", b"")  # Open MPI's text on an abort ends in one
        if block or _RULE.match(line.decode(errors="replace")):
            closes = bool(block) and bool(_RULE.match(line.decode(errors="replace")))
            block.append(line)
            if not closes:
                continue
            text, line = b"".join(block), b""
            block = []
            if not _REPEATS.search(text.decode(errors="replace")):
                line = text
        if line.strip() and not any(late in line for late in _LATE):
            write(line)
    write(b"".join(block))
