"""``adyton train-classifiers`` and ``adyton bench classifiers``: real runs of the smallest kind, and refusals."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton import Boolean, Categorical, Schema
from adyton.cli.main import app
from adyton.learning.model import Target
from adyton_lab.bench import classifiers
from adyton_lab.commands import train_classifiers
from adyton_lab.corpus import fine_tables
from adyton_lab.corpus.fine_tables import FineTable
from adyton_lab.corpus.labelled_tables import LabelledTable
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


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Two small tables, which are the same."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    label = random.integers(0, 2, 3000)
    amounts = random.normal(400 + 200 * label, 150).clip(0, 999)
    columns = {"x": amounts, "y": random.integers(0, 40, 3000), "kind": random.choice(["a", "b"], 3000), "label": label}
    pandas.DataFrame(columns).to_csv(tmp_path / "small.csv", index=False)
    tables = dict.fromkeys(("one", "two"), FineTable("small.csv", "label", {"x": (0, 1000), "y": (0, 39)}, ("kind",)))
    for module in (classifiers, fine_tables):
        monkeypatch.setattr(module, "TABLES", tables)
    return tmp_path


def test_benchmark_of_classifiers(tables, monkeypatch):
    monkeypatch.setattr(classifiers, "find_spec", lambda name: None)
    found = run("bench", "classifiers", "--data", tables, "--public", "--trials", "1", "--json")
    assert found.exit_code == 0, found.output
    records = {(part["table"], part["method"]): part for part in json.loads(found.stdout)}
    methods = [method for table, method in records if table == "one"]
    assert methods == [method for table, method in records if table == "two"]
    for part in records.values():
        assert len(part["accuracies"]) == len(part["areas"]) == 4
    for method in methods:
        areas = np.array([records[table, method]["areas"] for table in ("one", "two")])
        assert records["all", method]["areas"] == pytest.approx(areas.mean(axis=0))
        assert 0.4 < areas.min() <= areas.max() <= 1


def test_what_follows_for_all_tables():
    """Two tables, two trials and two budgets: the falls, the gaps to the best, and what is within."""
    auto = np.array([[[0.80, 0.70], [0.80, 0.70]], [[0.90, 0.90], [0.90, 0.92]]])
    other = np.full((2, 2, 2), 0.75)
    every = {
        "auto": {"a": auto, "b": auto},
        "auto, 4 cells": {"a": auto, "b": auto - 0.02},
        "chosen": {"a": other, "b": other},
        classifiers.BOOSTING: {"a": auto + 0.05},
    }
    found = {(part.table, part.method): part for part in classifiers.compared(every, ["a"])}
    assert found["two classes", classifiers.BOOSTING].areas == pytest.approx((0.95, 0.96))
    assert found["all", "auto − best method by name"].accuracies == pytest.approx((0.05, -0.05))
    assert found["worst table", "auto − best method by name there"].accuracies == pytest.approx((0.05, -0.05))
    assert found["all", "tables within 0.015 of the best method by name there"].accuracies == (2, 0)
    assert found["all", "tables within 0.01 of the best number of cells there"].areas == (2, 2)
    assert found["worst table", "auto − auto at the ε before"].accuracies == pytest.approx((0, -0.1))
    assert found["all", "tables on which that is below −0.003 beyond noise"].accuracies == (0, 2)
    assert found["all", "tables on which that is below −0.003 beyond noise"].areas == (0, 0)


def test_benchmark_needs_public_tables(tables, tmp_path_factory):
    assert refused(run("bench", "classifiers"), "Give the folder that holds them with --data.")
    assert refused(run("bench", "classifiers", "--data", tables), "public")
    empty = tmp_path_factory.mktemp("empty")
    assert refused(run("bench", "classifiers", "--data", empty, "--public"), "there is no small.csv")
