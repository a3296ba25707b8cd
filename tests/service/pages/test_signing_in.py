"""Signing in: who gets in, with what, and what a form of another site reaches."""

import asyncio
import base64

import pytest

from adyton.errors import BadInput
from adyton.service.pages.signing_in import SECONDS, Links, Visitors
from adyton.service.pages.site import _ROUTES as ROUTES
from adyton.service.pages.site import Site
from adyton.service.pages.visits import static, whole_number
from adyton.service.passing import Pages
from adyton.session.client import Client, Reply
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


@pytest.mark.parametrize("secure", [False, True])
def test_scripts_and_other_sites_cannot_read_the_cookie(monkeypatch, secure):
    """And over TLS nobody else can set it."""
    monkeypatch.setattr(Client, "call", lambda *given: Reply(200, {}, '{"name": "mara", "role": "analyst"}'))
    form = base64.b64encode(b"token=t&to=/").decode()
    site, kind = Site({"api": "/nowhere"}), "application/x-www-form-urlencoded"
    message = {"method": "POST", "path": "/enter", "body": form, "content_type": kind, "secure": secure}
    said = dict(site.answer(message)["headers"])["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(said.split("; "))
    assert "Domain" not in said
    assert (said.startswith("__Host-adyton="), said.endswith("; Secure")) == (secure, secure)


FORMS = sorted(path for method, path in ROUTES if method == "POST" and path != "/enter")


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("wrong", [{"key": "guessed"}, {"key": ""}, {"fetch_site": "cross-site"}])
def test_no_view_sees_a_form_of_another_site(path, wrong):
    site = Site({"api": "/nowhere"})
    cookie = site.visitors.enter("t", "olga", "curator")
    key = wrong.get("key", site.visitors.find(cookie).form_key)
    message = {
        "method": "POST",
        "path": path.replace("{", "").replace("}", ""),
        "body": base64.b64encode(f"form_key={key}".encode()).decode(),
        "content_type": "application/x-www-form-urlencoded",
        "cookie": f"adyton={cookie}",
        "fetch_site": wrong.get("fetch_site", "same-origin"),
    }
    reply = site.answer(message)
    assert reply["status"] == 400
    assert "was sent from another page" in base64.b64decode(reply["body"]).decode()
    assert site.visitors.find(cookie) is not None


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


def test_files_that_pages_load_have_one_charset():
    assert static("site.js").kind == "text/javascript; charset=utf-8"
    assert static("site.css").kind == "text/css; charset=utf-8"


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
    again = Links("ab" * 32, lambda: now[0] + 1)
    assert not again.use(link)  # a process that was started again does not know that it was used
    assert again.use(again.make())
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


@pytest.mark.parametrize("other", ['x={"a":1}', "flag", "a=1 2", "x=é", "expires=1", "x@y=1"])
def test_cookies_of_others_sign_nobody_out(visit, other):
    mara = visit("mara")
    own = "; ".join(f"{name}={value}" for name, value in mara.cookies.items())
    page = mara.get("/", follow=False, headers={"Cookie": f"{other}; {own}".encode().decode("latin-1")})
    assert page.status == 200


def test_the_pages_of_one_person_are_counted_together():
    """Whatever their browser sends beside its cookie, and in however many sessions."""
    site = Site({"api": "/nowhere"})
    first, second, other = (site.visitors.enter("t", name, "analyst") for name in ("mara", "mara", "ben"))
    mara = {site.whose({"cookie": cookies.format(first, second)}) for cookies in ("adyton={}", "x=1; adyton={1}")}
    assert len(mara) == 1
    assert site.whose({"cookie": f"adyton={other}"}) not in mara
    strangers = ({"peer": "::1"}, {"peer": "::1", "cookie": "adyton=x"}, {"peer": "::2", "cookie": "x=1"})
    assert [site.whose(message) for message in strangers] == ["at ::1", "at ::1", "at ::2"]


def test_one_person_pushes_out_their_own_sessions_only():
    visitors = Visitors()
    olga = visitors.enter("secret", "olga", "curator")
    cookies = [visitors.enter("token", "ben", "analyst") for _ in range(30)]
    assert visitors.find(olga) is not None
    assert [visitors.find(cookie) is not None for cookie in cookies] == [False] * 10 + [True] * 20


def test_after_a_lost_form_people_are_sent_to_what_was_asked(served):
    nobody = Visiting(served.socket)
    page = nobody.post("/tables/people/ask", epsilon="1")
    assert "look at the results first" in page.words
    assert page.field("to") == "/tables/people/results"
    assert (
        nobody.get("/tables/people/ask?question=each", follow=False)
        .headers["location"]
        .endswith("ask%3Fquestion%3Deach")
    )


def test_what_is_refused_before_there_is_a_page_is_one_all_the_same(visit):
    page = visit("mara").post("/tables/people/ask", where="x" * 3_000_000)
    assert page.status == 413
    assert page.headers["content-type"].startswith("text/html")
    assert "bytes" in page.words


@pytest.mark.parametrize("text", ["00000000000000000001000000000", "9" * 5000, "-1", "1e3", "٣"])
def test_numbers_of_fields_are_read_as_a_whole(text):
    with pytest.raises(BadInput, match="whole number from 1 to 1,000"):
        whole_number(text, "rows", 1, 1000)


def test_a_service_of_one_machine_answers_under_its_own_name_only():
    site = Site({"workplace": "/nowhere", "api": "/nowhere"})
    message = {"method": "GET", "path": "/enter"}
    assert site.answer({**message, "host": "evil.example"})["status"] == 400
    assert site.answer({**message, "host": "127.0.0.1:8000"})["status"] == 200


def test_the_pages_of_one_person_have_a_secret_address(opened):
    """A server at another port of the machine gets no cookie for its own paths, and no page names the secret one."""
    base = opened.visitor.base
    assert len(base) > 20
    followed = Visiting(opened.visitor.place, base)
    said = followed.get(opened.fresh_link().removeprefix(opened.address), follow=False).headers
    assert {"HttpOnly", "SameSite=Strict", f"Path={base}/"} <= set(said["set-cookie"].split("; "))
    assert said["referrer-policy"] == "no-referrer"
    assert followed.get("/").status == 200
    stranger = Visiting(opened.visitor.place)
    stranger.cookies = followed.cookies
    for path in ("/", "/tables/visits.csv/ledger", "/enter", "/static/site.js", "//", f"{base}x/"):
        page = stranger.get(path)
        assert page.status == 404, path
        assert base[1:] not in page.html
    assert stranger.get(f"{base}/").status == 200
