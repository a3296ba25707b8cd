"""Numbers that say little are held back, in frames, files, printed tables and pages, and nowhere else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.schema import Categorical, Integer, Schema

SCHEMA = Schema({"ward": Categorical(["large", "small", "rare"]), "age": Integer(0, 99)})
ROWS = pd.DataFrame({"ward": ["large"] * 5000 + ["small"] * 300 + ["rare"] * 2, "age": np.arange(5302) % 100})


def counts():
    return ad.Session(ROWS, schema=SCHEMA, epsilon=1).release(ad.Histogram("ward"), 1, algorithm="identity")


def test_small_counts_are_held_back_everywhere(tmp_path):
    release = counts().held_back(below=100)
    frame = release.to_frame(confidence=0.95)
    assert frame["held_back"].tolist() == [False, False, True]
    assert frame[["count", "lower", "upper"]].isna().any(axis=1).tolist() == [False, False, True]
    assert "held back" in str(release)
    assert "presentation, not privacy" in str(release.explain())
    release.save(tmp_path / "kept")
    lines = (tmp_path / "kept" / "estimate.csv").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == '"rare",,,,true'
    page = (tmp_path / "kept" / "report.html").read_text(encoding="utf-8")
    assert "held back" in page
    assert "Held back: 1." in page
    again = ad.load(tmp_path / "kept")
    assert again.hold == release.hold
    assert np.array_equal(again.estimate, release.estimate)
    assert again.held_back().to_frame()["count"].notna().all()


def test_wide_intervals_are_held_back_with_or_without_bounds():
    release = counts().held_back(wider_than="10%")  # bounds of ± 3: a count of 2 is shown if noise exceeds 28 times 1/ε
    for frame in (release.to_frame(confidence=None), release.to_frame()):
        assert frame["held_back"].tolist() == [False, False, True]
    assert release.sheets(confidence=None).sheets[0].columns[0].held.all()  # nothing is known without bounds


def test_a_group_with_few_rows_has_no_mean():
    session = ad.Session(ROWS, schema=SCHEMA, epsilon=2)
    means = session.release(ad.Mean("age", by="ward"), 1).held_back(below=100)
    frame = means.to_frame()
    assert frame["mean"].isna().tolist() == frame["count"].isna().tolist() == [False, False, True]
    assert "Held back" in str(means.explain())
    with pytest.raises(BadInput, match="no count of rows"):
        session.release(ad.Sum("age", by="ward"), 1).held_back(below=100)


@pytest.mark.parametrize(
    "rule",
    [{"below": -1}, {"below": "x"}, {"below": "50%"}, {"wider_than": "-5%"}, {"wider_than": True}, {"wider_than": 50}],
)
def test_bad_limits_are_refused(rule):
    with pytest.raises(BadInput, match="is a (part of a )?number"):
        counts().held_back(**rule)
    with pytest.raises(BadInput, match="not in a count"):
        ad.Session(ROWS, schema=SCHEMA, epsilon=1).count(1).held_back(below=5)


def test_a_picture_says_that_something_is_held_back():
    figure = counts().held_back(below=100).plot()
    assert "held back" in " ".join(
        text.get_text() for text in figure.findobj(match=lambda one: hasattr(one, "get_text"))
    )
