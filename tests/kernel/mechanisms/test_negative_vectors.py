"""Linear maps make cells negative: every claim about vectors holds for those, and every mechanism takes them."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MECHANISMS, DawaPartition, DeclaredFunction, VectorLaplace
from adyton.kernel.mechanisms.published.statistic import BoundFunction, Statistic
from adyton.kernel.shapes import VectorShape
from adyton.queries import Explicit
from adyton_lab.audit.enumeration import selection_loss
from adyton_lab.audit.pairs import signed_pairs

CASES = [case for mechanism in MECHANISMS if mechanism.takes is VectorShape for case in mechanism.audit_cases()]
EXACT = [case for case in CASES if case.enumerable]
STATISTICS = [case for case in CASES if isinstance(case.mechanism, Statistic)]
LAPLACE = [case for case in CASES if isinstance(case.mechanism, VectorLaplace)]
DAWA = [case for case in CASES if isinstance(case.mechanism, DawaPartition)]


def test_no_mechanism_is_forgotten():
    assert len(EXACT) + len(STATISTICS) + len(LAPLACE) + len(DAWA) == len(CASES)


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_choices_lose_at_most_epsilon(case):
    loss, _ = selection_loss(case, F(1), signed_pairs(case.domain, 4, seed=1))
    assert loss <= 1 + 1e-9


@pytest.mark.parametrize("case", STATISTICS, ids=lambda case: case.name)
def test_statistics_move_by_their_sensitivity_at_most(case):
    cells = int(np.prod(case.domain))
    for pair in signed_pairs(case.domain, 300):
        moved = case.mechanism.steps_in(pair.left) - case.mechanism.steps_in(pair.right)
        assert abs(moved) <= case.mechanism.sensitivity(cells)


@pytest.mark.parametrize("case", LAPLACE, ids=lambda case: case.name)
def test_answers_cost_at_most_epsilon(case):
    queries, scales = case.mechanism.queries, case.mechanism.scales(F(1))
    above, below = (np.broadcast_to(part, queries.count).tolist() for part in (scales.numerator, scales.denominator))
    for pair in signed_pairs(queries.domain, 40):
        moved = np.abs(queries @ pair.left - queries @ pair.right).tolist()
        assert sum(move * F(rate, one) for move, rate, one in zip(moved, below, above, strict=True)) <= 1


@pytest.mark.parametrize("case", DAWA, ids=lambda case: case.name)
def test_costs_of_buckets_move_by_their_sensitivity_at_most(case):
    sizes = case.mechanism.sizes(4)
    grid, moves = case.mechanism.grid(sizes), case.mechanism.sensitivities(sizes)
    for pair in signed_pairs((4,), 300):
        left, right = (case.mechanism._deviations(side, sizes, grid) for side in (pair.left, pair.right))
        assert (np.abs(left - right).max(axis=1) <= moves).all()


def test_they_run_behind_a_linear_map():
    """Differences of neighbouring cells, and cells with their signs changed."""
    bound = [case.mechanism for case in CASES if isinstance(case.mechanism, BoundFunction)]
    trusted = [one.declared for one in bound]
    kernel = Kernel.simulated(np.arange(9) ** 2, epsilon=1000, seed=0, trusted=trusted)
    for case in CASES:
        sent = DeclaredFunction(case.mechanism.name) if case.mechanism in bound else case.mechanism
        cells = int(np.prod(case.domain))
        if len(case.domain) == 1:
            rows = np.eye(cells, 9, 1, dtype=int) - 2 * np.eye(cells, 9, dtype=int)
            kernel.root.map(Explicit.from_rows(rows)).select(sent, 1)
