"""Tables, errors, rows and queries of every release; coarser cells where tables would not fit."""

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.marginals import program
from adyton.schema.cell_groups import coarsened, merged_cells
from adyton.tasks import task_from_dict

pytestmark = pytest.mark.filterwarnings("ignore::adyton.errors.LargeBudget")
SCHEMA = ad.Schema(
    {
        "age": ad.Integer(0, 19),
        "sex": ad.Categorical(["F", "=M"], nulls="level"),
        "pay": ad.Numeric(0, 10, 7, outside="other"),
    }
)


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(7)
    sex = random.choice(np.array(["F", "=M", None]), 3000)
    return pd.DataFrame({"age": random.integers(0, 20, 3000), "sex": sex, "pay": random.random(3000) * 11})


@pytest.fixture(scope="module")
def session(frame):
    return ad.Session(frame, schema=SCHEMA, epsilon=1000)


@pytest.fixture(scope="module")
def cells(session):
    return session.release(ad.Marginals(way=2), epsilon=1, algorithm="hdmm")


@pytest.fixture(scope="module")
def tables(session):
    return session.release(ad.Marginals(way=2, ranges=["age"], totals=["sex"]), epsilon=1, algorithm="all-pairs")


def test_a_dense_estimate_is_one_kind(cells, tables, frame):
    for release in (cells, tables):
        table = release.unbiased("sex", "age")
        assert table.counts.shape == (3, 20)
        truth = pd.crosstab(frame.sex.fillna("zz"), frame.age).reindex(["F", "=M", "zz"]).to_numpy()
        assert (np.abs(table.counts - truth) / np.sqrt(np.square(table.errors))).max() < 30
        assert np.abs(table.counts - truth).mean() == pytest.approx(np.mean(table.errors), rel=0.6)
        assert release.table("sex", "age").how == "measured"
        assert list(release.errors().how) == ["measured"] * 3
        assert (release.errors().expected_error < 0.2).all()
        rows = release.sample(2000, seed=4)
        assert rows.shape == (2000, 3)
        assert rows.attrs["synthetic"]["mean_distance_of_pairs"] < 0.05
        assert release.answer([{"age": (3, 9), "sex": "F"}])[0] == pytest.approx(truth[0, 3:10].sum(), abs=200)
    assert np.allclose(cells.unbiased("sex", "age").errors, cells.unbiased("age", "sex").errors.T)


def test_what_has_no_exact_error_says_so(session):
    adaptive = session.release(ad.Histogram("age"), epsilon=1, algorithm="dawa")
    assert adaptive.table("age").how == "estimated by dawa"
    with pytest.raises(BadInput, match="dawa is not linear"):
        adaptive.unbiased("age")
    singles = session.release(ad.Marginals(sets=[("age",), ("sex",)]), epsilon=1, algorithm="workload")
    assert singles.table("age", "sex").how == "filled in evenly"
    with pytest.raises(BadInput, match="does not follow from what was measured"):
        singles.unbiased("age", "sex")
    assert singles.unbiased("age").errors.shape == (20,)


def test_intervals_of_tables_hold_the_truth(session, frame):
    """540 cells of 9 releases: with a rate of 0.9 fewer than 437 hold with a chance below 10^-6."""
    held, truth = 0, pd.crosstab(frame.sex.fillna("zz"), frame.age).reindex(["F", "=M", "zz"]).to_numpy()
    for _ in range(9):
        release = session.release(ad.Marginals(way=2), epsilon=1, algorithm="all-pairs")
        lines = release.to_frame(["sex", "age"], confidence=0.9)
        held += int(((lines.lower <= truth.ravel()) & (truth.ravel() <= lines.upper)).sum())
    assert held > 437
    assert set(release.to_frame(confidence=0.9).columns) == {"table", *frame, "count", "lower", "upper", "how"}
    asked = release.interval([{"age": (3, 9), "sex": "F"}, {}])
    assert asked.kind == "exact"
    assert (asked.lower <= asked.estimate).all()


def test_bounds_are_missing_where_nothing_was_measured(session):
    release = session.release(ad.Marginals(way=2), epsilon=1, algorithm="select-pairs", pairs=1)
    lacking = next(group for group in release.groups if release.estimated.squares.missing(*group))
    with pytest.warns(UserWarning, match="No bounds"):
        assert "upper" not in release.to_frame(list(lacking), confidence=0.9)
    lines = release.to_frame()
    ways = {group: set(lines.how[lines.table == " × ".join(group)]) for group in release.groups}
    assert ways == {group: {release.table(*group).how} for group in release.groups}
    assert {"measured", "independent"} <= {way for (way,) in ways.values()}
    assert release.interval({"age": 3}).kind == "approximate"


