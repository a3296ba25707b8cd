"""Hidden drafts of files and folders that are being saved, and the removal of drafts left by killed processes.

The process that makes a draft holds a lock on it, which the system releases when the process ends, however it ends. So
a draft that another process can lock no longer has an owner. Only files with names made here are ever touched.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - without such locks, nothing is ever cleared
    fcntl = None  # type: ignore[assignment]

ENDING = "partial"
_TOKEN = 12
"""Bytes of a token. Drafts with shorter tokens, of earlier versions, had no lock: they are left alone."""


def hidden(path: Path) -> Path:
    """A new name for a draft, in the folder of the file or folder that is being saved."""
    return path.parent / f".{path.name[:100]}.{token()}.{ENDING}"


def token() -> str:
    """The random part of a draft's name."""
    return secrets.token_hex(_TOKEN)


@contextmanager
def held(make: Callable[[Path], None], name: Callable[[], Path]) -> Iterator[Path]:
    """A draft that *make* creates under a new *name*, a file or a folder, with a lock on it until the block ends."""
    draft, handle = _claimed(make, name)
    try:
        yield draft
    finally:
        if handle is not None:
            os.close(handle)


def _claimed(make: Callable[[Path], None], name: Callable[[], Path]) -> tuple[Path, int | None]:
    while True:
        draft = name()
        make(draft)
        if fcntl is None:  # pragma: no cover
            return draft, None
        with suppress(FileNotFoundError):  # another process removed it before it was locked: make a new one
            handle = os.open(draft, os.O_RDONLY)
            lock(handle, wait=True)
            with suppress(FileNotFoundError):
                os.stat(draft)
                return draft, handle
            os.close(handle)


@contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """A hidden file to write to, which takes the place of *file* in one step if the block succeeds."""
    clear(file)
    with held(begin, lambda: hidden(file)) as draft:
        try:
            yield draft
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)


def begin(file: Path) -> None:
    """Create an empty file, which must not exist yet."""
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


@contextmanager
def abandoned(draft: Path) -> Iterator[bool]:
    """Whether the process that made a draft has ended; False if that cannot be known.

    Within the block no other process can claim the draft: one that has just made it waits, and then finds it gone.
    """
    try:
        handle = os.open(draft, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        yield False
        return
    try:
        yield lock(handle, wait=False) is True
    finally:
        os.close(handle)


def clear(path: Path, keep: Callable[[Path], bool] = lambda draft: False) -> list[Path]:
    """Remove a path's drafts left by killed processes. Folders for which *keep* is true stay, and are returned."""
    kept = []
    name = re.compile(rf"\.{re.escape(path.name[:100])}\.[0-9a-f]{{{2 * _TOKEN}}}\.{ENDING}")
    with suppress(OSError):
        for draft in sorted(path.parent.iterdir()):
            if not name.fullmatch(draft.name) or draft.is_symlink():
                continue
            with abandoned(draft) as free:
                if free and draft.is_dir() and keep(draft):
                    kept.append(draft)
                elif free and draft.is_dir():
                    shutil.rmtree(draft, ignore_errors=True)
                elif free:
                    draft.unlink(missing_ok=True)
    return kept


def lock(handle: int, *, wait: bool) -> bool | None:
    """Lock a draft until it is closed. Returns whether that succeeded; None where locks are not available."""
    if fcntl is None:  # pragma: no cover
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
