"""A fork copies one thread: what the others held at that moment must not hang a child that has paid."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import adyton as ad
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.kernel.counting.rows import one_at_a_time

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

TABLE = pd.DataFrame({"age": [34, 51]})
SCHEMA = ad.Schema({"age": ad.Integer(0, 119)})
PATIENCE = 120.0


def ends_well(work: Callable[[], bool]) -> bool:
    """Whether a forked child does its work, and in time."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@contextmanager
def elsewhere(work: Callable[[threading.Event, threading.Event], None]) -> Iterator[None]:
    """Another thread in the middle of *work*, which sets its first event when it is there and waits for the second."""
    there, go = threading.Event(), threading.Event()
    thread = threading.Thread(target=work, args=(there, go), daemon=True)
    thread.start()
    assert there.wait(PATIENCE)
    try:
        yield
    finally:
        go.set()
        thread.join(PATIENCE)


def counts() -> bool:
    with ad.Session(TABLE, schema=SCHEMA, epsilon=1) as session:
        session.count("0.5")
        return session.spent == Fraction(1, 2)


def test_a_child_counts_while_another_thread_of_its_parent_was_counting():
    assert counts()  # whatever is imported on first use is there

    def count(there: threading.Event, go: threading.Event) -> None:
        with one_at_a_time():
            there.set()
            go.wait(PATIENCE)

    with elsewhere(count):
        assert ends_well(counts)


def test_an_inherited_kernel_refuses_and_does_not_wait():
    kernel = ad.Kernel.on_vector([1, 2], epsilon=1)

    def measure(there: threading.Event, go: threading.Event) -> None:
        with kernel._lock:
            there.set()
            go.wait(PATIENCE)

    def refused() -> bool:
        for attempt in (
            lambda: kernel.root.measure(ad.workloads.Identity(2), 1),
            lambda: kernel.root.map(ad.workloads.Identity(2)),
            lambda: kernel.afford(kernel.root, 1),
        ):
            with pytest.raises(BadInput, match="another process"):
                attempt()
        return True

    with elsewhere(measure):
        assert ends_well(refused)


def test_a_fork_waits_until_other_threads_have_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "slowly_imported.py").write_text("import time\nmarks.append(1)\ntime.sleep(0.3)\ndone = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("builtins.marks", [], raising=False)

    def load(there: threading.Event, go: threading.Event) -> None:
        threading.Timer(0.1, there.set).start()
        importlib.import_module("slowly_imported")

    with elsewhere(load):
        assert ends_well(lambda: importlib.import_module("slowly_imported").done)
    sys.modules.pop("slowly_imported")


def test_a_fork_waits_until_other_threads_have_compiled():
    from numba.core.compiler_lock import global_compiler_lock

    from adyton.compiling import _load_numba

    _load_numba()  # as every loop does that is called for the first time

    def compile_slowly(there: threading.Event, go: threading.Event) -> None:
        with global_compiler_lock:
            there.set()
            time.sleep(0.2)

    with elsewhere(compile_slowly):
        assert ends_well(lambda: bool(global_compiler_lock._lock.acquire(timeout=60)))


def test_a_property_that_is_computed_once_holds_no_lock():
    class Thing:
        def __init__(self, wait: Callable[[], object]) -> None:
            self.wait = wait

        @cached_property
        def value(self) -> int:
            self.wait()
            return 7

    def compute(there: threading.Event, go: threading.Event) -> None:
        def wait() -> None:
            there.set()
            go.wait(PATIENCE)

        assert Thing(wait).value == 7

    with elsewhere(compute):
        assert ends_well(lambda: Thing(lambda: None).value == 7)
    once = Thing(lambda: None)
    assert (once.value, once.__dict__["value"]) == (7, 7)
