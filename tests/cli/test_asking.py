"""What a curator asks with mistakes in it, on the command line and in Python; several files; options of tables."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import AdytonError
from adyton.schema.predicates import parse_predicate

SCHEMA = """
[attributes.pay]
type = "numeric"
min = 0
max = 100
bins = 10
[attributes.sex]
type = "categorical"
levels = ["F", "M"]
[attributes.year]
type = "integer"
min = 2000
max = 2019
[attributes.home]
type = "point"
box = [0, 0, 4, 2]
grid = [4, 2]
longitude = "x"
latitude = "y"
"""
HEADER = "pay,sex,year,x,y,who\n"
SCHEMAS = {
    "s.toml": SCHEMA,
    "unit.toml": 'unit = "person"\nrows_per_unit = 2\n' + SCHEMA,
    "no-bounds.toml": SCHEMA.replace("min = 0\nmax = 100\n", ""),
    "no-max.toml": SCHEMA.replace("max = 2019\n", ""),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("asking")
    for file in range(2):
        rows = [f"{row % 100},{'FM'[row % 2]},{2000 + row % 20},{row % 4}.5,{file}.5,P{row}\n" for row in range(100)]
        (place / f"week-{file}.csv").write_text(HEADER + "".join(rows))
    for name, text in SCHEMAS.items():
        (place / name).write_text(text)
    return place


def run(command, folder, *words, schema="s.toml", files=("week-0.csv",)):
    data = [str(folder / file) for file in files] if command != "plan" else []
    return CliRunner().invoke(app, [command, *data, "--schema", str(folder / schema), *words])


MISTAKES = [
    (["--mean", "sex"], ad.Mean, ("sex",), "s.toml", "sex is categorical: it has no mean. Attributes of numbers are"),
    (["--mean", "home"], ad.Mean, ("home",), "s.toml", "home is a point: it has no mean"),
    (["--sum", "x"], ad.Sum, ("x",), "s.toml", "The column 'x' is read by 'home_longitude'"),
    (["--sum", "paid"], ad.Sum, ("paid",), "s.toml", "there is no attribute 'paid'"),
    (["--quantiles", "pay", "--at", "1.5"], ad.Quantiles, ("pay", [1.5]), "s.toml", "a number from 0 to 1"),
    (["--quantiles", "pay", "--at=-0.1"], ad.Quantiles, ("pay", -0.1), "s.toml", "a number from 0 to 1"),
    (["--quantiles", "pay", "--at", "50%"], ad.Quantiles, ("pay", "50%"), "s.toml", "a number from 0 to 1"),
    (["--mean", "pay"], ad.Mean, ("pay",), "unit.toml", "the table has no column of that name"),
    (["--mean", "pay"], ad.Mean, ("pay",), "no-bounds.toml", "min and max missing"),
    (["--mean", "pay"], ad.Mean, ("pay",), "no-max.toml", "has no max"),
]


@pytest.mark.parametrize(("words", "task", "given", "schema", "message"), MISTAKES)
def test_a_mistake_is_one_sentence_and_costs_nothing(folder, tmp_path, words, task, given, schema, message):
    ledger = tmp_path / "l.ledger"
    done = run("release", folder, *words, "--epsilon", "1", "--ledger", str(ledger), "--total", "1", schema=schema)
    assert (done.exit_code, done.stdout, message in done.stderr) == (2, "", True), done.output
    assert done.stderr.count("\n") == 1
    assert not ledger.exists()
    with pytest.raises(AdytonError, match=re.escape(message)):
        ad.Session(folder / "week-0.csv", schema=folder / schema, epsilon=1).release(task(*given), epsilon=1)
    with pytest.raises(AdytonError):
        ad.Session(folder / "week-0.csv", schema=folder / schema, epsilon=1, ledger=ledger).release(task(*given), 1)
    assert not ledger.exists() or ad.Ledger.read(ledger).spent == 0


def test_a_check_says_what_a_unit_is(folder):
    (folder / "who.toml").write_text('unit = "who"\nrows_per_unit = 2\n' + SCHEMA)
    done = run("check", folder, schema="who.toml")
    assert "each value of the column 'who' is one unit: at most 2 of its rows count" in done.stdout
    assert "leaves out" not in done.stdout


def test_a_check_finds_a_unit_that_is_no_column(folder):
    done = run("check", folder, schema="unit.toml")
    assert (done.exit_code, "no column of that name" in done.stderr) == (2, True)


def test_more_groups_than_the_budget_can_carry_are_reported(folder):
    words = ("--mean", "pay", "--by", "year,sex", "--epsilon", "0.1")
    done = run("release", folder, *words)
    assert done.exit_code == 0, done.output
    assert "of 40 groups have too few rows for this ε" in done.stderr
    assert "They are still published" in done.stderr
    assert "A group needs about" in run("plan", folder, *words).stderr


def test_means_on_a_map(folder):
    done = run("release", folder, "--mean", "pay", "--by", "home", "--epsilon", "1", "--json", "--no-misfits")
    assert done.exit_code == 0, done.output
    (table,) = json.loads(done.stdout)["answers"]["tables"]
    assert [*table["labels"]] == ["home_longitude", "home_latitude"]
    assert [len(column["values"]) for column in table["columns"]] == [8, 8]


def test_a_name_that_means_something_in_sql():
    schema = ad.Schema({"alter": ad.Integer(0, 99), "sex": ad.Categorical(["F", "M"])})
    with pytest.raises(AdytonError, match="is a keyword of SQL is written in double quotes"):
        parse_predicate("alter > 60", schema)
    parse_predicate('"alter" > 60', schema)


def test_several_files_are_one_table(folder, tmp_path):
    words = ("--count", "--epsilon", "10", "--quiet", "--ledger", str(tmp_path / "l"), "--total", "10")
    both = run("release", folder, *words, files=("week-0.csv", "week-1.csv"))
    assert abs(int(both.stdout) - 200) <= 5  # false alarms: e^-50
    assert ad.Ledger.read(tmp_path / "l").dataset == "week-0.csv and 1 more"
    twice = run("release", folder, *words[:4], files=("week-0.csv", "week-*.csv"))
    assert (twice.exit_code, "given twice" in twice.stderr) == (2, True)
    inside = run(
        "release", folder, "--histogram", "sex", "--epsilon", "1", "--out", str(folder), files=("week-*.csv",) * 2
    )
    assert (inside.exit_code, "Give --out another folder" in inside.stderr) == (2, True)
    assert run("check", folder, files=("week-0.csv", "week-1.csv")).stdout.startswith("kind CSV; files 2;")


def test_options_of_tables(folder):
    words = (
        "--marginal",
        "sex,year",
        "--marginal",
        "home",
        "--with-ranges",
        "year",
        "--with-any",
        "sex",
        "--cells",
        "5",
    )
    done = run("release", folder, *words, "--epsilon", "1", "--json", "--no-misfits", "--algorithm", "all-tables")
    assert done.exit_code == 0, done.output
    plain = json.loads(done.stdout)
    assert plain["task"]["sets"] == [["sex", "year"], ["home"]]
    assert (plain["task"]["ranges"], plain["task"]["totals"], plain["task"]["cells"]) == (["year"], ["sex"], 5)
    assert [len(table["counts"]) for table in plain["answers"]["tables"]] == [10, 8]
    assert run("plan", folder, *words, "--epsilon", "1", "--algorithm", "all-tables").exit_code == 0
    for wrong, message in (
        (("--with-ranges", "year"), "--with-ranges belongs to --marginals or --marginal"),
        (("--marginal", "sex", "--attributes", "sex"), "--marginal names its own"),
        (("--marginal", "sex", "--marginals", "1"), "one thing at a time"),
        (("--marginal", "home", "--marginal", "home_longitude,home_latitude"), "two sets name the same attributes"),
        (("--marginal", "home,home_latitude"), "given twice"),
    ):
        refused = run("release", folder, *wrong, "--epsilon", "1")
        assert (refused.exit_code, message in refused.stderr) == (2, True), refused.output


def test_combined_releases_are_one(folder, tmp_path):
    parts = [str(tmp_path / name) for name in ("a", "b")]
    for part in parts:
        words = ("--histogram", "year", "--epsilon", "0.5", "--algorithm", "identity", "--no-misfits", "--quiet")
        assert run("release", folder, *words, "--out", part).exit_code == 0
    done = CliRunner().invoke(app, ["combine", *parts, "--out", str(tmp_path / "both")])
    assert (done.exit_code, "Combined from 2 releases" in done.stdout) == (0, True)
    loaded, whole = ad.Release.load(tmp_path / "both"), [ad.Release.load(part).estimate for part in parts]
    assert loaded.estimate.tolist() == pytest.approx((sum(whole) / 2).tolist())
    alone = CliRunner().invoke(app, ["combine", parts[0], "--out", str(tmp_path / "one")])
    assert (alone.exit_code, Path(tmp_path / "one").exists()) == (2, False)
