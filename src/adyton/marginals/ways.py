"""How tables are measured where attributes have many cells: how many pairs, and in how many groups of cells.

The decision weighs every pair equally at two resolutions: in :data:`~adyton.marginals.resolution.FEW` groups along each
attribute, where people see how attributes depend on each other, and at the declared cells. What is expected of each way
follows from the 1-way tables, from β, the mean over all pairs of ‖M − M̂‖₁ in groups, where M̂ assumes independence, and
from the noise that each way would have. The constants were fitted to runs on public tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Integers, Places, Reals
from adyton.compiling import cached_property
from adyton.marginals.deciding import CHOOSING, ENOUGH, GRID, SOME, Decision, posterior, quantiles, single_shares
from adyton.marginals.pair_model import Pair, sampled
from adyton.marginals.resolution import FEW, SPARED, CellGroups, bearable, merged
from adyton.strategies.table_shares import mean_absolute


@dataclass(frozen=True)
class Law:
    """How errors follow from noise and dependence."""

    single: float = 1.074
    """The error of sums of groups of denoised 1-way tables, relative to their noise."""
    cell: float = 0.727
    """The same for their cells."""
    pair: float = 0.759
    """The error of a denoised pair in few groups, relative to its noise there."""
    finer: float = 0.336
    """What the noise of the groups adds to the error at the declared cells."""
    inside: float = 0.3
    """The part of the dependence that is inside of groups, at the declared cells, if all cells were in one group."""
    apart: float = 0.15
    """The same in few groups, which are not quite those that were measured."""
    rounding: float = 0.832
    """The part of the sampling variation of single cells that is in every estimate."""
    bend: float = 2.271
    """How sharply the error of a measured pair passes from its dependence to its noise, whichever is smaller."""
    explained: float = 0.237
    """The part of the dependence of other pairs that a forest of measured pairs explains."""
    spread: float = 0.932
    """The standard deviation of the logarithm of the pairs' dependence."""
    choice: float = 0.51
    """The scale of the noise in the choice of pairs."""
    sampled: float = 0.62
    """The part of the sampling variation in few groups that is in every pair."""


LAW = Law()
WAYS: tuple[tuple[Fraction | None, Fraction], ...] = tuple(
    (None if pairs is None else Fraction(pairs), Fraction(top_up, 100))
    for pairs, top_ups in {
        None: (5, 20, 50),
        "4": (15, 40),
        "2": (15, 30, 60),
        "1": (20, 50),
        "1/2": (40, 75),
        "1/4": (60, 85),
        "0": (100,),
    }.items()
    for top_up in top_ups
)
"""The possible ways: how many pairs are chosen for each attribute (None: all pairs are measured), and the part of what
is left that the 1-way tables get once more."""


IN_FEW = 0.65
"""The error in few groups of tables that were measured cell by cell, relative to that of their cells."""
GAIN = 1.2
"""Cells are measured one by one only if tables in groups would be worse by this factor: correlations and means by group
suffer more from noise in single cells than these errors say."""


