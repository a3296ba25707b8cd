"""Profiled trees: when there are profiles, which attributes get one, what noise and repetition take from them, and
strangers."""

import copy
from fractions import Fraction

import numpy as np
import pyarrow
import pytest
from learning_tables import fitted, kernel, rows

import adyton as ad
from adyton.errors import BadInput
from adyton.learning import Model
from adyton.learning.class_profiles import class_vectors
from adyton.learning.evidence import USUAL, Evidence, others, repetition
from adyton.learning.model import Target
from adyton.learning.registry import learner_named

CODES = rows()
NAMES = tuple(f"x{place}" for place in range(10))
WIDE = ad.Schema({**{name: ad.Integer(0, 9) for name in NAMES}, "ill": ad.Boolean()})


def weakly_told(number=20_000, seed=0):
    """Ten attributes, each of which tells a little by itself; the last two tell nothing."""
    random = np.random.default_rng(seed)
    ill = random.integers(0, 2, number)
    shift = np.where(np.arange(10) < 8, 1.5, 0.0)
    codes = np.clip(random.normal(4.5 + (ill[:, None] - 0.5) * shift, 2), 0, 9.9).astype(int)
    return np.column_stack([codes, ill])


def learnt(codes, epsilon=1, seed=0, **options):
    opened = kernel(codes, epsilon, seed, WIDE)
    with opened.recording() as recorder:
        model = learner_named("profiled-tree", **options).fit(opened.root, "ill", epsilon)
    return model, recorder.debits


def told(model):
    return {name for name, one in zip(NAMES, model.profiles, strict=True) if (one != 1).any()}


def test_many_attributes_that_each_tell_a_little_are_all_heard():
    codes, new = weakly_told(), weakly_told(5_000, seed=1)
    model, _ = learnt(codes)
    right = (model.places(new[:, :10]) == new[:, 10]).mean()
    tree, _ = learnt(codes, profile_support=10**6)
    alone = (tree.places(new[:, :10]) == new[:, 10]).mean()
    assert not told(tree)
    assert right > alone + 0.03  # about 0.85 against 0.78
    speaks = [np.abs(np.diff(np.log(one), axis=1)).max() for one in model.profiles]
    assert max(speaks[8:]) < 0.15  # what tells nothing has next to no weight
    assert sum(one > 0.3 for one in speaks[:8]) >= 6
    assert "Profiles of" in model.explain()
    assert "No attribute has a profile." in tree.explain()


def test_few_rows_leave_all_to_the_tree():
    model, debits = learnt(weakly_told(100), rows=100)  # 100·¼·¾/(2·20) < 1
    assert not told(model)
    assert sum("leaves(ill)" in debit.lineage[-1] for debit in debits) == 1


def test_as_many_as_have_room_are_chosen():
    model, debits = learnt(weakly_told(), rows=20_000, depth=1, profile_support=60)  # 20,000·¼·¾/(60·20) = 3
    assert len(told(model)) == 3
    assert len(debits) == 1 + 1 + 3 + 3 + 1  # the root's split, its leaves, three choices, three tables, repetition
    assert sum(debit.amount for debit in debits) == 1
    used = model.tree.attributes[model.tree.split[0]]
    assert used not in told(model)


def test_what_noise_explains_has_no_weight():
    random, prior = np.random.default_rng(0), np.array([0.7, 0.3])
    noise = [Evidence.of(random.laplace(0, 50, (8, 2)), prior, 50.0).profile(1.0) for _ in range(40)]
    assert np.mean([(one == 1).all() for one in noise]) > 0.4
    clear = Evidence.of(np.array([[9000.0, 100.0], [100.0, 9000.0]]), np.array([0.5, 0.5]), 1.0)
    profile = clear.profile(1.0)
    assert profile[0, 0] == pytest.approx(9000 / 9100, abs=0.01)
    assert np.allclose(clear.profile(0.5), np.sqrt(profile), atol=1e-3)
    assert (profile <= 1).all()


