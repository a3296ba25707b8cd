"""Results on pages: what was asked before, a result with its numbers, files and further questions, and every state of
a request that has none."""

import csv
import html
import io
import json
import os
import re
import signal
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import adyton as ad
from adyton.errors import BadInput, Unfinished
from adyton.programs.base import result_in
from adyton.result.folder import signed
from adyton.service.pages.requests import Place, remember
from adyton.service.pages.results import content, outcomes, saved
from adyton.service.pages.results import views as results
from adyton.service.pages.site import Site
from adyton.service.pages.visits import NoSuchPage
from adyton.session.remote import verified
from service.pages.pretending import BUDGET, pretended, reply

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "{{ 7*7 }}", "=HYPERLINK(1)", "plain"]
TASKS = {
    "r-wards": {"task": "histogram", "attributes": ["ward"]},
    "r-ages": {"task": "ranges", "attributes": ["age"]},
    "r-mean": {"task": "mean", "attribute": "age", "by": ["ward"]},
    "r-summary": {"task": "summary", "attribute": "age", "by": ["ward"]},
    "r-quantiles": {"task": "quantiles", "attribute": "age", "parts": ["1/10", "1/2"], "by": ["sex"]},
    "r-rows": {"task": "count"},
    "r-pairs": {"task": "marginals", "way": 2},
}
ALGORITHMS = {"r-wards": "identity", "r-ages": "hb", "r-pairs": "all-pairs"}
TABLE = "/tables/people/results"


@pytest.fixture(scope="module")
def asked(served):
    """The text of some results of mara, by id."""
    texts = {}
    for id, task in TASKS.items():
        request = {"task": task, "epsilon": "0.2", "algorithm": ALGORITHMS.get(id, "auto")}
        status, _, body = served.ask(id, request)
        assert status == 200, body
        texts[id] = body
    return texts


def drawn(visitor, path):
    """A page whose pictures are drawn."""
    for _ in range(1200):
        page = visitor.get(path)
        if "are being computed" not in page.words:
            return page
        time.sleep(0.1)
    raise AssertionError("the pictures are never drawn")


def number(text):
    return float(text.replace(",", "").replace("−", "-"))


# ---- the list --------------------------------------------------------------------------------------------------------


def test_the_list_says_what_was_asked_and_leads_there(visit, asked):
    mara = visit("mara")
    page = mara.get(TABLE)
    assert page.status == 200
    assert page.words.index("Number of rows") < page.words.index("Rows by ward")  # the newest first
    assert f'href="{TABLE}/r-wards"' in page.html
    again = re.search(r'href="(/tables/people/ask\?request=[^"]+)"', page.html)[1]
    assert "%22epsilon%22" in again
    assert re.search(r"\d\d:\d\d", page.words) is None  # analysts get days
    assert "mara" not in page.html.split("<main")[1]


def test_a_curator_sees_who_asked_and_opens_it(visit, asked):
    olga = visit("olga")
    page = olga.get(TABLE)
    assert "mara" in page.html.split("<main")[1]
    assert f'href="{TABLE}/r-rows?analyst=mara"' in page.html
    opened = drawn(olga, f"{TABLE}/r-rows?analyst=mara")
    assert opened.status == 200
    assert "mara and the curators of this table may open it" in opened.words
    saved_json = re.search(r'href="([^"]+release\.json[^"]*)"', opened.html)[1]
    assert olga.get(html.unescape(saved_json)).body == asked["r-rows"]
    assert olga.get(f"{TABLE}/r-rows").status == 404  # it is not a curator's own


def test_nobody_opens_the_results_of_others(visit, asked):
    ben = visit("ben")
    for path in (
        "r-rows",
        "r-rows?analyst=mara",
        "r-rows/report?analyst=mara",
        "r-rows/files/release.json?analyst=mara",
    ):
        page = ben.get(f"{TABLE}/{path}")
        assert page.status == 404, path
        assert page.body.count(b'role="alert"') == 1
        assert asked["r-rows"] not in page.body


