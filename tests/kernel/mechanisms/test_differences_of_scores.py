"""The lemma on differences of scores: what it says holds, is attained, and is what the proofs refer to."""

import inspect
import math
import sys
from fractions import Fraction as F

import numpy as np
import pytest

from adyton.kernel.mechanisms import MECHANISMS, Selection
from adyton.kernel.operators import section
from adyton_lab.audit.enumeration import enumerate_distribution


def permute_and_flip(scores, sharpness):
    law = enumerate_distribution(lambda source: source.permute_and_flip(scores, sharpness))
    return [law[place] for place in range(len(scores))]


def exponential(scores, sharpness):
    weights = [math.exp(float(sharpness * score)) * (1 + place) for place, score in enumerate(scores)]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("law", [permute_and_flip, exponential])
def test_the_loss_is_sharpness_times_spread(law):
    random = np.random.default_rng(0)
    sharpness, closest = F(1, 3), 0.0
    for trial in range(60):
        size = int(random.integers(2, 5))
        scores = random.integers(0, 40, size) * (trial % 2)
        changes = random.integers(-2, 3, size) + int(random.integers(-9, 9))
        spread = int(changes.max() - changes.min())
        pairs = zip(law(scores.tolist(), sharpness), law((scores + changes).tolist(), sharpness), strict=True)
        loss = max(abs(math.log(left / right)) for left, right in pairs)
        assert loss <= float(sharpness * spread) + 1e-9
        closest = max(closest, loss / float(sharpness * max(1, spread)))
    assert closest > 0.9


def test_every_choice_by_scores_refers_to_it():
    lemma, proof = section(Selection, "Lemma.", "Proof."), section(Selection, "Proof.", "∎")
    assert "no score moves by more than R relative to another" in lemma
    assert "P(E_j ≥ t + s·R)" in proof
    for mechanism in MECHANISMS:
        source = inspect.getsource(mechanism)
        helpers = inspect.getmembers(sys.modules[mechanism.__module__], inspect.isfunction)
        source += "".join(inspect.getsource(helper) for name, helper in helpers if f"{name}(" in source)
        if "noise.permute_and_flip(" in source or "noise.coins(" in source:
            assert "lemma on differences of scores" in section(mechanism, "Proof.", "∎"), mechanism
