"""The reference page of all keys of case files, `docs/reference/case.md`."""

from __future__ import annotations

from collections.abc import Sequence

from uzushio.case.schema import SectionKeys, case_models, kind_key, sections, summary_line
from uzushio.staging.option_keys import OPTION_KEYS


def reference() -> str:
    """Return the reference page of all keys, in Markdown."""
    parts = [_HEAD]
    for name, model in case_models().items():
        parts.append(f"## `{kind_key(name)}: {name}`\n\n{summary_line(model.__doc__)}\n")
        for section in sections(name):
            parts += _section_lines(section)
    parts.append(_STAGING)
    parts += [_table(_OPTION_HEAD, [(f"`publish.{one.key}`", *one[1:]) for one in OPTION_KEYS])]
    return "\n".join(parts)


_HEAD = """\
# Keys of a case file

Made by `make docs` from the models that validate cases; do not edit. `uzushio schema NAME` prints
the same as a JSON schema for editors, `uzushio init NAME` writes a commented case. Unknown keys
are refused. `--set SECTION.KEY=VALUE` changes a value for one run.
Lengths may be products with pi, as `4/3 pi`; sizes have units, as `2 GiB`.
"""
_STAGING = """\
## Options of staging, in `publish`

Further keys of the section `publish`, and of the options files of instrumented codes (there without
`publish.`). [watch.md](../how-to/watch.md) says when to choose what.
"""
_OPTION_HEAD = ("key", "type", "unit", "default", "limits", "meaning")


def _section_lines(section: SectionKeys) -> list[str]:
    if not section.keys:
        return []
    head = [f"### `{section.path}`\n", f"{section.meaning}\n"] if section.path else []
    rows = [
        (f"`{key.path}`", key.kind, key.unit, key.default, key.limits, key.meaning)
        for key in section.keys
    ]
    return [*head, _table(_OPTION_HEAD, rows)]


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    cells = [head, ("---",) * len(head), *rows]
    return (
        "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in cells)
        + "\n"
    )