def test_an_empty_list_says_what_to_do_first():
    visit = pretended({("GET", "/v1/datasets/people/requests"): reply({"requests": []})})
    page = results.results(visit, "people").body.decode()
    assert "Nothing was asked yet" in page
    assert 'href="/tables/people/ask"' in page


@pytest.mark.parametrize(
    "request_",
    [None, 7, "text", {}, {"task": "no such task"}, {"measure": {}}, {"task": {"task": "sum"}}, {"task": []}],
)
def test_a_line_that_cannot_be_read_breaks_no_list(request_):
    lines = [
        {"id": "one", "analyst": "mara", "request": request_, "status": "done", "made": "2030-01-01"},
        {"id": "two", "analyst": "mara", "request": {"task": "count", "epsilon": "1"}, "status": "new", "made": ""},
    ]
    visit = pretended({("GET", "/v1/datasets/people/requests"): reply({"requests": lines})})
    page = results.results(visit, "people").body.decode()
    assert "Number of rows" in page
    assert page.count("Ask again:") == 1


# ---- a result --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["r-wards", "r-mean", "r-summary", "r-quantiles", "r-rows", "r-ages"])
def test_every_number_in_the_tables_is_that_of_the_result(visit, asked, id):
    page = drawn(visit("mara"), f"{TABLE}/{id}")
    assert page.status == 200
    sheets = result_in(asked[id].decode(), id).sheets()
    main = page.html[: page.html.index('id="further"')] if 'id="further"' in page.html else page.html
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr.*?</tr>", main, re.S)]
    seen = 0
    for sheet in sheets.sheets:
        for line in range(sheet.lines):
            labels = [str(label[line]) for label in sheet.labels.values()]
            found = [row for row in lines if [html.unescape(cell) for cell in row[: len(labels)]] == labels]
            assert found, labels
            shown = [number(text) for text in re.findall(r"−?\d[\d,]*\.?\d*", " ".join(found[0][len(labels) :]))]
            true = [
                float(part[line])
                for column in sheet.columns
                for part in (column.values, column.lower, column.upper)
                if column.known and part is not None
            ]
            assert len(shown) == len(true)
            assert shown == [pytest.approx(value, abs=0.51, rel=0.01) for value in true]
            seen += 1
    assert seen == sheets.lines


def test_every_number_in_the_cross_tables_is_that_of_the_result(visit, asked):
    """Of all pairs: the count of each cell, and below it both ends of its interval."""
    page = drawn(visit("mara"), f"{TABLE}/r-pairs")
    known = {}
    for table in re.findall(r"<caption>Counts, and below them the 95% interval.*?</table>", page.html, re.S):
        head, *lines = re.findall(r"<tr>(.*?)</tr>", table, re.S)
        columns = re.findall(r"<th[^>]*>(.*?)</th>", head)
        for line in lines:
            label, *cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.S)
            for column, cell in zip(columns, cells, strict=True):
                known[label, column] = [number(text) for text in re.findall(r"−?\d[\d,]*\.?\d*", cell)]
    seen = 0
    for sheet in result_in(asked["r-pairs"].decode(), "r-pairs").sheets().sheets:
        (column,) = sheet.columns
        for line in range(sheet.lines):
            labels = tuple(str(label[line]) for label in sheet.labels.values())
            true = [float(part[line]) for part in (column.values, column.lower, column.upper)]
            if (shown := known.get(labels) or known.get(labels[::-1])) is not None:  # large tables are pictures
                assert shown == [pytest.approx(value, abs=0.51) for value in true]
                seen += 1
    assert seen == len(known) == 100 * 2 + 2 * 4