def repeating(common, number=20_000, seed=0):
    """Sixteen yes/no attributes, each of which is a common one with probability *common*; a rare class."""
    random = np.random.default_rng(seed)
    ill = random.random(number) < 0.1
    usual = random.random((number, 16)) < np.where(ill, 0.7, 0.4)[:, None]
    one = random.random(number) < np.where(ill, 0.7, 0.4)
    codes = np.where(random.random((number, 16)) < common, one[:, None], usual)
    return np.column_stack([codes, ill]).astype(np.int64)


YES_NO = ad.Schema({**{f"x{place}": ad.Boolean() for place in range(16)}, "ill": ad.Boolean()})


@pytest.mark.parametrize(("common", "correlation"), [(0.0, 0.0), (0.5, 0.25), (0.9, 0.81)])
def test_repetition_is_the_correlation_of_scores_within_a_class(common, correlation):
    codes = repeating(common)
    counts = [np.stack([np.bincount(codes[codes[:, -1] == c, j], minlength=2) for c in (0, 1)], 1) for j in range(16)]
    prior = np.array([0.9, 0.1])
    evidence = [Evidence.of(table.astype(float), prior, 0.01) for table in counts]
    target = Target.of(YES_NO, "ill")
    for epsilon, wanted, within in ((Fraction(10), correlation, 0.07), (Fraction(1, 10**5), USUAL, 0.01)):
        found = repetition(kernel(codes, epsilon, 0, YES_NO).root, target, range(16), evidence, prior, epsilon)
        assert found == pytest.approx(wanted, abs=within)


def test_attributes_that_say_nothing_repeat_nothing():
    nothing = Evidence.of(np.zeros((3, 2)), np.array([0.5, 0.5]), 10.0)
    something = Evidence.of(np.array([[900.0, 10.0], [10.0, 900.0]]), np.array([0.5, 0.5]), 1.0)
    assert others([]) == others([nothing]) == others([nothing] * 3) == 0
    assert others([something, nothing]) == pytest.approx(0, abs=1e-6)
    assert others([something] * 3) == pytest.approx(2)


def test_more_budget_does_not_trust_repeated_attributes_more():
    codes, new = repeating(0.6), repeating(0.6, 5_000, seed=1)
    rights = []
    for epsilon in ("0.1", 10):
        opened = kernel(codes, epsilon, 0, YES_NO)
        model = learner_named("profiled-tree").fit(opened.root, "ill", epsilon)
        rights.append((model.places(new[:, :16]) == new[:, 16]).mean())
    assert rights[1] >= max(rights[0], (new[:, 16] == 0).mean()) - 0.003
    naive = learner_named("naive-bayes").fit(kernel(codes, 10, 0, YES_NO).root, "ill", 10)
    assert (naive.places(new[:, :16]) == new[:, 16]).mean() < rights[1] - 0.03


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("profiles", [], "a profile for each"),
        ("profiles", [[[2.0] * 3]] * 3, "shape"),
        ("split", [0.5], "whole numbers"),
        ("more", 1, "has the keys"),
    ],
)
def test_strangers_are_refused(key, value, words):
    plain = copy.deepcopy(fitted(CODES, "profiled-tree", {}).to_plain())
    plain["learnt"][key] = value
    with pytest.raises(BadInput, match=words):
        Model.from_plain(plain)


def test_profiles_are_no_more_than_one():
    plain = fitted(CODES, "profiled-tree", {}).to_plain()
    plain["learnt"]["profiles"][1] = [[1.5] * 3] * 2
    with pytest.raises(BadInput, match="from 0 to 1"):
        Model.from_plain(plain)


def test_too_little_budget_is_refused_before_anything_is_spent():
    opened = kernel(CODES, "0.000001")
    with pytest.raises(BadInput, match="noise of more than a million rows"):
        learner_named("profiled-tree").fit(opened.root, "ill", "0.000001")
    assert opened.budget.spent == 0


def test_identifiers_in_the_table_do_not_end_a_fit_that_is_paid_for():
    schema = ad.Schema({"who": ad.Identifier(), "age": ad.Integer(0, 2), "ill": ad.Boolean()})
    rows = {"who": [1, 2, 3], "age": [0, 1, 2], "ill": [True, False, True]}
    vectors = class_vectors(ad.Kernel(pyarrow.table(rows), schema=schema, epsilon=1).root, ["age"], "ill")
    assert vectors["age"].shape == (2, 3)
