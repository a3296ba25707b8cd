"""Plans that find groups of nearly equal cells first, and measure the cells of a group together.

AHP groups cells with similar counts, and so does CDF, the example plan of the εKTELO paper; DAWA finds intervals that
fit the data, then measures counts that fit the workload. Last come plans for one dimension, run in every stripe of a
domain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np

from adyton.arrays import Array, Places, Reals
from adyton.errors import BadInput
from adyton.exact import exact, positive
from adyton.kernel.mechanisms.published.dawa_partition import DawaPartition
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import VectorSource
from adyton.messages import shorten
from adyton.partitions import lift
from adyton.partitions.similar_counts import similar_counts
from adyton.plans.algorithm import Positive, Share, Whole, Within
from adyton.plans.base import CountsRows, Plan, Tasks
from adyton.plans.hierarchies import AdaptiveHierarchy
from adyton.plans.registry import SEVERAL, algorithms, plan_named, plan_type
from adyton.plans.striped import OneByOne
from adyton.queries import Identity, Measurement, Partition, Queries, Ranges, Stack
from adyton.queries.domain_trees import along_curve, curve
from adyton.queries.hierarchy import BlockTree
from adyton.solving.noise_moments import Moments
from adyton.solving.solvers import least_squares, solver
from adyton.solving.trees import BlockAnswers
from adyton.strategies.base import Strategy
from adyton.strategies.greedy_h import greedy_h
from adyton.whole import rises

_CLEAR = 4
"""Groups whose mean is above this many times the threshold hardly contain cells that only noise put there."""


_SHARES = {100: 0.7, 500: 0.9, 1e3: 0.9, 1e4: 0.8, 5e5: 0.7, 1e6: 0.5, 5e6: 0.5, 1e7: 0.3}
"""The share of the budget for the groups, by ε times the number of rows; interpolated on the logarithm."""


@dataclass(frozen=True, kw_only=True)
class Ahp(Plan):
    """Noisy cells are grouped with others of similar counts; then each group is measured. Good for data in which a few
    counts occur often, in any order.

    The groups are post-processing of the first answers, so they cost no further privacy. For groups far above the
    threshold, both measurements are fitted by least squares. In groups near it, the cells were selected by their noise,
    and only the group's own answer counts.

    Zhang et al., "Towards accurate histogram publication under differential privacy", SDM 2014.
    """

    name = "ahp"
    serves = Tasks(dimensions=(1, 2), data_dependent=True)
    simulates_many = False
    minds_workload = False

    partition_share: Share = Fraction(17, 20)
    """The share of the budget that finds the groups: ρ in the paper."""
    eta: Annotated[Fraction, Within(positive, 0, 10**6)] = Fraction(7, 20)
    """Noisy counts up to η·ln n / ε₁ are treated as 0."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Measure cells, group them, measure groups, least squares."""
        return self.on_groups(x, epsilon, self.partition_share)

    def on_groups(
        self, x: VectorSource, epsilon: Fraction, part: Fraction, total: tuple[Measurement, ...] = ()
    ) -> Reals:
        """The program with the share *part* of *epsilon* for finding the groups, and a total measured before."""
        rest = (1 - part) * epsilon
        groups, cells, threshold = similar_groups(x, self.eta, part * epsilon, rest)
        counts = x.reduce(groups).measure(Identity(groups.groups), rest)
        sizes = groups.sizes
        means = np.bincount(groups.labels, cells.answers.astype(np.float64)) / sizes
        clear = (means > _CLEAR * threshold) | (sizes == 1)
        tree = tree_of_groups(groups)
        places = np.flatnonzero(tree.ordered(clear[groups.labels]))
        answers, variances = tree.ordered(cells.answers)[places], tree.ordered(cells.variances)[places]
        known = BlockAnswers.none(tree, total).with_level(1, counts)
        return tree.unordered(known.with_answers(tree.level_starts[2] + places, answers, variances).cells())


