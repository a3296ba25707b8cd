"""The protocols of naive Bayes: splits that do not overlap, the area under the curve, tables and claims from scores."""

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton_lab.corpus.labelled_tables import labelled_table
from adyton_lab.reproduce import naive_bayes
from adyton_lab.reproduce.evaluation import Given
from adyton_lab.reproduce.naive_bayes import all_sheets, area_under_curve, protocols, start
from adyton_lab.reproduce.scores import means


def test_runs_to_tables(made_up_tables, tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(naive_bayes, "file_in", lambda folder, file: None)
    steps, run = start(Given(data=tmp_path, folder=tmp_path, public=True, quick=False, kept=None))
    scores = run(done.append)
    assert sum(done) == len(scores) == steps
    assert all(0 <= one.value <= 1 for one in scores)
    best = [one.value for one in scores if one.method == "unperturbed"]
    assert best == [0, 0, 1, 1, 1, 1]  # misclassified, area, accuracy: one attribute tells all
    claims, *sheets = all_sheets(scores)
    assert [sheet.chapter for sheet in sheets] == ["fig6", "fig3", "trees"]
    assert len(claims.rows) == 4
    assert all(one["trials"] == 2 for sheet in sheets for one in sheet.figures)
    assert len(means(scores)) == 5 + 25 + 2


def test_splits_do_not_overlap(made_up_tables):
    table = naive_bayes.labelled_table("credit", "", public=True)
    for protocol in naive_bayes.protocols():
        learning, judging = naive_bayes._split(protocol, table, 200, 3)
        assert not set(learning) & set(judging)
        assert len(learning) > 0
    folds = [set(naive_bayes._split(naive_bayes.protocols()[1], table, 400, trial)[1]) for trial in range(10)]
    assert sum(map(len, folds)) == len(set().union(*folds)) == 400


def test_area_and_refusals(tmp_path):
    random = np.random.default_rng(1)
    scores, positive = random.integers(0, 9, 200), random.random(200) < 0.3
    pairs = np.subtract.outer(scores[positive], scores[~positive])
    assert np.isclose(area_under_curve(scores, positive), ((pairs > 0) + (pairs == 0) / 2).mean())
    with pytest.raises(BadInput, match="--public"):
        labelled_table("skin", tmp_path, public=False)
    with pytest.raises(BadInput, match=r"no skin.csv.gz"):
        labelled_table("skin", tmp_path, public=True)
    assert protocols(quick=True)[0].trials < protocols()[0].trials
