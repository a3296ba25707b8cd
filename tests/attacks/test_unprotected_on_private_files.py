"""A private table handed to what computes without protection: refused, unread, and nothing of it is kept."""

from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import BadInput
from adyton_lab.bench.choices import clipped
from adyton_lab.bench.common import shapes
from adyton_lab.compare.data_sets import DataSet
from adyton_lab.compare.experiment import Experiment
from adyton_lab.corpus import Shape, read_corpus
from adyton_lab.reproduce import pythia
from adyton_lab.reproduce.evaluation import Given

SECRET = "patient-4711"


@pytest.fixture
def table(tmp_path):
    """A table in the name and form that the benchmarks look for, too."""
    folder = tmp_path / "private"
    folder.mkdir()
    rows = "\n".join(f"{place},{place % 7}" for place in range(64))
    (folder / "dpbench_1d.csv").write_text(f"bin,{SECRET}\n{rows}\n")
    return folder / "dpbench_1d.csv"


@pytest.mark.parametrize(
    "words",
    [
        ("train", "FILE", "--out", "OUT/selector.json", "--sides", "8", "--scales", "9", "--trials", "2"),
        ("compare", "FILE", "--out", "OUT/page"),
        ("reproduce", "pythia", "--data", "FOLDER", "--out", "OUT/paper"),
        ("reproduce", "jostle", "--data", "FOLDER", "--out", "OUT/paper"),
        ("reproduce", "naive-bayes", "--data", "FOLDER", "--out", "OUT/paper"),
        ("bench", "plans", "--data", "FOLDER", "--trials", "2"),
        ("bench", "clipped", "--data", "FILE", "--trials", "2"),
    ],
)
def test_commands_ask_for_a_word_first(table, tmp_path, words):
    out = tmp_path / "out"
    out.mkdir()
    given = [word.replace("FILE", str(table)).replace("FOLDER", str(table.parent)) for word in words]
    done = CliRunner().invoke(app, [word.replace("OUT", str(out)) for word in given])
    assert done.exit_code == 2
    assert "--public" in done.output
    assert SECRET not in done.output
    assert not list(out.iterdir())


def test_python_asks_for_a_word_first(table, tmp_path):
    shape = Shape(SECRET, SECRET, np.array([1.0, 2, 3]))
    refused = (
        lambda: read_corpus(table),
        lambda: read_corpus(table, public=1),
        lambda: ad.Delphi(corpus=table, cache=tmp_path / "kept.db").train(),
        lambda: ad.Delphi(corpus=[shape], cache=tmp_path / "kept.db").train(),
        lambda: pythia.start(Given(table.parent, tmp_path, False, True, tmp_path / "kept.db")),
        lambda: shapes(1, 32, table.parent),
        lambda: Experiment(datasets=[DataSet(SECRET, np.array([1, 2, 3]))]),
        lambda: Experiment(datasets=[DataSet(SECRET, np.array([1, 2, 3]))], public="yes"),
        lambda: clipped(data=str(table), trials=2),
    )
    for attempt in refused:
        with pytest.raises(BadInput, match="public=True") as refusal:
            attempt()
        assert SECRET not in str(refusal.value)
    assert not (tmp_path / "kept.db").exists()


def test_no_word_is_remembered_from_another_call(table):
    assert clipped(data=str(table), public=True)[0] == 1
    for word in (False, 1):
        with pytest.raises(BadInput, match="public=True"):
            clipped(data=str(table), public=word)


def test_every_command_refuses_in_the_same_words(table, tmp_path):
    for words in (("train", table, "--out", tmp_path / "selector.json"), ("compare", table)):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert "works on the data as they are, without any protection" in " ".join(done.output.split())


def test_what_comes_with_the_package_needs_no_word():
    delphi = ad.Delphi(algorithms=["identity"], sides=[8], scales=[9], epsilons=[Fraction(1)], trials=2, processes=1)
    assert delphi.train().training.inputs == 7