def test_files_are_those_that_save_writes(visit, asked, tmp_path):
    mara, saved_names = visit("mara"), set()
    for id in ("r-wards", "r-mean", "r-pairs"):
        page = drawn(mara, f"{TABLE}/{id}")
        result_in(asked[id].decode(), id).save(tmp_path / id)
        names = re.findall(rf'href="{TABLE}/{id}/files/([^"]+)" download', page.html)
        assert {"release.json", "report.html", "receipt.txt"} < set(names)
        for name in names:
            file = mara.get(f"{TABLE}/{id}/files/{name}")
            assert file.status == 200
            saved_as = re.search(r'filename="([^"]+)"', file.headers["content-disposition"])[1]
            assert f">{saved_as}</a>" in page.html.replace("<wbr>", "")
            saved_names.add(saved_as)
            if name.endswith(".csv") or name == "report.html":
                assert file.body == (tmp_path / id / name).read_bytes(), name
            if name == "release.json":
                assert file.body == asked[id]
            if name.endswith(".parquet"):
                numbers = pq.read_table(io.BytesIO(file.body))
                lines = list(csv.DictReader((tmp_path / id / name).with_suffix(".csv").open()))
                assert numbers.column_names == list(lines[0])
                assert numbers.num_rows == len(lines)
    assert {"people_rows_by_ward.csv", "people_rows_by_ward_report.html", "people_rows_by_ward.json"} < saved_names
    assert mara.get(f"{TABLE}/r-wards/files/people.toml").status == 404
    assert mara.get(f"{TABLE}/r-wards/files/..%2Fr-mean").status == 404


def test_the_receipt_is_checked_and_can_be_saved(served, visit, asked):
    mara = visit("mara")
    page = drawn(mara, f"{TABLE}/r-wards")
    assert "The signature was checked for this page, and it is right" in page.words
    receipt = mara.get(f"{TABLE}/r-wards/files/receipt.txt").body.decode()
    key = json.loads(served.call("GET", "/v1/key", who="mara")[2])["key"]
    assert verified(key, receipt, asked["r-wards"])["request"] == "r-wards"


def test_the_report_stands_for_itself(visit, asked):
    page = visit("mara").get(f"{TABLE}/r-wards/report")
    assert page.headers["content-security-policy"].startswith("sandbox;")
    assert "The long version, for an auditor" in page.words


def test_synthetic_rows_match_the_schema(visit, asked):
    mara = visit("mara")
    file = mara.get(f"{TABLE}/r-pairs/rows?q=rows&rows=50&kind=csv")
    rows = list(csv.DictReader(io.StringIO(file.body.decode())))
    assert len(rows) == 50
    assert {row["ward"] for row in rows} <= {"eye", "ear", "heart", "hand"}
    assert len(pq.read_table(io.BytesIO(mara.get(f"{TABLE}/r-pairs/rows?q=rows&rows=7&kind=parquet").body))) == 7
    for wrong in ("0", "-1", "many", "1e3", "9999999999", "<b>"):
        page = mara.get(f"{TABLE}/r-pairs/rows?q=rows&rows={wrong}")
        assert page.status == 400
        assert f'value="{html.escape(wrong)}"' in page.html
        assert 'aria-invalid="true"' in page.html


# ---- further questions -----------------------------------------------------------------------------------------------


def test_further_questions_are_answered_as_the_result_answers_them(visit, asked):
    mara = visit("mara")
    wards, ages = (result_in(asked[id].decode(), id) for id in ("r-wards", "r-ages"))
    before = mara.get(TABLE).words.split(" left ")[0]

    page = drawn(mara, f"{TABLE}/r-ages?q=count&what=count&a0.from=20&a0.to=29")
    interval = ages.interval([{"age": (20, 29)}])
    row = page.html[page.html.index('id="answer"') :]
    said = [number(cell) for cell in re.findall(r'<td class="n">(.*?)</td>', row)[:3]]
    assert said == [round(float(part[0])) for part in (interval.estimate, interval.lower, interval.upper)]

    for what in ("share", "ratio", "difference"):
        page = drawn(
            mara, f"{TABLE}/r-wards?q=count&what={what}&a0=eye&a0=ear&b0=" + ("" if what == "share" else "hand")
        )
        one, other = {"ward": ["eye", "ear"]}, {} if what == "share" else {"ward": ["hand"]}
        assert getattr(wards, what)(one, other).meaning[1:] in page.words

    top = drawn(mara, f"{TABLE}/r-wards?q=top&k=2").html.partition('id="answer"')[2]
    best = [line[0] for line in wards.top(2)]
    assert re.findall(r'<th scope="row">(.*?)</th>', top)[:2] == best

    page = drawn(mara, f"{TABLE}/r-ages?q=figure&statistic=median&of=age")
    assert str(ages.median("age")) in page.words
    page = drawn(mara, f"{TABLE}/r-ages?q=figure&statistic=quantile&of=age&part=0.25")
    assert str(ages.quantile(Fraction(1, 4), "age")) in page.words
    page = drawn(mara, f"{TABLE}/r-pairs?q=table&by=ward&by=sex")
    assert page.html.partition('id="answer"')[2].partition("</section>")[0].count("<tr") == 1 + 8
    page = drawn(mara, f"{TABLE}/r-mean?q=groups&what=ratio&statistic=mean&one=0&other=2")
    ratio = result_in(asked["r-mean"].decode(), "x").ratio(("mean", "eye"), ("mean", "heart"))
    assert ratio.meaning[1:] in page.words
    assert mara.get(TABLE).words.split(" left ")[0] == before  # nothing was spent


