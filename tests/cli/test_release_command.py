"""``adyton release`` as a person uses it: answers, messages, exit codes, and nothing spent when it is refused."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA, SCHEMA = str(EXAMPLES / "visits.csv"), str(EXAMPLES / "visits.toml")


def run(*arguments):
    return CliRunner().invoke(app, ["release", *arguments])


def test_histogram_as_json(tmp_path):
    ledger = tmp_path / "visits.ledger"
    done = run(DATA, "--schema", SCHEMA, "--histogram", "department,sex", "--epsilon", "0.5", "--total", "2",
               "--ledger", str(ledger), "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    release = json.loads(done.stdout)
    assert release["axes"]["sex"] == ["F", "M", "(other)", "(null)"]
    assert len(release["counts"]) == 6
    assert len(release["counts"][0]) == 4
    assert abs(sum(sum(row) for row in release["counts"]) - 5000) < 400  # 24 draws of scale 2: 20 standard deviations
    assert release["private"] is True
    assert [release[name]["exact"] for name in ("epsilon", "total", "spent", "remaining")] == ["1/2", "2", "1/2", "3/2"]
    assert ad.Ledger.read(ledger).spent == 0.5


def test_an_algorithm_is_chosen_or_named():
    ask = (DATA, "--schema", SCHEMA, "--histogram", "age", "--epsilon", "0.5")
    release = json.loads(run(*ask, "--algorithm", "auto", "--json").stdout)
    assert release["algorithm"] == release["choice"]["algorithm"]
    assert release["spent"]["exact"] == "1/2"
    assert len(release["estimate"]) == len(release["axes"]["age"])
    assert abs(sum(release["estimate"]) - 5000) < 1000
    named = json.loads(run(*ask, "--algorithm", "hb", "--json").stdout)
    assert (named["algorithm"], named["choice"], named["spent"]["exact"]) == ("hb", None, "1/2")
    done = run(*ask, "--algorithm", "auto")
    assert release["algorithm"] in done.stderr
    assert "Spent ε = 0.5" in " ".join(done.stderr.split())
    assert run(*ask, "--algorithm", "auto", "--quiet").stderr == ""


def test_count_for_people(tmp_path):
    done = run(DATA, "--schema", SCHEMA, "--count", "--where", "age >= 65", "--epsilon", "10")
    assert done.exit_code == 0
    assert 1000 < int(done.stdout) < 4000
    assert "Spent ε = 10 of 10" in " ".join(done.stderr.split())


def test_long_histograms_are_cut(tmp_path):
    done = run(DATA, "--schema", SCHEMA, "--histogram", "cost", "--epsilon", "1", "--quiet")
    assert "and 452 more cells" in done.stdout
    assert done.stderr == ""


def test_rows_per_unit_is_paid_from_the_same_epsilon(tmp_path):
    text = Path(SCHEMA).read_text().replace("rows_per_unit = 1", "rows_per_unit = 4")
    schema = tmp_path / "visits.toml"
    schema.write_text(text)
    done = run(DATA, "--schema", str(schema), "--count", "--epsilon", "2", "--json")
    assert json.loads(done.stdout)["spent"] == {"exact": "2", "float": 2.0}
    assert json.loads(done.stdout)["variance"] == pytest.approx(7.83, rel=0.01)  # the noise of ε = 1/2


def test_the_ledger_goes_on(tmp_path):
    ledger = str(tmp_path / "visits.ledger")
    ask = (DATA, "--schema", SCHEMA, "--count", "--ledger", ledger, "--epsilon")
    assert run(*ask, "0.6", "--total", "1").exit_code == 0
    refused = run(*ask, "0.6")
    assert refused.exit_code == 1
    assert "0.4 of 1 is left" in refused.stderr
    assert run(*ask, "0.4").exit_code == 0
    assert ad.Ledger.read(ledger).remaining == 0


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"data": "missing.csv"}, 2, "does not exist"),
        ({"data": "empty.csv"}, 2, "is empty"),
        ({"data": "notes.txt.zip"}, 2, "does not exist"),
        ({"--schema": "missing.toml"}, 2, "does not exist"),
        ({"--schema": "typo.toml"}, 2, "unknown key 'mini'"),
        ({"--schema": "backwards.toml"}, 2, "min must not exceed max"),
        ({"--schema": "nolevels.toml"}, 2, "levels is empty"),
        ({"--schema": "nocolumn.toml"}, 2, "wealth"),
        ({"--histogram": "wealth"}, 2, "no attribute 'wealth'"),
        ({"--histogram": ""}, 2, "no attribute"),
        ({"--where": "wealth > 3"}, 2, "no attribute 'wealth'"),
        ({"--where": "length(sex) > 3"}, 2, "function"),
        ({"--epsilon": "0"}, 2, "greater than 0"),
        ({"--epsilon": "nan"}, 2, "given 'nan'"),
        ({"--epsilon": "-1"}, 2, "greater than 0"),
        ({"--epsilon": "1e9"}, 2, "more than --total 1"),
        ({"--epsilon": "1e9", "--total": "1e9"}, 2, "protects nothing"),
        ({"--total": "abc"}, 2, "--total must be"),
        ({"--total": None}, 2, "for example --total 1"),
        ({"--histogram": "age,sex,department,stay_days,cost"}, 2, "41,902,080 cells"),
        ({"--epsilon": "much"}, 2, "given 'much'"),
        ({"--total": "0.1"}, 2, "more than --total 0.1"),
        ({"--count": None}, 2, "one thing"),
        ({"--algorithm": "daw"}, 2, "dawa"),
        ({"--algorithm": "adaptive-grid"}, 2, "serves 2 dimensions"),
        ({"--algorithm": "auto", "--count": None, "--histogram": None}, 2, "for histograms"),
        ({"--colour": "red"}, 2, "colour"),
        ({"--ledger": "folder"}, 1, "folder"),
        ({"--ledger": "corrupt.ledger"}, 1, "corrupt.ledger"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_costs_nothing(tmp_path, monkeypatch, change, code, message):
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").touch()
    Path("folder").mkdir()
    Path("corrupt.ledger").write_bytes(b"this is no ledger at all" * 100)
    Path("typo.toml").write_text('[attributes.age]\ntype = "integer"\nmini = 0\nmax = 9\n')
    Path("backwards.toml").write_text('[attributes.age]\ntype = "integer"\nmin = 9\nmax = 0\n')
    Path("nolevels.toml").write_text('[attributes.sex]\ntype = "categorical"\nlevels = []\n')
    Path("nocolumn.toml").write_text('[attributes.wealth]\ntype = "boolean"\n')
    options = {
        "--schema": SCHEMA,
        "--histogram": "sex",
        "--epsilon": "0.5",
        "--ledger": "visits.ledger",
        "--total": "1",
    }
    data = change.pop("data", DATA)
    options.update(change)
    flags = [name for name in ("--count",) if name in options]
    words = flags + [word for name, value in options.items() if value is not None for word in (name, value)]
    done = run(data, *words)
    assert done.exit_code == code, done.output
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    left_behind = Path("visits.ledger").exists()
    assert left_behind == ("--where" in change)  # a predicate is only read once the table is open
    if left_behind:
        assert ad.Ledger.read("visits.ledger").spent == 0


def test_schema_command_never_reads_values():
    done = CliRunner().invoke(app, ["schema", DATA])
    assert done.exit_code == 0
    assert "[attributes.department]" in done.stdout
    assert "cardiology" not in done.stdout


@pytest.mark.parametrize("command", ["release", "schema", "ledger", "audit", "bench"])
def test_every_command_has_help(command):
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert "Usage" in done.stdout


def test_unknown_benchmark_and_profile():
    for words, advice in ((["bench", "everything"], "There are"), (["audit", "--profile", "deep"], "Choose one of")):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert advice in done.stderr
