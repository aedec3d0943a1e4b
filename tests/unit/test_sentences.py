"""Pages of the documentation have sentences of at most 25 words."""

from pathlib import Path

import pytest
from long_sentences import PAGES, ROOT, long_sentences


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_no_long_sentences(page: Path) -> None:
    sentences = list(long_sentences(page.read_text(encoding="utf-8")))
    assert not sentences, "\n".join(f"{words}: {text}" for words, text in sentences)


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("word " * 25 + "ends.", 1),
        ("word " * 24 + "ends.", 0),
        ("word " * 20 + "ends; " + "word " * 20 + "ends.", 0),
        ("word " * 20 + "ends. " + "word " * 20 + "ends.", 0),
        ("word " * 25 + "`make site` " + "1 2.5 % × " * 9, 1),
        ("word " * 25 + "1 2.5 % × " * 9, 0),
        ("```sh\n" + "word " * 30 + "\n```\n", 0),
        ("| " + "word " * 30 + "|\n", 0),
        ("word " * 20 + "[two words](https://example.org/a-long-address)", 0),
        ("- " + "word " * 20 + "\n- " + "word " * 20, 0),
        ("## Sources\n\n1. " + "word " * 30, 0),
    ],
)
def test_words_are_counted_outside_of_code_tables_and_addresses(text: str, long: int) -> None:
    assert len(list(long_sentences(text))) == long
