"""Least squares from measured tables to every table, part by part, never over the whole domain.

The counts of a table over the attributes S decompose into one part r_T for every subset T ⊆ S: sum over S∖T, then
subtract the mean along each axis of T. The parts of different subsets are orthogonal, whichever table they come from,
so generalised least squares on all measured tables separates: every part is the average of its estimates from the
tables, weighted by the inverse of their variances. A table over S with cell variance v estimates the part T with a
variance of v·Π_{S∖T} n_i in the units of r_T, times the projection that removes the means. With V_T = 1/Σ weights,

    the table over Q is Σ_{T ⊆ Q} r_T / Π_{Q∖T} n_i, and each of its cells has the variance
    Σ_{T ⊆ Q} V_T · Π_T (1 − 1/n_i) · Π_{Q∖T} n_i⁻².

After Xiao, He, Zhang and Kifer, "An optimal and scalable matrix mechanism for noisy marginals under convex loss
functions", NeurIPS 2023, who measure the parts. Here whole tables are measured: a row is in one cell of each table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.messages import listing, no_such, shorten
from adyton.queries import Marginals, Queries, Ranges
from adyton.queries.axes import energies_by_axes
from adyton.queries.measurement import Group, MeasuredTable


@dataclass(frozen=True, eq=False)
class Residuals:
    """The information in measured tables, as parts: any table that they determine can be rebuilt from these.

    >>> pair = MeasuredTable(("age", "sex"), [[4, 2], [1, 3], [0, 2]], 2.0)
    >>> fit = residuals({"age": 3, "sex": 2, "city": 4}, [pair, MeasuredTable(("age",), [5, 5, 2], 2.0)])
    >>> fit.table("age").round(3).tolist(), round(fit.variance("age"), 3)
    ([5.333, 4.667, 2.0], 1.333)
    >>> fit.missing("age", "city")
    (('city',), ('age', 'city'))
    """

    sides: Mapping[str, int]
    parts: Mapping[Group, Reals]
    """r_T for every measured set of attributes, in the order of *sides*. Leading axes are independent trials."""
    variances: Mapping[Group, float]
    """V_T for each of these sets."""

    def table(self, *group: str, fill: bool = False) -> Reals:
        """The counts over a group by least squares, with its axes in the given order.

        Parts that were not measured are an error; with *fill* they count as 0, that is, as uniform.
        """
        sorted_group = in_order(group, self.sides)
        lacking = self.missing(*group)
        if lacking and (not fill or () in lacking):
            raise BadInput(_undetermined(sorted_group, lacking))
        shape = tuple(self.sides[name] for name in sorted_group)
        leading = np.shape(self.parts[()])
        counts = np.zeros((*leading, *shape))
        for subset in _subsets(sorted_group):
            if subset in self.parts:
                kept = tuple(self.sides[name] if name in subset else 1 for name in sorted_group)
                spread = math.prod(shape) / math.prod(kept)
                counts += self.parts[subset].reshape((*leading, *kept)) / spread
        order = [len(leading) + sorted_group.index(name) for name in group]
        return counts.transpose((*range(len(leading)), *order))

    def variance(self, *group: str) -> float:
        """The variance of each cell of the table of a group; infinite if the table is not determined."""
        return self.mean_variance(group, {})

    def mean_variance(self, group: Group, energies: Mapping[str, tuple[float, float]]) -> float:
        """The mean variance of many sums over a table whose weights are products of weights along its attributes.

        *energies* has for each attribute the means over its weights of Σ(w_i − mean)² and of mean²; attributes that it
        does not name are asked about cell by cell.
        """
        names = in_order(group, self.sides)
        along = {name: energies.get(name, (1 - 1 / self.sides[name], self.sides[name] ** -2.0)) for name in names}
        total = 0.0
        for subset in _subsets(names):
            part = math.prod(along[name][0] if name in subset else along[name][1] for name in names)
            if part > 1e-300:
                total += part * self.variances.get(subset, math.inf)
        return total

    def missing(self, *group: str) -> tuple[Group, ...]:
        """The parts of a table that were not measured; empty if the table is determined."""
        names = in_order(group, self.sides)
        trivial = {name for name in names if self.sides[name] == 1}  # an axis of one cell has no part of its own
        return tuple(subset for subset in _subsets(names) if subset not in self.variances and not trivial & set(subset))


def residuals(sides: Mapping[str, int], measured: Iterable[MeasuredTable]) -> Residuals:
    """The combined information of measured tables in any order; a group may be measured several times.

    *sides* are the numbers of cells of all attributes, in the order by which groups are sorted. Counts may have leading
    axes for independent trials, the same in every table.
    """
    weights: dict[Group, float] = {}
    sums: dict[Group, Reals] = {}
    for table in measured:
        group, counts = _read(sides, table)
        for subset, part, cells in _split(group, counts, sides):
            weight = 1 / (table.variance * cells)
            weights[subset] = weights.get(subset, 0.0) + weight
            sums[subset] = sums[subset] + weight * part if subset in sums else weight * part
    if not weights:
        raise BadInput("least squares needs at least one measured table, given none.")
    return Residuals(
        MappingProxyType(dict(sides)),
        MappingProxyType({subset: sums[subset] / weights[subset] for subset in sums}),
        MappingProxyType({subset: 1 / weight for subset, weight in weights.items()}),
    )


def part_variances(sides: Mapping[str, int], variances: Iterable[tuple[Group, float]]) -> Residuals:
    """The same without counts: the variances that result if groups are measured with these cell variances.

    >>> part_variances({"age": 3, "sex": 2}, [(("age", "sex"), 2.0)]).variance("age")
    4.0
    """
    weights: dict[Group, float] = {}
    for given, variance in variances:
        group = in_order(given, sides)
        for subset in _subsets(group):
            cells = math.prod(sides[name] for name in group if name not in subset)
            weights[subset] = weights.get(subset, 0.0) + 1 / (variance * cells)
    return Residuals(dict(sides), {}, {subset: 1 / weight for subset, weight in weights.items()})


def residual(table: npt.ArrayLike) -> Reals:
    """The part of a table that its smaller tables do not determine: the mean along each axis is subtracted.

    >>> residual([[4.0, 0.0], [1.0, 3.0]]).tolist()
    [[1.5, -1.5], [-1.5, 1.5]]
    """
    left = np.asarray(table, dtype=np.float64)
    for axis in range(left.ndim):
        left = left - left.mean(axis=axis, keepdims=True)
    return left


def in_order(group: Sequence[str], sides: Mapping[str, int]) -> Group:
    """The names of a group in the order of *sides*; an error if one is unknown or given twice."""
    for name in group:
        if name not in sides:
            raise BadInput(no_such("attribute", name, sides))
    if len(set(group)) < len(group):
        raise BadInput(f"an attribute is given twice in {listing(group)}. Name each once.")
    return tuple(sorted(group, key=list(sides).index)) if len(group) > 1 else tuple(group)


def _read(sides: Mapping[str, int], table: MeasuredTable) -> tuple[Group, Reals]:
    """The group in order, and its counts with the axes in that order."""
    group = in_order(table.group, sides)
    counts = np.asarray(table.counts, dtype=np.float64)
    leading = counts.ndim - len(group)
    shape = tuple(sides[name] for name in table.group)
    if leading < 0 or counts.shape[leading:] != shape:
        raise BadInput(f"the table of {listing(table.group)} has the shape {shape}, given counts of {counts.shape}.")
    if not (math.isfinite(table.variance) and table.variance > 0 and np.isfinite(counts).all()):
        raise BadInput(
            f"the table of {listing(table.group)} needs finite counts and a variance above 0, given the variance "
            f"{shorten(table.variance)}."
        )
    order = [leading + table.group.index(name) for name in group]
    return group, counts.transpose((*range(leading), *order))


def _split(group: Group, counts: Reals, sides: Mapping[str, int]) -> Iterator[tuple[Group, Reals, int]]:
    """Every subset of a group, its part, and how many cells are summed in each number of the part."""
    leading = counts.ndim - len(group)
    parts: list[tuple[Group, Reals, int]] = [((), counts, 1)]
    for place, name in enumerate(group):
        axis, side = leading + place, sides[name]
        wider = []
        for subset, part, cells in parts:
            total = part.sum(axis=axis, keepdims=True)
            wider.append((subset, total, cells * side))
            wider.append(((*subset, name), part - total / side, cells))
        parts = wider
    for subset, part, cells in parts:
        kept = tuple(sides[name] for name in subset)
        yield subset, part.reshape((*counts.shape[:leading], *kept)), cells


def _subsets(group: Group) -> Iterator[Group]:
    return itertools.chain.from_iterable(itertools.combinations(group, size) for size in range(len(group) + 1))


def _undetermined(group: Group, lacking: tuple[Group, ...]) -> str:
    if () in lacking:
        return "no measurement determines the number of rows. Measure a table first."
    largest = max(lacking, key=len)
    return (
        f"the table of {listing(group)} is not determined: no measured table has {listing(largest)}"
        f"{' together' if len(largest) > 1 else ''}. Measure one that has, or ask for fewer attributes."
    )


MOST_AXES = 16
_NEARLY = 1e-9


class MarginalsSolver:
    """Marginals of a domain that fits in memory, each with its own noise variance: exact, and linear in the cells.

    Let the marginal over the axes S have variance v_S. Then Aᵀ·D⁻¹·A has one eigenvalue for every set T of axes, on the
    functions that depend on these axes jointly (:mod:`adyton.queries.axes`):

        λ_T = Σ_{S ⊇ T} (1/v_S)·Π_{i ∉ S} n_i.

    So the estimate is Σ_T P_T·Aᵀ·D⁻¹·y/λ_T, and its error on a workload Σ_T tr(P_T·WᵀW)/λ_T. Along one axis, the mean
    in the first place and differences from it in all other places separate the two kinds of functions.
    """

    exact = True

    def __init__(self, queries: Marginals, noise: Reals) -> None:
        self._queries, self._noise = queries, noise
        precision = precisions(queries.domain, queries.axes, [1 / own[0] for own in _by_marginal(queries, noise)])
        self._inverse = np.divide(1, precision, out=np.zeros_like(precision), where=precision > 0)
        self._there = _dimensions(queries.domain) > 0
        self.sides = {str(axis): side for axis, side in enumerate(queries.domain)}
        groups = [tuple(map(str, axes)) for axes in queries.axes]
        noises = [float(own[0]) for own in _by_marginal(queries, noise)]
        self.measured = list(zip(groups, noises, strict=True))
        """The measured groups as :mod:`adyton.solving.residuals` expects them: sets of axes and variances."""

    @cached_property
    def parts(self) -> dict[Group, float]:
        """The variance of each measured part."""
        return dict(part_variances(self.sides, self.measured).variances)

    @classmethod
    def of(cls, queries: Queries, noise: Reals) -> MarginalsSolver | None:
        """The solver for marginals whose cells have equal noise; None for other queries."""
        if not isinstance(queries, Marginals) or len(queries.domain) > MOST_AXES:
            return None
        even = all(np.ptp(own) <= _NEARLY * own[0] for own in _by_marginal(queries, noise))
        return cls(queries, noise) if even else None

    @property
    def complete(self) -> bool:
        """Whether the marginal over all axes with more than one value was measured."""
        return bool((self._inverse[self._there] > 0).all())

    def solve(self, answers: Array) -> Reals:
        """One transformation and its inverse along every axis."""
        return self._divided(self._queries.transpose(np.asarray(answers, dtype=np.float64) / self._noise))

    def variances(self, rows: Reals) -> Reals:
        """q·(Aᵀ·D⁻¹·A)⁺·q."""
        return np.asarray((rows * self._divided(np.asarray(rows, dtype=np.float64))).sum(axis=-1))

    def box_variances(self, lower: Integers, upper: Integers) -> Reals:
        """The same for sums over boxes: Σ_T V_T·Π_T k_i(1 − k_i/n_i)·Π_{∉T} (k_i/n_i)², k_i cells along each axis."""
        sides = np.array(self._queries.domain, dtype=np.float64)
        long = (upper - lower + 1).astype(np.float64)
        spread, level = long * (1 - long / sides), np.square(long / sides)
        variances = np.zeros(len(long))
        for group, variance in self.parts.items():
            inside = np.array([str(axis) in group for axis in range(sides.size)])
            variances += variance * np.where(inside, spread, level).prod(axis=1)
        return variances

    def total_variance(self, workload: Queries) -> float:
        """By sets of axes where the energies are known, otherwise query by query."""
        energies = energies_by_axes(workload) if workload.domain == self._queries.domain else None
        if energies is not None:
            return float(energies @ self._inverse)
        if isinstance(workload, Ranges):
            return float(self.box_variances(workload.lower, workload.upper).sum())
        return float(sum(self.variances(rows).sum() for rows in workload.rows()))

    def _divided(self, cells: Reals) -> Reals:
        """Σ_T P_T·z/λ_T."""
        domain = self._queries.domain
        leading = cells.ndim - 1
        table = cells.reshape(*cells.shape[:-1], *domain).copy()
        for axis in range(leading, table.ndim):
            mean = table.mean(axis=axis, keepdims=True)
            table -= mean
            table[_first(table.ndim, axis)] = mean
        factors = self._inverse.reshape((2,) * len(domain)).transpose()  # the first axis has the lowest bit
        table *= factors[np.ix_(*((np.arange(side) > 0).astype(np.int64) for side in domain))]
        for axis in range(leading, table.ndim):
            mean = table[_first(table.ndim, axis)].copy()
            table[_first(table.ndim, axis)] = 0
            table[_first(table.ndim, axis)] = -table.sum(axis=axis, keepdims=True)
            table += mean
        return table.reshape(cells.shape)


def precisions(domain: tuple[int, ...], sets: tuple[tuple[int, ...], ...], weights: list[float]) -> Reals:
    """λ_T for every set T of axes, numbered by its bits, from 1/v_S for the measured sets."""
    measured = np.zeros(1 << len(domain))
    for axes, weight in zip(sets, weights, strict=True):
        others = np.prod([side for axis, side in enumerate(domain) if axis not in axes], dtype=np.float64)
        measured[sum(1 << axis for axis in axes)] += weight * others
    return over_supersets(measured)


def over_supersets(values: Reals) -> Reals:
    """For every set, the sum over all sets that contain it."""
    table = values.reshape((2,) * (values.size.bit_length() - 1)).astype(np.float64)
    for axis in range(table.ndim):
        table = np.flip(np.flip(table, axis).cumsum(axis=axis), axis)
    return table.reshape(-1)


def _by_marginal(queries: Marginals, noise: Reals) -> list[Reals]:
    return np.split(noise, np.cumsum(queries.sizes)[:-1])


def _dimensions(domain: tuple[int, ...]) -> Reals:
    """The dimension of the space of every set of axes."""
    numbers = np.arange(1 << len(domain))
    members = (numbers[:, None] >> np.arange(len(domain)) & 1).astype(bool)
    return np.asarray(np.where(members, np.array(domain, dtype=np.float64) - 1, 1.0).prod(axis=1))


def _first(dimensions: int, axis: int) -> tuple[slice, ...]:
    """An index for the first place along an axis, which keeps the axis."""
    return tuple(slice(0, 1) if other == axis else slice(None) for other in range(dimensions))
