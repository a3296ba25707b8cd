"""Tables of so many rows that a score would wrap around in 64 bits: one row more would then change it beyond any bound.

Where every row of a table with m × m cells lies on the diagonal, c rows in each cell of it, n·R is c·(m − 1).
"""

import math
from fractions import Fraction

import numpy as np

from adyton.kernel.counts import CountedTables
from adyton.kernel.mechanisms.published.parent_choice import GRID, ParentChoice, _score
from over_cases import over

SIDE = 64


def diagonal(rows: int, more: int = 0):
    table = np.diag(np.full(SIDE, rows))
    table[np.arange(more), np.arange(more)] += 1
    return table


@over(range(20, 55))
def test_one_row_moves_a_score_by_no_more_than_is_claimed(bits: int) -> None:
    for rows in (1 << bits, (1 << bits) * 3 // 2):
        assert _score(diagonal(rows), 0) == GRID * rows * (SIDE - 1)
        scores = [_score(diagonal(rows, more), 0) for more in (0, 1, 31, 32, 63, 64)]
        for before, after in (scores[0:2], scores[2:4], scores[4:6]):
            assert abs(after - before) <= 2 * GRID


def test_the_choice_of_parents_sees_the_scores_of_neighbours_alike() -> None:
    """At 2.2 thousand million rows the sum over cells is 2^63 for one of them and less for the other."""
    seen = []

    class Noise:
        private = False

        def permute_and_flip(self, scores, sharpness) -> int:
            seen.append([int(score) for score in scores])
            return 0

    groups, shapes = (("a",), ("b",), ("a", "b")), ((SIDE,), (SIDE,), (SIDE, SIDE))
    rows = math.isqrt((1 << 63) // (2 * SIDE * (SIDE - 1)))
    for more in range(SIDE + 1):
        table = diagonal(rows, more)
        tables = [table.sum(axis=1), table.sum(axis=0), table]
        data = CountedTables(lambda tables=tables: tables, groups, shapes)
        ParentChoice((0, 1, 2), "a").draw(data, Fraction(1), Noise(), 1)
    moved = np.abs(np.diff(np.array(seen, dtype=object), axis=0))
    assert moved.max() <= 2 * GRID
