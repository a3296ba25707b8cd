"""Two results side by side: what changed, both as one, and why two cannot be compared."""

import csv
import html
import io
import re
import time

import pytest

import adyton as ad
from adyton.programs.base import result_in
from adyton.service.pages.results import comparing
from service.pages.pretending import pretended, reply

COMPARE = "/tables/people/compare"
REQUESTS = {
    "c-all": {"task": {"task": "histogram", "attributes": ["ward"]}, "where": None},
    "c-again": {"task": {"task": "histogram", "attributes": ["ward"]}, "where": None},
    "c-women": {"task": {"task": "histogram", "attributes": ["ward"]}, "where": "sex = 'F'"},
    "c-sexes": {"task": {"task": "histogram", "attributes": ["sex"]}, "where": None},
}


@pytest.fixture(scope="module")
def asked(served):
    """Results of mara, by id."""
    texts = {}
    for id, request in REQUESTS.items():
        status, _, body = served.ask(id, {**request, "epsilon": "0.2", "algorithm": "identity"})
        assert status == 200, body
        texts[id] = result_in(body.decode(), id)
    return texts


def shown(visitor, query):
    for _ in range(1200):
        page = visitor.get(f"{COMPARE}?{query}")
        if "are being computed" not in page.words:
            return page
        time.sleep(0.1)
    raise AssertionError("it is never computed")


def test_what_changed_is_what_change_says(visit, asked):
    mara = visit("mara")
    page = shown(mara, "a=c-all&b=c-women")
    found = ad.change(asked["c-all"], asked["c-women"])
    assert page.status == 200
    assert found.meaning in page.words
    rows = re.findall(r'<tr><th scope="row">(ward \w+)</th>(.*?)</tr>', page.html, re.S)
    assert [name for name, _ in rows] == found["query"].tolist()
    for line, (_, cells) in enumerate(rows):
        texts = re.findall(r'<td class="n">(.*?)</td>', cells)
        numbers = [float(text.replace(",", "").replace("−", "-")) for text in texts[:5]]
        names = ("before", "after", "difference", "lower", "upper")
        assert numbers == [pytest.approx(float(found[name][line]), abs=0.51) for name in names]
        assert html.unescape(texts[5]) == found["in_words"][line]
    file = mara.get(f"{COMPARE}/files/change.csv?a=c-all&b=c-women&way=change")
    assert [line["query"] for line in csv.DictReader(io.StringIO(file.body.decode()))] == found["query"].tolist()


def test_both_as_one_is_what_combine_says(visit, asked, tmp_path):
    mara = visit("mara")
    page = shown(mara, "a=c-all&b=c-again&way=combine")
    both = ad.combine([asked["c-all"], asked["c-again"]])
    assert page.status == 200
    counts = [round(float(count)) for count in both.estimate]
    shown_counts = re.findall(r'<tr><th scope="row">\w+</th><td class="n">(.*?)</td>', page.html)
    assert [int(text.replace(",", "")) for text in shown_counts] == counts
    file = mara.get(f"{COMPARE}/files/release.json?a=c-all&b=c-again&way=combine")
    (tmp_path / "both.json").write_bytes(file.body)
    assert ad.load(tmp_path / "both.json").estimate.tolist() == both.estimate.tolist()
    both.save(tmp_path / "both")
    written = mara.get(f"{COMPARE}/files/estimate.csv?a=c-all&b=c-again&way=combine")
    assert written.body == (tmp_path / "both" / "estimate.csv").read_bytes()
    assert "_combined.csv" in written.headers["content-disposition"]
    report = mara.get(f"{COMPARE}/files/report?a=c-all&b=c-again&way=combine")
    assert report.headers["content-security-policy"].startswith("sandbox;")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("a=c-all&b=c-sexes", "These results answer different questions"),
        ("a=c-all&b=c-all", "The same release is given twice"),
        ("a=c-all&b=c-women&way=combine", "Only releases of the same rows are combined"),
        ("a=c-all&b=c-women&way=<b>", "Choose what to do with the two results"),
    ],
)
def test_why_two_results_cannot_be_compared_is_said(visit, asked, query, why):
    page = shown(visit("mara"), query)
    assert page.status == 400
    assert why in page.words
    assert "<b>" not in page.html
    assert "<select" in page.html  # others can be chosen


def test_those_that_were_ticked_are_chosen(visit, asked):
    mara = visit("mara")
    assert 'name="r" value="c-women"' in mara.get("/tables/people/results").html
    there = mara.get(f"{COMPARE}?r=c-women&r=c-all", follow=False)
    assert there.headers["location"] == f"{COMPARE}?b=c-women&a=c-all"  # the list has the newest first
    page = mara.get(f"{COMPARE}?r=c-women&r=c-all&r=c-again")
    assert "Tick two results to compare or combine: 3 were ticked." in page.words
    assert page.html.count(" checked>") == 3
    page = mara.get(f"{COMPARE}?r=c-all")
    assert re.search(r'<option value="c-all" selected>', page.html)
    assert "Tick two results to compare or combine: none was ticked." in mara.get(f"{COMPARE}?ticked=1").words


def test_two_that_fit_are_offered(visit, asked):
    """Those of the same question, the newest after the one before it; one without another is not offered."""
    page = visit("mara").get(COMPARE)
    chosen = re.findall(r'<option value="([^"]+)" selected>', page.html)
    assert set(chosen) < {"c-all", "c-again", "c-women"}
    assert len(set(chosen)) == 2
    assert 'value="c-sexes"' not in page.html
    assert 'optgroup label="Rows by ward"' in page.html
    assert re.search(r"Rows by sex \([^)]*\): no other result answers the same question\.", page.words)
    assert "There are not two results to compare yet" in visit("mara").get(f"{COMPARE}?a=c-sexes").words


def test_it_says_when_differences_are_noise_only(visit, asked):
    assert "the differences are noise only" in shown(visit("mara"), "a=c-all&b=c-again").words
    assert "the differences are noise only" not in shown(visit("mara"), "a=c-all&b=c-women").words


@pytest.mark.parametrize("key", ["c-all:mara", "nothing", "..", "<script>", "a b", ":", "x:y:z"])
def test_results_of_others_stay_closed(visit, asked, key):
    ben = visit("ben")
    for path in (COMPARE, f"{COMPARE}/files/change.csv", f"{COMPARE}/drawn"):
        page = ben.get(f"{path}?way=change&b=c-all&a=" + key.replace(" ", "%20").replace("<", "%3C"))
        assert page.status == 404
        assert "<script>" not in page.html


def test_a_curator_compares_those_of_an_analyst(visit, asked):
    page = shown(visit("olga"), "a=c-all:mara&b=c-women:mara")
    assert page.status == 200
    assert "How they differ" in page.words
    assert "ε = 0.2, mara" in page.words


def test_without_two_results_it_says_what_to_do():
    visit = pretended({("GET", "/v1/datasets/people/requests"): reply({"requests": []})})
    page = comparing.compare(visit, "people").body.decode()
    assert "There are not two results to compare yet" in page
    assert 'href="/tables/people/ask"' in page


def test_of_the_same_rows_no_change_is_told(visit, asked):
    page = shown(visit("mara"), "a=c-all&b=c-again")
    assert "Both are about the same rows" in page.words
    assert not re.search(r"\b(up|down) \d", page.words)
    assert re.search(r"\b(up|down) \d", shown(visit("mara"), "a=c-all&b=c-women").words)
