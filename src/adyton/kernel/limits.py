"""What the kernel can be asked for at all: refused by public facts alone, before anything is spent.

A request that is charged and then fails has cost its budget for nothing. So query sets and mechanisms declare their
:class:`~adyton.queries.base.Size`, and what is beyond the limits, which are the same for everybody, is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.queries import Queries
from adyton.queries.base import NOTHING, Size

if TYPE_CHECKING:
    from adyton.kernel.mechanisms import Mechanism

MOST_TRANSFORMS = 100
"""How many transformations there can be between the table and a source."""
MOST_PARTS = 1 << 17
"""How many parts a split can have: some seconds of work."""
LARGEST_STABILITY = 1 << 64
"""How many times its ε a measurement may cost; beyond, budgets would be numbers too long to compute with."""
MOST_BITS = 1000
"""How long a coefficient of a query can be: usual ones have a few bits."""
_ADVICE = "Ask fewer queries, or about fewer cells."
_LONGEST = 300


def check_request(operator: Mechanism, source: Any, epsilon: Fraction) -> None:
    """Refuse a measurement that is not allowed on this source, or that could not be carried out to its end."""
    operator.check(source)
    pending: Size = getattr(source, "pending", NOTHING)
    needed = operator.size(source, epsilon)
    needed = needed if pending is NOTHING else pending.then(needed)
    needed.check(lambda: f"a measurement ({described(operator)})", _ADVICE)


def check_queries(queries: Queries) -> None:
    """Refuse queries that cannot be answered in the memory and the time allowed, or whose numbers are monstrous."""
    queries.size().check(lambda: f"the answer to {described(queries)}", _ADVICE)
    bits = queries.largest_coefficient().bit_length()
    if bits > MOST_BITS:
        raise BadInput(
            f"these queries have coefficients of up to {bits:,} bits, allowed are {MOST_BITS:,}. Use smaller ones."
        )


def check_depth(lineage: Sequence[str], more: int = 1) -> None:
    """Refuse *more* transformations where there are as many already as can be followed."""
    if len(lineage) - 1 + more > MOST_TRANSFORMS:
        raise BadInput(
            f"this source was derived in {len(lineage) - 1} steps, allowed are {MOST_TRANSFORMS - more} here. Join "
            "some of them, for example several filters into one."
        )


def check_parts(parts: int) -> None:
    """Refuse a split into more parts than can be told apart in the time allowed."""
    if parts > MOST_PARTS:
        raise BadInput(
            f"a split into {parts:,} parts; at most {MOST_PARTS:,} are allowed. Group the cells with a Partition, or "
            "count all of them at once: vectorize() has every cell."
        )


def check_stability(stability: int) -> None:
    """Refuse a source whose measurements would cost a monstrous multiple of what they ask for."""
    if stability > LARGEST_STABILITY:
        raise BadInput(
            "measurements of this source would cost more than 2^64 times what they ask for. Use smaller coefficients, "
            "or fewer maps in a row."
        )


def described(operator: object) -> str:
    """An operator or query set in its own words, cut where there are too many of them.

    >>> described("noisy total" + " and noisy total" * 100)[-30:]
    'd noisy total and noisy total…'
    """
    text = str(operator)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
