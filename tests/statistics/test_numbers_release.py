"""Releases of numbers, from the session to files: every task, what is refused, what is told, what is kept."""

import json
import warnings

import numpy as np
import pandas
import pytest

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded, KernelFailure, SchemaError, UnfinishedRelease
from adyton.statistics.programs import Choice
from adyton.tasks import task_from_dict

SCHEMA = ad.Schema(
    {
        "age": ad.Integer(0, 99),
        "salary": ad.Numeric(-1000, 9000, bins=200, outside="clamp"),
        "sex": ad.Categorical(["F", "M"]),
        "unit": ad.Categorical(["a", "b", "empty"], nulls="level"),
    }
)
TASKS = [
    ad.Sum("salary", by="sex"),
    ad.Mean("salary", by=["sex", "unit"]),
    ad.Variance("age", by="unit"),
    ad.Quantiles("age", [0.1, "1/2"], by="sex"),
    ad.Summary("salary", by="sex"),
    ad.Mean("age"),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    count = 4000
    return pandas.DataFrame(
        {
            "age": rng.integers(18, 80, count),
            "salary": rng.normal(3000, 1500, count).round(2),
            "sex": rng.choice(["F", "M"], count),
            "unit": rng.choice(["a", "b"], count),
        }
    )


@pytest.fixture
def session(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ad.Session(rows, schema=SCHEMA, epsilon=1000)


def truth(rows, task):
    """The statistics of every group, by pandas."""
    clamped = rows.assign(salary=rows["salary"].clip(-1000, 9000))
    groups = clamped.groupby(list(task.by))[task.attribute] if task.by else [((), clamped[task.attribute])]
    for key, values in groups:
        named = {"sum": values.sum(), "count": len(values), "mean": values.mean()}
        named |= {"variance": values.var(ddof=0), "deviation": values.std(ddof=0)}
        named |= {name: values.quantile(float(part)) for name, part in zip(_names(task), task.quantiles, strict=True)}
        yield key if isinstance(key, tuple) else (key,), named


def _names(task):
    return [name for name in task.statistics if name.endswith("%")]


@pytest.mark.parametrize("task", TASKS, ids=str)
@pytest.mark.filterwarnings("ignore::adyton.errors.LargeBudget")
def test_every_task_end_to_end(rows, session, task, tmp_path):
    """With so much budget that noise is as good as none: what is left is what is computed."""
    release = session.release(task, epsilon=500)
    assert session.spent == 500
    frame = release.to_frame()
    assert len(frame) == release.asked.groups
    for group, expected in truth(rows, task):
        for name in task.statistics:
            width = 50 if task.attribute == "salary" else 1  # of a cell: a quantile is no finer
            slack = width if name.endswith("%") else 0.02 * abs(expected[name]) / 4 + 0.5
            assert release.value(name, *group) == pytest.approx(expected[name], abs=slack)
            low, high = release.interval(name, *group)
            assert low <= release.value(name, *group) <= high
    release.save(tmp_path / "out")
    again = ad.NumbersRelease.load(tmp_path / "out")
    assert again.to_frame().equals(frame)
    assert again.task == task == task_from_dict(task.to_dict())
    assert str(again.explain()) == str(release.explain())
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert str(task).replace('"', "&#34;") in page
    assert (tmp_path / "out" / "numbers.csv").exists()
    release.save(tmp_path / "out", overwrite=True)


def test_small_and_empty_groups_are_reported(session):
    release = session.release(ad.Mean("salary", by="unit"), epsilon="0.5")
    frame = release.to_frame().set_index("unit")
    assert list(frame.index) == ["a", "b", "empty", "(null)"]
    assert np.isfinite(frame.to_numpy()).all()
    assert frame.loc["empty", "mean_upper"] - frame.loc["empty", "mean_lower"] > 2000
    assert "Small groups" in str(release.explain())
    preview = str(session.preview(ad.Mean("salary", by="unit"), epsilon="0.01"))
    assert "A group needs about" in preview


def test_numbers_lie_inside_their_intervals():
    """Also counts below zero, which no true count is: noise is larger here than the groups."""
    table = pandas.DataFrame({"group": [0] * 5, "value": [1.0, 2.0, 99.0, 3.0, 5.0]})
    schema = ad.Schema({"group": ad.Categorical(list(range(200))), "value": ad.Numeric(0, 100, bins=10)})
    session = ad.Session(table, schema=schema, epsilon=1)
    for column in session.release(ad.Variance("value", by=["group"]), epsilon="0.1").sheets().sheets[0].columns:
        if column.known:
            assert (column.lower <= column.values + 1e-9).all(), column.name
            assert (column.values <= column.upper + 1e-9).all(), column.name
        if column.name == "count":
            assert (column.values < 0).sum() > 30  # at least, of about 100
            assert (column.upper >= 0).all()  # no interval excludes every possible count


def test_where_and_unit(rows):
    schema = ad.Schema(dict(SCHEMA.attributes), rows_per_unit=4)
    session = ad.Session(rows, schema=schema, epsilon=8)
    release = session.release(ad.Mean("age"), epsilon=8, where="sex = 'F' and age < 50")
    kept = rows.query("sex == 'F' and age < 50")["age"]
    assert release.value("count") == pytest.approx(len(kept), abs=40)
    assert release.value("mean") == pytest.approx(kept.mean(), abs=2)
    assert sum(part.epsilon for part in release.parts) == 2  # four rows of a person share what was paid
    assert session.remaining == 0


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: ad.Mean("sex"), "sex is categorical: it has no mean"),
        (lambda: ad.Quantiles("age", [0.5, 1.5]), "a quantile is a number from 0 to 1, given 1.5"),
        (lambda: ad.Quantiles("age", [-0.1]), "from 0 to 1"),
        (lambda: ad.Quantiles("age", []), "at least one quantile"),
        (lambda: ad.Quantiles("age", "thirds"), "a quantile"),
        (lambda: ad.Mean("agee"), "there is no attribute 'agee'"),
        (lambda: ad.Mean("age", by="age"), "cannot be grouped by itself"),
        (lambda: ad.Mean(7), "takes the name of an attribute"),
        (lambda: ad.Mean("age", by=[3]), "by takes names"),
        (lambda: ad.Sum("age", rows=0), "rows must be a whole number"),
    ],
)
def test_bad_input_spends_nothing(session, ask, words):
    with pytest.raises((BadInput, SchemaError), match=words.replace("(", r"\(")):
        session.release(ask(), epsilon=1)
    assert session.spent == 0


