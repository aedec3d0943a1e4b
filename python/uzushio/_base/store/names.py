"""Names of variables in stores: those of users, apart from the stores' own."""

from __future__ import annotations

from collections.abc import Sequence

from uzushio.errors import OutputError

#: Names of arrays and files of the stores themselves.
_OWN = ("time", "step", "x", "y", "z", "distance", "zarr.json")
#: Maximum bytes of a name, which is that of a folder.
_MAX_BYTES = 255


def own_name(name: str) -> str:
    """Return the name of a user's field beside columns or variables of a result's own."""
    return f"{name}_field" if name in _OWN else name


def stored_name(name: str) -> str:
    """Return the name of a user's field in a store.

    Stores read slashes as paths, and full stops alone as folders: they are encoded.
    """
    name = own_name(name)
    if not name.strip("."):
        return name.replace(".", "%2E")
    return name.replace("/", "%2F")


def stored_names(names: Sequence[str]) -> dict[str, str]:
    """Return the names in a store by the names of the fields.

    Raises:
        OutputError: two fields have the same name there, or a name is too long.
    """
    by_name: dict[str, str] = {}
    for name in names:
        stored = stored_name(name)
        if len(stored.encode()) > _MAX_BYTES:
            raise OutputError(
                f"the field '{name[:40]}…' has a name of {len(stored.encode())} bytes, and the "
                f"maximum in a store is {_MAX_BYTES}"
            )
        for other, taken in by_name.items():
            if taken == stored:
                raise OutputError(
                    f"the fields '{other}' and '{name}' are both called '{stored}' in a store; "
                    "write them by actions of their own"
                )
        by_name[name] = stored
    return by_name