@pytest.mark.parametrize(
    ("id", "query", "field"),
    [
        ("r-ages", "q=count&a0.from=<i>&a0.to=5", "p-a0"),
        ("r-ages", "q=count&a0.from=50&a0.to=5", "p-a0"),
        ("r-ages", "q=count&a0.from=-1", "p-a0"),
        ("r-ages", "q=count&what=ratio&a0.from=1&b0.to=1e999", "p-b0"),
        ("r-ages", "q=count&a0.from=" + "9" * 5000, "p-a0"),
        ("r-wards", "q=count&a0=nose", "p-a0"),
        ("r-wards", "q=count&what=nonsense", "answer"),
        ("r-wards", "q=count&what=share&a0=eye&b0=ear", "answer"),
        ("r-wards", "q=top&k=0", "p-k"),
        ("r-wards", "q=top&k=2&by=<b>", "p-by-top"),
        ("r-ages", "q=figure&statistic=quantile&part=2&of=age", "p-part"),
        ("r-ages", "q=figure&statistic=variance&of=age", "p-statistic"),
        ("r-pairs", "q=table", "p-by-table"),
        ("r-pairs", "q=table&by=age&by=sex&by=ward&by=age", "p-by-table"),
        ("r-mean", "q=groups&statistic=mean&one=0&other=77", "p-other"),
        ("r-mean", "q=groups&statistic=mode&one=0&other=1", "p-statistic"),
    ],
)
def test_a_wrong_value_is_said_at_its_field_and_kept(visit, asked, id, query, field):
    page = drawn(visit("mara"), f"{TABLE}/{id}?{query}")
    assert page.status == 400
    assert f'id="{field}"' in page.html
    assert "<i>" not in page.html.replace("<i class", "")
    assert "<b>" not in page.html
    assert "Files to save" in page.words  # the result is shown in any case


# ---- under way, and what may become of a request ---------------------------------------------------------------------


@contextmanager
def stopped(served):
    """While the worker of the table does nothing."""
    workers = served.processes("worker")
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        for worker in workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGCONT)


def test_under_way_shows_public_facts_only_and_survives_a_reload(served, visit):
    mara = visit("mara")
    request = {"task": {"task": "histogram", "attributes": ["sex"]}, "epsilon": "0.1", "algorithm": "identity"}
    with stopped(served):
        for id in ("r-first", "r-second"):
            assert served.ask(id, request, wait=0)[0] == 202
        page = mara.get(f"{TABLE}/r-first")
        assert page.status == 200
        assert "Under way" in page.words
        assert "<progress" in page.html
        assert '<noscript><meta http-equiv="refresh"' in page.html
        fragment = re.search(r'data-refresh="([^"]+)"', page.html)[1]
        part = mara.get(fragment)
        assert part.status == 200
        assert "<html" not in part.html
        assert "adyton-next" not in part.headers
        assert mara.get(f"{TABLE}/r-first").status == 200
        assert visit("ben").get(f"{TABLE}/r-first").status == 404

        assert "Cancel the request" in page.words
        gone = mara.post(f"{TABLE}/r-second/cancel")  # it waits behind the first
        assert "was cancelled before it had spent anything. Nothing was spent" in gone.words
        key, mara.form_key = mara.form_key, "guessed"
        assert mara.post(f"{TABLE}/r-first/cancel", follow=False).status == 400
        mara.form_key = key
    for _ in range(1200):
        if next_ := mara.get(fragment).headers.get("adyton-next"):
            break
        time.sleep(0.1)
    assert next_ == f"{TABLE}/r-first"
    assert "Files to save" in drawn(mara, next_).words
    assert "r-second" not in mara.get(TABLE).html
    late = mara.post(f"{TABLE}/r-first/cancel")
    assert "It could not be cancelled any more: it had begun to spend" in late.words
    assert "Files to save" in drawn(mara, f"{next_}?cancel=late").words
    assert "could not be cancelled" not in mara.get(next_).words


