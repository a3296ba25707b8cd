"""What the command and the statement say of analysts, data sets and the head."""

import json
from fractions import Fraction

import pytest
from ledger_spending import spend
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton.kernel.ledger import Ledger


def said(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["ledger", *words], env={"COLUMNS": "160"})
    assert result.exit_code == code, result.output
    return result.output


def test_the_command_shows_and_sets_analysts(place: str):
    Ledger.open(place, total=2, dataset="visits").close()
    said("analyst", place, "mara", "--part", "1/2", "--aside", "--expires", "2999-01-31", "--consent", "olga")
    with Ledger.open(place, total=2, dataset="visits") as ledger, ledger.on_behalf("mara"):
        spend(ledger, Fraction(1, 10))
        head = ledger.head()
    shown = said(place)
    assert "mara: a part of 0.5, set aside, until 2999-01-31; 0.1 spent" in shown
    assert "1.9, 0.4 of it set aside" in shown
    assert said(place, "--head") == f"{head}\n"
    plain = json.loads(said(place, "--json"))
    assert plain["entries"][0]["analyst"] == "mara"
    assert (plain["analysts"][0]["part"]["exact"], plain["aside"]["exact"], plain["head"]) == ("1/2", "2/5", str(head))
    page = said(place, "--statement")
    assert "it holds even if all of them put their answers together" in page
    assert "| mara | ε = 0.5 | yes | ε = 0.1 | 2999-01-31 |" in page


@pytest.mark.parametrize("words", [("analyst", "PLACE"), ("PLACE", "--part", "1"), ("analyst", "PLACE", "a:b")])
def test_what_the_command_refuses(path, words):
    Ledger.open(path, total=2, dataset="visits").close()
    said(*(str(path) if word == "PLACE" else word for word in words), code=2)
    assert Ledger.read(path).events == ()
