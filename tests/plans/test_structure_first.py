"""StructureFirst: what it spends, what it refuses, and how it measures inside buckets."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.plans import plan_named, simulate
from adyton.plans.base import CountsRows
from adyton.plans.published import lines
from adyton.plans.published.lines import _shrink
from adyton.queries import Identity, Prefix


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"buckets": 1},
        {"buckets": 33},
        {"buckets": 5, "longest": 33},
        {"longest": 9},
        {"clip": 1},
        {"clip": 10**6},
        {"structure_share": "1/2"},
        {"total_share": 0.3},
        {"total": 528},
    ],
    ids=str,
)
def test_every_option_spends_exactly_epsilon(options):
    kernel = Kernel.simulated(np.arange(33), epsilon=1, seed=0)
    plan_named("structure-first", **options).estimate(kernel.root, Prefix(33), "1/3")
    assert kernel.spent == F(1, 3)


@pytest.mark.parametrize(
    "options",
    [
        {"buckets": 0},
        {"buckets": 34},
        {"buckets": 2.5},
        {"longest": 0},
        {"longest": 34},
        {"clip": 0},
        {"clip": 2**40},
        {"structure_share": 1},
        {"total_share": 0},
    ],
    ids=str,
)
def test_bad_options_spend_nothing(options):
    kernel = Kernel.simulated(np.arange(33), epsilon=1, seed=0)
    with pytest.raises(BadInput, match=next(iter(options))):
        plan_named("structure-first", **options).estimate(kernel.root, Prefix(33), "1/3")
    assert kernel.spent == 0


def test_the_number_of_rows_is_bought_unless_it_or_the_clip_is_public(monkeypatch):
    bought = []
    honest = CountsRows.count_rows
    monkeypatch.setattr(
        CountsRows, "count_rows", lambda plan, *given: bought.append(plan.total) or honest(plan, *given)
    )
    for options in ({}, {"total": 528}, {"clip": 7}, {"buckets": 1}):
        kernel = Kernel.simulated(np.arange(33), epsilon=1, seed=0)
        plan_named("structure-first", **options).estimate(kernel.root, Identity(33), 1)
        assert kernel.spent == 1
    assert bought == [None, 528]


def test_a_long_line_is_cut_at_public_places(monkeypatch):
    """So that the work stays bounded: boundaries stand at every second cell, every third, …"""
    monkeypatch.setattr(lines, "_MOST_PLACES", 16)
    kernel = Kernel.simulated(np.arange(33), epsilon=1, seed=0)
    selection = plan_named("structure-first")._selection(kernel.root)
    assert (selection.step, selection.longest) == (3, 11)
    assert plan_named("structure-first", longest=7)._selection(kernel.root).longest == 3
    assert simulate("structure-first", np.arange(33), Identity(33), 1, seed=0).shape == (33,)


def test_shrinkage_keeps_sums_and_leaves_short_buckets_alone():
    cells = np.array([4.0, 6.0, 5.0, 5.0, 10.0, 90.0, 0.0, 1000.0, 0.0, 500.0, 20.0])
    bounds = np.array([0, 4, 6, 7, 11])
    shrunk = _shrink(cells, bounds, 2.0)
    np.testing.assert_allclose(shrunk[:4], 5.0)
    np.testing.assert_array_equal(shrunk[4:7], cells[4:7])
    np.testing.assert_allclose(np.add.reduceat(shrunk, bounds[:-1]), np.add.reduceat(cells, bounds[:-1]))
    assert np.abs(shrunk[7:] - cells[7:]).max() < 0.01
    np.testing.assert_array_equal(_shrink(np.zeros(11), bounds, 2.0), 0)


def test_even_buckets_have_smaller_errors_than_cell_by_cell():
    x = np.repeat([0, 40, 3, 0], [200, 56, 156, 100])
    errors = {
        name: np.linalg.norm(simulate(name, x, Identity(512), "0.5", seed=1, trials=20) - x, axis=1).mean()
        for name in ("structure-first", "identity")
    }
    assert errors["structure-first"] < 0.8 * errors["identity"]
