"""Releases: frames, presentation, explanations, and files that are read with the eyes of a stranger."""

import json

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.noise import SimulatedNoise

SCHEMA = ad.Schema(
    {
        "age": ad.Integer(0, 15),
        "sex": ad.Categorical(["F", "M"], nulls="level"),
        "smokes": ad.Boolean(),
    }
)
RANDOM = np.random.default_rng(5)
TABLE = pd.DataFrame(
    {
        "age": RANDOM.binomial(15, 0.4, 3000),
        "sex": RANDOM.choice(["F", "M", None], 3000),
        "smokes": RANDOM.random(3000) < 0.3,
    }
)


def release_of(task, algorithm="identity", epsilon="0.5", **options):
    session = ad.Session(TABLE, schema=SCHEMA, epsilon=1, noise=SimulatedNoise(3))
    return session.release(task, epsilon, algorithm=algorithm, **options)


TABLE_RELEASE = release_of(ad.Histogram("age", "sex", "smokes"))


def test_the_frame_has_a_line_for_every_cell():
    frame = TABLE_RELEASE.to_frame(confidence=0.9)
    assert list(frame) == ["age", "sex", "smokes", "count", "lower", "upper"]
    assert len(frame) == 16 * 3 * 2
    line = frame[(frame.age == 7) & (frame.sex == "(null)") & frame.smokes]
    assert line["count"].item() == TABLE_RELEASE.estimate[7, 2, 1]
    assert line.lower.item() < line["count"].item() < line.upper.item()
    assert TABLE_RELEASE.to_polars()["count"].to_list() == frame["count"].to_list()
    assert TABLE_RELEASE.to_arrow().column_names == ["age", "sex", "smokes", "count"]


def test_a_frame_of_some_attributes_sums_over_the_others():
    frame = TABLE_RELEASE.to_frame("sex", confidence=0.95)
    assert frame["count"].tolist() == pytest.approx(TABLE_RELEASE.estimate.sum(axis=(0, 2)).tolist())
    wide, narrow = frame.upper - frame.lower, TABLE_RELEASE.interval().upper - TABLE_RELEASE.interval().lower
    assert wide.mean() / narrow.mean() == pytest.approx(32**0.5, rel=0.15)  # 32 times the variance, and more normal
    with pytest.raises(BadInput, match="Did you mean 'sex'"):
        TABLE_RELEASE.to_frame("sexx")


def test_a_column_never_hides_an_attribute():
    schema = ad.Schema({"count": ad.Boolean()})
    session = ad.Session(pd.DataFrame({"count": [True]}), schema=schema, epsilon=1)
    assert list(session.release(ad.Histogram("count"), 1, algorithm="identity").to_frame()) == ["count", "count_"]


def test_whole_and_nonnegative_counts_keep_their_total():
    raw = TABLE_RELEASE.estimate
    frame = TABLE_RELEASE.to_frame(integer=True, nonnegative=True, confidence=0.95)
    assert frame["count"].dtype == np.int64
    assert frame["count"].min() >= 0
    assert frame["count"].sum() == round(raw.sum())
    assert frame.lower.min() >= 0
    assert raw.min() < 0
    assert TABLE_RELEASE.answer({}, integer=True, nonnegative=True) == [round(raw.sum())]


def test_explanations_say_what_happened():
    words = str(release_of(ad.Ranges("age"), "auto").explain())
    for part in (
        "ranges of age",
        "chosen",
        "Expected times the least error",
        "typically off by",
        "ε = 0.5",
        "0.5 of 1",
    ):
        assert part in words
    assert "as asked" in str(TABLE_RELEASE.explain())
    assert "<p>" in TABLE_RELEASE.explain()._repr_html_()
    assert "<svg" in TABLE_RELEASE._repr_html_()


@pytest.mark.parametrize(
    "release",
    [
        TABLE_RELEASE,
        release_of(ad.Cdf("age"), "auto", where="sex = 'F'"),
        release_of(ad.QueryList([{"age": (3, 7), "sex": ["F", "(null)"]}]), "auto", nonnegative=True),
        release_of(ad.Marginals(way=2), "identity", total=3000),
    ],
    ids=str,
)
def test_a_saved_release_answers_as_before(tmp_path, release):
    release.save(tmp_path / "deep" / "out")
    again = ad.Release.load(tmp_path / "deep" / "out")
    assert again.to_dict() == release.to_dict()
    assert np.array_equal(again.estimate, release.estimate)
    assert repr(again) == repr(release)
    assert str(again.explain()) == str(release.explain())
    asked = {"age": (2, 9)}
    assert np.array_equal(again.interval(asked).lower, release.interval(asked).lower)
    assert len(pd.read_csv(tmp_path / "deep" / "out" / "estimate.csv")) == release.estimate.size
    assert "<svg" in (tmp_path / "deep" / "out" / "report.html").read_text(encoding="utf-8")


def change(plain, *path, to):
    *way, last = path
    inner = plain
    for step in way:
        inner = inner[step]
    inner[last] = to
    return plain


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda plain: change(plain, "format", to="picture"), "does not say that it is one"),
        (lambda plain: change(plain, "version", to=2), "reads version 1"),
        (lambda plain: change(plain, "estimate", to=[1.0]), "in the shape"),
        (lambda plain: change(plain, "estimate", 0, 0, 0, to=None), "in the shape"),
        (lambda plain: change(plain, "estimate", 0, 0, to=[1.0]), "malformed"),
        (lambda plain: change(plain, "algorithm", to="magic"), "no algorithm 'magic'"),
        (lambda plain: change(plain, "options", to={"depth": 3}), "no option 'depth'"),
        (lambda plain: change(plain, "epsilon", "exact", to="0"), "greater than 0"),
        (lambda plain: change(plain, "task", "attributes", to=["age"]), "other attributes"),
        (lambda plain: change(plain, "schema", "attributes", "age", "min", to=99), "min must not exceed max"),
        (lambda plain: change(plain, "record", to={}), "malformed"),
        (lambda plain: change(plain, "choice", to={"left": 3}), "malformed"),
        (lambda plain: change(plain, "where", to=3), "where must be a text"),
        (lambda plain: [plain], "does not say that it is one"),
    ],
)
def test_files_of_strangers_are_checked(tmp_path, spoil, message):
    file = tmp_path / "release.json"
    file.write_text(json.dumps(spoil(json.loads(json.dumps(TABLE_RELEASE.to_dict())))), encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        ad.Release.load(file)


def test_files_that_are_none_are_refused(tmp_path):
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    for name, message in (("a.json", "is not JSON"), ("b.json", "cannot be read"), ("c.json", "does not exist")):
        with pytest.raises(BadInput, match=message):
            ad.Release.load(tmp_path / name)
    with pytest.raises(BadInput, match="does not exist"):
        ad.Release.load(tmp_path)


def test_an_estimate_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        TABLE_RELEASE.estimate[0] = 1


def test_cells_that_an_algorithm_merges_by_itself_have_no_exact_interval():
    release = release_of(ad.QueryList([{"age": (3, 7)}]), "hdmm")
    assert release.interval({"age": (3, 7)}).kind == "exact"
    assert release.interval({"age": 3}).kind == "approximate"
