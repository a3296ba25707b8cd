"""One query at a time: tables may share a connection, and a connection runs one query at a time."""

from __future__ import annotations

import os
import threading

one_at_a_time = threading.RLock()
"""A forked child gets one of its own: the thread that held this one while the process forked does not exist there."""


def _renew() -> None:
    global one_at_a_time
    one_at_a_time = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
