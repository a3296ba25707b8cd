"""Every kind of result goes the same way: into a folder or a file, onto standard output, and back by ``ad.load``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app

VISITS = """person,age,sex,cost
""" + "".join(f"{row % 40},{row % 10},{'FM'[row % 2]},{row % 100}\n" for row in range(200))
SCHEMA = ad.Schema(
    {"age": ad.Integer(0, 9), "sex": ad.Categorical(["F", "M"]), "cost": ad.Numeric(0, 100, bins=10)},
    unit="person",
    rows_per_unit=3,
)
KINDS = {
    "counts": ("release", "--histogram", "age", "--algorithm", "identity"),
    "tables": ("release", "--marginals", "2", "--algorithm", "all-pairs"),
    "numbers": ("release", "--mean", "cost", "--by", "sex"),
    "number": ("release", "--count"),
    "units": ("release", "--units"),
    "rows cut": ("release", "--cut-off", "5"),
    "classifier": ("fit", "--label", "sex", "--method", "naive-bayes"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("delivery")
    (folder / "t.csv").write_text(VISITS, encoding="utf-8")
    (folder / "s.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    return folder


def words(place, kind, *more):
    command, *asked = KINDS[kind]
    given = [command, place / "t.csv", "--schema", place / "s.toml", "--epsilon", "1", *asked, *more]
    return [str(one) for one in given]


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_a_file_and_json(place, tmp_path, kind):
    done = CliRunner().invoke(app, words(place, kind, "--out", tmp_path / "out", "--json"))
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    kept = ad.load(tmp_path / "out")
    assert kept.kind == ("number" if kind == "units" else kind) == printed["kind"]
    assert kept.to_dict() == {name: part for name, part in printed.items() if name != "answers"}
    assert printed["answers"]["tables"] == json.loads(json.dumps(kept.sheets().to_plain()["tables"]))
    (tmp_path / "printed.json").write_text(done.stdout, encoding="utf-8")
    assert ad.load(tmp_path / "printed.json").to_dict() == kept.to_dict()
    done = CliRunner().invoke(app, words(place, kind, "--out", tmp_path / "one.json", "--quiet"))
    assert (done.exit_code, ad.load(tmp_path / "one.json").kind) == (0, kept.kind), done.output
    again = CliRunner().invoke(app, words(place, kind, "--out", tmp_path / "one.json", "--quiet"))
    assert (again.exit_code, "one.json exists" in again.stderr) == (2, True)
    over = CliRunner().invoke(app, words(place, kind, "--out", tmp_path / "one.json", "--quiet", "--overwrite"))
    assert over.exit_code == 0, over.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.json", "out", "printed.json"]
    explained = CliRunner().invoke(app, ["explain", str(tmp_path / "one.json")])
    assert (explained.exit_code, "Budget: this" in explained.stdout) == (0, True), explained.output
    assert json.loads(CliRunner().invoke(app, ["explain", str(tmp_path / "out"), "--json"]).stdout)["kind"] == kept.kind


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_line_says_which_rows(place, tmp_path, kind):
    done = CliRunner().invoke(app, words(place, kind, "--out", tmp_path / "out"))
    assert done.exit_code == 0, done.output
    assert "person" in done.stdout.partition("\n")[0] or kind == "rows cut"
    quiet = CliRunner().invoke(app, words(place, kind, "--quiet", "--out", tmp_path / "two"))
    assert kind not in ("number", "units") or int(quiet.stdout)


def test_a_bare_number_is_all_that_is_on_standard_output(place):
    done = CliRunner().invoke(app, words(place, "number", "--where", "sex = 'F'", "--quiet"))
    assert abs(int(done.stdout)) < 1000
    assert done.stderr.startswith("At most 3 rows of each person are counted.")
    assert "Only rows where sex = 'F' are counted." in done.stderr


def test_rows_that_cannot_be_written_do_not_take_the_answer_along(place, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("adyton.result.released.write_rows", full)
    done = CliRunner().invoke(app, words(place, "counts", "--rows", tmp_path / "r.csv", "--quiet"))
    assert (done.exit_code, "95% interval" in done.stdout) == (1, True)
    assert "The synthetic rows could not be made (No space left on device)" in done.stderr
    assert "ε = 1 was charged" in done.stderr


@pytest.mark.parametrize(
    "kind", ["numbers", *(pytest.param(kind, marks=pytest.mark.full) for kind in ("counts", "number"))]
)
def test_a_few_lines_that_nobody_reads_are_printed_elsewhere(place, kind):
    reader, writer = os.pipe()
    os.close(reader)
    given = [sys.executable, "-m", "adyton", *words(place, kind, "--quiet")]
    done = subprocess.run(given, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, "has closed the pipe" in done.stderr) == (1, True), done.stderr
    start, end = done.stderr.index("{"), done.stderr.rindex("}") + 1
    assert json.loads(done.stderr[start:end])["kind"] == kind


def test_a_printed_model_predicts(place, tmp_path):
    done = CliRunner().invoke(app, words(place, "classifier", "--json"))
    (tmp_path / "model.json").write_text(done.stdout, encoding="utf-8")
    told = CliRunner().invoke(app, ["predict", str(tmp_path / "model.json"), str(place / "t.csv")])
    assert told.stdout.count("\n") == 201, told.output


def test_a_configuration_has_a_folder_too(tmp_path):
    (tmp_path / "b.txt").write_text("goods 2\nbids 2\n0 10 0 #\n1 9 1 #\n", encoding="utf-8")
    given = ["configure", "--family", "auction", "--instances", str(tmp_path / "b.txt"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Tuned: auction")
    assert ad.load(tmp_path / "out").family == "auction"
    assert {"release.json", "parameters.csv"} <= {path.name for path in Path(tmp_path / "out").iterdir()}
