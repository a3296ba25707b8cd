"""``adyton schema``: schemas from code books and Frictionless files, and what is said about a finished one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.schema import Schema

BOOK = """\
Variable Name;Label;Data Type;Minimum;Max. value;Values;Missing values
age;Age in years;integer;0;120;-9=Not stated;NA
sex;"Sex, as
stated";numeric;;;1=Male| 2=Female| 9=Unknown;
income;Monthly income;Float(8);0;20000.5;;NA, -1
born;Date of birth;date;1900-01-01;2010-12-31;;
region;Region;VARCHAR(5);;;north, south;
agree;Agreement;;1;5;1=not at all; 5=very
mood;Mood;int;1;3;1 - bad|2 - so-so|3 - good;
weight;;number;;;30..250;
smoker;Smokes;bool;;;;
household;;id;;;;
"""


def asked(*words: object):
    return CliRunner().invoke(app, ["schema", *map(str, words)])


def written(tmp_path: Path, text: str, name: str = "book.csv") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_a_code_book_with_a_line_for_each_variable(tmp_path):
    text = asked("--from", written(tmp_path, BOOK.replace("1=not at all; 5=very", '"1=not at all; 5=very"'))).stdout
    assert dict(Schema.from_toml(text).attributes) == {
        "age": ad.Integer(0, 120, missing=["NA", -9]),
        "sex": ad.Categorical({"Male": ["1"], "Female": ["2"], "Unknown": ["9"]}),
        "income": ad.Numeric(0, 20000.5, bins=20, missing=["NA", -1]),
        "born": ad.Date("1900-01-01", "2010-12-31", by="month"),
        "region": ad.Categorical(["north", "south"]),
        "agree": ad.Integer(1, 5),
        "mood": ad.Categorical({"bad": ["1"], "so-so": ["2"], "good": ["3"]}),
        "weight": ad.Numeric(30, 250, bins=20),
        "smoker": ad.Boolean(),
        "household": ad.Identifier(),
    }
    assert "[attributes.sex]   # Sex, as stated\n" in text
    assert "fill in\n" not in text


@pytest.mark.parametrize(
    "book",
    [
        "name,type,code,label\nsex,integer,1,Male\n,,2,Female\nedu,integer,0,None\nedu,integer,1,Some\n",
        "variable\tlabel\tvalue\tvalue label\nsex\tSex\t1\tMale\nsex\tSex\t2\tFemale\nedu\t\t0\tNone\nedu\t\t1\tSome\n",
    ],
)
def test_a_code_book_with_a_line_for_each_code(tmp_path, book):
    found = Schema.from_toml(asked("--from", written(tmp_path, book)).stdout)
    assert dict(found.attributes) == {
        "sex": ad.Categorical({"Male": ["1"], "Female": ["2"]}),
        "edu": ad.Categorical({"None": ["0"], "Some": ["1"]}),
    }


def test_what_a_code_book_does_not_say_is_to_be_filled_in(tmp_path):
    text = asked("--from", written(tmp_path, "variable,type,min\nage,,0\ncity,string,\nx,,\n")).stdout
    assert '[attributes.age]\ntype = "integer"\nmin = 0\n# max = 100   # fill in\n' in text
    assert '[attributes.city]\ntype = "categorical"\n# levels = ["a", "b"]   # fill in\n' in text
    assert '[attributes.x]\n# type = "integer"   # fill in\n' in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("variable,min,max\nage,120,0\n", "book.csv, row 2: 'age' has the bounds 120 and 0. Swap them?"),
        ("variable,min,max,codes\nage,120,0,-9=none\n", "book.csv, row 2: 'age' has the bounds 120 and 0"),
        ("variable,range\nage,120-0\n", "book.csv, row 2: 'age' has the bounds 120 and 0"),
        ("variable,type,min,max\nd,date,2020-01-01,2019-01-01\n", "row 2: attribute 'd': min is 2020-01-01"),
        ("variable,type\nage,blob\n", "row 2: 'age' has the unknown type 'blob'. Write one of 'integer'"),
        ("variable,type\nage,int\n\nage,int\n", "row 4 names 'age' a second time"),
        ("variable,type\nAge,int\nage,int\n", "'Age' and 'age' differ only in case"),
        ("variable,type,min,max\nage,int,none,9\n", "row 2: min of 'age' must be a whole number, given 'none'"),
        ("variable,type,min,max\nage,int,0.5,9\n", "row 2: min of 'age' must be a whole number, given 0.5"),
        ("variable,codes\nx,1=a; 1=b\n", "row 2: 'x' has '1' twice among its codes"),
        ("variable,codes\nx,1=a; 2=a\n", "row 2: 'x' has 'a' twice among its codes"),
        ("a,b\n1,2\n", "no column for the names of the variables"),
        ("variable,type\n,int\n", "row 2 names no variable"),
        ("variable,type\n", "book.csv names no variable"),
        ("", "book.csv is empty"),
        ("variable,max\nage," + "9" * 5000 + "\n", "max of 'age' must be a number"),
    ],
)
def test_a_wrong_code_book_is_refused_in_one_sentence(tmp_path, text, words):
    result = asked("--from", written(tmp_path, text))
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


FIELDS = [
    {"name": "id", "type": "string"},
    {"name": "age", "type": "integer", "title": "Age", "constraints": {"minimum": 0, "maximum": 120}},
    {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}},
    {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": "9.5"}, "decimalChar": ","},
    {
        "name": "day",
        "type": "date",
        "format": "%d/%m/%Y",
        "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"},
    },
    {"name": "code", "type": "integer", "constraints": {"enum": [1, 2]}, "missingValues": ["-9"]},
    {"name": "ok", "type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]},
    {"name": "edu", "type": "integer", "categories": [{"value": 1, "label": "low"}, {"value": 2, "label": "high"}]},
    {"name": "place", "type": "geojson"},
]
TABLE = {"fields": FIELDS, "missingValues": ["", "NA", "-99"], "primaryKey": "id"}


def test_a_frictionless_schema_and_a_package(tmp_path):
    missing = {"missing": ["NA", -99]}
    expected = {
        "id": ad.Identifier(**missing),
        "age": ad.Integer(0, 120, **missing),
        "sex": ad.Categorical(["F", "M"], **missing),
        "pay": ad.Numeric(0, 9.5, bins=20, decimal=",", **missing),
        "day": ad.Date("2020-01-01", "2020-12-31", by="month", format="%d/%m/%Y", **missing),
        "code": ad.Categorical([1, 2], missing=[-9]),
        "ok": ad.Categorical({"true": ["ja"], "false": ["nein"]}, **missing),
        "edu": ad.Categorical({"low": ["1"], "high": ["2"]}, **missing),
        "place": ad.Identifier(**missing),
    }
    alone = Schema.from_toml(asked("--from", written(tmp_path, json.dumps(TABLE), "t.json")).stdout)
    assert dict(alone.attributes) == expected
    visits = {
        "name": "visits",
        "schema": TABLE,
        "encoding": "iso-8859-1",
        "dialect": {"delimiter": ";", "header": False},
    }
    package = written(tmp_path, json.dumps({"resources": [visits, {"name": "other", "schema": "t.json"}]}), "p.json")
    assert Schema.from_toml(asked("--from", package, "--table", "other").stdout) == alone
    found = Schema.from_toml(asked("--from", package, "--table", "visits").stdout)
    assert found.file == ad.FileFormat(";", header=False, columns=list(expected), encoding="latin-1")
    assert dict(found.attributes) == expected
    for words, wrong in (((), "has the tables 'visits', 'other'"), (("--table", "x"), "there is no table 'x'")):
        assert wrong in asked("--from", package, *words).stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            {"fields": [{"name": "a", "type": "integer", "constraints": {"minimum": 9, "maximum": 1}}]},
            "field 1: 'a' has the bounds 9 and 1",
        ),
        ({"fields": [{"name": "a", "type": "blob"}]}, "field 1: 'a' has the unknown type 'blob'"),
        ({"fields": [{"name": "a"}, {"name": "a"}]}, "field 2 is called 'a', like another"),
        ({"fields": [{"type": "integer"}]}, "field 1 has no name"),
        ({"fields": 3}, "must be lists of objects"),
        ({"resources": [3]}, "must be lists of objects"),
        ({"resources": [{"name": "a", "schema": "none.json"}]}, "none.json does not exist"),
        ({"resources": [{"name": "a", "schema": {"fields": FIELDS}, "encoding": 3}]}, "the encoding 3 is not among"),
        ({}, "has no fields"),
        ([], "is not a JSON object"),
    ],
)
def test_a_wrong_frictionless_schema_is_refused_in_one_sentence(tmp_path, content, words):
    result = asked("--from", written(tmp_path, json.dumps(content), "t.json"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_what_is_not_there_or_too_much_is_refused(tmp_path):
    book = written(tmp_path, "Name,Größe\n")
    book.write_bytes("variable;label\nage;Größe\n".encode("latin-1"))
    assert "--encoding" in asked("--from", book).stderr
    assert "# Größe" in asked("--from", book, "--encoding", "latin-1").stdout
    assert "does not exist" in asked("--from", tmp_path / "none.csv").stderr
    assert "is not a JSON object" in asked("--from", written(tmp_path, "{", "t.json")).stderr
    assert "Leave out DATA" in asked("--from", book, book).stderr
    assert asked().exit_code == 2


def test_patterns_on_the_command_line(tmp_path):
    """They are explained without a table, checked and released with one, and planned with its columns."""
    schema = written(tmp_path, '[attributes."q*"]\ntype = "integer"\nmin = 1\nmax = 5\n', "s.toml")
    data = written(tmp_path, "q1,q2\n1,2\n", "t.csv")
    assert "q* (every column that matches and has no entry of its own): a whole number" in asked(schema).stdout

    def run(*words: object):
        return CliRunner().invoke(app, [*map(str, words), "--schema", str(schema)])

    checked = run("check", data, "--public")
    assert (checked.exit_code, checked.stdout.count("1 of 1 rows fit")) == (0, 2)
    assert run("release", data, "--histogram", "q2", "--epsilon", "1").exit_code == 0
    assert "columns of a table. Name the table with --data" in run("plan", "--histogram", "q2").stderr
    assert "histogram of q2" in run("plan", "--histogram", "q2", "--data", data).stdout
    schema.write_text(schema.read_text().replace("q*", "z*"))
    for words in (("check", data), ("release", data, "--count", "--epsilon", "1", "--ledger", tmp_path / "a.ledger")):
        wrong = run(*words)
        assert (wrong.exit_code, "the pattern 'z*' matches no column" in wrong.stderr) == (2, True)
    assert not (tmp_path / "a.ledger").exists()


def test_what_a_type_does_not_know_is_left_out(tmp_path):
    """Formats of other programs, lengths of texts; a bound of one kind alone."""
    book = "variable,type,format,min,max,codes\na,int,F8.2,0,9\nb,string,A20,1,20\nd,bool,,0,1\ne,string,,1,2,x;y\n"
    book += "c,date,DD.MM,2020-01-01,2021-01-01\n"
    found = asked("--from", written(tmp_path, book)).stdout.replace("# levels", "levels")
    assert dict(Schema.from_toml(found).attributes) == {
        "a": ad.Integer(0, 9),
        "b": ad.Categorical(["a", "b"]),
        "c": ad.Date("2020-01-01", "2021-01-01", by="month"),
        "d": ad.Boolean(),
        "e": ad.Categorical(["x", "y"]),
    }
