"""Comparisons of released numbers hold at their rate where answers depend on each other, and say what they mean."""

import json
import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from small_table import releases
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import BadInput
from adyton.noise import SimulatedNoise
from adyton.plans import plan_named, simulate
from adyton.queries import Ranges
from adyton.result.comparing import Comparison
from adyton.result.joint_law import CellLaw, fieller
from adyton.result.noise_model import NoiseModel

RELEASE = releases(39)


@pytest.fixture(scope="module")
def ages():
    return RELEASE(ad.Histogram("age", "sex"))


@pytest.fixture(scope="module")
def tables():
    return RELEASE(ad.Marginals(way=2), "all-pairs", "1")


class Apart(CellLaw):
    """The same answers, as if their errors were independent."""

    def interval(self, weights):
        ends = super().interval(np.eye(self.queries.count))
        middle, reach = weights @ ends.estimate, np.sqrt(np.square(weights) @ np.square(ends.upper - ends.estimate))
        return replace(ends, estimate=middle, lower=middle - reach, upper=middle + reach)


@pytest.mark.parametrize(("covariances", "least", "most"), [(CellLaw, 915, 985), (Apart, 999, 1000)])
def test_strongly_correlated_answers_need_their_covariance(covariances, least, most):
    """Parts of 15 in 16 cells, and pairs of sums that share 14 of 16 cells: 1,000 of each, independent, in seeded
    releases. At 95% the number of intervals that hold has a deviation of 7, and five are allowed: a false alarm is less
    likely than 1e-6. If covariances are left out, all of them hold, because they are four times too wide."""
    blocks, cells = 250, 250 * 18
    starts, plan, x = np.arange(0, cells, 18), plan_named("identity"), np.full(cells, 500)
    whole = ad.workloads.Identity(cells)
    first, last = np.concatenate([starts, starts, starts + 2]), np.concatenate([starts + 14, starts + 15, starts + 17])
    queries = Ranges(cells, first[:, None], last[:, None])
    a, b, c = np.vsplit(np.eye(3 * blocks), 3)
    shares = differences = 0
    for estimate in simulate(plan, x, whole, F(1, 10), seed=4, trials=4):
        model = NoiseModel(plan, whole, F(1, 10), estimate)
        law = covariances(words=(), confidence=0.95, noise=model, queries=queries)
        lower, upper, _ = fieller(law, a, b)
        shares += int(((lower <= 15 / 16) & (upper >= 15 / 16)).sum())
        interval = law.interval(b - c)
        differences += int(((interval.lower <= 0) & (interval.upper >= 0)).sum())
    assert least <= shares <= most
    assert least <= differences <= most


def test_a_comparison_says_what_it_means(ages):
    share = ages.share({"sex": "F"})
    assert isinstance(share, Comparison)
    assert 0 <= share.lower < share.estimate < share.upper <= 1
    assert share.kind == "exact"
    assert "% of all rows are sex F, in 95 of 100 releases" in share.meaning
    assert float(share) == share.estimate
    assert share.meaning in share._repr_html_()
    ratio, back = ages.ratio({"sex": "F"}, {"sex": "M"}), ages.ratio({"sex": "M"}, {"sex": "F"})
    assert ratio.interval == pytest.approx((1 / back.upper, 1 / back.lower), rel=1e-3)
    assert "times as many rows as sex M" in ratio.meaning
    assert ages.ratio({"age": (0, 9)}, {"age": (0, 9)}).interval == pytest.approx((1, 1))
    rate = ages.rate({"sex": "F"}, of={"sex": "M"}, per=100)
    assert rate.interval == pytest.approx([100 * end for end in ratio.interval])
    known = ages.rate({"sex": "F"}, of=5000)
    assert known.estimate == pytest.approx(ages.answer({"sex": "F"})[0] / 5)
    assert known.to_plain()["upper"] == known.upper


def test_groups_of_levels_are_one_group():
    ages = RELEASE(ad.Histogram("age"))
    both = ages.difference(list(range(10, 20)), (20, 29))
    assert both.estimate == pytest.approx(ages.answer((10, 19))[0] - ages.answer((20, 29))[0])
    assert ages.above((10, 19), (20, 39)) == "yes"
    assert ages.above((0, 4), (10, 19)) == "no"
    assert RELEASE(ad.Histogram("age"), epsilon="0.01").above(15, 16) == "undecided"


def test_a_denominator_that_may_be_0_has_no_bounds():
    ages = RELEASE(ad.Histogram("age"), epsilon="0.01")
    for found in (ages.ratio((10, 19), 0), ages.share((0, 0), (0, 1)), ages.rate(of=(0, 1))):
        assert not found.bounded
        assert found.upper == math.inf
        assert found.meaning.startswith("No bounds") or "at least" in found.meaning
        assert found.note.startswith("No ")
        assert found.to_plain()["upper"] is None


