"""The two steps of DAWA, taken apart, on public counts: which partition, what it costs, and what is measured on it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms.published.bisections import Bisections
from adyton.kernel.mechanisms.published.dawa_partition import DawaPartition
from adyton.kernel.mechanisms.published.least_cost import LeastCost
from adyton.kernel.mechanisms.published.window_means import mean_costs
from adyton.partitions import lift
from adyton.plans.dawa import Dawa, bucket_strategy
from adyton.plans.steps import boundaries
from adyton.queries import Hierarchy, Identity, Partition, Queries
from adyton.queries.block_tree import BlockTree
from adyton.solving.solvers import solver
from adyton.strategies.base import Strategy
from adyton_lab.bench.published_dawa import published_partition

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
    queries = Hierarchy.of_tree(BlockTree.of_leaves(workload.cells, boundaries(buckets)))
    levels = queries.query_levels()
    return Strategy(queries, np.exp2(levels / 3) if way == "geometric" else np.ones(levels.size))


def two_steps(x: Integers, workload: Queries, second: str, epsilon: Fraction, seed: int) -> Reals:
    """Our DAWA with another second step."""
    first, last = (int(one) for one in np.random.SeedSequence(seed).generate_state(2))
    share = Dawa().partition_share
    buckets = chosen_partition("powers", x, share * epsilon, (1 - share) * epsilon, first)
    return measured(x, workload, buckets, second, (1 - share) * epsilon, last)
