"""The noise of a cell of a table that is found by residual least squares: its variance and its fourth cumulant.

Of the tables S that were measured with cell variances v_S, a cell q of the table Q takes from the cell c of S

    Σ_{T ⊆ S∩Q} V_T/(v_S·Π_{S∖T} n_i·Π_{Q∖T} n_i) · Π_{i ∈ T} (1[c_i = q_i] − 1/n_i),

with the variances V_T of the parts, see :mod:`adyton.solving.residuals`. It depends only on where c and q agree: there
is one coefficient for each subset of S∩Q, and a known number of cells that have it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.queries.measurement import Group


def laplace_excess(variance: npt.ArrayLike) -> Reals:
    """The excess kurtosis of discrete Laplace noise: (1 + 4a + a²)/2a, with the variance 2a/(1 − a)².

    >>> laplace_excess([1e6, 2.0]).round(3).tolist()
    [3.0, 3.5]
    """
    v = np.maximum(np.asarray(variance, dtype=np.float64), 1e-12)
    a = v / (v + 1 + np.sqrt(2 * v + 1))
    return np.asarray((1 + 4 * a + a * a) / (2 * a))


class TableMoments:
    """For measured tables, given by groups and cell variances, the noise of any table that follows from them.

    >>> law = TableMoments({"a": 2, "b": 3}, [(("a", "b"), 200.0)], {(): 1200.0, ("a",): 600.0})
    >>> law.of(("a",))[0]
    600.0
    """

    def __init__(
        self, sides: Mapping[str, int], measured: Iterable[tuple[Group, float]], parts: Mapping[Group, float]
    ) -> None:
        self._sides, self._parts = dict(sides), parts
        self._order = {name: place for place, name in enumerate(sides)}
        self._measured = [(tuple(sorted(group, key=self._order.__getitem__)), noise) for group, noise in measured]
        self._excess = [float(laplace_excess(noise)) for _, noise in self._measured]
        self._with: dict[str, list[int]] = {name: [] for name in sides}
        for number, (group, _) in enumerate(self._measured):
            for name in group:
                self._with[name].append(number)
        apart = [self._apart(number) for number in range(len(self._measured))]
        self._two, self._four = (math.fsum(one[place] for one in apart) for place in (0, 1))

    def of(self, group: Group) -> tuple[float, float]:
        """The variance and the fourth cumulant of each cell; parts that nothing was measured of count as 0."""
        asked = tuple(sorted(group, key=self._order.__getitem__))
        near = {number for name in asked for number in self._with[name]}
        two, four = self._two, self._four
        for number in near:
            less = self._apart(number)
            two, four = two - less[0], four - less[1]
        whole = self._parts.get((), 0.0) / math.prod(self._sides[name] for name in asked)
        variance, fourth = max(0.0, two) * whole**2, max(0.0, four) * whole**4
        for number in sorted(near):
            (_, noise), cells = self._measured[number], self._coefficients(number, asked)
            variance += noise * math.fsum(count * value**2 for value, count in cells)
            fourth += noise**2 * self._excess[number] * math.fsum(count * value**4 for value, count in cells)
        return variance, fourth

    def of_sums(self, attribute: str, rows: Reals, others: Mapping[str, Reals]) -> tuple[Reals, Reals]:
        """The variance and the fourth cumulant of weighted sums over a table: a weight for each cell of one attribute
        in every row, times one for each cell of each of the others.

        By the same formula, with w_i − mean(w_i) for 1[c_i = q_i] − 1/n_i and mean(w_i) for 1/n_i, the cell c of a
        measured table counts x·u + m·w: x and m are weights along the attribute, less their mean, and the mean; u and w
        are what the parts with and without it say along the others. So powers are summed along each by itself.

        >>> law = TableMoments({"a": 2, "b": 3}, [(("a", "b"), 200.0)], {(): 1200.0, ("a",): 600.0})
        >>> law.of_sums("a", np.eye(2), {})[0].tolist(), law.of_sums("a", np.ones((1, 2)), {})[0].tolist()
        ([600.0, 600.0], [1200.0])
        """
        level = rows.mean(axis=1)
        apart = rows - level[:, None]
        powers = {power: (apart**power).sum(axis=1) for power in (2, 3, 4)}
        two, four = np.zeros(len(rows)), np.zeros(len(rows))
        for (group, noise), excess in zip(self._measured, self._excess, strict=True):
            own, rest = self._along(group, attribute, others)
            cells, side = math.prod(self._sides[name] for name in group if name not in others), 1.0
            if attribute in group:
                side = float(self._sides[attribute])
                cells //= self._sides[attribute]
            two += cells / noise * (powers[2] * (own**2).sum() + side * level**2 * (rest**2).sum())
            four += (
                cells
                * excess
                / noise**2
                * (
                    powers[4] * (own**4).sum()
                    + 4 * powers[3] * level * (own**3 * rest).sum()
                    + 6 * powers[2] * level**2 * (own**2 * rest**2).sum()
                    + side * level**4 * (rest**4).sum()
                )
            )
        return two, four

    def _along(self, group: Group, attribute: str, others: Mapping[str, Reals]) -> tuple[Reals, Reals]:
        """What parts with the attribute and without it say of the cells of a measured table along the others, times
        the variance of its noise."""
        shared = [name for name in group if name in others]
        own, rest = (np.zeros([self._sides[name] for name in shared]) for _ in range(2))
        for chosen in itertools.product((False, True), repeat=len(shared)):
            part = {name for name, taken in zip(shared, chosen, strict=True) if taken}
            line = np.array(math.prod(float(others[name].mean()) for name in others if name not in part))
            for name in shared:
                along = others[name] - others[name].mean() if name in part else np.ones(self._sides[name])
                line = np.multiply.outer(line, along)
            for held, kept in ((own, part | {attribute}), (rest, part)):
                if kept <= set(group):
                    key = tuple(sorted(kept, key=self._order.__getitem__))
                    less = math.prod(float(self._sides[name]) for name in group if name not in kept)
                    held[...] += self._parts.get(key, 0.0) / less * line
        return own, rest

    def _apart(self, number: int) -> tuple[float, float]:
        """What a table adds that has no attribute in common with the one asked, for V_∅/Π_Q n_i = 1."""
        group, noise = self._measured[number]
        cells = float(math.prod(self._sides[name] for name in group))
        each = 1 / (noise * cells)
        return cells * each**2 * noise, cells * each**4 * noise**2 * self._excess[number]

    def _coefficients(self, number: int, asked: Group) -> list[tuple[float, float]]:
        """The coefficients of the cells of a measured table, and how many have each."""
        group, noise = self._measured[number]
        shared = [name for name in group if name in asked]
        subsets: list[Group] = [()]
        for name in shared:
            subsets = [one for subset in subsets for one in (subset, (*subset, name))]
        values = [self._gain(group, asked, part, noise) for part in subsets]
        counts = [float(math.prod(self._sides[name] for name in group if name not in asked))] * len(values)
        stride = len(values)
        for name in shared:
            side, stride = self._sides[name], stride // 2
            for place in range(len(values)):
                if not place & stride:
                    none, own = values[place], values[place + stride]
                    values[place], values[place + stride] = none - own / side, none + own * (1 - 1 / side)
                    counts[place] *= side - 1
        return list(zip(values, counts, strict=True))

    def _gain(self, group: Group, asked: Group, part: Group, noise: float) -> float:
        if part not in self._parts:
            return 0.0
        others = math.prod(float(self._sides[name]) for name in (*group, *asked) if name not in part)
        return self._parts[part] / (noise * others)
