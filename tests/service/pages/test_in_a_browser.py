"""People at a real browser: what they see, click and type, and that nothing goes wrong behind it."""

import csv
import json
import shutil
import time
from fractions import Fraction
from pathlib import Path

import pytest

from adyton.exact import display
from adyton.kernel.ledger import Ledger
from browser import find_chromium
from service.pages.driving import Person

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine")
EXAMPLES = Path(__file__).parents[3] / "examples"
DEPARTMENTS = "emergency, surgery, maternity, cardiology, oncology, eye"


@pytest.fixture
def person(browser, address, served):
    """A function: somebody who has signed in."""

    def signed_in(who):
        browser.ask("Network.clearBrowserCookies")
        sitting = Person(browser, address).goes("/enter").sees("Your token")
        return sitting.types("Your token", served.tokens[who]).presses("Enter").sees("Tables", "people")

    return signed_in


def saved(person, name):
    """The text of a file that a page offers."""
    link = f"document.querySelector('a[href*=\"{name}\"]').href"
    return str(person.evaluate(f"fetch({link}).then((reply) => reply.text())"))


def test_somebody_signs_in_with_the_keyboard_alone(browser, address, served):
    mara = Person(browser, address).goes("/").sees("Sign in", "Your token")
    mara.types("Your token", "adyton_nonsense").presses("Enter").sees("This token is not valid")
    mara.types("Your token", served.tokens["mara"]).presses("Enter").sees("Tables", "people")
    mara.clicks("people").sees("What is public about this table", "a whole number")
    mara.clicks("Words").sees("One word for one concept")
    mara.clicks("Sign out").sees("Your token")
    assert mara.complaints == []
    assert mara.elsewhere == []


def test_a_curator_goes_from_a_table_without_a_schema_to_a_saved_publication(browser, opened):
    ledger = opened.folder / "clinic.ledger"
    shutil.copy(EXAMPLES / "visits.csv", opened.folder / "clinic.csv")
    link = opened.fresh_link()
    owner = Person(browser, link.partition("/enter")[0]).goes(link).goes("/new").clicks('[href="/new/clinic.csv"]')
    owner.sees("Schema of clinic.csv", "department")
    owner.chooses("What it is", "a category from a fixed list", nth=2)
    owner.types("Levels", "emergency, surgery, emergency").clicks("Open this table")
    owner.sees("3 fields need another look", "given twice: 'emergency'").clicks("Every row is a different person")
    assert owner.evaluate("document.querySelectorAll('.field .problem').length") == 3
    owner.sees("3 levels: emergency · surgery · emergency")
    owner._until(lambda: owner.evaluate("document.querySelectorAll('.field .problem').length") == 2, "still three")
    assert owner.path == "/new/clinic.csv", "a level that stands there twice"
    owner.types("Levels", DEPARTMENTS)
    owner.sees("one of 'emergency', 'surgery'")  # what it accepts, beside the form
    owner.types("Total budget ε", "a lot").clicks("Open this table").sees("a lot")
    owner.types("Total budget ε", "2").clicks("Open this table").sees("What is public about this table")
    owner.clicks("Ask a question").clicks("How many rows of each …").sees("Choose an attribute")
    owner.chooses("For each value of", "department").sees("19 times of 20")
    owner.types("Budget: ε", "none").sees("none")
    owner.types("Budget: ε", "0.5").sees("Release for ε = 0.5", "19 times of 20")
    owner.clicks("Rehearse, free").sees("made up", "nothing was spent")
    assert Ledger.read(ledger).spent == 0
    owner.clicks("Back to the question").sees("Release for ε = 0.5").clicks("Release for ε = 0.5")
    owner.sees("Files to save", "emergency", "1.5 of 2 left", seconds=300)
    whole = json.loads(saved(owner, "release.json"))
    assert whole["task"] == {"task": "histogram", "attributes": ["department"]}
    rows = csv.DictReader(saved(owner, "estimate.csv").splitlines())
    counts = {row["department"]: round(float(row["count"])) for row in rows}
    assert list(counts) == [*DEPARTMENTS.split(", "), "(other)", "(null)"]
    for name, count in counts.items():  # every number on the page is the one in the file
        assert f"{name} {count:,}" in owner.words.replace("\t", " ").replace("−", "-")
    owner.clicks("Ledger").sees("Over time", "ε = 0.5", "Privacy statement")
    owner.goes("/").sees("1.5 of 2 left")
    assert owner.complaints == []
    assert owner.elsewhere == []
    assert Ledger.read(ledger).spent == Fraction(1, 2)