def test_tables_know_their_covariances(tables):
    """1,000 drawn errors: a correlation of 0 has a deviation of 0.032; six are allowed."""
    asked = [{"sex": "F", "smokes": False}, {"sex": "F", "smokes": True}, {"sex": "M", "smokes": False}]
    found, drawn = tables.covariances(asked), tables.errors_together(("sex", "smokes"))[:, :3]
    scale = np.sqrt(np.diag(found))
    assert np.abs((drawn.T @ drawn / len(drawn) - found) / np.outer(scale, scale)).max() < 0.3
    share = tables.share({"sex": "F", "smokes": True}, {"sex": "F"})
    assert share.kind == "exact"
    assert share.estimate == pytest.approx(0.3, abs=0.05)
    assert tables.ratio({"sex": "F"}, {"smokes": True}).bounded
    assert list(tables.top(2, "sex")["chance"]) == pytest.approx([1, 0.75], abs=0.25)


def test_after_loading_they_are_the_same(ages, tmp_path):
    ages.save(tmp_path / "release")
    again, asked = ad.load(tmp_path / "release"), [{"sex": "F"}, {}]
    assert np.array_equal(again.covariances(asked), ages.covariances(asked))
    assert again.share({"sex": "F"}) == ages.share({"sex": "F"})
    with pytest.raises(BadInput, match="the same release is given twice"):
        ad.change(ages, again, [{}])


def year(rows, seed, task, algorithm=None):
    import pandas as pd

    table = pd.DataFrame({"ward": ["heart"] * rows + ["eyes"] * 3000, "age": [30, 50] * (rows // 2) + [40] * 3000})
    schema = ad.Schema({"ward": ad.Categorical(["heart", "eyes"]), "age": ad.Integer(0, 99)})
    session = ad.Session(table, schema=schema, epsilon=2, noise=SimulatedNoise(seed))
    return session.release(task, "0.5", **({"algorithm": algorithm} if algorithm else {}))


def test_changes_from_one_release_to_the_next():
    found = ad.change(*(year(rows, rows, ad.Histogram("ward")) for rows in (2000, 3000)))
    assert found["query"].tolist() == ["ward heart", "ward eyes"]
    assert found["lower"][0] < 1000 < found["upper"][0]
    assert found["change_lower"][0] < 0.5 < found["change_upper"][0]
    assert found["in_words"][0].startswith("up 4")
    assert found.kind == "exact"
    alone = year(2000, 1, ad.Histogram("ward")).interval("heart")
    assert found["upper"][0] - found["lower"][0] == pytest.approx(1.37 * (alone.upper - alone.lower)[0], rel=0.05)
    counts = ad.change(*(year(rows, rows, ad.Count()) for rows in (2000, 3000)))
    assert counts["change_lower"][0] < 0.2 < counts["change_upper"][0]
    means = ad.change(*(year(rows, rows, ad.Mean("age", by="ward")) for rows in (2000, 3000)))
    assert means.kind == "approximate"
    assert (np.abs(means["difference"]) < 1).all()


def test_on_the_command_line(tmp_path):
    for rows in (2000, 3000):
        year(rows, rows, ad.Histogram("ward", "age"), "identity").save(tmp_path / str(rows))

    def explain(*words):
        return CliRunner().invoke(app, ["explain", str(tmp_path / "3000"), *words])

    said = explain("--share", "ward=heart and age=20..49", "--of", "age=30,50", "--json")
    assert "is not within" in said.output
    found = json.loads(explain("--share", "ward=heart and age=30", "--of", "ward=heart", "--json").stdout)
    assert found["comparisons"][0]["lower"] < 0.5 < found["comparisons"][0]["upper"]
    said = explain(
        "--ratio", '{"ward": "heart"}', "--difference", "ward=heart", "--rate", "ward=heart", "--of", "ward=eyes"
    )
    assert "ward heart has" in said.stdout.replace("Ward", "ward")
    assert len(said.stdout.splitlines()) == 3
    assert "per 1,000 of 10,000" in explain("--rate", "ward=heart", "--of", "10000", "--per", "1e3").stdout
    changed = ["--change", str(tmp_path / "2000"), "--query", "ward=heart"]
    assert "ward heart: " in explain(*changed).stdout
    assert json.loads(explain(*changed, "--json").stdout)["change"][0]["change_upper"] > 0.4
    for words, message in (
        (["--ratio", "ward=heart"], "name it with --of"),
        (["--of", "ward=heart"], "--of goes with"),
        (["--share", "ward=lungs"], "no value of ward 'lungs'"),
        (["--share", "{ward"], "this is not JSON"),
        ([*changed, "--of", "ward=eyes"], "--change compares two releases"),
    ):
        done = explain(*words)
        assert (done.exit_code, message in done.output) == (2, True), done.output


def test_numbers_of_groups_are_compared():
    mean, total = (year(2000, 3, task) for task in (ad.Mean("age", by="ward"), ad.Sum("age", by="ward")))
    assert mean.difference("heart", "eyes").lower < 0 < mean.difference("heart", "eyes").upper
    assert mean.ratio(("mean", "heart"), ("mean", "eyes")).kind == "approximate"
    share = total.share("heart")
    assert share.lower < 0.4 < share.upper
    assert share.kind == "exact"
    with pytest.raises(BadInput, match="of the same number; these are the mean of age of heart and the sum of age"):
        ad.change(mean, total)
    with pytest.raises(BadInput, match="of several groups together was not released"):
        mean.difference(["heart", "eyes"], "eyes")
    with pytest.raises(BadInput, match="one statistic is compared at a time"):
        mean.ratio(("mean", "heart"), ("count", "heart"))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda one: one.share({"sex": "X"}), "no value of sex 'X'"),
        (lambda one: one.share({"age": (0, 9)}, {"age": (5, 19)}), "is not within"),
        (lambda one: one.ratio({"sex": "F"}, {"sex": "M"}, confidence=95), "confidence must be"),
        (lambda one: one.difference("F", "M"), "does not say which of"),
        (lambda one: one.rate(of=0), "must be greater than 0, given 0"),
        (lambda one: one.rate(of=100, per=-1), "per must be greater than 0"),
        (lambda one: ad.change(one, one), "the same release is given twice"),
        (lambda one: ad.change(one, 3), "change takes two releases"),
        (lambda one: ad.change(one, RELEASE(ad.Histogram("age"))), "'sex', the other about 'age'"),
        (lambda one: ad.change(one, RELEASE(ad.Histogram("age", "sex"), epsilon="0.4"), []), "1 to 2,048 numbers"),
    ],
)
def test_bad_requests(ages, ask, message):
    with pytest.raises(BadInput, match=message):
        ask(ages)


