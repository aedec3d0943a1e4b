"""Texts of files with placeholders such as {time} and {step}."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter

#: A format; a width of three digits or more could fill the memory.
_FORMAT = re.compile(r"[<>^=+ ,_#-]*\d{0,2}[,_]?(\.\d{1,2})?[a-zA-Z%]?")


def check_placeholders(text: str, values: Mapping[str, str | int | float], example: str) -> str:
    """Return a text with its placeholders replaced.

    Args:
        text: text from a file.
        values: values of the allowed placeholders.
        example: placeholder with a format, for the message.

    Raises:
        ValueError: the text has another placeholder or format.
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
