"""DAWA's evaluation again: lines of 4,096 cells, four workloads, four budgets; its two steps separately; a map.

Li, Hay, Miklau and Wang, "A data- and workload-aware algorithm for range queries under differential privacy", PVLDB
2014, Section 5 (Figs. 3 to 7, Tables 1 and 2). The error is the mean of |answer − truth| over the queries.

This module also has the DAWA used in published evaluations, to compare private plans with. **It is not private.** Its
choice of a partition has half of the noise that the proof needs, none on single cells, and clips negative costs at 0:
on eight cells its privacy loss is more than four times the ε that it claims. So it takes public counts directly; it is
neither a mechanism nor a plan, and no kernel runs it.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.exact import Rational, positive, share
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms.published.bisections import Bisections
from adyton.kernel.mechanisms.published.dawa_partition import DawaPartition, LeastCost
from adyton.kernel.mechanisms.published.windows import mean_costs
from adyton.partitions import lift
from adyton.plans import simulate
from adyton.plans.published.groups import Dawa, boundaries, bucket_strategy
from adyton.plans.registry import public_counts
from adyton.queries import Hierarchy, Identity, Partition, Queries, Ranges
from adyton.queries.domain_trees import curve, tree_above
from adyton.solving.solvers import solver
from adyton.strategies.base import Strategy
from adyton_lab.corpus import dpbench_corpus
from adyton_lab.corpus.public_files import file_in
from adyton_lab.reproduce.outcomes import Job

SHARE = Fraction(1, 4)
ALLOWANCE = 5
"""How much more an interval may cost in our DAWA, in units of 1/ε₁ (see its option)."""
SECOND_STEPS = ("greedy", "uniform", "geometric", "laplace")
CELLS, QUERIES, CLUSTERS = 4096, 2000, 5
WORKLOADS = ("uniform intervals", "identity", "clustered intervals", "large clustered intervals")
EPSILONS = ("0.01", "0.05", "0.1", "0.5")
PUBLISHED, DAWA = "published dawa (not private)", "dawa"
COMPETITORS = ("identity", "privelet", "mwem*", "efpa", "php", "structure-first")
_UNPARTED = "greedy-h, no partition"
LINES = (PUBLISHED, DAWA, *COMPETITORS, "staged-hierarchy")
MAPS = (DAWA, "quadtree", "hybrid-tree", "dpcube", "staged-quadtree")
PARTITIONS = {
    "least": "least of all (not private)",
    "published": PUBLISHED,
    "powers": "dawa, powers of two",
    "all": "dawa, all lengths",
    "php": "php",
}
"""Ways to choose a partition, with the names shown."""
SETS = ("NETTRACE", "ADULT", "MEDCOST", "SEARCHLOGS", "INCOME", "PATENT", "HEPTH")
"""In the paper's order, from easy to hard."""
EXAMPLES = ("NETTRACE", "SEARCHLOGS", "HEPTH")
HALF = Fraction(1, 10)
"""ε₁ and ε₂ of Table 1 and Fig. 5."""
SHAPES = {"(1, 1)": (1.0, 1.0), "(5, 5)": (5.0, 5.0), "(10, 10)": (10.0, 10.0), "(15, 0.2)": (15.0, 0.2)}
"""Degrees of longitude and latitude."""


@dataclass(frozen=True)
class Protocol:
    """How much of the evaluation is run."""

    workloads: int
    """The number of random workloads of a kind."""
    trials: int
    """The number of runs on each workload."""
    epsilons: tuple[str, ...]
    side: int
    """The number of cells along each axis of the map."""
    boxes: int


def protocol(*, quick: bool) -> Protocol:
    """The paper's protocol, or a small one."""
    return Protocol(1, 1, ("0.01", "0.1"), 256, 200) if quick else Protocol(5, 3, EPSILONS, 1024, 1000)


def lines(folder: Path, *, public: bool) -> dict[str, Integers]:
    """The seven histograms, with their own numbers of rows."""
    counts = {shape.name: shape.counts for shape in dpbench_corpus(folder, 1, public=public)}
    return {name: np.rint(counts[name]).astype(np.int64) for name in (*SETS, *counts) if name in counts}


def jobs(data: dict[str, Integers], roads: Roads, *, quick: bool = False) -> list[Job]:
    """All jobs ordered by trial, so a run that is stopped has figures for all parts."""
    settings = protocol(quick=quick)
    parts = (_partition_jobs(data, settings), _line_jobs(data, settings), _map_jobs(roads, settings))
    return sorted(itertools.chain(*parts), key=lambda job: job.trial)


