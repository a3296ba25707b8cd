"""Writes the words of the pages of the service into the glossary."""

from __future__ import annotations

from typing import Any

from generated import filled

from adyton.service.pages.words import WORDS

NAME = "words"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table where a page asks for it."""
    return filled(markdown, NAME, table)


def table() -> str:
    """Each word with its meaning."""
    rows = (f"| **{word}** | {meaning} |" for word, meaning in WORDS.items())
    return "\n".join(["| word | meaning |", "|---|---|", *rows])
