"""A page says what its schema says: title, office, contact and notes, and examples from its own attributes."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput, SchemaError
from adyton.kernel.ledger.terms import Terms
from adyton.report import page
from browser import Browser, find_chromium

HOSTILE = "</title><script>alert('x')</script>\"&"
WORDS = {
    "title": f"Visits {HOSTILE}",
    "office": f"Office {HOSTILE}",
    "contact": f"room 12 {HOSTILE}",
    "notes": [f"First {HOSTILE}", "Second."],
}
ATTRIBUTES = {
    "age": ad.Integer(0, 99, step=10),
    "sex": ad.Categorical(["F", "M"]),
    "ward": ad.Categorical(["Diseases of the circulatory system", "Neoplasms", "Other"]),
    "month": ad.Date("2024-01-01", "2024-12-31", by="month"),
    "salary": ad.Numeric(0, 100_000, bins=50),
}
COLLIDING = """[...document.querySelectorAll('svg')].flatMap(svg => {
  const words = [...svg.querySelectorAll('text')].map(one => [one.textContent, one.getBoundingClientRect()])
    .filter(one => one[1].width && one[0].trim());
  return words.flatMap(([a, p], place) => words.slice(place + 1).filter(([b, q]) => p.left < q.right - 1
    && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3).map(([b]) => a + ' | ' + b));
}).join()"""
CUT_OFF = """[...document.querySelectorAll('svg text')].filter(one => {
  const [a, b] = [one, one.ownerSVGElement].map(part => part.getBoundingClientRect());
  return a.width && (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 2 || a.bottom > b.bottom + 2);
}).map(one => one.textContent).join()"""


@pytest.fixture(scope="module")
def told():
    """A release of each kind, of a table whose schema has words for reports."""
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(
        {
            "age": rng.integers(0, 100, 2000),
            "sex": rng.choice(["F", "M"], 2000),
            "ward": rng.choice(ATTRIBUTES["ward"].levels, 2000),
            "month": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, 2000), unit="D"),
            "salary": rng.integers(0, 100_000, 2000),
        }
    )
    session = ad.Session(rows, schema=ad.Schema(ATTRIBUTES, report=WORDS), epsilon=60, unit="patient", dataset="visits")
    pairs = ad.Marginals(way=2, attrs=["age", "sex", "ward", "month"])
    return {
        "cells": session.release(ad.Histogram("age", "sex"), epsilon=1, algorithm="identity"),
        "guessed": session.release(ad.Histogram("ward"), epsilon=1, algorithm="ahp"),
        "numbers": session.release(ad.Mean("salary", by="ward"), epsilon=2),
        "months": session.release(ad.Mean("salary", by="month"), epsilon=2),
        "quantiles": session.release(ad.Quantiles("salary", [0.25, 0.5, 0.75], by="ward"), epsilon=2),
        "summary": session.release(ad.Summary("salary"), epsilon=2),
        "tables": session.release(pairs, epsilon=2, algorithm="select-pairs"),
        "model": session.fit(ad.Classifier("sex", ["age", "ward"], method="naive-bayes"), epsilon=2),
    }


@pytest.fixture(scope="module")
def pages(told):
    return {name: page.render(release) for name, release in told.items()}


def short_and_long(text):
    short, long = text.split('<details class="long"')
    return short, long


@pytest.mark.parametrize("kind", ["cells", "numbers", "tables", "model"])
def test_every_report_has_the_words_of_the_schema(pages, kind):
    text = pages[kind]
    assert "<script" not in text
    for words in (WORDS["title"], WORDS["office"], WORDS["contact"], *WORDS["notes"]):
        assert words in unescape(short_and_long(text)[0])
    assert re.search(r"<h1>Visits &lt;/title&gt;", text)


@pytest.mark.parametrize("kind", ["cells", "numbers", "tables", "model"])
def test_a_short_version_comes_first_and_the_long_one_is_folded(pages, kind):
    short, long = short_and_long(pages[kind])
    assert "Three terms" in short
    assert re.search(r'<dl class="terms">(?:(?!</dl>).)*</dl>', short, re.DOTALL)[0].count("<dt>") == 3
    assert "<figure" in short
    for section in ("budget", "reading", "provenance"):
        assert f'id="{section}"' in long
        assert f'id="{section}"' not in short
    assert "details:not([open]) { display: none; }" in short  # in print: what is open is printed


def test_the_words_of_the_report_change_nothing_else(tmp_path):
    plain, worded = ad.Schema(ATTRIBUTES), ad.Schema(ATTRIBUTES, report=WORDS)
    assert plain == worded
    assert hash(plain) == hash(worded)
    assert Terms.of(plain.to_dict(), 1) == Terms.of(worded.to_dict(), 1)  # no ledger is refused for a new title
    again = ad.Schema.from_toml(worded.to_toml())
    assert again.report == worded.report == worded.select("age").report
    assert "report" not in plain.to_dict()
    assert again.report.to_dict() == WORDS


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[report]\ntitel = 'x'", "unknown key 'titel'.*Did you mean"),
        ("[report]\ntitle = 3", "title of a report must be a text"),
        ("[report]\nnotes = [1]", "a note of a report must be a text"),
        ("[report]\nnotes = 3", "notes must be a text or a list"),
        ("report = 'x'", r"table like \[report\]"),
    ],
)
def test_bad_words_are_refused(given, said):
    with pytest.raises(SchemaError, match=said):
        ad.Schema.from_toml(f"{given}\n[attributes.a]\ntype = 'boolean'\n")


def test_links_are_made_of_addresses_alone(told):
    for contact, link in (("ask@office.example", "mailto:ask@office.example"), ("https://a.example/b", None)):
        schema = ad.Schema({name: ATTRIBUTES[name] for name in ("age", "sex")}, report={"contact": contact})
        shown = page.render(replace(told["cells"], schema=schema))
        assert f'href="{link or contact}"' in shown
    assert 'href="room' not in page.render(told["cells"])


def test_examples_come_from_the_data(pages, told):
    reading = re.search(r"How to read it\.</strong> ([^<]*)", pages["cells"])[1]
    assert re.fullmatch(
        r"Of age \[\d+, \d+\] and sex [FM] there are about \d+ rows; the 95% interval reaches from −?\d+ to \d+, .*",
        reading,
    )
    assert "an illness" not in pages["cells"]
    assert re.search(r"If the counts show that age \[\d+, \d+\] and sex [FM] is common", pages["cells"])
    assert re.search(r"Mean of salary by ward, [^:<]+: about [\d,]+; the 95% interval reaches", pages["numbers"])


NAMES = {"median": "50%"}
"""What a report calls other than the figures of a release."""


def test_approximate_stands_beside_what_is_and_nowhere_else(pages, told):
    assert "approximate" not in pages["cells"].split("</style>")[1]
    short = short_and_long(pages["guessed"])[0]
    assert "the approximate 95% interval" in short
    assert re.search(r"<small>[\d,]+ to [\d,]+ \(approximate\)</small>", short)
    assert {one.name: one.kind for one in told["summary"].figures()}["mean"] == "exact"
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th>.*?</tr>', pages["summary"])
    kinds = {one.name: one.kind for one in told["summary"].figures()}
    for line in re.findall(r'<tr><th scope="row">.*?</tr>', pages["summary"]):
        name = NAMES.get(said := re.search(r'row">([^<]*)<', line)[1], said)
        if name in kinds:
            assert ("approximate" in line) == (kinds[name] == "approximate")
    assert set(kinds) <= {NAMES.get(row, row) for row in rows}


def test_a_table_for_each_marginal(pages, told):
    assert len(told["tables"].groups) == 6
    for group in told["tables"].groups:
        section = re.search(rf'<section class="single first"[^>]*aria-label="{" × ".join(group)}">.*?</section>',
                            pages["tables"], re.DOTALL)[0]  # fmt: skip
        assert "<table>" in section
        assert section.count("<svg") == 2


def test_numbers_are_drawn_as_dots_or_lines(told, tmp_path):
    (means,) = told["numbers"].plot().axes
    assert {"Neoplasms", "Other"} <= {one.get_text() for one in means.texts}
    dots = [one.center[0] for one in means.patches]
    assert in_line([told["numbers"].value("mean", ward) for ward in ATTRIBUTES["ward"].levels], dots)
    (line,) = told["months"].plot(tmp_path / "months.png").axes
    path = next(one for one in line.patches if not one.get_fill())
    assert in_line(told["months"].to_frame()["mean"], path.get_path().vertices[:, 1])
    assert (tmp_path / "months.png").stat().st_size > 1000
    (quantiles,) = told["quantiles"].plot().axes
    assert len({one.get_facecolor() for one in quantiles.patches}) == 3
    with pytest.raises(BadInput, match="ends with"):
        told["numbers"].plot("x.doc")


def in_line(values, pixels):
    """Whether pixels are where a scale puts values, to a tenth of a pixel."""
    return np.allclose(np.polyval(np.polyfit(values, pixels, 1), values), pixels, atol=0.11)


def test_tables_are_drawn(told):
    assert len([one for one in told["tables"].plot().axes if one.get_title(loc="left")]) == 6
    (pyramid,) = told["tables"].plot(attributes=["sex", "age"]).axes
    assert pyramid.get_title(loc="left") == "Rows by sex and age"
    assert len(pyramid.patches) == 2 * ATTRIBUTES["age"].size
    with pytest.raises(BadInput, match="one or two attributes"):
        told["tables"].plot(attributes=["sex", "age", "ward"])


@pytest.mark.full
@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine")
def test_a_browser_finds_no_word_cut_off_or_collided(pages, tmp_path):
    with Browser() as browser:
        for kind, text in pages.items():
            file = tmp_path / f"{kind}.html"
            file.write_text(text.replace("<details", "<details open"), encoding="utf-8")
            for width in (390, 700, 1280, 1600):
                seen = browser.open(file, width, dark=width == 700)
                assert (seen.complaints, seen.requests, seen.overflows) == ([], [], False), (kind, width)
                assert seen.evaluate(CUT_OFF) == "", (kind, width)
                assert seen.evaluate(COLLIDING) == "", (kind, width)
