"""Every page, as a browser shows it: at three widths, light and dark, small, with nothing from elsewhere.

``ADYTON_AXE=axe.min.js pytest -m full tests/service/pages/test_every_page.py`` also lets axe-core look for what keeps
people with screen readers or keyboards out; ``npm install axe-core`` has the file. ``ADYTON_PICTURES=folder`` writes a
picture of every page, at three widths, light and dark.
"""

import json
import os
import re
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from browser import find_chromium

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine")
MOST_BYTES = 300_000
PAGES = (
    "/",
    "/words",
    "/tables/people",
    "/tables/people/ask",
    "/tables/people/ask?question=each",
    "/tables/people/ask?question=mean&number=age&by=ward&epsilon=0.1",
    "/tables/people/ask?question=each&epsilon=1000",
    "/tables/people/ask?question=pairs&epsilon=no&where=age",
    "/tables/people/results",
    "/tables/people/results/every-page",
    "/tables/people/results/every-page?q=count&a0=eye",
    "/tables/people/results/every-age",
    "/tables/people/results/every-mean",
    "/tables/people/results/every-pair",
    "/tables/people/results/every-median",
    "/tables/people/results/every-row",
    "/tables/people/results/waiting?analyst=ben",
    "/tables/people/results/nothing",
    "/tables/people/compare",
    "/tables/people/compare?a=every-page&b=every-other",
    "/tables/people/ledger",
    "/tables/people/people",
    "/tables/nothing",
    "/nowhere",
    "local:/",
    "local:/new",
    "local:/new/visits.csv",
    "local:/saved",
    "local:/enter",
    "ben:/",
    "ben:/tables/people",
    "ben:/tables/people/results/waiting",
    "ben:/tables/people/people",
)
"""Those that begin with ``local:`` are of ``adyton open``, those with ``ben:`` are an analyst's."""

WARDS = {"task": "histogram", "attributes": ["ward"]}
ASKED = {
    "every-page": (WARDS, "identity"),
    "every-other": (WARDS, "identity"),
    "every-age": ({"task": "ranges", "attributes": ["age"]}, "hb"),
    "every-mean": ({"task": "mean", "attribute": "age", "by": ["ward"]}, "auto"),
    "every-pair": ({"task": "histogram", "attributes": ["ward", "sex"]}, "identity"),
    "every-median": ({"task": "quantiles", "attribute": "age", "parts": "median", "by": ["ward"]}, "auto"),
    "every-row": ({"task": "marginals", "way": 2}, "auto"),
}


@pytest.fixture(scope="module")
def shown(browser, served, address, visit_as, opened):
    """A function: a page as the curator's browser shows it."""
    olga = visit_as("olga")
    for id, (task, algorithm) in ASKED.items():
        assert served.ask(id, {"task": task, "algorithm": algorithm, "epsilon": "0.01"}, "olga")[0] == 200
    served.ask("waiting", {"task": "count", "epsilon": "1.1", "where": "age >= 65"}, "ben")
    while "are being computed" in olga.get("/tables/people/results/every-row").words:
        time.sleep(0.2)
    visitors = {"": (olga, address), "ben": (visit_as("ben"), address)}
    visitors["local"] = (opened.visitor, opened.link.partition("/enter")[0])

    def open_page(path, width=1280, dark=False):
        who, _, rest = path.rpartition(":")
        visitor, place = visitors[who]
        for name, value in visitor.cookies.items():
            browser.ask("Network.setCookie", name=name, value=value, url=place)
        return browser.open(place + rest, width, dark=dark)

    yield open_page
    assert served.call("DELETE", "/v1/datasets/people/requests/waiting", who="ben")[0] == 200


def sent(browser):
    """How many bytes of a page arrived, files that it loads included."""
    return sum(
        event["params"]["encodedDataLength"]
        for event in browser._events
        if event["method"] == "Network.loadingFinished"
    )


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_every_window_and_loads_nothing_from_elsewhere(shown, browser, path):
    browser.ask("Network.setCacheDisabled", cacheDisabled=True)
    for width, dark in ((390, True), (1600, False)):  # with axe, another test has them at 1280
        page = shown(path, width, dark)
        assert not page.overflows, f"{path} is {page.scroll_width} wide in a window of {width}"
        assert [words for words in page.complaints if "status of 4" not in words] == []
        host = {urlsplit(request).netloc for request in page.requests}
        assert len(host) == 1, host
    assert 1000 < sent(browser) < MOST_BYTES


def test_a_printed_result_has_the_numbers_and_nothing_to_click(shown, browser):
    page = shown("/tables/people/results/every-page?q=count&a0=eye")
    browser.ask("Emulation.setEmulatedMedia", media="print")
    words = page.evaluate("document.body.innerText")
    browser.ask("Emulation.setEmulatedMedia", media="")
    assert all(text in words for text in ("Rows by ward", "What the intervals mean", "More questions", "ward eye"))
    assert [
        text for text in ("Files to save", "What next", "Count some", "Sign out", "of 100 left") if text in words
    ] == []


@pytest.mark.full
@pytest.mark.skipif("ADYTON_PICTURES" not in os.environ, reason="ADYTON_PICTURES names no folder")
@pytest.mark.parametrize("path", PAGES)
def test_a_picture_of_every_page(shown, path):
    folder = Path(os.environ["ADYTON_PICTURES"])
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", path).strip("-") or "home"
    for width in (390, 1280, 1600):
        for dark in (False, True):
            picture = shown(path, width, dark).screenshot()
            (folder / f"{name}-{width}-{'dark' if dark else 'light'}.png").write_bytes(picture)


@pytest.mark.full
@pytest.mark.skipif("ADYTON_AXE" not in os.environ, reason="ADYTON_AXE names no axe.min.js")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("path", PAGES)
def test_nobody_is_kept_out(shown, path, dark):
    page = shown(path, 1280, dark)
    assert not page.overflows
    page.evaluate(Path(os.environ["ADYTON_AXE"]).read_text(encoding="utf-8") + "; 0")
    found = json.loads(str(page.evaluate("axe.run().then((said) => JSON.stringify(said.violations))")))
    serious = [
        (fault["id"], fault["help"], fault["nodes"][0]["html"][:200])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []
