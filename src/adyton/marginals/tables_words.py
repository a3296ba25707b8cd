"""A release of many tables explained in words, for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from adyton.exact import display
from adyton.marginals.program import ROWS
from adyton.marginals.table_errors import how_got, total_variation

if TYPE_CHECKING:
    from adyton.marginals.tables_release import TablesRelease


def way_in_words(release: TablesRelease) -> str:
    """What was measured, and why."""
    if not release.bought:
        return f"Algorithm: {release.algorithm}, as asked: {release.why}."
    looks = [one for one in release.bought if one.name != ROWS]
    if not looks:
        rows = release.bought[0]
        about = f"about {rows.value:,.0f} rows (± {rows.deviation:,.3g}, noisy)"
        return f"Algorithm: {release.algorithm}, as asked: {release.why}, for {about}."
    look = looks[0]
    price = display(look.spent * release.rows_per_unit)
    return (
        f"Algorithm: {release.algorithm}, chosen after the tables of single attributes and a look at {look.words} "
        f"({look.value:,.6g} ± {look.deviation:,.3g}, noisy), for ε = {price}: {release.why}."
    )


def errors_in_words(release: TablesRelease) -> str:
    """In parts of all rows, as total variation: the unit in which tables can be compared."""
    model = release.model
    known = [error for group in release.groups if (error := total_variation(model, group)) is not None]
    counted = Counter(how_got(model, group) for group in release.groups)
    ways = ", ".join(f"{number:,} {how}" for how, number in counted.most_common())
    if not known:
        return f"Tables: {ways}. Their errors depend on the data and have no closed form."
    rest = "" if len(known) == len(release.groups) else " The error of the others depends on what was not measured."
    return (
        f"Tables: {ways}. Expected error of {len(known):,} of them: at most {100 * float(np.mean(known)):.2g}% of all "
        f"rows are in a wrong cell, on average (total variation).{rest} errors() has each."
    )
