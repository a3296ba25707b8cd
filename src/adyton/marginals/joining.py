"""Several releases of the same tables, put together: all that was measured goes into one least squares."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from adyton.errors import BadInput
from adyton.messages import listing
from adyton.result.combining import joint_receipt

if TYPE_CHECKING:
    from adyton.marginals.tables_release import TablesRelease


def joined(releases: Sequence[TablesRelease]) -> TablesRelease:
    """One release with the measurements of all: least squares weighs each by its noise."""
    first = releases[0]
    for what in ("task", "algorithm", "options"):
        different = [one for one in releases if getattr(one, what) != getattr(first, what)]
        if different:
            both = listing([str(getattr(one, what)) for one in (first, different[0])])
            raise BadInput(f"releases of tables are combined if they have the same {what}; these have {both}.")
    return replace(
        first,
        epsilon=sum((one.epsilon for one in releases), Fraction(0)),
        measured=tuple(table for one in releases for table in one.measured),
        why=f"{first.why}; put together from {len(releases)} releases",
        bought=tuple(look for one in releases for look in one.bought),
        receipt=joint_receipt([one.receipt for one in releases]),
        misfits=None,
        unfinished=next((one.unfinished for one in releases if one.unfinished), None),
        kept=None,
    )


def share_tables(one: TablesRelease, other: TablesRelease) -> bool:
    """Whether the same counts, from the same entries of a ledger, are in both."""
    return not set(one.receipt.entries).isdisjoint(other.receipt.entries) and any(
        left.group == right.group and np.array_equal(left.counts, right.counts)
        for left, right in itertools.product(one.measured, other.measured)
    )
