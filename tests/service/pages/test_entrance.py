"""Signing in: who gets in, with what, and what a form of another site reaches."""

import asyncio

import pytest

from adyton.service.pages.visitors import SECONDS, Links, Visitors
from adyton.service.passing import Pages
from service.pages.visiting import Visiting


def test_a_visitor_signs_in_sees_the_tables_and_signs_out(served):
    mara = Visiting(served.socket)
    first = mara.get("/tables/people", follow=False)
    assert first.status == 303
    assert first.headers["location"] == "/enter?to=%2Ftables%2Fpeople"
    home = mara.sign_in(served.tokens["mara"])
    assert home.status == 200
    assert "people" in home.words
    assert served.tokens["mara"] not in home.html
    page = mara.get("/tables/people")
    assert "a whole number" in page.words
    mara.post("/leave")
    assert mara.get("/", follow=False).status == 303


@pytest.mark.parametrize("token", ["", "nonsense", "adyton_0000000000000000_" + "A" * 43])
def test_a_wrong_token_is_refused_in_one_sentence(served, token):
    somebody = Visiting(served.socket)
    page = somebody.sign_in(token)
    assert page.status == 400
    assert "token" in page.words
    assert "adyton" not in somebody.cookies


def test_a_form_of_another_site_changes_nothing(visit):
    mara = visit("mara")
    good = mara.form_key
    assert mara.post("/leave", headers={"Sec-Fetch-Site": "cross-site"}, follow=False).status == 400
    mara.form_key = "guessed"
    assert mara.post("/leave", follow=False).status == 400
    mara.form_key = good
    assert mara.get("/").status == 200


@pytest.mark.parametrize("to", ["https://elsewhere.example", "//elsewhere.example", "/\\elsewhere.example"])
def test_nobody_is_sent_elsewhere_after_signing_in(served, to):
    mara = Visiting(served.socket)
    mara.get("/enter")
    assert mara.post("/enter", follow=False, token=served.tokens["mara"], to=to).headers["location"] == "/"


def test_pages_carry_the_headers_that_keep_others_out(visit):
    page = visit("mara").get("/")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe-inline" not in policy.replace("style-src-attr 'unsafe-inline'", "")
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-content-type-options"] == "nosniff"


def test_visitors_are_forgotten_and_cookies_are_not_stored():
    now = [0.0]
    visitors = Visitors(lambda: now[0])
    cookie = visitors.enter("secret", "mara", "analyst")
    assert visitors.find(cookie).name == "mara"
    assert visitors.find(cookie + "x") is None
    assert cookie not in repr(visitors._known)
    now[0] = SECONDS + 1.0
    assert visitors.find(cookie) is None


def test_a_link_signs_in_once_and_for_a_while():
    now = [1000.0]
    links = Links("ab" * 32, lambda: now[0])
    link, late = links.make(), links.make()
    assert links.use(link)
    assert not links.use(link)
    assert not links.use(late + "0")
    assert not links.use("")
    now[0] += 601
    assert not links.use(late)


def test_while_no_page_can_be_made_a_browser_is_told_so(tmp_path):
    pages = Pages(str(tmp_path / "nobody.sock"))
    scope = {"headers": [], "raw_path": b"/", "query_string": b"", "method": "GET"}
    status, headers, body = asyncio.run(pages.reply(scope, b""))
    assert status == 503
    assert b"loads again by itself" in body
    assert dict(headers)[b"content-type"].startswith(b"text/html")
    _, _, body = asyncio.run(pages.reply({**scope, "method": "POST"}, b""))
    assert b"never paid for twice" in body
    assert b"refresh" not in body
