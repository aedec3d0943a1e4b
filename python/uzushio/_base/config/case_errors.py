"""Messages for pydantic's errors: one line each with place, key, given value and allowed values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from uzushio._base.config.names import unknown
from uzushio._base.config.yaml_file import KeyPath
from uzushio.errors import SettingsError

_SHORTER = {
    "must be a valid integer": "must be an integer",
    "must be a valid number": "must be a number",
    "must be a valid string": "must be text",
    "must be a valid dictionary": "must be a section of `key: value` lines",
    "must be a valid tuple": "must be a list",
    "must be a valid list": "must be a list",
    "must be a valid boolean": "must be true or false",
    "Input is not a valid path": "must be a path",
}


#: Maximum number of mistakes of a file in a message, and of characters of a wrong value.
_MAX_MISTAKES = 100
_MAX_CHARACTERS = 200
#: Pydantic's types of errors about lengths: word for the bound, name of the limit.
_LENGTHS = {
    "too_short": ("least", "min_length"),
    "too_long": ("most", "max_length"),
    "string_too_short": ("least", "min_length"),
    "string_too_long": ("most", "max_length"),
}


def explain(
    error: ValidationError,
    model: type[BaseModel],
    values: dict[str, Any],
    where: Callable[[KeyPath], str],
    whole: str = "the case",
) -> list[str]:
    """Return one line for each mistake.

    Args:
        error: pydantic's error.
        model: the model of the whole case.
        values: the values that were validated.
        where: returns the file and line, or the override, in which a key was given.
        whole: name of the whole, for mistakes that are not of one key.
    """
    mistakes = mistakes_of(error, model, values, whole)
    lines = [f"{where(key)}: {text}" for key, text in mistakes]
    if (more := error.error_count() - _MAX_MISTAKES) > 0:
        lines.append(f"and {more} more mistakes; only the first {_MAX_MISTAKES} are listed")
    return list(dict.fromkeys(lines))


def mistakes_of(
    error: ValidationError, model: type[BaseModel], values: dict[str, Any], whole: str = "the case"
) -> list[tuple[KeyPath, str]]:
    """Return the key and the sentence of each mistake, see `explain`."""
    keyed = []
    mistakes = error.errors(include_url=False)[:_MAX_MISTAKES]
    keys = [_key(mistake["loc"], values, mistake["type"] == "missing") for mistake in mistakes]
    for mistake, key in zip(mistakes, keys, strict=True):
        others = [mistake for mistake, place in zip(mistakes, keys, strict=True) if place == key]
        inside = any(place[: len(key)] == key and place != key for place in keys)
        if _follows(mistake) or _is_of_another_type(mistake, others, inside):
            continue
        if cut := _cut_at_comma(values, key):
            keyed.append((key, cut))
            continue
        location = mistake["loc"]
        cause = mistake.get("ctx", {}).get("error")
        if isinstance(cause, SettingsError) and cause.path:  # of a validator of a whole section
            key = (*key, *cause.path)
            keyed.append((key, f"{'.'.join(map(str, key))}: {cause}"))
            continue
        allowed = _allowed(location, model) if mistake["type"] == "extra_forbidden" else []
        if _is_of_type(mistake):
            types = [_message(mistake).removeprefix("must be ") for mistake in others]
            if len(types) > 1:
                mistake = mistake | {"msg": "must be " + " or ".join(dict.fromkeys(types))}
        keyed.append((key, _sentence(mistake, key, allowed, whole)))
    return keyed


def _cut_at_comma(values: Any, key: KeyPath) -> str:
    """Return a sentence on a text that YAML ended at a comma, so that its rest became keys."""
    for part in key[:-1]:
        inside = isinstance(values, dict) or (isinstance(values, list) and isinstance(part, int))
        values = values[part] if inside else None
    if not key or not isinstance(values, dict) or values.get(key[-1], key) is not None:
        return ""
    for name, text in values.items():
        if isinstance(text, str) and text.count("(") > text.count(")"):
            dotted = ".".join(map(str, (*key[:-1], name)))
            return f"{dotted}: {text!r} ends at a comma; put quotes around a text with commas"
    return ""


def _shown(given: Any) -> str:
    """Return a value as text for a message, cut to the maximum length."""
    text = repr(given)
    return (
        text
        if len(text) <= _MAX_CHARACTERS
        else f"{text[:_MAX_CHARACTERS]} … ({len(text)} characters)"
    )


def _sentence(mistake: Any, key: KeyPath, allowed: list[str], whole: str) -> str:
    """Describe the mistake in the value at `key`."""
    dotted = ".".join(map(str, key)) or whole
    if mistake["type"] == "missing":
        if isinstance(key[-1], int):
            section = ".".join(map(str, key[:-1]))
            return (
                f"{section}: got {_shown(list(mistake['input']))}, which lacks entry {key[-1] + 1}"
            )
        return f"{dotted} is required"
    if mistake["type"] == "extra_forbidden":
        return f"{dotted} {unknown(str(key[-1]), allowed)}"
    if mistake["type"].startswith("union_tag"):
        return _tag_sentence(mistake, dotted)
    message, given = _message(mistake), mistake["input"]
    if isinstance(given, (dict, BaseModel)):
        return f"{dotted} {message}".lstrip()
    return f"{dotted}: got {_shown(given)}, {message}"


def _message(mistake: Any) -> str:
    """Describe the allowed values."""
    message: str = mistake["msg"]
    message = message.removeprefix("Value error, ").replace("Input should be", "must be")
    if mistake["type"] in _LENGTHS:
        bound, limit = _LENGTHS[mistake["type"]]
        least = mistake["ctx"][limit]
        many = "letter" if mistake["type"].startswith("string") else "entry"
        few = {"letter": "letters", "entry": "entries"}[many] if least != 1 else many
        return f"must have at {bound} {least} {few}"
    return next((short for long, short in _SHORTER.items() if message.startswith(long)), message)


def _follows(mistake: Any) -> bool:
    """Return whether a list is too short only because pydantic dropped entries with errors."""
    context, given = mistake.get("ctx", {}), mistake["input"]
    return bool(
        mistake["type"] == "too_short"
        and isinstance(given, (list, tuple))
        and len(given) >= context["min_length"]
    )


def _is_of_type(mistake: Any) -> bool:
    """Return whether an error is about the type of a value."""
    return bool(mistake["type"].endswith(("_type", "_parsing")))


def _is_of_another_type(mistake: Any, others: list[Any], inside: bool) -> bool:
    """Return whether an error is about a type of a union that the value does not have.

    The value has a type if there are `others`, errors at its place or `inside` it, about its
    content.
    """
    return _is_of_type(mistake) and (inside or not all(map(_is_of_type, others)))


def _tag_sentence(mistake: Any, dotted: str) -> str:
    """Describe the allowed values of the key that selects the kind of a section."""
    if not isinstance(mistake["input"], (dict, BaseModel)):
        return f"{dotted}: got {_shown(mistake['input'])}, must be a section of `key: value` lines"
    context = mistake["ctx"]
    name = context["discriminator"].strip("'").removesuffix("()").lstrip("_")
    key = f"{dotted}.{name}"
    if mistake["type"] == "union_tag_not_found":
        return f"{key} is required"
    return f"{key}: got {_shown(context['tag'])}, must be one of {context['expected_tags']}"


def _key(location: tuple[Any, ...], values: Any, missing: bool) -> KeyPath:
    """Return the part of pydantic's location that is in the file; it also names union members."""
    key: list[Any] = []
    for depth, part in enumerate(location, start=1):
        indices = range(len(values)) if isinstance(values, list | tuple) else ()
        if part in (values if isinstance(values, dict) else indices):
            values = values[part]
        elif not (missing and depth == len(location)):
            continue
        key.append(part)
    return tuple(key)


def _allowed(location: tuple[Any, ...], model: type[BaseModel]) -> list[str]:
    """List the keys known in the section that holds the last part of `location`."""
    sections = [model]
    for part in location[:-1]:
        inner = [
            section.model_fields[part].annotation for section in sections if _has(section, part)
        ]
        if inner:
            sections = [section for annotation in inner for section in _models(annotation)]
        else:
            sections = [section for section in sections if _is_member(section, part)] or sections
    return list(dict.fromkeys(name for section in sections for name in section.model_fields))


def _has(model: type[BaseModel], part: Any) -> bool:
    return part in model.model_fields


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Find the models in an annotation such as `Annotated[A | B | None, …]` or `list[A]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _is_member(model: type[BaseModel], tag: Any) -> bool:
    """Return whether `tag` is pydantic's name of this union member: its class, or a literal."""
    if model.__name__ == tag:
        return True
    return any(tag in get_args(field.annotation) for field in model.model_fields.values())
