"""The cheap look that comes before a decision about pairs: the number of rows, single attributes, and one number more.

That number is β, how far independence is from the truth, on average over all pairs that matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.choice.bought import Bought
from adyton.kernel.mechanisms import MeanDistance
from adyton.kernel.sources import TableSource
from adyton.kernel.tables_source import TablesSource
from adyton.marginals.deciding import COUNT, Look, Outlook, look, occupied, outlook, single_shares
from adyton.marginals.estimating import estimated
from adyton.marginals.pair_model import PairModel
from adyton.marginals.program import ROWS, measured, note
from adyton.marginals.wanted import Wanted
from adyton.queries.measurement import Group, MeasuredTable

LARGEST_GUESS = 2.0**50
"""No cell is guessed to hold more rows."""


@dataclass(frozen=True, eq=False)
class Looked:
    """What a look told, and what it cost."""

    tables: TablesSource
    found: tuple[MeasuredTable, ...]
    """The single attributes."""
    seen: Outlook
    spent: Look
    shares: Mapping[Group, Fraction]
    """How all pairs would be measured."""
    bought: tuple[Bought, ...]


def looked(source: TableSource, wanted: Wanted, epsilon: Fraction) -> Looked:
    """Look at a table. What is not spent yet is ``.spent.rest`` of *epsilon*."""
    tables = source.tables(wanted.counted)  # how they are counted is planned before anything is paid for
    rows = source.count(COUNT * epsilon)
    counted = note(Bought.of(ROWS, "the number of rows", rows, COUNT * epsilon))
    spent = look(wanted.sides, float(rows.value), float(epsilon))
    found = measured(tables, single_shares(wanted.sides), spent.first * epsilon)
    model = guessed(wanted, found)
    guesses = {tables.place(*pair): np.minimum(model.predicted(pair), LARGEST_GUESS) for pair in wanted.pairs}
    price = spent.distance * epsilon
    beta = tables.mean_distance(MeanDistance.of(guesses), price)
    words = "how far independence is from a pair, in rows"
    bought = (counted, note(Bought.of("dependence", words, beta, price)))
    rest, known = float(spent.rest * epsilon), [(one.group, one.variance) for one in found]
    shares = wanted.shares(occupied(model, wanted.shares(), wanted.pairs, rest))
    seen = outlook(model, known, beta.value, float(epsilon), rest, shares, wanted.pairs)
    return Looked(tables, tuple(found), seen, spent, shares, bought)


def guessed(wanted: Wanted, found: Iterable[MeasuredTable]) -> PairModel:
    """What is thought of all pairs after some measurements."""
    return estimated(wanted.sides, found, ordered=wanted.ordered, passes=1).model
