"""Rehearsals: any request, on rows made up from the schema, marked as simulated, at no cost."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.report.page import render
from adyton.session.rehearsal import codes_for, facts_of, rehearsed
from adyton.tasks import Request

SCHEMA = ad.Schema(
    {
        "who": ad.Identifier(),
        "age": ad.Integer(0, 49),
        "sex": ad.Categorical(["F", "M"], nulls="level", outside="other"),
        "day": ad.Date("2024-01-01", "2024-03-31", by="week", column="seen"),
        "pay": ad.Numeric(0, 10, 20, outside="clamp"),
    },
    unit="who",
    rows_per_unit=3,
    rows=5000,
)
TASKS = [
    (ad.Histogram("age"), {"algorithm": "hb", "where": "sex = 'F' and pay > 3"}),
    (ad.Marginals(way=2, attrs=["age", "sex", "day"]), {"algorithm": "all-pairs"}),
    (ad.Mean("pay", by="sex"), {}),
    (ad.Quantiles("pay"), {"where": "age > 20"}),
    (ad.Count(), {}),
    (ad.Units(), {"where": "age > 20"}),
    (ad.RowsPerUnit(5), {"algorithm": "identity"}),
    (ad.Classifier("sex", ["age", "pay"], method="naive-bayes"), {}),
]


@pytest.fixture(scope="module")
def session():
    seen = pd.to_datetime(["2024-01-05", "2024-02-01"])
    frame = pd.DataFrame({"who": ["a", "b"], "age": [3, 40], "sex": ["F", None], "seen": seen, "pay": [1.5, 30.0]})
    return ad.Session(frame, schema=SCHEMA, epsilon=1)


@pytest.mark.parametrize(("task", "how"), TASKS, ids=lambda value: str(value)[:25])
def test_any_request_can_be_rehearsed(session, task, how):
    rehearsal = session.rehearse(task, "0.5", **how)
    assert session.spent == 0
    assert not rehearsal.receipt.private
    assert (rehearsal.receipt.dataset, rehearsal.receipt.unit) == ("rehearsal of pandas DataFrame", "who")
    assert repr(rehearsal).endswith("simulated, NOT private>")
    assert "WARNING: simulated, NOT private" in str(rehearsal.explain())
    assert "attacker" not in str(rehearsal.explain())
    assert "simulated" in render(rehearsal)
    plain = rehearsal.to_dict()
    assert plain["record"]["private"] is False
    assert type(rehearsal).from_dict(plain).to_dict() == plain


def test_a_rehearsal_costs_and_errs_as_the_release(session):
    """The root has the real stability: three rows of a person count."""
    rehearsal = session.rehearse(ad.Histogram("age"), "0.5", algorithm="identity", misfits=True)
    release = session.release(ad.Histogram("age"), "0.5", algorithm="identity", misfits=True)
    assert rehearsal.expected_error.per_query == release.expected_error.per_query
    assert rehearsal.misfits.fits == pytest.approx(5000, abs=2000)
    assert (rehearsal.epsilon, rehearsal.schema, rehearsal.task) == (release.epsilon, release.schema, release.task)
    assert [debit.amount for debit in rehearsal.receipt.entries] == [debit.amount for debit in release.receipt.entries]
    assert {debit.operator for debit in rehearsal.receipt.entries} == {
        debit.operator for debit in release.receipt.entries
    }


def test_made_up_rows_come_from_schema_and_seed_alone(session):
    first, again, other = (
        session.rehearse(ad.Histogram("age", "sex"), "0.5", algorithm="identity", seed=seed) for seed in (1, 1, 2)
    )
    assert first.to_frame().equals(again.to_frame())
    assert not first.to_frame().equals(other.to_frame())
    assert session.rehearse(ad.Count(), 1, rows=3_000_000).value == pytest.approx(3_000_000, abs=100)
    assert session.rehearse(ad.Count(), 1).value == pytest.approx(5000, abs=100)


def test_groups_have_as_many_rows_as_the_request_says(session):
    """Then intervals are as wide as those that were promised, with a filter, too."""
    for where in (None, "age > 20"):
        count = session.rehearse(ad.Mean("pay", by=["sex", "day"], rows=300), 100, where=where).figures()[0]
        assert np.abs(count.estimate - 300).max() < 5


def test_made_up_cells_are_cells_of_the_schema():
    codes = codes_for(SCHEMA, 4000, np.random.default_rng(1))
    _, *sizes = (1, 50, 4, 14, 20)
    assert codes.min() == 0
    assert (codes.max(axis=0)[1:] < sizes).all()
    assert (np.bincount(codes[:, 2], minlength=4) > 40).all()  # some values are missing, some are others


def test_what_cannot_be_released_cannot_be_rehearsed(session):
    for task, how in ((ad.Histogram("height"), {}), (ad.Count(), {"where": "height > 3"}), (ad.Count(), {"rows": 0})):
        with pytest.raises(BadInput):
            session.rehearse(task, 1, **how)


def test_a_schema_is_enough():
    request = Request.of(ad.Histogram("age"), 30, algorithm="identity")
    rehearsal = rehearsed(request, facts_of(SCHEMA))
    assert rehearsal.misfits is not None  # as for a CSV file
    assert rehearsal.epsilon == Fraction(30)
