"""MWEM and its relatives: in each round, measure a query that the estimate so far answers badly."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.kernel.mechanisms.published.worst_approximated import WorstApproximated
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import VectorSource
from adyton.plans.algorithm import Share, Whole, Within, whole_number
from adyton.plans.base import CountsRows, Tasks
from adyton.queries import Explicit, Partition, Queries, Reduction
from adyton.queries.base import Size
from adyton.solving.disjoint_sums import DisjointSums

_LARGEST = 2.0**62

_ROUNDS = {
    1: ((10, 2), (1e2, 4), (1e3, 8), (1e4, 12), (1e5, 60), (1e6, 80), (1e7, 140)),
    2: ((1e3, 12), (5e3, 32), (1e4, 32), (1e5, 60), (5e5, 120), (1e6, 140)),
}
"""By number of dimensions: pairs of rows · ε and the number of rounds that suits it (Hay et al., "Principled evaluation
of differentially private algorithms using DPBench", SIGMOD 2016)."""


@dataclass(frozen=True, kw_only=True)
class WorstFirst(CountsRows):
    """The rounds that all variants share. Each spends half of its budget on choosing a query, half on measuring it."""

    serves = Tasks(data_dependent=True)
    simulates_many = False
    blocks: ClassVar[bool] = False
    """Whether further disjoint queries, blocks of a binary hierarchy, are measured in each round at no cost."""

    total_share: Share = Fraction(1, 20)
    rest: bool = True
    """Also measure the sum of the cells that no other query of the round counts: it is disjoint, so it costs nothing;
    together with the others it is an answer about the total."""
    sweeps: Whole = 100
    """The most replays of the history in each round."""

    @abstractmethod
    def number_of_rounds(self, ndim: int, signal: float) -> int:
        """The number of rounds for *signal* = rows · ε."""

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Also check the rounds: each answers all queries, and fits all measurements so far."""
        super().check_size(workload, epsilon)
        queries, rounds = workload._whole_form(), self.number_of_rounds(len(workload.domain), math.inf)
        nothing = WorstApproximated.of(queries, np.zeros(queries.cells))
        check_request(nothing, VectorShape(workload.domain), epsilon / (2 * rounds))
        held, fitted = 3 * rounds * workload.cells // 2, rounds**2 * workload.cells // 4
        Size(held, fitted + rounds * queries.size().steps).check(
            lambda: f"{self.name} with {rounds:,} rounds on {workload.cells:,} cells",
            "Ask for fewer rounds or queries.",
        )

    def fit(self, history: DisjointSums) -> Reals:
        """The estimate from all measurements so far: multiplicative weights."""
        return history.maximum_entropy(self.sweeps)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """The total; then in each round choose, measure and fit."""
        queries = workload._whole_form()
        rows = self.count_rows(x, epsilon)
        rounds = self.number_of_rounds(len(x.shape), rows.number * float(epsilon))
        half = rows.left / (2 * rounds)
        history = DisjointSums(x.cells, rows.number)
        if rows.measured:
            (total,) = rows.measured
            history = DisjointSums(x.cells, float(total.value), float(total.variances[0]))
        estimate = history.cells()
        for number in range(rounds):
            query = x.select(WorstApproximated.of(queries, np.clip(estimate, 0.0, _LARGEST / 2)), half)
            coefficients = np.clip(queries.row(query).reshape(-1), -_LARGEST, _LARGEST)
            labels = self._labels(coefficients, x.shape, number)
            weights = np.where(coefficients == 0, 1.0, coefficients)
            answers = x.measure(_disjoint_queries(labels, weights, x.shape), half)
            history.add(labels, weights, answers.answers, float(answers.variances[0]))
            estimate = self.fit(history)
        return estimate

    def _labels(self, coefficients: Reals, domain: tuple[int, ...], number: int) -> npt.NDArray[np.int64]:
        """0 for the cells of the query, then 1, 2, … for the disjoint blocks and the rest, −1 for unmeasured cells."""
        asked = coefficients != 0
        labels = np.where(asked, 0, -1)
        if self.blocks:
            block = _block_numbers(domain, number)
            free = np.bincount(block, asked) == 0
            labels = np.where(free[block], np.cumsum(free)[block], labels)
        if not asked.any():  # a query about nothing has no label of its own
            labels = np.maximum(labels - 1, -1)
        if (self.rest and (labels < 0).any()) or labels.max() < 0:
            labels[labels < 0] = labels.max() + 1
        return labels


@dataclass(frozen=True, kw_only=True)
class Mwem(WorstFirst):
    """Multiplicative weights and the exponential mechanism: ten rounds, each of which measures a query that the
    estimate so far answers badly and updates the estimate by multiplicative weights.

    Hardt, Ligett and McSherry, "A simple and practical algorithm for differentially private data release", NIPS 2012.
    """

    name = "mwem"

    rounds: Annotated[int, Within(whole_number, 1, 10_000)] = 10
    """How many queries are chosen and measured."""

    def number_of_rounds(self, ndim: int, signal: float) -> int:
        """The option :attr:`rounds`."""
        return self.rounds


@dataclass(frozen=True, kw_only=True)
class MwemStar(WorstFirst):
    """MWEM with a number of rounds that suits the number of rows times ε, from 2 to 140.

    Hay et al., "Principled evaluation of differentially private algorithms using DPBench", SIGMOD 2016.
    """

    name = "mwem*"
    variant = True

    def number_of_rounds(self, ndim: int, signal: float) -> int:
        """From the table, interpolated on the logarithm."""
        table = np.array(_ROUNDS[min(ndim, 2)], dtype=np.float64)
        return round(float(np.interp(np.log(max(signal, 1e-300)), np.log(table[:, 0]), table[:, 1])))


@dataclass(frozen=True, kw_only=True)
class MwemB(Mwem):
    """MWEM that adds to each query, at no cost, the blocks of a binary hierarchy that are disjoint from it: single
    cells in the first round, blocks of two along each axis in the second, and so on.

    Zhang et al., "εKTELO: a framework for defining differentially private computations", SIGMOD 2018, section 6.3,
    variant b.
    """

    name = "mwem-b"
    variant = blocks = True


@dataclass(frozen=True, kw_only=True)
class MwemC(Mwem):
    """MWEM with non-negative least squares, which also fits the total, instead of multiplicative weights.

    Zhang et al., "εKTELO: a framework for defining differentially private computations", SIGMOD 2018, section 6.3,
    variant c.
    """

    name = "mwem-c"
    variant = True

    def fit(self, history: DisjointSums) -> Reals:
        """Non-negative least squares."""
        return history.nonnegative_least_squares()


@dataclass(frozen=True, kw_only=True)
class MwemD(MwemC):
    """MWEM with both: blocks of a hierarchy in addition to each query, and non-negative least squares.

    Zhang et al., "εKTELO: a framework for defining differentially private computations", SIGMOD 2018, section 6.3,
    variant d.
    """

    name = "mwem-d"
    blocks = True


def _disjoint_queries(labels: npt.NDArray[np.int64], coefficients: Reals, domain: tuple[int, ...]) -> Queries:
    """One query per label, which counts the cells with this label, with these coefficients."""
    if (coefficients == 1).all():
        return Reduction(Partition(labels), domain)
    (cells,) = np.nonzero(labels >= 0)
    whole_numbers = coefficients[cells].astype(np.int64)
    return Explicit(domain, labels[cells], cells, whole_numbers, int(labels.max()) + 1)


def _block_numbers(domain: tuple[int, ...], number: int) -> npt.NDArray[np.int64]:
    """The block of each cell on the level that a round measures: sides of 1, 2, 4, … cells, then from 1 again."""
    levels = max(1, (max(domain) - 1).bit_length())
    size = 1 << number % levels
    numbers = np.zeros(domain, dtype=np.int64)
    for axis, side in enumerate(domain):
        along = np.arange(side) // size
        numbers = numbers * (int(along[-1]) + 1) + along.reshape((-1,) + (1,) * (len(domain) - axis - 1))
    return numbers.reshape(-1)
