"""How much a plan can take on: checked before its first measurement, because after it there is no way back."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from adyton.errors import BadInput
from adyton.queries import AllRange, Identity, Marginals, Prefix, Queries, Ranges, Stack, Total
from adyton.queries.product_parts import product_parts
from adyton.queries.size import Size

if TYPE_CHECKING:
    from adyton.plans.base import Plan

MOST_CELLS = 1 << 22
"""How many cells a plan can have that looks at its answers cell by cell: minutes of work."""
MOST_LONG_CELLS = 1 << 24
"""How many cells a plan can have that looks at them block by block."""
MOST_PLAIN_CELLS = 1 << 25
"""How many cells a plan can have that only adds noise and solves for the cells."""
MOST_STRIPES = 1 << 12
"""How many stripes are measured one after the other: each takes some hundredths of a second."""
LARGEST_COEFFICIENT = 1 << 40
STEPS_INSIDE = 24
"""How many transformations, one after the other, a plan may make."""
SMALLEST_EPSILON = Fraction(1, 1 << 40)
_MOST_BITS = 1000
_LEVELS = 8

Effort: TypeAlias = Literal["light", "usual", "search", "dense"]
"""What it takes to find the queries that a plan measures, and its error: next to nothing, a look at every coefficient,
a numerical optimisation, or equations for all cells at once."""
_MOST_COEFFICIENTS = 1 << 24
_MOST_SEARCHED, _MOST_SEARCHED_BY_AXES = 1 << 14, 1 << 21
"""Up to how many cells an optimisation ends soon. Of marginals the weights are found on sets of axes, of products on
each axis by itself, not on cells."""


def soon(effort: Effort, workload: Queries) -> bool:
    """Whether so much effort for this workload takes a short time."""
    few = workload.cells * workload.count <= _MOST_COEFFICIENTS
    match effort:
        case "light":
            return True
        case "dense":
            return False
        case "search":
            by_axes = workload.cells <= _MOST_SEARCHED_BY_AXES and _by_axes(workload)
            return by_axes or (few and workload.cells <= _MOST_SEARCHED)
        case _:
            return few


@lru_cache(maxsize=16)
def _by_axes(workload: Queries) -> bool:
    """Whether it is made of marginals, or of products with short axes."""
    parts = product_parts(workload) if len(workload.domain) > 1 else None
    return isinstance(workload, Marginals) or (
        parts is not None and all(factor.cells <= _MOST_SEARCHED >> 1 for part in parts for factor in part.factors)
    )


def check_reach(epsilon: Fraction) -> None:
    """Refuse a budget with which a plan that divides it further could fail in the middle."""
    if epsilon < SMALLEST_EPSILON:
        raise BadInput("epsilon must be at least 2^-40 for every row that a person has: below, nothing can be told.")
    if max(epsilon.numerator.bit_length(), epsilon.denominator.bit_length()) > _MOST_BITS:
        raise BadInput(f"epsilon has more than {_MOST_BITS} bits. Write it with fewer digits.")


def check_cells(plan: Plan, workload: Queries) -> None:
    """Refuse domains that are too large for the plan."""
    if workload.cells > plan.most_cells:
        others = "" if plan.most_cells == MOST_PLAIN_CELLS else ', or name an algorithm such as "identity" or "hb"'
        raise BadInput(
            f"{plan.name} takes up to {plan.most_cells:,} cells, given {workload.cells:,}. Choose fewer attributes, "
            f"declare fewer levels or bins{others}."
        )


def check_coefficients(workload: Queries) -> None:
    """Refuse a workload that asks nothing, or in numbers with which floating-point arithmetic ends in nonsense."""
    if workload.largest_coefficient() > LARGEST_COEFFICIENT:
        raise BadInput("the workload has coefficients above 2^40. Use smaller ones: only their proportions matter.")
    if not _asks(workload):
        raise BadInput("the workload asks nothing: all its coefficients are 0. Ask about at least one cell.")


@lru_cache(maxsize=16)
def _asks(workload: Queries) -> bool:
    return bool(workload._whole_form().column_sums().any())


def check_reading(plan: Plan, workload: Queries) -> None:
    """Refuse a workload that is written out, coefficient by coefficient, and is too large for that."""
    Size(0, _LEVELS * _coefficients(workload)).check(
        lambda: f"{plan.name} for {workload.count:,} queries on {workload.cells:,} cells",
        "Ask fewer queries, or name an algorithm that does not read them, such as identity.",
    )


def _coefficients(workload: Queries) -> int:
    """How many are written out: none of query sets that have shorter ways."""
    match workload:
        case Identity() | Total() | Prefix() | AllRange() | Ranges():
            return 0
        case Stack():
            return sum(map(_coefficients, workload.parts))
        case _:
            return workload.count * workload.cells
