"""One page, one notebook view and one plot for every kind of result, whatever it is."""

import re
from html import unescape
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.report.page import render, to_html, view_of
from adyton.report.pictures import Drawing
from adyton.result.sheets import Column, Sheet, Sheets
from browser import Browser, Outline, find_chromium

KINDS = (
    "counts", "cumulative", "queries", "marginals", "tables", "means", "summary", "naive Bayes", "tree",
    "configuration", "public configuration", "count", "units", "rows cut", "rows per unit",
)  # fmt: skip
DRAWN = [kind for kind in KINDS if kind != "rows cut"]


def served(demand, price):
    return price * max(0, demand - price)


@pytest.fixture(scope="module")
def results():
    """A result of each kind, of a table in which units have two rows."""
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(
        {
            "who": np.arange(2000) // 2,
            "age": rng.integers(0, 100, 2000),
            "sex": rng.choice(["F", "M"], 2000),
            "ward": rng.choice(["a & b", "c"], 2000),
            "cost": rng.random(2000) * 100,
        }
    )
    schema = ad.Schema(
        {
            "age": ad.Integer(0, 99, step=10),
            "sex": ad.Categorical(["F", "M"]),
            "ward": ad.Categorical(["a & b", "c"]),
            "cost": ad.Numeric(0, 100, bins=20),
        },
        unit="who",
        rows_per_unit=2,
    )
    session = ad.Session(rows, schema=schema, epsilon=3, dataset="visits")
    epsilon = "0.2"
    cut = session.cut_off(epsilon, most=10)
    assert cut is not None
    left_out = session.last
    grid = ad.configuration.Grid(served, interval=(0, 10))
    return {
        "counts": session.release(ad.Histogram("age", "sex"), epsilon, algorithm="identity"),
        "cumulative": session.release(ad.Cdf("age"), epsilon, algorithm="hb"),
        "queries": session.release(ad.QueryList([{"age": (20, 29)}, {"sex": "F"}]), epsilon, algorithm="identity"),
        "marginals": session.release(
            ad.Marginals(way=2, attrs=["age", "sex", "ward"]), epsilon, algorithm="identity", where="age >= 20"
        ),
        "tables": session.release(ad.Marginals(way=2), epsilon, algorithm="select-pairs", pairs=2),
        "means": session.release(ad.Mean("cost", by="ward"), epsilon),
        "summary": session.release(ad.Summary("cost"), epsilon),
        "naive Bayes": session.fit(ad.Classifier("sex", ["age", "ward"], method="naive-bayes"), epsilon),
        "tree": session.fit(ad.Classifier("sex", ["age", "ward"], method="jagannathan"), epsilon),
        "configuration": ad.configure(grid, [8.0, 9.0] * 50, epsilon=1),
        "public configuration": ad.configure(grid, [8.0, 9.0] * 50, epsilon=1, public=True),
        "count": session.count(epsilon, where="age >= 20"),
        "units": session.release(ad.Units(), epsilon),
        "rows cut": left_out,
        "rows per unit": session.release(ad.RowsPerUnit(5), epsilon, algorithm="identity"),
    }