def test_what_a_worker_prepares_is_cancelled_and_the_page_says_so(served, visit):
    mara, spent = visit("mara"), served.connect("mara").spent
    request = {"task": {"task": "histogram", "attributes": ["sex"]}, "epsilon": "0.1", "algorithm": "identity"}
    with stopped(served):
        assert served.ask("r-begun", request, wait=0)[0] == 202
        time.sleep(0.5)  # it is with the worker
        assert "Cancel the request" in mara.get(f"{TABLE}/r-begun").words
        page = mara.post(f"{TABLE}/r-begun/cancel")
        assert "was cancelled before it had spent anything. Nothing was spent, and nothing will be." in page.words
        assert "Cancel the request" not in page.words
        again = mara.post(f"{TABLE}/r-begun/cancel")  # by another tab that has not heard of it
        assert "was cancelled before it had spent anything" in again.words
        assert "r-begun" not in mara.get(TABLE).html
    assert served.connect("mara").spent == spent
    assert served.ask("r-after", request)[0] == 200


def test_what_is_cancelled_before_its_page_is_shown_leads_back_to_the_form(served, visit):
    mara, id = visit("mara"), uuid.uuid4().hex
    mara.get("/tables/people/ask?question=all")
    fields = {"question": "all", "epsilon": "0.1", "price": "0.1", "id": id}
    with stopped(served), ThreadPoolExecutor(1) as pool:
        sent = pool.submit(mara.post, "/tables/people/ask", **fields)
        while served.call("DELETE", f"/v1/datasets/people/requests/{id}", who="mara")[0] != 200:
            time.sleep(0.01)
        page = sent.result()
    assert page.words.count("Nothing was spent.") == 1, page.words
    assert "This request was cancelled. Nothing was spent." in page.words
    assert page.field("id") != id


def test_consent_is_waited_for_and_a_refusal_shows_the_word(served, visit):
    ben, request = visit("ben"), {"task": {"task": "count"}, "epsilon": "1.5"}
    assert served.ask("r-waits", request, who="ben")[0] == 202
    page = ben.get(f"{TABLE}/r-waits")
    assert "Waits for the curator's consent" in page.words
    assert "waits for consent" in ben.get(TABLE).words
    place = "/v1/datasets/people/requests/r-waits/consent"
    digest = served.digest("r-waits")
    served.call(
        "POST", place, {"grant": False, "analyst": "ben", "digest": digest, "word": "<b>no</b> & never"}, who="olga"
    )
    for _ in range(1200):
        page = ben.get(f"{TABLE}/r-waits")
        if "Refused" in page.words:
            break
        time.sleep(0.1)
    assert "<b>no</b> & never" in page.words
    assert "<b>no" not in page.html
    assert "Nothing was spent" in page.words


@pytest.mark.parametrize("id", ["nothing", "a b", "..", "%2e%2e", "x" * 65, "<script>", "r-wards%00"])
def test_an_id_that_is_not_there(visit, asked, id):
    page = visit("mara").get(f"{TABLE}/{id.replace(' ', '%20').replace('<', '%3C').replace('>', '%3E')}")
    assert page.status == 404
    assert "There is no" in page.words


