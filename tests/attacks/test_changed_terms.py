"""ε is spent on somebody: a ledger that does not know on whom adds up numbers that do not belong together."""

from __future__ import annotations

import itertools
import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import BadInput, LedgerMismatch
from adyton.kernel.ledger import Ledger, Terms
from adyton.kernel.ledger.terms import PARTS
from earlier_ledgers import FIRST

TABLE = pd.DataFrame({"age": [34] * 100, "sex": ["F"] * 100})
AGE, SEX = ad.Integer(0, 119), ad.Categorical(["F", "M"])
SCHEMA = ad.Schema({"age": AGE})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.ledger"


def session(path: Path, schema: ad.Schema = SCHEMA, **terms) -> ad.Session:
    return ad.Session(TABLE, schema=schema, epsilon=1, ledger=path, dataset="visits", **terms)


def spend(path: Path, epsilon: str = "0.1", schema: ad.Schema = SCHEMA, **terms) -> None:
    with session(path, schema, **terms) as opened:
        opened.count(epsilon)


def refused(path: Path, *words: str, schema: ad.Schema = SCHEMA, **terms) -> None:
    before = Ledger.read(path)
    with pytest.raises(LedgerMismatch) as mismatch:
        session(path, schema, **terms)
    for word in words:
        assert word in str(mismatch.value)
    assert "another ledger" not in str(mismatch.value)
    assert Ledger.read(path) == before


def test_another_number_of_rows_is_refused(path: Path):
    spend(path, rows_per_unit=100)
    refused(path, "up to 100 row(s)", "up to 1 ", "rows_per_unit")
    refused(path, "up to 100 row(s)", "up to 99 ", rows_per_unit=99)
    spend(path, rows_per_unit=100)
    assert Ledger.read(path).spent == Fraction(1, 5)


def test_another_unit_is_refused_and_an_unnamed_one_is_the_ledgers(path: Path):
    spend(path, unit="patient")
    refused(path, "'patient'", "'household'", unit="household")
    with session(path) as opened:
        assert opened.unit == "patient"
        opened.count("0.1")
    assert Ledger.read(path).terms.unit == "patient"


def test_a_unit_that_is_named_later_is_another_claim(path: Path):
    spend(path)
    refused(path, "'row'", "'patient'", unit="patient")
    spend(path, unit="row")


@pytest.mark.parametrize(
    "other",
    [
        ad.Schema({"age": AGE, "sex": SEX}),
        ad.Schema({"age": ad.Integer(0, 118)}),
        ad.Schema({"age": ad.Integer(0, 119, outside="clamp")}),
        ad.Schema({"age": ad.Integer(0, 119, nulls="level")}),
        ad.Schema({"sex": SEX}),
    ],
)
def test_another_schema_is_refused(path: Path, other: ad.Schema):
    spend(path)
    refused(path, "another schema", "accept={'schema'}", "--accept schema", schema=other)


def test_how_a_schema_is_written_does_not_matter(path: Path):
    spend(path, schema=ad.Schema({"age": AGE, "sex": SEX}))
    text = """
    # declared by the hospital
    [attributes.sex]
    type = "categorical"
    levels = ["F",   "M"]
    nulls = "drop"
    [attributes.age]
    type = "integer"
    max = 119
    min = 0
    """
    spend(path, schema=ad.Schema.from_toml(text))


def test_a_word_accepts_and_is_an_event(path: Path):
    spend(path, rows_per_unit=100)
    for words in ((), {"schema"}, {"unit"}):
        with pytest.raises(LedgerMismatch, match="rows_per_unit"):
            session(path, accept=words)
    spend(path, accept={"rows_per_unit"})
    spend(path, schema=ad.Schema({"age": AGE, "sex": SEX}), unit="patient", accept=["schema", "unit"])
    report = Ledger.read(path)
    assert [event.changed for event in report.events] == ["rows_per_unit", "unit", "schema"]
    assert (report.events[0].old, report.events[0].new) == ("100", "1")
    assert (report.terms.unit, report.terms.rows_per_unit) == ("patient", 1)
    assert report.spent == Fraction(3, 10)
    refused(path, "schema")


