"""A model of pairs: any table and how it was got, its forest, its JSON."""

import json

import numpy as np
import pytest
from rough_tables import PAIRS, SIDES, measured, rows, table

from adyton.errors import BadInput
from adyton.marginals.estimating import estimated
from adyton.marginals.pair_model import Forest, PairModel, expected_errors, mutual_information, total_variation

CHAIN = (("a", "b"), ("b", "c"), ("d", "e"))


@pytest.fixture(scope="module")
def data():
    return rows()


@pytest.fixture(scope="module")
def model(data):
    singles = {name: table(data, (name,)) for name in SIDES}
    return PairModel.of(singles, {pair: table(data, pair) for pair in CHAIN}, {("a", "b"): 4.0})


def test_forest_is_the_heaviest():
    weights = {("a", "b"): 3.0, ("b", "c"): 2.0, ("a", "c"): 2.5, ("c", "d"): 0.1}
    forest = Forest.heaviest("abcd", weights)
    assert forest.pairs == (("a", "b"), ("a", "c"), ("c", "d"))
    assert forest.path("b", "d") == ("b", "a", "c", "d")
    assert forest.path("b", "b") == ("b",)
    order = Forest("xyz", (("x", "z"),)).order()
    assert order == [(None, "x"), ("x", "z"), (None, "y")]


def test_mutual_information_of_known_tables():
    assert mutual_information(np.outer([1.0, 2.0], [3.0, 4.0])) == pytest.approx(0, abs=1e-12)
    assert mutual_information(np.diag([1.0, 1.0, 2.0])) == pytest.approx(1.5 * np.log(2))
    assert mutual_information(np.zeros((2, 2))) == 0


def test_each_table_says_how_it_was_got(model, data):
    expected = {("a", "b"): "measured", ("c", "a"): "by a path", ("a", "f"): "independent", ("e", "d"): "measured"}
    for group, how in expected.items():
        assert model.table(*group).how == how
    assert model.table("c", "e", "b").how == "fitted to pairs"
    assert model.table("a", "d", "f").how == "independent"
    np.testing.assert_allclose(model.table("e", "d").counts, table(data, ("e", "d")))
    assert model.table().counts == pytest.approx(len(data))
    np.testing.assert_allclose(model.table("d").counts, table(data, ("d",)))


def test_a_path_multiplies_conditionals(model, data):
    one, two = table(data, ("a", "b")), table(data, ("b", "c"))
    through = one @ (two / table(data, ("b",))[:, None])
    np.testing.assert_allclose(model.table("c", "a").counts, through.T)
    assert np.abs(through - table(data, ("a", "c"))).sum() < 0.1 * len(data)  # c depends on a through b alone


def test_three_attributes_have_their_pairs(model):
    found = model.table("c", "a", "b").counts
    np.testing.assert_allclose(found.sum(axis=0), model.table("a", "b").counts, atol=1e-3)
    np.testing.assert_allclose(found.sum(axis=1), model.table("c", "b").counts, atol=1e-3)
    chain = model.table("a", "b").counts[:, :, None] * (model.table("b", "c").counts / model.singles["b"][:, None])
    np.testing.assert_allclose(model.table("a", "b", "c").counts, chain, atol=1e-3)


def test_expected_error_is_known_of_measured_pairs(model):
    shrunk = np.minimum(4.0, model.pairs["a", "b"]).sum() / (2 * model.total)
    assert total_variation(model, ("a", "b")) == pytest.approx(shrunk)
    assert total_variation(model, ("b", "c")) is None  # its noise is unknown
    assert total_variation(model, ("a", "f")) is None


def test_every_pair_has_an_expected_error(data):
    """Chosen pairs are measured, the others follow: expected errors are near the true ones of the former; of the
    others there is a limit, and nothing without a look."""
    noisy = measured(data, [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("f",)], epsilon=0.1)
    found = estimated(SIDES, noisy).model
    even = PairModel.of(found.singles, {})
    beta = float(np.mean([np.abs(table(data, pair) - even.predicted(pair)).sum() for pair in PAIRS]))
    expected, alone = expected_errors(found, PAIRS, (beta, 0.0)), expected_errors(found, PAIRS)
    truth = {pair: np.abs(found.pair(pair)[0] - table(data, pair)).sum() / (2 * len(data)) for pair in PAIRS}
    for chosen in (True, False):
        some = [pair for pair in PAIRS if (pair in found.pairs) == chosen]
        ratio = np.mean([expected[pair].total_variation for pair in some]) / np.mean([truth[pair] for pair in some])
        assert 0.5 < ratio < (2 if chosen else 8)
        assert all(expected[pair].limit == (not chosen) == (pair not in alone) for pair in some)
    squared = sum(float(np.square(found.pair(pair)[0] - table(data, pair)).sum()) for pair in PAIRS)
    assert 0.5 < np.sqrt(sum(one.squared for one in expected.values()) / squared) < 8
    # more dependence means larger errors
    assert all(
        one.total_variation <= other.total_variation
        for one, other in zip(expected.values(), expected_errors(found, PAIRS, (3 * beta, 0.0)).values(), strict=True)
    )


def test_json_gives_the_same_model(model):
    again = PairModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.forest == model.forest
    for pair in PAIRS:
        np.testing.assert_array_equal(again.pair(pair)[0], model.pair(pair)[0])
    assert again.errors == model.errors


@pytest.mark.parametrize(
    "change",
    [{"form": "other"}, {"singles": {"a": [1, -1]}}, {"pairs": [{"group": ["a", "b"], "counts": [[1]]}]}, {"pairs": 3}],
)
def test_other_json_is_refused(model, change):
    with pytest.raises(BadInput, match="not a pair model"):
        PairModel.from_dict(model.to_dict() | change)


def test_what_cannot_be_asked_is_refused(model):
    with pytest.raises(BadInput, match="no attribute 'x'"):
        model.table("a", "x")
    with pytest.raises(BadInput, match="twice"):
        model.table("a", "a")
    wide = PairModel.of({name: np.ones(300) for name in "abc"}, {})
    with pytest.raises(BadInput, match="27,000,000 cells"):
        wide.table("a", "b", "c")
