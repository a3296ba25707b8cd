"""Cells with similar counts are found on noisy counts, and measured together: AHP, and CDF, the plan that introduces
εKTELO.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from adyton.arrays import Reals
from adyton.exact import positive
from adyton.kernel.sources import VectorSource
from adyton.partitions import lift
from adyton.plans.algorithm import Positive, Share, Within
from adyton.plans.base import Plan, Tasks
from adyton.plans.steps import CountsRows, similar_groups
from adyton.queries import Identity, Measurement, Queries
from adyton.queries.block_tree import BlockTree
from adyton.solving.solvers import least_squares
from adyton.solving.trees import BlockAnswers

_CLEAR = 4
"""Groups whose mean is this many times the threshold hardly hold cells that only noise has lifted there."""
_SHARES = {100: 0.7, 500: 0.9, 1e3: 0.9, 1e4: 0.8, 5e5: 0.7, 1e6: 0.5, 5e6: 0.5, 1e7: 0.3}
"""The part of the budget for the groups, by ε times the number of rows; in between it changes with the logarithm."""


@dataclass(frozen=True, kw_only=True)
class Ahp(Plan):
    """Noisy cells are grouped with others of similar counts; then each group is measured. Good for data in which few
    counts occur often, in any order.

    The groups are post-processing of the first answers, so their privacy is that of the answers. Groups far above the
    threshold keep what those answers said about their cells: both measurements are fitted by least squares. In groups
    near it, the cells were chosen by their noise, and only the group's own answer counts.

    Zhang et al., "Towards accurate histogram publication under differential privacy", SDM 2014.
    """

    name = "ahp"
    serves = Tasks(dimensions=(1, 2), data_dependent=True)
    simulates_many = False
    minds_workload = False

    partition_share: Share = Fraction(17, 20)
    """The part of the budget that finds the groups: ρ in the paper."""
    eta: Annotated[Fraction, Within(positive, 0, 10**6)] = Fraction(7, 20)
    """Noisy counts up to η·ln n / ε₁ are taken for 0."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Measure cells, group them, measure groups, least squares."""
        return self.on_groups(x, epsilon, self.partition_share)

    def on_groups(
        self, x: VectorSource, epsilon: Fraction, part: Fraction, total: tuple[Measurement, ...] = ()
    ) -> Reals:
        """The program with *part* of *epsilon* for finding the groups, and a total that is known already."""
        rest = (1 - part) * epsilon
        groups, cells, threshold = similar_groups(x, self.eta, part * epsilon, rest)
        counts = x.reduce(groups).measure(Identity(groups.groups), rest)
        sizes = groups.sizes
        means = np.bincount(groups.labels, cells.answers.astype(np.float64)) / sizes
        clear = (means > _CLEAR * threshold) | (sizes == 1)
        tree = BlockTree.of_groups(groups)
        places = np.flatnonzero(tree.ordered(clear[groups.labels]))
        answers, variances = tree.ordered(cells.answers)[places], tree.ordered(cells.variances)[places]
        known = BlockAnswers.none(tree, total).with_level(1, counts)
        return tree.unordered(known.with_answers(tree.level_starts[2] + places, answers, variances).cells())


@dataclass(frozen=True, kw_only=True)
class AhpStar(CountsRows, Ahp):
    """AHP with a share for the groups that depends on a noisy number of rows.

    Zhang et al., "Towards accurate histogram publication under differential privacy", SDM 2014; the shares are those of
    Hay et al., "Principled evaluation of differentially private algorithms using DPBench", SIGMOD 2016.
    """

    name = "ahp*"

    partition_share: Share | None = None  # type: ignore[assignment]
    """The part of the budget that finds the groups; by default it follows from the number of rows."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """A noisy total, then AHP with the share that suits it."""
        rows = self.count_rows(x, epsilon)
        part = self.partition_share or partition_share(rows.number * float(epsilon))
        return self.on_groups(x, rows.left, part, rows.measured)


def partition_share(signal: float) -> Fraction:
    """The part of the budget for the groups, by ε times the number of rows.

    >>> partition_share(50), partition_share(1e5)
    (Fraction(7, 10), Fraction(741, 1000))
    """
    part = np.interp(math.log(signal), np.log(list(_SHARES)), list(_SHARES.values()))
    return Fraction(round(1000 * float(part)), 1000)


@dataclass(frozen=True, kw_only=True)
class Cdf(Plan):
    """Groups of similar counts as in AHP, their counts with noise, and the cells of at least 0 that fit them best: the
    prefix sums of the estimate are a distribution function. It rises everywhere, and ranges over many empty cells are
    biased upwards.

    Zhang et al., "εKTELO: a framework for defining differentially private computations", SIGMOD 2018, Algorithm 1,
    from its line 5 on. The lines before it choose the rows and the attribute:

    >>> import adyton as ad, pyarrow
    >>> schema = ad.Schema({"sex": ad.Categorical(["F", "M"]), "age": ad.Integer(0, 99), "salary": ad.Integer(0, 49)})
    >>> rows = {"sex": ["M", "F", "M", "M"], "age": [31, 35, 38, 52], "salary": [20, 31, 20, 44]}
    >>> table = ad.Kernel(pyarrow.table(rows), schema=schema, epsilon=1).root
    >>> salaries = table.where("sex = 'M' and age >= 30 and age <= 39").select("salary").vectorize()
    >>> prefixes = ad.workloads.Prefix(50)
    >>> distribution = prefixes @ Cdf().estimate(salaries, prefixes, epsilon=1)
    >>> distribution.shape
    (50,)
    """

    name = "cdf"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    partition_share: Share = Fraction(1, 2)
    """The part of the budget that finds the groups."""
    eta: Positive = Fraction(7, 20)
    """Noisy counts up to η·ln n / ε₁ are taken for 0."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Partition, reduce, measure, non-negative least squares."""
        rest = (1 - self.partition_share) * epsilon
        groups, _, _ = similar_groups(x, self.eta, self.partition_share * epsilon, rest)
        counts = x.reduce(groups).measure(Identity(groups.groups), rest)
        return lift(least_squares(counts, nonnegative=True, local=True), groups)
