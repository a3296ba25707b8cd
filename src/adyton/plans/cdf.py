"""CDF: the plan that introduces εKTELO, on the vector of one attribute."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.arrays import Reals
from adyton.kernel.sources import VectorSource
from adyton.partitions import lift
from adyton.plans.base import Plan, Tasks
from adyton.plans.options import Positive, Share
from adyton.plans.steps import similar_groups
from adyton.queries import Identity, Queries
from adyton.solving.least_squares import least_squares


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
