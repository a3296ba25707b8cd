"""What the noisy table of an attribute says about the classes, and how much attributes repeat one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.kernel.sources import TableSource
from adyton.learning.model import Target
from adyton.queries import Identity, Partition

_LEAST_SPREAD = 1e-9
USUAL, _SPREAD = 0.06, 0.1
"""The mean correlation of the scores of two attributes on public tables, and its standard deviation."""
_MOST_TOGETHER = 1 << 18
"""The most cells of the table in which scores are added up."""
_EDGES = 2.0 ** np.arange(-2, 5)
_MIDDLES = 2.0 ** (np.arange(-3, 5) + 0.5)
"""The groups of squares, and the square that stands for each group."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the cells of an attribute say about the classes, by a noisy table."""

    frequencies: Reals
    """P(cell | class), of shape (cells, classes)."""
    kept: float
    """The part of the table's differences between classes that noise and chance do not explain, 0 to 1."""
    prior: Reals

    @classmethod
    def of(cls, table: Reals, prior: Reals, scale: float) -> Evidence:
        """From noisy counts of shape (cells, classes), with noise of this scale.

        P is as in naive Bayes: q = max(z, 0) + b·π_c + ½ for noise of scale b, normalised over the cells of a class.
        Let S be the sum of (z_vc − z_v·π_c)², by which the table differs from one that says nothing, and V what that
        sum would be by noise of variance 2b² in each count and by chance alone. What is kept is max(0, 1 − V/S) (after
        James and Stein, 1961).
        """
        classes = len(prior)
        differs = table - table.sum(axis=1, keepdims=True) * prior
        rows = np.maximum(table, 0.0).sum()
        noise = 2 * scale**2 * ((1 - prior) ** 2 + prior**2 * (classes - 1)).sum() * len(table)
        likely = noise + rows * float((prior * (1 - prior)).sum())
        kept = max(0.0, 1 - likely / max(float((differs**2).sum()), _LEAST_SPREAD))
        q = np.maximum(table, 0.0) + scale * prior + 0.5
        return cls(np.asarray(q / q.sum(axis=0)), kept, prior)

    def profile(self, weight: float) -> Reals:
        """The factors of the attribute: P(cell | class), to the power of the weight of what is kept."""
        return np.asarray(self.frequencies ** (weight * self.kept))

    @property
    def scores(self) -> Reals:
        """What is added to the score of every class (a column) by every cell, compared with the mean of the classes."""
        logarithms = self.kept * np.log(self.frequencies)
        return np.asarray(logarithms - (logarithms @ self.prior)[:, None])

    @property
    def means(self) -> Reals:
        """The mean scores (columns) of the rows of every class (rows)."""
        return np.asarray(self.frequencies.T @ self.scores)

    @property
    def variance(self) -> float:
        """How much scores differ within a class: their variance, averaged over classes and scores."""
        within = self.frequencies.T @ self.scores**2 - self.means**2
        return max(0.0, float(self.prior @ within @ self.prior))


def others(evidence: Sequence[Evidence]) -> float:
    """By how many others an attribute can be repeated: (Σ s)²/Σ s² − 1 for deviations s, one less than the attributes
    if all say as much."""
    variances = np.array([one.variance for one in evidence])
    return max(0.0, float(np.sqrt(variances).sum() ** 2 / max(float(variances.sum()), _LEAST_SPREAD)) - 1)


def repetition(
    source: TableSource,
    target: Target,
    places: Sequence[int],
    evidence: Sequence[Evidence],
    prior: Reals,
    epsilon: Fraction,
) -> float:
    """How much attributes repeat one another: the mean correlation of their scores within a class, from 0 to 1.

    If attributes were independent within a class, the variance V of the sum of their scores would be the sum of their
    variances; if they repeat one another with a correlation of r, it is 1 + r·(attributes − 1) times as much. That
    ratio is measured for the attributes that say most, as many as have a small common table. Which scores a cell of
    that table has is public, since noisy tables say it. So cells are put into eight groups, by the square of the
    distance of their scores from the mean of their class, in units of V. The numbers of rows in the groups, measured
    with ε, give the mean square; so do the noisy tables, as if attributes were independent. The ratio of the two is the
    one that is wanted, up to noise of a known variance: it is averaged with what is usual on public tables, by their
    precisions.
    """
    classes = len(target.classes)
    order = sorted(range(len(places)), key=lambda number: -evidence[number].variance)
    chosen, cells = [], classes
    for number in order:
        size = len(evidence[number].frequencies)
        if cells * size <= _MOST_TOGETHER:
            chosen.append(number)
            cells *= size
    own = [evidence[number] for number in chosen]
    scores, chances, mean = np.zeros((1, classes)), prior[None], np.zeros((classes, classes))
    for one in own:
        scores = (scores[:, None] + one.scores).reshape(-1, classes)
        chances = (chances[:, None] * one.frequencies).reshape(-1, classes)
        mean = mean + one.means
    unit = max(sum(one.variance for one in own), _LEAST_SPREAD)
    squares = np.stack([(scores - middle) ** 2 @ prior for middle in mean], axis=1) / unit
    group = np.searchsorted(_EDGES, squares).reshape(-1)
    used, group = np.unique(group, return_inverse=True)
    names = [target.schema.names[places[number]] for number in chosen]
    vector = source.select(*names, target.label).vectorize().reduce(Partition(group))
    counts = vector.measure(Identity(vector.shape), epsilon).answers.astype(np.float64).reshape(-1)
    middles = _MIDDLES[used]
    rows = max(float(counts.sum()), 1.0)
    expected = max(float(np.bincount(group, chances.reshape(-1)) @ middles), _LEAST_SPREAD)
    own_others = max(others(own), _LEAST_SPREAD)
    seen = (float(counts @ middles) / rows / expected - 1) / own_others
    variance = 2 * float((middles**2).sum()) / (float(epsilon) * rows * expected * own_others) ** 2
    return min(max((seen * _SPREAD**2 + USUAL * variance) / (_SPREAD**2 + variance), 0.0), 1.0)
