"""From noisy numbers to statistics: tails in closed form, bounds that hold at their rate, choices by expected error."""

from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.statistics import quantile_posterior
from adyton.statistics.grouped import GroupedNumbers, radius, tail
from adyton.statistics.parts import NoisyMoments, Part, reported
from adyton.statistics.programs import PROGRAMS, Choice, rank
from adyton.statistics.quantiles import rank_scales

TRIALS = 4000
SCHEMA = ad.Schema({"g": ad.Integer(0, TRIALS - 1), "x": ad.Integer(0, 1000)})


@pytest.mark.parametrize("scales", [[1.0], [1, 1], [1, 1, 1], [3, 1, 0], [2, 2, 0.5, 1e-12], [1] * 12])
def test_tails_of_sums(scales):
    """Against 200,000 seeded draws: a part of 5% is off by 5 deviations, .0025, in less than 1e-6 of all seeds."""
    drawn = np.abs(np.random.default_rng(3).laplace(0, 1, (200_000, len(scales))) @ np.array(scales))
    far = radius(np.array(scales, dtype=float), 0.95)
    assert np.mean(drawn > far) == pytest.approx(0.05, abs=0.0045)
    assert tail(np.array(scales, dtype=float), far) == pytest.approx(0.05, abs=1e-6)


def shares_of(values, degree, epsilon, seed):
    """Noisy shares of one set of values, once for each group: groups are trials here."""
    k = np.array(values, dtype=float)
    points = [1000 - k, k] if degree == 1 else [(1000 - k) ** 2, 2 * k * (1000 - k), k**2]
    noise = np.random.default_rng(seed).laplace(0, 1000**degree / epsilon, (TRIALS, degree + 1))
    return Part("shares", np.rint([point.sum() for point in points] + noise).astype(object), F(str(epsilon)))


@pytest.mark.parametrize(("rows", "epsilon"), [(20, 0.5), (3000, 1)])
def test_bounds_of_means_hold_at_their_rate(rows, epsilon):
    """95 ± 1.5 of 100 for the exact ones, with 4000 seeded trials (4.4 deviations); the error is as told."""
    values = np.clip(np.random.default_rng(rows).gamma(2, 100, rows).astype(int), 0, 1000)
    truth = {"count": rows, "mean": values.mean(), "variance": values.var(), "deviation": values.std()}
    for task, degree in ((ad.Mean("x", by="g"), 1), (ad.Variance("x", by="g"), 2)):
        numbers = GroupedNumbers.of(task, SCHEMA)
        for one in reported(numbers, [shares_of(values, degree, epsilon, degree)], 0.95):
            inside = np.mean((one.lower <= truth[one.name]) & (truth[one.name] <= one.upper))
            assert inside == pytest.approx(0.95, abs=0.015) if one.kind == "exact" else inside > 0.9
            off = np.sqrt(np.mean((one.estimate - truth[one.name]) ** 2))
            if rows * epsilon > 100:
                assert off == pytest.approx(np.sqrt(np.mean(one.error**2)), rel=0.1)
                expected = PROGRAMS.named("shares").errors(numbers, F(str(epsilon)))[one.name]
                assert one.name in ("variance", "deviation") or off == pytest.approx(
                    expected / (1 if one.name == "count" else rows), rel=0.2
                )


def test_quantiles_by_choice_hold_theirs_mostly():
    """Groups are trials: approximate bounds hold in 90 of 100 and are at most three times as wide as the errors need;
    the error is told within a factor of 1.5 afterwards, and within three tenths, in rows, before. Noise is seeded."""
    groups, rows, epsilon = 100, 1000, F(1, 2)
    schema = ad.Schema({"g": ad.Integer(0, groups - 1), "x": ad.Integer(0, 4999)})
    values = np.clip(np.random.default_rng(8).gamma(2, 1000, rows).astype(int), 0, 4999)
    codes = np.column_stack([np.repeat(np.arange(groups), rows), np.tile(values, groups)])
    kernel = ad.Kernel.simulated_table(codes, schema, epsilon=1, seed=5)
    numbers = GroupedNumbers.of(ad.Quantiles("x", "median", by="g"), schema)
    assert rank(numbers, epsilon).chosen == "choice"
    parts = list(PROGRAMS.named("choice").measuring(kernel.root, numbers, epsilon)())
    assert kernel.spent == epsilon
    (one,) = reported(numbers, parts, 0.95)
    truth = np.quantile(values, 0.5, method="inverted_cdf")
    assert np.mean((one.lower <= truth) & (truth <= one.upper)) > 0.9
    off = np.abs(one.estimate - truth)
    assert np.mean(one.upper - one.lower) < 3 * 2 * np.quantile(off, 0.95)
    assert 1 / 1.5 < np.sqrt(np.mean(one.error**2) / np.mean(off**2)) < 1.5
    ranks = np.searchsorted(np.sort(values), one.estimate) - rows / 2
    assert np.sqrt(np.mean(ranks**2)) == pytest.approx(
        PROGRAMS.named("choice").errors(numbers, epsilon)["50%"], rel=0.3
    )


