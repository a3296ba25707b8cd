"""How much a plan can take on: checked before its first measurement, because after it there is no way back."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from adyton.errors import BadInput
from adyton.queries import AllRange, Identity, Prefix, Queries, Ranges, Stack, Total
from adyton.queries.size import Size

if TYPE_CHECKING:
    from adyton.plans.base import Plan

MOST_CELLS = 1 << 22
"""How many cells a plan can have that looks at its answers cell by cell: minutes of work."""
MOST_PLAIN_CELLS = 1 << 25
"""How many cells a plan can have that only adds noise and solves for the cells."""
LARGEST_COEFFICIENT = 1 << 40
STEPS_INSIDE = 24
"""How many transformations, one after the other, a plan may make."""
_LEVELS = 8


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
