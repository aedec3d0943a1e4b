"""Keys of case files as JSON schemas and as tables, from the models that validate cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from uzushio.case import registry
from uzushio.case.model import CaseFile


def case_models() -> dict[str, type[CaseFile]]:
    """Return case models by the name of their solver or model, in alphabetical order."""
    solvers = {name: registry.solver_class(name).case_model for name in registry.known()}
    models = {name: registry.MODELS.find(name).case_model for name in registry.known_models()}
    return dict(sorted((solvers | models).items()))


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON schema of the cases of a solver or model.

    Raises:
        CaseError: there is no solver or model of this name.
    """
    schema = case_model(name).model_json_schema()
    kind = kind_key(name)
    schema["properties"] = {kind: None} | schema["properties"]
    schema["properties"][kind]["const"] = name
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema


def case_model(name: str) -> type[CaseFile]:
    """Return the case model of a solver or of a model of assimilations; raises `CaseError`."""
    registered = registry.MODELS if name in registry.known_models() else registry.SOLVERS
    model: type[CaseFile] = registered.find(name).case_model
    return model


def kind_key(name: str) -> str:
    """Return the key of a case file that holds this name: `solver` or `model`."""
    return "model" if name in registry.known_models() else "solver"


@dataclass(frozen=True)
class Key:
    """A key of a case file.

    Attributes:
        path: path of the key, as "grid.nx".
        kind: description of the value's type.
        unit: unit of the value, or "–".
        default: default in YAML, or "required".
        limits: limits of the value; may be empty.
        meaning: description of the key.
    """

    path: str
    kind: str
    unit: str
    default: str
    limits: str
    meaning: str


@dataclass(frozen=True)
class SectionKeys:
    """Keys of a section, or of the top level of the file if `path` is empty.

    A section of one of several kinds has an entry for each; `variant` is the line of the file that
    selects the kind, as "shape: sphere".
    """

    path: str
    meaning: str
    keys: tuple[Key, ...]
    variant: str = ""


def sections(name: str) -> list[SectionKeys]:
    """Return all keys of a solver's or model's case, section by section."""
    schema = json_schema(name)
    return list(_sections("", schema, schema["$defs"]))


def _sections(
    path: str, schema: Mapping[str, Any], defs: Mapping[str, Any], variant: str = ""
) -> Iterator[SectionKeys]:
    keys: list[Key] = []
    below: list[tuple[str, dict[str, Any], str]] = []
    required = schema.get("required", ())
    for name, given in schema["properties"].items():
        full = f"{path}.{name}" if path else name
        resolved, values = _resolved(given, defs)
        if inside := _models(given, defs):
            about = {key: given[key] for key in ("description",) if key in given}
            below += [(full, model | about, kind) for model, kind in inside]
        elif inside := _models(resolved.get("additionalProperties"), defs):
            below += [(f"{full}.NAME", model, kind) for model, kind in inside]
        else:
            keys.append(_key(full, resolved, values, name in required))
    yield SectionKeys(path, schema.get("description", ""), tuple(keys), variant)
    listed = set()  # sections that several kinds have
    for full, alternative, kind in below:
        for section in _sections(full, alternative, defs, kind):
            if (section.path, section.variant) not in listed:
                listed.add((section.path, section.variant))
                yield section


def _models(given: object, defs: Mapping[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the kinds of section that a property may be, each with the line that selects it."""
    if not isinstance(given, Mapping):
        return []
    key = given.get("discriminator", {}).get("propertyName")
    return [
        (alternative, f"{key}: {alternative['properties'][key]['const']}" if key else "")
        for alternative in _alternatives(given, defs)
        if "properties" in alternative
    ]


def _resolved(
    given: Mapping[str, Any], defs: Mapping[str, Any]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a property with its reference followed, and the alternatives for its value."""
    values = [
        alternative
        for alternative in _alternatives(given, defs)
        if alternative.get("type") != "null"
    ]
    return {**values[0], **{k: v for k, v in given.items() if k != "$ref"}}, values


def _alternatives(given: Mapping[str, Any], defs: Mapping[str, Any]) -> list[dict[str, Any]]:
    several = given.get("anyOf", given.get("oneOf"))
    if several is None:
        return [_followed(given, defs)]
    return [each for alternative in several for each in _alternatives(alternative, defs)]


def _followed(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return dict(schema)
    return dict(defs[schema["$ref"].rsplit("/", 1)[-1]]) | {
        key: value for key, value in schema.items() if key != "$ref"
    }


def _key(path: str, resolved: Mapping[str, Any], values: list[dict[str, Any]], needed: bool) -> Key:
    default = "required" if needed else f"`{inline(resolved.get('default'))}`"
    kinds = list(dict.fromkeys(_kind(value) for value in values))
    return Key(
        path,
        resolved.get("written", " or ".join(kinds)),
        resolved.get("unit", "–"),
        default,
        ", ".join(filter(None, (_limits(value) for value in values))),
        resolved.get("description", ""),
    )


_KINDS = {"integer": "integer", "number": "number", "boolean": "boolean", "string": "text"}


def _kind(schema: Mapping[str, Any]) -> str:
    if isinstance(schema.get("const"), bool):
        return f"`{str(schema['const']).lower()}`"
    if "const" in schema or "enum" in schema:
        return "one of " + ", ".join(
            f"`{choice}`" for choice in schema.get("enum", [schema.get("const")])
        )
    if schema.get("format") == "path":
        return "path"
    if schema.get("type") == "array":
        items = schema.get("items") or schema.get("prefixItems", [{}])[0]
        inner = items.get("anyOf", [items])[0]
        if "enum" in inner:
            return "list of " + ", ".join(f"`{choice}`" for choice in inner["enum"])
        return f"list of {_plural(inner)}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"{_plural(schema['additionalProperties'])} by name"
    return _KINDS.get(schema.get("type", ""), "value")


def _plural(schema: Mapping[str, Any]) -> str:
    kind = _kind(schema)
    return kind.replace("list", "lists", 1) if kind.startswith("list of") else f"{kind}s"


_LIMITS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "multipleOf": "multiple of {}",
}


def _limits(schema: Mapping[str, Any]) -> str:
    limits = _count(schema)
    limits += [
        text.format(f"{schema[key]:,.12g}") for key, text in _LIMITS.items() if key in schema
    ]
    if schema.get("type") == "array" and isinstance(schema.get("items"), Mapping):
        inner = _limits(schema["items"])
        limits += [f"each {inner}"] if inner else []
    return ", ".join(limits)


def _count(schema: Mapping[str, Any]) -> list[str]:
    """Return the limits of the number of values of a list."""
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and least == most:
        return [f"exactly {_values(least)}"]
    limits = [] if least is None else [f"at least {_values(least)}"]
    return limits if most is None else [*limits, f"at most {_values(most)}"]


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count:,} values"


def summary_line(text: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((text or "").strip().split("\n\n")[0].split())


def inline(value: object) -> str:
    """Return a value as YAML on one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10**6).removesuffix("...\n").strip()
