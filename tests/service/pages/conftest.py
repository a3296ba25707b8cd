"""One service, one ``adyton open`` and one browser for all tests of pages; each test visits as somebody."""

import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from browser import Browser
from service.pages.driving import bridged
from service.pages.opened import CANARY, HOSTILE, VISITS, Opened
from service.pages.visiting import Visiting
from service.whole import Served


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("pages")) as service:
        while Visiting(service.socket).get("/enter").status == 503:  # the API answers before there are pages
            time.sleep(0.1)
        yield service


@pytest.fixture(scope="session")
def visit_as(served):
    """A function: a visitor who has signed in as somebody."""

    def signed_in(who="mara"):
        visitor = Visiting(served.socket)
        visitor.sign_in(served.tokens[who])
        return visitor

    return signed_in


@pytest.fixture
def visit(visit_as):
    """The same, for a single test."""
    return visit_as


@pytest.fixture(scope="session")
def address(served):
    """Where a browser finds the service."""
    with bridged(served.socket) as place:
        yield place


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    """A folder of tables that nobody has opened yet, and some files that are no tables."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "elsewhere").mkdir()
    for place in ("visits.csv", "second.csv", "elsewhere/far.csv"):
        (folder / place).write_text(VISITS)
    (folder / "rows.csv").write_text(f"34,F,{CANARY}\n51,M,{CANARY}\n")
    (folder / "hostile <b>&.csv").write_text(",".join(HOSTILE[:3]) + "\n1,2,3\n")
    (folder / "broken.parquet").write_text("no table")
    (folder / "notes.txt").write_text("no table")
    (folder / "secret.key").write_text("no table")
    (folder / "wide.csv").write_text(",".join(f"q{number}" for number in range(400)) + "\n")
    pq.write_table(pa.table({"age": [3], "place": pa.array([[1]])}), folder / "typed.parquet")
    with Opened(folder) as service:
        service.visitor, service.first = service.enter()
        yield service
    assert service.complaints == ""


@pytest.fixture(scope="session")
def _chromium():
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def browser(_chromium):
    """A browser in which nobody has signed in."""
    yield _chromium
    _chromium.ask("Network.clearBrowserCookies")
    _chromium.ask("Network.setCacheDisabled", cacheDisabled=False)
