"""The exact loss of every mechanism, run on one side of a pair of neighbours and replayed on the other.

What one run gives away is at most ε, whatever its choices were; and on some pair nearly ε, or the noise is too large.
"""

from fractions import Fraction

import pytest

from adyton.kernel.mechanisms import MECHANISMS
from adyton.kernel.mechanisms.published.dawa_partition import DawaPartition
from adyton.kernel.shapes import InstancesShape, VectorShape
from adyton_lab.audit.pairs import Pair, signed_pairs, vector_pairs
from adyton_lab.audit.transcripts import Event, ScriptedNoise

CASES = {
    case.name: case
    for mechanism in MECHANISMS
    if mechanism.takes is not InstancesShape and mechanism is not DawaPartition  # whose losses are not those of draws
    for case in mechanism.audit_cases()
}


REACHED = {
    "nested quantiles": 0.5,
    "dyadic partition": 0.38,
    "coefficient count": 0.6,
    "resolution of 8 cells": 0.5,
    "resolution of 6 cells": 0.44,
    "worst approximated": 0.8,
    "bisections": 0.4,
    "bucket boundaries": 0.03,
    "choice of parents": 0.48,
}
"""Where no pair, or none of these, or not every run, gives away all of ε."""


def outcome(case, data, epsilon, seed, script=None):
    """One output, with all that its probability depends on; with a *script*, after the same choices."""
    noise = ScriptedNoise(seed, script, silent=True)
    output = case.mechanism.draw(case.prepare(data), epsilon, noise, 1)
    return Event((), case.mechanism, epsilon, output, noise.draws, output)


def loss(case, pair, epsilon, seed):
    left = outcome(case, pair.left, epsilon, seed)
    return left.loss(outcome(case, pair.right, epsilon, seed, left.draws))


@pytest.mark.parametrize("name", CASES)
def test_a_run_gives_away_at_most_epsilon(name):
    case, worst = CASES[name], Fraction(0)
    pairs = [Pair("searched", *sides) for sides in case.searched] + vector_pairs(case.domain, 24)
    if case.mechanism.takes is VectorShape:
        pairs += signed_pairs(case.domain, 6)
    for number, pair in enumerate(pairs):
        epsilon = (Fraction(1, 3), Fraction(2))[number % 2]
        lost = loss(case, pair, epsilon, number) / epsilon
        assert lost <= 1 + Fraction(1, 10**8), (pair, float(lost))
        worst = max(worst, lost)
    assert worst >= REACHED.get(name.split(",")[0], 0.95)