def of_reply(answer, **more):
    lines = [
        {"id": "x", "analyst": "mara", "request": {"task": "count", "epsilon": "1"}, "status": "done", "made": "1"}
    ]
    replies = {
        ("GET", "/v1/datasets/people/requests/x"): answer,
        ("GET", "/v1/datasets/people/requests"): reply({"requests": lines}),
        ("GET", "/v1/datasets/people"): reply({"results": "own", "cells": {}}),
        ("GET", "/v1/key"): reply({"key": "AAAA"}),
    }
    return pretended(replies, **more)


def test_measurements_of_a_request_that_ended_early_can_be_saved():
    text = json.dumps({"format": "adyton measurements", "version": 1, "ended": "it <i>ended</i>.", "measurements": []})
    visit = of_reply(reply(text, adyton_status="ended"))
    page = results.result(visit, "people", "x").body.decode()
    assert "what was measured" in page
    assert "It &lt;i&gt;ended" in page
    assert results.file(visit, "people", "x", "measurements.json").body.decode() == text


@pytest.mark.parametrize(
    "spoil", [lambda text: text.replace("[", "[[", 1), lambda text: text[:-9], lambda _: "{}", lambda _: "x"]
)
def test_a_result_that_was_changed_is_not_shown_and_not_lost(asked, spoil):
    text = spoil(asked["r-wards"].decode())
    visit = of_reply(reply(text, adyton_status="done"))
    page = results.result(visit, "people", "x").body.decode()
    assert "A result that cannot be shown" in page
    assert "not lost" in page
    assert results.file(visit, "people", "x", "release.json").body.decode() == text


@pytest.mark.parametrize("change", [{"format": []}, {"format": {}}, {"kind": "model"}, {"kind": "=x"}])
def test_a_result_of_no_known_kind_is_not_lost(asked, change):
    body = {name: part for name, part in json.loads(asked["r-wards"]).items() if name != "digest"} | change
    visit = of_reply(reply(json.dumps(signed(body)), adyton_status="done"))
    assert "A result that cannot be shown" in results.result(visit, "people", "x").body.decode()


def test_a_number_that_was_changed_is_noticed(asked):
    text = re.sub(r'("estimate": \[)(-?\d+)', lambda match: f"{match[1]}{int(match[2]) + 1}", asked["r-wards"].decode())
    assert text != asked["r-wards"].decode()
    page = results.result(of_reply(reply(text, adyton_status="done")), "people", "x").body.decode()
    assert "its digest does not fit" in page


def test_a_receipt_of_somebody_else_is_refused(asked):
    visit = of_reply(reply(asked["r-rows"].decode(), adyton_status="done", adyton_receipt="eyJ4IjoxfQ"))
    page = results.result(visit, "people", "x").body.decode()
    assert "could not be verified" in page


