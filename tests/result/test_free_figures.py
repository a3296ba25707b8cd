"""What follows from a release for nothing: right without noise, at the promised rate with it, or refused."""

import pickle
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction as F

import numpy as np
import pytest
from small_table import releases

import adyton as ad
from adyton.errors import AdytonError, BadInput
from adyton.plans import plan_named, simulate
from adyton.queries import AllRange, Identity
from adyton.result import figures
from adyton.result.figures import CellNumbers, Figure, numbered
from adyton.result.intervals import Interval, computed_quantiles, quantiles
from adyton.result.noise_model import NoiseModel

RELEASE = releases(39)
COUNTS = np.array([0, 3, 0, 5, 8, 1, 0, 3])


def no_noise(counts):
    """Bounds without any width."""

    def bounds(queries):
        answers = np.asarray(queries @ counts, dtype=float)
        return Interval(answers, answers, answers, 0.95, "exact")

    return bounds


def test_without_noise_the_figures_are_those_of_the_rows():
    numbers, rows = CellNumbers.of(ad.Integer(10, 17)), np.repeat(np.arange(10, 18), COUNTS)
    total = figures.sum_of(COUNTS * 1.0, numbers, no_noise(COUNTS))
    mean = figures.mean_of(COUNTS * 1.0, numbers, no_noise(COUNTS))
    assert total == total.lower == total.upper == rows.sum()
    assert mean == pytest.approx(rows.mean())
    assert mean.interval == pytest.approx((rows.mean(), rows.mean()), abs=1e-4)
    for part in (F(1, 10), F(1, 4), F(1, 2), F(9, 10)):
        value = figures.quantile_of(COUNTS * 1.0, numbers, part, no_noise(COUNTS))
        assert value == value.lower == value.upper == np.quantile(rows, float(part), method="inverted_cdf")


def test_bounds_hold_any_rows_of_the_cells():
    attribute = ad.Numeric(edges=[0, 1, 10, 12, 20, 50])
    counts, random = np.array([4, 0, 7, 2, 5]), np.random.default_rng(1)
    numbers, edges = CellNumbers.of(attribute), np.array(attribute.edges)
    cells = np.repeat(np.arange(5), counts)
    found = [
        figures.sum_of(counts * 1.0, numbers, no_noise(counts)),
        figures.mean_of(counts * 1.0, numbers, no_noise(counts)),
        figures.quantile_of(counts * 1.0, numbers, F(1, 2), no_noise(counts)),
    ]
    for draws in (0.0, 1.0, *random.random((50, cells.size))):
        rows = edges[cells] + np.diff(edges)[cells] * draws
        for figure, true in zip(found, (rows.sum(), rows.mean(), np.median(rows)), strict=True):
            assert figure.lower - 1e-9 <= true <= figure.upper + 1e-9


def test_exact_bounds_hold_at_their_rate():
    """Of 120 seeded releases, when 90% are promised: 77% are five deviations less."""
    truth = np.random.default_rng(2).poisson(np.exp(-np.square(np.arange(32) - 12) / 60) * 60)
    model = NoiseModel(plan_named("identity"), Identity(32), F(1, 5), np.zeros(32))
    numbers, rows = CellNumbers.of(ad.Integer(0, 31)), np.repeat(np.arange(32), truth)
    true = [rows.mean(), rows.sum(), np.quantile(rows, 0.5, method="inverted_cdf")]
    held = np.zeros(3)
    for cells in simulate(model.plan, truth, Identity(32), F(1, 5), seed=4, trials=120):

        def bounds(queries, cells=cells):
            return replace(model, estimate=cells).interval(queries, 0.9)

        found = [compute(cells, numbers, bounds) for compute in (figures.mean_of, figures.sum_of)]
        found.append(figures.quantile_of(cells, numbers, F(1, 2), bounds))
        held += [one.lower <= right <= one.upper for one, right in zip(found, true, strict=True)]
    assert (held / 120 > 0.77).all()
    assert (held[:2] / 120 < 0.99).all()


@pytest.fixture(scope="module")
def ages():
    return RELEASE(ad.Histogram("age", "sex"), epsilon="1")


def test_every_release_has_them(ages):
    linear = RELEASE(ad.Ranges("age"), "hb", "1")
    adaptive = RELEASE(ad.Ranges("age"), "dawa", "1")
    tables = RELEASE(ad.Marginals(way=1), "all-pairs", "1")
    for release, kind in ((ages, "exact"), (linear, "exact"), (adaptive, "approximate"), (tables, "exact")):
        for figure in (
            release.mean("age"),
            release.median("age"),
            release.sum("age"),
            *release.quantile([0.1, "0.9"], "age"),
        ):
            assert isinstance(figure, Figure)
            assert figure.kind == kind
            assert figure.lower <= figure <= figure.upper
            assert figure.what in figure.meaning
        assert release.mean("age") == pytest.approx(15.6, abs=1)
        curve = release.cdf("age")
        assert (np.diff(curve["cumulative_count"]) >= 0).all()
        assert curve["share"][-1] == 1
        assert curve.kind == kind
    assert ages.median("age", among={"sex": ["F", "M"]}) in (15, 16)
    assert tables.mean("age", among={"age": (0, 9)}) < 10


