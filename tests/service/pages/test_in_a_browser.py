"""People at a real browser: what they see, click and type, and that nothing goes wrong behind it."""

import pytest

from browser import Browser, find_chromium
from service.pages.driving import Person, bridged

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def browser():
    with Browser() as one:
        yield one


@pytest.fixture(scope="module")
def address(served):
    with bridged(served.socket) as place:
        yield place


def test_somebody_signs_in_with_the_keyboard_alone(browser, address, served):
    mara = Person(browser, address).goes("/").sees("Sign in", "Your token")
    mara.types("Your token", "adyton_nonsense").presses("Enter").sees("This token is not valid")
    mara.types("Your token", served.tokens["mara"]).presses("Enter").sees("Tables", "people")
    mara.clicks("people").sees("What is public about this table", "a whole number")
    mara.clicks("Words").sees("One word for one concept")
    mara.clicks("Sign out").sees("Your token")
    assert mara.complaints == []
    assert mara.elsewhere == []
