"""DAWA's evaluation again: lines of 4,096 cells, four workloads, four budgets; its two steps by themselves; a map.

Li, Hay, Miklau and Wang, "A data- and workload-aware algorithm for range queries under differential privacy", PVLDB
2014, Section 5 (Figs. 3 to 7, Tables 1 and 2). The error is the mean of |answer − truth| over the queries.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.plans import simulate
from adyton.queries import Identity, Queries, Ranges
from adyton_lab.bench.published_dawa import published_dawa
from adyton_lab.corpus.dpbench import FILES, dpbench_corpus
from adyton_lab.reproduce import dawa_parts, road_map
from adyton_lab.reproduce.outcomes import Job
from adyton_lab.reproduce.road_map import SHAPES, Roads

CELLS, QUERIES, CLUSTERS = 4096, 2000, 5
WORKLOADS = ("uniform intervals", "identity", "clustered intervals", "large clustered intervals")
EPSILONS = ("0.01", "0.05", "0.1", "0.5")
PUBLISHED, DAWA = "published dawa (not private)", "dawa"
COMPETITORS = ("identity", "privelet", "mwem*", "efpa", "php", "structure-first")
LINES = (PUBLISHED, DAWA, *COMPETITORS, "staged-hierarchy")
MAPS = (DAWA, "quadtree", "hybrid-tree", "dpcube", "staged-quadtree")
PARTITIONS = ("least", "published", "powers", "all", "php")
SETS = ("NETTRACE", "ADULT", "MEDCOST", "SEARCHLOGS", "INCOME", "PATENT", "HEPTH")
"""In the paper's order, from easy to hard."""
EXAMPLES = ("NETTRACE", "SEARCHLOGS", "HEPTH")
HALF = Fraction(1, 10)
"""ε₁ and ε₂ of Table 1 and Fig. 5."""


@dataclass(frozen=True)
class Protocol:
    """How much of it is run."""

    workloads: int
    """Random workloads of a kind."""
    trials: int
    """Runs on each."""
    epsilons: tuple[str, ...]
    side: int
    """Of the map."""
    boxes: int


def protocol(*, quick: bool) -> Protocol:
    """That of the paper, or a small one."""
    return Protocol(1, 1, ("0.01", "0.1"), 256, 200) if quick else Protocol(5, 3, EPSILONS, 1024, 1000)