def test_the_largest_cells_are_certain_where_bounds_say_so(ages):
    top = ages.top(2, "sex")
    assert list(top.columns) == ["sex", "count", "lower", "upper", "certain", "chance"]
    assert len(list(top)) == len(top) == 2
    alone = ages.noise.interval(Identity(ages.schema.shape), 0.95)
    assert (ages.top(5)["upper"] - ages.top(5)["count"]).min() > (alone.upper - alone.estimate).min()
    everything = ages.top(1000)
    assert everything["certain"].all()
    assert len(everything) == ages.estimate.size
    assert not ages.top(1)["certain"].all() or ages.top(1)["lower"][0] > ages.top(2)["upper"][1]


def test_bounds_for_all_cells_at_once_hold_for_all():
    """99% of 1,000 seeded releases, when 90% are promised: sums of independent noises are rarely that far off."""
    for plan in ("identity", "hb"):
        model = NoiseModel(plan_named(plan), AllRange(16), F(1), np.zeros(16))
        far = model.interval(Identity(16), 0.9, together=True).upper
        runs = simulate(model.plan, np.zeros(16, dtype=int), AllRange(16), 1, seed=6, trials=1000)
        assert 0.87 < (np.abs(runs) <= far).all(axis=1).mean() <= 0.99


def test_what_was_not_measured_has_no_bounds():
    merged = RELEASE(ad.QueryList([{"age": (0, 9)}, {"age": (10, 39)}]), "identity", reduce=True)
    mean = merged.mean()
    assert not mean.bounded
    assert "not follow from what was measured" in mean.meaning
    assert merged.top(3).meaning == mean.meaning


def test_no_rows_have_no_mean():
    empty = replace(RELEASE(ad.Histogram("age")), estimate=np.full(40, -3.0))
    for figure in (empty.mean(), empty.median()):
        assert np.isnan(figure)
        assert figure.interval == (0, 39)
        assert figures.NO_ROWS in figure.meaning


TIMES = ad.Schema(
    {
        "day": ad.Date("2024-02-26", "2024-03-10", by="week"),
        "at": ad.Datetime("2024-02-26", "2024-02-27", by="hour"),
        "wait": ad.Duration(0, 90, bins=3, unit="minutes"),
        "hour": ad.Datetime(by="hour of day"),
    }
)


def test_a_mean_of_dates_is_a_date_and_of_durations_a_duration():
    def mean_of(name, counts):
        return figures.mean_of(np.array(counts) * 1.0, CellNumbers.of(TIMES.attributes[name]), no_noise(counts))

    day, at, wait = mean_of("day", [10, 10]), mean_of("at", [1] * 48), mean_of("wait", [0, 5, 0])
    assert (day.value, day.bounds) == (date(2024, 3, 4), (date(2024, 2, 29), date(2024, 3, 7)))
    assert str(day) == "2024-03-04 (2024-02-29 to 2024-03-07, 95% exact)"
    assert at.value == datetime(2024, 2, 27)
    assert abs(at.bounds[0] - datetime(2024, 2, 26, 23, 30)) <= timedelta(seconds=1)
    assert (wait.value, wait.form.text(wait)) == (timedelta(minutes=45), "45 minutes")
    again = pickle.loads(pickle.dumps(day))
    assert (again.value, again.interval) == (day.value, day.interval)
    assert mean_of("day", [0, 0]).value is None


@pytest.mark.parametrize(
    ("name", "what", "words"),
    [("day", "sum", "day has dates or times, which have no sum"), ("hour", "mean", "hour has no numbers")],
)
def test_what_dates_do_not_have(name, what, words):
    with pytest.raises(BadInput, match=words):
        numbered(TIMES, name, what)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda one: one.mean("sex"), "sex has no numbers, so that it has no mean"),
        (lambda one: one.quantile(1.5, "age"), "less than 1, given 1.5"),
        (lambda one: one.quantile(0, "age"), "greater than 0"),
        (lambda one: one.quantile(["a"], "age"), "q must be a finite number"),
        (lambda one: one.median("agee"), "Did you mean 'age'"),
        (lambda one: one.mean("age", among=[{"sex": "F"}, {"sex": "M"}]), "among takes one query"),
        (lambda one: one.mean("age", among={"sex": "X"}), "no value of sex 'X'"),
        (lambda one: one.top(0), "number must be a whole number of at least 1"),
        (lambda one: one.top(1, "town"), "no attribute 'town'"),
        (lambda one: one.cdf("sex"), "no distribution"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(ages, ask, words):
    with pytest.raises(AdytonError, match=words):
        ask(ages)


def test_the_attribute_is_left_out_only_where_one_has_numbers():
    with pytest.raises(BadInput, match="none of 'sex' has numbers"):
        RELEASE(ad.Histogram("sex")).mean()


def test_the_usual_quantiles_are_what_is_computed():
    assert np.allclose(quantiles(0.95), computed_quantiles(0.95), atol=1e-6)
