"""From measured tables to a model of pairs: least squares, then empirical Bayes around simpler models' predictions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.change_points import change_points
from adyton.denoising.empirical_bayes import empirical_bayes
from adyton.denoising.pairs import denoised_tables, raked
from adyton.errors import BadInput
from adyton.marginals.pair_model import Pair, PairModel
from adyton.messages import listing
from adyton.queries.measurement import Group, MeasuredTable
from adyton.solving.residuals import Residuals, in_order, residual, residuals
from adyton.strategies.table_shares import mean_absolute

FEW_CELLS = 3
"""A table of at most this many cells has too few to learn a distribution of counts."""
_LEAST = 1e-6
PASSES = 2
"""First around independence, then, for pairs outside the forest, around the forest's prediction."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates from measured tables: unbiased, by least squares, and with the smallest error known, by the model."""

    squares: Residuals
    model: PairModel


def estimated(
    sides: Mapping[str, int],
    measured: Iterable[MeasuredTable],
    *,
    ordered: Collection[str] = (),
    passes: int = PASSES,
) -> Estimates:
    """Least squares of all measured tables, and the model of the pairs among them.

    Every attribute must be in a measured table. *ordered* are the attributes whose neighbouring cells are alike.

    >>> noisy = [MeasuredTable(("a",), [61, 39], 2.0), MeasuredTable(("a", "b"), [[50, 9], [3, 41]], 8.0)]
    >>> model = estimated({"a": 2, "b": 2}, noisy).model
    >>> model.table("b").counts.round().tolist(), model.table("a", "b").how
    ([52.0, 49.0], 'measured')
    """
    tables = list(measured)
    squares = residuals(sides, tables)
    lacking = [name for name in sides if squares.missing(name)]
    if lacking:
        raise BadInput(f"no measured table has {listing(lacking)}. Measure each attribute in at least one table.")
    total = max(1.0, float(squares.table()))
    singles = {name: _single(squares, name, total, name in ordered) for name in sides}
    own = _own_variances(sides, tables)
    pairs = [pair for pair in own if min(sides[name] for name in pair) > 1]
    errors: dict[Group, float] = {pair: mean_absolute(squares.variance(*pair), own[pair]) for pair in pairs}
    errors |= {(name,): mean_absolute(squares.variance(name)) for name in sides}
    for table in tables:
        if len(table.group) > 2:
            errors[in_order(table.group, sides)] = mean_absolute(squares.variance(*table.group), table.variance)
    model = PairModel.of(singles, {}, {})
    if not pairs:
        return Estimates(squares, PairModel.of(singles, {}, errors))
    for number in range(passes):
        loose = [pair for pair in pairs if pair not in model.forest.pairs]
        if number and not loose:
            break
        model = PairModel.of(singles, _denoised(squares, pairs, model), errors)
    return Estimates(squares, model)


def _own_variances(sides: Mapping[str, int], measured: Iterable[MeasuredTable]) -> dict[Pair, float]:
    """For every pair in a measured table, the variance of its own noise for :func:`mean_absolute`. A cell that sums k
    noise terms of variance v has variance k·v and a k-th of their kurtosis: as if its own noise had variance k·v·√k."""
    variances: dict[Pair, float] = {}
    for table in measured:
        group = in_order(table.group, sides)
        cells = math.prod(sides[name] for name in group)
        for first, second in itertools.combinations(group, 2):
            summed = cells / (sides[first] * sides[second])
            precision = 1 / (table.variance * summed**1.5)
            variances[first, second] = 1 / (1 / variances.get((first, second), math.inf) + precision)
    return variances


def _single(squares: Residuals, name: str, total: float, ordered: bool) -> Reals:
    shrunk = denoised_single(squares.table(name), squares.variance(name), ordered=ordered)
    return np.asarray(shrunk * (total / shrunk.sum()))


def _denoised(squares: Residuals, pairs: Sequence[Pair], model: PairModel) -> dict[Pair, Reals]:
    """The measured pairs, each shrunk towards its prediction, and raked to the 1-way tables.

    A pair of the forest is predicted by independence, since the forest's prediction is the pair itself. Other pairs are
    predicted by the best fit between independence and the forest. Only that part of the measurement is used which does
    not follow from the 1-way tables.
    """
    independent = PairModel.of(model.singles, {}, {})
    predicted, noisy, variances = [], [], []
    for pair in pairs:
        prediction = independent.predicted(pair)
        if pair not in model.forest.pairs:
            prediction = _between(prediction, model.predicted(pair), squares.parts[pair])
        first, second = prediction.shape
        predicted.append(prediction)
        noisy.append(prediction + squares.parts[pair] - residual(prediction))
        variances.append(squares.variances[pair] * (1 - 1 / first) * (1 - 1 / second))
    shrunk = denoised_tables(noisy, predicted, variances)
    return {
        pair: raked(table, model.singles[pair[0]], model.singles[pair[1]])
        for pair, table in zip(pairs, shrunk, strict=True)
    }


def _between(first: Reals, second: Reals, part: Reals) -> Reals:
    """The point between two predictions whose own part is nearest to the measured *part*.

    Neither prediction used this measurement, so its noise favours neither: where the forest only follows noise, the
    result is near independence.
    """
    step = residual(second - first)
    length = float((step * step).sum())
    if not length > 0:
        return first
    way = float((step * (part - residual(first))).sum()) / length
    return np.asarray(first + min(1.0, max(0.0, way)) * (second - first))


def denoised_single(noisy: Reals, variance: float, *, ordered: bool = False) -> Reals:
    """The likely counts of one attribute: above 0, and not yet scaled to any total.

    *variance* is that of each noisy count; where the attribute is *ordered*, neighbouring cells are alike.

    >>> denoised_single(np.array([50.0, -3.0, 20.0]), 8.0).tolist()
    [50.0, 0.4, 20.0]
    """
    scale = math.sqrt(variance / 2)
    if noisy.size <= FEW_CELLS:
        return np.asarray(np.maximum(noisy, 0.2 * scale))
    shrunk = change_points(noisy, 1 / scale) if ordered else empirical_bayes(noisy, 1 / scale)
    return np.maximum(_LEAST, shrunk)


def wider_table(estimated: Estimates, group: Group) -> Reals | None:
    """The counts of a measured table of three or more attributes, an axis for each in the order given; else None.

    They are shrunk towards the prediction of the table's pairs, are not negative, and sum to the number of rows.
    """
    model, squares = estimated.model, estimated.squares
    if len(group) < 3 or in_order(group, model.sides) not in model.errors:
        return None
    predicted = model.table(*group).counts
    (shrunk,) = denoised_tables([squares.table(*group)], [predicted], [squares.variance(*group)])
    return np.asarray(shrunk * (model.total / max(float(shrunk.sum()), 1e-9)))
