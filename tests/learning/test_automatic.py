"""Cells that are merged before a method learns: what the groups are, what they cost, and what they gain."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from learning_tables import SCHEMA, columns, kernel, labels, rows

import adyton as ad
from adyton.errors import BadInput
from adyton.learning.automatic import _starts
from adyton.learning.coding import codes_of
from adyton.learning.model import Model
from adyton.learning.registry import AUTO, learner_named
from adyton.noise import SimulatedNoise

EPSILON = Fraction(1)


def test_groups_are_of_equal_mass_and_follow_from_noisy_counts():
    fine = ad.Numeric(0, 1, bins=256)
    measured = ad.Numeric(0, 1, bins=64)
    counts = np.zeros(64)
    counts[:4], counts[40] = 1000, 4000
    first, second, third, _ = _starts(fine, measured, counts, 4, Fraction(10))
    assert (first, second) == (0, 8)
    assert 12 < third <= 160
    noise = np.random.default_rng(0).normal(0, 50, 64)
    assert len(_starts(fine, measured, noise, 8, Fraction(1, 100))) >= 2
    assert _starts(fine, measured, np.full(64, -9.0), 8, EPSILON) == list(range(0, 256, 32))
    counts[:] = 0
    counts[0] = 1e9
    assert _starts(fine, measured, counts, 8, EPSILON)[0] == 0
    assert len(_starts(fine, measured, counts, 8, EPSILON)) == 2


@pytest.mark.parametrize(("epsilon", "cells"), [(Fraction(1), 64), (Fraction(100), 256)])
def test_numbers_are_counted_in_more_cells_where_these_can_bear_the_noise(epsilon, cells):
    """At ε = 1 the noise of a cell is 20, that of the sum of 256 cells 453; a group has 1,500/8 rows, and bears 281."""
    schema = ad.Schema({"pay": ad.Numeric(0, 1, bins=1024), "ill": ad.Boolean()})
    codes = np.column_stack([np.arange(1500) % 1024, np.arange(1500) % 2])
    opened = kernel(codes, epsilon, 0, schema)
    with opened.recording() as recorder:
        learner_named(AUTO, rows=1500).fit(opened.root, "ill", epsilon)
    assert recorder.debits[0].operator.startswith(f"noisy histogram of {cells} cells")


OPTIONS = [{}, {"cells": 4}, {"cells": None}, {"rows": 2000}, {"depth": 1}, {"cells": 50}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 7), Fraction(3)])
def test_exactly_epsilon_is_spent(options, epsilon):
    opened = kernel(rows(), epsilon, 0)
    model = learner_named(AUTO, **options).fit(opened.root, "ill", epsilon)
    assert opened.spent == epsilon
    merged = options.get("cells", 8) in (4, 8)
    assert (model.schema.shape[0] < 41) == merged
    assert model.schema.shape[1:] == (2, 4)


@pytest.mark.parametrize("method", ["profiled-tree", "naive-bayes", "chosen"])
def test_named_methods_learn_from_merged_cells_if_they_are_asked_to(method):
    for cells in (None, 3, AUTO):
        opened = kernel(rows(), 1, 0)
        learner = learner_named(method, cells=cells)
        model = learner.fit(opened.root, "ill", EPSILON)
        assert (opened.spent, learner.runs) == (1, method)
        assert model.schema.shape[0] == {None: 41, 3: 4, AUTO: 9}[cells]
        assert (model.places(codes_of(columns(rows()), model.schema)) == rows()[:, 3]).mean() > 0.6


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (AUTO, {"cells": 1}),
        (AUTO, {"cells": "many"}),
        (AUTO, {"cells": True}),
        (AUTO, {"cells": 8.5}),
        (AUTO, {"groups_share": 1}),
        (AUTO, {"preset": 1}),
        ("mohammed", {"cells": 8}),
    ],
)
def test_bad_options_are_refused(method, options):
    with pytest.raises(BadInput):
        ad.Classifier("ill", method=method, **options)


def test_a_budget_that_is_too_small_is_refused_before_anything_is_spent():
    opened = kernel(rows(), 1, 0)
    with pytest.raises(BadInput):
        learner_named(AUTO).fit(opened.root, "ill", Fraction(1, 2**39))
    assert opened.spent == 0


def test_times_and_places_are_merged_into_groups_of_equal_length():
    random = np.random.default_rng(0)
    ill = random.random(2000) < 0.5
    table = pd.DataFrame(
        {
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 180, 2000) * (1 + ill), "D"),
            "pay": random.gamma(1, 900, 2000) * (1 + ill),
            "big": 2**52 + random.integers(0, 99, 2000),
            "ill": ill,
        }
    )
    schema = ad.Schema(
        {
            "day": ad.Date("2024-01-01", "2024-12-31"),
            "pay": ad.Numeric(0, 100_000, bins=1000, outside="clamp"),
            "big": ad.Integer(2**52, 2**52 + 99),
            "ill": ad.Boolean(),
        }
    )
    session = ad.Session(table, schema=schema, epsilon=1, noise=SimulatedNoise(0))
    fitted = session.fit(ad.Classifier("ill"), epsilon=1)
    assert session.spent == 1
    assert fitted.model.schema.attributes["big"] == ad.Integer(2**52, 2**52 + 99, step=13)
    assert fitted.model.schema.attributes["day"].every == 46
    assert fitted.model.schema.attributes["pay"].edges[1] < 100_000 / 8
    assert np.mean(fitted.predict(table) == ill) > 0.65


def frame(codes):
    return pd.DataFrame(columns(codes)).assign(ill=labels(codes))


def test_the_result_says_which_cells_were_merged_and_why(tmp_path):
    table = frame(rows())
    session = ad.Session(table, schema=SCHEMA, epsilon=3, noise=SimulatedNoise(1))
    fitted = session.fit(ad.Classifier("ill"), epsilon=1)
    words = str(fitted.explain())
    assert "Cells were merged, so that they can bear the noise, by the number of rows (about " in words
    assert "age is read in 9 cells instead of 41." in words
    fitted.save(tmp_path / "m")
    assert "age is read in 9 cells instead of 41." in (tmp_path / "m" / "report.html").read_text("utf-8")
    loaded = ad.FittedClassifier.load(tmp_path / "m")
    assert loaded.to_dict() == fitted.to_dict()
    assert (loaded.predict(table) == fitted.predict(table)).all()
    plain = session.fit(ad.Classifier("ill", cells=None), epsilon=1)
    assert "merged" not in str(plain.explain())


def test_merged_cells_can_bear_the_noise():
    """Six attributes of a hundred cells, and 5% positives."""
    random = np.random.default_rng(9)
    gaps = []
    for _ in range(3):
        rare = random.random(8000) < 0.05
        ages = np.clip(random.normal(50 + 12 * rare[:, None] * (np.arange(6) < 3), 12), 0, 99).astype(int)
        schema = ad.Schema({**{f"x{place}": ad.Integer(0, 99) for place in range(6)}, "ill": ad.Boolean()})
        codes, above = np.column_stack([ages, rare]), []
        for cells in (None, AUTO):
            opened = kernel(codes, EPSILON, int(random.integers(99)), schema)
            model = learner_named(AUTO, cells=cells).fit(opened.root, "ill", EPSILON)
            own = codes_of({f"x{place}": ages[:, place] for place in range(6)}, model.schema)
            ranks = model.probabilities(own)[:, 1].argsort().argsort()
            above.append(ranks[rare].mean() / len(ranks))
        gaps.append(above[1] - above[0])
    assert np.mean(gaps) > 0.02


@pytest.mark.parametrize("seed", range(12))
def test_nothing_fails_after_the_debit_whatever_the_table(seed):
    """Also with no rows, with a single cell, with groups that are all noise, and with options of the method."""
    random = np.random.default_rng(seed)
    nulls, outside = random.choice(["drop", "level"]), random.choice(["drop", "clamp", "other"])
    kept = {"nulls": str(nulls), "outside": str(outside)}
    attributes = {
        "whole": ad.Integer(-int(random.integers(50)), int(random.integers(400)), step=2, **kept),
        "real": ad.Numeric(-1.5, 8, bins=int(random.integers(1, 300)), **kept),
        "edges": ad.Numeric(edges=np.unique(random.normal(0, 50, 30).round(1)).tolist(), **kept),
        "day": ad.Date("2020-01-01", "2021-06-01"),
        "ill": ad.Boolean(),
    }
    schema = ad.Schema(attributes)
    codes = random.integers(0, schema.shape, (int(random.choice([0, 1, 300])), 5))
    for method, options in (
        (AUTO, {}),
        (AUTO, {"rows": 10**6}),
        ("naive-bayes", {"cells": 6, "histograms": "auto"}),
        ("naive-bayes", {"cells": 3, "histograms": "hb", "model": "gaussian"}),
        ("chosen", {"cells": AUTO}),
    ):
        epsilon = Fraction(str(random.choice([0.01, 1, 200])))
        opened = kernel(codes, epsilon, seed, schema)
        model = learner_named(method, **options).fit(opened.root, "ill", epsilon)
        assert opened.spent == epsilon
        assert Model.from_plain(json.loads(json.dumps(model.to_plain()))).schema == model.schema