def test_ranges_count_in_the_expected_error(tables):
    squares = tables.estimated.squares
    ages = [[first <= age <= last for age in range(20)] for first in range(20) for last in range(first, 20)]
    own = {"age": ages, "sex": [*np.eye(3), np.ones(3)], "pay": np.eye(8)}
    total = sum(
        squares.mean_variance(
            (one, other), {one: (len(a) * np.var(a), np.mean(a) ** 2), other: (len(b) * np.var(b), np.mean(b) ** 2)}
        )
        for one, other in tables.groups
        for a in own[one]
        for b in own[other]
    )
    assert tables.expected_error.total == pytest.approx(np.sqrt(total), rel=1e-9)
    assert tables.expected_error.queries == tables.task.workload(SCHEMA).count
    assert task_from_dict(tables.task.to_dict()) == tables.task
    for wrong in ({"ranges": ["sex"]}, {"prefixes": ["zz"]}, {"ranges": ["age"], "prefixes": ["age"]}, {"cells": 0}):
        with pytest.raises(BadInput):
            ad.Marginals(way=2, **wrong).select(SCHEMA)


def test_rows_are_harmless_in_spreadsheets(cells, tmp_path):
    cells.write_rows(tmp_path / "rows.csv", 300, seed=1)
    assert set(pd.read_csv(tmp_path / "rows.csv").sex.dropna()) == {"F", "'=M"}


def test_coarser_cells_are_sums_of_fine_ones(session, frame):
    coarse = coarsened(SCHEMA, 4)
    assert coarse.shape == (4, 3, 5)
    fine = session.release(ad.Histogram("age", "pay"), epsilon=50, algorithm="identity")
    few = session.release(ad.Marginals(way=2, attrs=["age", "pay"], cells=4), epsilon=50, algorithm="identity")
    assert few.schema == coarse.select(["age", "pay"])
    own = [merged_cells(SCHEMA.attributes[name], coarse.attributes[name]) for name in ("age", "pay")]
    summed = np.zeros((4, 5))
    np.add.at(summed, tuple(np.ix_(*own)), fine.estimate.round())
    assert np.abs(summed - few.estimate).max() <= 2  # there is hardly any noise


def test_what_cannot_be_held_has_a_way_that_works():
    names = [f"x{number}" for number in range(6)]
    schema = ad.Schema({name: ad.Numeric(0, 1, 4001) for name in names})
    session = ad.Session(pd.DataFrame({name: [0.2, 0.7] * 20 for name in names}), schema=schema, epsilon=2)
    with pytest.raises(BadInput, match=r"cells; at most 33,554,432.*ad\.Marginals\(way=2"):
        session.preview(ad.Histogram(*names), epsilon=1)
    preview = session.preview(ad.Marginals(way=2), epsilon=1)
    assert "x0 is read in" in str(preview)
    assert "measured one by one" in str(preview)
    assert preview.cells == 15 * 501**2
    assert session.spent == 0
    many = ad.Schema({name: ad.Categorical([f"l{level}" for level in range(2000)]) for name in names})
    refused = ad.Session(pd.DataFrame({name: ["l1"] for name in names}), schema=many, epsilon=2)
    with pytest.raises(BadInput, match=r"60,012,000 cells together; the limit is 4,194,304.*2,000 cells.*sets"):
        refused.release(ad.Marginals(way=2), epsilon=1)
    assert refused.spent == 0


def test_explanations_say_what_is_coarser(frame, monkeypatch):
    monkeypatch.setattr(program, "MOST_CELLS", 3000)
    schema = ad.Schema({"age": ad.Integer(0, 39), "sex": ad.Categorical(["F", "=M"]), "pay": ad.Numeric(0, 10, 75)})
    session = ad.Session(frame, schema=schema, epsilon=2)
    release = session.release(ad.Marginals(way=2), epsilon=1, algorithm="all-pairs")
    assert release.schema == coarsened(schema, 64)
    assert "pay is read in 38 cells instead of 75" in str(release.explain())


def test_tables_of_three_attributes_are_measured_themselves(session, frame):
    task = ad.Marginals(way=3)
    release = session.release(task, epsilon=1, algorithm="all-tables")
    found, plain = release.unbiased("age", "sex", "pay"), release.table("age", "sex", "pay")
    assert found.errors == pytest.approx(np.sqrt(2), rel=0.05)  # one table with the whole budget
    assert (plain.how, plain.counts.shape, plain.counts.min() >= 0) == ("measured", (20, 3, 8), True)
    assert list(release.errors().how) == ["measured"]
    assert session.preview(task, epsilon=1, algorithm="all-tables").expected_error.per_query < 1.5
    pairs = session.release(task, epsilon=1, algorithm="select-pairs", pairs=2)
    assert pairs.table("age", "sex", "pay").how == "fitted to pairs"
    with pytest.raises(BadInput, match="Name all-tables"):
        session.epsilon_for(task, error=2, algorithm="select-pairs")