@pytest.mark.parametrize("accept", ["schema", {"total"}, {"everything"}, None, 3])
def test_accept_holds_known_words(path: Path, accept):
    with pytest.raises(BadInput, match="accept"):
        session(path, accept=accept)
    assert not path.exists()


def test_what_was_spent_on_small_units_counts_more_for_larger_ones(path: Path):
    spend(path, "0.1")
    spend(path, "0.2", rows_per_unit=3, accept={"rows_per_unit"})
    report = Ledger.read(path)
    assert [entry.amount for entry in report.entries] == [Fraction(1, 10), Fraction(2, 10), Fraction(2, 10)]
    assert "up to 3 rows instead of 1" in report.entries[1].operator
    with pytest.raises(LedgerMismatch, match=r"that is 1.*Raise the total first|that is 1\.5"):
        session(path, rows_per_unit=8, accept={"rows_per_unit"})
    assert Ledger.read(path) == report


def test_an_open_session_does_not_outlive_its_terms(path: Path):
    with session(path) as early, session(path, rows_per_unit=5) as other:
        early.count("0.1")
        with pytest.raises(LedgerMismatch, match="rows_per_unit"):
            other.count("0.1")
        assert other.spent == Fraction(1, 10)
        session(path, ad.Schema({"age": AGE, "sex": SEX}), accept={"schema"}).close()
        with pytest.raises(LedgerMismatch, match="schema"):
            early.count("0.1")
    assert len(Ledger.read(path).entries) == 1


def test_opening_alone_binds_nobody(path: Path):
    session(path, rows_per_unit=5).close()
    assert Ledger.read(path).terms is None
    spend(path)


def test_a_vector_has_terms_too(path: Path):
    def kernel(cells: int = 8, **terms):
        return ad.Kernel.on_vector(np.arange(cells), epsilon=1, ledger=path, dataset="visits", **terms)

    kernel(rows_per_unit=4).root.measure(ad.workloads.Identity(8), "0.01")
    for terms, word in (({}, "rows_per_unit"), ({"cells": 9, "rows_per_unit": 4}, "schema")):
        with pytest.raises(LedgerMismatch, match=word):
            kernel(**terms)
    with pytest.raises(LedgerMismatch, match="schema"):
        session(path, rows_per_unit=4)
    kernel(rows_per_unit=4)
    kernel(9, rows_per_unit=4, accept={"schema"})


def test_a_number_of_rows_beyond_reach_is_refused():
    with pytest.raises(BadInput, match="rows_per_unit must be at most"):
        ad.Kernel.on_vector([1, 2], epsilon=1, rows_per_unit=2**63 + 1)


