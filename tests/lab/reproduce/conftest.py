"""Small evaluations of classifiers, on made-up rows."""

import numpy as np
import pytest

from adyton.learning.model import Target
from adyton.schema import Schema
from adyton_lab.corpus.labelled_tables import TABLES, LabelledTable
from adyton_lab.reproduce import jostle, naive_bayes
from adyton_lab.reproduce.naive_bayes import Protocol


@pytest.fixture
def made_up_tables(monkeypatch):
    """Random rows instead of the tables in files, few of them."""

    def table(name, folder, *, public):
        _, label, attributes = TABLES[name]
        target = Target.of(Schema(attributes), label)
        shape = np.array(target.whole.shape)
        codes = (np.random.default_rng(0).random((400, len(shape))) * shape).astype(np.int64)
        codes[:, 1] = codes[:, -1]  # the second attribute tells the class
        return LabelledTable(name, target, codes)

    small = [
        Protocol("fig6", "skin", (200,), ("1",), tuple(naive_bayes.HISTOGRAMS), 2),
        Protocol("fig3", "credit", (None,), ("0.001", "0.01", "0.1", "1"), naive_bayes.PLANS, 2),
        Protocol("trees", "nursery", (None,), ("1",), ("unperturbed", "recipe"), 2),
    ]
    monkeypatch.setattr(naive_bayes, "labelled_table", table)
    monkeypatch.setattr(naive_bayes, "protocols", lambda *, quick=False: small)
    monkeypatch.setattr(jostle, "labelled_table", table)
    monkeypatch.setattr(jostle, "TREE_TABLES", ("contraceptive",))
    monkeypatch.setattr(jostle, "EPSILONS", ("0.1", "2"))
    monkeypatch.setattr(jostle, "trials", lambda *, quick: 2)
