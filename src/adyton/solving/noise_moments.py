"""The distribution of the noise in an estimated answer: its variance and its fourth cumulant, in closed form.

The error of a least-squares answer is Σ_j a_j·L_j, with independent discrete Laplace noises L_j and coefficients a_j
that follow from the measured queries. Cumulants add up: the second is Σ a_j²·v_j, the variance, and the fourth
Σ a_j⁴·v_j²·k_j, where k is the excess kurtosis of the noise: 3, or a little more where the noise is so small that it is
mostly 0.

This holds for answers that the measured queries determine (``determined``): queries lie in the row space of the
measured ones if W = M·A for some M. Then W·x̂ − W·x is noise with the same distribution on all data. If not, there is
also a bias, which depends on the data and is not part of the noise.

**Tables.** Residual least squares has its own coefficients. If the tables S were measured with cell variances v_S, the
coefficient of the cell c of S in the cell q of the table Q is

    Σ_{T ⊆ S∩Q} V_T/(v_S·Π_{S∖T} n_i·Π_{Q∖T} n_i) · Π_{i ∈ T} (1[c_i = q_i] − 1/n_i),

with the variances V_T of the parts, see :mod:`adyton.solving.residuals`. It depends only on the axes along which c and
q agree: there is one coefficient for each subset of S∩Q, and a known number of cells that have it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.queries import Identity, Marginals, Queries, Ranges, Stack, Weighted
from adyton.queries.measurement import Group
from adyton.solving.product_solver import KroneckerSolver
from adyton.solving.residuals import MarginalsSolver
from adyton.solving.solvers import CellSolver, Solver

_MOST_WRITTEN = 1 << 28
"""The most coefficients of queries that are read individually."""


@dataclass(frozen=True, eq=False)
class Moments:
    """The variance and the fourth cumulant of the error of each answer."""

    variances: Reals
    fourths: Reals
    at_most: bool = False
    """Whether the fourth cumulants are only upper bounds."""

    @property
    def excess(self) -> Reals:
        """The excess kurtosis: 0 for a normal distribution, 3 for Laplace."""
        safe = np.maximum(np.square(self.variances), 1e-300)
        return np.asarray(np.where(self.variances > 0, self.fourths / safe, 0.0))


def noise_moments(solver: Solver, queries: Queries) -> Moments | None:  # noqa: PLR0911
    """The moments of the answers to some queries; None if no closed form is known or too many coefficients would have
    to be read."""
    if isinstance(queries, Stack):
        parts = [noise_moments(solver, part) for part in queries.parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        two, four = (np.concatenate([getattr(part, of) for part in known]) for of in ("variances", "fourths"))
        return Moments(two, four, any(part.at_most for part in known))
    match solver, queries:
        case MarginalsSolver(), Marginals():
            return _of_marginals(solver, queries)
        case MarginalsSolver(), Ranges():
            return _of_ranges(solver, queries)
        case KroneckerSolver(), Marginals():
            excess = float(laplace_excess(solver.least_noise))
            tables = [solver.table_moments(axes) for axes in queries.axes]
            two, four = (np.concatenate([moments[place] for moments in tables]) for place in (0, 1))
            return Moments(two, excess * four)
        case CellSolver(), Marginals() | Ranges() if solver.noise.min() == solver.noise.max():
            noise, summed = float(solver.noise[0]), _summed(queries)
            return Moments(summed * noise, summed * noise**2 * float(laplace_excess(noise)))
        case CellSolver(), Identity():
            return Moments(solver.noise, np.square(solver.noise) * laplace_excess(solver.noise))
        case CellSolver(), _ if queries.count * queries.cells <= _MOST_WRITTEN:
            four = np.square(solver.noise) * laplace_excess(solver.noise)
            pieces = [(np.square(rows) @ solver.noise, np.square(np.square(rows)) @ four) for rows in queries.rows()]
            two, four = (np.concatenate([piece[place] for piece in pieces]) for place in (0, 1))
            return Moments(two, four)
    return None


def _summed(queries: Marginals | Ranges) -> Reals:
    """How many cells each query adds up."""
    if isinstance(queries, Ranges):
        return np.asarray((queries.upper - queries.lower + 1).prod(axis=1), dtype=np.float64)
    sizes = np.array(queries.sizes)
    return np.asarray(np.repeat(queries.cells / sizes, sizes))


def _of_ranges(solver: MarginalsSolver, queries: Ranges) -> Moments:
    """The variances of boxes of cells, with the kurtosis of a single cell of the table as an upper bound."""
    law, groups = TableMoments(solver.sides, solver.measured, solver.parts), narrowed(queries)
    cells = {axes: law.of(tuple(map(str, axes))) for axes in set(groups)}
    excess = {axes: four / two**2 if two else 0.0 for axes, (two, four) in cells.items()}
    variances = solver.box_variances(queries.lower, queries.upper)
    return Moments(variances, np.square(variances) * np.array([excess[axes] for axes in groups]), at_most=True)


def _of_marginals(solver: MarginalsSolver, queries: Marginals) -> Moments:
    law = TableMoments(solver.sides, solver.measured, solver.parts)
    moments = [law.of(tuple(map(str, axes))) for axes in queries.axes]
    two, four = (np.repeat([pair[place] for pair in moments], queries.sizes) for place in (0, 1))
    return Moments(two, four)


_PROBES = 2
_SEED = 20180610
TOLERANCE = 1e-9
"""Relative: a count of a billion may be off by one."""


def determined(measured: Queries, solver: Solver, asked: Queries) -> bool:
    """Whether least squares returns the true answers to *asked* from true answers to *measured*, on all data.

    Decided by structure where it is known. Otherwise by trial: cells are drawn from a normal distribution, estimated
    from their true answers, and the answers to *asked* compared. Let x̂ = G·x be the solution, where all rows of G lie
    in the row space of the measured queries. A query q outside it has q·G ≠ q, so that q·x̂ − q·x is normal with
    standard deviation ‖q·G − q‖: it is practically impossible that two trials agree to nine digits by chance. A solver
    that stops before it has nine digits fails too: its error depends on the data by more than that.

    >>> from adyton.solving.solvers import solver
    >>> from adyton.queries import Ranges, Total
    >>> halves = Ranges(4, [[0], [2]], [[1], [3]])
    >>> known = solver(halves, 1.0)
    >>> determined(halves, known, Total(4)), determined(halves, known, Ranges(4, [[0]], [[0]]))
    (True, False)
    """
    if solver.complete or (solver.exact and among(measured, asked)):
        return True
    cells = np.random.default_rng(_SEED).standard_normal((_PROBES, measured.cells))
    mistakes, sizes = np.abs(asked @ (solver.solve(measured @ cells) - cells)), np.abs(asked @ cells)
    return bool((mistakes.max(axis=0) <= TOLERANCE * sizes.max(axis=0)).all())


def narrowed(asked: Ranges) -> list[tuple[int, ...]]:
    """For each range, the axes along which it does not count all cells.

    >>> narrowed(Ranges((2, 3), [[0, 0], [1, 0]], [[1, 1], [1, 2]]))
    [(1,), (0,)]
    """
    less = (asked.lower > 0) | (asked.upper < np.array(asked.domain) - 1)
    return [tuple(np.flatnonzero(line).tolist()) for line in less]


def among(measured: Queries, asked: Queries) -> bool:
    """Whether the structure of the query sets shows that each query is a sum of measured queries, or a multiple of
    such."""
    if asked is measured:
        return True
    match asked:
        case Weighted():
            return among(measured, asked.queries)
        case Stack():
            return all(among(measured, part) for part in asked.parts)
        case Marginals() if isinstance(measured, Marginals) and measured.domain == asked.domain:
            return all(any(set(few) <= set(many) for many in measured.axes) for few in asked.axes)
        case Ranges() if isinstance(measured, Marginals) and measured.domain == asked.domain:
            return all(any(set(few) <= set(many) for many in measured.axes) for few in set(narrowed(asked)))
    return False


def laplace_excess(variance: npt.ArrayLike) -> Reals:
    """The excess kurtosis of discrete Laplace noise: (1 + 4a + a²)/2a, with the variance 2a/(1 − a)².

    >>> laplace_excess([1e6, 2.0]).round(3).tolist()
    [3.0, 3.5]
    """
    v = np.maximum(np.asarray(variance, dtype=np.float64), 1e-12)
    a = v / (v + 1 + np.sqrt(2 * v + 1))
    return np.asarray((1 + 4 * a + a * a) / (2 * a))


class TableMoments:
    """For measured tables, given by groups and cell variances, the noise of any table that they determine.

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
        self._two, self._four = (math.fsum(pair[place] for pair in apart) for place in (0, 1))

    def of(self, group: Group) -> tuple[float, float]:
        """The variance and the fourth cumulant of each cell; parts that were not measured count as 0."""
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
        """The variance and the fourth cumulant of weighted sums over a table: each row has a weight for each cell of
        one attribute, multiplied by a weight for each cell of each of the others.

        By the same formula, with w_i − mean(w_i) for 1[c_i = q_i] − 1/n_i and mean(w_i) for 1/n_i, the cell c of a
        measured table has the coefficient x·u + m·w: x are the weights along the attribute minus their mean m; u and w
        are the contributions along the others of the parts with and without the attribute. So powers are summed along
        each of them separately.

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

    def of_boxes(self, boxes: Sequence[Mapping[str, Reals]], weights: Reals) -> tuple[Reals, Reals]:
        """The variance and the fourth cumulant of weighted sums of several such sums, which may be over different
        tables: each row of *weights* has a weight for each box, and a box has weights for the cells of some attributes.

        >>> law = TableMoments({"a": 2, "b": 3}, [(("a", "b"), 200.0)], {(): 1200.0, ("a",): 600.0})
        >>> one = {"a": np.array([1.0, 0.0])}
        >>> law.of_boxes([one, {}], np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]))[0].tolist()
        [600.0, 1200.0, 600.0]
        """
        two, four = np.zeros(len(weights)), np.zeros(len(weights))
        for (group, noise), excess in zip(self._measured, self._excess, strict=True):
            shared = [name for name in group if any(name in box for box in boxes)]
            each = [self._of_box(group, shared, box) for box in boxes]
            own = weights @ np.stack(each).reshape(len(boxes), -1) / noise
            cells = math.prod(self._sides[name] for name in group if name not in shared)
            two += cells * noise * np.square(own).sum(axis=1)
            four += cells * excess * noise**2 * np.square(np.square(own)).sum(axis=1)
        return two, four

    def _of_box(self, group: Group, shared: Sequence[str], box: Mapping[str, Reals]) -> Reals:
        """The coefficients of the cells of a measured table along *shared* in the sum over a box, times the variance of
        the table's noise."""
        found = np.zeros([self._sides[name] for name in shared])
        inner = [name for name in shared if name in box]
        for chosen in itertools.product((False, True), repeat=len(inner)):
            part = tuple(name for name, taken in zip(inner, chosen, strict=True) if taken)
            less = math.prod(float(self._sides[name]) for name in group if name not in part)
            line = np.array(math.prod(float(box[name].mean()) for name in box if name not in part))
            for name in shared:
                along = box[name] - box[name].mean() if name in part else np.ones(self._sides[name])
                line = np.multiply.outer(line, along)
            found += self._parts.get(part, 0.0) / less * line
        return found

    def _along(self, group: Group, attribute: str, others: Mapping[str, Reals]) -> tuple[Reals, Reals]:
        """The coefficients of the cells of a measured table along the others, from the parts with the attribute and
        from those without it, times the variance of the table's noise."""
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
        """The contribution of a table that has no attribute in common with the requested one, for V_∅/Π_Q n_i = 1."""
        group, noise = self._measured[number]
        cells = float(math.prod(self._sides[name] for name in group))
        coefficient = 1 / (noise * cells)
        return cells * coefficient**2 * noise, cells * coefficient**4 * noise**2 * self._excess[number]

    def _coefficients(self, number: int, asked: Group) -> list[tuple[float, float]]:
        """The coefficients of the cells of a measured table, and the number of cells with each."""
        group, noise = self._measured[number]
        shared = [name for name in group if name in asked]
        subsets: list[Group] = [()]
        for name in shared:
            subsets = [wider for subset in subsets for wider in (subset, (*subset, name))]
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
