"""How far tables of pairs and synthetic rows are from public rows, in figures that a user would recognise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Flags, Integers, Reals
from adyton.compiling import cached_property
from adyton.marginals.pair_model import Expected, Pair
from adyton.marginals.program import TableSet
from adyton.marginals.resolution import FEW, CellGroups, Maps, merged
from adyton_lab.bench.classifiers import area
from adyton_lab.bench.tables import distance, parts, true_pairs, true_singles
from adyton_lab.corpus.tables import PublicTable

LEAST_PART = 0.02
"""Means are those of groups with at least this part of the rows."""
LEARNING = 0.75
"""The part of the rows that learners see, synthetic or real."""


@dataclass(frozen=True, kw_only=True)
class PairScores:
    """How far the tables of all pairs are from the truth."""

    in_groups: float
    """The mean total variation, with at most eight groups of cells a side that have about as many rows."""
    in_cells: float
    """The same for the cells."""
    correlations: float | None
    """The root mean square error of the correlations of attributes with an order; None if there are fewer than two."""
    means: float | None
    """The same for the means of attributes with an order, in standard deviations, by each level of an attribute without
    an order, or by each of the eight groups of one with an order: groups with at least 2% of the rows."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The tables of all pairs of public rows, with what estimates are compared with."""

    table: PublicTable
    wanted: TableSet

    @cached_property
    def pairs(self) -> dict[Pair, Reals]:
        """In counts."""
        return true_pairs(self.table)

    @cached_property
    def groups(self) -> CellGroups:
        """Groups of cells of equal true mass."""
        return CellGroups(true_singles(self.table), self.wanted.ordered)

    def few(self, pairs: Mapping[Pair, Reals]) -> dict[Pair, Reals]:
        """Tables in at most eight groups a side."""
        return {pair: merged(counts, self.groups.at(pair, FEW)) for pair, counts in pairs.items()}

    @cached_property
    def _few(self) -> dict[Pair, Reals]:
        return self.few(self.pairs)

    @cached_property
    def _correlations(self) -> Reals:
        return self._correlations_of(self.pairs)

    @cached_property
    def _means(self) -> Reals:
        return self._means_of(self.pairs)

    def in_groups(self, pairs: Mapping[Pair, Reals], among: set[Pair] | None = None) -> float:
        """The mean total variation in eight groups a side; over some of the pairs, if they are named."""
        kept = [pair for pair in self.pairs if among is None or pair in among]
        return distance(self.few({pair: pairs[pair] for pair in kept}), {pair: self._few[pair] for pair in kept})

    def scores(self, pairs: dict[Pair, Reals]) -> PairScores:
        """The figures of estimated tables."""
        return PairScores(
            in_groups=self.in_groups(pairs),
            in_cells=distance(pairs, self.pairs),
            correlations=_root_mean_square(self._correlations_of(pairs) - self._correlations),
            means=_root_mean_square(self._means_of(pairs) - self._means),
        )

    def _correlations_of(self, pairs: Mapping[Pair, Reals]) -> Reals:
        ordered = set(self.wanted.ordered)
        return np.array([_correlation(pairs[pair]) for pair in self.pairs if ordered.issuperset(pair)])

    def _means_of(self, pairs: Mapping[Pair, Reals]) -> Reals:
        """The means of all groups with enough rows, in true standard deviations."""
        means = []
        for pair in self.pairs:
            for own, place in ((pair[1], 0), (pair[0], 1)):
                if own in self.wanted.ordered and self._spread[own] > 0:
                    maps = self._maps(pair, place)
                    table = merged(pairs[pair], maps) if place == 0 else merged(pairs[pair], maps).T
                    means.append(_means(table)[self._large(pair, place)] / self._spread[own])
        return np.concatenate([np.zeros(0), *means])

    def _maps(self, pair: Pair, place: int) -> Maps:
        by = pair[place]
        groups = self.groups.of(by, FEW) if by in self.wanted.ordered else None
        return (groups, None) if place == 0 else (None, groups)

    def _large(self, pair: Pair, place: int) -> Flags:
        single = merged(self.groups.singles[pair[place]], (self._maps(pair, place)[place],))
        return np.asarray(single >= LEAST_PART * single.sum())

    @cached_property
    def _spread(self) -> dict[str, float]:
        """The standard deviation of each attribute, in cells."""
        spreads = {}
        for name, single in self.groups.singles.items():
            cells = np.arange(single.size)
            mean = np.average(cells, weights=single)
            spreads[name] = math.sqrt(float(np.average((cells - mean) ** 2, weights=single)))
        return spreads

    def wrong(self, pairs: Mapping[Pair, Reals], pair: Pair) -> float:
        """The total variation of one table."""
        return float(np.abs(parts(pairs[pair]) - parts(self.pairs[pair])).sum()) / 2


def _means(table: Reals) -> Reals:
    """The mean cell of each line of a table; of a line without rows, that of all rows."""
    cells, rows, mass = np.arange(table.shape[1]), table.sum(axis=1), max(float(table.sum()), 1e-9)
    return np.where(rows > 0, table @ cells / np.where(rows > 0, rows, 1.0), float(table.sum(axis=0) @ cells) / mass)


def _correlation(table: Reals) -> float:
    """The correlation of the numbers of cells; 0 if one of them does not vary."""
    table = parts(table)
    first, second = np.arange(table.shape[0]), np.arange(table.shape[1])
    lines, columns = table.sum(axis=1), table.sum(axis=0)
    means = lines @ first, columns @ second
    spreads = lines @ first**2 - means[0] ** 2, columns @ second**2 - means[1] ** 2
    if min(spreads) < 1e-9:
        return 0.0
    return float((first @ table @ second - means[0] * means[1]) / math.sqrt(spreads[0] * spreads[1]))


def _root_mean_square(errors: Reals) -> float | None:
    return math.sqrt(float(np.square(errors).mean())) if errors.size else None


def expectations(
    truth: Truth, pairs: Mapping[Pair, Reals], expected: Mapping[tuple[str, ...], Expected]
) -> tuple[float | None, bool | None]:
    """The part of measured pairs whose expected error is within a factor of 2 of the true one, and whether the true
    errors of all others together are below their limits. Errors are those of the cells. None if there are none."""
    near, errors, limits = [], [], []
    for pair in truth.pairs:
        if pair in expected:
            wrong = truth.wrong(pairs, pair)
            if expected[pair].limit:
                errors.append(wrong)
                limits.append(expected[pair].total_variation)
            else:
                near.append(wrong / 2 < expected[pair].total_variation < 2 * wrong)
    return float(np.mean(near)) if near else None, sum(errors) <= sum(limits) if limits else None


def boosted(rows: Integers, held: Integers, label: int) -> tuple[float, float]:
    """The accuracy and the area on held-out rows of scikit-learn's gradient boosting, trained on some rows.

    Attributes are the numbers of their cells; 40 rounds, and no early stopping. If the rows have one class only, that
    one is predicted.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    classes, true = rows[:, label], held[:, label]
    probabilities = np.zeros((len(held), int(max(classes.max(), true.max())) + 1))
    known = np.unique(classes)
    if known.size == 1:
        probabilities[:, known] = 1.0
    else:
        learner = HistGradientBoostingClassifier(max_iter=40, early_stopping=False, random_state=0)
        learner.fit(np.delete(rows, label, axis=1), classes)
        probabilities[:, known] = learner.predict_proba(np.delete(held, label, axis=1))
    return float((probabilities.argmax(axis=1) == true).mean()), area(probabilities, true)
