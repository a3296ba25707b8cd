"""Sessions: the same release from every kind of table, exact budgets, previews that cost nothing."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction as F

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded, LedgerError, SchemaError
from adyton.noise import SimulatedNoise
from adyton.programs import program_of

SCHEMA = ad.Schema({"age": ad.Integer(0, 63), "sex": ad.Categorical(["F", "M"]), "name": ad.Identifier()})
RANDOM = np.random.default_rng(5)
TABLE = pd.DataFrame(
    {
        "age": RANDOM.binomial(63, 0.4, 3000),
        "sex": RANDOM.choice(["F", "M"], 3000),
        "name": [f"n{number}" for number in range(3000)],
    }
)
COUNTS = np.bincount(TABLE["age"], minlength=64)
TASKS = [
    ad.Histogram("sex"),
    ad.Ranges("age"),
    ad.Cdf("age"),
    ad.Histogram("age", "sex"),
    ad.Marginals(way=1),
    ad.QueryList([{"age": (20, 29), "sex": "F"}]),
]


def session(**options):
    return ad.Session(TABLE, **{"schema": SCHEMA, "epsilon": 2, **options})


def test_the_same_release_from_every_kind_of_table(tmp_path):
    """The noise is seeded, so that equal estimates mean equal counts, and equal distributions of what comes out."""
    csv, parquet, base = tmp_path / "t.csv", tmp_path / "t.parquet", tmp_path / "t.duckdb"
    TABLE.to_csv(csv, index=False)
    pl.from_pandas(TABLE).write_parquet(parquet)
    with duckdb.connect(str(base)) as connection:
        connection.register("frame", pl.from_pandas(TABLE).to_arrow())
        connection.execute("create table people as select * from frame")
    tables = [TABLE, pl.from_pandas(TABLE), pl.from_pandas(TABLE).to_arrow(), csv, parquet, f"{base}#people",
              ibis.memtable(TABLE)]  # fmt: skip
    found = []
    for table in tables:
        opened = ad.Session(table, schema=SCHEMA, epsilon=1, noise=SimulatedNoise(7))
        found.append(opened.release(ad.Ranges("age"), "0.5", where="sex = 'F'", misfits=False))
    assert all(np.array_equal(one.estimate, found[0].estimate) for one in found)
    assert {one.algorithm for one in found} == {found[0].algorithm}
    assert found[0].record["private"] is False
    assert "NOT private" in repr(found[0])


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_what_is_charged_is_what_was_asked(task):
    with session() as opened:
        preview = opened.preview(task, "0.3")
        assert opened.spent == 0
        release = opened.release(task, "0.3")
        assert (opened.spent, opened.remaining, opened.total) == (F(3, 10), F(17, 10), 2)
        assert sum(F(entry["epsilon"]["exact"]) for entry in release.record["entries"]) == F(3, 10)
        assert release.algorithm in preview.candidates
        assert release.estimate.shape == task.select(SCHEMA).shape
        assert release.expected_error.per_query > 0
        assert preview.affordable
        assert not opened.preview(task, 3).affordable
        assert "which is not enough" in str(opened.preview(task, 3))


def test_answers_are_close():
    release = session().release(ad.Ranges("age"), 1, algorithm="hb")
    interval = release.interval([(20, 29), (30, None)])
    truth = [COUNTS[20:30].sum(), COUNTS[30:].sum()]
    radius = interval.upper - interval.estimate
    assert (np.abs(interval.estimate - truth) <= 6 * radius).all()  # 12 deviations: fails less than once in 10⁶ runs
    assert radius.max() < 100


def test_rows_per_unit_is_paid_from_the_same_epsilon():
    one, four = session(), session(rows_per_unit=4, unit="patient")
    assert four.release(ad.Histogram("sex"), 1, algorithm="identity").record["unit"] == "patient"
    assert four.spent == 1
    task = ad.Histogram("age")
    assert four.epsilon_for(task, 5, algorithm="identity") == pytest.approx(
        4 * float(one.epsilon_for(task, 5, algorithm="identity")), rel=2e-3
    )
    chosen = four.release(task, "0.5")
    assert four.spent == F(3, 2)
    assert chosen.choice.left <= F(1, 8)


def test_rows_per_unit_changes_nothing_else_of_the_schema(tmp_path):
    file = tmp_path / "ages.csv"
    file.write_text('age\n"3\n4"\n')
    schema = ad.Schema({"age": ad.Integer(0, 9)}, multiline=True)
    assert ad.Session(file, schema=schema, epsilon=1, rows_per_unit=3).schema.multiline


@pytest.mark.parametrize("algorithm", ["identity", "hb", "privelet", "optimal-hierarchy", "hdmm"])
@pytest.mark.parametrize("target", [0.7, 12])
def test_epsilon_for_agrees_with_measured_error(algorithm, target):
    """Within 5%; the mean of 2,000 simulated runs has a standard deviation below 1%."""
    task = ad.Cdf("age")
    epsilon = session().epsilon_for(task, target, algorithm=algorithm)
    workload = task.workload(SCHEMA.select("age"))
    runs = ad.simulate(algorithm, COUNTS, workload, epsilon, seed=1, trials=2000)
    measured = np.sqrt(np.square(workload @ (runs - COUNTS)).mean())
    assert measured == pytest.approx(target, rel=0.05)
    expected = session().preview(task, epsilon, algorithm=algorithm).expected_error.per_query
    assert expected <= target
    assert expected == pytest.approx(target, rel=1e-2)


@pytest.mark.parametrize("algorithm", ["identity", "hb", "optimal-hierarchy"])
@pytest.mark.parametrize("task", [ad.Histogram("age"), ad.Cdf("age")], ids=str)
def test_half_widths_hold_19_times_of_20(algorithm, task):
    """Of each answer, and hardly more often for the widest. 2,000 runs: 0.95 − 5.4 standard deviations is 0.9237, so at
    most one of 10^6 tests fails by chance."""
    epsilon = session().epsilon_for(task, "±12", of=240, algorithm=algorithm)
    assert "each of these" in epsilon.sentence
    assert "good to ± 12, or 5% of 240, 19 times of 20" in epsilon.sentence
    workload = task.workload(SCHEMA.select("age"))
    runs = ad.simulate(algorithm, COUNTS, workload, epsilon, seed=1, trials=2000)
    hits = (np.abs(workload @ (runs - COUNTS)) <= 12 + 1e-9).mean(axis=0)
    assert 0.9237 < hits.min() < 0.98


def test_percentages_refer_to_what_is_public(tmp_path):
    schema = ad.Schema(SCHEMA.attributes, rows=4400)
    opened = ad.Session(TABLE, schema=schema, epsilon=100)
    task, even = ad.Histogram("sex"), 4400 / schema.attributes["sex"].size
    assert f"5% of {even:,.0f}" in opened.epsilon_for(task, "5%").sentence
    assert "% of" in str(opened.preview(task, "0.5"))
    with pytest.raises(BadInput, match="of what"):  # how many rows satisfy it is private
        opened.epsilon_for(task, "5%", where="age >= 3")
    earlier = opened.release(task, epsilon=50, algorithm="identity")
    mean = float(earlier.estimate.mean())
    assert f"5% of {mean:,.0f}" in opened.epsilon_for(task, "5%", of=earlier).sentence
    spent = opened.total - opened.remaining
    epsilon = opened.epsilon_for(task, "5%", of=100)
    epsilon.plot(tmp_path / "error.png")
    opened.preview(task, epsilon).plot(tmp_path / "preview.png")
    assert (tmp_path / "error.png").stat().st_size > 5000
    assert spent == 50 == opened.total - opened.remaining
    with pytest.raises(BadInput, match="only an ε that epsilon_for returned"):
        type(epsilon)(1, 2).plot()


def test_a_ledger_knows_the_total(tmp_path):
    ledger = tmp_path / "people.ledger"
    with session(ledger=ledger, dataset="people") as opened:
        opened.count("0.5", where="sex = 'F'")
    with session(ledger=ledger, dataset="people", epsilon=None) as again:
        assert again.remaining == F(3, 2)
        with pytest.raises(BudgetExceeded, match="1.5 of 2 is left"):
            again.release(ad.Histogram("sex"), "1.6")
        release = again.release(ad.Histogram("sex"), "1.5", algorithm="identity")
        assert release.record["ledger"] == "people.ledger"
        assert [entry["number"] for entry in release.record["entries"]] == [2]
        assert repr(again).endswith("ε = 0 of 2 left>")
    with pytest.raises(LedgerError):
        _ = again.remaining
    assert "its ledger is closed" in repr(again)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda s: s.release("age", 1), BadInput, "a task is ad.Histogram"),
        (lambda s: s.release(ad.Histogram("agee"), 1), SchemaError, "Did you mean 'age'"),
        (lambda s: s.release(ad.Histogram("name"), 1), SchemaError, "identifier"),
        (lambda s: s.release(ad.Histogram("age"), 0), BadInput, "greater than 0"),
        (lambda s: s.release(ad.Histogram("age"), float("nan")), BadInput, "finite"),
        (lambda s: s.release(ad.Histogram("age"), "abc"), BadInput, "finite"),
        (lambda s: s.release(ad.Histogram("age"), 1e9), BudgetExceeded, "2 of 2 is left"),
        (lambda s: s.release(ad.Histogram("age"), 1, algorithm="dawaa"), BadInput, "Did you mean 'dawa'"),
        (lambda s: s.release(ad.Histogram("age"), 1, algorithm="quadtree"), BadInput, "dimensions"),
        (lambda s: s.release(ad.Histogram("age"), 1, algorithm="hb", depth=2), BadInput, "no option 'depth'"),
        (lambda s: s.release(ad.Histogram("age"), 1, depth=2), BadInput, "not 'depth'"),
        (lambda s: s.release(ad.Histogram("age"), 1, algorithm=None), BadInput, "or a name"),
        (lambda s: s.release(ad.Histogram("age"), 1, where="wealth > 1"), BadInput, "wealth"),
        (lambda s: s.preview(ad.Histogram("age"), 1, where="wealth > 1"), BadInput, "wealth"),
        (lambda s: s.preview(ad.Histogram("age"), 0), BadInput, "greater than 0"),
        (lambda s: s.epsilon_for(ad.Histogram("age"), error=0), BadInput, "error must be greater than 0"),
        (lambda s: s.epsilon_for(ad.Histogram("age"), error=1, algorithm="dawa"), BadInput, "no closed form"),
        (lambda s: s.epsilon_for(ad.Histogram("age"), error="1e-300", algorithm="hb"), BadInput, "no ε up to 1000"),
        (lambda s: s.count(0), BadInput, "greater than 0"),
    ],
)
def test_bad_requests_cost_nothing(ask, error, message):
    opened = session()
    with pytest.raises(error, match=message):
        ask(opened)
    assert opened.spent == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": None}, "give the total budget"),
        ({"epsilon": 0}, "greater than 0"),
        ({"unit": ""}, "unit must be"),
        ({"rows_per_unit": 0}, "rows_per_unit"),
        ({"schema": ad.Schema(dict(SCHEMA.attributes), 2), "rows_per_unit": 3}, "Say it once"),
        ({"schema": ad.Schema({"wealth": ad.Boolean()})}, "wealth"),
    ],
)
def test_sessions_that_make_no_sense_are_refused(options, message):
    with pytest.raises(BadInput, match=message):
        session(**options)


def test_each_release_has_its_own_entries(tmp_path):
    """Threads that release the same task from one session at once: each receipt adds up to what its release cost."""
    opened = session(ledger=tmp_path / "a.ledger", dataset="people")
    with ThreadPoolExecutor(4) as pool:
        releases = list(pool.map(lambda _: opened.release(ad.Histogram("sex"), "0.25", algorithm="dawa"), range(4)))
    numbers = [{entry["number"] for entry in release.record["entries"]} for release in releases]
    assert sum(len(one) for one in numbers) == len(set.union(*numbers)) == 8
    for release in releases:
        assert sum(F(entry["epsilon"]["exact"]) for entry in release.record["entries"]) == F(1, 4)
        spent, left = (F(release.record[word]["exact"]) for word in ("spent", "remaining"))
        assert spent + left == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nonnegative": "False"}, "nonnegative must be true or false"),
        ({"nonnegative": float("nan")}, "nonnegative must be true or false"),
        ({"reduce": 1}, "reduce must be true or false"),
        ({"algorithm": "hb", "rows": 3}, "rows is for plans"),
        ({"algorithm": "mwem", "epsilon": F(2**2039 + 1, 2**2041)}, "too many digits"),
        ({"algorithm": "ahp", "epsilon": "1e-30"}, "at least 2\\^-40"),
    ],
)
def test_what_would_fail_in_the_middle_is_refused_at_the_start(options, message):
    opened = session()
    with pytest.raises(BadInput, match=message):
        opened.release(ad.Histogram("age"), **{"epsilon": "0.5", **options})
    assert opened.spent == 0


def test_the_plan_that_chooses_can_be_named(tmp_path):
    release = session().release(ad.Cdf("age"), "0.5", algorithm="pythia", share="0.1")
    assert release.choice is not None
    release.save(tmp_path / "out")
    assert ad.Release.load(tmp_path / "out").algorithm == release.algorithm


def test_many_short_axes(tmp_path):
    """3^12 corners would be 130 times as many numbers as there are cells."""
    names = [f"q{number}" for number in range(12)]
    table = pd.DataFrame({name: RANDOM.random(500) < 0.5 for name in names})
    opened = ad.Session(table, schema=ad.Schema({name: ad.Boolean() for name in names}), epsilon=1000)
    release = opened.release(ad.Marginals(way=1), 900, algorithm="identity")
    both = int((table["q3"] & table["q7"]).sum())
    assert release.answer({"q3": True, "q7": True}) == pytest.approx(both)
    release.save(tmp_path / "out")


def test_marginals_of_a_large_table_are_optimised():
    sides = {"a": 24, "b": 16, "c": 12, "d": 8}
    schema = ad.Schema({name: ad.Integer(1, side) for name, side in sides.items()})
    errors = program_of(ad.Request.of(ad.Marginals(way=2), 1), schema).outlook().errors(F(1))
    assert errors["hdmm"].per_query < errors["identity"].per_query / 1.5


def test_a_request_is_read_from_plain_values_or_refused():
    request = ad.Request.of(ad.Mean("age", by="sex"), "1/3", where="age > 3", misfits="0.1", options={})
    assert ad.Request.from_dict(request.to_dict()).to_dict() == request.to_dict()
    for given, words in (
        ({"task": {"task": "count"}, "epsilon": {}}, "'exact' is missing"),
        ({"task": "count", "epsilon": 1, "where": 3}, "where must be a text"),
        ({"task": "count", "epsilon": 1, "colour": 3}, "has no 'colour'"),
        ({"task": "count"}, "epsilon must be"),
    ):
        with pytest.raises(BadInput, match=words):
            ad.Request.from_dict(given)
    with pytest.raises(BadInput, match="where is a predicate in a text"):
        ad.Request.of(ad.Count(), 1, where=3)
    with pytest.raises(BadInput, match="the option selector is a object, which cannot be written"):
        ad.Request.of(ad.Histogram("age"), 1, options={"selector": object()}).to_dict()


def test_a_preview_of_a_classifier_is_about_learners():
    shown = str(session().preview(ad.Classifier("sex"), 1))
    assert "pairs" not in shown
    assert "depends on the data" in shown