@pytest.fixture(scope="module")
def pages(results):
    return {kind: render(result) for kind, result in results.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_well_made_and_fetches_nothing(pages, kind):
    page = pages[kind]
    outline = Outline(page)
    names = [tag for tag, _ in outline.tags]
    assert all(names.count(tag) == 1 for tag in ("h1", "header", "main", "footer", "style"))
    levels = [int(tag[1]) for tag in names if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    identities = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(identities) == len(set(identities))
    for tag, attributes in outline.tags:
        assert not [name for name in attributes if name.startswith("on")]
        link = attributes.get("href", "data:image/png")
        assert link.startswith(("data:image/png", "mailto:")) or (link[0] == "#" and link[1:] in identities)
        if tag == "section":
            assert attributes.get("aria-labelledby") in identities or "aria-label" in attributes
    for forbidden in ("http://", "https://", "<script", "<link", "<iframe", " src=", "@import", "javascript:", "url("):
        assert forbidden not in page.lower()
    assert "default-src 'none'" in page


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_says_what_every_page_says(pages, results, kind):
    short, long = pages[kind].split('<details class="long"')
    result = results[kind]
    assert result.receipt.dataset in short
    for section in ("reading", "provenance", *(["budget"] if result.receipt.private else [])):
        assert f'id="{section}"' in long
    assert ('id="budget"' in long) == (kind != "public configuration")
    assert result.which_rows in unescape(short)
    assert result.counted.sentence in result.which_rows
    if result.where:
        assert result.where.replace(">", "&gt;") in short
    assert len(re.findall("<figure>", pages[kind])) >= len(result.drawings())
    own = [text for text in result.own_paragraphs() if not text.startswith(("Algorithm", "Expected error"))]
    assert all(_squeezed(text.partition(": ")[2] or text) in _squeezed(_text(pages[kind])) for text in own)


def _text(page):
    return unescape(re.sub(r"<[^>]+>", " ", page.split("</style>")[1]))


def _squeezed(text):
    return "".join(text.split())


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_numbers_before_pictures(results, kind):
    shown = to_html(results[kind])
    assert results[kind]._repr_html_() == shown
    assert shown.count("<svg") == (kind in DRAWN)
    assert shown.index("<table") < (shown.index("<svg") if kind in DRAWN else len(shown))
    assert 2 <= shown.count("<tr>") <= 11
    for forbidden in ("<style", "<script", "http"):
        assert forbidden not in shown
    assert "Spent ε" in shown


@pytest.mark.parametrize("kind", KINDS)
def test_printed_it_begins_with_numbers(results, kind):
    result = results[kind]
    lines = str(result).splitlines()
    assert lines[: len(result.head)] == list(result.head)  # that comes before any number
    del lines[: len(result.head)]
    sheet = result.glance().sheets[0]
    one_line = sheet.lines == 1 and len(sheet.columns) > 1
    assert lines[0].split()[0] == ("statistic" if one_line else next(iter(sheet.labels)))
    assert re.search(r"\d", lines[1])
    assert "is left" in lines[-1]
    assert len(lines) <= 13
    assert repr(result).startswith("<")


@pytest.mark.parametrize("kind", DRAWN)
def test_every_picture_is_plotted(results, kind, tmp_path):
    figure = results[kind].plot(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000
    assert len(figure.axes) >= len(results[kind].drawings())


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_what_the_file_has(results, kind, tmp_path):
    result = results[kind]
    result.save(tmp_path / "kept")
    frame, file = result.to_frame(), tmp_path / "kept" / result.sheets().file
    pd.testing.assert_frame_equal(frame, pd.read_csv(file, keep_default_na=False, na_values=[""]), check_dtype=False)
    wide, bounds = result.to_frame(confidence=0.99), [name for name in frame if name.endswith("lower")]
    assert list(wide) == list(frame)
    assert bool(bounds) == (kind not in ("naive Bayes", "tree", "configuration", "public configuration"))
    assert all((wide[name].dropna() <= frame[name].dropna()).all() for name in bounds)
    both = [name for name in frame if name.endswith(("lower", "upper"))]  # a lower bound may be 0 at any rate
    assert any((wide[name].dropna() != frame[name].dropna()).any() for name in both) == bool(bounds)
    with pytest.raises(ad.errors.BadInput, match="confidence"):
        result.to_frame(confidence=95)


def test_a_table_takes_a_confidence(results):
    for table in (results["counts"].table("sex", "age"), results["counts"].unbiased("sex", "age"),
                  results["tables"].table("sex")):  # fmt: skip
        frame, wide = table.to_frame(), table.to_frame(confidence=0.99)
        error = ["standard_error"] * (table.errors is not None)
        assert list(frame) == [*table.group, "count", "lower", "upper", *error, "counted", "how"]
        assert (wide["lower"] < frame["lower"]).any()
        assert (wide["upper"] > frame["upper"]).all()
        assert list(table.to_frame(confidence=None)) == [name for name in frame if name not in ("lower", "upper")]
        assert list(table.to_polars().columns) == list(frame)
        with pytest.raises(ad.errors.BadInput, match="confidence"):
            table.to_frame(confidence=95)
    apart = next(group for group in results["tables"].groups if results["tables"].table(*group).how != "measured")
    with pytest.warns(UserWarning, match="No bounds"):
        assert not {"lower", "upper"} & set(results["tables"].table(*apart).to_frame())


def test_where_there_is_no_picture_a_sentence_says_so(results):
    with pytest.raises(ad.errors.BadInput, match="there is no picture of this count"):
        results["rows cut"].plot()


def test_a_kind_that_says_nothing_of_its_own_has_a_page(results):
    """All that a new kind of result needs are sheets, paragraphs and pictures."""

    class Days(type(results["count"])):
        def sheets(self, look=None, confidence=0.95):
            column = Column("count", np.arange(1.0, 8), np.zeros(7), np.full(7, 9.0))
            return Sheets("days.csv", (Sheet({"weekday": list("MTWTFSS")}, (column,)),), 0.95)

        def view(self):
            return view_of(self)

        def drawings(self, most=None):
            return [Drawing("Rows by <weekday>", "Seven.", lambda width: "<svg><title>7</title></svg>")]

    days = object.__new__(Days)
    days.__dict__.update(results["count"].__dict__)
    page = render(days)
    Outline(page)
    assert "<h3>Rows by &lt;weekday&gt;</h3>" in page
    assert page.count("<svg><title>7</title></svg>") == 2
    assert len(re.findall(r'<tr><th scope="row">[MTWFS]</th><td class="n">\d</td>', page)) == 7
    assert str(days).splitlines()[2].split() == ["M", "1", "0", "9"]


@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine")
def test_a_browser_shows_every_kind_without_complaint(pages, tmp_path):
    with Browser() as browser:
        for kind, page in pages.items():
            file = tmp_path / "page.html"
            file.write_text(page.replace("<details", "<details open"), encoding="utf-8")
            for width in (390, 1200):
                seen = browser.open(file, width)
                assert (seen.complaints, seen.requests, seen.overflows) == ([], [], False), (kind, width)
