"""``adyton compare``: what it prints and writes, and what it refuses."""

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton_lab.training import engine

FEW = ("--public", "--algorithm", "identity", "--algorithm", "uniform", "--trials", "2")


def run(*arguments: object):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], env={"COLUMNS": "120"})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Two data sets on a line of 64 cells, one of them with a name that would steer a terminal, and one on a plane."""
    folder = tmp_path_factory.mktemp("corpus")
    lines = "".join(f"{cell},{cell % 3},{100 if cell == 3 else 0}\n" for cell in range(64))
    (folder / "lines.csv").write_text("bin,saw,pe\x1b[2Jak\n" + lines)
    np.save(folder / "plane.npy", np.arange(64).reshape(8, 8) % 5)
    return folder


def test_tables_and_the_choice_beside_the_truth(corpus: Path):
    result = run(corpus, *FEW, "--epsilon", "0.1", "--epsilon", "10")
    assert result.exit_code == 0
    assert result.stdout.startswith("Public data, nothing protected.")
    for words in (
        "saw: 63 rows on 64 cells; workload prefix",
        r"pe\x1b[2Jak: 100 rows",
        "plane: 126 rows on 8 × 8 cells",
        "ε = 0.1: the selector chooses ",
        "of 20 runs",
        "; the best of those compared is ",
    ):
        assert words in result.stdout
    assert result.stdout.count("workload ") == 3 + 3 + 2
    assert "\x1b" not in result.stdout + result.stderr
    assert "nothing is protected" in result.stderr
    assert run(corpus, *FEW, "--dataset", "saw", "--epsilon", "1", "--quiet").stderr == ""


def test_json_and_files_agree(corpus: Path, tmp_path: Path):
    folder = tmp_path / "new" / "folder"
    chosen = ("--dataset", "saw", "--epsilon", "1/3", "--workload", "identity", "--workload", "short")
    result = run(corpus / "lines.csv", corpus / "plane.npy", *FEW, *chosen, "--out", folder, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["protected"] is False
    assert found["datasets"] == [{"name": "saw", "domain": [64], "rows": 63, "drawn": False}]
    assert [(one["epsilon"], one["workload"]) for one in found["cases"]] == [("1/3", "identity"), ("1/3", "short")]
    assert "estimates" not in found
    assert sorted(os.listdir(folder)) == ["compare.html", "compare.json", "errors.csv"]
    everything = json.loads((folder / "compare.json").read_text())
    assert everything["cases"] == found["cases"]
    assert len(everything["estimates"]) == 2
    rows = list(csv.DictReader(io.StringIO((folder / "errors.csv").read_text())))
    assert {(row["workload"], row["algorithm"]) for row in rows} == {
        (workload, name) for workload in ("identity", "short") for name in ("identity", "uniform")
    }
    for row in rows:
        case = next(one for one in found["cases"] if one["workload"] == row["workload"])
        outcome = next(one for one in case["outcomes"] if one["algorithm"] == row["algorithm"])
        assert float(row["error"]) == pytest.approx(outcome["error"], rel=1e-4)
        assert float(row["regret"]) == pytest.approx(outcome["regret"], rel=1e-4)
        assert (row["domain"], row["rows"], float(row["epsilon"])) == ("64", "63", pytest.approx(1 / 3))
    assert (folder / "compare.html").read_text().startswith("<!DOCTYPE html>")


def test_cells_and_rows(corpus: Path):
    result = run(corpus, *FEW, "--cells", "16", "--rows", "1000", "--workload", "identity", "--epsilon", "1", "--json")
    assert [(one["domain"], one["rows"], one["drawn"]) for one in json.loads(result.stdout)["datasets"]] == [
        ([16], 1000, True),
        ([16], 1000, True),
        ([4, 4], 1000, True),
    ]


def test_it_does_not_pretend_on_private_data(corpus: Path, tmp_path: Path):
    result = run(corpus, "--out", tmp_path / "page")
    assert _refused(result, "without any protection, so it is only for data that are already public")
    assert "--public" in result.stderr
    assert "adyton release --algorithm auto" in result.stderr
    assert not (tmp_path / "page").exists()
    assert _refused(run("no-such-file.csv"), "already public")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--algorithm", "hbb"), "there is no algorithm 'hbb'"),
        (("--dataset", "sew"), "there is no data set 'sew'. There are "),
        (("--workload", "all"), "there is no workload 'all'"),
        (("--epsilon", "0"), "--epsilon must be greater than 0"),
        (("--epsilon", "nan"), "--epsilon must be a finite number, given 'nan'"),
        (("--epsilon", "abc"), "--epsilon must be a finite number, given 'abc'"),
        (("--epsilon", "1001"), "at most 1000"),
        (("--trials", "0"), "--trials"),
        (("--cells", "10"), "form a square"),
        (("--cells", "0"), "--cells"),
        (("--rows", "0"), "--rows"),
        (("--workload", "prefix"), "no prefixes in two dimensions"),
        (("--algorithm", "h2"), "none of the algorithms asked for serves 2 dimensions"),
    ],
    ids=" ".join,
)
def test_bad_input(corpus: Path, arguments, words):
    assert _refused(run(corpus, "--public", *arguments), words)


def test_data_that_cannot_be_read(tmp_path: Path):
    assert _refused(run(tmp_path / "none.csv", "--public"), "cannot be read")
    np.save(tmp_path / "cube.npy", np.ones((2, 2, 2)))
    assert _refused(run(tmp_path / "cube.npy", "--public"), "there is no usable distribution in")
    assert _refused(run("--public"), "DATA")
    assert _refused(run(tmp_path, "--public", "--seed"), "requires an argument. Try")  # and not that there is no seed


def test_folders_that_cannot_be_written(corpus: Path, tmp_path: Path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("it ran before it looked at the folder")

    monkeypatch.setattr(engine, "simulate", never)
    (tmp_path / "file").write_text("")
    assert _refused(run(corpus, "--public", "--out", tmp_path / "file"), "cannot be written to (File exists)")
    assert _refused(
        run(corpus, "--public", "--out", tmp_path / "file" / "below"), "cannot be written to (Not a directory)"
    )
    (tmp_path / "full" / "compare.html").mkdir(parents=True)
    assert _refused(run(corpus, "--public", "--out", tmp_path / "full"), "is a folder, but a file must be written")


def test_ctrl_c_leaves_old_files_as_they_were(corpus: Path, tmp_path: Path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    (tmp_path / "errors.csv").write_text("old")
    with monkeypatch.context() as patched:
        patched.setattr(engine, "simulate", interrupted)
        result = run(corpus, *FEW, "--out", tmp_path)
    assert (result.exit_code, result.stdout, result.stderr.splitlines()[-1]) == (130, "", "adyton: interrupted.")
    with monkeypatch.context() as patched:
        patched.setattr("adyton_lab.compare.results.os.replace", interrupted)
        assert run(corpus, *FEW, "--epsilon", "1", "--dataset", "saw", "--out", tmp_path).exit_code == 130
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("errors.csv", "old")]


def _refused(result, words: str) -> bool:
    """Exit code 2, nothing printed, and one sentence on standard error."""
    said = result.stderr
    return (
        (result.exit_code, result.stdout, said.count("\n")) == (2, "", 1)
        and said.startswith("adyton: ")
        and words in said
    )
