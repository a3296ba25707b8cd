"""A growing history of noisy sums over disjoint cells, and histograms that fit it.

Every round adds one set of linear queries that share no cell, with their noisy answers. Cells that no query so far
distinguishes are kept as one group, so that a few ranges on a long domain take little time. The sets are replayed by
multiplicative updates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled
from adyton.solving.nonnegative import nonnegative_least_squares

PULL = 0.05
"""How strongly exponents are pulled to 0, in standard deviations of the noise per unit of exponent."""
_CLOSE = 0.02
"""Replays end when answers move by less than this fraction of the noise's standard deviation."""
_WORK = 4_000_000
"""About how many groups are visited in one fit: long histories on many groups are replayed only a few times."""
_LEAST_SWEEPS = 3
_FEW = 160
"""Up to this many groups and answers, the solution is computed densely."""
_LITTLE = 1e-6
"""The weight of the last fit relative to an answer in a dense solution, before squaring."""
_KNOWN = 1e-3
"""A known total counts as an answer with this fraction of the smallest standard deviation."""


class DisjointSums:
    """The history: sets of sums over disjoint cells, and the best estimate of the total so far.

    ``total`` has the variance ``total_variance``, 0 for a public total. Sets that count every cell once are also
    answers about the total, which is then the mean of all these answers, weighted by precision.
    """

    def __init__(self, cells: int, total: float, total_variance: float = 0.0) -> None:
        self._first = total
        self._total_variance = total_variance
        self._known = (total / total_variance, 1 / total_variance) if total_variance else (0.0, 0.0)
        self._group = np.zeros(cells, dtype=np.int64)
        self._sizes = np.array([float(cells)])
        self._labels = np.zeros((0, 1), dtype=np.int64)
        self._coefficients = np.zeros((0, 1))
        self._answers: list[Reals] = []
        self._deviations: list[float] = []
        self._covers: list[bool] = []
        self._plain: list[int] = []
        self._exponents: list[Reals] = []
        self._mass = np.array([1.0])

    @property
    def total(self) -> float:
        """The best estimate of the total so far, at least 1."""
        return max(1.0, self._known[0] / self._known[1] if self._total_variance else self._first)

    def add(self, labels: Integers, coefficients: Reals, answers: npt.ArrayLike, variance: float) -> None:
        """Add a set: cell i counts ``coefficients[i]`` times in sum ``labels[i]``, or in no sum if that is −1."""
        values = np.asarray(answers, dtype=np.float64).reshape(-1)
        self._refine(labels, coefficients)
        plain = bool((coefficients[labels >= 0] == 1).all())
        covers = plain and bool((labels >= 0).all())
        if covers and self._total_variance:
            precision = 1 / (values.size * variance)
            self._known = (self._known[0] + values.sum() * precision, self._known[1] + precision)
        self._answers.append(values)
        self._deviations.append(math.sqrt(variance))
        self._covers.append(covers)
        self._plain.append(int(plain))
        self._exponents.append(np.zeros(values.size))

    def _refine(self, labels: Integers, coefficients: Reals) -> None:
        """Split the groups where the new set distinguishes their cells."""
        kinds, kind = np.unique(coefficients, return_inverse=True)
        keys = (self._group * (int(labels.max()) + 2) + labels + 1) * kinds.size + kind
        bound = self._sizes.size * (int(labels.max()) + 2) * kinds.size
        if bound <= 1 << 20:
            place = np.zeros(bound, dtype=np.int64)
            place[keys] = 1
            group = (np.cumsum(place) - 1)[keys]
        else:
            group = np.unique(keys, return_inverse=True)[1].reshape(-1)
        example = np.empty(int(group.max()) + 1, dtype=np.int64)
        example[group] = np.arange(group.size)
        before = self._group[example]
        sizes = np.bincount(group).astype(np.float64)
        self._mass = self._mass[before] * sizes / self._sizes[before]
        self._labels = np.concatenate([self._labels[:, before], labels[None, example]])
        self._coefficients = np.concatenate([self._coefficients[:, before], coefficients[None, example]])
        self._group, self._sizes = group, sizes

    def cells(self) -> Reals:
        """The last fit, as an estimate of every cell; before the first fit, all cells are equal."""
        return np.asarray((self._mass / self._mass.sum() * self.total / self._sizes)[self._group])

    def maximum_entropy(self, sweeps: int, pull: float = PULL) -> Reals:
        """The cells with this total that fit the answers well, nearest in relative entropy to a uniform distribution.

        Multiplicative weights (Hardt, Ligett and McSherry, NIPS 2012), with the whole history replayed up to *sweeps*
        times (fewer where that would take long): x_i ← x_i·exp(q_i·η), rescaled to the total. The published step
        η = (y − q·x)/(2·total) is a cautious step towards the point where q·x = y; here it is a Newton step, so that a
        few replays do the work of hundreds. An exponent λ is pulled back by *pull* standard deviations of the noise:
        the replays converge to y − q·x = pull·σ·λ for every answer, where relative entropy plus a penalty on residuals
        is least.
        """
        total = self.total
        answers, starts, labels = [], [0], self._labels.astype(np.int32, order="C")
        for own, values, covers in zip(labels, self._answers, self._covers, strict=True):
            goals = values
            if covers:  # the estimate of the total improves each answer, and makes the last one redundant
                goals = (values + (total - values.sum()) / values.size)[:-1]
                own[own == goals.size] = -1
            answers.append(goals)
            starts.append(starts[-1] + goals.size)
        exponents = np.concatenate([own[: part.size] for own, part in zip(self._exponents, answers, strict=True)])
        pulls = pull * np.array(self._deviations)
        tolerance = max(_CLOSE * min(self._deviations), 1e-9 * total)
        mass = self._mass * (total / self._mass.sum())
        replay_sets(
            labels,
            np.ascontiguousarray(self._coefficients),
            np.array(self._plain),
            np.array(starts),
            np.concatenate(answers),
            pulls,
            total,
            mass,
            exponents,
            max(_LEAST_SWEEPS, min(sweeps, _WORK // labels.size)),
            tolerance,
            np.empty((4, max(1, int(np.diff(starts).max())))),
        )
        self._exponents = np.split(exponents, starts[1:-1])
        if np.isfinite(mass).all() and mass.sum() > 0:
            self._mass = mass
        return self.cells()

    def nonnegative_least_squares(self, tolerance: float = 1e-3) -> Reals:
        """The non-negative cells that fit the answers and the total best; if there are many, one near the last fit."""
        starts = np.concatenate([[1], 1 + np.cumsum([values.size for values in self._answers])])
        sets, places = np.nonzero(self._labels >= 0)
        rows = np.concatenate([np.zeros(self._sizes.size, dtype=np.int64), starts[sets] + self._labels[sets, places]])
        columns = np.concatenate([np.arange(self._sizes.size), places])
        scale = np.sqrt(self._sizes)  # in these units a short distance for groups is a short distance for their cells
        coefficients = np.concatenate([scale, self._coefficients[sets, places] * scale[places]])
        smallest = min(self._deviations)
        first = math.sqrt(self._total_variance) if self._total_variance else _KNOWN * smallest
        weights = smallest / np.concatenate([[first], *map(np.full, map(len, self._answers), self._deviations)])
        answers = np.concatenate([[self._first], *self._answers])
        start = self._mass * (self.total / self._mass.sum()) / scale
        solution = None
        if self._sizes.size <= _FEW and answers.size <= _FEW:
            table = np.zeros((answers.size, self._sizes.size))
            table[rows, columns] = coefficients
            solution = _few(table * weights[:, None], answers * weights, start)
        if solution is None:
            solution = _many(rows, columns, coefficients, answers, weights, start, tolerance)
        fitted = solution * scale
        if fitted.sum() > 0:
            self._mass = fitted
        return np.asarray((fitted / self._sizes)[self._group])


def _few(table: Reals, answers: Reals, start: Reals) -> Reals | None:
    """min ‖A·z − y‖² + little·‖z − start‖² over z ≥ 0, by active sets (Lawson and Hanson); None if that cycles."""
    from scipy.optimize import nnls

    little = _LITTLE * max(1e-300, float(np.abs(table).max()))
    try:
        both = np.concatenate([table, little * np.eye(start.size)])
        return np.asarray(nnls(both, np.concatenate([answers, little * start]))[0])
    except RuntimeError:
        return None


def _many(
    rows: Integers,
    columns: Integers,
    coefficients: Reals,
    answers: Reals,
    weights: Reals,
    start: Reals,
    tolerance: float,
) -> Reals:
    """The same by conjugate gradients inside block pivoting, which naturally stay near the start."""
    from scipy import sparse

    table: Any = sparse.csr_array((coefficients, (rows, columns)), shape=(answers.size, start.size))
    across: Any = sparse.csr_array(table.T)
    absolute: Any = abs(across)
    return nonnegative_least_squares(
        lambda x: (table @ x.T).T,
        lambda y: (across @ y.T).T,
        answers,
        weights**2,
        start=start,
        absolute_adjoint=lambda y: (absolute @ y.T).T,
        tolerance=tolerance,
    )


Labels = npt.NDArray[np.int32]

_LONGEST = 1.0
"""No update changes a group by more than a factor of e."""
_STEEPEST = 60.0
"""No answer changes a group by more than a factor of e^60 in total."""
_LEAST = 1e-280
"""No mass falls below this, so that the masses can always be rescaled."""


@compiled
def replay_sets(
    labels: Labels,
    coefficients: Reals,
    plain: Integers,
    starts: Integers,
    answers: Reals,
    pulls: Reals,
    total: float,
    x: Reals,
    exponents: Reals,
    sweeps: int,
    tolerance: float,
    spare: Reals,
) -> None:
    """Replay all the sets (rows of *labels*) until no answer moves by more than *tolerance*, at most *sweeps* times.

    Label l ≥ 0 in row j means the sum with the answer ``answers[starts[j] + l]``; *x* are masses of groups of cells,
    changed in place together with the *exponents*; at the end they sum to the total. A set is *plain* if its
    coefficients are 1. *spare* is a buffer of four numbers for each sum of a set.
    """
    mass = 0.0
    for i in range(x.size):
        mass += x[i]
    for _ in range(sweeps):
        stretch(x, total / mass)
        mass = total
        moved = 0.0
        for j in range(len(labels)):
            first, count = starts[j], starts[j + 1] - starts[j]
            add_up(labels[j], coefficients[j], plain[j], x, count, spare)
            choose_steps(count, pulls[j], total, mass, answers[first : first + count], exponents[first:], spare)
            before, mass = mass, update(labels[j], coefficients[j], plain[j], spare, x)
            shift = math.log(mass / before)
            for place in range(count):
                moved = max(moved, abs(spare[2, place] * spare[1, place] - shift * spare[0, place]))
        if moved <= tolerance:
            break
    stretch(x, total / mass)


@compiled
def stretch(x: Reals, factor: float) -> None:
    """Multiply all masses by a factor."""
    for i in range(x.size):
        x[i] *= factor


@compiled
def add_up(labels: Labels, coefficients: Reals, plain: int, x: Reals, count: int, spare: Reals) -> None:
    """Σ q_i·x_i and Σ q_i²·x_i for every sum of a set, into the first two rows of *spare*."""
    for place in range(count):
        spare[0, place] = spare[1, place] = 0.0
    for i in range(x.size):
        label = labels[i]
        if label >= 0:
            if plain:
                spare[0, label] += x[i]
            else:
                spare[0, label] += coefficients[i] * x[i]
                spare[1, label] += coefficients[i] * coefficients[i] * x[i]
    if plain:
        for place in range(count):
            spare[1, place] = spare[0, place]


@compiled
def choose_steps(
    count: int, pull: float, total: float, mass: float, answers: Reals, exponents: Reals, spare: Reals
) -> None:
    """Newton steps of the exponents of a set, into the third row of *spare*, and their factors into the fourth."""
    scale = total / mass
    for place in range(count):
        spare[0, place] *= scale
        spare[1, place] *= scale
        held = spare[0, place]
        slope = spare[1, place] + pull
        if count == 1:  # what a single sum loses or gains goes to or comes from the remaining cells
            slope -= held * held / total
        exponent = exponents[place]
        step = (answers[place] - held - pull * exponent) / max(slope, 1e-12 * total)
        step = min(max(step, -_LONGEST), _LONGEST)
        step = min(max(exponent + step, -_STEEPEST), _STEEPEST) - exponent
        exponents[place] = exponent + step
        spare[2, place], spare[3, place] = step, math.exp(step)


@compiled
def update(labels: Labels, coefficients: Reals, plain: int, spare: Reals, x: Reals) -> float:
    """x_i ← x_i·exp(q_i·step) for every cell that is counted; returns Σ x_i."""
    mass = 0.0
    for i in range(x.size):
        label = labels[i]
        if label >= 0:
            if plain:
                x[i] = max(_LEAST, x[i] * spare[3, label])
            else:
                power = max(-_STEEPEST, min(_STEEPEST, coefficients[i] * spare[2, label]))
                x[i] = max(_LEAST, x[i] * math.exp(power))
        mass += x[i]
    return mass
