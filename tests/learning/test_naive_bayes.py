"""Naive Bayes: every way spends exactly ε, is right without noise, works on no rows, and refuses before it spends."""

from fractions import Fraction as F

import numpy as np
import pytest
from learning_tables import LEARNERS, NAMES, SCHEMA, fitted, kernel, rows

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded, SchemaError
from adyton.kernel.kernel import Kernel
from adyton.learning.class_profiles import class_totals, consistent, prior_of
from adyton.learning.model import MODELS, Target
from adyton.learning.registry import learner_named, learners

ROWS = rows()
NO_NOISE = 1000


@pytest.mark.parametrize(("name", "options"), LEARNERS, ids=NAMES)
@pytest.mark.parametrize("codes", [ROWS, ROWS[:0]], ids=["rows", "no rows"])
def test_spends_exactly_epsilon_and_predicts(name, options, codes):
    place = kernel(codes, epsilon=2)
    with place.recording() as recorder:
        model = learner_named(name, **options).fit(place.root, "ill", "1/3")
    assert place.remaining == F(5, 3) == 2 - sum(debit.amount for debit in recorder.debits)
    probabilities = model.probabilities(np.vstack([ROWS[:50, :3], [[-1, -1, -1]]]))
    assert np.isfinite(probabilities).all()
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert np.allclose(probabilities[-1], model.prior)  # a row that tells nothing
    assert "ill = unsure" in model.explain()


@pytest.mark.parametrize(("name", "options"), LEARNERS, ids=NAMES)
def test_learns(name, options):
    """Without noise the bells of the ages are told apart; with it, better than a guess (the largest class has 35 %)."""
    unseen = rows(seed=1)
    for epsilon, least in ((NO_NOISE, 0.66), (1, 0.5)):
        model = fitted(ROWS, name, options, epsilon)
        assert (model.places(unseen[:, :3]) == unseen[:, 3]).mean() > least


def test_recipe_is_the_formula():
    """Without noise: q = n + b·π + ½ with b = k/ε, and the prior is the frequency of the classes."""
    model = fitted(ROWS, "naive-bayes", {}, NO_NOISE)
    prior = np.bincount(ROWS[:, 3]) / len(ROWS)
    assert np.allclose(model.prior, prior)
    smokers = np.array([[(ROWS[ROWS[:, 3] == c, 1] == v).sum() for c in range(3)] for v in range(2)])
    expected = smokers + 3 / NO_NOISE * prior + 0.5
    assert np.allclose(model.profiles[1].values, expected / expected.sum(axis=0))


def test_noise_of_the_recipe_has_the_scale_of_one_share():
    """k tables of no rows at ε: their cells have the variance of noise for ε/k; five standard errors, below 1e-6."""
    from adyton.learning.class_profiles import class_vectors, measured_table

    schema = ad.Schema({"x": ad.Integer(0, 9999), "y": ad.Boolean()})
    place = Kernel.simulated_table(np.empty((0, 2), dtype=int), schema, epsilon=1, seed=3)
    table = measured_table(class_vectors(place.root, ["x"], "y")["x"], F(1, 4))
    a = np.exp(-0.25)
    variance = 2 * a / (1 - a) ** 2
    assert table.shape == (10000, 2)
    assert abs(table.var() / variance - 1) < 5 * np.sqrt(5 / table.size)


def test_more_cells_than_a_source_can_hold_are_counted_in_parts(monkeypatch):
    from adyton.kernel import transforms
    from adyton.learning import class_profiles

    schema = ad.Schema({**{name: ad.Integer(0, 9) for name in "abcd"}, "y": ad.Boolean()})
    place = Kernel.simulated_table(np.zeros((7, 5), dtype=int), schema, epsilon=400, seed=3)
    for module in (transforms, class_profiles):
        monkeypatch.setattr(module, "MOST_TABLE_CELLS", 40)
    found = class_profiles.class_vectors(place.root, list("abcd"), "y")
    assert [found[name].lineage[-2:] for name in "ad"] == [
        ("tables(y × a, y × b)", "table(y, a)"),
        ("tables(y × c, y × d)", "table(y, d)"),
    ]
    assert class_profiles.measured_table(found["d"], F(60))[0].tolist() == [7, 0]
    assert class_profiles.class_vectors(place.root, [], "y") == {}


def test_totals_weigh_tables_by_their_noise():
    small, large = np.full((2, 2), 50.0), np.full((100, 2), 2.0)
    small[:, 1], large[:, 1] = 60, 1
    assert np.allclose(class_totals([small, large], [F(1), F(1)]), [(50 * 100 + 200) / 51, (50 * 120 + 100) / 51])
    agreed = consistent([small, large], np.array([7.0, 8.0]))
    assert all(np.allclose(one.sum(axis=0), [7, 8]) for one in agreed)
    assert (prior_of(np.array([-50.0, -2.0])) > 0).all()


