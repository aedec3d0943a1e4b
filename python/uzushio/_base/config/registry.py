"""Classes and functions that are found by name and imported at first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from uzushio._base.config.names import unknown
from uzushio.errors import UzushioError

Registered = TypeVar("Registered")


class Registry(dict[str, str], Generic[Registered]):
    """Built-in and registered targets "module:name" by the name that a file uses."""

    def __init__(
        self,
        kind: str,
        targets: dict[str, str],
        error: type[UzushioError],
        advice: str,
        group: str | None = None,
    ) -> None:
        """Set the built-in targets.

        Args:
            kind: kind of the targets, for messages.
            targets: built-in targets.
            error: class of the error of `find`.
            advice: what to do if a target cannot be imported.
            group: entry points with which installed packages add targets.
        """
        super().__init__(targets)
        self._kind, self._error, self._advice, self._group = kind, error, advice, group

    def register(self, name: str, target: str) -> None:
        """Add or replace the target "module:name" of a name."""
        self[name] = target

    def known(self) -> dict[str, str]:
        """Return all targets: built-in, registered, and of installed packages."""
        return (_installed(self._group) if self._group else {}) | dict(self)

    def find(self, name: str) -> Registered:
        """Import a target.

        Raises:
            UzushioError: of the class `error`; there is no such name, or the import fails.
        """
        known = self.known()
        if name not in known:
            raise self._error(f"{self._kind} '{name}' {unknown(name, list(known))}")
        module, _, attribute = known[name].partition(":")
        try:
            value: Registered = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise self._error(
                f"{self._kind} '{name}' cannot be loaded from {known[name]} ({error}); "
                f"{self._advice}"
            ) from error
        return value


@cache  # the search reads a file of each installed package
def _installed(group: str) -> dict[str, str]:
    return {entry.name: entry.value for entry in entry_points(group=group)}
