"""The law of permute-and-flip, written out: for tests of selections that are made of it."""

import itertools
import math


def permute_and_flip_law(scores, sharpness):
    """By all orders of the candidates."""
    law = [0.0] * len(scores)
    passes = [math.exp(sharpness * (score - max(scores))) for score in scores]
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for candidate in order:
            law[candidate] += reached * passes[candidate] / len(orders)
            reached *= 1 - passes[candidate]
    return law