def test_an_analyst_asks_and_a_curator_decides(person, served):
    ben = person("ben").goes("/tables/people/ask?question=each").sees("What to expect", "Choose an attribute")
    assert "ε = 1" not in ben.evaluate("document.querySelector('#outlook').innerText")  # nothing has a price yet
    ben.chooses("For each value of", "ward").types("Budget: ε", "1.1").sees("wait for the curator's consent")
    ben.clicks("Ask for consent: ε = 1.1").sees("consent")
    place = ben.path
    olga = person("olga").clicks("people").clicks("People").sees("ben", "ε = 1.1")
    olga.clicks("Grant").sees("Tick this to grant the request")
    olga.clicks("Spend ε = 1.1 for ben").clicks("Grant")
    olga.sees("No request waits")
    ben = person("ben").goes(place).sees("Files to save", seconds=300)
    assert ben.complaints == []
    assert ben.elsewhere == []


def test_what_somebody_opened_beside_a_form_stays_as_it_was_while_it_is_loaded_again(person):
    mara = person("mara").goes("/tables/people/ask?question=each&first=ward&epsilon=0.1").sees("Release for ε = 0.1")
    fold, opened = "The same in Python or a shell", "#outlook details[open] summary"

    def are_open():
        return mara.evaluate(f"[...document.querySelectorAll('{opened}')].map((one) => one.innerText.trim()).join()")

    def spends(epsilon):
        mara.evaluate(
            f"(() => {{ const field = document.querySelector('#f-epsilon'); field.value = '{epsilon}';"
            " field.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )

    def shows(epsilon):
        return f"ε = {epsilon}" in mara.evaluate("document.querySelector('#release').innerText")

    mara.clicks(fold)
    assert are_open() == fold
    mara.types("Budget: ε", "0.2").sees("Release for ε = 0.2")
    assert are_open() == fold
    mara.types("Budget: ε", "none").sees("must be a finite number")  # the part has no folds meanwhile
    mara.types("Budget: ε", "0.3").sees("Release for ε = 0.3")
    assert are_open() == fold
    mara.evaluate(f"document.querySelector('{opened}').focus()")
    spends("0.4")
    mara.sees("Release for ε = 0.4")
    assert mara.evaluate("document.activeElement.innerText.trim()") == fold
    x, y = mara._place(fold, 0)
    for press, release in (("mousePressed", "mouseReleased"), ("keyDown", "keyUp")):
        more = {"x": x, "y": y, "button": "left", "clickCount": 1} if "mouse" in press else {}
        more = more or {"key": " ", "code": "Space", "windowsVirtualKeyCode": 32, "text": " "}
        before, kind = are_open(), "Mouse" if "mouse" in press else "Key"
        spends("0.5")
        mara.browser.ask(f"Input.dispatch{kind}Event", type=press, **more)
        time.sleep(1)  # what was asked for arrives now, and waits
        assert not shows("0.5")
        mara.browser.ask(f"Input.dispatch{kind}Event", type=release, **more)
        mara.sees("Release for ε = 0.5")
        assert are_open() != before, press
        spends("0.4")
        mara.sees("Release for ε = 0.4")
    assert mara.complaints == []


def test_two_tabs_that_spend_the_same_budget(person, served):
    """The second one is told at the budget what is left; nothing is overspent."""
    mara = person("mara").goes("/tables/people/ask?question=each&first=ward").sees("What to expect")
    left = Fraction(served.connect("mara").remaining)
    amount = left * Fraction(3, 5)
    text = display(amount)
    mara.types("Budget: ε", text).sees(f"Release for ε = {text}")
    if mara.evaluate("document.querySelector('#f-sure') !== null"):
        mara.clicks("#f-sure").sees(f"Release for ε = {text}")
    session = served.connect("mara")
    session.count(amount)  # the other tab
    time.sleep(0.1)
    mara.clicks(f"Release for ε = {text}").sees("is left")
    assert "/results/" not in mara.path
    assert served.connect("mara").remaining == left - amount
