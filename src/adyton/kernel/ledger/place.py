"""Where a ledger lies: a regular file on disk that is reached under one name only."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

from adyton.errors import LedgerError
from adyton.kernel.ledger.creation import reason


def examine(path: str, name: str) -> os.stat_result:
    """The file's ``stat``, once it is known to be a regular file with something in it."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise LedgerError(f"{name} does not exist. Check the path of the ledger.") from None
    except OSError as error:
        raise LedgerError(f"{name} cannot be reached: {reason(error)}. Check its path and permissions.") from None
    if stat.S_ISDIR(found.st_mode):
        raise LedgerError(f"{name} is a directory. Give the path of a file.")
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(f"{name} is not a regular file. Give the path of a file on disk.")
    if found.st_nlink > 1 and not _alone_soon(path):
        raise LedgerError(
            f"{name} has a second name (a hard link), under which others could spend unseen. Remove all names but one."
        )
    if _is_mount_point(path):
        raise LedgerError(
            f"{name} is mounted here by itself, so others could spend under its first name unseen. Mount its directory."
        )
    if found.st_size == 0:
        raise LedgerError(f"{name} is empty, so it is not a ledger. Restore it, or remove it if it never was one.")
    return found


def _alone_soon(path: str) -> bool:
    """Whether a file comes to have one name only: while a ledger is created, it has two for a moment."""
    for _ in range(100):
        with suppress(OSError):
            if os.stat(path).st_nlink <= 1:
                return True
        time.sleep(0.01)
    return False


def _is_mount_point(path: str) -> bool:
    """Whether a file is a mount point: SQLite would keep a write-ahead log beside each of its names."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            points = [line.split()[4] for line in mounts]
    except (OSError, IndexError):
        return os.path.ismount(path)
    return path.replace(" ", "\\040") in points


def state(found: os.stat_result) -> tuple[int, ...]:
    """What changes when a file does."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
