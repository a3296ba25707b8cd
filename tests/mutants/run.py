"""Plant every seeded fault, and demand a default test that fails: ``make mutants``, or

    python tests/mutants/run.py [--list] [--tests SECONDS] [MODULE …]

Everything is imported and collected once. Each fault is planted in a fork of this process, which runs the tests that
call the changed function, the quick ones first, until one fails. What no test notices is compared with
``survivors.toml``, where each survivor has its reason; the exit code says whether they agree.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
os.chdir(ROOT)

import pytest  # noqa: E402

from mutants.seeding import (  # noqa: E402
    KERNEL,
    MODULES,
    Mutant,
    forget_results,
    functions,
    is_cached,
    is_compiled,
    mutants,
    plant,
    source_of,
)
from mutants.survivors import explained  # noqa: E402

TESTS = ["tests/kernel/mechanisms", "tests/kernel/counting", "tests/attacks/test_moving_rows.py",
         "tests/attacks/test_long_fractions.py", "tests/attacks/test_wrapped_scores.py",
         "tests/lab/audit/test_transcripts.py", "tests/choice/test_declared.py"]  # fmt: skip
LOSSES = "/test_losses.py"
"""The tests of a mechanism that notice most; they run first, with those of its own file."""
_QUICK = 0.2
WARMING = "tests/kernel/mechanisms/"
"""Tests that load libraries and compiled loops, and start no threads that a fork would miss."""


class Runner:
    """Takes the place of the loop of pytest."""

    def __init__(self, chosen: list[str], given: argparse.Namespace) -> None:
        self.chosen, self.most, self.quiet, self.calls = chosen, given.tests, not given.all, given.calls
        self.only = None if given.only is None else set(given.only.read_text().splitlines())
        self.failed: Callable[[], Any] | None = None
        self.seconds: dict[str, float] = defaultdict(float)
        self.survivors: list[str] = []
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In a fork the first failure ends everything."""
        self.seconds[report.nodeid] += report.duration
        if report.failed and self.failed:
            self.failed()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """The forks, one after the other."""
        items = {item.nodeid: item for item in session.items}
        callers, seconds = self._callers(list(items.values()))
        quick = [item for name, item in items.items() if name.startswith(WARMING) and seconds.get(name, 1) < _QUICK]
        self._play(quick)
        forget_results()
        gc.collect()
        gc.freeze()  # what is there is shared with every fork
        for mutant in mutants():
            if mutant.module in self.chosen and (self.only is None or mutant.name in self.only):
                self._try(mutant, callers, seconds, items)
        return True

    def _play(self, items: list[pytest.Item]) -> None:
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def _callers(self, items: list[pytest.Item]) -> tuple[dict[str, list[str]], dict[str, float]]:
        """Which tests call which function, and how long each test takes, as seen in a fork."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.calls or Path(folder) / "calls.json"

            def listen() -> None:
                calls: dict[str, list[str]] = defaultdict(list)
                now: set[str] = set()
                for module in MODULES:
                    self._announce(module, now)
                self.seconds.clear()
                self.failed = lambda: os._exit(1)
                for item in items:
                    now.clear()
                    self._play([item])
                    for function in now:
                        calls[function].append(item.nodeid)
                path.write_text(json.dumps([calls, self.seconds]))

            if not path.exists() and _forked(listen, 10_000):
                raise SystemExit("the tests fail, or take too long, without any fault. See pytest.")
            calls, seconds = json.loads(path.read_text())
        return calls, seconds

    def _announce(self, module: str, now: set[str]) -> None:
        """Let every function of a module say that it was called. Loops are called by the others of their module."""
        place = sys.modules[module]
        vars(place)["_called"] = now.add
        tree = source_of(module)
        for name, function in functions(tree):
            if not is_compiled(module, name):
                where = 1 if ast.get_docstring(function) else 0
                for whole in (f"{module}:{name}", f"{module}:"):
                    function.body.insert(where, ast.parse(f"_called({whole!r})").body[0])
        for name, _ in functions(tree):
            if not is_compiled(module, name):
                plant(module, name, tree)

    def _try(
        self, mutant: Mutant, callers: dict[str, list[str]], seconds: dict[str, float], items: dict[str, Any]
    ) -> None:
        where = mutant.module, mutant.function
        function = "" if is_compiled(*where) or is_cached(*where) else mutant.function
        chosen, total = [], 0.0
        about = (LOSSES, f"/test_{mutant.module.split('.')[-1]}.py")
        callers_here = callers.get(f"{mutant.module}:{function}", ())
        for test in sorted(callers_here, key=lambda test: (not any(own in test for own in about), seconds[test])):
            total += seconds[test]
            if chosen and total > self.most:
                break
            chosen.append(items[test])

        def attempt() -> None:
            self.failed = lambda: os._exit(1)
            vars(gc)["collect"] = lambda *_: 0  # it would visit, and so copy, everything
            mutant.plant()
            self._play(chosen)

        self.count += 1
        end = _forked(attempt, 5 + 2 * total)
        if end == 0:
            self.survivors.append(mutant.name)
        if not self.quiet or end == 0:
            word = {0: "survives", 1: "killed"}.get(end, f"ends with {end}")
            _tell(f"{word}  {mutant.name}  [{len(chosen)} tests]")


def _forked(work: Callable[[], None], seconds: float) -> int:
    """Do something in a fork; 0 if it ends, 1 if a test or anything else fails, minus a signal's number after more
    than so many seconds of processor time."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(int(10 * seconds) + 60)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        work()
        os._exit(0)
    finally:
        os._exit(1)


