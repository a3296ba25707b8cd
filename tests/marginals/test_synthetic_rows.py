"""Synthetic rows have the tables of their model, come in parts, and are the same for the same seed."""

import numpy as np
import pytest
from rough_tables import PAIRS, SIDES, distance, measured, rows, table

from adyton.errors import BadInput
from adyton.marginals import refining as module
from adyton.marginals.estimating import estimated
from adyton.marginals.refining import deal, refined, sampled_codes
from adyton.result.rows import Comparison

DATA = rows()


@pytest.fixture(scope="module")
def model():
    return refined(estimated(SIDES, measured(DATA, PAIRS, epsilon=0.3)).model)


def test_rows_are_as_near_to_the_truth_as_the_tables(model):
    (codes,) = sampled_codes(model, len(DATA), seed=1)
    assert codes.shape == DATA.shape
    found = distance({pair: table(codes, pair) for pair in PAIRS}, DATA)
    assert found < 1.05 * distance(model.all_pairs(), DATA)


def test_parts_make_up_the_number_and_are_compared(model, monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_A_TIME", 3000)
    compared, sizes = Comparison(model.all_pairs(), list(model.singles)), []
    for codes in sampled_codes(model, 10_001, seed=2):
        compared.add(codes)
        sizes.append(len(codes))
        assert (codes >= 0).all()
        assert (codes < list(SIDES.values())).all()
    assert sum(sizes) == 10_001
    assert max(sizes) <= 3000
    assert np.mean(list(compared.distances().values())) < 0.01
    assert set(compared.distances()) == set(PAIRS)


def test_seeds_repeat_and_differ(model):
    draws = [np.concatenate(list(sampled_codes(model, 500, seed=seed))) for seed in (4, 4, 5, None)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    assert not np.array_equal(draws[0], draws[3])


def test_no_rows_and_bad_numbers(model):
    assert list(sampled_codes(model, 0)) == []
    with pytest.raises(BadInput, match="rows must be"):
        sampled_codes(model, -1)
    assert Comparison(model.all_pairs(), list(model.singles)).distances() == {}


def test_dealing_is_off_by_less_than_one():
    random = np.random.default_rng(3)
    chances, known = random.exponential(size=(3, 7)), random.integers(3, size=1000).astype(np.int32)
    new, state = np.empty(1000, dtype=np.int32), np.array([9], dtype=np.uint64)
    deal(known, chances, np.empty(4, dtype=np.int64), np.empty(1000, dtype=np.int32), new, state)
    for value in range(3):
        own = new[known == value]
        wanted = own.size * chances[value] / chances[value].sum()
        assert np.abs(np.bincount(own, minlength=7) - wanted).max() < 1
        assert np.abs(np.corrcoef(own, np.arange(own.size))[0, 1]) < 0.3  # shuffled, not sorted
