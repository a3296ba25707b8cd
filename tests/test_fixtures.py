"""Whatever an earlier version saved is read, and says what it said then: folders, files and ledgers in ``fixtures``."""

import json
import shutil
import warnings
from fractions import Fraction
from pathlib import Path

import pytest

import adyton as ad
from adyton.kernel.ledger import Ledger
from fixtures.make import PEOPLE, facts, people_schema

HERE = Path(__file__).parent / "fixtures"
EXPECTED = {
    f"{file.parent.name}/{name}": known
    for file in sorted(HERE.glob("*/expected.json"))
    for name, known in json.loads(file.read_text("utf-8")).items()
}
KINDS = sorted({name.rpartition("/")[0] for name in EXPECTED})


def test_every_fixture_is_expected():
    there = {str(path.relative_to(HERE)) for kind in KINDS for path in (HERE / kind).iterdir()}
    assert there == set(EXPECTED)
    assert len(KINDS) >= 9


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_earlier_version_saved_says_the_same(kind):
    changed = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, known in EXPECTED.items():
            if name.rpartition("/")[0] == kind and (now := facts(HERE / name)) != known:
                changed[name] = {part: (known.get(part), now.get(part)) for part in known | now}
                changed[name] = {part: pair for part, pair in changed[name].items() if pair[0] != pair[1]}
    assert not changed


LEDGERS = [name for name in EXPECTED if name.endswith(".ledger")]


@pytest.mark.parametrize("name", LEDGERS)
def test_an_old_ledger_opens_and_goes_on(name, tmp_path):
    """What it has spent and said stays as it is; it takes further debits, and is read again."""
    copy, known = tmp_path / "old.ledger", EXPECTED[name]
    shutil.copy(HERE / name, copy)
    with Ledger.open(copy, total=Fraction(known["total"]), dataset=known["dataset"]) as ledger:
        ledger.settle(ledger.debit(Fraction(1, 8), lineage=["people"], operator="laplace"), "answered")
        assert ledger.spent == Fraction(known["spent"]) + Fraction(1, 8)
    report = Ledger.read(copy)
    assert [entry.time for entry in report.entries[:-1]] == [entry[1] for entry in known["entries"]]
    assert [[event.changed, event.old, event.new, event.consent] for event in report.events] == known["events"]


@pytest.mark.parametrize(
    ("name", "schema", "unit"),
    [
        ("rows", people_schema(), None),
        ("known_rows", people_schema(rows_per_unit=3), "patient"),
        ("enforced", people_schema("who", 3), "who"),
        ("changed", people_schema("who"), "who"),
    ],
)
@pytest.mark.parametrize("version", sorted(path.parent.name for path in HERE.glob("*/expected.json")))
def test_a_session_goes_on_with_an_old_ledger(name, schema, unit, version, tmp_path):
    copy = tmp_path / "old.ledger"
    shutil.copy(HERE / version / "ledgers" / f"{name}.ledger", copy)
    with ad.Session(PEOPLE, schema=schema, ledger=copy, dataset="people") as session:
        before = session.spent
        session.count("0.1")
        assert session.spent == before + Fraction(1, 10)
        assert session.unit == (unit or "row")
