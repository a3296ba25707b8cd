"""From measured tables to a model of pairs: least squares, then empirical Bayes around simpler models' predictions,
from sums over few groups of cells to single cells."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.change_points import change_points
from adyton.denoising.empirical_bayes import empirical_bayes
from adyton.denoising.pairs import denoised_tables, raked
from adyton.errors import BadInput
from adyton.marginals.pair_model import Pair, PairModel
from adyton.marginals.resolution import FEWEST, CellGroups, Maps, merged, spread, taken
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
    """Of the tables whose cells were counted one by one."""
    model: PairModel


def estimated(
    sides: Mapping[str, int],
    measured: Iterable[MeasuredTable],
    *,
    ordered: Collection[str] = (),
    passes: int = PASSES,
) -> Estimates:
    """Least squares of all measured tables, and the model of the pairs among them.

    Every attribute must be in a measured table. *ordered* are the attributes whose neighbouring cells are alike. Tables
    of pairs in which cells were counted together are estimated as they were measured, and then filled in; the
    1-way tables learn from their sums.

    >>> noisy = [MeasuredTable(("a",), [61, 39], 2.0), MeasuredTable(("a", "b"), [[50, 9], [3, 41]], 8.0)]
    >>> model = estimated({"a": 2, "b": 2}, noisy).model
    >>> model.table("b").counts.round().tolist(), model.table("a", "b").how
    ([52.0, 49.0], 'measured')
    """
    every = list(measured)
    tables = [table for table in every if not any(table.maps)]
    coarse = sorted((table for table in every if any(table.maps)), key=lambda table: np.size(table.counts))
    squares = residuals(sides, tables)
    lacking = [name for name in sides if squares.missing(name)]
    if lacking:
        raise BadInput(f"no measured table has {listing(lacking)}. Measure each attribute in at least one table.")
    known = residuals(sides, [*tables, *_whole_sums(coarse)]) if coarse else squares
    total = max(1.0, float(known.table()))
    singles = {name: _single(known, name, total, name in ordered) for name in sides}
    singles = {
        name: _agreeing(single, known.variance(name), _sums_of_groups(coarse, name)) for name, single in singles.items()
    }
    own = _own_variances(sides, tables)
    pairs = [pair for pair in own if min(sides[name] for name in pair) > 1]
    errors: dict[Group, float] = {pair: mean_absolute(squares.variance(*pair), own[pair]) for pair in pairs}
    errors |= {(name,): mean_absolute(known.variance(name)) for name in sides}
    maps: dict[Pair, Maps] = {}
    for table in coarse:  # the finest of a pair, if it was measured several times
        if table.group not in own:
            maps[table.group[0], table.group[1]] = table.maps
            errors[table.group] = mean_absolute(table.variance, table.variance)
    for table in tables:
        if len(table.group) > 2:
            errors[in_order(table.group, sides)] = mean_absolute(squares.variance(*table.group), table.variance)
    parts = [_Part(pair, (None, None), squares.parts[pair], squares.variances[pair]) for pair in pairs]
    parts += [_Part.of(table) for table in coarse]
    model = PairModel.of(singles, {}, {})
    if not parts:
        return Estimates(squares, PairModel.of(singles, {}, errors))
    for number in range(passes):
        if number and all(part.pair in model.forest.pairs for part in parts):
            break
        model = replace(PairModel.of(singles, _denoised(parts, model, ordered), errors), maps=maps)
    return Estimates(squares, model)


@dataclass(frozen=True, eq=False)
class _Part:
    """What was measured of the dependence of two attributes: a table, the mean along both axes subtracted."""

    pair: Pair
    maps: Maps
    noisy: Reals
    variance: float
    """That of the noise of a cell, before the means were subtracted."""

    @classmethod
    def of(cls, table: MeasuredTable) -> _Part:
        """From a table in which cells were counted together."""
        return cls((table.group[0], table.group[1]), table.maps, residual(table.counts), table.variance)


def _whole_sums(coarse: Iterable[MeasuredTable]) -> list[MeasuredTable]:
    """What tables with merged cells say of 1-way tables whose cells they have one by one, and else of the total."""
    sums = []
    for table in coarse:
        counts = np.asarray(table.counts, dtype=np.float64)
        lines = [
            MeasuredTable((name,), counts.sum(axis=1 - axis), table.variance * counts.shape[1 - axis])
            for axis, (name, groups) in enumerate(zip(table.group, table.maps, strict=True))
            if groups is None
        ]
        sums += lines or [MeasuredTable((), counts.sum(), table.variance * counts.size)]
    return sums


def _sums_of_groups(coarse: Iterable[MeasuredTable], name: str) -> list[tuple[Maps, Reals, float]]:
    """What tables say of groups of the cells of an attribute, the coarsest first: the sums and their variance."""
    known: dict[bytes, tuple[Maps, Reals, float]] = {}
    for table in coarse:
        groups = dict(zip(table.group, table.maps, strict=True)).get(name)
        if groups is not None:
            counts = np.asarray(table.counts, dtype=np.float64)
            axis = table.group.index(name)
            weight = 1 / (table.variance * counts.shape[1 - axis])
            _, sums, weights = known.get(groups.labels.tobytes(), ((), np.zeros(1), 0.0))
            known[groups.labels.tobytes()] = (groups,), sums + weight * counts.sum(axis=1 - axis), weights + weight
    ordered = sorted(known.values(), key=lambda entry: entry[1].size)
    return [(groups, sums / weights, 1 / weights) for groups, sums, weights in ordered]


def _agreeing(single: Reals, variance: float, sums: Iterable[tuple[Maps, Reals, float]]) -> Reals:
    """A 1-way table, *variance* being that of its cells, moved towards noisy *sums* of groups of its cells."""
    total, before = float(single.sum()), (1, 0.0)
    for maps, noisy, of_noisy in sums:
        own, cells = merged(single, maps), merged(np.ones_like(single), maps)
        variances = variance * cells
        if before[1]:  # sums of so many of these groups are known with this variance
            many = max(1.0, own.size / before[0])
            variances = variances * (1 - 1 / many) + np.minimum(variances, before[1] / many) / many
        better = np.maximum((own * of_noisy + noisy * variances) / (of_noisy + variances), _LEAST)
        moved = spread(better, maps, (single,))
        single, before = moved * (total / moved.sum()), (own.size, of_noisy)
    return single


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


def _denoised(parts: Sequence[_Part], model: PairModel, ordered: Collection[str]) -> dict[Pair, Reals]:
    """The measured pairs, each shrunk towards its prediction, raked to the 1-way tables and, where cells were counted
    together, filled in. A pair that was measured several times is shrunk towards what it was before.

    A pair of the forest is predicted by independence, since the forest's prediction is the pair itself. Other pairs are
    predicted by the best fit between independence and the forest. Only that part of the measurement is used which does
    not follow from the 1-way tables.
    """
    independent, pairs = PairModel.of(model.singles, {}, {}), dict[Pair, Reals]()
    for turn in _turns(parts):
        guesses = []
        for part in turn:
            prediction = merged(pairs.get(part.pair, independent.predicted(part.pair)), part.maps)
            if part.pair not in model.forest.pairs:
                prediction = _between(prediction, merged(model.predicted(part.pair), part.maps), part.noisy)
            sides = {
                name: merged(model.singles[name], (groups,)) for name, groups in zip(part.pair, part.maps, strict=True)
            }
            noisy = prediction + part.noisy - residual(prediction)
            guesses.append(_Guess(noisy, part.variance, prediction, CellGroups(sides, ordered)))
        for part, guess, table in zip(turn, guesses, _shrunk(guesses), strict=True):
            singles = (model.singles[part.pair[0]], model.singles[part.pair[1]])
            pairs[part.pair] = spread(raked(table, *guess.sides()), part.maps, singles)
    return pairs


@dataclass(frozen=True, eq=False)
class _Guess:
    """A noisy table, the variance of its cells' noise, what is thought of it so far, and its attributes' tables."""

    noisy: Reals
    variance: float
    likely: Reals
    groups: CellGroups

    def sides(self, maps: Maps = (None, None)) -> tuple[Reals, Reals]:
        """The tables of both attributes, in these groups of their cells."""
        first, second = self.groups.singles.values()
        return merged(first, maps[:1]), merged(second, maps[1:])

    def at(self, most: int) -> Maps:
        """At most so many groups along both axes."""
        return self.groups.at(tuple(self.groups.singles), most)

    def scaled(self, sums: Reals, maps: Maps) -> _Guess:
        """What is thought of it if these are the sums of its groups of cells."""
        factors = raked(sums, *self.sides(maps)) / np.maximum(merged(self.likely, maps), _LEAST)
        return replace(self, likely=self.likely * taken(factors, maps))


def _shrunk(guesses: Sequence[_Guess]) -> list[Reals]:
    """Posterior means of the cells of noisy tables: of sums over few groups of cells, then of more, up to the cells.

    Noise hides in single cells what it does not hide in their sums: so the cells are shrunk towards what the sums say.
    """
    better, most = list(guesses), FEWEST
    while any(any(guess.at(most)) for guess in better):
        places = [place for place, guess in enumerate(better) if any(guess.at(most))]
        sums = _posterior([better[place] for place in places], [better[place].at(most) for place in places])
        for place, table in zip(places, sums, strict=True):
            better[place] = better[place].scaled(table, better[place].at(most))
        most *= 2
    return _posterior(better, [(None, None)] * len(better))


def _posterior(guesses: Sequence[_Guess], maps: Sequence[Maps]) -> list[Reals]:
    """The posterior means of the sums over groups of the cells of each table."""
    noisy = [merged(guess.noisy, groups) for guess, groups in zip(guesses, maps, strict=True)]
    predicted = [merged(guess.likely, groups) for guess, groups in zip(guesses, maps, strict=True)]
    cells = [merged(np.ones_like(guess.noisy), groups) for guess, groups in zip(guesses, maps, strict=True)]
    free = [(1 - 1 / table.shape[0]) * (1 - 1 / table.shape[1]) for table in noisy]
    variances = [guess.variance * part * number for guess, part, number in zip(guesses, free, cells, strict=True)]
    return denoised_tables(noisy, predicted, variances)


def _turns(parts: Sequence[_Part]) -> list[list[_Part]]:
    """The first part of every pair, then the second ones: the coarsest come first, cells that are as they are last."""
    turns: list[list[_Part]] = []
    seen: Counter[Pair] = Counter()
    for part in sorted(parts, key=lambda part: part.noisy.size):
        if seen[part.pair] == len(turns):
            turns.append([])
        turns[seen[part.pair]].append(part)
        seen[part.pair] += 1
    return turns


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
