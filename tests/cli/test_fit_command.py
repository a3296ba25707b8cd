"""``adyton fit`` and ``adyton predict`` as a person uses them: a real table, exact noise, and nothing spent in vain."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA, SCHEMA = str(EXAMPLES / "visits.csv"), str(EXAMPLES / "visits.toml")
FROM = ("--attributes", "age,sex,stay_days")


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


TITANIC = {
    ("male", "child"): ((0, 5), (0, 11), (35, 13), (0, 0)),
    ("female", "child"): ((0, 1), (0, 13), (17, 14), (0, 0)),
    ("male", "adult"): ((118, 57), (154, 14), (387, 75), (670, 192)),
    ("female", "adult"): ((4, 140), (13, 80), (89, 76), (3, 20)),
}
"""How many people on the Titanic died and survived, by class and crew (Dawson, 1995): a real table, long public."""


@pytest.fixture(scope="module")
def titanic(tmp_path_factory):
    place = tmp_path_factory.mktemp("titanic")
    rows = [
        {"berth": berth, "sex": sex, "age": age, "survived": survived}
        for (sex, age), counts in TITANIC.items()
        for berth, pair in zip(("1st", "2nd", "3rd", "crew"), counts, strict=True)
        for survived, count in zip(("no", "yes"), pair, strict=True)
        for _ in range(count)
    ]
    pd.DataFrame(rows).sample(frac=1, random_state=1).to_csv(place / "titanic.csv", index=False)
    levels = {"berth": ["1st", "2nd", "3rd", "crew"], "sex": ["male", "female"], "age": ["child", "adult"]}
    schema = ad.Schema({name: ad.Categorical(one) for name, one in levels.items()} | {"survived": ad.Boolean()})
    (place / "titanic.toml").write_text(schema.to_toml())
    return place


def test_from_a_table_to_predictions(titanic, tmp_path):
    """Without noise 78% are right, 68% by saying no to everybody. To get below 75%, noise of scale 3 would have to turn
    a difference of more than 100 in the counts of women: less than once in 10^14 runs."""
    data, ledger = titanic / "titanic.csv", tmp_path / "titanic.ledger"
    ask = ("--schema", titanic / "titanic.toml", "--label", "survived", "--epsilon", "1", "--method", "naive-bayes")
    done = run("fit", data, *ask, "--ledger", ledger, "--total", "1.5", "--out", tmp_path / "model")
    assert done.exit_code == 0, done.output
    assert "survived = True" in done.stdout
    assert "this model cost ε = 1; 0.5 of 1.5 is left" in done.stderr
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "classes.csv",
        "release.json",
        "report.html",
    ]
    assert ad.Ledger.read(ledger).spent == 1
    fitted = ad.FittedClassifier.load(tmp_path / "model")
    assert fitted.receipt.private
    assert fitted.receipt.ledger == "titanic.ledger"

    table, out = pd.read_csv(data), tmp_path / "new.parquet"
    told = run("predict", tmp_path / "model", data, "--keep", "--probabilities", "--out", out)
    assert told.exit_code == 0, told.output
    predicted = pd.read_parquet(out)
    assert list(predicted) == [*table, "predicted_survived", "probability_False", "probability_True"]
    assert predicted[list(table)].equals(table)
    assert predicted["predicted_survived"].tolist() == fitted.predict(table).tolist()
    assert np.mean(predicted["predicted_survived"] == (table["survived"] == "yes")) > 0.75
    assert (predicted["probability_False"] + predicted["probability_True"]).to_numpy() == pytest.approx(1)
    assert "predictions for 2,201 rows are in" in told.stderr
    assert ad.Ledger.read(ledger).spent == 1
    explained = run("explain", tmp_path / "model")
    assert "Method: naive-bayes, as asked." in explained.stdout


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("visits") / "model"
    done = run("fit", DATA, "--schema", SCHEMA, "--label", "department", *FROM, "--epsilon", "1", "--out", place, "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    return place


def test_the_metric_decides_which_class_is_predicted(titanic, tmp_path):
    """Balanced accuracy says yes to more people than survived; the probabilities stay."""
    ask = ("--schema", titanic / "titanic.toml", "--label", "survived", "--epsilon", "1", "--method", "naive-bayes")
    ask += (
        "--metric",
        "balanced accuracy",
        "--ledger",
        tmp_path / "t.ledger",
        "--total",
        "2",
        "--out",
        tmp_path / "model",
    )
    assert run("fit", titanic / "titanic.csv", *ask).exit_code == 0
    done = run("predict", tmp_path / "model", titanic / "titanic.csv", "--probabilities", "--out", tmp_path / "new.csv")
    assert done.exit_code == 0, done.output
    predicted = pd.read_csv(tmp_path / "new.csv")
    fitted, table = ad.FittedClassifier.load(tmp_path / "model"), pd.read_csv(titanic / "titanic.csv")
    assert fitted.classifier.metric == "balanced accuracy"
    assert predicted["predicted_survived"].tolist() == fitted.predict(table).tolist()
    assert np.allclose(predicted[["probability_False", "probability_True"]], fitted.predict_proba(table))
    assert (predicted["predicted_survived"] & (predicted["probability_True"] < 0.5)).any()
    refused = run("fit", titanic / "titanic.csv", *ask, "--metric", "luck", "--overwrite")
    assert refused.exit_code != 0
    assert "metric is one of" in refused.output


def test_predictions_on_standard_output(model, tmp_path):
    lines = run("predict", model, DATA).stdout.splitlines()
    fitted = ad.FittedClassifier.load(model)
    wanted = fitted.predict(DATA).tolist()
    assert lines[0] == '"predicted_department"'
    assert [line.strip('"') for line in lines[1:]] == wanted
    plain = json.loads(run("predict", model / "release.json", DATA, "--json", "--probabilities").stdout)
    assert [one["class"] for one in plain["predictions"]] == wanted
    assert np.array([one["probabilities"] for one in plain["predictions"]]) == pytest.approx(fitted.predict_proba(DATA))
    assert plain["classes"][0] == "emergency"
    fitted.model.save(tmp_path / "bare.json")
    summary = run("predict", tmp_path / "bare.json", DATA, "--json", "--out", tmp_path / "p.csv")
    assert sum(json.loads(summary.stdout)["predicted"].values()) == 5000
    kept = run("predict", model, DATA, "--keep").stdout.splitlines()
    assert [line.rpartition(",")[0].replace('"', "") for line in kept] == Path(DATA).read_text().splitlines()


def test_labels_are_no_formulas(tmp_path):
    (tmp_path / "t.csv").write_text("a,kind\n" + "x,=1+1\ny,b\n" * 50)
    (tmp_path / "t.toml").write_text(
        '[attributes.a]\ntype = "categorical"\nlevels = ["x", "y"]\n'
        '[attributes.kind]\ntype = "categorical"\nlevels = ["=1+1", "b"]\n'
    )
    ask = ("--schema", tmp_path / "t.toml", "--label", "kind", "--epsilon", "10", "-q", "--out", tmp_path / "m")
    assert run("fit", tmp_path / "t.csv", *ask).exit_code == 0
    assert run("predict", tmp_path / "m", tmp_path / "t.csv").stdout.splitlines()[1] == '"\'=1+1"'


REFUSED = {
    "no such label": (("--label", "ward"), 2, "there is no attribute 'ward'"),
    "a number": (("--label", "age"), 2, "the label 'age' is integer"),
    "itself": (("--label", "sex", "--attributes", "sex,age"), 2, "cannot be among"),
    "no such method": (("--label", "sex", "--method", "forrest"), 2, "there is no method 'forrest'"),
    "no such option": (("--label", "sex", "--method", "naive-bayes", "--option", "x=1"), 2, "no option 'x'"),
    "more than there is": (("--label", "sex", "--epsilon", "2"), 1, "but 1 of 1 is left"),
    "nothing": (("--label", "sex", "--epsilon", "0"), 2, "--epsilon must be greater than 0"),
    "another total": (("--label", "sex", "--total", "5"), 2, "has a total of 1"),
    "a strange word": (("--label", "sex", "--accept", "it"), 2, "--accept takes one of the words"),
    "a predicate": (("--label", "sex", "--where", "ward = 3"), 2, "ward"),
    "a folder with files": (("--label", "sex", "--out", str(EXAMPLES)), 2, "Give --out another folder"),
    "nowhere": (("--label", "sex", "--out", None), 2, "would be paid for and lost"),
}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """One that nobody may spend from."""
    path = tmp_path_factory.mktemp("ledger") / "visits.ledger"
    ad.Session(DATA, schema=SCHEMA, epsilon=1, ledger=path).close()
    return path


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_one_sentence_and_costs_nothing(case, ledger, tmp_path):
    words, code, message = REFUSED[case]
    given = {
        "--epsilon": "0.5",
        "--out": str(tmp_path / "out"),
        "--ledger": str(ledger),
        **dict(zip(words[::2], words[1::2], strict=True)),
    }
    before = ledger.read_bytes()
    done = run("fit", DATA, "--schema", SCHEMA, *(one for pair in given.items() if pair[1] for one in pair))
    assert (done.exit_code, message in done.stderr, done.stdout) == (code, True, ""), done.output
    assert done.stderr.count("\n") == 1
    assert ledger.read_bytes() == before
    assert list(tmp_path.iterdir()) == []


def test_other_terms_are_refused(tmp_path):
    ledger = tmp_path / "visits.ledger"
    with ad.Session(DATA, schema=SCHEMA, epsilon=1, ledger=ledger) as session:
        session.count("0.25")
    (tmp_path / "other.toml").write_text(Path(SCHEMA).read_text().replace("rows_per_unit = 1 ", "rows_per_unit = 2 "))
    ask = ("--schema", tmp_path / "other.toml", "--label", "sex", "--epsilon", "0.5", "--ledger", ledger)
    done = run("fit", DATA, *ask, "--out", tmp_path / "out")
    assert (done.exit_code, "rows_per_unit" in done.stderr) == (1, True), done.output
    assert ad.Ledger.read(ledger).spent == 0.25
    assert not (tmp_path / "out").exists()


def test_a_single_class_and_no_rows(tmp_path):
    (tmp_path / "t.csv").write_text("a,kind\n")
    schema = '[attributes.a]\ntype = "boolean"\n[attributes.kind]\ntype = "categorical"\nlevels = [{}]\n'
    ask = ("--label", "kind", "--epsilon", "1", "--ledger", tmp_path / "l", "--total", "1", "--out", tmp_path / "m")
    (tmp_path / "t.toml").write_text(schema.format('"x"'))
    done = run("fit", tmp_path / "t.csv", "--schema", tmp_path / "t.toml", *ask)
    assert (done.exit_code, "the single class 'x'" in done.stderr) == (2, True)
    assert not (tmp_path / "l").exists()
    (tmp_path / "t.toml").write_text(schema.format('"x", "y"'))
    done = run("fit", tmp_path / "t.csv", "--schema", tmp_path / "t.toml", *ask)
    assert done.exit_code == 0, done.output  # how many rows there are is nobody's business
    assert run("predict", tmp_path / "m", tmp_path / "t.csv").stdout.strip() == '"predicted_kind"'


def test_a_model_that_cannot_be_written_is_printed(tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("adyton.result.result.write_json", full)
    done = run("fit", DATA, "--schema", SCHEMA, "--label", "sex", "--attributes", "stay_days", "--epsilon", "1",
               "--out", tmp_path / "m")  # fmt: skip
    assert (done.exit_code, "No space left" in done.stderr) == (1, True)
    monkeypatch.undo()
    (tmp_path / "kept.json").write_text(done.stdout)
    assert ad.FittedClassifier.load(tmp_path / "kept.json").epsilon == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", DATA], "cannot be read"),
        ([SCHEMA, DATA], "not a JSON file"),
        (["MODEL", "nowhere.csv"], "does not exist"),
        (["MODEL", SCHEMA], "no known ending"),
        (["MODEL", DATA, "--out", "x.txt"], "FILE.csv or FILE.parquet"),
        (["MODEL", DATA, "--out", DATA], "is an input"),
        (["MODEL", DATA, "--out", "nowhere/x.csv"], "cannot be written"),
        (["MODEL", DATA, "--overwrite"], "belongs to --out"),
        (["MODEL", DATA, "--keep", "--json"], "--keep is for CSV"),
        (["MODEL", "bad.csv"], "no attribute"),
    ],
)
def test_predictions_that_are_refused(model, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text("age,sex\n3,F\n")
    done = run("predict", *(model if one == "MODEL" else one for one in words))
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.count("\n") == 1
    assert message in done.stderr or "no column 'stay_days'" in done.stderr


def test_files_are_replaced_only_if_that_is_said(model, tmp_path):
    out = tmp_path / "p.csv"
    out.write_text("mine")
    assert run("predict", model, DATA, "--out", out).exit_code == 2
    assert out.read_text() == "mine"
    assert run("predict", model, DATA, "--out", out, "--overwrite", "-q").exit_code == 0
    assert out.read_text().count("\n") == 5001
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]