def test_classes_cost_once():
    """The histograms of all classes by an algorithm: as many debits, and no more ε than for one class."""
    place = kernel(ROWS, epsilon=1)
    with place.recording() as recorder:
        learner_named("naive-bayes", histograms="identity").fit(place.root, "ill", 1)
    charged = [debit.amount for debit in recorder.debits if debit.amount]
    assert sum(charged) == 1
    assert charged == [F(1, 20)] + [F(19, 60)] * 3


@pytest.mark.parametrize(("number", "asked"), [(100, "prefix"), (4000, "identity")])
def test_sums_are_asked_where_cells_are_lost_in_noise(monkeypatch, number, asked):
    """ε′ = 1/3 on 41 cells: 100 rows are 0.8 a cell, 4000 are 33."""
    from adyton.choice.pythia import Pythia

    seen = []
    carry_out = Pythia.carry_out
    monkeypatch.setattr(
        Pythia, "carry_out", lambda self, x, w, e: seen.append(type(w).__name__.lower()) or carry_out(self, x, w, e)
    )
    fitted(rows(number), "naive-bayes", {"histograms": "auto"})
    assert seen == [asked] * 3


def test_gaussian_keeps_other_values_apart():
    codes = ROWS.copy()
    codes[codes[:, 3] == 1, 0] = 40  # missing ages, all of one class
    model = fitted(codes, "naive-bayes", {"model": "gaussian"}, NO_NOISE)
    assert model.places(np.array([[40, -1, -1]])).tolist() == [1]
    means = [codes[codes[:, 3] == c, 0].mean() for c in (0, 2)]
    assert np.allclose(model.profiles[0].means[[0, 2]], means)


def _with_label(attribute):
    return ad.Schema({"age": ad.Integer(0, 9), "ill": attribute})


BAD = [
    (_with_label(ad.Boolean()), "il", {}, SchemaError, "there is no attribute 'il'.*mean 'ill'"),
    (_with_label(ad.Integer(0, 1)), "ill", {}, SchemaError, "is integer, but a classifier predicts classes"),
    (_with_label(ad.Categorical(["x"])), "ill", {}, SchemaError, "single class 'x'"),
    (ad.Schema({"ill": ad.Boolean()}), "ill", {}, SchemaError, "nothing to predict"),
    (_with_label(ad.Boolean()), None, {}, SchemaError, "label is the name"),
    (_with_label(ad.Boolean()), "ill", {"epsilon": 2}, BudgetExceeded, "costs ε = 2, but 1 of 1 is left"),
    (_with_label(ad.Boolean()), "ill", {"epsilon": "1e-30"}, BadInput, "at least 2\\^-40"),
    (_with_label(ad.Boolean()), "ill", {"histograms": "quadtree"}, BadInput, "way to estimate histograms 'quadtree'"),
    (_with_label(ad.Boolean()), "ill", {"model": "bell"}, BadInput, "'multinomial' or 'gaussian'"),
    (_with_label(ad.Boolean()), "ill", {"modl": 1}, BadInput, "no option 'modl'.*mean 'model'"),
    (
        ad.Schema({"age": ad.Integer(0, 1 << 22), "ill": ad.Boolean()}),
        "ill",
        {},
        BadInput,
        "'age' has 4,194,305 cells for 2 classes",
    ),
]


@pytest.mark.parametrize(("schema", "label", "options", "error", "words"), BAD)
def test_bad_input_spends_nothing(schema, label, options, error, words):
    place = Kernel.simulated_table(np.zeros((5, len(schema.names)), dtype=int), schema, epsilon=1, seed=0)
    options = dict(options)
    epsilon = options.pop("epsilon", 1)
    with pytest.raises(error, match=words):
        learner_named("naive-bayes", **options).fit(place.root, label, epsilon)
    assert place.remaining == 1


def test_names_and_targets():
    assert set(learners()) >= {name for name, _ in LEARNERS}
    with pytest.raises(BadInput, match="no method 'naive'"):
        learner_named("naive")
    with pytest.raises(BadInput, match="no kind of model"):
        MODELS["tree of life"]
    target = Target.of(ad.Schema({**SCHEMA.attributes, "name": ad.Identifier()}), "smoker")
    assert target.schema.names == ("age", "town", "ill")
    assert Target.of(target.whole, "smoker") == target
