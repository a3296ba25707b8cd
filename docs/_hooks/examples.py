"""Puts the examples on the site, so that a link to one works there as it does in the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_LINK = re.compile(r"\]\((?:\.\./)+examples/")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every example to what the site offers."""
    for path in sorted((Path(config.config_file_path).parent / "examples").glob("*.*")):
        files.append(File.generated(config, f"examples/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Point links to the examples at the copies on the site."""
    upwards = "../" * page.file.src_uri.count("/")
    return _LINK.sub(f"]({upwards}examples/", markdown)
