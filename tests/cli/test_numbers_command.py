"""Sums, means and quantiles on the command line: releasing, planning, explaining, and mistakes in one sentence."""

import json

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

from adyton.cli.console import guard
from adyton.cli.main import app

SCHEMA = """
[attributes.pay]
type = "numeric"
min = 0
max = 1000
bins = 100
[attributes.sex]
type = "categorical"
levels = ["F", "M"]
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    rng = np.random.default_rng(2)
    frame = pandas.DataFrame({"pay": rng.normal(400, 100, 2000).round(2), "sex": rng.choice(["F", "M"], 2000)})
    frame.to_parquet(folder / "pay.parquet")
    (folder / "pay.toml").write_text(SCHEMA)
    return folder


def release(table, *options, epsilon="1"):
    given = ["release", str(table / "pay.parquet"), "--schema", str(table / "pay.toml"), "--epsilon", epsilon]
    return CliRunner().invoke(app, [*given, *options])


def test_a_mean_by_groups(table):
    done = release(table, "--mean", "pay", "--by", "sex", "--out", str(table / "out"))
    assert done.exit_code == 0, done.output
    assert "95% interval" in done.stdout
    assert {file.name for file in (table / "out").iterdir()} == {"release.json", "numbers.csv", "report.html"}
    told = CliRunner().invoke(app, ["explain", str(table / "out"), "--json"])
    plain = json.loads(told.stdout)
    (answers,) = plain["tables"]
    assert answers["labels"] == {"sex": ["F", "M"]}
    assert [column["name"] for column in answers["columns"]] == ["count", "mean"]
    assert answers["columns"][1]["values"][0] == pytest.approx(400, abs=30)


def test_json_has_everything(table):
    done = release(table, "--quantiles", "pay", "--at", "0.1,0.9", "--json")
    (answers,) = json.loads(done.stdout)["answers"]["tables"]
    low, high = answers["columns"]
    assert (low["name"], low["lower"] <= low["values"] <= low["upper"]) == ("10%", True)
    assert high["values"] == [pytest.approx(528, abs=40)]


def test_planning_needs_no_data(table):
    given = ["plan", "--schema", str(table / "pay.toml"), "--mean", "pay", "--by", "sex", "--group-rows", "1000"]
    done = CliRunner().invoke(app, [*given, "--epsilon", "1", "--error", "2", "--no-misfits", "--json"])
    plain = json.loads(done.stdout)
    assert plain["errors"][0]["errors"]["mean"] == pytest.approx(2**0.25, rel=0.01)
    assert plain["least_epsilon"]["float"] == pytest.approx(2**0.25 / 2, rel=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--mean", "sex"], "sex is categorical: it has no mean"),
        (["--quantiles", "pay", "--at", "2"], "a quantile is a number from 0 to 1"),
        (["--mean", "pay", "--sum", "pay"], "one thing at a time"),
        (["--mean", "pay", "--histogram", "sex"], "one thing at a time"),
        (["--histogram", "sex", "--by", "sex"], "--by belongs to"),
        (["--mean", "pay", "--at", "0.5"], "--at belongs to --quantiles"),
        (["--mean", "pay", "--integer"], "--integer cannot be used for a release of numbers"),
        (["--mean", "pay", "--option", "a=1"], "no options"),
        ([], "--mean"),
    ],
)
def test_mistakes_are_one_sentence(table, options, words, capsys):
    given = ["release", str(table / "pay.parquet"), "--schema", str(table / "pay.toml"), "--epsilon", "1"]
    assert guard(lambda: app([*given, *options], standalone_mode=False)) == 2
    assert words in capsys.readouterr().err
