"""``adyton train-classifiers`` and ``adyton bench classifiers``: real runs of the smallest kind, and refusals."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton import Boolean, Categorical, Schema
from adyton.cli.main import app
from adyton.learning.model import Target
from adyton_lab.bench import merged_cells
from adyton_lab.commands import train_classifiers
from adyton_lab.corpus import fine_tables
from adyton_lab.corpus.fine_tables import FineTable
from adyton_lab.corpus.labelled_tables import TABLES, LabelledTable
from adyton_lab.training.classifiers import METHODS


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def refused(result, words):
    return (
        result.exit_code == 2
        and result.stdout == ""
        and words in " ".join(result.stderr.split())
        and "Traceback" not in result.stderr
    )


@pytest.fixture
def corpus(monkeypatch):
    """Two small tables instead of those of R packages; how many were asked for is kept."""
    schema = Schema({"a": Boolean(), "b": Categorical(["x", "y", "z"]), "label": Boolean()})
    asked = []

    def tables(most=None):
        asked.append(most)
        made = []
        for seed in range(2):
            random = np.random.default_rng(seed)
            label = random.integers(0, 2, 300)
            told = np.where(random.random(300) < 0.9, label, 1 - label)
            codes = np.column_stack([told, random.integers(0, 3, 300), label])
            made.append(LabelledTable(f"made up {seed}", Target.of(schema, "label"), codes))
        return made

    monkeypatch.setattr(train_classifiers, "r_labelled_tables", tables)
    return asked


def test_training_writes_what_the_package_reads(corpus, tmp_path):
    budget, cache = ("--epsilon", "1", "--splits", "1"), ("--cache", tmp_path / "kept.db")
    found = run("train-classifiers", "--out", tmp_path, "--tables", "2", *budget, *cache, "--quiet")
    assert found.exit_code == 0, found.output
    assert corpus == [2]
    first, *lines = found.stdout.splitlines()
    assert "2 public tables" in first
    means = {line.split(": ")[0]: float(line.split(": ")[1].rstrip("%")) for line in lines}
    assert set(means) == set(METHODS)
    assert list(means.values()) == sorted(means.values(), reverse=True)
    assert max(means.values()) > 75  # the first attribute is right in nine of ten rows
    results = json.loads((tmp_path / "public_results.json").read_text())
    assert [table["table"] for table in results["tables"]] == ["made up 0", "made up 1"]
    assert results["epsilons"] == [1.0]
    again = run("train-classifiers", "--out", tmp_path, *budget, *cache, "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["accuracies"] == pytest.approx(
        {name: mean / 100 for name, mean in means.items()}, abs=0.0001
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "0"], "--epsilon"),
        (["--epsilon", "much"], "--epsilon"),
        (["--tables", "1"], "2"),
        (["--splits", "0"], "1"),
    ],
)
def test_bad_options_are_refused(corpus, tmp_path, options, words):
    assert refused(run("train-classifiers", "--out", tmp_path, *options), words)
    assert corpus == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_none_is_refused_before_anything_is_measured(corpus, tmp_path):
    made = run("train-classifiers", "--out", tmp_path / "no", "--epsilon", "1", "--splits", "1", "--quiet")
    assert refused(made, "is not a folder. Give a folder that exists.")
    assert corpus == []


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A few rows of each of the three tables, made up."""
    pandas = pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("tables")
    random = np.random.default_rng(0)
    for name in ("nursery", "contraceptive", "hiv-1"):
        file, _, attributes = TABLES[name]
        columns = {}
        for key, attribute in attributes.items():
            levels = getattr(attribute, "levels", None)
            values = random.integers(15, 20, 60) if levels is None else random.choice(np.array(levels), 60)
            columns[key] = values
        pandas.DataFrame(columns).to_csv(folder / file, index=False)
    return folder


@pytest.mark.full
def test_benchmark_of_classifiers(tables):
    found = run("bench", "classifiers", "--data", tables, "--public", "--trials", "1", "--json")
    assert found.exit_code == 0, found.output
    records = json.loads(found.stdout)
    assert {record["table"] for record in records} == {"nursery", "contraceptive", "hiv-1", "all"}
    methods = [record["method"] for record in records if record["table"] == "all"]
    assert set(METHODS) <= set(methods)
    assert len(records) == 4 * len(methods)
    for record in records:
        assert len(record["accuracies"]) == 4
        assert record["error"] is None  # of a single split
        assert record["mean"] == pytest.approx(np.mean(record["accuracies"]))
    for method in methods:
        means = [record["mean"] for record in records if record["method"] == method]
        assert means[3] == pytest.approx(np.mean(means[:3]))


def test_benchmark_needs_public_tables(tables, tmp_path):
    assert refused(run("bench", "classifiers"), "Give the folder that holds them with --data.")
    assert refused(run("bench", "classifiers", "--data", tables), "public")
    assert refused(run("bench", "classifiers", "--data", tmp_path, "--public"), "there is no nursery.csv.gz")


def test_benchmark_of_merged_cells(tmp_path, monkeypatch):
    """Two small tables: with many cells, merging helps."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    label = random.integers(0, 2, 3000)
    skewed = (random.gamma(1, 8, 3000) * (1 + 3 * label)).clip(0, 999)
    columns = {"x": skewed, "y": random.integers(0, 40, 3000), "kind": random.choice(["a", "b"], 3000), "label": label}
    pandas.DataFrame(columns).to_csv(tmp_path / "small.csv", index=False)
    numbers = {"x": (0, 1000), "y": (0, 39)}
    tables = dict.fromkeys(("one", "two"), FineTable("small.csv", "label", numbers, ("kind",)))
    monkeypatch.setattr(merged_cells, "FILES", tables)
    monkeypatch.setattr(fine_tables, "TABLES", tables)
    found = run("bench", "merged", "--data", tmp_path, "--public", "--trials", "1", "--json")
    assert found.exit_code == 0, found.output
    records = json.loads(found.stdout)
    assert len(records) == 3 * 3 * len(merged_cells.METHODS)
    means = {(part["cells"], part["method"]): part for part in records if part["table"] == "all"}
    for part in means.values():
        assert len(part["accuracies"]) == len(part["areas"]) == 4
        assert 0.4 < min(part["areas"]) <= max(part["areas"]) <= 1
    assert means[256, "auto"]["areas"][2] > means[16, "profiled-tree"]["areas"][2]
