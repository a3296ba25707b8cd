"""``adyton reproduce jostle`` and ``naive-bayes``: all files, the words that readers need, pictures, refusals."""

import json
from dataclasses import astuple

import pytest
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton_lab.corpus.labelled_tables import TABLES
from adyton_lab.reproduce import jostle, naive_bayes
from adyton_lab.reproduce.evaluation import evaluation_named, evaluations
from adyton_lab.reproduce.jostle import all_sheets
from adyton_lab.reproduce.scores import Score, mean_panel, means, score_panels

WORDS = {
    "jostle": (
        "James–Stein shrinkage of leaf posteriors, support 3/2",
        "on these same three tables, with other seeds",
        "the budget that a stopped branch does not need stays unspent",
        "but no numbers",
    ),
    "naive-bayes": ("weight ½ of the pseudo-counts of auto was fixed on these same tables", "0.5067"),
}
PICTURES = {"jostle": {"fig4.2"}, "naive-bayes": {"fig5", "fig3"}}
KNOWN = [
    Score(figure, table, 400, "" if method == naive_bayes.UNPERTURBED else epsilon, method, trial, 0.5 + 0.1 * trial)
    for figure, table, methods in (("fig5", "skin", naive_bayes.HISTOGRAMS), ("fig3", "credit", naive_bayes.PLANS))
    for trial in range(2)
    for method in methods
    for epsilon in ("0.001", "0.01", "0.1", "1")
]
"""Scores of naive Bayes, as if it had been run."""


def reproduce(paper, *words):
    return CliRunner().invoke(app, ["reproduce", paper, *map(str, words)])


@pytest.fixture
def data(tmp_path):
    """A folder with all files, empty."""
    folder = tmp_path / "data"
    folder.mkdir()
    for file, _, _ in TABLES.values():
        (folder / file).touch()
    return folder


@pytest.mark.parametrize("paper", WORDS)
def test_everything_is_written(made_up_tables, data, tmp_path, paper, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(naive_bayes, "run", lambda *given, **options: KNOWN)
    done = reproduce(paper, "--data", data, "--public", "--out", tmp_path / "out", "--quick", "--json")
    assert done.exit_code == 0, done.output
    files = {path.name for path in (tmp_path / "out").iterdir()}
    pictures = {f"{name}.{kind}" for name in PICTURES[paper] for kind in ("svg", "png")}
    assert files == {"records.jsonl", "tables.json", "tables.txt", "report.html"} | pictures
    lines = (tmp_path / "out" / "records.jsonl").read_text().splitlines()
    scores = [Score(**json.loads(line)) for line in lines]
    if paper == "jostle":
        steps = len(jostle.TREE_TABLES) * 2 * len(jostle.EPSILONS) * len(jostle.METHODS)
        assert len(scores) == steps
    else:
        assert scores == KNOWN
    printed = json.loads(done.stdout)
    kept = json.loads((tmp_path / "out" / "tables.json").read_text())
    assert [one["title"] for one in printed] == [one["title"] for one in kept]
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") == len(PICTURES[paper])
    assert f"adyton reproduce {paper} --quick" in page
    assert all(words in page for words in WORDS[paper])
    assert all(one["title"].replace("'", "&#39;") in page for one in kept)


@pytest.mark.parametrize("paper", WORDS)
def test_refusals_come_first(made_up_tables, data, tmp_path, paper, monkeypatch):
    """One sentence, and nothing is learnt or written."""

    def refusal(*words):
        done = reproduce(paper, "--out", tmp_path / "out", *words)
        assert done.exit_code == 2
        assert not list((tmp_path / "out").glob("*"))
        return " ".join(done.output.split())

    monkeypatch.setattr(jostle, "run", None)
    monkeypatch.setattr(naive_bayes, "run", None)
    assert "--public" in refusal("--data", data)
    assert "Leave out --cache" in refusal("--data", data, "--public", "--cache", tmp_path / "kept.db")
    assert "holds the tables" in refusal("--data", data / "none", "--public")
    (data / "nursery.csv.gz").unlink()
    (data / "cmc.csv").unlink()
    assert "Give the folder that holds this public table" in refusal("--data", data, "--public")


def test_names():
    assert [evaluation_named(name).name for name in evaluations()] == list(evaluations())


def scores(values, table="nursery"):
    """Scores of two trials by method, at ε = 0.1 and 1."""
    return [
        Score(jostle.FIGURE, table, 400, epsilon, method, trial, value + 0.02 * trial)
        for epsilon in ("0.1", "1")
        for method, value in values.items()
        for trial in range(2)
    ]


def test_panels_have_errors_and_a_mean():
    found = means([*scores({"chosen": 0.5}), *scores({"chosen": 0.7}, "hiv-1")])
    both = score_panels(found)
    assert [one.title for one in both] == ["nursery, 400 rows", "hiv-1, 400 rows"]
    assert astuple(both[0].lines["chosen"][1]) == pytest.approx((1, 0.51, 0.50, 0.52))
    # two tables with standard errors of 0.01: 0.01·√2/2
    point = mean_panel("mean", both).lines["chosen"][0]
    assert (point.y, point.high - point.y) == pytest.approx((0.61, 0.01 / 2**0.5))
    assert score_panels(found, medians=True)[0].lines["chosen"][0].high == pytest.approx(0.515)


def test_what_is_claimed_of_trees():
    """The paper's words are judged by order, ours by points."""
    values = dict(zip(jostle.METHODS, (0.6, 0.7, 0.5, 0.4, 0.3, 0.69, 0.74, 0.5, 0.72), strict=True))
    paper, ours, *_, mean = all_sheets([*scores(values), *scores(values, "hiv-1")])
    assert [row[2] for row in paper.rows] == ["no", "yes"]  # best and worst are others; Mohammed is best
    assert [row[2] for row in ours.rows] == ["yes", "no", "yes", "no"]
    # errors of 0.01 in all four cells: two add up in each table, √(0.02² + 0.02²)/4
    assert mean.rows[5] == ("chosen", "70.00 ± 0.71")
    values["fletcher-islam"], values["mohammed"] = 0.8, 0.2
    assert [row[2] for row in all_sheets(scores(values, "hiv-1"))[0].rows] == ["in part"]
