"""Where experiments run: in processes on this machine, or on the workers of a Dask cluster.

A job's result depends only on the job, so it does not matter where, when or how often it runs. The job of a worker that
dies is given to another worker; Dask also recomputes the results that were lost with a worker. A cluster needs the
extra ``adyton[cluster]``.
"""

from __future__ import annotations

import gc
import itertools
import logging
import multiprocessing
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

import numpy as np

from adyton import __version__
from adyton.errors import AdytonError, BadInput
from adyton.messages import shorten
from adyton.plans.registry import PLANS

MOST_LOSSES = 3
"""The number of workers that must die on one job before it is abandoned."""


class Job(Protocol):
    """A computation that can run anywhere."""

    def work(self) -> Any:
        """The result, which depends only on the job."""
        ...


class Executor(Protocol):
    """Runs jobs."""

    def results(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        """The place of every job in the list, and its result, in order of completion."""
        ...


class LostWorkers(AdytonError):
    """Several workers died on the same job."""

    def __init__(self) -> None:
        super().__init__(
            f"{MOST_LOSSES} workers died on the same experiment, one after the other. Is there too little memory? Run "
            "fewer at a time; earlier measurements are kept in the cache."
        )


@dataclass(frozen=True)
class Processes:
    """Processes on this machine; by default one per core.

    >>> Processes(0)
    Traceback (most recent call last):
    adyton.errors.BadInput: the number of processes must be at least 1, given 0.
    """

    number: int | None = None

    def __post_init__(self) -> None:
        if self.number is not None and self.number < 1:
            raise BadInput(f"the number of processes must be at least 1, given {self.number}.")

    def results(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        """The results; computed in this process if only one is needed."""
        number = min(self.number or os.cpu_count() or 1, len(jobs))
        if number < 2:
            yield from ((place, job.work()) for place, job in enumerate(jobs))
            return
        gc.collect()
        gc.freeze()  # a worker must not free what it inherits: an open database belongs to the parent
        try:
            yield from _results(jobs, number)
        finally:
            gc.unfreeze()


class _Worker:
    """A process that receives the place of a job, and answers with its result."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
        context: Any = multiprocessing.get_context(method)  # a fork inherits the plans that a script registered
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, jobs), daemon=True)
        self.process.start()
        theirs.close()  # only the worker holds it now: when it dies, the pipe ends
        self.place = -1

    def begin(self, place: int) -> None:
        """Start a job. If the worker is dead, reading from the pipe fails."""
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
                    fine, result = worker.pipe.recv()
                except (EOFError, OSError):  # the worker is dead
                    workers.pop(worker.pipe).end()
                    losses[place] += 1
                    if losses[place] == MOST_LOSSES:
                        raise LostWorkers from None
                    left.appendleft(place)
                    continue
                if not fine:
                    raise result
                if left:
                    worker.begin(left.popleft())
                else:
                    workers.pop(worker.pipe).end()
                yield place, result
    finally:
        for worker in workers.values():
            worker.end()


def _serve(pipe: Connection, jobs: Sequence[Job]) -> None:
    """In a worker: run the jobs that are sent, until the parent ends. The parent handles Ctrl-C."""
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


LOCAL = "local"
"""The address of a cluster that is started on this machine and stopped after the experiments."""
_AHEAD = 4
"""The number of jobs per core that are submitted at a time; others follow as results arrive."""
_TIMEOUT = "20s"


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster, by the address of its scheduler (``tcp://…`` or ``tls://…``), or the file that holds it.

    ``Cluster("local", 4)`` starts four workers on this machine. Elsewhere the workers must have the same versions of
    Adyton and NumPy as this process.
    """

    address: str = LOCAL
    workers: int | None = None
    """The number of workers of a local cluster; by default one per core."""

    def results(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        """The results, as they arrive from the workers."""
        distributed = _distributed()
        if not jobs:
            return
        _send_scripts()
        with ExitStack() as stack:
            client = self._connected(distributed, stack)
            try:
                yield from _cluster_results(distributed, client, jobs)
            except distributed.KilledWorker:
                raise LostWorkers from None

    def _connected(self, distributed: Any, stack: ExitStack) -> Any:
        """A client of the scheduler, which lives as long as the stack."""
        if self.address == LOCAL:
            cluster = distributed.LocalCluster(
                n_workers=self.workers or os.cpu_count() or 1,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.ERROR,  # no warnings about workers that are slow to stop
            )
            return stack.enter_context(distributed.Client(stack.enter_context(cluster)))
        is_file = os.path.isfile(self.address)
        place = {"scheduler_file": self.address} if is_file else {"address": self.address}
        try:
            return stack.enter_context(distributed.Client(**place, timeout=_TIMEOUT))
        except (OSError, ValueError, TypeError) as error:
            raise BadInput(
                f"no Dask scheduler answers at {shorten(self.address)} ({type(error).__name__}). Give the address that "
                "`dask scheduler` prints, such as tcp://host:8786, or the path of its scheduler file, or `local`."
            ) from None


def _cluster_results(distributed: Any, client: Any, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
    """Submit only a few jobs per core at a time, so the scheduler never holds all of them."""
    places: dict[str, int] = {}
    waiting = iter(range(len(jobs)))

    def begin(place: int) -> Any:
        future = client.submit(_worked, jobs[place], _versions(), pure=False)
        places[future.key] = place
        return future

    cores = max(1, sum(client.nthreads().values()))
    under_way = distributed.as_completed([begin(place) for place in itertools.islice(waiting, _AHEAD * cores)])
    for future in under_way:
        result = future.result()
        for place in itertools.islice(waiting, 1):
            under_way.add(begin(place))
        yield places.pop(future.key), result


def _worked(job: Job, versions: tuple[str, str]) -> Any:
    """On a worker: the result of a job, if the worker has the same versions as the sender."""
    if versions != _versions():
        raise BadInput(
            f"a worker of the cluster has Adyton {_versions()[0]} and NumPy {_versions()[1]}, but this process has "
            f"{versions[0]} and {versions[1]}: results could differ. Install the same versions on all workers."
        )
    return job.work()


def _versions() -> tuple[str, str]:
    return __version__, np.__version__


def _send_scripts() -> None:
    """Send plans that a script registered with their code: the workers do not have the script."""
    import cloudpickle

    for name in {plan.__module__ for plan in PLANS.values()} - {"__main__"}:
        if not name.startswith("adyton.") and name in sys.modules:
            cloudpickle.register_pickle_by_value(sys.modules[name])


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise BadInput(
            "a cluster needs Dask. Install it with `pip install 'adyton[cluster]'`, or leave the cluster out."
        ) from None
    return distributed


def executor_at(address: str, workers: int | None) -> Cluster:
    """The cluster at an address; refused if Dask is not installed."""
    _distributed()
    return Cluster(address, workers)
