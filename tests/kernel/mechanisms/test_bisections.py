"""The bisections of P-HP: exact deviations, the law of the choice, its loss, and mutants that lose more."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from selection_laws import ONE_EPSILON, permute_and_flip_law

from adyton.errors import BadInput
from adyton.kernel.counts import PrivateVector
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import AuditCase, Bisections
from adyton.kernel.mechanisms.published import bisections
from adyton.kernel.shapes import VectorShape
from adyton.noise import ExactNoise, SimulatedNoise
from adyton.session.wire import decode, encode
from adyton_lab.audit.enumeration import enumerate_distribution, selection_loss
from adyton_lab.audit.pairs import Pair, vector_pairs
from exact_laws import loses_more
from over_cases import over

GRID = bisections.GRID


def deviation(counts):
    """½ Σ |x − mean| in fractions."""
    counts = [int(count) for count in counts]
    mean = F(sum(counts), len(counts))
    return sum(abs(count - mean) for count in counts) / 2


def on_grid(counts):
    return math.floor(GRID * deviation(counts))


def step_pairs(cells, high):
    """A low part, a high part, and one more row in the cell between them: it is above the mean of one side and below
    that of the other."""
    for place, start, mirror in itertools.product(range(1, cells - 1), (0, high // 2, high - 1), (1, -1)):
        left = np.array([0] * place + [start] + [high] * (cells - place - 1))
        right = left.copy()
        right[place] += 1
        yield Pair(f"step at {place} from {start}", left[::mirror].copy(), right[::mirror].copy())


def case_of(mechanism, cells):
    return AuditCase("case", mechanism, (cells,), PrivateVector.of)


COUNTS = [
    [0, 0, 0, 0, 0],
    [5],
    [7, 7, 0, 7, 7, 1, 0, 0, 3],
    [2**53, 2**53 + 1, 2**53 - 1, 0, 1, 2**53 + 1],
    [2**62, 2**62 - 1, 2**62 - 2, 3, 2**62 - 3, 0, 1],
    [10**30, 0, 10**30 + 1, 5],
    [-4, 3, -(2**40), 2**40, 0, 1],
    *np.random.default_rng(0).poisson([[0.3], [4.0], [1000.0]], (3, 40)).tolist(),
]


COUNTS += [[(1 << power) - 1] + [0] * 40 for power in range(44, 62, 2)]


@over(COUNTS)
def test_deviations_are_those_of_fractions(counts):
    values = np.array(counts, dtype=object)
    if max(map(abs, counts)) < 2**62:
        values = values.astype(np.int64)
    cuts = [on_grid(counts[:cut]) + on_grid(counts[cut:]) for cut in range(1, len(counts))]
    for given in (bisections._with_room(values), values.astype(object)):
        assert bisections._cut_deviations(given).tolist() == cuts
        boundaries = np.array(sorted({0, len(counts) // 3, len(counts) // 2, len(counts)}))
        parts = [counts[start:end] for start, end in itertools.pairwise(boundaries)]
        assert bisections._deviation(given, boundaries) == sum(map(on_grid, parts))


def test_large_counts_leave_64_bits_and_small_ones_stay():
    assert bisections._with_room(np.array([10**12, 0, 10**12])).dtype == np.int64
    assert bisections._with_room(np.array([2**60, 1])).dtype == object
    assert bisections._with_room(np.array([2**60, -(2**60)])).dtype == object


def test_one_row_changes_a_deviation_by_less_than_one():
    """All vectors of up to four cells with counts up to 4; 1 − 1/m is reached."""
    for cells in (1, 2, 3, 4):
        changes = [
            abs(deviation([*rest, value + 1]) - deviation([*rest, value]))
            for *rest, value in itertools.product(range(5), repeat=cells)
        ]
        assert max(changes) == 1 - F(1, cells)


@pytest.mark.parametrize("case", Bisections.audit_cases(), ids=lambda case: case.name)
@pytest.mark.parametrize("epsilon", ONE_EPSILON, ids=str)
def test_exact_loss_is_at_most_epsilon(case, epsilon):
    pairs = [*vector_pairs(case.domain, count=8), *itertools.islice(step_pairs(*case.domain, 40), 0, None, 5)]
    loss, _ = selection_loss(case, epsilon, pairs)
    assert loss <= float(epsilon) + 1e-9


# ---- mutants --------------------------------------------------------------------------------------------------------


class Mutant(Bisections):
    """Claim.  None.  Proof.  None.  ∎"""


class WithoutFactorTwo(Mutant):
    """Claim.  None.  Proof.  None.  ∎"""

    def choose(self, values, epsilon, noise):
        return super().choose(values, 2 * epsilon, noise)


class LevelsNotCharged(Mutant):
    """Claim.  None.  Proof.  None.  ∎"""

    def _level_budget(self, epsilon):
        return (1 - self.pick_share) * epsilon


class LastPickNotCharged(Mutant):
    """Claim.  None.  Proof.  None.  ∎"""

    def _level_budget(self, epsilon):
        return epsilon / self.levels


class PriceFromTheRows(Mutant):
    """Claim.  None.  Proof.  None.  ∎"""

    def choose(self, values, epsilon, noise):
        return replace(Mutant(self.levels, self.price * int(values.sum()), self.pick_share)).choose(
            values, epsilon, noise
        )


@pytest.mark.parametrize(
    ("mutant", "cells", "epsilon"),
    [
        (WithoutFactorTwo(1, F(2), F(1, 10)), 7, F(1)),
        (LevelsNotCharged(3, F(2), F(1, 100)), 5, F(3)),
        (LastPickNotCharged(1, F(2), F(9, 10)), 7, F(3)),
        (PriceFromTheRows(1, F(3), F(1, 2)), 5, F(1)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Mutant) else None,
)
def test_mutants_lose_more(mutant, cells, epsilon):
    pairs = [pair for pair in step_pairs(cells, 40) if pair.left[cells // 2] in (0, 39)]
    honest = Bisections(mutant.levels, mutant.price, mutant.pick_share)
    assert not loses_more(case_of(honest, cells), epsilon, pairs, float(epsilon) + 1e-9)
    assert loses_more(case_of(mutant, cells), epsilon, pairs, float(epsilon) + 1e-9)


def test_twice_the_deviation_with_the_same_sensitivity_loses_more(monkeypatch):
    """Σ |x − mean| has the sensitivity 2(1 − 1/m), not 1."""
    half_cuts, half = bisections._cut_deviations, bisections._deviation
    monkeypatch.setattr(bisections, "_cut_deviations", lambda counts: 2 * half_cuts(counts))
    monkeypatch.setattr(bisections, "_deviation", lambda counts, boundaries: 2 * half(counts, boundaries))
    assert loses_more(case_of(Bisections(1, F(2), F(1, 10)), 7), F(1), list(step_pairs(7, 40))[::3], 1 + 1e-9)


# ---- the law --------------------------------------------------------------------------------------------------------


def test_the_law_of_one_level():
    counts, epsilon, price, part = [0, 1, 6, 5], 2.0, 0.5, 0.25
    expected = {}
    cuts = permute_and_flip_law(
        [-on_grid(counts[:cut]) - on_grid(counts[cut:]) for cut in (1, 2, 3)], (1 - part) * epsilon / 2 / GRID
    )
    for cut, chance in zip((1, 2, 3), cuts, strict=True):
        halves = sorted({0, cut // 2, cut, (cut + 4) // 2, 4})
        partitions = [[0, 4], [0, cut, 4], halves, *([] if len(halves) == 5 else [[0, 1, 2, 3, 4]])]
        scores = [
            -sum(on_grid(counts[a:b]) for a, b in itertools.pairwise(ends)) - GRID * price * (len(ends) - 1)
            for ends in partitions
        ]
        for ends, pick in zip(partitions, permute_and_flip_law(scores, part * epsilon / 2 / GRID), strict=True):
            expected[tuple(ends)] = expected.get(tuple(ends), 0.0) + chance * pick
    mechanism = Bisections(1, F(1, 2), F(1, 4))

    def run(source):
        labels = mechanism.choose(np.array(counts), F(2), source).tolist()
        return (*(place for place in range(4) if place == 0 or labels[place] != labels[place - 1]), 4)

    found = enumerate_distribution(run)
    assert found.keys() == expected.keys()
    for ends, chance in expected.items():
        assert found[ends] == pytest.approx(chance, rel=1e-9)


@over([SimulatedNoise(0), ExactNoise()], COUNTS)
def test_any_counts_give_clusters_of_neighbours(noise, counts):
    values = np.array(counts, dtype=object)
    for levels in (1, min(3, len(counts))):
        labels = Bisections(levels, F(1, 7), F(1, 3)).choose(values, F(1, 3), noise)
        assert labels[0] == 0
        assert set(np.diff(labels).tolist()) <= {0, 1}


def test_clear_steps_are_found():
    counts = np.repeat([0, 1000, 0], [13, 8, 11])
    labels = Bisections(2, F(2), F(1, 2)).choose(counts, F(10), SimulatedNoise(0))
    assert {13, 21} <= set(np.flatnonzero(np.diff(labels)) + 1)


# ---- fields ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ((0, F(1), F(1, 2)), "levels"),
        ((5, F(1), F(1, 2)), "levels"),
        ((True, F(1), F(1, 2)), "levels"),
        ((1.5, F(1), F(1, 2)), "levels"),
        ((1, F(0), F(1, 2)), "price"),
        ((1, F(-1), F(1, 2)), "price"),
        ((1, F(1), F(0)), "pick_share"),
        ((1, F(1), F(1)), "pick_share"),
    ],
)
def test_bad_fields_are_refused_and_nothing_is_spent(fields, name):
    with pytest.raises(BadInput, match=name):
        Bisections(*fields).check(VectorShape((4,)))
    kernel = Kernel.simulated([1, 2, 3, 4], epsilon=1, seed=0)
    with pytest.raises(BadInput):
        kernel.root.select(Bisections(*fields), 1)
    assert kernel.spent == 0


def test_the_wire_brings_back_the_same():
    mechanism = Bisections(3, F(2, 7), F(1, 3))
    assert decode(encode(mechanism)) == mechanism