def first_format(path: Path) -> Path:
    """What a ledger of the first format looks like."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in FIRST:
        connection.execute(statement)
    connection.close()
    return path


@pytest.mark.parametrize("used", [True, False])
def test_an_old_ledger_takes_on_the_terms_of_its_first_use(path: Path, used: bool):
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        if used:
            ledger.debit(Fraction(1, 10), lineage=["root"], operator="laplace")
    before = first_format(path).read_bytes()
    report = Ledger.read(path)
    assert (report.terms, report.events, len(report.entries)) == (None, (), used)
    with pytest.raises(LedgerMismatch):
        Ledger.open(path, total=2, dataset="visits")
    assert path.read_bytes() == before
    if used:
        with pytest.raises(LedgerMismatch, match="accept terms"):
            spend(path, rows_per_unit=2)
        assert Ledger.read(path).spent == Fraction(1, 10)
    spend(path, rows_per_unit=2, accept={"terms"} if used else ())
    report = Ledger.read(path)
    assert report.terms.rows_per_unit == 2
    assert [event.changed for event in report.events] == ["terms"] * used
    assert not used or (report.events[0].old == "unknown" and "rows_per_unit 2" in report.events[0].new)
    refused(path, "rows_per_unit")


def test_an_old_total_between_two_steps_of_the_grid_still_opens(path: Path):
    Ledger.open(path, total=1, dataset="visits").close()
    connection = sqlite3.connect(first_format(path), isolation_level=None)
    connection.execute("UPDATE ledger SET total = '1/101'")
    connection.close()
    with ad.Session(TABLE, schema=SCHEMA, ledger=path, dataset="visits") as opened:
        opened.count(opened.remaining)
    Ledger.open(path, total="1/101", dataset="visits").close()
    assert Ledger.read(path).total == Fraction(1, 101)


def test_the_command_line_says_and_accepts_it(tmp_path: Path):
    TABLE.to_csv(tmp_path / "visits.csv", index=False)
    for name, rows in (("one", 1), ("two", 2)):
        (tmp_path / f"{name}.toml").write_text(ad.Schema({"sex": SEX}, rows).to_toml())

    def count(name: str, *words: str):
        where = [tmp_path / "visits.csv", "--schema", tmp_path / f"{name}.toml", "--ledger", tmp_path / "a.ledger"]
        asked = ["release", *where, "--count", "--epsilon", "0.1", "--total", "1", "--dataset", "visits of May", *words]
        return CliRunner().invoke(app, [str(word) for word in asked])

    assert count("two").exit_code == 0
    wrong = count("one")
    assert wrong.exit_code == 1
    assert "--accept rows_per_unit" in wrong.stderr
    assert count("one", "--accept", "rows_per_unit").exit_code == 0
    assert count("one", "--accept", "all").exit_code == 2
    shown = CliRunner().invoke(app, ["ledger", str(tmp_path / "a.ledger")], env={"COLUMNS": "120"}).stdout
    for words in ("visits of May", "every row", "rows_per_unit changed from 2 to 1"):
        assert words in shown
    plain = json.loads(CliRunner().invoke(app, ["ledger", str(tmp_path / "a.ledger"), "--json"]).stdout)
    assert plain["terms"]["rows_per_unit"] == 1
    assert plain["events"][0]["changed"] == "rows_per_unit"


# ---- changes in several steps ----------------------------------------------------------------------------------------

PEOPLE = pd.DataFrame({"who": [f"p{row // 3}" for row in range(30)], "house": "h", "age": 34, "sex": "F"})
STATES = [
    (column, word, rows, sexes)
    for column, word in ((None, None), (None, "who"), ("who", None), ("house", None))
    for rows in (1, 4)
    for sexes in (False, True)
]
"""The unit's column, a word for it, the rows per unit, and whether the schema has another attribute."""


def terms_of(column: str | None, word: str | None, rows: int, sexes: bool) -> Terms:
    return Terms.of({"sexes": sexes, **({"unit": column} if column else {})}, rows, word)


def steps(path: list[Terms], accept=PARTS, total: int = 7) -> Fraction | None:
    """What is spent when 1 was, under the first of the terms, and the ledger has taken on the others; None if not."""
    with Ledger.open(None, total=total, dataset="people") as ledger:
        ledger.debit(Fraction(1), lineage=["people"], operator="laplace", terms=path[0])
        for terms in path[1:]:
            try:
                agreed = ledger.agree(terms, accept)
            except LedgerMismatch:
                return None
            assert ledger.terms == agreed
            assert (agreed.column, agreed.rows_per_unit, agreed.schema) == (
                terms.column,
                terms.rows_per_unit,
                terms.schema,
            )
            assert agreed.unit == terms.unit or (agreed.column, terms.unit, terms.column) == (None, None, None)
        return ledger.spent


