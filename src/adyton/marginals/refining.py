"""Rows that fit given tables of pairs, and the tables of all pairs where the measured pairs form cycles.

A forest ignores what the other measured pairs say about pairs that were not measured, and noisy tables contradict one
another. Rows are a table of all attributes, hence consistent, and use all measured pairs; they are no farther from
independence along the forest than the measured pairs require. On public tables with cycles of measured pairs, the
tables of fitted rows had up to 13% less error than the tables that they were fitted to.

Synthetic rows are sampled along the forest, then changed, a few at a time, until all pairs fit.
"""

from __future__ import annotations

import itertools
import math
import os
import secrets
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled
from adyton.marginals.pair_model import Pair, PairModel, total_variation
from adyton.whole import whole

Codes = npt.NDArray[np.int32]
"""The numbers of cells, one for each row."""
Gaps = npt.NDArray[np.float32]
"""The surplus of rows in each cell of a table."""
State = npt.NDArray[np.uint64]
"""A 64-bit number: the state of a stream of random numbers."""
ROWS = 1 << 17
"""The number of rows that are fitted: their rounding is small compared with any noise."""
FEWEST_SWEEPS, MOST_SWEEPS, WORK = 4, 12, 2400
"""The number of sweeps over all rows, attribute by attribute: WORK divided by the square of the number of attributes,
within these bounds. A sweep takes time in proportion to that square."""
SETTLED = 1e-3
"""The fit ends when a sweep changes less than this part of the rows."""
NEAR = 0.5
"""The table of fitted rows replaces a measured pair if they differ by at most this part of the expected error. Where
there is little noise, rows cannot follow all tables as closely as they were measured."""
_SEED = 20210811


def refined(model: PairModel, rows: int = ROWS) -> PairModel:
    """The model with tables of all pairs, counted in rows that were fitted to all measured pairs together.

    A model whose measured pairs form a forest is left as it is, because its paths are exact; so is a model whose pairs
    were all measured, because rows would add nothing. The random numbers have a fixed seed, so that the same
    measurements always give the same tables.
    """
    if model.fitted or len(model.pairs) in (len(model.forest.pairs), math.comb(len(model.singles), 2)):
        return model
    random = np.random.default_rng(_SEED)
    codes = along_forest(model, rows, random)
    fit(codes, model.sides, model.pairs, random)
    scale, fitted = model.total / rows, {}
    for (place, first), (other, second) in itertools.combinations(enumerate(model.singles), 2):
        table = scale * counted(codes, place, other, (model.sides[first], model.sides[second]))
        measured = (first, second) in model.pairs and not _near(model, (first, second), table)
        fitted[first, second] = model.pairs[first, second] if measured else table
    return replace(model, fitted=MappingProxyType(fitted))


def _near(model: PairModel, pair: Pair, table: Reals) -> bool:
    expected = total_variation(model, pair)
    distance = np.abs(table - model.pairs[pair]).sum() / (2 * max(model.total, 1e-9))
    return expected is None or bool(distance <= NEAR * expected)