def test_a_page_that_cannot_be_made_offers_what_was_paid_for(asked, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a secret <i>")

    monkeypatch.setattr(ad.Release, "view", broken)
    visit = of_reply(reply(asked["r-wards"].decode(), adyton_status="done"))
    page = results.result(visit, "people", "x")
    assert page.status == 200
    assert b"nothing of it is lost" in page.body
    assert b"secret" not in page.body
    assert b"files/release.json" in page.body
    assert results.file(visit, "people", "x", "release.json").body == asked["r-wards"]


def test_a_request_that_ended_without_a_result():
    page = results.result(of_reply(Unfinished("Charged, and ended.")), "people", "x").body.decode()
    assert "Ended early, without a result" in page


def test_a_request_that_was_dropped_when_it_was_its_turn():
    visit = pretended(
        {
            ("GET", "/v1/datasets/people/requests"): reply({"requests": []}),
            ("GET", "/v1/datasets/people"): reply({"cells": {}}),
        }
    )
    with pytest.raises(NoSuchPage):
        results.result(visit, "people", "x")
    remember(visit, Place("people", "x"), {"task": {"task": "count"}, "epsilon": "1"})
    page = results.result(visit, "people", "x")
    assert page.status == 404
    assert b"was not carried out, and nothing was spent" in page.body
    assert b"Number of rows" in page.body
    visit.person.kept["refused"] = {("people", "y"): BadInput("only <i>2</i> are left.")}
    assert b"Only &lt;i&gt;2&lt;/i&gt; are left." in results.result(visit, "people", "y").body


def test_a_slow_picture_is_waited_for_beside_the_page(asked, monkeypatch):
    monkeypatch.setattr(results, "AT_ONCE", 0.0)
    visit = of_reply(reply(asked["r-rows"].decode(), adyton_status="done"))
    real, held = content._rendered, threading.Event()
    monkeypatch.setattr(content, "_rendered", lambda result: held.wait(300) and real(result))
    page = results.result(visit, "people", "x").body.decode()
    assert "are being computed" in page
    assert "release.json" in page
    part = results.drawn(visit, "people", "x")
    assert b"are being computed" in part.body
    held.set()
    for _ in range(3000):
        part = results.drawn(visit, "people", "x")
        if "adyton-next" in part.headers:
            break
        time.sleep(0.02)
    assert part.headers["adyton-next"] == f"{TABLE}/x"


def test_a_large_picture_is_shown_without_intervals_first(asked, monkeypatch):
    monkeypatch.setattr(content, "QUICK", 1)
    monkeypatch.setattr(results, "AT_ONCE", 0.0)
    real, held = content._rendered, threading.Event()
    monkeypatch.setattr(content, "_rendered", lambda result: held.wait(300) and real(result))
    visit = of_reply(reply(asked["r-ages"].decode(), adyton_status="done"))
    assert "pending=1" in results.result(visit, "people", "x").body.decode()
    visit.query = {"pending": ["1"]}
    for _ in range(3000):
        part = results.drawn(visit, "people", "x")
        if "adyton-next" in part.headers:
            break
        time.sleep(0.02)
    visit.query = {}
    page = results.result(visit, "people", "x").body.decode()
    held.set()
    assert part.headers["adyton-next"] == f"{TABLE}/x"
    assert "The estimate, still without intervals" in page
    assert "pending=1" not in page
    assert "numbers.csv" not in page


# ---- rehearsed and saved ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder with a result whose names and levels are payloads; and one that was simulated."""
    folder = tmp_path_factory.mktemp("saved")
    schema = ad.Schema({HOSTILE[0]: ad.Categorical(HOSTILE), "n": ad.Integer(0, 9)})
    rows = pd.DataFrame({HOSTILE[0]: HOSTILE * 40, "n": np.arange(200) % 10})
    session = ad.Session(rows, schema=schema, epsilon=1, dataset="<svg onload=alert(3)>")
    session.release(ad.Histogram(HOSTILE[0]), epsilon=0.5, algorithm="identity").save(folder / "<b>one")
    (folder / "notes.txt").write_text("nothing")
    (folder / "other.json").write_text("{}")
    return folder


def test_names_and_levels_are_shown_as_text(hostile):
    visit = pretended(folder=str(hostile))
    listed = saved.listed(visit).body.decode()
    assert "&lt;b&gt;one" in listed
    assert "notes.txt" not in listed
    assert "other.json" not in listed
    page = ""
    for _ in range(2000):
        page = saved.saved(visit, "<b>one").body.decode()
        if "are being computed" not in page:
            break
        time.sleep(0.05)
    for payload in HOSTILE[:2]:
        assert payload not in page
        assert html.escape(payload) in page or html.escape(payload).replace("&#x27;", "&#39;") in page
    assert "<svg onload" not in page
    assert "{{ 7*7 }}" in page
    written = saved.file(visit, "<b>one", "estimate.csv").body
    assert written == (hostile / "<b>one" / "estimate.csv").read_bytes()
    assert b"'=HYPERLINK" in written
    assert saved.file(visit, "<b>one", "release.json").body == (hostile / "<b>one" / "release.json").read_bytes()
    visit.query = {"q": ["count"], "a0": ["=HYPERLINK(1)", "<u>"]}
    answer = saved.saved(visit, "<b>one")
    assert answer.status == 400
    assert b"<u>" not in answer.body


@pytest.mark.parametrize("name", ["..", ".", "", "../x", "/etc", "a/b", "\0", "link", "linked", "nothing", "x\\y"])
def test_no_name_leaves_the_folder(hostile, tmp_path, name):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "release.json").write_bytes((hostile / "<b>one" / "release.json").read_bytes())
    (folder / "link").symlink_to(tmp_path / "x")
    (folder / "linked").mkdir()
    (folder / "linked" / "release.json").symlink_to(tmp_path / "x" / "release.json")
    visit = pretended(folder=str(folder))
    assert b"There are no saved results" in saved.listed(visit).body
    for view in (saved.saved, saved.report, lambda *given: saved.file(*given, "release.json")):
        with pytest.raises(NoSuchPage):
            view(visit, name)


