"""Where experiments run: in processes of this machine. A worker that dies loses nothing: another does its job again.

A job depends on nothing but itself, so it does not matter where, when or how often it runs: the results are the same.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from adyton.errors import AdytonError, BadInput

MOST_LOSSES = 3
"""How many workers may die on one job before it is given up."""


class Job(Protocol):
    """Something to be worked out, somewhere."""

    def work(self) -> Any:
        """The result, which depends on the job alone."""
        ...


class Executor(Protocol):
    """Works out jobs."""

    def results(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        """The place of every job in the list, and its result, as they come."""
        ...


class LostWorkers(AdytonError):
    """Worker after worker died on the same job."""

    def __init__(self) -> None:
        super().__init__(
            f"{MOST_LOSSES} workers died on the same experiment, one after the other. Is there too little memory? Run "
            "fewer at a time; what was measured before is kept in the cache."
        )


@dataclass(frozen=True)
class Processes:
    """So many processes of this machine; one a core if not said.

    >>> Processes(0)
    Traceback (most recent call last):
    adyton.errors.BadInput: the number of processes must be at least 1, given 0.
    """

    number: int | None = None

    def __post_init__(self) -> None:
        if self.number is not None and self.number < 1:
            raise BadInput(f"the number of processes must be at least 1, given {self.number}.")

    def results(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        """One process is this one."""
        number = min(self.number or os.cpu_count() or 1, len(jobs))
        if number < 2:
            yield from ((place, job.work()) for place, job in enumerate(jobs))
            return
        gc.collect()
        gc.freeze()  # a worker must not tidy up what it inherits: an open database belongs to the parent
        try:
            yield from _results(jobs, number)
        finally:
            gc.unfreeze()


class _Worker:
    """A process that is told the place of a job, and answers with its result."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
        context: Any = multiprocessing.get_context(method)  # plans of a script are known in a fork
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, jobs), daemon=True)
        self.process.start()
        theirs.close()  # the worker alone holds it: when it dies, the pipe ends
        self.place = -1

    def begin(self, place: int) -> None:
        """Start with a job. Should the worker be dead, the pipe will tell."""
        self.place = place
        with suppress(OSError):
            self.pipe.send(place)

    def end(self) -> None:
        """Stop, in the middle of a job if need be."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _results(jobs: Sequence[Job], number: int) -> Iterator[tuple[int, Any]]:
    left, losses = deque(range(len(jobs))), Counter[int]()
    workers: dict[Connection, _Worker] = {}
    try:
        while left or workers:
            while left and len(workers) < number:
                fresh = _Worker(jobs)
                workers[fresh.pipe] = fresh
                fresh.begin(left.popleft())
            for pipe in wait(list(workers)):
                worker = workers[pipe]  # type: ignore[index]
                place = worker.place
                try:
                    fine, found = worker.pipe.recv()
                except (EOFError, OSError):  # the worker is dead
                    workers.pop(worker.pipe).end()
                    losses[place] += 1
                    if losses[place] == MOST_LOSSES:
                        raise LostWorkers from None
                    left.appendleft(place)
                    continue
                if not fine:
                    raise found
                if left:
                    worker.begin(left.popleft())
                else:
                    workers.pop(worker.pipe).end()
                yield place, found
    finally:
        for worker in workers.values():
            worker.end()


def _serve(pipe: Connection, jobs: Sequence[Job]) -> None:
    """In a worker: do what is told, until the parent is gone. Ctrl-C is for the parent to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            place = pipe.recv()
            answer: tuple[bool, Any]
            try:
                answer = True, jobs[place].work()
            except Exception as error:
                answer = False, error
            pipe.send(answer)
    except (EOFError, OSError):
        return
