"""Puts the changelog on the site; in the repository its page links to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.pages import Page


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """The changelog itself in place of the link to it."""
    if page.file.src_uri != "changelog.md":
        return markdown
    return (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
