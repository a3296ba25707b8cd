"""The largest cells of a table, with bounds that stay right although the cells were picked out for being large."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adyton.errors import BadInput
from adyton.messages import listing
from adyton.result import frames
from adyton.result.interval import Interval
from adyton.result.lines import Lines
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.result.free_figures import FreeFigures


def largest_cells(release: FreeFigures, number: int, attributes: tuple[str, ...], confidence: float) -> Lines:
    """The cells with the largest counts, the largest first.

    Whoever looks at the largest of many noisy counts looks at those that noise made larger: intervals that hold for
    each cell by itself are wrong too often among them. So the bounds hold for all cells of the table together. Then a
    cell is certain to be among the *number* largest if fewer than *number* others may have as many rows.
    """
    most = whole(number, "number", 1)
    group = release.schema.check_names(attributes) if attributes else release.ranked_by
    if not group:
        raise BadInput(f'name the attributes whose cells are ranked, like top({most}, "{release.schema.names[0]}").')
    table = release.table(*group)
    counts = table.counts.ravel()
    order = np.argsort(-counts, kind="stable")[:most]
    found = release.bounds_together(group, confidence)
    lower, upper = np.minimum(found.lower.ravel(), counts), np.maximum(found.upper.ravel(), counts)
    if found.missing:
        lower, upper = np.full(counts.shape, -np.inf), np.full(counts.shape, np.inf)
    rivals = counts.size - np.searchsorted(np.sort(upper), lower[order]) - 1  # all whose upper bound reaches it
    labels = [column[order] for column in frames.labels(table.labels)]
    columns = dict(zip(group, labels, strict=True))
    values = {"count": counts[order], "lower": lower[order], "upper": upper[order], "certain": rivals < most}
    named = columns | {frames.free(name, columns): value for name, value in values.items()}
    return Lines(named, found.confidence, found.kind, found.missing or _meaning(found, group))


def _meaning(found: Interval, group: tuple[str, ...]) -> str:
    rate, what = f"{100 * found.confidence:g}", f"all true counts of {listing(group)} inside their bounds at once"
    if found.kind == "exact":
        return f"Of all releases made in this way, at least {rate} in 100 have {what}."
    return (
        f"The bounds are meant to have {what} in {rate} of 100 releases, but nobody guarantees it: how far off the "
        "counts are depends on the data, and was estimated."
    )
