"""The exact laws of the samplers, to about 50 digits, which what they draw is compared with; and exact losses."""

from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from adyton.exact import Rational, positive
from adyton.kernel.mechanisms import AuditCase
from adyton.noise.source import read_scores
from adyton.whole import IntegerArray
from adyton_lab.audit.enumeration import selection_loss
from adyton_lab.audit.pairs import Pair

DIGITS = 50


def loses_more(case: AuditCase, epsilon: Fraction, pairs: Iterable[Pair], bound: float) -> bool:
    """Whether a selection loses more than this on one of the pairs; the first of them decides."""
    return any(selection_loss(case, epsilon, [pair])[0] > bound for pair in pairs)


def discrete_laplace_probability(value: int, scale: Rational) -> Decimal:
    """P(z) = (1 - a)/(1 + a)·a^|z| with a = e^(-1/scale), to about 50 digits.

    >>> round(discrete_laplace_probability(0, 1), 20)
    Decimal('0.46211715726000975850')
    """
    fraction = positive(scale, "scale", computed=True)
    with localcontext() as context:
        context.prec = DIGITS + 2 * len(str(int(fraction)))  # 1 - a loses as many digits as the scale has
        ratio = (-_decimal(1 / fraction)).exp()
        return (1 - ratio) / (1 + ratio) * (-_decimal(abs(value) / fraction)).exp()


def permute_and_flip_probabilities(
    scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational
) -> list[Decimal]:
    """P(i) = p_i ∫₀¹ Π_{j≠i} (1 - t·p_j) dt with p_j = exp(sharpness·(score_j - max)), to about 50 digits.

    The integral is over the moment t at which i comes in the random order: each other candidate has come before it and
    passed with probability t·p_j. It takes time cubic in the number of candidates.

    >>> [round(p, 6) for p in permute_and_flip_probabilities([3, 3, 2], 1)]
    [Decimal('0.438687'), Decimal('0.438687'), Decimal('0.122626')]
    """
    given, exact_sharpness = read_scores(scores), positive(sharpness, "sharpness", computed=True)
    exact_scores = given.tolist() if isinstance(given, np.ndarray) else given
    best = max(exact_scores)
    with localcontext() as context:
        context.prec = DIGITS + len(exact_scores)  # coefficients of both signs, of up to 2^(number of candidates)
        passes = [(-_decimal(Fraction(exact_sharpness * (best - score)))).exp() for score in exact_scores]
        return [own * _integral(passes[:place] + passes[place + 1 :]) for place, own in enumerate(passes)]


def _integral(passes: list[Decimal]) -> Decimal:
    """∫₀¹ Π (1 - t·p) dt, from the coefficients of the product."""
    coefficients = [Decimal(1)]
    for own in passes:
        raised = [Decimal(0), *(-own * coefficient for coefficient in coefficients)]
        coefficients = [low + high for low, high in zip([*coefficients, Decimal(0)], raised, strict=True)]
    return sum((coefficient / (power + 1) for power, coefficient in enumerate(coefficients)), Decimal(0))


def _decimal(fraction: Fraction) -> Decimal:
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)
