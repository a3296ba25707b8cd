"""The first line of every output says which rows are in it; totals that cannot be right are named."""

import json
import re
from fractions import Fraction as F

import pandas as pd
import pytest

import adyton as ad
from adyton.noise import SimulatedNoise
from adyton.report.page import render, to_html
from adyton.result.coverage import Coverage, Total
from adyton.result.misfits import Misfits, NoisyMisfit
from adyton.schema.misfits import misfits_of

ROWS = 4000
LEFT_OUT = "left out because a value is missing or not as declared"
MISSING = f"How many are {LEFT_OUT} was not measured."
EACH = (
    "Each of these tables has only rows with known values of its own attributes. They were then made to agree: where "
    "values are missing, counts lie in between, and intervals do not account for it."
)


def table():
    """Half of the rows have no class, and half of the others no result; nobody has no sex."""
    half, quarter = ROWS // 2, ROWS // 4
    columns = {
        "class": ["a"] * half + [None] * half,
        "result": ["+"] * quarter + [None] * half + ["-"] * quarter,
        "sex": ["F", "M"] * half,
        "age": [30] * quarter + [None] * (ROWS - quarter),
        "who": range(ROWS),
    }
    return pd.DataFrame(columns)


def schema(**how):
    levels = {"class": ["a", "b"], "result": ["+", "-"]}
    attributes = {name: ad.Categorical(own) for name, own in levels.items()}
    attributes["sex"] = ad.Categorical(["F", "M"], nulls="level", outside="other")
    return ad.Schema(attributes | {"age": ad.Integer(0, 99, nulls="level", outside="clamp")}, **how)


def session(**how):
    return ad.Session(table(), schema=schema(**how), epsilon=3)


@pytest.mark.parametrize(("task", "how", "said"), [
    (ad.Histogram("class", "result"), {}, "Only rows with known values of class and result are in this table. "
     f"{MISSING}"),
    (ad.Histogram("sex"), {}, "All rows are in this table; missing values count as (null) and undeclared values count "
     "as (other)."),
    (ad.Histogram("class"), {"where": "age > 3"}, "Only rows where age > 3, with a known value of class, are in "
     f"this table. {MISSING}"),
    (ad.Marginals(sets=[["class"], ["result"]]), {"algorithm": "identity"}, "Only rows with known values of class "
     f"and result are in these tables. {MISSING}"),
    (ad.Marginals(sets=[["class", "sex"], ["result"]]), {"algorithm": "all-pairs"}, f"{EACH} {MISSING}"),
    (ad.QueryList([{"class": "a"}]), {}, f"Only rows with a known value of class are counted. {MISSING}"),
    (ad.Mean("age", by="sex"), {}, f"Only rows with a known value of age are in these numbers. {MISSING}"),
    (ad.Count(), {}, "All rows are counted."),
    (ad.Count(), {"where": "age > 3"}, f"Only rows where age > 3 are counted. {MISSING}"),
    (ad.Classifier("sex", ["class"]), {}, f"Only rows with a known value of class were learnt from. {MISSING}"),
])  # fmt: skip
def test_every_output_begins_with_the_rows_that_are_in_it(task, how, said):
    release = session().release(task, 1, **how) if not isinstance(task, ad.Classifier) else session().fit(task, 1)
    assert release.which_rows == said
    assert str(release).startswith(said)
    assert said in release.explain().paragraphs[0]
    assert json.loads(release.to_text())["which_rows"] == said
    for page in (render(release), to_html(release)):
        assert page.index(said.replace(">", "&gt;")) < page.index("<table")
        assert "unnoticed" not in page


def test_each_person_is_said_too():
    release = session(unit="who").release(ad.Histogram("class"), 1)
    assert release.which_rows == (
        "At most 1 row of each who is counted. Others are left out: these are not numbers of all rows. Rows without a "
        f"who are left out. Only rows with a known value of class are in this table. {MISSING}"
    )


def test_what_was_measured_is_said_as_measured():
    release = session().release(ad.Histogram("class", "result"), 1, misfits=True)
    said = rf"About [23],\d+ \(±\s\d+\) of about [345],\d00 rows are {LEFT_OUT}\."
    only = "Only rows with known values of class and result are in this table."
    assert re.fullmatch(f"{only} {said}", release.which_rows)
    assert ad.Release.from_dict(release.to_dict()).which_rows == release.which_rows


def test_what_is_beyond_the_bounds_is_known_and_not_counted():
    """Whoever reads of a known delay thinks of all delays: of those of a day, too."""
    attributes = {
        "delay": ad.Integer(-60, 180),
        "cost": ad.Numeric(0, 20000, bins=10, outside="clamp"),
        "pay": ad.Numeric(0, 20000, bins=10),
        "year": ad.Integer(1975, 2014),
        "day": ad.Date("2024-01-01", "2024-12-31"),
        "waited": ad.Duration(0, 240, bins=4, unit="minutes"),
    }
    rows = pd.DataFrame({name: [None] * 9 for name in attributes}, dtype=object)
    opened = ad.Session(rows, schema=ad.Schema(attributes), epsilon=5)
    day = "2024-01-01 to 2024-12-31"
    bounds = ("delay (−60 to 180)", "cost", "pay (0 to 20,000)", "year (1975 to 2014)", f"day ({day})",
              "waited (0 to 240 minutes)")  # fmt: skip
    for name, bounded in zip(attributes, bounds, strict=True):
        said = opened.release(ad.Histogram(name), "0.1").which_rows
        assert said == f"Only rows with a known value of {bounded} are in this table. {MISSING}"