def test_no_sequence_of_changes_is_accepted_where_the_single_one_is_refused():
    """Every unit and number of rows, in two steps; what is counted again is never less, either."""
    every = [terms_of(*state) for state in STATES if not state[3]]
    single = {(first, last): steps([first, last]) for first in every for last in every}
    assert {None, 1, 2, 4} == set(single.values())
    for first, between, last in itertools.product(every, repeat=3):
        if single[first, between] is None:
            continue  # nothing follows a change that was refused
        stepwise, once = steps([first, between, last]), single[first, last]
        assert stepwise is None or (once is not None and stepwise >= once), (first, between, last)


def test_three_steps_of_an_earlier_debit_are_no_way_around_either():
    random = np.random.default_rng(1)
    every = [terms_of(*state) for state in STATES]
    for _ in range(150):
        path = [every[place] for place in random.integers(0, len(every), 4)]
        stepwise, once = steps(path), steps([path[0], path[-1]])
        assert stepwise is None or (once is not None and stepwise >= once), path


@pytest.mark.parametrize("accept", [words for size in range(3) for words in itertools.combinations(PARTS, size)])
def test_words_allow_no_more_in_two_steps_than_in_one(accept):
    every = [terms_of(*state) for state in STATES]
    ways = {(first, last) for first in every for last in every if steps([first, last], accept, 1000) is not None}
    assert {(first, last) for first, between in ways for start, last in ways if start == between} <= ways


def test_debits_of_several_terms_are_each_judged_by_their_own():
    rows, who, house = (terms_of(column, None, 1, False) for column in (None, "who", "house"))
    with Ledger.open(None, total=100, dataset="people") as ledger:
        for terms, amount in ((rows, 1), (who, 2), (house, 3)):
            ledger.agree(terms, PARTS)
            ledger.debit(Fraction(amount), lineage=["people"], operator="laplace", terms=terms)
        before = ledger.spent
        ledger.agree(terms_of("who", None, 4, False), PARTS)
        assert before < ledger.spent == 4 * 1 + 2 + (2 * 4) * 3
        report = ledger.report()
        assert [entry.terms for entry in report.entries if not entry.recount] == [rows, who, house]
        assert "ε = 4 was spent before the column who was the unit" in report.notes[0]
        assert len(report.notes) == 1


def test_sessions_kernels_and_ledgers_name_the_same_unit(path: Path):
    """In a chain through every unit, with real tables; a session of other terms than the ledger's spends nothing."""
    chain = [state for state in STATES if not state[3]]
    for number, (column, word, rows, _) in enumerate((*chain, chain[0])):
        table = PEOPLE if column else PEOPLE.drop(columns=["who"])
        schema = ad.Schema({"age": AGE}, rows, unit=column)
        held = {"ledger": path, "dataset": "people", "unit": word, "accept": PARTS}
        with ad.Session(table, schema=schema, epsilon=1000, **held) as opened:
            opened.count("0.001")
            kept, used = Ledger.read(path), opened._kernel.terms
            assert kept.terms == used == kept.entries[-1].terms, number
            assert opened.unit == kept.terms.named_unit
            assert opened.schema.unit == kept.terms.column
            assert opened._kernel.root.schema.unit == kept.terms.column
            assert opened.schema.rows_per_unit == kept.terms.rows_per_unit == rows


def test_the_unit_is_not_dropped_with_the_schema_alone(path: Path):
    enforced = ad.Schema({"age": AGE}, 3, unit="who")
    with ad.Session(PEOPLE, schema=enforced, epsilon=10, ledger=path, dataset="people") as opened:
        opened.count("0.5")
    given = {"ledger": path, "dataset": "people"}
    for table, unit in ((PEOPLE, None), (PEOPLE.drop(columns=["who"]), "who")):
        with pytest.raises(LedgerMismatch, match=r"column who.*accept=\{'unit'\}"):
            ad.Session(table, schema=ad.Schema({"age": AGE}, 3), unit=unit, accept={"schema"}, **given)
    with ad.Session(PEOPLE, schema=ad.Schema({"age": AGE}, 3), accept={"schema", "unit"}, **given) as opened:
        assert (opened.unit, opened.spent) == ("person with up to 3 rows", 3)
    shown = CliRunner().invoke(app, ["ledger", str(path)], env={"COLUMNS": "160"}).stdout
    assert "unit changed from who (by the column who) to person with up to 3 rows" in shown


