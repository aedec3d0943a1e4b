"""Functions and classes of users, in Python files that a case or a pipeline names."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from uzushio._base.error_text import USER_MODULE, error_message


def check_syntax(file: Path) -> None:
    """Compile a Python file without executing it.

    Raises:
        ValueError: the file cannot be read or compiled; a sentence without full stop.
    """
    try:
        compile(file.read_bytes(), str(file), "exec")
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        raise ValueError(error_message(file, error)) from error


def load_function(file: Path, name: str) -> Callable[[Any], object]:
    """Execute a Python file, and return its function of this name.

    Raises:
        ValueError: the file cannot be executed, or has no such function; a sentence without full
            stop.
    """
    function = getattr(load_module(file), name, None)
    if not callable(function):
        raise ValueError(f"{file} needs a function {name}(step)")
    return function  # type: ignore[no-any-return]


def load_module(file: Path) -> ModuleType:
    """Execute a Python file, and return its module.

    The folder of the file is added to the path of `import`.

    Raises:
        ValueError: the file cannot be executed; a sentence without full stop.
    """
    if not file.is_file():
        raise ValueError(f"there is no file {file}")
    if str(file.parent.resolve()) not in sys.path:
        sys.path.append(str(file.parent.resolve()))
    spec = importlib.util.spec_from_file_location(f"{USER_MODULE}{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # names in annotations are looked up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(error_message(file, error)) from error
    return module


def trace(file: Path, error: BaseException) -> str:
    """Format the traceback of an exception, from the user's file on."""
    inside = error.__traceback__
    while inside is not None and inside.tb_frame.f_code.co_filename != str(file):
        inside = inside.tb_next
    lines = traceback.format_exception(type(error), error, inside or error.__traceback__)
    return "".join(lines).rstrip()
