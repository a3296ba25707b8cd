"""Rows that do not fit, counted within a release: exact budgets, honest errors, files that read back."""

from dataclasses import fields
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput, SchemaError
from adyton.plans.registry import plan_type
from adyton.result import Misfits
from adyton.result.misfits import SURE, NoisyMisfit
from adyton.schema.misfits import Misfit
from saved_results import signed

SCHEMA = ad.Schema({"age": ad.Integer(0, 15), "sex": ad.Categorical(["F", "M"])}, rows_per_unit=2, rows=40_000)
TASK = ad.Histogram("age")


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text("age,sex\n" + "3,F\nold,M\n" * 50)
    return path


def session(data, **options):
    return ad.Session(data, schema=SCHEMA, epsilon=4, **options)


@pytest.mark.parametrize("algorithm", ["identity", "auto", "dawa"])
@pytest.mark.parametrize(("given", "share"), [(None, F(1, 50)), ("0.1", F(1, 10)), (False, F(0))])
def test_exactly_epsilon_is_spent(csv, algorithm, given, share):
    opened = session(csv)
    release = opened.release(TASK, 1, algorithm=algorithm, misfits=given, where="sex = 'F'")
    assert (opened.spent, release.epsilon) == (1, 1)
    entries = release.record["entries"]
    assert sum(F(entry["epsilon"]["exact"]) for entry in entries) == 1
    assert (release.misfits is None) == (share == 0)
    if release.misfits:
        assert (release.misfits.epsilon, release.misfits.share) == (share, share)
        assert entries[0]["lineage"][-1] == "misfits(age, sex)"
        assert F(entries[0]["epsilon"]["exact"]) == share
    assert release.noise.epsilon <= (1 - share) / 2


def test_previews_know_of_it(csv):
    opened = session(csv)
    checked, unchecked = (opened.preview(TASK, 1, algorithm="identity", misfits=one) for one in (None, False))
    assert "Of this, 0.02 counts the rows that do not match the schema." in checked.sentence()
    assert "do not fit" not in unchecked.sentence()
    release = opened.release(TASK, 1, algorithm="identity")
    assert checked.expected_error.total == release.expected_error.total > unchecked.expected_error.total
    least, less = (opened.epsilon_for(TASK, 5, algorithm="identity", misfits=one) for one in (None, False))
    assert float(less / least) == pytest.approx(0.98, rel=1e-3)
    assert opened.preview(TASK, least, algorithm="identity").expected_error.per_query <= 5
    assert opened.spent == 1


def test_by_default_only_where_they_can_show(csv):
    """A small ε would spend 1/50 to count with noise of ± 141 among 5,000 rows. The rows themselves decide nothing."""
    shown = {}
    for rows in (None, 10_000, 400_000):
        schema = ad.Schema(SCHEMA.attributes, rows=rows)
        opened = ad.Session(csv, schema=schema, epsilon=4)
        for epsilon in ("0.02", "0.5", "1"):
            release = opened.release(TASK, epsilon, algorithm="identity")
            shown[rows, epsilon] = release.misfits is not None
            assert release.misfits is not None or "was not measured" in release.which_rows
            preview = opened.preview(TASK, epsilon, algorithm="identity")
            assert ("misfits=True) counts them" in str(preview)) != shown[rows, epsilon] == (preview.misfits > 0)
        assert opened.release(TASK, "0.5", algorithm="identity", misfits=True).misfits is not None
    seen = {(None, "1"), (10_000, "1"), (400_000, "1"), (400_000, "0.5")}
    assert {case for case, counted in shown.items() if counted} == seen


def test_a_guess_at_the_rows_is_no_term_of_a_ledger(csv, tmp_path):
    for rows in (None, 10_000):
        schema = ad.Schema.from_toml(ad.Schema(SCHEMA.attributes, rows=rows).to_toml())
        assert schema.rows == rows
        with ad.Session(csv, schema=schema, epsilon=4, ledger=tmp_path / "l") as opened:
            opened.count("0.1")
    for bad in (0, -1, "many", 1.5, True, 2**80):
        with pytest.raises(SchemaError, match="rows"):
            ad.Schema(SCHEMA.attributes, rows=bad)


def test_only_files_of_text_by_default(csv):
    """Files of text, that is; types of frames are inferred from rows, so that nothing may depend on them for free."""
    frame = pd.DataFrame({"age": [1, 2, 99], "sex": ["F", "M", "M"]})
    assert session(frame).release(ad.Histogram("sex", "age"), 1, algorithm="identity").misfits is None
    objects = frame.astype({"age": object})
    assert str(session(objects).preview(TASK, 1)) == str(session(frame).preview(TASK, 1))
    assert session(objects).release(TASK, 1, algorithm="identity").misfits is None
    forced = session(frame).release(TASK, 1, algorithm="identity", misfits=True).misfits
    assert [(one.misfit.reason, one.misfit.fate) for one in forced.counts] == [
        ("unreadable", "left out"), ("missing", "left out"), ("out of bounds", "left out"),
    ]  # fmt: skip
    assert session(csv).count(1).misfits is None


@pytest.mark.parametrize("given", [0, 1, "0.0001", "0.6", -1, "much", float("nan")])
def test_bad_shares_spend_nothing(csv, given):
    opened = session(csv)
    with pytest.raises(BadInput, match="misfits"):
        opened.release(TASK, 1, misfits=given)
    assert opened.spent == 0