@dataclass(frozen=True)
class Noise:
    """The noise of a way, as mean total variations."""

    measured: float
    """The part of all pairs that is measured."""
    per_attribute: float
    """The number of measured pairs for each attribute."""
    groups: float
    """From the noise of measured pairs in their own groups."""
    pair: float
    """The same in few groups."""
    merged: float
    """How much the cells of measured pairs are merged: 0 where they are measured one by one, 1 in one group."""
    single: float
    """From the noise of the 1-way tables in few groups."""
    cell: float
    """From the noise of their cells."""
    choice: float
    """The noise in the choice of pairs."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What is known after the first look."""

    groups: CellGroups
    pairs: tuple[Pair, ...]
    rows: float
    variances: Mapping[str, float]
    """Those of the cells of the 1-way tables."""
    distance: tuple[float, float]
    """β and its standard deviation, in rows."""
    rest: float
    """The ε that is left."""

    def decide(
        self,
        rest: Fraction,
        *,
        every: bool = True,
        some: bool = False,
        pairs: int | None = None,
        cell_by_cell: float | None = None,
    ) -> Decision:
        """The way with the least expected error. *rest* is the part of the budget that is left; if *every* is false, or
        the number of *pairs* is given, pairs are chosen, and with *some*, at least one where that is possible at all.
        *cell_by_cell* is the expected error of all pairs if all of their cells are measured, where that is possible."""
        most = len(self.pairs)
        ways = [way for way in WAYS if (every if way[0] is None else not every or self.number(way[0]) < most)]
        first, second = self._places
        signal = self.rows * self.rest / float((self._sizes[1, first] * self._sizes[1, second]).sum())
        if pairs is None and signal < SOME:
            ways = ways[-1:]
        elif signal < ENOUGH:
            ways = [way for way in ways if way[0] is not None]
        if some and signal >= SOME:
            ways = [way for way in ways if way[0] != 0]
        if pairs is not None:
            nearest = min({way[0] for way in ways if way[0]}, key=lambda each: abs(each * len(self.sides) - pairs))
            ways = [way for way in ways if way[0] == nearest]
        expected = {way: self.expected(self.noise(*way, pairs)) for way in ways}
        best, *others = sorted(ways, key=lambda way: sum(expected[way]))
        few, fine = expected[best]
        if every and pairs is None and cell_by_cell is not None and GAIN * (1 + IN_FEW) * cell_by_cell < few + fine:
            why = f"all pairs, cell by cell: an expected error of {cell_by_cell:.2g}, {_in_words(best[0], None)} in "
            why += f"groups of {fine:.2g}, with a dependence of {float(self.weights @ GRID):.2g} (total variations)"
            return Decision(True, Fraction(0), len(self.pairs), rest, why)
        why = f"{_in_words(best[0], pairs)}: an expected error of {few:.2g} in {FEW} groups a side"
        why += f" and {fine:.2g} at the declared cells"
        different = [way for way in others if way[0] != best[0]]
        if different:
            why += f", {_in_words(different[0][0], pairs)} of {expected[different[0]][0]:.2g}"
            why += f" and {expected[different[0]][1]:.2g}"
        why += f", with a dependence of {float(self.weights @ GRID):.2g} (total variations)"
        chosen = self.number(best[0], pairs)
        top_up = rest * best[1] if chosen else rest
        return Decision(best[0] is None, top_up, chosen, rest - top_up, why, True)

    @property
    def sides(self) -> dict[str, int]:
        """The number of cells of each attribute."""
        return {name: table.size for name, table in self.groups.singles.items()}

    def number(self, each: Fraction | None, pairs: int | None = None) -> int:
        """The number of measured pairs of a way."""
        if pairs is not None:
            return min(len(self.pairs), pairs)
        return len(self.pairs) if each is None else min(len(self.pairs), math.ceil(each * len(self.sides)))

    @cached_property
    def _places(self) -> tuple[Places, Places]:
        """The numbers of both attributes of each pair."""
        numbers = {name: number for number, name in enumerate(self.sides)}
        first, second = np.array([[numbers[name] for name in pair] for pair in self.pairs]).T
        return first, second

    @cached_property
    def _sizes(self) -> Integers:
        """The numbers of groups of each attribute, from the coarsest to the finest: steps × attributes."""
        return np.array([[self.groups.cells((name,), maps) for name, maps in step] for step in self.groups.steps()])

    def noise(self, each: Fraction | None, top_up: Fraction, pairs: int | None = None) -> Noise:
        """The noise of a way."""
        number, every, total = self.number(each, pairs), each is None, self.rows
        more = self.rest * (float(top_up) if number else 1.0)
        shares = np.array([float(share) for share in single_shares(self.sides).values()])
        precisions = 1 / np.array(list(self.variances.values())) + (shares * more) ** 2 / 2
        left, groups, pair, lost, choice = self.rest - more, 0.0, 0.0, 0.0, 0.0
        if number:
            scale = number / (left if every else float(1 - CHOOSING) * left)
            first, second = self._places
            cells = self._sizes[:, first] * self._sizes[:, second]
            borne = bearable(total, scale)
            step = np.maximum((cells <= borne).sum(axis=0) - 1, 0)
            step[cells[-1] <= SPARED * borne] = len(cells) - 1
            few, finest, cells = cells[1], cells[-1], np.take_along_axis(cells, step[None], 0)[0]
            lost = float(np.mean(1 - np.log(cells) / np.log(finest)))
            groups = float(np.minimum(cells * scale / total, 1.0).mean()) / 2
            wide = few * scale * np.sqrt(np.maximum(1.0, cells / few))
            pair = float(np.minimum(wide / total, 1.0).mean()) / 2
            for places in (first, second):
                whole = self._sizes[step, places] == self._sizes[-1, places]
                learnt = whole * self._sizes[-1, places] / (2 * scale**2 * cells)
                precisions += np.bincount(places, learnt, precisions.size) * number / len(self.pairs)
            choice = 0.0 if every else number / (float(CHOOSING) * left * total)
        return Noise(
            measured=number / len(self.pairs),
            per_attribute=number / len(self.sides),
            groups=groups,
            pair=pair,
            merged=lost,
            single=self._of_pairs(self._in_few_groups(1 / precisions)),
            cell=self._of_pairs(self._in_cells(1 / precisions)),
            choice=choice,
        )

    def _of_pairs(self, single: Sequence[float]) -> float:
        errors = np.array(single)
        return float(np.mean(np.hypot(*(errors[places] for places in self._places))))

    def _in_few_groups(self, variances: Iterable[float]) -> list[float]:
        errors = []
        for (name, table), variance in zip(self.groups.singles.items(), variances, strict=True):
            cells = merged(np.ones_like(table), self.groups.at((name,), FEW))
            noise = np.minimum(np.sqrt(2 / math.pi * variance * cells), self._few[name])
            errors.append(float(noise.sum()) / (2 * self.rows))
        return errors

    def _in_cells(self, variances: Iterable[float]) -> list[float]:
        tables = zip(self.groups.singles.values(), variances, strict=True)
        return [float(np.minimum(mean_absolute(own), table).sum()) / (2 * self.rows) for table, own in tables]

    @cached_property
    def _few(self) -> dict[str, Reals]:
        return {name: merged(table, self.groups.at((name,), FEW)) for name, table in self.groups.singles.items()}

    @cached_property
    def _sampling(self) -> tuple[float, float]:
        """What so few rows differ from their attributes' independence, in few groups and in cells."""
        means = []
        for tables in (self._few, self.groups.singles):
            pairs = (np.outer(tables[first], tables[second]) / self.rows for first, second in self.pairs)
            means.append(float(np.mean([sampled(pair, self.rows) for pair in pairs])))
        return means[0], means[1]

    @cached_property
    def weights(self) -> Reals:
        """How likely each of the possible mean dependences is, given β and its noise."""
        parts = {name: table / self.rows for name, table in self._few.items()}
        allowed = [math.prod(1 - float((parts[name] ** 2).sum()) for name in pair) for pair in self.pairs]
        blur = self._of_pairs(self._in_few_groups(self.variances.values()))
        seen, deviation = (number / (2 * self.rows) for number in self.distance)
        return posterior(seen, deviation, blur, float(np.mean(allowed)))

    def expected(self, noise: Noise, law: Law = LAW) -> tuple[float, float]:
        """The expected mean total variation over all pairs: in few groups, and at the declared cells."""
        (few, fine), weights, points = self._sampling, self.weights, quantiles(law.spread)
        least = np.minimum(law.sampled * few, GRID)
        own = np.minimum(least[:, None] + (GRID - least)[:, None] * points, 1.0)
        single, level = law.single * noise.single, max(law.pair * noise.pair, 1e-9)
        left = np.hypot(own * (1 - law.explained * min(1.0, noise.per_attribute)), single)
        whole = np.hypot(own, single)
        measured = level * whole / (level**law.bend + whole**law.bend) ** (1 / law.bend)
        measured = np.hypot(measured, law.apart * noise.merged * own)
        deviations = own.std(axis=1)
        certain = deviations / np.hypot(deviations, law.choice * noise.choice + 1e-9)
        first = np.clip(noise.measured * points.size - np.arange(points.size), 0.0, 1.0)
        chosen = certain[:, None] * first + (1 - certain[:, None]) * noise.measured
        beside = math.hypot(law.cell * noise.cell, law.rounding * fine)
        cells = np.hypot(np.hypot(measured, law.finer * noise.groups), law.inside * noise.merged * own)
        finer = np.hypot(cells, beside), np.hypot(left, beside)
        return (
            float(weights @ (chosen * measured + (1 - chosen) * left).mean(axis=1)),
            float(weights @ (chosen * finer[0] + (1 - chosen) * finer[1]).mean(axis=1)),
        )


def _in_words(each: Fraction | None, pairs: int | None) -> str:
    words = {None: "all pairs", Fraction(0): "no pairs", Fraction(1, 2): "half a pair an attribute"}
    words |= {Fraction(1, 4): "a quarter of a pair an attribute", Fraction(1): "one pair an attribute"}
    if pairs is not None:
        return f"{pairs:,} pairs, as asked for"
    return words.get(each, f"{each} pairs an attribute")
