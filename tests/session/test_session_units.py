"""Sessions whose schema names a unit: words and columns, ledgers, people, and what a limit cuts off."""

import json

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import BadInput, LedgerMismatch, SchemaError

PLAIN = ad.Schema({"age": ad.Integer(0, 9)}, 2)
SCHEMA = ad.Schema({"age": ad.Integer(0, 9)}, 2, unit="person")


@pytest.fixture(scope="module")
def visits():
    person = np.repeat(np.arange(40), [30, *[1] * 19, *[3] * 20])
    return pandas.DataFrame({"person": person, "age": person % 10})


def test_a_word_that_is_a_column_enforces_and_any_other_is_a_word(visits):
    for declared, unit in ((SCHEMA, None), (PLAIN, "person"), (SCHEMA, "patient")):
        session = ad.Session(visits, schema=declared, epsilon=100, unit=unit)
        assert session.schema == SCHEMA
        assert session.unit == (unit or "person")
        assert session.count(100).value == 2 + 19 + 40
    word = ad.Session(visits, schema=PLAIN, epsilon=100, unit="patient")
    assert word.schema == PLAIN
    assert word.count(100).value == len(visits)
    with pytest.raises(SchemaError, match="Say it once"):
        ad.Session(visits, schema=SCHEMA, epsilon=1, unit="age")
    with pytest.raises(SchemaError, match="names no unit"):
        word.count_units(1)


def test_people_and_their_rows(visits, tmp_path):
    session = ad.Session(visits, schema=SCHEMA, epsilon=300)
    assert session.count_units(50).value == 40
    assert session.count_units(50, where="age = 3").value == 4
    release = session.release(ad.RowsPerUnit(5, "visits"), epsilon=100, algorithm="identity")
    assert session.spent == 200
    assert release.estimate.tolist() == [19, 0, 20, 0, 1]
    one, three = ad.cut_off(release, [1, 3])
    assert (one.units, one.rows, three.units, three.rows) == (21, 44, 1, 2)
    assert three.rows_between[0] <= three.rows <= three.rows_between[1]
    assert one.rows_share == pytest.approx(44 / 84)
    release.save(tmp_path / "out")
    again = ad.Release.load(tmp_path / "out")
    assert (again.task, again.epsilon, again.rows_per_unit) == (release.task, 100, 1)
    assert session.preview(ad.RowsPerUnit(5), epsilon=1, algorithm="identity").cells == 5
    with pytest.raises(BadInput, match="Leave misfits out"):
        session.release(ad.RowsPerUnit(5), epsilon=1, misfits=True)
    with pytest.raises(BadInput, match=r"ad\.RowsPerUnit"):
        ad.cut_off(session.release(ad.Histogram("age"), epsilon=50, algorithm="identity"))


def test_a_limit_that_is_enforced_can_change_without_counting_again(visits, tmp_path):
    """What was spent protects each unit already; where nothing enforces the limit, more rows cost more."""
    held = {"ledger": tmp_path / "visits.ledger", "dataset": "visits"}
    with ad.Session(visits, schema=SCHEMA, epsilon=1, **held) as session:
        session.count("0.25")
    longer = ad.Schema({"age": ad.Integer(0, 9)}, 4, unit="person")
    for declared, words in ((longer, "rows_per_unit"), (PLAIN, r"column person.*accept=\{'unit', 'schema'\}")):
        with pytest.raises(LedgerMismatch, match=words):
            ad.Session(visits, schema=declared, **held)
    with ad.Session(visits, schema=longer, accept={"rows_per_unit"}, **held) as session:
        assert float(session.spent) == 0.25


def test_people_on_the_command_line(visits, tmp_path):
    visits.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "visits.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    start = ["release", str(tmp_path / "visits.csv"), "--schema", str(tmp_path / "visits.toml"), "--yes"]
    found = CliRunner().invoke(app, [*start, "--units", "--epsilon", "100", "--json"])
    assert found.exit_code == 0, found.output
    assert (json.loads(found.stdout)["count"], json.loads(found.stdout)["of"]) == (40, "person")
    asked = ["--rows-per-unit", "5", "--algorithm", "identity", "--epsilon", "100"]
    found = CliRunner().invoke(app, [*start, *asked])
    assert found.exit_code == 0, found.output
    assert "rows_per_unit = 3: cuts at least about 2 rows" in " ".join(found.output.split())
    assert ad.Schema.from_toml(tmp_path / "visits.toml") == SCHEMA