def along_forest(model: PairModel, count: int, random: np.random.Generator) -> Codes:
    """Rows as columns of cell numbers, with a line for each attribute: the root of a tree is drawn from its own table,
    every other attribute from its pair with its neighbour towards the root."""
    names = list(model.singles)
    codes = np.zeros((len(names), count), dtype=np.int32)
    deck, nothing = np.empty(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
    for known, new in model.forest.order():
        if known is None:
            table, given = model.singles[new][None, :], nothing
        else:
            pair = model.pairs.get((known, new))
            table, given = model.pairs[new, known].T if pair is None else pair, codes[names.index(known)]
        chances = np.array(np.maximum(table, 0.0), order="C")
        chances[chances.sum(axis=1) <= 0] = np.maximum(model.singles[new], 1e-9)
        room = np.empty(len(chances) + 1, dtype=np.int64)
        deal(given, chances, room, deck, codes[names.index(new)], _state(random))
    return codes


@dataclass(frozen=True, eq=False)
class _Around:
    """The positions of one attribute's tables among all tables: see :func:`update`."""

    others: Integers
    bases: Integers
    steps: Integers
    strides: Integers


def fit(
    codes: Codes,
    sides: Mapping[str, int],
    tables: Mapping[Pair, Reals],
    random: np.random.Generator,
) -> None:
    """Change rows, a few at a time, until their tables of pairs are close to all *tables* together.

    After the gradual update of Zhang et al., "PrivSyn: differentially private data synthesis", USENIX Security 2021.
    There a row is changed to improve one table; here only if all tables together then fit better.
    """
    names, rows = list(sides), codes.shape[1]
    gaps, around = _layout(codes, sides, tables)
    state, starts = _state(random), np.empty(len(names), dtype=np.int64)
    lines = np.ascontiguousarray(codes.T)
    sweeps = max(FEWEST_SWEEPS, min(MOST_SWEEPS, WORK // len(names) ** 2))
    for _ in range(sweeps if rows else 0):
        changed = 0
        for own in random.permutation(len(names)):
            near = around[int(own)]
            if near.others.size:
                side = sides[names[own]]
                changed += update(
                    lines, own, side, near.others, near.bases, near.steps, near.strides, gaps, starts, state
                )
        if changed < SETTLED * rows:
            break
    codes[:] = lines.T


def _layout(codes: Codes, sides: Mapping[str, int], tables: Mapping[Pair, Reals]) -> tuple[Gaps, list[_Around]]:
    """The surplus of rows in each cell, all tables concatenated, and the positions of each attribute's tables."""
    names, rows = list(sides), codes.shape[1]
    places: list[list[tuple[int, int, int, int]]] = [[] for _ in names]
    gaps, base = [], 0
    for (first, second), table in tables.items():
        row, column, mass = names.index(first), names.index(second), float(table.sum())
        if mass <= 0:
            continue
        gaps.append((counted(codes, row, column, table.shape) - table * (rows / mass)).ravel())
        places[row].append((column, base, 1, table.shape[1]))
        places[column].append((row, base, table.shape[1], 1))
        base += table.size
    columns = [np.array(place, dtype=np.int64).reshape(-1, 4).T.copy() for place in places]
    # in 32 bits, so that all of it stays in the processor's cache; gaps are small numbers
    joined = np.concatenate(gaps) if gaps else np.zeros(0)
    return joined.astype(np.float32), [_Around(*column) for column in columns]


def counted(codes: Codes, first: int, second: int, shape: tuple[int, ...]) -> Reals:
    """The table of two attributes, counted in rows."""
    cells = codes[first].astype(np.int64) * shape[1] + codes[second]
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def _state(random: np.random.Generator) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    return random.integers(0, 1 << 64, size=1, dtype=np.uint64)


ROWS_AT_A_TIME = 1 << 17
"""Rows are generated in parts of at most this size, so that memory does not grow with their number."""
_MOST_THREADS = 4


def sampled_codes(model: PairModel, rows: int, *, seed: int | None = None) -> Iterator[Codes]:
    """Rows in parts: arrays of cell numbers with a column for each attribute.

    The forest is followed from attribute to attribute, so that its pairs are right up to rounding. Then rows are fitted
    to the tables of all pairs, which also removes the randomness of the sample. It costs no privacy. The same seed
    gives the same rows; without a seed they differ every time.

    >>> singles = {"a": np.array([6.0, 2.0]), "b": np.array([4.0, 4.0])}
    >>> model = PairModel.of(singles, {("a", "b"): np.array([[4.0, 2.0], [0.0, 2.0]])})
    >>> (codes,) = sampled_codes(model, 8, seed=1)
    >>> np.unique(codes, axis=0, return_counts=True)[1].tolist()
    [4, 2, 2]
    """
    wanted = whole(rows, "rows", 0)
    key = secrets.randbits(63) if seed is None else whole(seed, "seed", 0)
    return _parts(refined(model), wanted, key)


def _parts(model: PairModel, wanted: int, key: int) -> Iterator[Codes]:
    """The parts in their order. Each has random numbers of its own, so that threads can generate parts in advance."""
    tables, parts = model.all_pairs(), -(-wanted // ROWS_AT_A_TIME)

    def part(number: int) -> Codes:
        count = wanted * (number + 1) // parts - wanted * number // parts
        random = np.random.default_rng([key, number])
        codes = along_forest(model, count, random)
        fit(codes, model.sides, tables, random)
        return np.ascontiguousarray(codes.T)

    threads = min(_MOST_THREADS, os.cpu_count() or 1, parts)
    if threads <= 1:
        yield from map(part, range(parts))
        return
    pool, waiting = ThreadPoolExecutor(threads), deque[Future[Codes]]()
    try:
        for number in range(parts):
            waiting.append(pool.submit(part, number))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, eq=False)
class ModelRows:
    """A model as a source of rows."""

    model: PairModel

    def codes(self, rows: int, seed: int | None) -> Iterator[Codes]:
        """See :func:`sampled_codes`."""
        return sampled_codes(self.model, rows, seed=seed)

    def tables(self) -> dict[tuple[str, ...], Reals]:
        """The tables that the rows are compared with: all pairs, or the only attribute."""
        tables: dict[tuple[str, ...], Reals] = dict(self.model.all_pairs().items())
        return tables or {(name,): table for name, table in self.model.singles.items()}


_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_THIRTY, _TWENTY_SEVEN, _THIRTY_ONE, _ELEVEN = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@compiled
def uniform(state: State) -> float:
    """A number of at least 0 and below 1, by Steele, Lea and Flood's SplitMix64 (OOPSLA 2014)."""
    state[0] += _STEP
    bits = state[0]
    bits = (bits ^ (bits >> _THIRTY)) * _FIRST
    bits = (bits ^ (bits >> _TWENTY_SEVEN)) * _SECOND
    bits = bits ^ (bits >> _THIRTY_ONE)
    return float(bits >> _ELEVEN) / 9007199254740992.0


@compiled
def deal(known: Codes, table: Reals, starts: Integers, deck: Codes, new: Codes, state: State) -> None:
    """A value of a second attribute for every row, given the value of a first one, with as little randomness as
    possible.

    Of the rows with value a, the number that gets value b is ⌊C_b + u⌋ − ⌊C_{b−1} + u⌋, where C_b is the expected
    number of values up to b and u is one uniform number: right on average, and always off by less than one. The values
    are shuffled among the rows. *starts*, one longer than the table, and *deck*, as long as the rows, are buffers.
    """
    values, others = table.shape
    for value in range(values + 1):
        starts[value] = 0
    for row in range(known.size):
        starts[known[row] + 1] += 1
    for value in range(values):
        starts[value + 1] += starts[value]
    for value in range(values):
        begin, end = starts[value], starts[value + 1]
        if end == begin:
            continue
        mass = 0.0
        for other in range(others):
            mass += table[value, other]
        place, sums, offset = begin, 0.0, uniform(state)
        for other in range(others):
            sums += table[value, other]
            upto = end if other == others - 1 else begin + int((end - begin) * (sums / mass) + offset)
            while place < min(upto, end):
                deck[place] = other
                place += 1
        for place in range(end - 1, begin, -1):
            chosen = begin + int(uniform(state) * (place + 1 - begin))
            deck[place], deck[chosen] = deck[chosen], deck[place]
    for row in range(known.size):
        new[row] = deck[starts[known[row]]]
        starts[known[row]] += 1


@compiled
def _drawn(gaps: Gaps, base: int, stride: int, values: int, state: State) -> int:
    """A value drawn in proportion to the rows missing in its cell; −1 if hardly any are."""
    missing = 0.0
    for value in range(values):
        missing += max(0.0, -gaps[base + value * stride])
    if missing <= 0.5:
        return -1
    until, sums, drawn = uniform(state) * missing, 0.0, -1
    for value in range(values):
        lack = -gaps[base + value * stride]
        if lack > 0:
            sums += lack
            drawn = value
            if sums >= until:
                break
    return drawn


@compiled
def update(
    codes: Codes,
    own: int,
    values: int,
    others: Integers,
    bases: Integers,
    steps: Integers,
    strides: Integers,
    gaps: Gaps,
    starts: Integers,
    state: State,
) -> int:
    """Give rows another value of the attribute *own* where all tables together then fit better; returns how many
    changed.

    The misfit is the sum over all tables and cells of (rows − wanted)², and *gaps* are rows − wanted for every cell.
    The tables of *own* with each of *others* begin at *bases*; in them, a step of the other's value is *steps* and a
    step of the own value is *strides*. For a row whose cells together have too many rows, a new value is tried twice:
    drawn by the rows missing in the table where its own cell has the largest surplus, then in a random table. It is
    accepted if the misfit falls. *codes* has a line for each row; *starts*, with an entry for each of *others*, is a
    buffer.
    """
    tables, changed = others.size, 0
    for row in range(codes.shape[0]):
        value, gain, most, fullest = codes[row, own], 0.0, -np.inf, 0
        for k in range(tables):
            starts[k] = bases[k] + codes[row, others[k]] * steps[k]
            gap = gaps[starts[k] + value * strides[k]]
            gain += 2 * gap - 1
            if gap > most:
                most, fullest = gap, k
        if gain <= -tables:
            continue
        for look in range(2):
            k = fullest if look == 0 else int(uniform(state) * tables)
            new = _drawn(gaps, starts[k], strides[k], values, state)
            if new < 0 or new == value:
                continue
            total = gain
            for k in range(tables):
                total -= 2 * gaps[starts[k] + new * strides[k]] + 1
            if total > 0:
                for k in range(tables):
                    gaps[starts[k] + value * strides[k]] -= 1
                    gaps[starts[k] + new * strides[k]] += 1
                codes[row, own] = new
                changed += 1
                break
    return changed
