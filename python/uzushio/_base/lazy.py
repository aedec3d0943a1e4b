"""Public names of a package that are imported at first use.

`import uzushio` must not import NumPy, MPI or matplotlib, but `dir`, `help` and completion must
list all public names. This module imports little, because an interrupt before the command line
handles signals is a traceback. A package states each name once::

    if TYPE_CHECKING:
        from uzushio.room.module import Name as Name  # for type checkers, "as" makes it public
    else:  # with __getattr__, a type checker would accept any name
        __getattr__, __dir__ = lazy.names(__name__)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package (PEP 562).

    Args:
        package: name of the package, whose imports of names and submodules under `TYPE_CHECKING`
            are executed at their first use, and are its `__all__`.
    """

    def load(name: str) -> Any:
        imports = _imports(package)
        if name == "__all__":
            return sorted(imports)
        if name not in imports:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = imports[name]
        if module == package:
            return import_module(f"{package}.{original}")
        value = getattr(import_module(module), original)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        here = vars(sys.modules[package])
        return sorted({*_imports(package), *(name for name in here if name.startswith("__"))})

    return load, listed


@cache
def _imports(package: str) -> dict[str, tuple[str, str]]:
    """Return module and original name of each name that is imported under `TYPE_CHECKING`."""
    import ast
    from pathlib import Path

    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_bytes())
    return {
        alias.asname or alias.name: (str(node.module), alias.name)
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