def test_rows_of_people_are_counted_again_in_two_steps_too(path: Path):
    """First the unit at one row, then the rows per unit: what was spent on rows is still known as that."""
    with session(path) as opened:
        opened.count("0.1")
    given = {"ledger": path, "dataset": "visits"}
    single, fifty = (ad.Schema({"age": AGE}, rows, unit="who") for rows in (1, 50))
    with pytest.raises(LedgerMismatch, match="that is 5"):
        ad.Session(PEOPLE, schema=fifty, accept=PARTS, **given)
    with ad.Session(PEOPLE, schema=single, accept=PARTS, **given) as opened:
        opened.count("0.1")
    assert "was spent before the column who was the unit" in Ledger.read(path).notes[0]
    with pytest.raises(LedgerMismatch, match=r"that is 5\.1"):
        ad.Session(PEOPLE, schema=fifty, accept=PARTS, **given)
    shown = CliRunner().invoke(app, ["ledger", str(path)], env={"COLUMNS": "160"}).stdout
    assert "Note: ε = 0.1 was spent before the column who was the unit" in shown


def test_another_name_of_the_data_set_changes_no_terms(path: Path):
    with session(path) as opened:
        opened.count("0.1")
    Ledger.open(path, total=1, dataset="people", accept={"dataset"}).close()
    given = {"ledger": path, "dataset": "people", "accept": PARTS}
    with pytest.raises(LedgerMismatch, match="that is 5"):
        ad.Session(PEOPLE, schema=ad.Schema({"age": AGE}, 50, unit="who"), **given)
    assert Ledger.read(path).terms == Ledger.read(path).entries[0].terms


def test_a_session_that_was_open_first_does_not_spend_on_a_unit_it_does_not_name(path: Path):
    with session(path) as early, session(path, unit="patient") as other:
        other.count("0.1")
        with pytest.raises(LedgerMismatch, match="'patient'"):
            early.count("0.1")
        assert (early.unit, other.unit, Ledger.read(path).spent) == ("row", "patient", Fraction(1, 10))


def test_owners_and_instances_are_different_units(path: Path):
    grid = ad.configuration.Grid(lambda demand, price: price * max(0, demand - price), interval=(0, 10))
    given = {"ledger": path, "dataset": "prices", "total": 100}
    ad.configure(grid, [8.0, 9.0] * 5, 1, **given)
    with pytest.raises(LedgerMismatch, match="'owner"):
        ad.configure(grid, [8.0, 9.0] * 5, 1, owner=[1] * 10, **given)
    ad.configure(grid, [8.0, 9.0] * 5, 1, owner=[1] * 10, accept={"unit"}, **given)
    assert "was spent before the column owner was the unit" in Ledger.read(path).notes[0]
    ad.configure(grid, [8.0, 9.0] * 5, 1, accept={"unit"}, **given)
    assert Ledger.read(path).spent == 1 + 2 * 1 + 1


FIXTURES = Path(__file__).parents[1] / "fixtures" / "0.1.0" / "ledgers"