def tree_of_groups(groups: Partition) -> BlockTree:
    """The whole domain, the groups of a partition of all cells, and the cells in their groups.

    >>> tree_of_groups(Partition([1, 0, 1])).order
    array([1, 0, 2])
    """
    cells, bounds = np.arange(groups.cells + 1), np.append(0, np.cumsum(groups.sizes))
    return BlockTree(groups.cells, [[0, groups.cells], bounds, cells], np.argsort(groups.labels, kind="stable"))


@dataclass(frozen=True, kw_only=True)
class AhpStar(CountsRows, Ahp):
    """AHP with a share for the groups that depends on a noisy number of rows.

    Zhang et al., "Towards accurate histogram publication under differential privacy", SDM 2014; the shares are those of
    Hay et al., "Principled evaluation of differentially private algorithms using DPBench", SIGMOD 2016.
    """

    name = "ahp*"

    partition_share: Share | None = None  # type: ignore[assignment]
    """The share of the budget that finds the groups; by default it follows from the number of rows."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """A noisy total, then AHP with the share that suits it."""
        rows = self.count_rows(x, epsilon)
        part = self.partition_share or partition_share(rows.number * float(epsilon))
        return self.on_groups(x, rows.left, part, rows.measured)


def partition_share(signal: float) -> Fraction:
    """The share of the budget for the groups, by ε times the number of rows.

    >>> partition_share(50), partition_share(1e5)
    (Fraction(7, 10), Fraction(741, 1000))
    """
    part = np.interp(math.log(signal), np.log(list(_SHARES)), list(_SHARES.values()))
    return Fraction(round(1000 * float(part)), 1000)


@dataclass(frozen=True, kw_only=True)
class Cdf(Plan):
    """Groups of similar counts as in AHP, their noisy counts, and the non-negative cells that fit them best: the prefix
    sums of the estimate are a distribution function. It never falls, and ranges over many empty cells are biased
    upwards.

    Zhang et al., "εKTELO: a framework for defining differentially private computations", SIGMOD 2018, Algorithm 1,
    from line 5 on. The lines before choose the rows and the attribute:

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
    """The share of the budget that finds the groups."""
    eta: Positive = Fraction(7, 20)
    """Noisy counts up to η·ln n / ε₁ are treated as 0."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Partition, reduce, measure, non-negative least squares."""
        rest = (1 - self.partition_share) * epsilon
        groups, _, _ = similar_groups(x, self.eta, self.partition_share * epsilon, rest)
        counts = x.reduce(groups).measure(Identity(groups.groups), rest)
        return lift(least_squares(counts, nonnegative=True, local=True), groups)


def similar_groups(
    x: VectorSource, eta: Fraction, epsilon: Fraction, rest: Fraction
) -> tuple[Partition, Measurement, float]:
    """Measure the cells with *epsilon* and group those that *rest* would hardly distinguish: groups, cells, threshold.

    Counts up to the threshold η·ln n / ε are treated as 0: noise lifts few of n empty cells above it.
    """
    threshold = float(eta) * math.log(x.cells) / float(epsilon)
    cells = x.measure(Identity(x.shape), epsilon)
    return similar_counts(cells.answers, 2 / float(rest) ** 2, threshold), cells, threshold


_LARGEST_TABLE = 1 << 13


_FEWEST_BOXES = 32


_SWEEPS = 4


_ALLOWANCES = {"mean": 5, "median": 4}


