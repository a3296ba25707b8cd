"""EFPA: what it keeps, what it spends, and what it refuses."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import CoefficientCount
from adyton.plans import plan_named, simulate
from adyton.queries import Identity, Prefix
from adyton.queries.cosines import Cosines


def error(name, x, epsilon, trials=20, **options):
    workload = Identity(x.shape)
    return np.linalg.norm(simulate(name, x, workload, epsilon, seed=1, trials=trials, **options) - x, axis=1).mean()


def test_smooth_data_need_few_waves():
    """A slow wave with much noise around it: EFPA keeps a few waves and is far better than cell by cell."""
    x = np.rint(200 * (1 + np.cos(np.pi * (np.arange(1024) + 0.5) / 256))).astype(np.int64)
    chosen = [
        Kernel.simulated(x, epsilon=1, seed=seed).root.select(CoefficientCount(F(1, 2)), F(1, 2)) for seed in range(20)
    ]
    assert 9 <= np.median(chosen) <= 40
    assert error("efpa", x, 1) < 0.4 * error("identity", x, 1)


def test_a_small_part_for_the_choice_is_better_than_half():
    """Counts that need many waves: the budget is better spent on their coefficients."""
    x = np.random.default_rng(0).integers(0, 2000, 128) * (np.arange(128) % 3 == 0)
    assert error("efpa", x, 1) < 0.7 * error("efpa", x, 1, selection_share="1/2")


def test_the_noise_is_that_of_the_measured_waves(monkeypatch):
    """With the choice fixed, the error is the closed form: √(2k)·s/ε₂, s the sensitivity in units of the grid."""
    monkeypatch.setattr(CoefficientCount, "choose", lambda self, values, epsilon, noise: np.array([12]))
    x = np.zeros(256, dtype=np.int64)
    waves = Cosines(256, 12)
    expected = np.sqrt(2 * 12) * waves.sensitivity() / 2**waves.bits / 0.875
    measured = np.sqrt(np.square(simulate("efpa", x, Identity(256), 1, seed=0, trials=1500)).sum(axis=1).mean())
    assert measured == pytest.approx(expected, rel=0.08)
    assert expected < 0.7 * np.sqrt(2 * 12) * np.sqrt(12) / 0.875  # the paper's √k for k waves


def test_both_phases_are_paid_from_one_budget():
    spent = []
    honest = Kernel.measure

    class Listening(Kernel):
        def measure(self, source, operator, epsilon):
            spent.append((type(operator).__name__, epsilon))
            return honest(self, source, operator, epsilon)

    kernel = Listening.on_vector(np.arange(50), epsilon=1)
    plan_named("efpa", selection_share="1/5").estimate(kernel.root, Prefix(50), F(1, 3))
    assert spent == [("CoefficientCount", F(1, 15)), ("VectorLaplace", F(4, 15))]
    assert kernel.spent == F(1, 3)


@pytest.mark.parametrize("given", [0, 1, -1, "half", float("nan"), None])
def test_bad_shares_spend_nothing(given):
    kernel = Kernel.simulated([1, 2, 3], epsilon=1, seed=0)
    with pytest.raises(BadInput, match="selection_share"):
        plan_named("efpa", selection_share=given).estimate(kernel.root, Identity(3), 1)
    assert kernel.spent == 0


def test_reduced_domains():
    workload = Prefix(8)
    kernel = Kernel.simulated(np.arange(8), epsilon=1, seed=0)
    assert plan_named("efpa", reduce=True).estimate(kernel.root, workload, 1).shape == (8,)
    assert kernel.spent == 1
