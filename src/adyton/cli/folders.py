"""Where a command may write."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from adyton.cli.console import output_is_open
from adyton.errors import BadInput


def check_folder(folder: Path | None, used: Iterable[str | Path | None], *, overwrite: bool) -> None:
    """Refuse to write where a file lies that the command works with."""
    if folder is None:
        if overwrite:
            raise BadInput("--overwrite belongs to --out. Name the folder that may be overwritten.")
        check_output()
        return
    for file in used:
        if file and folder.resolve() in Path(file).resolve().parents:
            raise BadInput(f"{file} lies in {folder}, which is to be written whole. Give --out another folder.")


def check_output() -> None:
    """Refuse to pay for what would be printed nowhere."""
    if not output_is_open():
        raise BadInput("standard output is closed, so the answer would be paid for and lost. Open it, or give --out.")