def test_what_is_chosen():
    few = ad.Schema({"x": ad.Integer(0, 1), "y": ad.Integer(0, 999), "z": ad.Numeric(0, 1, bins=3)})

    def chosen(task):
        return rank(GroupedNumbers.of(task, few), F(1)).chosen

    assert chosen(ad.Mean("y")) == chosen(ad.Variance("z")) == "shares"
    assert chosen(ad.Sum("y")) == "sums"
    assert chosen(ad.Quantiles("y")) == "choice"
    assert chosen(ad.Quantiles("y", [part / 100 for part in range(1, 100)])) == "choice"  # by a tree
    assert chosen(ad.Summary("y")) == "shares-and-choice"
    assert chosen(ad.Summary("x")) == "histogram"  # two values: one histogram serves all


def test_ranges_with_too_many_cells():
    """Sums and means need no cells; for quantiles the sentence says what to do."""
    wide = ad.Schema({"x": ad.Integer(0, 10**12)})
    assert rank(GroupedNumbers.of(ad.Mean("x"), wide), F(1)).chosen == "shares"
    for task in (ad.Quantiles("x"), ad.Summary("x")):
        with pytest.raises(BadInput, match="Declare a larger"):
            rank(GroupedNumbers.of(task, wide), F(1))


@pytest.mark.parametrize("algorithm", ["cdf", "histogram", "choice"])
def test_every_way_to_quantiles(algorithm):
    schema = ad.Schema({"g": ad.Integer(0, 1), "x": ad.Integer(0, 63, nulls="level")})
    codes = np.column_stack([np.arange(6400) % 2, np.arange(6400) // 2 % 65])
    kernel = ad.Kernel.simulated_table(codes, schema, epsilon=50, seed=1)
    numbers = GroupedNumbers.of(ad.Quantiles("x", [0, "0.25", 0.5, 1], by="g"), schema)
    parts = list(PROGRAMS.named(algorithm).measuring(kernel.root, numbers, F(50))())
    for one, truth in zip(reported(numbers, parts, 0.95), (0, 16, 32, 63), strict=True):
        assert np.abs(one.estimate - truth).max() <= 1.5
        assert (one.lower <= one.estimate).all()
        assert (one.estimate <= one.upper).all()
    assert kernel.spent == 50


def test_bounds_of_a_quantile_that_all_rows_share():
    """Counts say that nothing lies on either side: the bounds are the cell, not the range."""
    schema = ad.Schema({"x": ad.Integer(0, 999)})
    kernel = ad.Kernel.simulated_table(np.full((5000, 1), 700), schema, epsilon=1, seed=5)
    numbers = GroupedNumbers.of(ad.Quantiles("x"), schema)
    parts = list(PROGRAMS.named("choice").measuring(kernel.root, numbers, F(1))())
    for one in reported(numbers, parts, 0.95):
        assert (one.lower[0], one.estimate[0], one.upper[0]) == (700, 700, 700)


def test_what_is_reported_of_small_groups():
    """A mean of hardly any rows is not off by more than the range; of many rows the error is the noise's."""

    def off(rows):
        numbers = GroupedNumbers.of(ad.Mean("x", rows=rows), SCHEMA)
        return PROGRAMS.named("shares").errors(numbers, F(1))["mean"] / rows

    assert off(1) < 500
    assert off(10**6) == pytest.approx(1000 * 1.189 / 0.96 / 10**6, rel=0.01)
    assert off(10) > off(20) > off(100)


def test_a_cell_is_wrong_more_often_where_choices_are_nested(monkeypatch):
    """With cells of equal size. The middle quartile is chosen among places, as if Laplace noise moved its rank in a
    cell, here of 10 rows. With 200,000 seeded draws a part is off by 5 deviations, .0055, in less than 1e-6 of all
    seeds."""
    monkeypatch.setattr(quantile_posterior, "SHARED", (1.0,))
    numbers = GroupedNumbers.of(ad.Quantiles("x", "quartiles"), SCHEMA)
    first, middle, _ = quantile_posterior._laws(rank_scales(numbers.task.quantiles, 1.0))
    draws = np.random.default_rng(8)
    moved = draws.uniform(0, 10, 200_000) + draws.laplace(0, middle.own, 200_000)
    assert middle.right(np.array(10.0)) == pytest.approx(np.mean((moved >= 0) & (moved <= 10)), abs=0.0055)
    assert (middle.before, middle.whole, first.whole) == (0, False, True)
    assert first.right(np.array(10.0)) < first._replace(before=0.0).right(np.array(10.0))


def test_a_single_quantile_of_all_rows_has_nearly_all_of_the_budget():
    """The three measurements add up to what is left for them, with one group after a rough mean."""
    for task, share in ((ad.Quantiles("x", "median"), F(19, 20)), (ad.Quantiles("x", "median", by="g"), F(22, 25))):
        budgets = Choice.split(GroupedNumbers.of(task, SCHEMA), F(1))
        assert (sum(budgets), budgets[1]) == (1, share)


def test_the_interval_of_a_mean_of_hardly_any_rows_does_not_collapse():
    """Noise of scale 10 in 2,000 groups of one row: none seems to have a mean that is known, and 95% hold (5 deviations
    are 2.4%). Where noise moves the ratio out of the range, the nearest mean still has bounds."""
    rows = np.array([[0.7, 0.3]]) + np.random.default_rng(1).laplace(0, 10, (2000, 2))
    moments = NoisyMoments(rows, np.array([0.0, 1.0]), np.array([0.0, 1.0]), 10.0, 0.0, 1.0, 0.0)
    found = moments.mean(0.95)
    assert (found.upper - found.lower).min() > 0.1  # before, one group in 500 had less
    assert ((found.lower <= 0.3) & (found.upper >= 0.3)).mean() > 0.95 - 0.024
