"""Many tables on the command line: a folder, JSON, synthetic rows; what cannot be done is refused and costs nothing."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app

NAMES = [f"x{number}" for number in range(20)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    random = np.random.default_rng(2)
    first = random.integers(0, 4, 3000)
    pd.DataFrame({name: (first + random.integers(0, 2, 3000)) % 4 for name in NAMES}).to_csv(
        folder / "t.csv", index=False
    )
    (folder / "s.toml").write_text(ad.Schema({name: ad.Integer(0, 3) for name in NAMES}).to_toml())
    return folder


def run(files, *arguments):
    given = ["release", str(files / "t.csv"), "--schema", str(files / "s.toml"), "--epsilon", "1", *map(str, arguments)]
    return CliRunner().invoke(app, given)


def test_folder_json_and_rows(files, tmp_path):
    out, rows = tmp_path / "out", tmp_path / "rows.parquet"
    some = ",".join(NAMES[:9])
    asked = ["--marginals", 2, "--attributes", some, "--rows", rows, "--rows-count", 500]
    done = run(files, *asked, "--out", out, "--json")
    assert done.exit_code == 0, done.output
    plain = json.loads(done.stdout)
    assert plain["algorithm"] in ("all-pairs", "select-pairs")
    assert len(plain["answers"]["tables"]) == 36
    assert plain["misfits"] is not None
    assert len(pd.read_parquet(rows)) == 500
    release = ad.TablesRelease.load(out)
    assert release.table("x0", "x1").counts.ravel().tolist() == plain["answers"]["tables"][0]["counts"]
    assert pd.read_csv(out / "tables.csv")["table"].nunique() == 36


def test_rows_of_a_histogram_and_words_about_tables(files, tmp_path):
    done = run(files, "--histogram", "x0,x1", "--algorithm", "identity", "--rows", tmp_path / "r.csv", "--quiet")
    assert done.exit_code == 0, done.output
    assert 2900 < len(pd.read_csv(tmp_path / "r.csv")) < 3100  # the noise of 16 cells has a deviation of 6
    assert (
        run(
            files, "--marginals", 2, "--attributes", "x0,x1", "--algorithm", "all-pairs", "--out", tmp_path / "out"
        ).exit_code
        == 0
    )
    done = CliRunner().invoke(app, ["explain", str(tmp_path / "out")])
    assert "x0 × x1" in done.output
    assert "all-pairs, as asked" in done.output


def test_words_on_the_screen(files):
    done = run(files, "--marginals", 2, "--attributes", "x0,x1,x2", "--algorithm", "select-pairs", "--no-misfits")
    assert done.exit_code == 0, done.output
    assert "x0   x1   count     95% interval" in done.stdout
    assert "select-pairs, as asked" in done.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--marginals", "2", "--rows-count", "5"], "belongs to --rows"),
        (["--marginals", "2", "--rows", "rows.txt"], "ends in .csv or .parquet"),
        (["--count", "--rows", "rows.csv"], "--rows cannot be used for a count"),
        (["--histogram", "x0", "--algorithm", "all-pairs"], "all-pairs is for tables"),
        (["--marginals", "2", "--algorithm", "identity"], "are allowed"),
        (["--marginals", "2", "--integer"], "--integer cannot be used for a release of tables"),
        (["--marginals", "2", "--option", "rounds=3"], "has no option"),
    ],
)
def test_what_cannot_be_done_costs_nothing(files, tmp_path, arguments, words):
    done = run(files, *arguments, "--ledger", tmp_path / "l.ledger", "--total", "1")
    assert done.exit_code != 0
    assert words in " ".join(done.output.split())
    assert not (tmp_path / "l.ledger").exists()
