"""The loops of Greedy-H, compiled: one level of the tree at a time. Letters are those of :mod:`.greedy_h`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.compiling import compiled

Reals = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
State = tuple[Reals, Reals, Reals]

_NOTHING = 1e-11
"""Where less than this part of the error depends on what happens inside a block, only the block is measured."""


@compiled
def best_share(inside: float, gain: float, total: float, outside: float) -> float:
    """The λ in [0, 1] with the least A/(1−λ)² + k·u/(1 + πu), for A, k, s and π in this order.

    With t = λ/(1−λ) and D = 1 + t²s + πs(1+t)² it is (1+t)²·(A + ks/D), and its derivative has the sign of the convex
    p(t) = A·D² − ks(ts − 1). So it rises, falls between the two zeros of p, if there are any, and rises: the least
    value is at 0 or at the second zero. Newton's steps approach that from the right, from where A(1+π)²t³ = k.
    """
    if inside <= 0:
        return 1.0 if total > 1 or gain == 0 else 0.0
    if gain <= 0:
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
        if step <= 1e-10 * t:
            break
    depth = 1 + t * t * total + outside * total * (1 + t) ** 2
    reached = (1 + t) ** 2 * (inside + gain * total / depth)
    return t / (1 + t) if reached < inside + gain * total / (1 + outside * total) else 0.0


@compiled
def rise(
    inside: Reals,
    variance: Reals,
    energy: Reals,
    cross: Reals,
    old: Reals,
    decay: float,
    gain: Reals,
    outside: Reals,
    step: float,
) -> tuple[Reals, State, tuple[Reals, Reals]]:
    """λ of each pair of siblings; V, u and e of their parents; and w_1, w_2.

    With a decay of at least 0 equation 9 decides, otherwise the context (k, π).
    """
    pairs = cross.size
    share, left, right = np.empty(pairs), np.empty(pairs), np.empty(pairs)
    parent_inside, parent_variance, parent_energy = np.empty(pairs), np.empty(pairs), np.empty(pairs)
    for pair in range(pairs):
        one, two = variance[2 * pair], variance[2 * pair + 1]
        first, second = energy[2 * pair], energy[2 * pair + 1]
        total = one + two
        left[pair], right[pair] = one / total, two / total
        apart = left[pair] ** 2 * first + right[pair] ** 2 * second
        together = 2 * left[pair] * right[pair] * cross[pair]
        below = inside[2 * pair] + inside[2 * pair + 1]
        scale = below + one * first + two * second
        rest = below + one * right[pair] * (first + second - 2 * cross[pair])
        if rest <= _NOTHING * scale:
            rest = 0.0
        if one * two == 0:
            chosen = 0.0
        elif decay >= 0:
            discounted = below + one * right[pair] * (first + second - 2 * decay * cross[pair])
            discounted = 0.0 if discounted <= _NOTHING * scale else discounted
            chosen = best_share(discounted, apart + decay * together, total, 0.0)
        else:
            chosen = best_share(rest, gain[pair], total, outside[pair])
            chosen = old[pair] + step * (chosen - old[pair])
        share[pair] = chosen
        free = (1 - chosen) ** 2
        parent_inside[pair] = rest / free if rest > 0 else 0.0
        parent_variance[pair] = total / (free + chosen * chosen * total)
        parent_energy[pair] = apart + together
    return share, (parent_inside, parent_variance, parent_energy), (left, right)


@compiled
def fall(
    inside: Reals,
    variance: Reals,
    energy: Reals,
    cross: Reals,
    adjoint_inside: Reals,
    adjoint_variance: Reals,
    adjoint_energy: Reals,
) -> State:
    """..."""
    return cross, cross, cross
