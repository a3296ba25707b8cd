"""Releases of many tables: any table, exact errors, synthetic rows, files that are checked; nothing spent in vain."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.noise import SimulatedNoise
from adyton.result import Release
from saved_results import signed

NAMES = ("a", "b", "c", "d", "e", "f")


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(3)
    a = random.integers(0, 4, 8000)
    return pd.DataFrame(
        {
            "id": np.arange(8000),
            "a": a,
            "b": (a + random.integers(0, 2, 8000)) % 5,
            "c": random.integers(0, 3, 8000),
            "d": (a > 1) ^ (random.random(8000) < 0.1),
            "e": 60 * random.random(8000) ** 2,
            "f": random.choice(["x", "y", "z"], 8000, p=[0.6, 0.3, 0.1]),
        }
    )


@pytest.fixture(scope="module")
def schema():
    return ad.Schema(
        {
            "id": ad.Identifier(),
            "a": ad.Integer(0, 3),
            "b": ad.Integer(0, 4),
            "c": ad.Integer(0, 2),
            "d": ad.Boolean(),
            "e": ad.Numeric(0, 60, 6),
            "f": ad.Categorical(["x", "y"], outside="other", nulls="level"),
        }
    )


@pytest.fixture(scope="module")
def released(frame, schema):
    session = ad.Session(frame, schema=schema, epsilon=2)
    release = session.release(ad.Marginals(way=2), epsilon="1.5")
    assert session.remaining == ad.Session(frame, schema=schema, epsilon="0.5").remaining
    assert session.last is release
    return release


def test_auto_measures_tables_one_by_one(released, frame):
    assert isinstance(released, ad.TablesRelease)
    assert released.algorithm in ("all-pairs", "select-pairs")
    truth = pd.crosstab(frame.a, frame.b).to_numpy()
    assert np.abs(released.table("a", "b").counts - truth).max() < 150  # noise of a few tens of rows
    swapped = released.table("b", "a")
    assert np.array_equal(swapped.counts, released.table("a", "b").counts.T)
    assert released.table("a", "b", "d").counts.shape == (4, 5, 2)
    assert list(swapped.to_frame(confidence=None).columns) == ["b", "a", "count", "how"]
    assert len(released.to_frame(["a", "d"], confidence=None)) == 8
    assert set(released.to_frame().table) == {" × ".join(group) for group in released.groups}


def test_unbiased_tables_have_standard_errors(released, frame):
    table = released.unbiased("a", "b")
    off = (table.counts - pd.crosstab(frame.a, frame.b).to_numpy()) / table.errors
    assert np.abs(off).max() < 30  # Laplace tails: beyond by chance in 1 of 10^10 runs
    assert table.to_frame().standard_error.nunique() == 1


def test_errors_and_words(released):
    errors = released.errors()
    assert len(errors) == 15
    assert (errors.expected_error.dropna() < 0.1).all()
    assert set(errors.how) <= {"measured", "by a path", "independent", "fitted to pairs"}
    words = str(released.explain())
    assert released.algorithm in words
    assert "ε = 1.5" in words
    assert "total variation" in words
    assert released.expected_error.queries == errors.cells.sum()


def test_rows_are_marked_and_near_the_tables(released, tmp_path):
    rows = released.sample(2000, seed=5)
    assert rows.attrs["synthetic"]["mean_distance_of_pairs"] < 0.02
    assert set(rows.f.dropna()) <= {"x", "y", "(other)"}
    assert rows.equals(released.sample(2000, seed=5))
    made = released.write_rows(tmp_path / "rows.parquet", 3000, seed=1)
    assert made.rows == 3000
    note = json.loads((tmp_path / "rows.parquet.synthetic.json").read_text())
    assert "No row is anybody's" in note["note"]
    assert len(pd.read_parquet(tmp_path / "rows.parquet")) == 3000
    released.write_rows(tmp_path / "rows.csv", 10)
    assert list(pd.read_csv(tmp_path / "rows.csv").columns) == list(NAMES)
    assert released.sample(0).shape == (0, 6)
    for bad in ("rows.txt", "no/folder/rows.csv"):
        with pytest.raises(BadInput):
            released.write_rows(tmp_path / bad, 10)


def test_saved_and_read_back(released, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        released.save(tmp_path / "out")
    again = ad.TablesRelease.load(tmp_path / "out")
    assert np.array_equal(again.table("a", "f").counts, released.table("a", "f").counts)
    assert np.array_equal(again.unbiased("a").counts, released.unbiased("a").counts)
    assert str(again.explain()) == str(released.explain())
    page = (tmp_path / "out" / "report.html").read_text()
    assert "a × b: measured" in page
    assert page.count('href="#table-0-1"') == 2  # in the grid, and in the list
    assert page.count('id="table-0-1"') == 1
    assert "The budget" in page
    assert pd.read_csv(tmp_path / "out" / "tables.csv")["table"].nunique() == 15
    again.save(tmp_path / "out", overwrite=True)
    with pytest.raises(BadInput, match=r"ad\.load"):
        Release.load(tmp_path / "out")
    with pytest.raises(BadInput, match="holds files already"):
        released.save(tmp_path / "out")


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("counts", lambda plain: plain["measured"][0].update(counts=[0.5])),
        ("variance", lambda plain: plain["measured"][0].update(variance=-1.0)),
        ("not a table", lambda plain: plain["measured"][0].update(group=["a", "zzz"])),
        ("no measured table has", lambda plain: plain.update(measured=[])),
        ("other attributes", lambda plain: plain.update(task={"task": "histogram", "attributes": ["a"]})),
        ("model", lambda plain: plain["model"]["singles"].pop("a")),
        ("program", lambda plain: plain.update(algorithm="os.system")),
        ("missing", lambda plain: plain.pop("record")),
    ],
)
def test_files_of_strangers_are_checked(released, tmp_path, what, change):
    plain = json.loads(json.dumps(released.to_dict()))
    change(plain)
    plain.pop("digest")
    file = tmp_path / "tables.json"
    file.write_text(json.dumps(signed(plain)))
    with pytest.raises(BadInput, match=what):
        ad.TablesRelease.load(file)
    file.write_text(json.dumps({"digest": "0", **plain}))
    with pytest.raises(BadInput, match="was changed"):
        ad.TablesRelease.load(file)


def test_few_attributes_and_named_algorithms_go_the_old_way(frame, schema):
    session = ad.Session(frame, schema=schema, epsilon=10)
    task = ad.Marginals(way=2, attrs=["a", "b", "c"])
    assert isinstance(session.release(task, epsilon=1, algorithm="identity"), Release)
    assert isinstance(session.release(task, epsilon=1, algorithm="all-pairs"), ad.TablesRelease)
    some = session.release(ad.Marginals(sets=[("b", "a"), ("c",)]), epsilon=1, algorithm="identity")
    assert isinstance(some, Release)
    assert some.workload.count == 23
    with pytest.raises(BadInput, match="all-pairs is for tables"):
        session.release(ad.Histogram("a"), epsilon=1, algorithm="all-pairs")
    with pytest.raises(BadInput, match="weights"):
        session.release(ad.Marginals(way=1, weights={("a",): 2}), epsilon=1, algorithm="identity")
    assert session.spent == 3


def test_a_domain_that_cannot_be_held_is_no_error():
    names = [f"x{number}" for number in range(40)]
    frame = pd.DataFrame({name: [0, 1, 2, 3] * 50 for name in names})
    session = ad.Session(frame, schema=ad.Schema({name: ad.Integer(0, 9) for name in names}), epsilon=1)
    with pytest.raises(BadInput, match="cells together; at most.*all-pairs or.* select-pairs"):
        session.release(ad.Marginals(way=2), epsilon=1, algorithm="identity")
    release = session.release(ad.Marginals(way=1), epsilon="0.5", where="x0 >= 1")
    assert release.table("x39").counts.shape == (10,)
    assert session.spent == release.epsilon
    with pytest.raises(BadInput, match="has no option"):
        session.release(ad.Marginals(way=2), epsilon="0.5", rounds=3)
    with pytest.raises(BadInput, match="way cannot be 41"):
        session.release(ad.Marginals(way=41), epsilon="0.5")
    with pytest.raises(BadInput, match="sets of 20"):
        session.release(ad.Marginals(way=20), epsilon="0.5")
    assert session.spent == release.epsilon


def test_tables_that_make_no_sense_are_refused(released):
    for names in ((), ("a", "a"), ("nobody",), (3,)):
        with pytest.raises(BadInput):
            released.table(*names)


def test_tasks_of_sets_are_read_and_written():
    task = ad.Marginals(sets=[("a", "b"), ("c",)], weights=[2, 1])
    from adyton.tasks import task_from_dict

    assert task_from_dict(json.loads(json.dumps(task.to_dict()))) == task
    for wrong in (
        {"way": 2, "sets": [("a",)]},
        {},
        {"sets": "ab"},
        {"sets": []},
        {"sets": [("a", "a")]},
        {"sets": [("a", "b"), ("b", "a")]},
        {"way": 2, "weights": [1]},
        {"way": 2, "weights": {("a", "b"): -1}},
        {"sets": [("a",)], "attrs": ["a"]},
    ):
        with pytest.raises(BadInput):
            ad.Marginals(**wrong)


def test_previews_never_look_at_the_domain():
    names = [f"x{number}" for number in range(40)]
    schema = ad.Schema({name: ad.Integer(0, 9) for name in names})
    session = ad.Session(pd.DataFrame({name: [0, 1] for name in names}), schema=schema, epsilon=1)
    preview = session.preview(ad.Marginals(way=2), epsilon=1)
    assert preview.cells == preview.queries == 780 * 100
    assert preview.chosen
    assert preview.candidates["select-pairs"] is None
    assert "Every pair of attributes" in str(preview)
    needed = session.epsilon_for(ad.Marginals(way=2), error=2 * preview.expected_error.per_query)
    assert needed == pytest.approx(0.5, rel=0.01)
    with pytest.raises(BadInput, match="depends on the data"):
        session.epsilon_for(ad.Marginals(way=2), error=5, algorithm="select-pairs")
    assert session.spent == 0


def test_predicted_errors_of_least_squares_are_met(released, frame):
    predicted = released.expected_error
    off = 0.0
    for one, other in released.groups:
        values = [frame[name] for name in (one, other)]
        if "e" in (one, other) or "f" in (one, other):
            continue
        off += float(np.square(released.unbiased(one, other).counts - pd.crosstab(*values).to_numpy()).sum())
    assert off < 4 * predicted.total**2  # a sum over some of the tables


@pytest.mark.parametrize("epsilon", ["1/1000", "5"])
def test_a_release_with_a_label_is_read_back_whatever_was_decided(tmp_path, epsilon):
    frame = pd.DataFrame({name: [0, 1, 1, 0] * 500 for name in "abcdef"})
    schema = ad.Schema({name: ad.Integer(0, 1) for name in "abcdef"})
    session = ad.Session(frame, schema=schema, epsilon=5, noise=SimulatedNoise(7))
    release = session.release(ad.Marginals(way=2), epsilon=epsilon, label="f")
    release.save(tmp_path / "kept")
    again = ad.TablesRelease.load(tmp_path / "kept")
    assert again.algorithm == release.algorithm == ("all-pairs" if epsilon == "5" else "select-pairs")
    assert again.options == release.options
