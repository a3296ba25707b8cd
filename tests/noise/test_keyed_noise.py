"""Noise keyed by its place: replays that differ in one leaf see the same noise in all others."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import SplitChoice
from adyton.noise import KeyedNoise, SimulatedNoise
from adyton.queries import Identity
from adyton.schema import Integer, RowTree, Schema

SCHEMA = Schema({**{f"x{place}": Integer(0, 2) for place in range(5)}, "y": Integer(0, 1)})
CODES = np.random.default_rng(3).integers(0, 2, (300, 6))


def replay(second, seed=11):
    """A program that asks the leaves twice; node 1 splits on *second*, all others as they like."""
    kernel = Kernel.simulated_table(CODES, SCHEMA, epsilon=10, noise=KeyedNoise(seed))
    tree = RowTree.stump(SCHEMA.names[:5]).grow({0: "x0"}, SCHEMA)
    found = {}
    for level in range(2):
        chosen = kernel.root.choose_splits(SplitChoice(tree, tree.free(), "y"), F(1, 10))
        splits = {int(leaf): tree.attributes[place] for leaf, place in zip(tree.leaves, chosen, strict=True)}
        found |= {(level, tree.path(leaf)): name for leaf, name in splits.items()}
        tree = tree.grow(splits | ({1: second} if not level else {}), SCHEMA)
    leaves = kernel.root.leaves(tree, "y")
    noisy = leaves.measure(Identity(leaves.shape), F(1, 100)).answers.reshape(leaves.shape)
    true = np.array(
        [
            ((tree.leaf_numbers()[tree.node_of(CODES[:, :5])] == leaf)[:, None] & (CODES[:, 5:] == [0, 1])).sum(axis=0)
            for leaf in range(len(tree.leaves))
        ]
    )
    found |= {
        ("noise", tree.path(leaf)): tuple(row) for leaf, row in zip(tree.leaves, (noisy - true).tolist(), strict=True)
    }
    return found


def test_a_replay_with_one_leaf_changed_sees_the_same_noise_elsewhere():
    one, other = replay("x1"), replay("x2")
    elsewhere = [key for key in one if key[1][:1] != (("x0", 0),)]
    assert len(elsewhere) > 20
    assert {key: one[key] for key in elsewhere} == {key: other[key] for key in elsewhere}
    assert one != other
    assert replay("x1", seed=12) != one
    assert len({value for key, value in one.items() if key[0] == "noise"}) > 20


def test_the_same_place_again_gets_fresh_noise():
    parts = np.arange(50)
    for ask in (lambda noise: noise.at("here"), lambda noise: noise.at("here", parts), lambda noise: noise):
        noise = KeyedNoise(5)
        first, second = (ask(noise).discrete_laplace(100, 20) for _ in range(2))
        assert (first != second).mean() > 0.5
        assert np.array_equal(first, ask(KeyedNoise(5)).discrete_laplace(100, 20))


@pytest.mark.parametrize("scale", [F(1, 2), F(3), F(40)])
def test_its_law_is_that_of_simulated_noise(scale):
    """Mean and variance over 200,000 draws within 6 standard errors."""
    parts = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 500)
    draws = KeyedNoise(9).at("leaves", parts).discrete_laplace((1, 200_000), scale).astype(float)
    a = np.exp(-1 / float(scale))
    variance = 2 * a / (1 - a) ** 2
    assert abs(draws.mean()) < 6 * np.sqrt(variance / draws.size)
    spread = SimulatedNoise(2).discrete_laplace(200_000, scale).astype(float) ** 2
    assert abs((draws**2).mean() - variance) < 6 * spread.std() / np.sqrt(draws.size)
    columns = draws.reshape(500, 400)
    assert abs(np.corrcoef(columns[:20])[np.triu_indices(20, 1)]).max() < 6 / np.sqrt(400)


def test_choices_and_other_draws():
    parts = np.arange(6)
    noise = KeyedNoise(1).at("choices", parts)
    scores = np.tile([3, 1, 2], (6, 1))
    chosen = noise.permute_and_flips(scores, scores > 1, F(1, 10))
    assert set(chosen.tolist()) <= {0, 2}
    assert np.array_equal(
        KeyedNoise(1).at("choices", parts[::-1]).permute_and_flips(scores, scores > 1, F(1, 10)), chosen[::-1]
    )
    assert noise.discrete_laplace(7, 3).shape == (7,)  # seven draws do not fall into six parts
    assert 0 <= noise.uniform_integers(1, 10)[0] < 10
    assert noise.permute_and_flip([0, 10_000], 1) == 1
    with pytest.raises(BadInput, match="seed"):
        KeyedNoise(-1)
