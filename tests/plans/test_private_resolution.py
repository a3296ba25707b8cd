"""The private resolution: blocks for little data, cells for much, and exactly ε on every path."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import Resolution
from adyton.plans import plan_named, simulate
from adyton.plans.published.strategies import _noise
from adyton.queries import Prefix

CELLS = 1024


class Listening(Kernel):
    """A kernel that writes down what is asked of it."""

    def measure(self, source, operator, epsilon):
        answer = super().measure(source, operator, epsilon)
        self.asked = [*getattr(self, "asked", []), (operator, epsilon, answer)]
        return answer


def run(x, epsilon, **options):
    kernel = Listening.on_vector(x, epsilon=epsilon)
    estimate = plan_named("private-resolution", **options).estimate(kernel.root, Prefix(x.size), epsilon)
    assert kernel.spent == epsilon
    return estimate, kernel.asked


def shaped(rows, cells=CELLS, seed=0):
    return np.random.default_rng(seed).multinomial(rows, np.full(cells, 1 / cells))


@pytest.mark.parametrize("size", [1, 16])
def test_both_paths_cost_exactly_epsilon(monkeypatch, size):
    monkeypatch.setattr(Resolution, "choose", lambda self, values, epsilon, noise: np.array([size]))
    estimate, asked = run(shaped(20), F(1, 3), total=20)
    assert isinstance(asked[0][0], Resolution)
    assert asked[0][1] == F(1, 100)
    measured = [operator.queries.cells for operator, *_ in asked[1:]]
    if size == 16:
        np.testing.assert_allclose(np.ptp(estimate.reshape(-1, 16), axis=1), 0, atol=1e-9)
        assert measured == [CELLS // 16]
    else:
        assert len(measured) > 1


def test_plenty_of_data_need_no_choice():
    _, asked = run(shaped(10**6), F(1))
    assert not any(isinstance(operator, Resolution) for operator, *_ in asked)


def test_small_domains_need_no_choice():
    for cells in (1, 2, 64, 127):
        _, asked = run(shaped(5, cells), F(1), total=5)
        assert not any(isinstance(operator, Resolution) for operator, *_ in asked)


def test_straight_data_are_seen_in_blocks_and_a_crowd_in_cells():
    """Thirty rows spread evenly; and a hundred thousand in one cell, with the threshold out of the way."""
    crowd = np.zeros(CELLS, dtype=np.int64)
    crowd[517] = 10**5
    options = {"selection_share": "0.5", "plenty": 10**7}
    sizes = [run(shaped(30), F(2), total=30, **options)[1][0][2] for _ in range(20)]
    assert sizes.count(16) > 10
    sizes = [run(crowd, F(2), total=10**5, **options)[1][0][2] for _ in range(5)]
    assert sizes == [1] * 5


@pytest.mark.full
def test_little_data_are_better_than_on_all_cells():
    """Prefix sums of 25 rows that crowd in a few of 4096 cells, at ε = 1: about a fifth less error, here."""
    shape = np.exp(-np.arange(4096) / 50)
    x = np.random.default_rng(0).multinomial(25, shape / shape.sum())
    workload = Prefix(4096)
    errors = [
        np.linalg.norm(workload @ (simulate(name, x, workload, 1, seed=3, trials=150) - x), axis=1).mean()
        for name in ("private-resolution", "staged-hierarchy")
    ]
    assert errors[0] < 0.97 * errors[1]


def test_noise_of_the_hierarchies():
    assert float(_noise(4096)) == pytest.approx(13.9, abs=0.1)  # root mean square a query
    assert float(_noise(64)) == pytest.approx(5.8, abs=0.1)


@pytest.mark.parametrize(
    ("option", "given"),
    [("selection_share", 0), ("selection_share", 1), ("total_share", 2), ("plenty", 0), ("plenty", "much")],
)
def test_bad_options_spend_nothing(option, given):
    kernel = Kernel.simulated(shaped(10), epsilon=1, seed=0)
    with pytest.raises(BadInput, match=option):
        plan_named("private-resolution", **{option: given}).estimate(kernel.root, Prefix(CELLS), 1)
    assert kernel.spent == 0


def test_tiny_and_large_budgets():
    for epsilon in ("1e-6", "1000"):
        assert np.isfinite(simulate("private-resolution", shaped(20), Prefix(CELLS), epsilon, seed=0)).all()
