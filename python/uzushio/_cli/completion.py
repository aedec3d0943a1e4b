"""Words that a shell completes: names of solvers and models, keys of a case."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from uzushio.case.model import read_document
from uzushio.case.registry import known, known_models
from uzushio.errors import UzushioError


def case_names(incomplete: str) -> list[str]:
    """Return the names of solvers and models that begin with a text."""
    return [name for name in sorted(known() | known_models()) if name.startswith(incomplete)]


def keys_of_case(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the keys of the case on the command line that begin with a text, each with a `=`."""
    from uzushio.case.schema import sections

    values = _case_values(ctx)
    name = values.get("solver") or values.get("model")
    if name not in known() | known_models():
        return []
    keys = [
        f"{path}="
        for section in sections(str(name))
        for key in section.keys
        for path in _named(key.path, values, section.variant)
    ]
    return list(dict.fromkeys(key for key in keys if key.startswith(incomplete)))


def _case_values(ctx: typer.Context) -> Mapping[str, Any]:
    """Return the values of the case that a command names, or that its restart continues."""
    from uzushio._base.store.checkpoint import run_of
    from uzushio._job.run_folder import CASE

    # The option that is being completed ends the parsing, so words may not be arguments yet.
    files = [ctx.params.get("case"), *map(Path, ctx.args)]
    if (restart := ctx.params.get("restart")) is not None:
        files.append(run_of(Path(restart)) / CASE)
    for file in files:
        try:
            if file is not None and file.is_file():
                return read_document(file).values
        except UzushioError:
            pass
    return {}


def _named(path: str, values: Mapping[str, Any], variant: str) -> list[str]:
    """Return a key with each NAME replaced by the names that the case has there.

    Args:
        path: the key.
        values: values of the case.
        variant: line that selects the kind of section in which the key is; empty: any.
    """
    above, separator, below = path.partition(".NAME")
    if not separator:
        return [path]
    section: Any = values
    for part in above.split("."):
        section = section.get(part) if isinstance(section, Mapping) else None
    names = []
    for name, entries in section.items() if isinstance(section, Mapping) else ():
        lines = [f"{k}: {v}" for k, v in entries.items()] if isinstance(entries, Mapping) else []
        if not variant or ".NAME" in below or variant in lines:
            names += _named(f"{above}.{name}{below}", values, variant)
    return names
