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
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms.published.bisections import Bisections
from adyton.kernel.mechanisms.published.dawa_partition import DawaPartition, LeastCost
from adyton.kernel.mechanisms.published.windows import mean_costs
from adyton.partitions import lift
from adyton.plans import simulate
from adyton.plans.published.groups import Dawa, boundaries, bucket_strategy
from adyton.queries import Hierarchy, Identity, Partition, Queries, Ranges
from adyton.queries.domain_trees import tree_above
from adyton.solving.solvers import solver
from adyton.strategies.base import Strategy
from adyton_lab.bench.published_dawa import published_dawa, published_partition
from adyton_lab.corpus.shapes import FILES, dpbench_corpus
from adyton_lab.reproduce import road_map
from adyton_lab.reproduce.outcomes import Job
from adyton_lab.reproduce.road_map import SHAPES, Roads

ALLOWANCE = 5
"""What our DAWA lets an interval cost more, in units of 1/ε₁ (see its option)."""
SECOND_STEPS = ("greedy", "uniform", "geometric", "laplace")


def least_partition(x: Integers, epsilon: Fraction) -> Partition:
    """NOT PRIVATE. The partition of public counts with the least Σ dev(b) + 1/ε, over intervals of all lengths."""
    selection = DawaPartition(lengths="all")
    sizes = selection.sizes(x.size)
    grid = DawaPartition().grid(DawaPartition().sizes(x.size))
    costs = mean_costs(x, sizes, grid)
    least = LeastCost(costs, x.size * int(costs.max()), round(grid / epsilon), sizes, 1)
    least.grow(np.zeros((1, x.size, sizes.size), dtype=np.int64))
    return Partition(least.labels()[0])


def chosen_partition(way: str, x: Integers, epsilon: Fraction, rest: Fraction, seed: int) -> Partition:
    """A partition of public counts for *epsilon*, if *rest* is left to measure its buckets."""
    if way == "published":
        share = epsilon / (epsilon + rest)
        return Partition(published_partition(x, epsilon + rest, share, seed))
    source = Kernel.simulated(x, epsilon=epsilon, seed=seed).root
    if way == "php":
        levels = max(1, (x.size.bit_length() - 1) // 3)
        found = source.select(Bisections(levels, 1 / rest, Fraction(1, 3)), epsilon)
    else:
        found = source.select(DawaPartition(1 / rest + ALLOWANCE / epsilon, _lengths(way)), epsilon)
    assert isinstance(found, Partition)
    return found


def _lengths(way: str) -> str:
    return "all" if way == "all" else "powers"


def partition_cost(x: Integers, partition: Partition, epsilon: Fraction) -> float:
    """Definition 5: Σ dev(b) + 1/ε for every bucket."""
    bounds = boundaries(partition)
    means = np.add.reduceat(x.astype(np.float64), bounds[:-1]) / np.diff(bounds)
    return float(np.abs(x - np.repeat(means, np.diff(bounds))).sum() + (bounds.size - 1) / float(epsilon))


def measured(x: Integers, workload: Queries, buckets: Partition, way: str, epsilon: Fraction, seed: int) -> Reals:
    """An estimate of public counts from answers about buckets, by one of the :data:`SECOND_STEPS`."""
    source = Kernel.simulated(x, epsilon=epsilon, seed=seed).root
    if way == "laplace":
        counts = source.reduce(buckets).measure(Identity(buckets.groups), epsilon)
        return lift(counts.answers.astype(np.float64), buckets)
    strategy = _tree(workload, buckets, way)
    answers = strategy.measure(source, epsilon)
    return solver(answers.queries, answers.variances).solve(answers.answers)


def _tree(workload: Queries, buckets: Partition, way: str) -> Strategy:
    if way == "greedy":
        return bucket_strategy(workload, None, buckets)
    queries = Hierarchy.of_tree(tree_above(workload.cells, boundaries(buckets)))
    levels = queries.query_levels()
    return Strategy(queries, np.exp2(levels / 3) if way == "geometric" else np.ones(levels.size))


def two_steps(x: Integers, workload: Queries, second: str, epsilon: Fraction, seed: int) -> Reals:
    """Our DAWA with another second step."""
    first, last = (int(one) for one in np.random.SeedSequence(seed).generate_state(2))
    share = Dawa().partition_share
    buckets = chosen_partition("powers", x, share * epsilon, (1 - share) * epsilon, first)
    return measured(x, workload, buckets, second, (1 - share) * epsilon, last)


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
        + examples * len(WORKLOADS) * len(SECOND_STEPS) * runs
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
    return float(least_partition(x, HALF).groups)


def _cost(x: Integers, way: str, seed: int) -> float:
    found = least_partition(x, HALF) if way == "least" else None
    partition = found or chosen_partition(way, x, HALF, HALF, seed)
    return partition_cost(x, partition, HALF)


def _step_jobs(data: dict[str, Integers], settings: Protocol) -> Iterator[Job]:
    """Fig. 4 (each step left out) and Fig. 6 (other second steps), at ε = 0.1."""
    runs = list(itertools.product(range(settings.workloads), range(settings.trials)))
    for (name, x), (number, trial) in itertools.product(data.items(), runs):
        place = number * settings.trials + trial
        for method in ("dawa", "partition + laplace", "greedy-h, no partition"):
            yield Job("fig4", name, WORKLOADS[0], "0.1", method, place, partial(_isolated, x, number, method))
    chosen = [name for name in EXAMPLES if name in data] or list(data)[:3]
    for name, kind, (number, trial) in itertools.product(chosen, WORKLOADS, runs):
        for second in SECOND_STEPS:
            method = "dawa" if second == "greedy" else f"partition + {second}"
            run = partial(_second, data[name], kind, number, second)
            yield Job("fig6", name, kind, "0.1", method, number * settings.trials + trial, run)


def _isolated(x: Integers, number: int, method: str, seed: int) -> float:
    workload = workload_of(WORKLOADS[0], number, x.size)
    if method.startswith("greedy-h"):
        return error(workload, simulate("greedy-h", x, workload, HALF, seed=seed, reduce=False), x)
    second = "greedy" if method == "dawa" else "laplace"
    return error(workload, two_steps(x, workload, second, HALF, seed), x)


def _second(x: Integers, kind: str, number: int, second: str, seed: int) -> float:
    workload = workload_of(kind, number, x.size)
    return error(workload, two_steps(x, workload, second, HALF, seed), x)


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