def test_without_a_folder_there_are_no_saved_results(visit):
    page = visit("mara").get("/saved")
    assert page.status == 404
    assert "adyton open" in page.words


def test_a_rehearsal_says_so_and_offers_no_files(asked):
    schema = ad.Schema({"ward": ad.Categorical(["eye", "ear"])})
    session = ad.Session(pd.DataFrame({"ward": ["eye"] * 50}), schema=schema, epsilon=1)
    made = session.rehearse(ad.Histogram("ward"), epsilon=0.5, algorithm="identity")
    visit = pretended(site=Site({"api": "/nowhere"}))
    request = {"task": {"task": "histogram", "attributes": ["ward"]}, "epsilon": "0.5"}
    page = results.show_rehearsal(
        visit, visit.session("people"), "people", made, request, {"question": ["each"]}
    ).body.decode()
    assert "these rows are made up, and nothing was spent" in page
    assert "Files to save" not in page
    assert "/files/" not in page
    (key,) = visit.person.kept["rehearsals"]
    for _ in range(1200):
        page = results.rehearsed(visit, "people", key).body.decode()
        if "are being computed" not in page:
            break
        time.sleep(0.05)
    assert "Rows by ward" in page
    assert "/files/" not in page
    with pytest.raises(NoSuchPage):
        results.rehearsed(visit, "other", key)
    assert BUDGET.spent == 1


def test_the_cache_has_room_for_so_many_results(asked):
    cache, texts = outcomes.ResultCache(results=2), [asked[id].decode() for id in ("r-wards", "r-mean", "r-rows")]
    first = cache.read(texts[0])
    assert cache.read(texts[0]) is first
    cache.read(texts[1])
    cache.read(texts[2])
    assert len(cache._known) == 2
    assert cache.read(texts[0]) is not first


def test_only_so_many_things_are_computed_from_a_result_at_once():
    saved_result, go_on = outcomes.Saved("", None), threading.Event()
    jobs = [saved_result.job(number, go_on.wait) for number in range(8)]
    with pytest.raises(outcomes.NotReady, match="in a minute"):
        saved_result.job(8, go_on.wait)
    assert saved_result.job(7, go_on.wait) is jobs[7]
    go_on.set()
    assert all(job.ready(10) for job in jobs)
    assert saved_result.job(8, go_on.wait).ready(10)


def test_what_was_not_measured_is_said_before_anything_is_computed_and_after():
    draw = np.random.default_rng(3)
    first = draw.integers(0, 4, 3000)
    rows = pd.DataFrame({"a": first, "b": first} | {name: draw.integers(0, 4, 3000) for name in "cdefgh"})
    session = ad.Session(rows, schema=ad.Schema({name: ad.Integer(0, 3) for name in rows}), epsilon=4)
    some, every = (
        session.release(ad.Marginals(way=2), epsilon=epsilon, algorithm=name)
        for name, epsilon in (("select-pairs", "0.3"), ("all-pairs", 1))
    )
    for result, missing in ((some, True), (every, False), (session.release(ad.Histogram("a", "c"), epsilon=1), False)):
        shown = content.rendering_of(outcomes.Saved("", result)).value(60).content
        assert ("of 28 pairs of attributes were not measured" in shown.unmeasured) == missing
        assert shown.unmeasured.startswith(content.preview(result).unmeasured)
        assert bool(content.preview(result).unmeasured) == missing
