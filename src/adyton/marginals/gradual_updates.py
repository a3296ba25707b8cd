"""The loops behind synthetic rows: dealing values by a table, and moving rows until a table fits better."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled

Codes = npt.NDArray[np.int32]
"""The numbers of cells, one for each row."""
Gaps = npt.NDArray[np.float32]
"""What each cell of a table has too many."""
State = npt.NDArray[np.uint64]
"""One number of 64 bits: where a stream of random numbers stands."""

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
    """A value of a second attribute for every row, by the value of a first one, with as little chance as can be.

    Of the rows with value a, the number that gets value b is ⌊C_b + u⌋ − ⌊C_{b−1} + u⌋, where C_b is what should come
    up to b and u is one uniform number: right on average, and never off by one. Which rows get which is shuffled.
    *starts*, one longer than the table, and *deck*, as long as the rows, are room to work in.
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
    """A value in proportion to what is missing in its cell; −1 if hardly anything is."""
    missing = 0.0
    for value in range(values):
        missing += max(0.0, -gaps[base + value * stride])
    if missing <= 0.5:
        return -1
    until, sums, found = uniform(state) * missing, 0.0, -1
    for value in range(values):
        lack = -gaps[base + value * stride]
        if lack > 0:
            sums += lack
            found = value
            if sums >= until:
                break
    return found


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
    """Give rows another value of the attribute *own* where all tables together then fit better; how many changed.

    Fit is the sum over all tables and cells of (rows − wanted)², and *gaps* are the rows − wanted of every cell. The
    tables of *own* with each of *others* begin at *bases*; there, the other's value counts *steps* and the own one
    *strides*. A row whose cells have on the whole too many rows is looked at twice: a value is drawn by what is missing
    in the table where its own cell has most too many, then in a random one; it is taken if the fit improves by it.
    *codes* has a line for each row; *starts*, one for each of *others*, is room to work in.
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
