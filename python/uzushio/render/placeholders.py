"""Texts with {time}, {step} and the like in them, as files give them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter

#: A format; with a width of three digits or more a text could fill the memory.
_FORMAT = re.compile(r"[<>^=+ ,_#-]*\d{0,2}[,_]?(\.\d{1,2})?[a-zA-Z%]?")


def check_placeholders(text: str, values: Mapping[str, str | int | float], example: str) -> str:
    """Return what a text becomes with these values.

    Args:
        text: that a file gives.
        values: one of each placeholder that it may hold.
        example: of a placeholder with a format, for the message.

    Raises:
        ValueError: it holds something else.
    """
    try:
        for _, name, form, conversion in Formatter().parse(text):
            if name is not None and (name not in values or conversion is not None):
                raise ValueError(name)
            if form and not _FORMAT.fullmatch(form):
                raise ValueError(form)
        return text.format(**values)
    except (LookupError, ValueError, AttributeError, TypeError):
        *most, last = (f"{{{name}}}" for name in values)
        raise ValueError(
            f"may hold {', '.join(most)} and {last} only, with a format such as {example}; "
            "write {{ for a brace"
        ) from None
