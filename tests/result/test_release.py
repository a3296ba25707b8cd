"""Releases: frames, presentation and explanations."""

import numpy as np
import pandas as pd
import pytest
from small_table import releases

import adyton as ad
from adyton.errors import BadInput

release_of = releases(oldest=15)
TABLE_RELEASE = release_of(ad.Histogram("age", "sex", "smokes"))


def test_the_frame_has_a_line_for_every_cell():
    frame = TABLE_RELEASE.to_frame(confidence=0.9)
    assert list(frame) == ["age", "sex", "smokes", "count", "lower", "upper"]
    assert len(frame) == 16 * 3 * 2
    line = frame[(frame.age == 7) & (frame.sex == "(null)") & frame.smokes]
    assert line["count"].item() == TABLE_RELEASE.estimate[7, 2, 1]
    assert line.lower.item() < line["count"].item() < line.upper.item()
    assert TABLE_RELEASE.to_polars()["count"].to_list() == frame["count"].to_list()
    assert TABLE_RELEASE.to_arrow(confidence=None).column_names == ["age", "sex", "smokes", "count"]


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
    frame = session.release(ad.Histogram("count"), 1, algorithm="identity").to_frame()
    assert list(frame) == ["count", "count_", "lower", "upper"]


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
        "relative to the best (1 = best)",
        "typically off by",
        "a real release would cost ε = 0.5",
    ):
        assert part in words
    assert "as asked" in str(TABLE_RELEASE.explain())
    assert "<p>" in TABLE_RELEASE.explain()._repr_html_()
    assert "<svg" in TABLE_RELEASE._repr_html_()


def test_an_estimate_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        TABLE_RELEASE.estimate[0] = 1


def test_cells_that_an_algorithm_merges_by_itself_have_no_exact_interval():
    release = release_of(ad.QueryList([{"age": (3, 7)}]), "hdmm")
    assert release.interval({"age": (3, 7)}).kind == "exact"
    assert release.interval({"age": 3}).kind == "approximate"