@lru_cache(maxsize=64)
def workload_of(kind: str, number: int, cells: int = CELLS) -> Queries:
    """One of the :data:`WORKLOADS`; *number* distinguishes random workloads of the same kind."""
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
    """Table 1 (the number of buckets of the least-cost partition) and Fig. 5 (the costs of partitions)."""
    for name, x in data.items():
        yield Job("table1", name, "", "0.1", "least", 0, partial(_buckets, x))
        for way, words in PARTITIONS.items():
            for trial in range(1 if way == "least" else settings.trials):
                yield Job("fig5", name, "", "0.1", words, trial, partial(_cost, x, way))


def _buckets(x: Integers, seed: int) -> float:
    return float(least_partition(x, HALF).groups)


def _cost(x: Integers, way: str, seed: int) -> float:
    partition = least_partition(x, HALF) if way == "least" else chosen_partition(way, x, HALF, HALF, seed)
    return partition_cost(x, partition, HALF)


def _line_jobs(data: dict[str, Integers], settings: Protocol) -> Iterator[Job]:
    """Fig. 4 (each step left out) and Fig. 6 (other second steps), at ε = 0.1; Fig. 3 and Table 2 for all workloads."""
    examples = [name for name in EXAMPLES if name in data] or list(data)[:3]
    seconds = {"dawa" if way == "greedy" else f"partition + {way}": way for way in SECOND_STEPS}
    isolated = {"dawa": "greedy", "partition + laplace": "laplace", _UNPARTED: _UNPARTED}
    plans = {method: method for method in LINES}
    for part, sets, kinds, epsilons, ways in (
        ("fig4", list(data), WORKLOADS[:1], ("0.1",), isolated),
        ("fig6", examples, WORKLOADS, ("0.1",), seconds),
        ("fig3", list(data), WORKLOADS, settings.epsilons, plans),
    ):
        for kind, name, epsilon, (method, way) in itertools.product(kinds, sets, epsilons, ways.items()):
            for number, trial in itertools.product(range(settings.workloads), range(settings.trials)):
                run = partial(_on_line, data[name], kind, number, epsilon, way)
                yield Job(part, name, kind, epsilon, method, number * settings.trials + trial, run)


def _on_line(x: Integers, kind: str, number: int, epsilon: str, way: str, seed: int) -> float:
    workload = workload_of(kind, number, x.size)
    if way in SECOND_STEPS:
        return error(workload, two_steps(x, workload, way, Fraction(epsilon), seed), x)
    if way == PUBLISHED:
        return error(workload, published_dawa(x, workload, epsilon, seed), x)
    plan, options = ("greedy-h", {"reduce": False}) if way == _UNPARTED else (way, {})
    return error(workload, simulate(plan, x, workload, epsilon, seed=seed, **options), x)


def _map_jobs(roads: Roads, settings: Protocol) -> Iterator[Job]:
    """Fig. 7."""
    for shape, epsilon, method in itertools.product(SHAPES, settings.epsilons, MAPS):
        for trial in range(settings.trials):
            run = partial(_on_map, roads, shape, epsilon, method, settings.boxes)
            yield Job("fig7", f"roads, {settings.side}²", shape, epsilon, method, trial, run)


def _on_map(roads: Roads, shape: str, epsilon: str, method: str, number: int, seed: int) -> float:
    workload = roads.boxes(shape, number)
    return error(workload, simulate(method, roads.counts, workload, epsilon, seed=seed), roads.counts)


# ---- a map of road intersections ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Roads:
    """The number of intersections in each cell, longitude along the first axis, and the size of a cell in degrees."""

    counts: Integers
    degrees: tuple[float, float]

    @classmethod
    def read(cls, folder: Path, side: int) -> Roads:
        """Read the map on a grid with *side* cells along each axis."""
        with gzip.open(file_in(folder, "road_california.csv.gz"), "rt", encoding="utf-8") as file:
            points = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
        low, high = points.min(axis=0), points.max(axis=0)
        cells = np.minimum(side - 1, ((points - low) / (high - low) * side).astype(np.int64))
        counts = np.zeros((side, side), dtype=np.int64)
        np.add.at(counts, tuple(cells.T), 1)
        width, height = ((high - low) / side).tolist()
        return cls(counts, (width, height))

    def boxes(self, shape: str, number: int) -> Ranges:
        """Random rectangles of one of the :data:`SHAPES`, rounded to whole cells, and no larger than the map."""
        side = self.counts.shape[0]
        degrees = zip(SHAPES[shape], self.degrees, strict=True)
        sizes = [min(side, max(1, round(length / cell))) for length, cell in degrees]
        random = np.random.default_rng(list(SHAPES).index(shape))
        lower = np.stack([random.integers(0, side - size + 1, number) for size in sizes], axis=1)
        return Ranges((side, side), lower, lower + np.array(sizes) - 1)


