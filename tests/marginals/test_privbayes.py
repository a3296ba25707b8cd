"""PrivBayes: products of conditional tables, least squares on the same tables, and a network that fits the rows."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.marginals import privbayes
from adyton.marginals.privbayes import BayesNetwork
from adyton.marginals.program import TableSet, program_named
from adyton.queries.measurement import MeasuredTable

SIDES = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 2}
SCHEMA = ad.Schema({name: ad.Integer(0, side - 1) for name, side in SIDES.items()})
EVERY = TableSet.of(SCHEMA, list(itertools.combinations(SIDES, 2)))
GROUPS = (("a", "b"), ("a", "b", "d"), ("b", "c", "d"), ("a", "c", "e"))


def rows(count=4000):
    """b follows from a, d from a and b together, e from c; c from nothing."""
    random = np.random.default_rng(8)
    a, c = random.integers(0, 2, (2, count))
    b = (a + (random.random(count) < 0.2)) % 3
    d = (2 * a + b + (random.random(count) < 0.1)) % 4
    return np.column_stack([a, b, c, d, c ^ (random.random(count) < 0.1)])


def noisy_tables():
    """With some cells that are empty, and some below 0."""
    random = np.random.default_rng(4)
    return [
        MeasuredTable(group, random.integers(-3, 30, [SIDES[name] for name in group]), 2.0 + number)
        for number, group in enumerate(GROUPS)
    ]


def joint(network):
    """All attributes at once, as a product that is written out."""
    letters = dict(zip(SIDES, "abcde", strict=True))
    terms = ["".join(letters[name] for name in factor.names) for factor in network.factors]
    return np.einsum(",".join(terms) + "->abcde", *(factor.chances for factor in network.factors))


def test_tables_are_products_of_the_conditional_ones(monkeypatch):
    network = BayesNetwork.of(SIDES, noisy_tables(), 200.0)
    whole, names = joint(network), list(SIDES)
    assert whole.sum() == pytest.approx(1)
    for group in (("d",), ("e", "b"), ("d", "a"), ("c", "e", "a"), tuple(SIDES)):
        rest = tuple(axis for axis, name in enumerate(names) if name not in group)
        order = [[name for name in names if name in group].index(name) for name in group]
        expected = whole.sum(axis=rest).transpose(order)
        assert np.allclose(network.table(*group), expected, atol=1e-12)
        with monkeypatch.context() as patch:  # as where attributes cannot be summed out one by one
            patch.setattr(privbayes, "MOST_STEP", 0)
            patch.setattr(privbayes, "DRAWN", 1 << 14)
            counted = BayesNetwork(network.sides, network.factors).table(*group)
            assert np.abs(counted - expected).sum() < 0.1  # always the same rows
    with pytest.raises(BadInput, match="no measured table has 'e'"):
        BayesNetwork.of(SIDES, noisy_tables()[:3], 200.0)


def test_least_squares_is_that_of_the_whole_domain():
    """Generalised least squares of smallest norm, over 96 cells."""
    tables = noisy_tables()
    found = program_named("privbayes-ls").estimate(EVERY, tables)
    cells = np.array(list(np.ndindex(*SIDES.values())))
    matrix, answers = [], []
    for one in tables:
        axes, shape = [list(SIDES).index(name) for name in one.group], [SIDES[name] for name in one.group]
        places = np.ravel_multi_index(cells[:, axes].T, shape)
        matrix.append(np.eye(math.prod(shape))[:, places] / np.sqrt(one.variance))
        answers.append(one.counts.ravel() / np.sqrt(one.variance))
    solved = np.linalg.lstsq(np.concatenate(matrix), np.concatenate(answers), rcond=1e-10)[0].reshape(*SIDES.values())
    for one, other in itertools.combinations(range(5), 2):
        rest = tuple(axis for axis in range(5) if axis not in (one, other))
        names = list(SIDES)[one], list(SIDES)[other]
        assert np.allclose(found.squares.table(*names, fill=True), solved.sum(axis=rest), atol=1e-9)
        assert found.model.table(*names).counts.min() >= 0


def test_a_network_is_chosen_and_followed():
    data = rows()
    errors = {}
    for name in ("privbayes", "privbayes-ls"):
        kernel = Kernel.simulated_table(data, SCHEMA, epsilon=4, seed=3)
        program = program_named(name)
        outcome = program.measure(kernel.root, EVERY, 4)
        assert kernel.remaining == 0
        assert ("a", "b", "d") in [one.group for one in outcome.measured]
        assert outcome.bought[0].value == pytest.approx(len(data), abs=300)
        model, off = program.estimate(EVERY, outcome.measured).model, []
        for one, other in EVERY.pairs:
            counts = np.zeros((SIDES[one], SIDES[other]))
            np.add.at(counts, tuple(data[:, list(SIDES).index(name)] for name in (one, other)), 1)
            off.append(np.abs(model.table(one, other).counts - counts).sum() / 2 / len(data))
        errors[name] = np.mean(off)
    assert errors["privbayes"] < 0.02
    assert errors["privbayes-ls"] < 0.2  # pairs that no table has are taken to be even


def test_few_rows_have_no_parents_and_a_public_number_is_not_bought():
    kernel = Kernel.simulated_table(rows(20), SCHEMA, epsilon=1, seed=3)
    outcome = program_named("privbayes", rows=20).measure(kernel.root, EVERY, Fraction(1, 2))
    assert {one.group for one in outcome.measured} == set(EVERY.singles)
    assert outcome.bought == ()
    assert kernel.remaining == Fraction(1, 2)
    assert program_named("privbayes").estimate(EVERY, outcome.measured).model.table("a", "e").how == "independent"
    for wrong in ({"parents": 0}, {"parents": 5}, {"choosing": 1}, {"rows": -1}):
        with pytest.raises(BadInput):
            program_named("privbayes", **wrong)
