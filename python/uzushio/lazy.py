"""Public names of a package that are imported at first use.

`import uzushio` must not import NumPy, MPI or matplotlib, but `dir`, `help` and completion must
list all public names. A package imports its names under `TYPE_CHECKING` for type checkers, and
has::

    if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any name
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
        package: name of the package, which has `__all__`.
        homes: module in the package that defines each public name; ".module" for a module of the
            parent package, "module:other" if the name differs there.
        modules: public modules of the package.
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
