"""P-HP: what it spends, what it refuses, and that clusters pay."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.plans import plan_named, simulate
from adyton.queries import Identity, Prefix


@pytest.mark.parametrize(
    "options",
    [{}, {"partition_share": "1/3"}, {"pick_share": 0.7}, {"levels": 1}, {"levels": 50}, {"price": 3}],
    ids=str,
)
@pytest.mark.parametrize("cells", [1, 2, 33])
def test_every_option_spends_exactly_epsilon(options, cells):
    kernel = Kernel.simulated(np.arange(cells), epsilon=1, seed=0)
    plan_named("php", **options).estimate(kernel.root, Prefix(cells), "1/3")
    assert kernel.spent == F(1, 3)


@pytest.mark.parametrize(
    "options",
    [{"partition_share": 0}, {"partition_share": 1}, {"pick_share": "x"}, {"levels": 0}, {"levels": 1.5}, {"price": 0}],
    ids=str,
)
def test_bad_options_spend_nothing(options):
    kernel = Kernel.simulated(np.arange(9), epsilon=1, seed=0)
    with pytest.raises(BadInput, match=next(iter(options))):
        plan_named("php", **options).estimate(kernel.root, Prefix(9), "1/3")
    assert kernel.spent == 0


def test_wide_steps_have_smaller_errors_than_cell_by_cell():
    """Three levels over 512 cells, four steps; 20 trials are enough to tell errors a factor apart."""
    x = np.repeat([0, 400, 30, 0], [200, 56, 156, 100])
    errors = {
        name: np.linalg.norm(simulate(name, x, Identity(512), "0.5", seed=1, trials=20) - x, axis=1).mean()
        for name in ("php", "identity")
    }
    assert errors["php"] < 0.5 * errors["identity"]


def test_cells_without_any_likeness_are_measured_one_by_one():
    """Then the error is that of the identity with three quarters of the budget, and no more."""
    x = np.random.default_rng(0).integers(0, 10**6, 256)
    estimates = simulate("php", x, Identity(256), 1, seed=2, trials=30)
    error = np.sqrt(np.square(estimates - x).sum(axis=1).mean())
    assert error == pytest.approx(np.sqrt(2 * 256) / 0.75, rel=0.1)
