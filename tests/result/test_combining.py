"""Several releases of one thing, put together: weights by noise, one interval, and nothing that is not the same."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas
import pytest
from small_table import releases

import adyton as ad
from adyton.errors import BadInput
from adyton.noise.simulated import discrete_laplace_variance, mixed_laplace_radius
from adyton.plans import simulate
from adyton.result.combining import averaged

RELEASE = releases(15)


def release_of(task, algorithm="identity", epsilon="0.5", number=0, **options):
    """A release with its own noise, as if it were entry *number* of a ledger."""
    made = RELEASE(task, algorithm, epsilon, **options)
    moved = made.estimate + np.random.default_rng(number).integers(-2, 3, made.estimate.shape)
    return replace(made, estimate=moved)


@pytest.fixture(scope="module")
def parts():
    return [release_of(ad.Histogram("age"), epsilon=one, number=place) for place, one in enumerate(("0.1", "0.2"))]


def test_each_counts_by_its_noise(parts):
    """Noise of ε = 0.1 has four times the variance of that of ε = 0.2, nearly: it counts a fifth."""
    both = ad.combine(parts)
    assert both.weights == pytest.approx((0.2, 0.8), abs=0.001)
    assert np.allclose(both.estimate, sum(w * one.estimate for w, one in zip(both.weights, parts, strict=True)))
    assert float(both.epsilon) == pytest.approx(0.3)
    assert both.expected_error.per_query < min(one.expected_error.per_query for one in parts)
    assert "counts 80%" in str(both.explain())
    assert "counts 80%" in str(both.explain())


def test_intervals_are_narrower_and_stay_exact(parts):
    both = ad.combine(parts)
    found, alone = both.interval(), parts[1].interval()
    assert found.kind == both.mean().kind == both.median().kind == "exact"
    assert ((found.upper - found.lower) < (alone.upper - alone.lower)).all()
    assert both.top(2).kind == "exact"


def test_intervals_hold_at_their_rate(parts):
    """2,000 seeded pairs and 16 cells, when 95% are promised: a run of all cells is off by half a point seldom."""
    both, truth = ad.combine(parts), np.zeros(16, dtype=int)
    far = both.interval().upper - both.estimate
    runs = [
        simulate("identity", truth, both.workload, one.epsilon, seed=9 + place, trials=2000)
        for place, one in enumerate(parts)
    ]
    errors = sum(weight * run for weight, run in zip(both.weights, runs, strict=True))
    assert 0.94 < (np.abs(errors) <= far).mean() < 0.965


def test_three_together_are_the_same_in_any_order_of_putting_together(parts):
    third = release_of(ad.Histogram("age"), epsilon="0.4", number=5)
    at_once, by_steps = ad.combine([*parts, third]), ad.combine([ad.combine(parts), third])
    assert len(at_once.parts) == len(by_steps.parts) == 3
    assert np.allclose(at_once.estimate, by_steps.estimate)
    assert at_once.weights == pytest.approx(by_steps.weights)
    assert sum(at_once.weights) == pytest.approx(1)


def test_other_algorithms_of_the_same_task(parts):
    tree = release_of(ad.Histogram("age"), "h2", "0.2", number=7)
    both = ad.combine([parts[1], tree])
    assert both.interval().kind == "exact"
    assert both.weights[0] > both.weights[1] > 0  # for single cells, nothing is better than to count them
    adaptive = ad.combine([parts[1], release_of(ad.Histogram("age"), "dawa", "0.2", number=8)])
    assert adaptive.interval().kind == "approximate"
    assert "formal guarantee" in adaptive.interval().meaning


def test_releases_of_tables_go_into_one_least_squares():
    made = [RELEASE(ad.Marginals(way=2), "all-pairs", one) for one in ("0.2", "0.4")]
    both = ad.combine(made)
    assert both.unbiased("age").errors < min(one.unbiased("age").errors for one in made)
    assert both.mean("age").kind == "exact"
    with pytest.raises(BadInput, match="given twice, number 2"):
        ad.combine([made[0], made[0]])


def test_it_is_kept(parts, tmp_path):
    both = ad.combine(parts)
    both.save(tmp_path / "both")
    again = ad.Release.load(tmp_path / "both")
    assert again.weights == pytest.approx(both.weights)
    assert np.allclose(again.estimate, both.estimate)
    assert np.allclose(again.interval().lower, both.interval().lower)


def of_another(one, **receipt):
    return replace(one, receipt=replace(one.receipt, **receipt))


@pytest.mark.parametrize(
    ("others", "words"),
    [
        (lambda one: [], "2 to 1,000 releases"),
        (lambda one: [3], "only releases of counts and of tables"),
        (lambda one: [one], "the same release is given twice, number 2"),
        (lambda one: [release_of(ad.Histogram("sex"))], "these are about 'age' and 'sex'"),
        (lambda one: [release_of(ad.Histogram("age", "sex"))], "these are about 'age' and 'age', 'sex'"),
        (lambda one: [replace(one, schema=ad.Schema({"age": ad.Integer(0, 16)}))], "declared in different ways"),
        (lambda one: [release_of(ad.Histogram("age"), where="sex == 'F'")], "the same rows"),
        (lambda one: [of_another(one, dataset="next year")], "the same data set"),
        (lambda one: [RELEASE(ad.Marginals(way=2), "all-pairs")], "of different kinds"),
    ],
)
def test_what_is_not_the_same_is_refused_in_a_sentence(parts, others, words):
    with pytest.raises(BadInput, match=words):
        ad.combine([parts[0], *others(parts[0])])


def test_what_was_not_measured_does_not_count():
    halves = RELEASE(ad.QueryList([{"age": (0, 7)}, {"age": (8, 15)}]), "identity", reduce=True)
    with pytest.raises(BadInput, match="do not follow from what was measured"):
        averaged([release_of(ad.Histogram("age"), number=3), halves])


def test_two_counts_are_one_with_less_noise(tmp_path):
    table = pandas.DataFrame({"age": [34, 51] * 500})
    session = ad.Session(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
    one, other = (session.release(ad.Count(), epsilon=epsilon) for epsilon in ("0.1", "0.3"))
    both = ad.combine([one, other])
    assert both.standard_deviations[0] < other.standard_deviations[0]
    assert both.radius() < other.radius()
    assert abs(both.value - 0.1 * one.value - 0.9 * other.value) < 1
    assert both.epsilon == one.epsilon + other.epsilon
    assert ad.change(both, session.release(ad.Count(), epsilon="0.1")).kind == "exact"
    both.save(tmp_path / "both")
    read = ad.load(tmp_path / "both")
    assert (read.value, read.radius(), len(read.parts)) == (both.value, both.radius(), 2)
    with pytest.raises(BadInput, match="given twice"):
        ad.combine([read, other])
    with pytest.raises(BadInput, match="same rows"):
        ad.combine([one, session.release(ad.Count(), epsilon="0.1", where="age > 40")])


def test_combined_counts_hold_at_their_rate():
    """400,000 seeded pairs with the noise of ε = 0.1 and 0.3."""
    table = pandas.DataFrame({"age": [34]})
    session = ad.Session(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
    both = ad.combine([session.release(ad.Count(), epsilon=epsilon) for epsilon in ("0.1", "0.3")])
    found = both.joint_law([None], 0.95).interval(np.ones((1, 1)))
    random, weights = np.random.default_rng(8), both._mixed[0]
    chances = 1 - np.exp([-0.1, -0.3])
    noise = random.geometric(chances, (400_000, 2)) - random.geometric(chances, (400_000, 2))
    assert 0.948 < (np.abs(noise @ weights) <= (found.upper - found.lower) / 2).mean() < 0.954


def test_the_interval_of_a_combined_count_holds_as_often_as_it_says():
    """Computed from both laws, also where noise is so small that the interval is 0 or 1 wide: nothing is drawn."""
    for one, other in (("0.5", "1.4"), ("1", "1"), ("2", "2"), ("3", "0.2"), ("1", "0.05"), ("0.7", "2.5"), ("4", "3")):
        scales = [1 / Fraction(epsilon) for epsilon in (one, other)]
        worth = 1 / discrete_laplace_variance(scales)
        weights = worth / worth.sum()
        laws = []
        for scale in scales:
            noise = np.arange(-int(40 * scale) - 1, int(40 * scale) + 2)
            chance = np.exp(-np.abs(noise) / float(scale))
            laws.append((noise, chance / chance.sum()))
        off = np.abs(weights[0] * laws[0][0][:, None] + weights[1] * laws[1][0])
        chances = np.outer(laws[0][1], laws[1][1])
        for rate in (0.5, 0.8, 0.9, 0.95, 0.99):
            far = mixed_laplace_radius(scales, weights, rate)
            assert chances[off < far + 0.5 - 1e-9].sum() >= rate
            assert far == 0 or chances[off < far - 1.5].sum() < rate
