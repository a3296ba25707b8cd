"""Workloads that ask nothing, or in absurd numbers, with every plan: what is charged is answered."""

from __future__ import annotations

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.plans.registry import plan_named
from adyton.queries import Explicit, Identity, Queries, Total, Weighted

SHAPE = (6,)
WORKLOADS: dict[str, Queries] = {
    "nothing": Explicit(SHAPE, [], [], [], 3),
    "nothing, weighted": Weighted(Identity(SHAPE), np.zeros(6)),
    "one cell of one query": Explicit(SHAPE, [1], [5], [1], 3),
    "less than nothing": Explicit(SHAPE, [0], [0], [-5], 1),
    "large": Explicit(SHAPE, [0], [0], [1 << 40], 1),
    "too large": Explicit(SHAPE, [0], [0], [1 << 62], 1),
    "light": Weighted(Identity(SHAPE), np.full(6, 1e-12)),
    "heavy": Weighted(Identity(SHAPE), np.full(6, 1e12)),
}


@pytest.mark.parametrize("name", ad.algorithms(1))
def test_what_is_charged_is_answered(name):
    for words, workload in WORKLOADS.items():
        for epsilon in ("1", "1e-11") if words in ("large", "light", "heavy") else ("1e-11",):
            kernel = ad.Kernel.on_vector(np.arange(6), epsilon=1)
            try:
                estimate = plan_named(name).estimate(kernel.root, workload, epsilon)
            except BadInput:
                assert kernel.spent == 0, words
            else:
                assert np.isfinite(estimate).all(), words


@pytest.mark.parametrize("name", ["mwem", "mwem*", "mwem-b", "mwem-c", "mwem-d"])
def test_a_single_cell_with_a_large_coefficient(name):
    """Multiplicative weights lost all mass there, and divided by it after the debit."""
    for _ in range(3):
        kernel = ad.Kernel.on_vector(np.array([3]), epsilon=1)
        assert np.isfinite(plan_named(name).estimate(kernel.root, Explicit(1, [0], [0], [1 << 20], 1), 1)).all()


def test_a_workload_that_asks_nothing_is_named():
    with pytest.raises(BadInput, match="asks nothing: all its coefficients are 0"):
        plan_named("identity").check(WORKLOADS["nothing"])
    with pytest.raises(BadInput, match=r"coefficients above 2\^40"):
        plan_named("identity").check(WORKLOADS["too large"])
    with pytest.raises(BadInput, match="weights other than 0 must be from 1e-12"):
        Weighted(Total(2), 1e-30)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("uniform-grid", {"rows_per_box": "1e-300"}),
        ("adaptive-grid", {"rows_per_small_box": "1e-300"}),
        ("hybrid-tree", {"sparse": "1e300"}),
        ("hybrid-tree", {"median_rounds": 13}),
    ],
)
def test_absurd_options_are_refused_before_the_total_is_bought(name, options):
    kernel = ad.Kernel.on_vector(np.ones((4, 4), dtype=np.int64), epsilon=1)
    with pytest.raises(BadInput, match=next(iter(options))):
        plan_named(name, **options).estimate(kernel.root, Identity((4, 4)), 1)
    assert kernel.spent == 0
