"""Sentences on errors, for users."""

from __future__ import annotations

import errno
import sys
import traceback
from pathlib import Path

from uzushio.errors import OtherRankError, UzushioError

#: Beginning of the names of modules from files of users.
USER_MODULE = "uzushio_"
#: Advice on too little memory.
MEMORY_ADVICE = "Use more nodes, fewer ranks a node or a smaller grid, or raise the limit."


def system_sentence(error: OSError) -> str:
    """Return a sentence with the path, the error of the operating system, and advice."""
    advice = {
        errno.ENOSPC: "free some space there, or choose another folder with --out",
        errno.EDQUOT: "free some of your quota there, or choose another folder with --out",
        errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
        errno.EACCES: "get the right to write there, or choose another folder with --out",
        errno.EROFS: "choose another folder with --out",
    }.get(error.errno or 0, "check the path and the file system")
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}; {advice}."


def memory_sentence(error: MemoryError, advice: str = MEMORY_ADVICE) -> str:
    """Return a sentence on a failed allocation, with its size if known, and advice."""
    asked = str(error) if str(error) not in ("", "std::bad_alloc") else "an allocation failed"
    return f"out of memory: {asked.rstrip('.')}. {advice}"


def report_of(error: Exception, debug: bool = False) -> str:
    """Return the message of an expected error, or the traceback of a programming error.

    An error in a Python file of the user has its line there. The message is empty where another
    rank prints the error.
    """
    if isinstance(error, OtherRankError):
        return ""
    if not (debug or isinstance(error, UzushioError)) and (of_user := _file_of_user(error)):
        return f"uzushio: error: {error_message(of_user, error)}."
    if debug or not isinstance(error, UzushioError | OSError | MemoryError):
        return "".join(traceback.format_exception(error)).rstrip()
    return f"uzushio: error: {sentence(error)}"


def _file_of_user(error: Exception) -> Path | None:
    """Return the last file of a user through which an error has passed."""
    frames = traceback.extract_tb(error.__traceback__)
    loaded = {
        getattr(module, "__file__", None)
        for name, module in list(sys.modules.items())
        if name.startswith(USER_MODULE)
    }
    return next(
        (Path(frame.filename) for frame in reversed(frames) if frame.filename in loaded), None
    )


def error_message(file: Path, error: BaseException) -> str:
    """Format an exception with its line in the user's file, without full stop."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    line = error.lineno if isinstance(error, SyntaxError) else (lines or [None])[-1]
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    where = f"{file}, line {line}" if line is not None else str(file)
    return f"{where}: {type(error).__name__}: {text.rstrip('.')}"


def sentence(error: Exception) -> str:
    """Return the message of an expected error, for a user."""
    if isinstance(error, OSError):
        return system_sentence(error)
    return memory_sentence(error) if isinstance(error, MemoryError) else str(error)


def capitalised(text: object) -> str:
    """Return a message as a sentence: with a capital letter and one full stop."""
    return f"{str(text)[:1].upper()}{str(text)[1:].rstrip('.')}."
