"""Calls whose exceptions end inside, and which Ctrl-C ends at once."""

import os
import signal
import threading
import time

import pytest

from adyton.kernel.sealed import interruptible, quietly


def explode():
    raise ValueError("a secret")


def leave():
    raise SystemExit(3)


def test_failures_end_inside():
    assert quietly(explode) is None
    assert interruptible(explode, None) is None
    assert interruptible(leave, None) is None
    assert quietly(lambda: 5) == interruptible(lambda: 5, None) == 5


def test_an_interruption_stops_the_call_and_waits_for_it():
    stopped, ended = threading.Event(), threading.Event()
    start = time.monotonic()

    def work():
        stopped.wait(30)
        ended.set()

    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(work, stopped.set)
    assert stopped.is_set()
    assert ended.is_set()
    assert time.monotonic() - start < 20
