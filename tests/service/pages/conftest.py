"""One service for all tests of pages; each test visits as somebody."""

import time

import pytest

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
