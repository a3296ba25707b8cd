"""The loops of Greedy-H, compiled: one level of the tree at a time. Letters are those of :mod:`.greedy_h`."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Places, Reals
from adyton.compiling import compiled

_NOTHING = 1e-11
"""Where less than this part of the error depends on what happens inside a block, only the block is measured."""


@compiled
def best_share(inside: float, gain: float, total: float, outside: float) -> float:
    """The λ in [0, 1] with the least A/(1−λ)² + k·u/(1 + πu), for A, k, s and π in this order.

    With t = λ/(1−λ) and D = 1 + t²s + πs(1+t)² it is (1+t)²·(A + ks/D), and its derivative has the sign of the convex
    p(t) = A·D² − ks(ts − 1). So it rises, falls between the two zeros of p, if there are any, and rises: the least
    value is at 0 or at the second zero. Newton's steps approach that from the right, from where A(1+π)²t³ = k. There is
    no zero if ks² < 16A, since D ≥ 2t√s.
    """
    if inside <= 0:
        return 1.0 if total > 1 or gain == 0 else 0.0
    if gain * total * total <= 16 * inside:
        return 0.0
    t = (gain / (inside * (1 + outside) ** 2)) ** (1 / 3)
    for _ in range(100):
        depth = 1 + t * t * total + outside * total * (1 + t) ** 2
        value = inside * depth * depth - gain * total * (t * total - 1)
        slope = 4 * inside * depth * total * (t + outside * (1 + t)) - gain * total * total
        if slope <= 0:
            return 0.0
        step = value / slope
        t -= step
        if t <= 0:
            return 0.0
        if step <= 1e-8 * t:
            break
    depth = 1 + t * t * total + outside * total * (1 + t) ** 2
    reached = (1 + t) ** 2 * (inside + gain * total / depth)
    return t / (1 + t) if reached < inside + gain * total / (1 + outside * total) else 0.0


@compiled
def rise(
    below: Reals, cross: Reals, decay: float, context: Reals, step: float, share: Reals, parts: Reals, above: Reals
) -> None:
    """From the rows V, u and e of a level to those of the level above it.

    With a decay of at least 0 equation 9 chooses λ; otherwise the context, rows k and π, does, and ``share`` goes this
    step towards it. Writes ``share``, the rows w_1 and w_2 of ``parts``, and ``above``.
    """
    for pair in range(cross.size):
        left, right = 2 * pair, 2 * pair + 1
        one, two = below[1, left], below[1, right]
        first, second = below[2, left], below[2, right]
        total = one + two
        parts[0, pair], parts[1, pair] = one / total, two / total
        apart = parts[0, pair] ** 2 * first + parts[1, pair] ** 2 * second
        together = 2 * parts[0, pair] * parts[1, pair] * cross[pair]
        inside = below[0, left] + below[0, right]
        nothing = _NOTHING * (inside + one * first + two * second)
        rest = inside + one * parts[1, pair] * (first + second - 2 * cross[pair])
        rest = rest if rest > nothing else 0.0
        if one * two == 0:
            share[pair] = 0.0
        elif decay >= 0:
            discounted = inside + one * parts[1, pair] * (first + second - 2 * decay * cross[pair])
            discounted = discounted if discounted > nothing else 0.0
            share[pair] = best_share(discounted, apart + decay * together, total, 0.0)
        else:
            share[pair] += step * (best_share(rest, context[0, pair], total, context[1, pair]) - share[pair])
        free = (1 - share[pair]) ** 2
        above[0, pair] = rest / free if rest > 0 else 0.0
        above[1, pair] = total / (free + share[pair] ** 2 * total)
        above[2, pair] = apart + together


@compiled
def fall(
    below: Reals,
    cross: Reals,
    share: Reals,
    own: Reals,
    by_own: Reals,
    frame: Reals,
    context: Reals,
    crossed: Reals,
    by_below: Reals,
    frame_below: Reals,
) -> None:
    """From the derivatives of the error by V, u and e of the blocks of a level to those of the level below it.

    ``own`` and ``below`` hold the rows V, u and e of both levels, ``frame`` the precision p from outside and the weight
    ρ. Writes the rows k and π of the context, the derivative by x, and what the level below needs; but what x and the
    w_c owe to blocks further below is left to the overlap.
    """
    for pair in range(cross.size):
        left, right = 2 * pair, 2 * pair + 1
        weight = frame[1, pair]
        context[1, pair] = frame[0, pair] / weight**2 if weight > 0 else 0.0
        context[0, pair] = weight**2 * by_own[1, pair] * (1 + context[1, pair] * own[1, pair]) ** 2
        one, two = below[1, left], below[1, right]
        total = one + two
        free = (1 - share[pair]) ** 2
        by_rest = by_own[0, pair] / free if free > 0 else 0.0
        by_total = by_own[1, pair] * free / (free + share[pair] ** 2 * total) ** 2
        by_apart = by_rest * one * two / total
        by_product = by_rest * (below[2, left] + below[2, right] - 2 * cross[pair]) / total**2
        energy = by_own[2, pair] / total**2
        pull = one * (below[2, left] - cross[pair]) - two * (below[2, right] - cross[pair])
        pull *= 2 * energy / total
        by_below[0, left] = by_below[0, right] = by_rest
        by_below[1, left] = by_total + by_product * two * two + pull * two
        by_below[1, right] = by_total + by_product * one * one - pull * one
        by_below[2, left] = by_apart + energy * one * one
        by_below[2, right] = by_apart + energy * two * two
        crossed[pair] = 2 * energy * one * two - 2 * by_apart
        known = frame[0, pair] + (share[pair] * weight) ** 2  # how well the sum is known, but for the inside
        squared = free * weight**2
        frame_below[0, left] = known * squared / (squared + known * two) if known > 0 else 0.0
        frame_below[0, right] = known * squared / (squared + known * one) if known > 0 else 0.0
        frame_below[1, left] = frame_below[1, right] = weight * (1 - share[pair])


@compiled
def cross_ranges(first: Places, last: Places, head: Reals, tail: Reals, pairs: int) -> Reals:
    """Σ α_1·α_2 over the ranges that begin or end in a pair of siblings, or both; a range spans blocks first … last."""
    sums = np.zeros(pairs)
    for number in range(first.size):
        begin, end = first[number] >> 1, last[number] >> 1
        if begin == end:
            if first[number] != last[number]:
                sums[begin] += head[number] * tail[number]
            continue
        if first[number] % 2 == 0:
            sums[begin] += head[number]
        if last[number] % 2 == 1:
            sums[end] += tail[number]
    return sums


@compiled
def merge_ranges(
    first: Places, last: Places, head: Reals, tail: Reals, left: Reals, right: Reals
) -> tuple[Reals, Reals]:
    """What each range holds of the parents of the blocks in which it begins and ends."""
    heads, tails = np.zeros(first.size), np.zeros(first.size)
    for number in range(first.size):
        begin, end = first[number] >> 1, last[number] >> 1
        if begin != end:
            even, odd = first[number] % 2 == 0, last[number] % 2 == 1
            heads[number] = left[begin] * head[number] + right[begin] if even else right[begin] * head[number]
            tails[number] = left[end] + right[end] * tail[number] if odd else left[end] * tail[number]
    return heads, tails


@compiled
def back_ranges(
    first: Places,
    last: Places,
    head: Reals,
    tail: Reals,
    left: Reals,
    right: Reals,
    crossed: Reals,
    by_head: Reals,
    by_tail: Reals,
) -> tuple[Reals, Reals, Reals]:
    """The derivatives by the heads and tails below, and by w_1 minus by w_2, from those above and by the overlaps."""
    heads, tails, pull = np.zeros(first.size), np.zeros(first.size), np.zeros(crossed.size)
    for number in range(first.size):
        begin, end = first[number] >> 1, last[number] >> 1
        if begin == end:
            if first[number] != last[number]:
                heads[number] = crossed[begin] * tail[number]
                tails[number] = crossed[begin] * head[number]
            continue
        above = by_head[number]
        if first[number] % 2 == 0:
            heads[number] = left[begin] * above + crossed[begin]
            pull[begin] += above * (head[number] - 1)
        else:
            heads[number] = right[begin] * above
            pull[begin] -= above * head[number]
        above = by_tail[number]
        if last[number] % 2 == 1:
            tails[number] = right[end] * above + crossed[end]
            pull[end] += above * (1 - tail[number])
        else:
            tails[number] = left[end] * above
            pull[end] += above * tail[number]
    return heads, tails, pull
