"""Tables of three attributes or more that were measured themselves: around what their pairs say, by empirical Bayes."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.pairs import denoised_tables
from adyton.marginals.estimating import Estimated
from adyton.queries.measurement import Group
from adyton.solving.residuals import in_order


def wider_table(estimated: Estimated, group: Group) -> Reals | None:
    """The counts, an axis for each attribute in the order given; None for tables that were not measured.

    The prediction is what the pairs of the table say. Counts are not negative, and sum to the number of rows.
    """
    model, squares = estimated.model, estimated.squares
    if len(group) < 3 or in_order(group, model.sides) not in model.errors:
        return None
    predicted = model.table(*group).counts
    (shrunk,) = denoised_tables([squares.table(*group)], [predicted], [squares.variance(*group)])
    return np.asarray(shrunk * (model.total / max(float(shrunk.sum()), 1e-9)))
