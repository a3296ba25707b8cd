"""Cosine waves with whole coefficients: the queries of a discrete cosine transform on a grid.

Sums of products are computed for int32, int64 and double-precision numbers, those of 32-bit numbers in 64 bits; callers
check beforehand that no sum can overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from adyton.arrays import Array, Integers, Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.queries.base import Queries, Size
from adyton.whole import SAFE, IntegerArray, as_shape, freeze, largest, whole

_BITS = 24
_FEW = 8
"""If fewer than one in this many odd rows are present, they are summed directly."""
_DIRECT = 1 << 14
"""With fewer products than this, folding takes longer than it saves."""


@dataclass(frozen=True)
class Cosines(Queries):
    """The slowest *frequencies* cosine waves: the orthonormal DCT-II times 2^bits, each coefficient rounded.

    Row k has the coefficients c_k·2^bits·cos(π(2j + 1)k/2n), c_0 = √(1/n) and c_k = √(2/n), rounded to whole numbers
    that depend only on (2j + 1)k modulo 4n and have the cosine's symmetries exactly. So the even rows are the same
    problem on half the cells, after adding cell j to cell n − 1 − j, and the odd rows are sums over differences of
    such cells: about n²/3 products for all rows. If n is a power of 2, the odd numbers modulo 4n are ±5^a, which
    turns these sums into Σ_a x_a·t_(a+c), over consecutive entries of one small table.

    >>> Cosines(4, 2) @ [1, 2, 3, 5]
    array([184549376, -96761720])
    """

    domain: tuple[int, ...]
    frequencies: int

    def __init__(self, domain: int | Sequence[int], frequencies: int) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        object.__setattr__(self, "frequencies", whole(frequencies, "frequencies", 1))
        if len(self.domain) != 1:
            raise BadInput(f"cosine waves need one dimension, given the shape {self.domain}. Use Kronecker for more.")
        if self.frequencies > self.cells:
            raise BadInput(f"{self.cells} cells have {self.cells} frequencies, given {self.frequencies}.")

    @property
    def bits(self) -> int:
        """An orthonormal coefficient of 1 is stored as 2^bits: fine enough for 24 bits of every entry."""
        return _BITS + ((self.cells - 1).bit_length() + 1) // 2

    @property
    def count(self) -> int:
        """One query for each frequency."""
        return self.frequencies

    def _apply(self, cells: Array) -> Array:
        if cells.dtype == object:
            return _by_digits(self._apply, cells, self.largest_row_sum())
        folded = cells.reshape(-1, self.cells)
        answers = np.zeros((len(folded), self.count), dtype=cells.dtype)
        answers[:, 0] = folded.sum(axis=1) * _constant(self.cells, self.bits)
        table, size, step = _table(self.cells, self.bits), self.cells, 1
        while size > 1 and step < self.count:
            rows = np.arange(step, self.count, step)
            if size * rows.size < _DIRECT:
                answers[:, step::step] = sums_around(table, folded, rows, 1)
                break
            half = size // 2
            left, right = folded[:, :half], folded[:, : size - half - 1 : -1]
            odd, even = (np.arange(first, self.count, 2 * step) for first in (step, 2 * step))
            answers[:, step :: 2 * step] = _odd_rows(table, left - right, odd, step)
            folded = np.concatenate([left + right, folded[:, half : size - half]], axis=1)
            if size % 2:
                answers[:, 2 * step :: 2 * step] = sums_around(table, folded, even, 1)
                break
            size, step = half, 2 * step
        return answers.reshape(*cells.shape[:-1], self.count)

    def _transpose(self, answers: Array) -> Array:
        return self._spread(answers, _table(self.cells, self.bits), signed=True)

    def _absolute_transpose(self, weights: Array) -> Array:
        return self._spread(weights, np.abs(_table(self.cells, self.bits)), signed=False)

    def _plain_sensitivity(self) -> int:
        return _sensitivity(self)

    def column_energy(self) -> int:
        """max_i Σ_{k ≥ 1} K_ki², exactly: the largest squared L2 norm of a column without the constant wave."""
        weights = np.ones(self.count, dtype=np.int64)
        weights[0] = 0
        squares = np.square(_table(self.cells, self.bits))
        high, low = (self._spread(weights, part, signed=False) for part in (squares >> _BITS, squares % (1 << _BITS)))
        return int(((high.astype(object) << _BITS) + low).max())

    def _spread(self, answers: Array, table: Array, *, signed: bool) -> Array:
        """For each cell j, Σ_k y_k·table[(2j + 1)k]; in an unsigned table, mirrored cells have equal entries."""
        if answers.dtype == object:
            return _by_digits(lambda part: self._spread(part, table, signed=signed), answers, self._reach())
        flat = answers.reshape(-1, self.count)
        cells = self._unfold(flat, table, self.cells, 1, signed)
        cells += flat[:, :1] * _constant(self.cells, self.bits)
        return cells.reshape(*answers.shape[:-1], self.cells)

    def _unfold(self, rows: Array, table: Array, size: int, step: int, signed: bool) -> Array:
        """What the rows step, 2·step, … contribute to the cells of a domain folded to this size.

        Odd rows are 0 in the middle of an odd number of cells.
        """
        if size == 1 or step >= self.count:
            return np.zeros((len(rows), size), dtype=rows.dtype)
        if size * (self.count // step) < _DIRECT:
            return sums_around(table, rows[:, step::step], np.arange(1, 2 * size, 2) * step, 1, 1)
        half = size // 2
        odd = _odd_cells(table, rows[:, step :: 2 * step], size, step, signed)
        if size % 2:
            factors = np.arange(1, size + 1, 2) * step
            even = sums_around(table, rows[:, 2 * step :: 2 * step], factors, 2)
        else:
            even = self._unfold(rows, table, half, 2 * step, signed)
        left, middle = even[:, :half], even[:, half : size - half]
        mirrored = left - odd if signed else left + odd
        return np.concatenate([left + odd, middle, mirrored[:, ::-1]], axis=1)

    def _rows(self, numbers: Integers) -> Reals:
        angles = numbers[:, None] * np.arange(1, 2 * self.cells, 2) % (4 * self.cells)
        rows: Reals = _table(self.cells, self.bits)[angles].astype(np.float64)
        rows[numbers == 0] = _constant(self.cells, self.bits)
        return rows

    def inverse(self, answers: Array) -> Reals:
        """The cells that have these answers, up to the rounding of the coefficients; further frequencies are 0."""
        from scipy.fft import idct

        return np.asarray(idct(np.ldexp(answers.astype(np.float64), -self.bits), n=self.cells, norm="ortho"))

    def __str__(self) -> str:
        return f"{self.frequencies:,} cosine waves of {self.cells:,} cells"

    def size(self) -> Size:
        """All products; about a quarter of them, in consecutive memory, if the domain is a power of 2."""
        products = self.cells * self.count
        return Size(16 * self.cells, products // 4 if self.cells & (self.cells - 1) == 0 else products)

    def largest_coefficient(self) -> int:
        """The peak of a wave."""
        return max(_constant(self.cells, self.bits), int(_table(self.cells, self.bits)[0]) if self.count > 1 else 0)


@lru_cache(maxsize=256)
def _sensitivity(waves: Cosines) -> int:
    """Cached: it is public, and every measurement of the same waves needs it."""
    return int(waves.column_sums().max())


@lru_cache(maxsize=8)
def _table(cells: int, bits: int) -> Integers:
    """√(2/n)·2^bits·cos(πm/2n), rounded, for m = 0 … 4n − 1: a quarter of the period and its mirror images."""
    quarter = np.rint(np.ldexp(np.sqrt(2 / cells), bits) * np.cos(np.pi * np.arange(cells) / (2 * cells)))
    half = np.concatenate([quarter, [0], -quarter[:0:-1]])
    return freeze(np.concatenate([half, -half]).astype(np.int64), "table")


def _constant(cells: int, bits: int) -> int:
    """√(1/n)·2^bits, rounded."""
    return round(float(np.ldexp(np.sqrt(1 / cells), bits)))


@lru_cache(maxsize=32)
def _powers(size: int) -> tuple[Integers, Integers, Integers]:
    """For a power of 2: 5^a modulo 4·size, a < size; and for 1, 3, … < size, the a < size/2 with ±5^a equal to it.

    Last, the sign: −1 where it is 2·size ∓ 5^a instead, where odd rows of cosines have the opposite sign.
    """
    powers = np.ones(1, dtype=np.int64)
    while powers.size < size:
        powers = np.concatenate([powers, powers * pow(5, powers.size, 4 * size) % (4 * size)])
    near = np.minimum(powers, 4 * size - powers)[: size // 2]
    folded = np.minimum(near, 2 * size - near)
    places, signs = np.empty((2, size // 2), dtype=np.int64)
    places[folded // 2] = np.arange(size // 2)
    signs[folded // 2] = np.where(near == folded, 1, -1)
    return powers, places, signs


def _odd_rows(table: Array, differences: Array, rows: Integers, step: int) -> Array:
    """Σ_j d_j·table[(2j + 1)·row] for rows step, 3·step, 5·step, …"""
    size = table.size // (4 * step)
    if size & (size - 1) or not rows.size:
        return sums_around(table, differences, rows, 1)
    powers, places, signs = _powers(size)
    ordered = np.empty_like(differences)
    ordered[:, places] = differences * signs
    return sums_along(table[powers * step], ordered, places[: rows.size]) * signs[: rows.size]


def _odd_cells(table: Array, rows: Array, size: int, step: int, signed: bool) -> Array:
    """Σ_k y_k·table[(2j + 1)·step·k] over k = 1, 3, 5, … for each j < size/2."""
    if size & (size - 1) or _FEW * rows.shape[1] < size // 2:
        return sums_around(table, rows, np.arange(1, 2 * (size // 2), 2) * step, 1)
    powers, places, signs = _powers(size)
    signs = signs if signed else np.ones_like(signs)
    ordered = np.zeros((len(rows), size // 2), dtype=rows.dtype)
    ordered[:, places[: rows.shape[1]]] = rows * signs[: rows.shape[1]]
    return sums_along(table[powers * step], ordered, places) * signs


def _by_digits(work: Callable[[IntegerArray], IntegerArray], values: IntegerArray, reach: int) -> IntegerArray:
    """A linear map of Python integers, computed on digits small enough that all results fit into 64 bits."""
    width = SAFE.bit_length() - 1 - reach.bit_length()
    signs, digits = np.where(values < 0, -1, 1), np.abs(values)
    result, shift = work((signs * (digits & ((1 << width) - 1))).astype(np.int64)).astype(object), 0
    while digits.size and (digits >> width).any():
        digits, shift = digits >> width, shift + width
        result = result + (work((signs * (digits & ((1 << width) - 1))).astype(np.int64)).astype(object) << shift)
    return result


_SMALL = 1 << 31


def sums_along(table: Array, values: Array, places: Places) -> Array:
    """Σ_a values[t, a]·table[a + places[r]] for every row t of values and every r."""
    sums = np.zeros((len(values), places.size), dtype=values.dtype)
    _along_the_table(*_alike(table, values), places, sums)
    return sums


def sums_around(table: Array, values: Array, factors: Places, first: int, stride: int = 2) -> Array:
    """Σ_q values[t, q]·table[factors[p]·(first + stride·q) modulo the length of the table] for every t and p."""
    sums = np.zeros((len(values), factors.size), dtype=values.dtype)
    _around_the_circle(*_alike(table, values), factors, first, stride, sums)
    return sums


def _alike(table: Array, values: Array) -> tuple[Array, Array]:
    """Both in the same number type, 32 bits where they fit: products of these are fast, and computed in 64 bits."""
    if values.dtype != np.float64 and largest(values) < _SMALL and largest(table) < _SMALL:
        return np.ascontiguousarray(table, dtype=np.int32), np.ascontiguousarray(values, dtype=np.int32)
    return np.ascontiguousarray(table, dtype=values.dtype), np.ascontiguousarray(values)


@compiled
def _along_the_table(table: Array, values: Array, places: Places, sums: Array) -> None:
    length = values.shape[1]
    for trial in range(values.shape[0]):
        own = values[trial]
        for row in range(places.size):
            part = table[places[row] : places[row] + length]
            total = sums[trial, row]
            for a in range(length):
                total += own[a] * part[a]
            sums[trial, row] = total


@compiled
def _around_the_circle(table: Array, values: Array, factors: Places, first: int, stride: int, sums: Array) -> None:
    period = table.size
    for trial in range(values.shape[0]):
        own = values[trial]
        for place in range(factors.size):
            angle, step = (factors[place] * first) % period, (stride * factors[place]) % period
            total = sums[trial, place]
            for q in range(own.size):
                total += own[q] * table[angle]
                angle += step
                if angle >= period:
                    angle -= period
            sums[trial, place] = total
