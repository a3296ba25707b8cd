"""ε is spent on somebody: a ledger that does not know on whom adds up numbers that do not belong together."""

from __future__ import annotations

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
from adyton.kernel.ledger import Ledger

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
    for word in (*words, "or another ledger"):
        assert word in str(mismatch.value)
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
    for statement in (
        "DROP TABLE terms",
        "ALTER TABLE events DROP COLUMN consent",
        "PRAGMA user_version = 1",
    ):
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
    for words in ("visits of May", "every row, at most 1 row(s) each", "rows_per_unit changed from 2 to 1"):
        assert words in shown
    plain = json.loads(CliRunner().invoke(app, ["ledger", str(tmp_path / "a.ledger"), "--json"]).stdout)
    assert plain["terms"]["rows_per_unit"] == 1
    assert plain["events"][0]["changed"] == "rows_per_unit"