# ---- the two steps separately ---------------------------------------------------------------------------------------


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
    """A partition of public counts, chosen with *epsilon*, when *rest* is left to measure its buckets."""
    if way == "published":
        share = epsilon / (epsilon + rest)
        return Partition(published_partition(x, epsilon + rest, share, seed))
    source = Kernel.simulated(x, epsilon=epsilon, seed=seed).root
    if way == "php":
        levels = max(1, (x.size.bit_length() - 1) // 3)
        partition = source.select(Bisections(levels, 1 / rest, Fraction(1, 3)), epsilon)
    else:
        lengths = "all" if way == "all" else "powers"
        partition = source.select(DawaPartition(1 / rest + ALLOWANCE / epsilon, lengths), epsilon)
    assert isinstance(partition, Partition)
    return partition


def partition_cost(x: Integers, partition: Partition, epsilon: Fraction) -> float:
    """Definition 5: Σ (dev(b) + 1/ε) over all buckets."""
    bounds = boundaries(partition)
    means = np.add.reduceat(x.astype(np.float64), bounds[:-1]) / np.diff(bounds)
    return float(np.abs(x - np.repeat(means, np.diff(bounds))).sum() + (bounds.size - 1) / float(epsilon))


def measured(x: Integers, workload: Queries, buckets: Partition, way: str, epsilon: Fraction, seed: int) -> Reals:
    """An estimate of public counts from measurements of buckets, by one of the :data:`SECOND_STEPS`."""
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
    first, last = map(int, np.random.SeedSequence(seed).generate_state(2))
    share = Dawa().partition_share
    buckets = chosen_partition("powers", x, share * epsilon, (1 - share) * epsilon, first)
    return measured(x, workload, buckets, second, (1 - share) * epsilon, last)


# ---- the published DAWA, which is not private -----------------------------------------------------------------------


def published_partition(
    x: npt.ArrayLike, epsilon: Rational, share_of_partition: Rational = SHARE, seed: int | None = None
) -> npt.NDArray[np.int64]:
    """NOT PRIVATE. The number of the bucket of each cell of a line of public counts.

    Costs are max(0, dev(b) + Laplace([(1 − 1/ℓ) + (1 − 1/L)]/ε₁)) + 1/ε₂, without noise if L = 1.
    """
    values, amount, part = public_counts(x), positive(epsilon, "epsilon"), share(share_of_partition, "share")
    selection = DawaPartition()
    sizes = selection.sizes(values.size)
    grid = selection.grid(sizes)
    deviations = mean_costs(values.reshape(-1), sizes, grid)
    scales = grid * ((1 - 1 / sizes[-1]) + (1 - 1 / sizes)) / float(part * amount)
    noise = np.random.default_rng(seed).laplace(size=(values.size, sizes.size)) * scales
    noise[:, 0] = 0.0
    clamped = np.maximum(0, deviations + np.rint(noise.T).astype(np.int64))
    most = values.size * int(clamped.max())
    least = LeastCost(clamped, most, round(grid / ((1 - part) * amount)), sizes, 1)
    least.grow(np.zeros((1, values.size, sizes.size), dtype=np.int64))
    return np.asarray(least.labels()[0])


def published_dawa(x: npt.ArrayLike, workload: Queries, epsilon: Rational, seed: int | None = None) -> Reals:
    """NOT PRIVATE. An estimate of public counts: the published partition, then the second step of our own plan."""
    counts, amount = public_counts(x), positive(epsilon, "epsilon")
    first, second = np.random.SeedSequence(seed).spawn(2)
    order = curve(counts.shape)
    line = counts.reshape(-1) if order is None else counts.reshape(-1)[order]
    buckets = Partition(published_partition(line, amount, SHARE, int(first.generate_state(1)[0])))
    strategy = bucket_strategy(workload, order, buckets)
    rest = (1 - SHARE) * amount
    answers = strategy.measure(Kernel.simulated(counts, epsilon=rest, seed=second).root, rest)
    return solver(answers.queries, answers.variances).solve(answers.answers).reshape(counts.shape)
