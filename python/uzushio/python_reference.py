"""Tables of public names in the reference page on Python, `docs/reference/python.md`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import uzushio

#: First generated line of the page; the text above it is written by hand.
MARK = "<!-- `make docs` generates the following from the docstrings; do not edit. -->\n"


def rewrite(page: Path) -> None:
    """Replace the tables of the page by the current names."""
    text = page.read_text(encoding="utf-8")
    page.write_text(text[: text.index(MARK)] + MARK + names(), encoding="utf-8")


def names() -> str:
    """Return the tables: all names of all public modules, with the first lines of docstrings."""
    modules = [uzushio, *_modules()]
    return "".join(_table(module) for module in modules)


def _modules() -> Iterator[ModuleType]:
    for name in uzushio.__all__:
        if isinstance(getattr(uzushio, name), ModuleType):
            yield import_module(f"uzushio.{name}")


def _table(module: ModuleType) -> str:
    rows = [
        f"| `{name}` | {_line(getattr(module, name), name)} |"
        for name in _public(module)
        if name != "__version__"
    ]
    head = [f"\n### `{module.__name__}`\n", f"{_first(module)}\n", "| name | meaning |"]
    return "\n".join([*head, "|---|---|", *rows]) + "\n"


def _public(module: ModuleType) -> list[str]:
    """Return `__all__`, or else the names that the module defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
    ]


def _line(value: object, name: str) -> str:
    if inspect.isclass(value) or inspect.isfunction(value) or isinstance(value, ModuleType):
        return _first(value)
    return "a constant or a type; the module's docstring describes it"


def _first(value: object) -> str:
    """Return the first paragraph of a docstring on one line."""
    text = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(text.split()).removesuffix("::").replace("|", "\\|")
