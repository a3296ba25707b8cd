"""Calls whose exceptions end inside, and which Ctrl-C ends at once."""

import subprocess
import sys

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
    """In a process of its own, where the call is made by the main thread: signals go there."""
    code = """
import os, signal, threading
from adyton.kernel.sealed import interruptible

stopped, ended = threading.Event(), threading.Event()

def work():
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    stopped.wait(600)
    ended.set()

try:
    interruptible(work, stopped.set)
except KeyboardInterrupt:
    print("interrupted", stopped.is_set(), ended.is_set())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "interrupted True True\n", done.stderr


def test_no_thread_is_started_where_no_interrupt_can_come():
    code = """
import signal, threading
from adyton.kernel.sealed import interruptible

for handler in (signal.SIG_IGN, signal.default_int_handler):
    signal.signal(signal.SIGINT, handler)
    print(interruptible(threading.active_count, None), interruptible(lambda: exit(3), None))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "1 None\n2 None\n", done.stderr
