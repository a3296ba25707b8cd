"""What an ε promises, in numbers that people can use."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.report.scales import figure, number

_LARGEST = 600.0


def factor(epsilon: Fraction) -> str:
    """How many times as likely an outcome becomes, at most, because one unit is in the data: e^ε.

    >>> factor(Fraction(1, 2)), factor(Fraction(1, 500)), factor(Fraction(8))
    ('1.65', '1.002', '2,981')
    """
    amount = min(float(epsilon), _LARGEST)
    return figure(math.exp(amount)) if amount > 1 else number(math.exp(amount), _digits(amount))


def _digits(amount: float) -> int:
    """How many digits after the point show what a small ε changes."""
    return 2 - min(0, math.floor(math.log10(amount)) + 1)
