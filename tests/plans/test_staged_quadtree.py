"""A quadtree that grows in stages, and the partition into even blocks: what they spend, and that they are worth it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.plans import plan_named, simulate
from adyton.queries import Identity, RandomRanges, Total


def towns(side, rows, seed):
    """Rows around a few places of a map."""
    random = np.random.default_rng(seed)
    centres = random.integers(0, side, (6, 2))[random.integers(0, 6, rows)]
    place = np.clip(np.rint(centres + random.normal(0, side / 40, (rows, 2))), 0, side - 1).astype(int)
    return np.bincount(place @ [side, 1], minlength=side * side).reshape(side, side)


def error(name, x, workload, trials=12):
    return np.linalg.norm(workload @ (simulate(name, x, workload, 1, seed=1, trials=trials) - x), axis=-1).mean()


@pytest.mark.parametrize(("rows", "factor"), [(50, 0.8), (1000, 0.85)])
def test_boxes_on_scarce_maps(rows, factor):
    """0.59 and 0.67 of the error of levels that are measured everywhere, on 30 seeds."""
    x, boxes = towns(128, rows, 0), RandomRanges((128, 128), 400, seed=2, kind="any-length")
    assert error("staged-quadtree", x, boxes) < factor * error("denoised-tree", x, boxes)


@pytest.mark.full
def test_boxes_on_full_maps():
    """With plenty of rows it is the plan that measures whole levels, less the hundredth that the total costs."""
    x = np.random.default_rng(0).integers(0, 200, (32, 32))
    boxes = RandomRanges((32, 32), 400, seed=2, kind="any-length")
    assert error("staged-quadtree", x, boxes, 60) < 1.2 * error("denoised-tree", x, boxes, 60)


DOMAINS, BUDGETS, COUNTS = (
    [(5, 3), (1, 1), (1, 7), (7, 1), (12, 12), (3, 100)],
    ["1/1000000", "0.3", "1000"],
    [0, 2, 10**12],
)
MAPS = [
    pytest.param(domain, epsilon, count, marks=[] if not a or (a + b + c) % 3 == 0 else [pytest.mark.full])
    for a, domain in enumerate(DOMAINS)
    for b, epsilon in enumerate(BUDGETS)
    for c, count in enumerate(COUNTS)
]
"""All budgets and counts on the first map; on each other one, every budget and count once; in the long run all."""


@pytest.mark.parametrize(("domain", "epsilon", "count"), MAPS)
@pytest.mark.parametrize("name", ["staged-quadtree", "dyadic"])
def test_any_map_costs_exactly_what_was_asked(name, domain, epsilon, count):
    x = np.random.default_rng(1).integers(0, count + 1, domain)
    for workload in (Identity(domain), Total(domain), RandomRanges(domain, 5, seed=0)):
        for total in (None, int(x.sum())):
            kernel = Kernel.simulated(x, epsilon=1000, seed=2)
            estimate = plan_named(name, total=total).estimate(kernel.root, workload, epsilon)
            assert kernel.spent == Fraction(epsilon)
            assert estimate.shape == domain
            assert np.isfinite(estimate).all()
    if epsilon == "1000":
        assert simulate(name, x, Identity(domain), epsilon, seed=0) == pytest.approx(x, abs=0.05)


@pytest.mark.parametrize("share", [0, 1, -1, float("nan"), "half"])
def test_shares_that_are_refused_cost_nothing(share):
    kernel = Kernel.simulated(np.ones((4, 4), dtype=int), epsilon=1, seed=0)
    with pytest.raises(BadInput, match="total_share"):
        plan_named("staged-quadtree", total_share=share).estimate(kernel.root, Identity((4, 4)), 1)
    with pytest.raises(BadInput, match="partition_share"):
        plan_named("dyadic", partition_share=share).estimate(kernel.root, Identity((4, 4)), 1)
    assert kernel.spent == 0


@pytest.mark.parametrize("domain", [(64, 64), (60, 70), (4096,)], ids=str)
def test_even_blocks_are_found_on_the_tree(domain):
    """Two or four large even blocks: at most a tenth of the error of counting every cell."""
    x = np.zeros(domain, dtype=np.int64)
    quarter = tuple(slice(side // 2, side) for side in domain)
    x[quarter] = 20
    errors = simulate("dyadic", x, Identity(domain), 1, seed=1, trials=5) - x
    assert np.linalg.norm(errors.reshape(5, -1), axis=1).mean() < 0.1 * np.sqrt(2 * x.size)