@dataclass(frozen=True, kw_only=True)
class Dawa(Plan):
    """A share of the budget finds intervals of nearly equal cells; the rest counts them, with a tree of counts above
    them that is weighted for the workload. In two dimensions both follow a Hilbert curve.

    Li, Hay, Miklau and Wang, "A data- and workload-aware algorithm for range queries under differential privacy",
    PVLDB 2014, with as much noise in the choice of the intervals as its Theorem 2 needs, on the one side that it needs.
    """

    name = "dawa"
    serves = Tasks(dimensions=(1, 2), data_dependent=True, ordered=True)
    simulates_many = False

    partition_share: Share = Fraction(1, 4)
    """The share of the budget that chooses the intervals."""
    allowance: Annotated[Fraction, Within(exact, 0)] | None = None
    """Each interval costs 1/ε₂ for the noise of its count, as in the paper, plus this many times 1/ε₁: otherwise the
    least noisy cost would be that of many short intervals with lucky noise. Both are public. 5 if None, or 4 with the
    median; the paper has 0."""
    lengths: Literal["powers", "all"] = "powers"
    """How many cells an interval may have: ``powers`` of two, or ``all`` numbers."""
    longest: Whole | None = None
    """The most cells of an interval; None for no limit."""
    centre: Literal["mean", "median"] = "mean"
    """What makes cells nearly equal: a small distance from their ``mean``, as in the paper, or from their ``median``,
    whose choice needs about half of the noise."""

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Also check the choice of intervals, which holds the costs of all of them."""
        super().check_size(workload, epsilon)
        line = VectorShape((workload.cells,))
        check_request(DawaPartition(lengths=self.lengths, longest=self.longest), line, epsilon)

    @property
    def linear(self) -> bool:
        """The intervals depend on the data."""
        return False

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Partition, weighted tree, least squares."""
        return self.run_and_keep(x, workload, epsilon)[0]

    def run_and_keep(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> tuple[Reals, Array | None]:
        """The cells; and the number of intervals, where they start, and the answers."""
        choosing, counting = self.partition_share * epsilon, (1 - self.partition_share) * epsilon
        allowance = _ALLOWANCES[self.centre] if self.allowance is None else self.allowance
        order = curve(x.shape)
        line = x if order is None else x.reduce(along_curve(x.shape))
        cost = 1 / counting + allowance / choosing
        buckets = line.select(DawaPartition(cost, self.lengths, self.longest, self.centre), choosing)
        counts = bucket_strategy(workload, order, buckets).measure(x, counting)
        starts = boundaries(buckets)[:-1]
        kept = np.concatenate([[starts.size], starts, counts.answers.astype(np.float64)])
        return solver(counts.queries, counts.variances).solve(counts.answers), kept

    def unbiased(
        self, workload: Queries, epsilon: Fraction, measured: Reals, queries: Queries
    ) -> tuple[Reals, Moments] | None:
        """Least squares on the intervals. Inside an interval cells are taken to differ from their mean by
        :data:`_APART` times the mean, but not by more than the choice of intervals leaves unseen; that is added to the
        variance of the noise, and is known roughly."""
        merging, number = self.merging(workload), int(measured[0]) if measured.size else 0
        asked, starts = merging.on_groups(queries), measured[1 : number + 1].astype(np.int64)
        if asked is None or not 0 < number == starts.size or asked.count * asked.cells > _MOST_READ:
            return None
        if starts[0] != 0 or starts[-1] >= asked.cells or not rises(starts):
            return None
        order, sizes = curve(asked.domain), np.diff(np.append(starts, asked.cells))
        buckets = Partition(np.repeat(np.arange(number), sizes))
        strategy = bucket_strategy(merging.workload, order, buckets)
        if measured.size != 1 + number + strategy.queries.count:
            return None
        found = strategy.solver((1 - self.partition_share) * epsilon)
        cells = np.asarray(found.solve(measured[1 + number :]), dtype=np.float64)
        means = np.maximum(cells if order is None else cells[order], 0.0)[starts]
        unseen = _UNSEEN / float(epsilon)
        differing = means + 1 / (1 / np.maximum(_APART * means, 1e-9) ** 2 + 1 / unseen**2)
        pieces = []
        for rows in asked.rows():
            line = rows if order is None else rows[..., order]
            sums, squares = (np.add.reduceat(part, starts, axis=-1) for part in (line, np.square(line)))
            pieces.append(found.variances(rows) + (squares - np.square(sums) / sizes) @ differing)
        variances = np.concatenate(pieces)
        return np.asarray(asked @ cells), Moments(variances, 3 * np.square(variances), at_most=True)


_APART, _UNSEEN = 1.0, 15.0
"""How far cells of an interval are from their mean, relative to it, and at most, in units of 1/ε: found on made-up
data."""
_MOST_READ = 1 << 28
"""The most coefficients of queries for which :meth:`Dawa.unbiased` computes variances."""


def bucket_strategy(workload: Queries, order: Places | None, buckets: Partition) -> Strategy:
    """Greedy-H over the buckets, with the workload answered as if the cells of a bucket were equal."""
    bounds, sweeps = boundaries(buckets), _SWEEPS if order is None else 0
    return greedy_h(_some(workload, bounds.size - 1), order, buckets=bounds, sweeps=sweeps)


def _some(workload: Queries, leaves: int) -> Queries:
    """Boxes along a curve are written out to weight a tree for them: if there are many, some at equal distances
    represent all.

    The weights affect only the size of the noise, not the quantity that is estimated.
    """
    most = max(_FEWEST_BOXES, _LARGEST_TABLE // leaves)
    if len(workload.domain) == 1 or not isinstance(workload, Ranges) or workload.count <= most:
        return workload
    chosen = np.linspace(0, workload.count - 1, most).astype(np.int64)
    boxes = Ranges(workload.domain, workload.lower[chosen], workload.upper[chosen])
    return Stack([boxes, Identity(workload.domain)])


def boundaries(intervals: Partition) -> Places:
    """The starts of intervals that are numbered from the left, followed by the number of cells.

    >>> boundaries(Partition([0, 0, 1, 2]))
    array([0, 2, 3, 4])
    """
    return np.append(np.flatnonzero(np.diff(intervals.labels, prepend=-1)), intervals.cells)


@dataclass(frozen=True, kw_only=True)
class DawaStriped(OneByOne):
    """DAWA in every stripe along one attribute: intervals of nearly equal cells, and a tree of counts above them.

    Zhang et al., "εKTELO: a framework for defining differentially-private computations", SIGMOD 2018, plan 13, with as
    much noise in the choice of the intervals as DAWA's proof needs.
    """

    name = "dawa-striped"
    serves = Tasks(dimensions=SEVERAL, data_dependent=True, ordered=True)
    along = Dawa()


def _line_plan(given: object, name: str) -> str:
    """The name of a plan that serves one dimension."""
    if not isinstance(given, str) or given not in algorithms(1) or plan_type(given).chooses:
        raise BadInput(
            f"{name} must be the name of an algorithm for one dimension, such as 'staged-hierarchy' or 'dawa', given "
            f"{shorten(given)}."
        )
    return given


@dataclass(frozen=True, kw_only=True)
class Striped(OneByOne):
    """Any plan for one dimension, run in every stripe along one attribute: the other attributes are fixed in a stripe,
    so no row is in two stripes, and each stripe gets the whole budget.

    After Zhang et al., "εKTELO: a framework for defining differentially-private computations", SIGMOD 2018, §7.1.
    """

    name = "striped"
    serves = Tasks(dimensions=SEVERAL, data_dependent=True, ordered=True)

    inner: Annotated[str, _line_plan] = "staged-hierarchy"
    """The plan in a stripe, by its name."""

    @property
    def along(self) -> Plan:
        """The plan that runs in a stripe."""
        return plan_named(self.inner)


@dataclass(frozen=True, kw_only=True)
class AdaptiveHierarchyStriped(OneByOne):
    """In every stripe along one attribute, a noisy total decides which levels of a tree are worth measuring.

    After Zhang et al., "εKTELO", SIGMOD 2018, plan 13, with ``adaptive-hierarchy`` in place of DAWA.
    """

    name = "adaptive-hierarchy-striped"
    serves = Tasks(dimensions=SEVERAL, data_dependent=True, ordered=True, sums=True)
    along = AdaptiveHierarchy()
