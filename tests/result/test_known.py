"""Known totals: estimates agree with public counts, errors shrink as the formula says, and bad totals are refused."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.plans import plan_named
from adyton.queries import Identity, Marginals, RandomRanges, Stack
from adyton.result.folder import signed
from adyton.result.known import Adjustment, KnownNoise
from adyton.result.noise_model import NoiseModel
from adyton.schema import Categorical, Integer, Schema
from adyton.tasks.known import KnownTotals

SCHEMA = Schema({"ward": Categorical(["a", "b", "c"]), "age": Integer(0, 7)})
ROWS = pd.DataFrame({"ward": ["a"] * 500 + ["b"] * 300 + ["c"] * 200, "age": np.arange(1000) * 7 % 8})
WARDS = {"ward": ["a", "b", "c"], "count": [500, 300, 200]}


def adjusted(name, known, estimate, epsilon=F(1, 10)):
    model = NoiseModel(plan_named(name), Identity(SCHEMA.shape), epsilon, estimate)
    totals = KnownTotals.of(known).checked(SCHEMA)
    return model, KnownNoise.adjusting(model, totals, SCHEMA, Adjustment.of(model, totals, SCHEMA))


@pytest.mark.parametrize("name", ["identity", "hb", "privelet", "hdmm"])
def test_generalised_least_squares(name):
    """The estimate and the covariances are those of the formula, with the covariances of all cells written out."""
    known = [
        1000,
        {"ward": ["a", "b"], "count": [480, 310], "error": [0, 9]},
        {"age": [3], "count": [100], "error": [5]},
    ]
    before = np.random.default_rng(1).normal(40, 20, SCHEMA.shape)
    model, noise = adjusted(name, known, before)
    totals = KnownTotals.of(known).checked(SCHEMA)
    if noise.adjustment.covariances is None:
        assert name == "privelet"  # its inverse on 3 × 8 cells is not weighted: other weights, the same agreement
        assert np.allclose((totals.rows(SCHEMA) @ noise.estimate.ravel())[:2], [1000, 480])
        return
    covariances, rows = model.covariances(Identity(SCHEMA.shape)), totals.rows(SCHEMA)
    shared, spread = covariances @ rows.T, np.diag(totals.deviations**2)
    gains = shared @ np.linalg.inv(rows @ shared + spread)
    expected = before.ravel() + gains @ (np.array(totals.counts) - rows @ before.ravel())
    assert np.allclose(noise.estimate.ravel(), expected, rtol=1e-6)
    asked = Stack([Marginals(SCHEMA.shape, [[0], [1]]), Identity(SCHEMA.shape)])
    after = covariances - gains @ shared.T
    matrix = np.concatenate(list(asked.rows()))
    variances = np.einsum("ij,jk,ik->i", matrix, after, matrix)
    assert np.allclose(noise.variances(asked), variances, rtol=1e-6, atol=1e-5)
    assert (noise.variances(asked) <= model.variances(asked) * (1 + 1e-9)).all()
    assert noise.expected_error().total ** 2 == pytest.approx(np.trace(after), rel=1e-6)
    assert np.allclose(
        noise.covariances(Marginals(SCHEMA.shape, [[0]])), (matrix @ after @ matrix.T)[:3, :3], atol=1e-4
    )


@pytest.mark.parametrize("name", ["identity", "hb"])
def test_simulated_errors_have_the_stated_variances(name):
    """4,000 runs: a variance of Laplace noise has a relative error of at most √(5/4000) = 0.035; six are allowed."""
    known = [{"ward": ["a", "b"], "count": [480, 310], "error": [0, 40]}]
    _, noise = adjusted(name, known, np.full(SCHEMA.shape, 40.0))
    asked = RandomRanges(SCHEMA.shape, 12, seed=1)
    errors = np.concatenate(list(noise.runs.errors(asked, 4000, exact=True)))
    assert np.allclose(np.square(errors).mean(axis=0), noise.variances(asked), rtol=0.21)
    interval = noise.interval(asked, 0.95)
    inside = np.abs(errors) <= interval.upper - interval.estimate + 1e-9
    assert inside.mean(axis=0).min() > 0.93


@pytest.mark.parametrize("algorithm", ["identity", "hb", "denoised-cells", "uniform", "auto"])
def test_exact_totals_decide_numbers(algorithm, tmp_path):
    known = [1000, WARDS, {"age": [2], "count": [0]}]
    session = ad.Session(ROWS, schema=SCHEMA, epsilon=1)
    release = session.release(ad.Histogram("ward", "age"), "0.1", algorithm=algorithm, known=known)
    assert np.allclose(release.table("ward").counts, [500, 300, 200], atol=1e-6)
    assert not release.estimate[:, 2].any()
    interval = release.interval([{"ward": "a"}, {"age": 2}, {"ward": ["b", "c"]}])
    assert np.array_equal(interval.lower, interval.upper)
    assert np.array_equal(interval.lower, [500, 0, 500])
    whole = release.to_arrow("ward", integer=True, nonnegative=True).column("count").to_pylist()
    assert whole == [500, 300, 200]
    said = str(release.explain())
    assert "ε does not cover them" in said
    assert "3 totals by ward (exact)" in said
    release.save(tmp_path / "kept")
    again = ad.load(tmp_path / "kept")
    assert np.array_equal(again.estimate, release.estimate)
    assert again.known == release.known
    assert np.allclose(again.interval().upper, release.interval().upper)
    assert "ε does not cover them" in (tmp_path / "kept" / "report.html").read_text(encoding="utf-8")
    plain = again.with_known(None)
    assert plain.known is None
    assert not np.allclose(plain.table("ward").counts, [500, 300, 200])
    with pytest.raises(BadInput, match="combined without them"):
        ad.combine([release, session.release(ad.Histogram("ward", "age"), "0.1", algorithm="identity")])


def test_a_release_without_negative_counts_keeps_none():
    estimate = np.where(np.arange(24).reshape(SCHEMA.shape) % 2, 80.0, 0.0)
    _, noise = adjusted("denoised-cells", [{"ward": ["a"], "count": [30]}], estimate)
    assert noise.estimate.min() >= 0
    assert noise.estimate[0].sum() == pytest.approx(30)


def test_a_total_that_the_data_contradict_is_noted():
    session = ad.Session(ROWS, schema=SCHEMA, epsilon=2)
    release = session.release(ad.Histogram("ward"), 1, algorithm="identity", known={"ward": ["a"], "count": [5000]})
    assert "WARNING: the measurements contradict the known total of ward a" in str(release.explain())
    right = session.release(
        ad.Histogram("ward"), 1, algorithm="identity", known={"ward": ["a"], "count": [510], "error": [20]}
    )
    assert "WARNING" not in str(right.explain())


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ([1000, {"ward": ["a", "b", "c"], "count": [500, 300, 100]}], "contradict each other"),
        ([100, {"ward": ["a"], "count": [500]}], "contradict each other"),
        ({"ward": ["a"], "count": [-1]}, "from 0 to"),
        ({"ward": ["a"], "count": ["many"]}, "from 0 to"),
        ({"ward": ["a"], "count": [1.5]}, "whole number"),
        ({"ward": ["a"], "count": [1], "error": [float("inf")]}, "from 0 to"),
        ({"ward": ["x"], "count": [1]}, "no value of ward 'x'"),
        ({"town": ["x"], "count": [1]}, "no attribute 'town'"),
        ({"ward": ["a", "a"], "count": [1, 2]}, "given twice"),
        ({"ward": ["a"]}, "need a column count"),
        ({"ward": ["a", "b"], "count": [1]}, "same length"),
        ("no-such-file.csv", "cannot be read"),
        ([], "no known totals"),
        (None.__class__, "cannot be read from"),
        ([[1000]], "cannot be read from"),
        (pd.DataFrame([["a", "b", 1]], columns=["ward", "ward", "count"]), "two columns of the same name"),
        ({"ward": [np.array(["a", "x"])], "count": [1]}, "no value of ward 'x'"),
        ("/dev/zero", "too large"),
    ],
)
def test_bad_totals_are_refused_before_anything_is_spent(known, said):
    session = ad.Session(ROWS, schema=SCHEMA, epsilon=1)
    with pytest.raises(BadInput, match=said):
        session.release(ad.Histogram("ward", "age"), 1, known=known)
    assert session.remaining == 1


@pytest.mark.parametrize("task", [ad.Count(), ad.Mean("age"), ad.Marginals(way=1)])
def test_results_that_cannot_be_adjusted_refuse_totals(task):
    session = ad.Session(ROWS, schema=SCHEMA, epsilon=1)
    named = {"algorithm": "all-pairs"} if isinstance(task, ad.Marginals) else {}
    with pytest.raises(BadInput, match="known totals are for counts of cells"):
        session.release(task, 1, known=1000, **named)
    assert session.remaining == 1


def test_files_and_frames_say_the_same(tmp_path):
    file = tmp_path / "totals.csv"
    file.write_text("ward,age,count,error\na,,500,\nb,,300,\n,3,130,2.5\n,,1000,\n", encoding="utf-8")
    frame = pd.read_csv(file)
    totals = [KnownTotals.of(given).checked(SCHEMA) for given in (file, frame)]
    assert totals[0] == totals[1] == KnownTotals.of(totals[0].to_plain()).checked(SCHEMA)
    assert totals[0].errors == (0, 0, 2.5, 0)
    assert totals[0].parts[2] == {"age": 3}


def test_one_row_of_each_unit_is_warned_about():
    session = ad.Session(ROWS.assign(who=range(1000)), schema=SCHEMA, epsilon=1, unit="who")
    with pytest.warns(UserWarning, match="at most 1 row of each who"):
        session.release(ad.Histogram("ward"), "0.1", algorithm="identity", known=1000)


@pytest.mark.parametrize("algorithm", ["identity", "denoised-cells"])
def test_known_totals_can_be_compared(algorithm):
    counted = ad.Session(ROWS, schema=SCHEMA, epsilon=1).release(ad.Histogram("ward"), "0.5", algorithm=algorithm)
    adjusted = counted.with_known([1000, {"ward": ["a"], "count": [500]}])
    decided, other = adjusted.share("a"), adjusted.share("b")
    assert decided.interval == pytest.approx((0.5, 0.5), abs=1e-6)
    assert other.bounded
    interval = adjusted.interval(["b"])
    assert other.interval == pytest.approx((interval.lower[0] / 1000, interval.upper[0] / 1000), abs=2e-3)
    with pytest.raises(BadInput, match="given twice"):
        ad.change(counted, adjusted)


def test_a_saved_release_names_no_files(tmp_path):
    release = ad.Session(ROWS, schema=SCHEMA, epsilon=1).release(ad.Histogram("ward"), "0.5", known=1000)
    body = release.to_dict()
    del body["digest"]
    (tmp_path / "totals.csv").write_text("count\n1000\n", encoding="utf-8")
    (tmp_path / "release.json").write_text(
        json.dumps(signed(body | {"known": [str(tmp_path / "totals.csv")]})), encoding="utf-8"
    )
    with pytest.raises(BadInput, match="must be a list of totals"):
        ad.load(tmp_path)


def test_counts_that_cannot_be_adjusted_are_as_measured(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(Adjustment, "of", fail)
    session = ad.Session(ROWS, schema=SCHEMA, epsilon=1)
    with pytest.warns(UserWarning, match=r"could not be adjusted to the known totals \(MemoryError\)"):
        release = session.release(ad.Histogram("ward"), "0.5", algorithm="identity", known=1000)
    assert (release.known, session.spent) == (None, F(1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = session.release(ad.Histogram("ward"), "0.5", algorithm="identity", known=1000)
    assert (again.known, session.spent) == (None, 1)


@pytest.mark.parametrize("algorithm", ["identity", "hb"])
def test_a_preview_knows_the_error_after_adjusting(algorithm):
    """It is that of the release, and the half-width is that of its widest interval."""
    how = {"algorithm": algorithm, "known": [1000, WARDS], "misfits": False}
    session = ad.Session(ROWS, schema=SCHEMA, epsilon=2)
    seen = session.preview(ad.Histogram("ward", "age"), "0.5", **how)
    assert "Known totals, which ε does not cover: " in str(seen)
    release = session.release(ad.Histogram("ward", "age"), "0.5", **how)
    assert seen.expected_error.total == pytest.approx(release.expected_error.total)
    plain = session.preview(ad.Histogram("ward", "age"), "0.5", algorithm=algorithm)
    assert seen.expected_error.total < 0.99 * plain.expected_error.total
    bounds = release.interval(release.workload)
    widest = float((bounds.upper - bounds.lower).max()) / 2
    assert seen.outlook.half_width(F(1, 2)) == pytest.approx(widest, rel=0.01)
    least, without = (
        session.epsilon_for(ad.Histogram("ward", "age"), "±10", algorithm=algorithm, known=known)
        for known in ([1000, WARDS], None)
    )
    assert least < without


def test_previews_refuse_totals_as_releases_do():
    session = ad.Session(ROWS, schema=SCHEMA, epsilon=1)
    with pytest.raises(BadInput, match="known totals are for counts of cells"):
        session.preview(ad.Mean("age", by="ward"), "0.1", known=1000)
    with pytest.raises(BadInput, match="contradict each other"):
        session.preview(ad.Histogram("ward"), "0.1", known=[900, WARDS])
    decided = session.preview(ad.Histogram("ward"), "0.1", algorithm="identity", known=WARDS)
    assert decided.expected_error.total == pytest.approx(0, abs=1e-6)