def _tell(words: str) -> None:
    """To the terminal, past what pytest captures."""
    assert sys.__stdout__ is not None
    sys.__stdout__.write(words + "\n")
    sys.__stdout__.flush()


def main(arguments: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(description="Plant seeded faults, and demand that default tests fail.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="such as budget or mechanisms.nested_quantiles")
    parser.add_argument("--list", action="store_true", help="list the faults, without running a test")
    parser.add_argument(
        "--tests", type=float, default=8.0, help="at most about so many seconds of tests for each fault"
    )
    parser.add_argument(
        "--only", type=Path, metavar="FILE", help="only the faults named in this file, one in each line"
    )
    parser.add_argument("--all", action="store_true", help="print what is killed, too")
    parser.add_argument(
        "--calls", type=Path, metavar="FILE", help="which tests call what: written, or read if it exists"
    )
    given = parser.parse_args(list(arguments))
    chosen = [f"{KERNEL}.{module}" for module in given.modules] or list(MODULES)
    if given.list:
        for mutant in mutants():
            if mutant.module in chosen:
                _tell(mutant.name)
        return 0
    started, runner = time.monotonic(), Runner(chosen, given)
    tests = [*TESTS, *sorted(str(path) for path in Path("tests/kernel").glob("test_*.py"))]
    tests += [str(Path(import_module(module).__file__ or "").relative_to(ROOT)) for module in MODULES]
    pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-s", "-W", "ignore", *tests], plugins=[runner])
    used = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    reasons = {
        name
        for name in explained()
        if f"{KERNEL}.{name.split(':')[0]}" in chosen and (runner.only is None or name in runner.only)
    }
    new, gone = [name for name in runner.survivors if name not in reasons], sorted(reasons - set(runner.survivors))
    _tell(
        f"{runner.count} faults, {runner.count - len(runner.survivors)} noticed, {len(runner.survivors)} not, "
        f"{len(new)} of them without a reason; {used / 60:.0f} minutes of processor time, "
        f"{(time.monotonic() - started) / 60:.0f} in all"
    )
    for name in new:
        _tell(f"without a reason: {name}")
    for name in gone:
        _tell(f"noticed by now: {name}")
    return int(bool(new or gone))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
