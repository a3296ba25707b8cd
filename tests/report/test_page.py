"""The report is complete, true to the release, safe to open anywhere, and readable by everybody."""

import re
from dataclasses import replace
from fractions import Fraction
from html import unescape
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.choice.decision import Bought
from adyton.errors import BadInput
from adyton.report.page import render
from adyton.report.svg import figure, people
from adyton.result import Release
from browser import Browser, Outline, find_chromium

KINDS = ("line", "bars", "map", "mixed map", "marginals", "cdf", "queries", "hostile", "joined")
CUT_OFF = """[...document.querySelectorAll('svg text')].filter(one => {
  const [words, drawing] = [one, one.ownerSVGElement].map(part => part.getBoundingClientRect());
  return words.width && (words.left < drawing.left - 1 || words.right > drawing.right + 1);
}).map(one => one.textContent).join()"""
"""The words in drawings that reach beyond them."""


@pytest.fixture(scope="module")
def pages(releases):
    return {name: render(release) for name, release in releases.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_page_is_well_made(pages, kind):
    outline = Outline(pages[kind])
    names = [tag for tag, _ in outline.tags]
    assert all(names.count(tag) == 1 for tag in ("h1", "header", "main", "footer", "style"))
    levels = [int(tag[1]) for tag in names if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    identities = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(identities) == len(set(identities))
    assert all(attributes["aria-labelledby"] in identities for tag, attributes in outline.tags if tag == "section")
    assert all(attributes.get("scope") in {"row", "col"} for tag, attributes in outline.tags if tag == "th")
    drawings = re.findall(r"<svg.*?</svg>", pages[kind])
    assert len(drawings) == 2 * len(re.findall("<figure>", pages[kind])) > 0
    assert all(re.search(r'role="img".*?><title>[^<]+</title><desc>[^<]+</desc>', one) for one in drawings)
    for section in ("how", "budget", "reading", "provenance"):
        assert section in identities


@pytest.mark.parametrize("kind", KINDS)
def test_page_fetches_and_runs_nothing(pages, kind):
    page = pages[kind]
    for forbidden in ("http://", "https://", "<script", "<link", "<iframe", " src=", "@import", "javascript:", "url("):
        assert forbidden not in page.lower()
    for _, attributes in Outline(page).tags:
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "data:image/png").startswith(("data:image/png", "mailto:"))
    assert "default-src 'none'" in page


def test_names_are_shown_and_not_obeyed(pages, releases):
    hostile = releases["hostile"].receipt.dataset
    assert hostile in unescape(pages["hostile"])
    assert hostile not in pages["hostile"]
    assert hostile in Outline(pages["hostile"]).cells


@pytest.mark.parametrize("kind", ["line", "map", "joined"])
def test_table_holds_the_estimate_and_its_interval(pages, releases, summaries, kind):
    release, answered = releases[kind], summaries[kind].interval
    table = pages[kind].split("The numbers as a table")[1].split("</details>")[0]
    cells = Outline(table[table.index("<tbody>") : table.index("</tbody>") + 8]).cells
    width = release.estimate.ndim + 3
    lines = [cells[start : start + width] for start in range(0, len(cells), width)]
    assert len(lines) == min(200, release.estimate.size)
    flat = release.estimate.reshape(-1)
    assert [line[-3] for line in lines] == [people(value) for value in flat[: len(lines)]]
    labels = [np.array(list(release.axes.values())[axis]) for axis in range(release.estimate.ndim)]
    for place in (0, len(lines) // 2, len(lines) - 1):
        where = np.unravel_index(place, release.estimate.shape)
        assert lines[place][:-3] == [str(labels[axis][one]) for axis, one in enumerate(where)]
    bounds = {(people(low), people(high)) for low, high in zip(answered.lower, answered.upper, strict=True)}
    assert all((line[-2], line[-1]) in bounds for line in lines)


def test_table_holds_what_was_asked_for(pages, releases):
    """Cumulative counts, and the first lines of every marginal."""
    table = pages["cdf"].split("The numbers as a table")[1].split("</details>")[0]
    assert "rows up to here" in table
    cumulative = [people(value) for value in np.cumsum(releases["cdf"].estimate)]
    assert Outline(table[table.index("<tbody>") : table.index("</tbody>") + 8]).cells[1::4] == cumulative
    sums = releases["marginals"].estimate.sum(axis=2)
    for pair in ("sex × department", "sex × age", "department × age"):
        (other,) = {"sex", "department", "age"} - set(pair.split(" × "))
        known = "" if other == "sex" else f", of rows with a known value of {other}"  # nobody is without a sex
        table = pages["marginals"].split(f"{pair}{known}, as a table")[1].split("</details>")[0]
        cells = Outline(table[table.index("<tbody>") : table.index("</tbody>") + 8]).cells
        assert len(cells) % 5 == 0
        if pair == "sex × department":
            assert cells[:3] == ["F", "emergency", people(sums[0, 0])]


def test_it_says_what_was_chosen_and_why(releases, pages):
    release = releases["bars"]
    cells = Outline(pages["bars"]).cells
    assert f"{release.algorithm} (chosen)" in cells
    assert set(release.choice.regrets) - {release.algorithm} <= set(cells)
    assert "hb, as asked." in pages["line"]
    bought = Bought("scale", "ε times the number of rows", 2507.3, 70.7, Fraction(1, 200))
    page = render(replace(release, choice=replace(release.choice, bought=(bought,), notes=("one & only",))))
    assert "ε times the number of rows" in page
    assert "2,507.3 ± 70.7, noisy" in page
    assert "for ε = 0.005" in page
    assert "one &amp; only" in page


def test_budget_adds_up(releases):
    receipt = replace(releases["line"].receipt, total=Fraction(2), spent=Fraction(4, 5))
    page = render(replace(releases["line"], receipt=receipt))
    assert 'aria-label="Of 2: 0.3 spent before, 0.5 by this release, 1.2 left"' in page
    assert re.findall(r'<i class="\w+" style="width:([\d.]+)%', page) == ["15.000", "25.000"]


def test_the_error_of_each_count_is_that_of_all_tables(releases, summaries):
    """From the narrowest to the widest of the intervals that are shown, those of small tables included."""
    columns = [own for sheet in summaries["marginals"].sheets.sheets for own in sheet.columns]
    halves = [(own.upper - own.lower) / 2 for own in columns]
    narrowest = figure(float(min(half.min() for half in halves)))
    widest = figure(float(max(half.max() for half in halves)))
    assert len(halves) > 1
    assert f"± {narrowest} to {widest}" in unescape(render(releases["marginals"]))


def test_provenance_is_shown(releases, pages):
    release, page = releases["marginals"], unescape(pages["marginals"])
    for told in (
        "patient (at most 1 row)",
        "age >= 18",
        "Calibrating noise to sensitivity",
        "TCC 2006",
        "NumPy".lower(),
    ):
        assert told in page
    assert release.schema.to_toml().strip() in page
    assert release.receipt.created in page
    assert all(f'class="n">{entry.number}</th>' in page for entry in release.receipt.entries)


def test_tables_that_are_not_drawn_are_in_a_file():
    """Ten tables of five attributes: none of three is drawn, and all are in one file."""
    names = [f"a{number}" for number in range(5)]
    schema = ad.Schema({name: ad.Boolean() for name in names})
    session = ad.Session(pd.DataFrame({name: [True] for name in names}), schema=schema, epsilon=1)
    release = session.release(ad.Marginals(way=3), 1, algorithm="identity")
    assert "The requested tables are in tables.csv beside this page." in render(release)
    assert release.sheets().file == "tables.csv"


def test_simulated_noise_is_called_so(releases, pages):
    assert "protects nobody" not in pages["line"]
    simulated = replace(releases["line"].receipt, private=False)
    assert "protects nobody" in render(replace(releases["line"], receipt=simulated))


def test_without_intervals_there_is_no_band(releases, monkeypatch):
    def refuse(self, queries, confidence):
        raise BadInput("not for this one.")

    monkeypatch.setattr(Release, "interval", refuse)
    page = render(releases["line"])
    assert "not for this one." in page
    assert 'fill-opacity=".22"' not in page
    assert '<th scope="col" class="n">from</th>' not in page


@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine")
def test_a_browser_shows_it_without_complaint(pages, tmp_path):
    with Browser() as browser:
        for kind in ("line", "map", "mixed map", "queries", "hostile", "joined"):
            file = tmp_path / f"{kind}.html"
            file.write_text(pages[kind].replace("<details>", "<details open>"), encoding="utf-8")
            for width in (1280, 390):
                seen = browser.open(file, width)
                assert seen.client_width == width
                assert (seen.complaints, seen.requests, seen.overflows) == ([], [], False), (kind, width)
                shown = "[...document.querySelectorAll('svg')].filter(one => one.getBoundingClientRect().width > 300)"
                assert seen.evaluate(f"{shown}.length") == pages[kind].count("<figure>")
                assert seen.evaluate(CUT_OFF) == "", (kind, width)