_SENSELESS = {"dawa": {"centre": "foo"}, "ahp": {"eta": 10**30}, "hybrid-tree": {"median_rounds": 10**6}}


@pytest.mark.parametrize("name", [one for one in ad.algorithms() if one != "pythia"])
def test_options_that_make_no_sense_cost_no_misfits(csv, name):
    """Every option of every plan is looked at before the misfits are counted, and by previews too."""
    opened, two = session(csv), plan_type(name).serves.dimensions == (2,)
    task = ad.Histogram("age", "sex") if two else TASK
    for field in fields(plan_type(name)):
        bad = {"rows": None, **_SENSELESS.get(name, {})}.get(field.name, "senseless")
        if bad is None:
            continue
        for spend in (opened.release, opened.preview):
            with pytest.raises(BadInput):
                spend(task, 1, algorithm=name, **{field.name: bad})
    assert opened.spent == 0


def test_files_read_back_and_older_ones_still_load(csv, tmp_path):
    release = session(csv).release(TASK, 1, algorithm="auto")
    release.save(tmp_path / "out")
    again = ad.Release.load(tmp_path / "out")
    assert again.misfits == release.misfits
    assert again.expected_error.total == release.expected_error.total
    plain = session(csv).release(TASK, 1, algorithm="identity", misfits=False).to_dict()
    assert plain.pop("misfits") is None
    assert ad.Release.from_dict(signed(plain)).misfits is None


@pytest.mark.parametrize("change", [
    {"share": {"exact": "2/3"}}, {"epsilon": {"exact": "1/3"}}, {"fits": 0.5}, {"fits": 2**63}, {"deviation": "x"},
    {"misfits": [{"attribute": "age", "reason": "odd", "fate": "left out", "count": 1}]}, {"misfits": {}},
])  # fmt: skip
def test_forged_files_are_refused(csv, change):
    plain = session(csv).release(TASK, 1, algorithm="identity").to_dict()
    with pytest.raises(BadInput):
        ad.Release.from_dict(signed({**plain, "misfits": {**plain["misfits"], **change}}))


def counted(count, fate="left out", *, rows=10_000, deviation=100.0):
    misfit = Misfit("age", "out of bounds", fate)
    return Misfits(F(1, 50), F(1, 50), rows - count, deviation, [NoisyMisfit(misfit, count)])


def test_what_is_said_aloud():
    """Certain, and many: noise is not told as a finding, nor are a few rows of many, nor what was declared."""
    assert not counted(SURE * 100).sure()
    assert counted(SURE * 100 + 1).alarming()
    assert counted(700, rows=20_000).sure()
    assert not counted(700, rows=20_000).alarming()
    assert "About 700 (± 212) of about 20,000 rows" in counted(700, rows=20_000).in_words()
    assert not counted(3000, "clamped").alarming()
    assert counted(6000, "clamped").alarming()
    assert "nearly all noise" in counted(9_500).warnings()[0]
    assert "nearly all of them" in counted(9_500, "counted as missing").warnings()[0]
    assert "nearly all" not in counted(5_000).warnings()[0]
    assert "adyton schema" in counted(5_000).advice()
    assert not any("adyton schema" in said for said in counted(5_000).warnings())
    assert counted(-300).in_words().startswith("No sign of rows")
    assert str(counted(5_000)).startswith("About 5,000 (± 212) of about 10,000 rows have an age")


def test_rows_that_were_counted_for_another_reason_are_not_counted_again():
    """A row without a race and without a citation has no citation; but it was counted under its race."""
    ways = [Misfit(name, "missing", "left out") for name in ("race", "citation")]
    first, second = Misfits(F(1, 50), F(1, 50), 19_000, 71.0, map(NoisyMisfit, ways, (8_248, 24_724))).warnings()
    assert first == "About 8,248 (± 150) of about 52,000 rows have no race, and were left out."
    no_citation = "have no citation (not counting those with no race), and were left out."
    assert second == f"About 24,724 (± 150) of about 52,000 rows {no_citation}"
    (alone,) = Misfits(F(1, 50), F(1, 50), 19_000, 71.0, map(NoisyMisfit, ways, (90, 24_724))).warnings()
    assert "not counting" not in alone  # of a missing race, there is no sign


def test_most_of_all_rows_are_reported_before_they_are_certain():
    """A small budget: 3,000 rows, all of them unreadable, and counts with a deviation of 700."""
    likely = counted(3000, rows=3000, deviation=700.0)
    assert not likely.sure()
    assert likely.warnings()[0].startswith("Likely: About 3,000 (± 1,483) of about 3,000 rows have an age")
    assert "No sign" not in str(likely)
    for fewer in (counted(2000, rows=3000, deviation=700.0), counted(3000, rows=7000, deviation=700.0)):
        assert not fewer.warnings()
        assert "No sign" in str(fewer)


def test_the_chance_of_a_false_alarm():
    """Six deviations of discrete Laplace noise: once in 10,000 times, at small and at large budgets."""
    from adyton.noise.simulated import discrete_laplace_variance

    for epsilon in (F(1, 1000), F(1, 10), F(1)):
        deviation = float(np.sqrt(discrete_laplace_variance([1 / epsilon])[0]))
        ratio = np.exp(-float(epsilon))
        beyond = ratio ** (np.floor(SURE * deviation) + 1) / (1 + ratio)
        assert beyond <= 1.1e-4
