"""The DAWA that published evaluations ran, as a mark to measure honest plans against. **It is not private.**

Its choice of a partition has half of the noise that the proof needs, none on single cells, and cuts negative costs off
at 0: on eight cells it loses more than four times the ε that it claims. So it takes counts that are public, in the
open; it is no mechanism, no plan, and no kernel runs it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.exact import Rational, positive, share
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms.published.dawa_partition import DawaPartition, LeastCost
from adyton.kernel.mechanisms.published.windows import mean_costs
from adyton.plans.dawa import bucket_strategy
from adyton.plans.simulation import public_counts
from adyton.plans.steps import curve
from adyton.queries import Partition, Queries
from adyton.queries.domain_trees import curve
from adyton.solving.solvers import solver

SHARE = Fraction(1, 4)


def published_partition(
    x: npt.ArrayLike, epsilon: Rational, share_of_partition: Rational = SHARE, seed: int | None = None
) -> npt.NDArray[np.int64]:
    """NOT PRIVATE. The number of the bucket of each cell of a line of public counts.

    Costs are max(0, dev(b) + Laplace([(1 − 1/ℓ) + (1 − 1/L)]/ε₁)) + 1/ε₂, without noise where L = 1.
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
    """NOT PRIVATE. An estimate of public counts: the published partition, then the second stage of our own plan."""
    counts, amount = public_counts(x), positive(epsilon, "epsilon")
    first, second = np.random.SeedSequence(seed).spawn(2)
    order = curve(counts.shape)
    line = counts.reshape(-1) if order is None else counts.reshape(-1)[order]
    buckets = Partition(published_partition(line, amount, SHARE, int(first.generate_state(1)[0])))
    strategy = bucket_strategy(workload, order, buckets)
    rest = (1 - SHARE) * amount
    answers = strategy.measure(Kernel.simulated(counts, epsilon=rest, seed=second).root, rest)
    return solver(answers.queries, answers.variances).solve(answers.answers).reshape(counts.shape)
