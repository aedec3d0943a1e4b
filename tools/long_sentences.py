"""Print sentences of the documentation that have too many words, and return 1 if there are any.

Run as ``python tools/long_sentences.py [FILE ...]``; without files, on all pages. A sentence ends
with a full stop, semicolon, question or exclamation mark. Left out are code, tables,
headings, displayed formulas, comments and the list of sources. A piece of code, a formula and the
address of a link count as one word, one word and none; numbers and symbols are no words.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_WORDS = 25
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
#: What is removed before the text is split, with what takes its place.
_REMOVED = [
    (re.compile(r"^## Sources\n.*?(?=^## |\Z)", re.M | re.S), ""),
    (re.compile(r"^\s*(```+|~~~+).*?^\s*\1\s*$", re.M | re.S), ""),
    (re.compile(r"<!--.*?-->|\$\$.*?\$\$", re.S), ""),
    (re.compile(r"^(?:\s*\||#|    ).*$", re.M), ""),
    (re.compile(r"(`+)[^`]+\1|\$[^$]+\$"), lambda code: re.sub(r"\s+", "·", code[0])),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
]
#: Blank lines and the starts of list items.
_PARAGRAPHS = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)")
_ENDS = re.compile(r"(?<=[.!?;])[*_)”\"]*\s+")
_WORD = re.compile(r"[^\W\d_]{2}|^[aAI]$")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page."""
    for pattern, replacement in _REMOVED:
        text = pattern.sub(replacement, text)
    for paragraph in _PARAGRAPHS.split(text):
        yield from _ENDS.split(" ".join(paragraph.split()))


def long_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of words and the text of each sentence with more than `MAX_WORDS`."""
    for sentence in sentences(text):
        words = sum(bool(_WORD.search(word)) for word in sentence.split())
        if words > MAX_WORDS:
            yield words, sentence


def main(pages: list[Path]) -> int:
    """Print the long sentences of the pages."""
    found = [(page, *entry) for page in pages for entry in long_sentences(page.read_text("utf-8"))]
    for page, words, sentence in found:
        print(f"{page}: {words} words: {sentence}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]] or PAGES))
