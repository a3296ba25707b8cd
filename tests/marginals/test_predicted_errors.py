"""What linear plans are said to err by on tables of many attributes, and by what they do: within a tenth."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from rough_tables import SIDES, rows, table

import adyton as ad
from adyton.kernel.kernel import Kernel
from adyton.marginals.program import TableSet, program_named
from adyton.plans import plan_named, simulate
from adyton.queries import Marginals, Weighted
from adyton.solving.residuals import residuals

DOMAIN = (6, 3, 2, 4)
PAIRS = Marginals(DOMAIN, way=2)
WEIGHTED = Weighted(PAIRS, np.repeat(np.arange(1.0, 7.0), PAIRS.sizes))


@pytest.mark.parametrize("workload", [PAIRS, WEIGHTED], ids=["pairs", "weighted pairs"])
@pytest.mark.parametrize("name", ["identity", "privelet", "hb-striped", "hdmm", "workload"])
def test_linear_plans_err_as_they_say(name, workload):
    """400 runs on at least 12 independent answers: a tenth is more than five deviations of the ratio."""
    x = np.random.default_rng(1).poisson(3, DOMAIN)
    expected = plan_named(name).expected_error(workload, 1)
    assert expected.kind == "exact"
    runs = simulate(name, x, workload, 1, seed=2, trials=400)
    measured = np.sqrt(np.square(workload @ (runs - x)).sum(axis=-1).mean())
    assert measured == pytest.approx(expected.total, rel=0.1)


def test_residual_least_squares_err_as_they_say():
    """Over all pairs, with the noise that the kernel adds to the tables that all-pairs measures."""
    schema = ad.Schema({name: ad.Integer(0, side - 1) for name, side in SIDES.items()})
    wanted, data = TableSet.of(schema, list(itertools.combinations(SIDES, 2))), rows()
    squared = expected = 0.0
    for seed in range(25):
        kernel = Kernel.simulated_table(data, schema, epsilon=1, seed=seed)
        fit = residuals(SIDES, program_named("all-pairs").measure(kernel.root, wanted, Fraction(1)).measured)
        for pair in wanted.groups:
            truth = table(data, pair)
            squared += float(np.square(fit.table(*pair) - truth).sum())
            expected += fit.variance(*pair) * truth.size
    assert np.sqrt(squared / expected) == pytest.approx(1, abs=0.1)
