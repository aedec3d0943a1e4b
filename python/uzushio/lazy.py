"""Public names of a package, imported when they are first used.

`import uzushio` must not wait for NumPy, MPI or matplotlib, and yet `dir`, `help` and completion
list all that is public. A package says under `TYPE_CHECKING` what type checkers see, and::

    if not TYPE_CHECKING:  # a type checker would take any name for one of the package's
        __getattr__, __dir__ = lazy.names(__name__, {"Reader": "reader", "attach": "reader"})
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def names(
    package: str, homes: Mapping[str, str], modules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package (PEP 562).

    Args:
        package: its name; it has `__all__`.
        homes: public name to the module in the package that defines it; ".module" for a module
            beside the package, "module:other" if it has another name there.
        modules: that are public themselves.
    """

    def load(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, _, other = homes[name].partition(":")
        found = getattr(import_module(f".{home}", package), other or name)
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:
        here = vars(sys.modules[package])
        return sorted({*here["__all__"], *(name for name in here if name.startswith("__"))})

    return load, listed
