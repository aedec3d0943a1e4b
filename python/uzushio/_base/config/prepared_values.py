"""Values of a file as pydantic gets them: paths with their folder, no truth values for numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args, get_origin

from pydantic import BaseModel

from uzushio._base.config.paths import IS_NAMED
from uzushio._base.config.yaml_file import KeyPath

Folder: TypeAlias = Callable[[KeyPath], Path]


def prepared(model: type[BaseModel], values: Any, folder: Folder) -> Any:
    """Return values in which relative paths of files to read are joined to a folder.

    Where a number is expected, true and false become texts, which pydantic refuses; it would take
    them for 1 and 0.

    Args:
        model: the model of the values, which need not be valid.
        values: values of the file.
        folder: returns the folder of the relative paths at a key.
    """
    return _prepared(model, (), values, (), folder)


def _prepared(kind: Any, marks: tuple[Any, ...], given: Any, key: KeyPath, folder: Folder) -> Any:
    """Return a value of a type, which is given with the metadata of its annotation."""
    if isinstance(given, bool):
        return str(given).lower() if _is_number(kind) else given
    if IS_NAMED in marks:
        is_relative = isinstance(given, str) and given and not given.startswith("~")
        return str(folder(key) / given) if is_relative else given
    if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(given, dict):
        fields = {name: field for name, field in kind.model_fields.items() if name in given}
        return given | {
            name: _prepared(field.annotation, (*field.metadata,), given[name], (*key, name), folder)
            for name, field in fields.items()
        }
    inner, origin = get_args(kind), get_origin(kind)
    if origin is Annotated:
        return _prepared(inner[0], inner[1:], given, key, folder)
    if origin is dict and isinstance(given, dict):
        return {k: _prepared(inner[1], (), value, (*key, k), folder) for k, value in given.items()}
    if origin is list and isinstance(given, list):
        return [_prepared(inner[0], (), item, (*key, i), folder) for i, item in enumerate(given)]
    changed = (_prepared(alternative, (), given, key, folder) for alternative in inner)
    return next((value for value in changed if value != given), given)


def _is_number(kind: Any) -> bool:
    """Return whether values of a type may be numbers, but not truth values."""
    kinds = list(_kinds(kind))
    return (int in kinds or float in kinds) and not any(
        kind in (bool, Any) or isinstance(kind, bool) for kind in kinds
    )


def _kinds(kind: Any) -> Iterator[Any]:
    """Yield the types and literal values of a union."""
    inner = get_args(kind)[:1] if get_origin(kind) is Annotated else get_args(kind)
    yield from (each for part in inner for each in _kinds(part))
    if not inner:
        yield kind
