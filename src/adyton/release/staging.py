"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adyton.errors import AdytonError, BadInput


@contextmanager
def staged(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A hidden folder to write into, which becomes *folder* in one step when the block ends well, and vanishes if not.

    What cannot be written later is refused now. Only if the last step fails, the hidden folder stays: it holds what was
    paid for.
    """
    given = Path(folder)
    try:
        goal = given.resolve()
        _check(given, goal)
        made = [parent for parent in goal.parents if not parent.exists()]
        goal.parent.mkdir(parents=True, exist_ok=True)
        draft = goal.parent / f".{goal.name[:100]}.{secrets.token_hex(4)}.partial"
        draft.mkdir()
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{given} cannot be written to ({reason}). Name a folder that you may write to.") from None
    kept = False
    try:
        yield draft
        try:
            draft.rename(goal)  # takes the place of an empty folder too
        except OSError as error:
            kept = True
            raise AdytonError(
                f"{given} could not be put in place ({error.strerror}). All of it is in {draft}."
            ) from None
    finally:
        if not kept:
            shutil.rmtree(draft, ignore_errors=True)
            for parent in made:
                with suppress(OSError):
                    parent.rmdir()  # stays if there is something in it


def _check(given: Path, goal: Path) -> None:
    if goal.exists() and not goal.is_dir():
        raise BadInput(f"{given} is a file. Name a folder to write to.")
    if goal.is_dir() and any(goal.iterdir()):
        raise BadInput(f"{given} holds files already. Name a new folder, or empty it first.")
    if goal == Path.cwd() or os.path.ismount(goal):
        raise BadInput(f"{given} cannot be put in place in one step. Name a new folder.")