def check_files(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder in which something is missing."""
    for name in (FILES[1], road_map.FILE):
        if not (Path(folder) / name).is_file():
            raise BadInput(f"there is no {name} in {folder}. Give the folder that holds DPBench's lines and the roads.")


def lines(folder: str | os.PathLike[str], *, public: bool) -> dict[str, Integers]:
    """The seven histograms, at the number of rows that each has."""
    found = {shape.name: shape.counts for shape in dpbench_corpus(folder, 1, public=public)}
    return {name: np.rint(found[name]).astype(np.int64) for name in (*SETS, *found) if name in found}


def jobs(data: dict[str, Integers], roads: Roads | None, *, quick: bool = False) -> Iterator[Job]:
    """Everything once, then everything again: a run that is stopped has figures for all parts."""
    settings = protocol(quick=quick)
    parts = [_partition_jobs(data, settings), _step_jobs(data, settings), _line_jobs(data, settings)]
    if roads is not None:
        parts.append(_map_jobs(roads, settings))
    yield from sorted(itertools.chain(*parts), key=lambda job: job.trial)


def steps(sets: int, *, quick: bool) -> int:
    """How many trials there are, nearly."""
    settings = protocol(quick=quick)
    runs, budgets = settings.workloads * settings.trials, len(settings.epsilons)
    examples = min(sets, len(EXAMPLES))
    return (
        sets * (1 + 1 + (len(PARTITIONS) - 1) * settings.trials)
        + 3 * sets * runs
        + examples * len(WORKLOADS) * len(dawa_parts.SECOND_STEPS) * runs
        + len(WORKLOADS) * sets * budgets * len(LINES) * runs
        + len(SHAPES) * budgets * len(MAPS) * settings.trials
    )


@lru_cache(maxsize=64)
def workload_of(kind: str, number: int, cells: int = CELLS) -> Queries:
    """One of the :data:`WORKLOADS`; those that are random have numbers."""
    if kind == "identity":
        return Identity(cells)
    random = np.random.default_rng([number, WORKLOADS.index(kind)])
    if kind == "uniform intervals":
        ends = np.sort(random.integers(0, cells, (QUERIES, 2)), axis=1)
        return Ranges(cells, ends[:, :1], ends[:, 1:])
    spread = 1024 if kind.startswith("large") else 256
    centres = np.repeat(random.integers(0, cells, CLUSTERS), QUERIES // CLUSTERS)
    reach = np.abs(random.normal(0, spread, (2, centres.size)))
    ends = np.clip(np.rint([centres - reach[0], centres + reach[1]]), 0, cells - 1).astype(np.int64)
    return Ranges(cells, ends[0, :, None], ends[1, :, None])


def error(workload: Queries, estimate: Reals, x: Integers) -> float:
    """The mean of |answer − truth|."""
    return float(np.abs(workload @ (estimate - x)).mean())


def _partition_jobs(data: dict[str, Integers], settings: Protocol) -> Iterator[Job]:
    """Table 1 (how many buckets the least partition has) and Fig. 5 (what partitions cost)."""
    for name, x in data.items():
        yield Job("table1", name, "", "0.1", "least", 0, partial(_buckets, x))
        for way in PARTITIONS:
            for trial in range(1 if way == "least" else settings.trials):
                yield Job("fig5", name, "", "0.1", _words(way), trial, partial(_cost, x, way))


def _words(way: str) -> str:
    return {
        "least": "least of all (not private)",
        "published": PUBLISHED,
        "powers": "dawa, powers of two",
        "all": "dawa, all lengths",
        "php": "php",
    }[way]


def _buckets(x: Integers, seed: int) -> float:
    return float(dawa_parts.least_partition(x, HALF).groups)


def _cost(x: Integers, way: str, seed: int) -> float:
    found = dawa_parts.least_partition(x, HALF) if way == "least" else None
    partition = found or dawa_parts.chosen_partition(way, x, HALF, HALF, seed)
    return dawa_parts.partition_cost(x, partition, HALF)


def _step_jobs(data: dict[str, Integers], settings: Protocol) -> Iterator[Job]:
    """Fig. 4 (each step left out) and Fig. 6 (other second steps), at ε = 0.1."""
    runs = list(itertools.product(range(settings.workloads), range(settings.trials)))
    for (name, x), (number, trial) in itertools.product(data.items(), runs):
        place = number * settings.trials + trial
        for method in ("dawa", "partition + laplace", "greedy-h, no partition"):
            yield Job("fig4", name, WORKLOADS[0], "0.1", method, place, partial(_isolated, x, number, method))
    chosen = [name for name in EXAMPLES if name in data] or list(data)[:3]
    for name, kind, (number, trial) in itertools.product(chosen, WORKLOADS, runs):
        for second in dawa_parts.SECOND_STEPS:
            method = "dawa" if second == "greedy" else f"partition + {second}"
            run = partial(_second, data[name], kind, number, second)
            yield Job("fig6", name, kind, "0.1", method, number * settings.trials + trial, run)


def _isolated(x: Integers, number: int, method: str, seed: int) -> float:
    workload = workload_of(WORKLOADS[0], number, x.size)
    if method.startswith("greedy-h"):
        return error(workload, simulate("greedy-h", x, workload, HALF, seed=seed, reduce=False), x)
    second = "greedy" if method == "dawa" else "laplace"
    return error(workload, dawa_parts.two_steps(x, workload, second, HALF, seed), x)


def _second(x: Integers, kind: str, number: int, second: str, seed: int) -> float:
    workload = workload_of(kind, number, x.size)
    return error(workload, dawa_parts.two_steps(x, workload, second, HALF, seed), x)


def _line_jobs(data: dict[str, Integers], settings: Protocol) -> Iterator[Job]:
    """Fig. 3 and Table 2, for all four workloads."""
    runs = list(itertools.product(range(settings.workloads), range(settings.trials)))
    for kind, (name, x), epsilon, method in itertools.product(WORKLOADS, data.items(), settings.epsilons, LINES):
        for number, trial in runs:
            run = partial(_on_line, x, kind, number, epsilon, method)
            yield Job("fig3", name, kind, epsilon, method, number * settings.trials + trial, run)


def _on_line(x: Integers, kind: str, number: int, epsilon: str, method: str, seed: int) -> float:
    workload = workload_of(kind, number, x.size)
    if method == PUBLISHED:
        return error(workload, published_dawa(x, workload, epsilon, seed), x)
    return error(workload, simulate(method, x, workload, epsilon, seed=seed), x)


def _map_jobs(roads: Roads, settings: Protocol) -> Iterator[Job]:
    """Fig. 7."""
    for shape, epsilon, method in itertools.product(SHAPES, settings.epsilons, MAPS):
        for trial in range(settings.trials):
            run = partial(_on_map, roads, shape, epsilon, method, settings.boxes)
            yield Job("fig7", f"roads, {settings.side}²", shape, epsilon, method, trial, run)


def _on_map(roads: Roads, shape: str, epsilon: str, method: str, number: int, seed: int) -> float:
    workload = roads.boxes(shape, number)
    return error(workload, simulate(method, roads.counts, workload, epsilon, seed=seed), roads.counts)