def test_bounds_that_are_missing():
    with pytest.raises(SchemaError, match="min and max missing"):
        ad.Schema({"salary": ad.Numeric(bins=10)})


def test_other_refusals(session, tmp_path):
    with pytest.raises(BadInput, match="no algorithm for numbers 'hb'"):
        session.release(ad.Mean("age"), epsilon=1, algorithm="hb")
    with pytest.raises(BadInput, match="does not measure the mean"):
        session.release(ad.Mean("age"), epsilon=1, algorithm="choice")
    with pytest.raises(BadInput, match="no options"):
        session.release(ad.Mean("age"), epsilon=1, share=1)
    with pytest.raises(BudgetExceeded):
        session.release(ad.Mean("age"), epsilon=5000)
    with pytest.raises(BadInput, match="rows of a group"):
        session.epsilon_for(ad.Mean("age"), error=1)
    assert session.spent == 0
    release = session.release(ad.Mean("age"), epsilon=1)
    with pytest.raises(BadInput, match="no statistic 'median'"):
        release.value("median")
    with pytest.raises(BadInput, match="there is no group"):
        release.value("mean", "F")


def test_the_error_before_spending(session):
    task = ad.Mean("salary", rows=4000)
    assert session.preview(task, epsilon=1).expected_error["mean"] == pytest.approx(
        10000 * 1.189 / 0.96 / 4000, rel=0.01
    )
    least = session.epsilon_for(task, error="3.096")
    assert float(least) == pytest.approx(1, rel=0.01)
    assert session.spent == 0


@pytest.mark.filterwarnings("ignore::adyton.errors.LargeBudget")
def test_what_was_measured_is_returned_when_the_rest_fails(session, monkeypatch):
    honest = Choice.knowing

    def broken(self, *given):
        measuring = honest(self, *given)

        def fail(known):
            yield next(measuring(known))
            raise KernelFailure

        return fail

    monkeypatch.setattr(Choice, "knowing", broken)
    with pytest.warns(UnfinishedRelease, match="What was measured is in the result"):
        release = session.release(ad.Summary("age"), epsilon=1)
    assert release.epsilon == session.spent < 1
    assert release.value("mean") == pytest.approx(48, abs=3)
    assert np.isnan(release.value("50%"))
    assert "WARNING" in str(release.explain())


def test_files_of_strangers(session, tmp_path):
    session.release(ad.Quantiles("age"), epsilon=1).save(tmp_path / "out")
    file = tmp_path / "out" / "release.json"
    plain = json.loads(file.read_text(encoding="utf-8"))
    plain["measured"][1]["numbers"][0][0] = 10**6
    file.write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(BadInput, match="digest does not fit"):
        ad.NumbersRelease.load(tmp_path / "out")
    with pytest.raises(BadInput, match="cannot be read"):
        ad.NumbersRelease.load(tmp_path / "nowhere")