def test_an_early_ledger_that_did_not_count_again_says_so(path: Path):
    """Its debits are judged by what its events say: 1 on rows, then up to 50 rows of each."""
    path.write_bytes((FIXTURES / "two_steps.ledger").read_bytes())
    before = Ledger.read(path)
    assert "did not count earlier answers again" in before.notes[-1]
    assert [entry.terms.rows_per_unit for entry in before.entries] == [1, 1, 50]
    Ledger.open(path, total=before.total, dataset=before.dataset).close()
    after = Ledger.read(path)
    assert (after.notes, after.entries, after.spent) == (before.notes, before.entries, before.spent)
    given = {"ledger": path, "dataset": "people"}
    with pytest.raises(LedgerMismatch, match="Raise the total first"):
        ad.Session(PEOPLE, schema=ad.Schema({"age": ad.Integer(0, 59)}, 51, unit="who"), accept=PARTS, **given)
    with ad.Session(PEOPLE, schema=ad.Schema({"age": ad.Integer(0, 59)}, 50, unit="who"), **given) as opened:
        opened.count("0.1")
    assert Ledger.read(path).terms.column == "who"


def test_an_early_ledger_of_an_enforced_unit_goes_on_as_one(path: Path):
    path.write_bytes((FIXTURES / "enforced.ledger").read_bytes())
    given, age = {"ledger": path, "dataset": "people"}, ad.Integer(0, 59)
    with pytest.raises(LedgerMismatch, match=r"accept=\{'unit'"):
        ad.Session(PEOPLE, schema=ad.Schema({"age": age}, 3), accept={"schema"}, **given)
    with ad.Session(PEOPLE, schema=ad.Schema({"age": age}, 9, unit="who"), accept={"rows_per_unit"}, **given) as opened:
        assert opened.spent == Fraction(3, 4)
    wider = ad.Schema({"age": age, "sex": SEX}, 9, unit="who")
    with ad.Session(PEOPLE, schema=wider, accept={"schema"}, **given) as opened:
        assert opened.spent == Fraction(3, 4)
    assert [note[:40] for note in Ledger.read(path).notes] == ["An early version kept this ledger until "]


def test_a_level_file_that_has_changed_is_named(path: Path, tmp_path: Path):
    """How it is written does not matter, nor where it lies: its levels do. Nothing is spent on others."""
    levels, regions = tmp_path / "levels.txt", tmp_path / "regions.csv"
    table = pd.DataFrame({"sex": ["F"] * 9, "region": ["a"] * 9})
    (tmp_path / "s.toml").write_text(
        '[attributes.sex]\ntype = "categorical"\nlevels_file = "levels.txt"\n'
        '[attributes.region]\ntype = "categorical"\nlevels_file = {file = "regions.csv", column = "name"}\n'
    )

    def count(**words) -> None:
        given = {"schema": tmp_path / "s.toml", "ledger": path, "dataset": "visits", **words}
        with ad.Session(table, epsilon=1, **given) as opened:
            opened.count("0.1")

    levels.write_text("F\nM\n")
    regions.write_text("name,size\na,1\nb,2\n")
    count()
    levels.write_bytes(b"\xef\xbb\xbf F\r\n\r\nM\r\nF")
    regions.write_text("size;name\n9;a\n8;b\n")
    count()
    count(schema=ad.Schema({"sex": SEX, "region": ad.Categorical(["a", "b"])}))  # what the ledger keeps are the levels
    for file, text, name in (
        (levels, "F\nM\nX\n", "'levels.txt'"),
        (levels, "M\nF\n", "'levels.txt'"),
        (regions, "name\na\n", "'regions.csv, column name'"),
    ):
        before, kept = file.read_text(), Ledger.read(path)
        file.write_text(text)
        with pytest.raises(LedgerMismatch, match=f"the level file {name} had other levels.*Restore the file"):
            count()
        assert Ledger.read(path) == kept
        file.write_text(before)
    shown = CliRunner().invoke(app, ["ledger", str(path)], env={"COLUMNS": "160"}).stdout
    assert "of levels.txt, digest " in shown
    levels.write_text("F\nM\nX\n")
    count(accept={"schema"})
    count()
    assert Ledger.read(path).spent == Fraction(1, 2)
    levels.write_text("F\nM\n")
    with pytest.raises(LedgerMismatch, match="level file 'levels.txt' had other levels"):
        count()
