"""How large a tree may grow, by public facts alone: what could fail later is refused before anything is spent."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.errors import BadInput
from adyton.exact import display
from adyton.learning.target import Target

_MOST_COUNTS = 1 << 22
"""How many counts the leaves of a tree may have in all."""
_MOST_SCORED = 1 << 25
"""How many counts may be looked at to choose the splits of a level."""
_MOST_CHOICES = 1 << 20
"""How many candidates the leaves of a level may have in all."""
LEAST_EPSILON = Fraction(1, 10**6)
"""Below, a count has noise of more than a million rows."""


def most_leaves(target: Target, *, scored: bool) -> int:
    """How many leaves a tree may have; fewer, if splits are chosen by scores of all of them."""
    classes, sizes = len(target.classes), target.schema.shape
    most = _MOST_COUNTS // classes
    if scored:
        most = min(most, _MOST_SCORED // (classes * sum(size + 1 for size in sizes)), _MOST_CHOICES // len(sizes))
    return max(most, 1)


def check_depth_of(target: Target, depth: int, *, scored: bool) -> None:
    """Refuse a depth at which a tree without any other limit could have too many leaves."""
    largest = sorted((size for size in target.schema.shape if size > 1), reverse=True)[:depth]
    leaves, splitting = math.prod(largest), math.prod(largest[:-1])
    if leaves > most_leaves(target, scored=False) or (scored and splitting > most_leaves(target, scored=True)):
        raise BadInput(
            f"a tree of depth {depth} can have {leaves:,} leaves with {len(target.classes)} classes here, allowed are "
            f"{most_leaves(target, scored=False):,}. Choose a smaller depth, or declare fewer levels or bins."
        )


def check_share(epsilon: Fraction, trees: int) -> None:
    """Refuse trees whose counts would be nothing but noise, however many rows there are."""
    if epsilon < LEAST_EPSILON:
        what = "a tree" if trees == 1 else f"one of {trees:,} trees"
        raise BadInput(
            f"{what} would measure with ε = {display(epsilon)}, which is noise of more than a million rows in every "
            f"count. {'Give more' if trees == 1 else 'Grow fewer trees, or give more'} budget."
        )