def test_numbers_of_missing_rows_have_the_error_that_a_page_shows_elsewhere():
    """19 times of 20, as the intervals of the counts beside it; and a total with no more digits than noise leaves."""
    opened = ad.Session(table(), schema=schema(), epsilon=900)
    truth, right = 3 * ROWS // 4, 0
    for _ in range(100):
        said = opened.release(ad.Histogram("class", "result"), 4, misfits=True, algorithm="identity").which_rows
        about, far, rows = (
            int(number.replace(",", ""))
            for number in re.search(r"About ([\d,]+) \(±\s([\d,]+)\) of about ([\d,]+) rows", said).groups()
        )
        right += abs(about - truth) <= far
        assert rows % 10 == 0
    assert right >= 87  # of 100; once in 10⁴ runs it is less


def test_rows_that_noise_could_hide_are_among_those_left_out():
    """4,042 flights are not certainly beyond the bounds at a small ε; 9,430 are certainly without a delay."""
    asked = ad.Schema({"delay": ad.Integer(-60, 180)})
    ways = {way.reason: way for way in misfits_of(asked, asked.names)}
    for beyond, shown in ((4_042, "13,472"), (-200, "9,430")):  # fewer than those that are certain is noise
        counts = [NoisyMisfit(ways["missing"], 9_430), NoisyMisfit(ways["out of bounds"], beyond)]
        misfits = Misfits(F(1, 500), F(1, 50), 323_304, 707.1, [NoisyMisfit(ways["unreadable"], 0), *counts])
        assert [kind.misfit.reason for kind in misfits.sure()] == ["missing"]
        said = Coverage.of(asked, misfits=misfits).measured
        assert said.startswith(f"About {shown} (± 2,594) of about 33"), said


def test_margins_say_which_rows_they_have():
    page = render(session().release(ad.Histogram("class", "result"), 1))
    assert "Rows by class, of rows with a known value of result" in page
    assert "Rows by result, of rows with a known value of class" in page


def test_a_total_that_cannot_be_right_is_said_aloud_and_free_of_charge():
    """Of 4,000 rows, 1,000 are counted: the schema knows it, or an earlier count does."""
    opened = session(rows=ROWS)
    lost = opened.release(ad.Histogram("class", "result"), 1)
    (said,) = lost.warnings()
    assert "the data have about 4,000 by their description: about 75% are missing" in said
    assert f"WARNING: {said}" in lost.explain("reader").paragraphs
    assert said in render(lost)
    assert (opened.release(ad.Histogram("sex"), 1).notes, opened.spent) == ((), 2)

    opened = session()
    assert opened.release(ad.Histogram("class"), "0.5").notes == ()  # nothing is known of the rows
    assert opened.count("0.5").notes == ()  # that there were fewer before says nothing against it
    lost = opened.release(ad.Histogram("class"), 1)
    assert "by an earlier count of the same table: about 50% are missing" in lost.warnings()[0]
    assert ad.Release.from_dict(lost.to_dict()).notes == lost.notes
    assert opened.release(ad.Histogram("class"), "0.5", where="age > 3").notes == ()
    assert session(rows=2 * ROWS).count(1).warnings()[0].endswith("about 50% are missing, or that number is wrong.")
    assert session(rows=1000).count(1).warnings()[0].endswith("that number is wrong.")


def test_rough_numbers_and_noise_are_no_reason_for_a_warning():
    assert Total(700).far_below(Total(1000))
    assert not Total(801).far_below(Total(1000))
    assert not Total(700, 30.0).far_below(Total(1000))


def test_readers_are_told_what_is_so_and_producers_what_to_do():
    release = session(rows=ROWS).release(ad.Histogram("class", "result"), 1, misfits=True)
    assert {note.audience for note in release.notes} == {"reader", "producer"}
    (advice,) = release.advice()
    assert "release again" in advice
    for public in (render(release), str(release.explain("reader")), release.to_text(), to_html(release)):
        assert "release again" not in public
        assert "adyton schema" not in public
    assert advice in release.explain().paragraphs


def test_the_head_of_a_page_says_how_far_off_its_numbers_are():
    rows = pd.DataFrame({"ward": ["a", "b"] * 1000, "stay": [3, 5] * 1000})
    attributes = {"ward": ad.Categorical(["a", "b", "c", "d"]), "stay": ad.Integer(0, 20)}
    opened = ad.Session(rows, schema=ad.Schema(attributes), epsilon=3, noise=SimulatedNoise(3))
    head = render(opened.release(ad.Mean("stay", by="ward"), 1)).partition("<main>")[0]
    assert re.search(r"Error of each mean</dt><dd>± 0\.\d+ to \d+", head)
    assert "little is known of 2 of them" in head
    held = opened.release(ad.Mean("stay", by="ward"), "0.9").held_back(wider_than="20%")
    head = render(held).partition("<main>")[0]
    assert "2 of them are held back" in head
    assert re.search(r"Error of each mean</dt><dd>± 0\.\d+( to 0\.\d+)?<", head)  # of those that are shown
    head = render(opened.release(ad.Quantiles("stay"), 1)).partition("<main>")[0]
    head_of_model = render(opened.fit(ad.Classifier("ward"), "0.05")).partition("<main>")[0]
    assert "how far off is not known" in head_of_model
    assert all(f"<dt>{name}</dt>" in head for name in ("25% quantile", "Median", "75% quantile"))
