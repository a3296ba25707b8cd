"""Experiments on several workers: whoever dies in the middle, what comes out is the same, bit for bit."""

import os
import signal
import sqlite3
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.plans import Plan, Tasks
from adyton.queries import Identity
from adyton_lab.corpus import made_up_corpus
from adyton_lab.training.executors import MOST_LOSSES, Cluster, LostWorkers, Processes, executor_at
from adyton_lab.training.experiments import Experiments, grid

with_dask = pytest.mark.skipif(
    find_spec("distributed") is None, reason="needs Dask: pip install 'adyton[cluster]' to run on a real cluster"
)


@dataclass(frozen=True, kw_only=True)
class Mortal(Plan):
    """Measures every cell. The first worker that runs it dies in the middle, with what it measured."""

    name = "mortal"
    serves = Tasks()

    mark: str = ""
    """A file that is there as soon as a worker died; the process that made the plan is spared."""
    parent: int = 0

    def run(self, x, workload, epsilon):
        cells = x.measure(Identity(x.shape), epsilon).answers.astype(float)
        if os.getpid() != self.parent and _first(self.mark):
            os.kill(os.getpid(), signal.SIGKILL)
        return cells


def _first(path):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


INPUTS = grid(made_up_corpus(1)[:3], [16, 32], [50, 500])


def kept(path, mark, executor):
    """What is in the file of experiments after a run with this executor."""
    plans = {"identity": ad.plans.plan_named("identity"), "mortal": Mortal(mark=str(mark), parent=os.getpid())}
    found = Experiments(path).measure(INPUTS, plans, ["identity", "prefix"], trials=3, executor=executor)
    assert found.errors["prefix"].shape == (len(INPUTS), 2, 3)
    with sqlite3.connect(path) as file:
        rows = file.execute("SELECT input, workload, substr(algorithm, 1, 6), errors FROM errors").fetchall()
        return set(rows) | set(file.execute("SELECT input, '', '', features FROM features"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    return kept(folder / "errors.db", folder / "mark", Processes(1))


def test_a_killed_process_loses_nothing(tmp_path, alone):
    assert kept(tmp_path / "errors.db", tmp_path / "mark", Processes(2)) == alone
    assert (tmp_path / "mark").exists()


@with_dask
@pytest.mark.full
@pytest.mark.parametrize("workers", [2, 4])
def test_a_killed_worker_of_a_cluster_loses_nothing(tmp_path, alone, workers):
    assert kept(tmp_path / "errors.db", tmp_path / "mark", Cluster("local", workers)) == alone
    assert (tmp_path / "mark").exists()


@dataclass(frozen=True)
class Fatal:
    folder: Path

    def work(self):
        (self.folder / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Fine:
    number: int

    def work(self):
        if self.number == 3:
            raise BadInput("three is too many.")
        return np.arange(self.number)


def test_a_job_that_kills_every_worker_is_given_up(tmp_path):
    with pytest.raises(LostWorkers, match=f"{MOST_LOSSES} workers died on the same experiment"):
        list(Processes(2).results([Fatal(tmp_path), Fine(1)]))
    assert len(list(tmp_path.iterdir())) == MOST_LOSSES


def test_results_come_with_their_places_and_errors_come_through():
    found = dict(Processes(2).results([Fine(2), Fine(0), Fine(1)]))
    assert {place: values.size for place, values in found.items()} == {0: 2, 1: 0, 2: 1}
    with pytest.raises(BadInput, match="three is too many"):
        list(Processes(2).results([Fine(2), Fine(3)]))


def test_a_run_that_is_left_early_leaves_no_process():
    import multiprocessing

    results = Processes(2).results([Fine(number) for number in (1, 2, 4, 5)])
    next(results)
    results.close()
    assert not multiprocessing.active_children()


@pytest.mark.full
def test_a_cluster_that_cannot_be_reached_is_told(monkeypatch):
    from adyton_lab.training import executors as cluster

    monkeypatch.setattr(cluster, "_TIMEOUT", "0.2s")
    if find_spec("distributed") is None:
        with pytest.raises(BadInput, match=r"pip install 'adyton\[cluster\]'"):
            executor_at("local", 2)
    else:
        for address in ("tcp://127.0.0.1:9", "nowhere", "ftp://x"):
            with pytest.raises(BadInput, match="no Dask scheduler answers at"):
                list(Cluster(address).results([Fine(1)]))
