"""How likely each bucket is to be the last of a partition: sums of exponentials over all partitions, enclosed.

Let a bucket from step q to step r have the whole-numbered cost C(q, r), and let a partition weigh the product of
e^{−rate·C} over its buckets. The weights of all partitions of the first r steps into j buckets add up to

    Z_j(r) = Σ_q Z_{j−1}(q)·e^{−rate·C(q, r)},        Z_0(0) = 1,

and in a partition of the first r steps into j buckets, the last one starts at q with the probability of its term.

Z is computed in double precision, with an exponent of its own for each number. All terms are positive, so relative
errors do not grow in sums: a term has at most that of its Z and of its power, and adding up ``longest`` terms at most
``longest`` roundings more. An exponent of y is off by a few roundings of itself, 2⁻⁴⁸·(1 + y) at most; the exponents of
the buckets of one partition add up to at most rate·(the most that a partition costs). Hence the bound
:attr:`BucketWeights.error`, which is public. Where it does not suffice, weights are computed in decimals of any length.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Places, Reals
from adyton.compiling import compiled
from adyton.kernel.mechanisms.published.partition_weights import SLACK, on_grid
from adyton.noise.bits import Bounds

LARGEST_EXPONENT = 1 << 22
"""What rate·(the most that a partition costs) may be. Double precision then settles nearly every draw, and the slow way
in decimals is hardly ever taken; and exponents of 2 fit 32 bits."""
_UNREACHED = -(1 << 30)
"""Below all exponents of 2 that occur, which are above −1.45·2²²; twice as low still fits 32 bits."""
_SPARE_DIGITS = 45
_HALVINGS = 64
_DIGIT_BITS = 8
_LAST_DIGIT = (1 << _DIGIT_BITS) - 1

Exponents = npt.NDArray[np.int32]
"""Exponents of 2."""


@dataclass(frozen=True, eq=False)
class BucketWeights:
    """The weights of the partitions of the first r steps into j < ``buckets`` buckets of at most ``longest`` steps.

    ``sums`` and ``squares`` are of the counts before each of ``places``, where buckets may begin and end; a bucket of m
    cells costs grid·Σx² − ⌊grid·(Σx)²/m⌋.
    """

    places: Places
    sums: Integers
    squares: Integers
    grid: int
    buckets: int
    longest: int
    rate: Fraction
    most: int
    """No partition costs more."""
    _mantissas: Reals = field(init=False)
    _exponents: Exponents = field(init=False)

    def __post_init__(self) -> None:
        table = (self.places.size, self.buckets)
        mantissas, exponents = np.zeros(table), np.full(table, _UNREACHED, dtype=np.int32)
        mantissas[0, 0], exponents[0, 0] = 1.0, 0
        powers = np.append(0.5 ** np.arange(_HALVINGS - 1), 0.0)
        numbers = (self.places, self.sums, self.squares, self.grid)
        _add_up(*numbers, self._binary_rate, self.longest, powers, mantissas, exponents)
        object.__setattr__(self, "_mantissas", mantissas)
        object.__setattr__(self, "_exponents", exponents)

    @property
    def _binary_rate(self) -> float:
        return float(self.rate) / math.log(2)

    @property
    def error(self) -> float:
        """A bound on the relative error of every weight in double precision."""
        return SLACK * (float(self.rate) * self.most + self.buckets * (1 + self.longest))

    def costs(self, starts: Places, end: int) -> Integers:
        """C(q, end) of the buckets from *starts* to *end*."""
        sizes = self.places[end] - self.places[starts]
        sums, squares = self.sums[end] - self.sums[starts], self.squares[end] - self.squares[starts]
        return np.asarray(self.grid * squares - self.grid * sums * sums // sizes)

    def last_bucket(self, before: int, end: int) -> LastBucket:
        """Where the last bucket of the first *end* steps can start, if there are *before* buckets before it."""
        starts = np.arange(max(before, end - self.longest), min(end - 1, before * self.longest) + 1)
        binary = self._binary_rate * self.costs(starts, end)
        halvings = np.floor(binary)
        mantissas = self._mantissas[starts, before] * np.exp2(halvings - binary)
        return LastBucket(self, before, end, starts, mantissas, self._exponents[starts, before] - halvings)

    def exactly(self, before: int, end: int, digits: int) -> list[Decimal]:
        """The weight of each start of :meth:`last_bucket`, with a relative error below 10^(−digits)."""
        context = decimal.Context(prec=digits + _SPARE_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
        first, last = max(before, end - self.longest), min(end - 1, before * self.longest)
        table = _power_table(self.rate, self.most, context.prec)
        rows: list[list[Decimal]] = [[Decimal(1)] + [Decimal(0)] * before]
        for step in range(1, last + 1):
            row = [Decimal(0)] * (before + 1)
            for start, power in self._powers(step, table, context):
                for number, weight in enumerate(rows[start][:-1], 1):
                    if weight:
                        row[number] = context.fma(weight, power, row[number])
            rows.append(row)
            if step >= self.longest:
                rows[step - self.longest] = []  # never needed again
        powers = dict(self._powers(end, table, context))
        return [context.multiply(rows[start][before], powers[start]) for start in range(first, last + 1)]

    def _powers(self, end: int, table: list[list[Decimal]], context: decimal.Context) -> list[tuple[int, Decimal]]:
        starts = np.arange(max(0, end - self.longest), end)
        costs = self.costs(starts, end).tolist()
        return [(start, _power(cost, table, context)) for start, cost in zip(starts.tolist(), costs, strict=True)]


@dataclass(frozen=True, eq=False)
class LastBucket:
    """The weights of the starts of a last bucket: ``mantissas``·2^``exponents``, in double precision."""

    weights: BucketWeights
    before: int
    end: int
    starts: Places
    mantissas: Reals
    exponents: Reals
    _known: dict[int, list[Decimal]] = field(init=False, default_factory=dict)

    def bounds(self, first: int, middle: int, last: int) -> tuple[Bounds, Bounds]:
        """Bounds on the probability of the starts first … middle − 1, given that it is one of first … last − 1."""
        exponents = self.exponents[first:last]
        terms = np.ldexp(self.mantissas[first:last], np.maximum(exponents - exponents.max(), -1000).astype(np.int64))
        share = terms[: middle - first].sum() / terms.sum()
        return on_grid(np.array([share]), np.array([2 * self.weights.error]))

    def refine(self, first: int, middle: int, last: int, digits: int) -> tuple[Decimal, Decimal]:
        """The weights of the starts first … middle − 1 and middle … last − 1."""
        if digits not in self._known:
            self._known[digits] = self.weights.exactly(self.before, self.end, digits)
        context = decimal.Context(prec=digits + _SPARE_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
        left, right = Decimal(0), Decimal(0)
        for weight in self._known[digits][first:middle]:
            left = context.add(left, weight)
        for weight in self._known[digits][middle:last]:
            right = context.add(right, weight)
        return left, right


@lru_cache(maxsize=8)
def _power_table(rate: Fraction, most: int, precision: int) -> list[list[Decimal]]:
    """e^{−rate·d·256^k} for every digit d of a number up to *most* in base 256; an exponent loses as many digits of
    precision as it has."""
    context = decimal.Context(prec=precision, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    places = range(0, max(1, most.bit_length()), _DIGIT_BITS)
    exponents = [[rate * (digit << place) for digit in range(1 << _DIGIT_BITS)] for place in places]
    return [
        [context.exp(context.divide(Decimal(-x.numerator), Decimal(x.denominator))) for x in row] for row in exponents
    ]


def _power(cost: int, table: list[list[Decimal]], context: decimal.Context) -> Decimal:
    """e^{−rate·cost}, as a product over the digits of the cost: twenty times as fast as an exponential of its own."""
    result = table[0][cost & _LAST_DIGIT]
    for powers in table[1:]:
        cost >>= _DIGIT_BITS
        if not cost:
            break
        result = context.multiply(result, powers[cost & _LAST_DIGIT])
    return result


@compiled
def _add_up(
    places: Places,
    sums: Integers,
    squares: Integers,
    grid: int,
    binary_rate: float,
    longest: int,
    powers: Reals,
    mantissas: Reals,
    exponents: Exponents,
) -> None:
    """Fill the table: Z_j(end) = Σ_start Z_{j−1}(start)·2^{−binary_rate·cost}, in row *end* and column j.

    At first it holds 1 for no steps in no buckets, and elsewhere 0 with the lowest exponent. Only the states from which
    the rest of the steps can still be cut are needed. ``powers`` holds 1, 1/2, 1/4, … and at last 0. Mantissas are
    from 1/2 to 1. Exponents are settled first, so that whole rows are added without asking about each number.
    """
    steps, buckets = mantissas.shape[0] - 1, mantissas.shape[1]
    for end in range(1, steps):
        rest = steps - end
        fewest = max(1, buckets - rest)
        most = min(end, buckets - (rest + longest - 1) // longest)
        for adding in range(2):
            for start in range(max(0, end - longest), end):
                first = max(fewest, (start + longest - 1) // longest + 1)
                last = min(most, start + 1)
                if first > last:
                    continue
                size, total = places[end] - places[start], sums[end] - sums[start]
                exponent = binary_rate * (grid * (squares[end] - squares[start]) - grid * total * total // size)
                halvings = int(exponent)
                tops, before = exponents[end, first : last + 1], exponents[start, first - 1 : last]
                if adding:
                    factor = 2.0 ** (halvings - exponent)
                    row, earlier = mantissas[end, first : last + 1], mantissas[start, first - 1 : last]
                    _add_row(row, tops, earlier, before, factor, halvings, powers)
                else:
                    _raise_tops(tops, before, halvings)
        for number in range(fewest, most + 1):
            mantissa, shift = math.frexp(mantissas[end, number])
            mantissas[end, number] = mantissa
            exponents[end, number] += shift


@compiled
def _raise_tops(tops: Exponents, before: Exponents, halvings: int) -> None:
    """The larger of the exponents *tops* and *before* − halvings, in place."""
    kind = tops.dtype.type
    step = kind(halvings)
    for place in range(len(tops)):
        tops[place] = max(tops[place], kind(before[place] - step))


@compiled
def _add_row(
    row: Reals, tops: Exponents, earlier: Reals, before: Exponents, factor: float, halvings: int, powers: Reals
) -> None:
    """Add *earlier*·2^before·factor·2^(−halvings), number by number, to row·2^tops.

    *earlier* and the factor are from 1/2 to 1: a term that is 2⁶³ times smaller than the largest is less than a
    rounding of the sum, and left out.
    """
    kind = tops.dtype.type
    step, smallest = kind(halvings), kind(len(powers) - 1)
    for place in range(len(row)):
        gap = min(smallest, kind(tops[place] + step - before[place]))
        row[place] += earlier[place] * factor * powers[gap]
