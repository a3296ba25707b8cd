"""Tables that hold several pairs: every pair is in one, and the error of all pairs is less than without them."""

import itertools

import pytest

from adyton.solving.residuals import part_variances
from adyton.strategies.table_shares import MOST_CELLS, covering, table_shares


def error(sides, pairs, groups):
    shares = table_shares(sides, list(groups), asked=pairs)
    squares = part_variances(sides, [(group, 2 / float(share) ** 2) for group, share in shares.items()])
    return sum(sides[one] * sides[other] * squares.variance(one, other) ** 0.5 for one, other in pairs)


@pytest.mark.parametrize(("cells", "most"), [((2,) * 8, 0.6), ((3, 5, 4, 4, 3, 2), 0.85), ((40, 2, 30, 90), 1.0)])
def test_every_pair_is_covered_with_less_error(cells, most):
    sides = {f"x{place}": side for place, side in enumerate(cells)}
    pairs = list(itertools.combinations(sides, 2))
    groups = covering(sides, pairs)
    assert all(any({one, other} <= set(group) for group in groups) for one, other in pairs)
    assert error(sides, pairs, groups) <= most * error(sides, pairs, pairs) * (1 + 1e-6)


def test_large_tables_stay_pairs_and_others_are_left_out():
    wide = dict.fromkeys("abc", 200)
    assert set(covering(wide, [("a", "b"), ("b", "c")])) == {("a", "b"), ("b", "c")}
    assert all(200 ** len(group) <= max(MOST_CELLS, 200**2) for group in covering(wide, [("a", "b"), ("a", "c")]))
