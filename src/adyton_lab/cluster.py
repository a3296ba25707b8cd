"""Experiments on a Dask cluster: workers of this machine, or of as many machines as a scheduler has.

Dask gives the jobs of a worker that dies to another one, and results that died with it are worked out again. A job's
result depends on the job alone, so that is all there is to it. Needs the extra ``adyton[cluster]``.
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton import __version__
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton_lab.executors import Job, LostWorkers

LOCAL = "local"
"""The address of a cluster that is started on this machine, and ended with the experiments."""
_AHEAD = 4
"""So many jobs a core are handed out at a time; others follow as results come in."""
_TIMEOUT = "20s"


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster, by the address of its scheduler (``tcp://…`` or ``tls://…``), or the file that tells it.

    ``Cluster("local", 4)`` starts four workers on this machine. Elsewhere the workers must have the same versions of
    Adyton and NumPy as this process.
    """

    address: str = LOCAL
    workers: int | None = None
    """How many workers are started for a local cluster; one a core if not said."""

    def results(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        """As they come from the workers."""
        distributed = _distributed()
        if not jobs:
            return
        _send_scripts()
        with ExitStack() as stack:
            client = self._connected(distributed, stack)
            try:
                yield from _results(distributed, client, jobs)
            except distributed.KilledWorker:
                raise LostWorkers from None

    def _connected(self, distributed: Any, stack: ExitStack) -> Any:
        """A client of the scheduler, which lives as long as the stack."""
        if self.address == LOCAL:
            cluster = distributed.LocalCluster(
                n_workers=self.workers or os.cpu_count() or 1,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.ERROR,  # a worker that is slow to end is no news
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


def _results(distributed: Any, client: Any, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
    """A few jobs a core are under way at any time, so that the scheduler never holds all of them."""
    places: dict[str, int] = {}
    waiting = iter(range(len(jobs)))

    def begin(place: int) -> Any:
        future = client.submit(_worked, jobs[place], _versions(), pure=False)
        places[future.key] = place
        return future

    cores = max(1, sum(client.nthreads().values()))
    under_way = distributed.as_completed([begin(place) for place in itertools.islice(waiting, _AHEAD * cores)])
    for future in under_way:
        found = future.result()
        for place in itertools.islice(waiting, 1):
            under_way.add(begin(place))
        yield places.pop(future.key), found


def _worked(job: Job, versions: tuple[str, str]) -> Any:
    """On a worker: the result of a job, if it would be the same here as there."""
    if versions != _versions():
        raise BadInput(
            f"a worker of the cluster has Adyton {_versions()[0]} and NumPy {_versions()[1]}, here are {versions[0]} "
            f"and {versions[1]}: results could differ. Install the same versions on all workers."
        )
    return job.work()


def _versions() -> tuple[str, str]:
    return __version__, np.__version__


def _send_scripts() -> None:
    """Plans that a script registered are sent with what they consist of: the workers do not have the script."""
    import cloudpickle

    from adyton.plans.registry import PLANS

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
    """The cluster at an address, if there is Dask to reach it."""
    _distributed()
    return Cluster(address, workers)