def test_a_share_is_between_0_and_1():
    cells = np.array([500.0, -40.0, 30.0, 510.0])
    counts = replace(RELEASE(ad.Histogram("age")), estimate=np.pad(cells, (0, 40 - cells.size)))
    for part, whole, value in ((0, (0, 1), 1.0), (1, (1, 3), 0.0)):
        share = counts.share(part, whole)
        assert (share.estimate, min(share.interval) >= 0, max(share.interval) <= 1) == (value, True, True)
        assert share.lower <= share.estimate <= share.upper


def test_a_change_says_which_rows_each_release_counts():
    young, old = (RELEASE(ad.Histogram("sex"), where=half) for half in ("age < 20", "age >= 20"))
    assert ad.change(young, old).counted == "before: only rows where age < 20; after: only rows where age >= 20"


def test_differences_may_hide_what_was_smoothed_away():
    """A hundred rows at the end of a long stretch without rows, which a hierarchy in stages smooths over at ε = 0.1."""
    import pandas as pd

    rows = np.concatenate([np.repeat(np.arange(12), 2000), np.full(100, 63)])
    session = ad.Session(
        pd.DataFrame({"x": rows}),
        schema=ad.Schema({"x": ad.Integer(0, 63)}),
        epsilon=1,
        noise=SimulatedNoise(8),
    )
    release = session.release(ad.Ranges("x"), "0.1", algorithm="staged-hierarchy")
    assert release.answer([(60, 63)])[0] < 60  # most of them are smoothed away
    found = release.difference((60, 63), (56, 59))
    assert (found.kind, found.lower < 100 < found.upper) == ("approximate", True)
    law = release.joint_law([(60, 63), (56, 59)], 0.95)
    runs_alone = law.noise.interval(law.queries, 0.95)
    assert (found.upper - found.estimate) > 1.3 * (runs_alone.upper - runs_alone.estimate).max()
    seen = release.difference((0, 3), (4, 7))
    assert seen.upper - seen.lower < 1.3 * (found.upper - found.lower)
    large = release.difference((12, 36), (37, 61))
    assert large.upper - large.lower < 3 * (found.upper - found.lower)  # 50 cells hide no more than 8


def test_tables_are_compared_by_every_value_of_each_attribute():
    draw = np.random.default_rng(3)
    rows = pd.DataFrame({name: draw.integers(0, 4, 400) for name in "abc"})
    session = ad.Session(rows, schema=ad.Schema({name: ad.Integer(0, 3) for name in "abc"}), epsilon=2)
    one, other = (session.release(ad.Marginals(way=2), epsilon="0.5", algorithm="all-pairs") for _ in range(2))
    found = ad.change(one, other)
    assert found["query"].tolist() == [f"{name} {value}" for name in "abc" for value in range(4)]
    assert found["before"].tolist() == pytest.approx(
        [float(one.answer({name: value})[0]) for name in "abc" for value in range(4)]
    )
