"""What an ε promises, in numbers that people can use."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.report.scales import figure, number

_CERTAIN = 9
"""From here on somebody can be sure to 99.99 percent."""
_LARGEST = 600.0


def factor(epsilon: Fraction) -> str:
    """How many times as likely an outcome becomes, at most, because one unit is in the data: e^ε.

    >>> factor(Fraction(1, 2)), factor(Fraction(1, 500)), factor(Fraction(8))
    ('1.65', '1.002', '2,981')
    """
    amount = min(float(epsilon), _LARGEST)
    return figure(math.exp(amount)) if amount > 1 else number(math.exp(amount), _digits(amount))


def sureness(epsilon: Fraction) -> str | None:
    """How sure, in percent, somebody can become at most who took it for an even bet: e^ε / (1 + e^ε).

    None where that is as good as certain.

    >>> sureness(Fraction(1, 2)), sureness(Fraction(1, 500)), sureness(Fraction(8)), sureness(Fraction(40))
    ('62.2', '50.05', '99.97', None)
    """
    if epsilon >= _CERTAIN:
        return None
    amount = float(epsilon)
    digits = 2 if amount > 4 else max(1, _digits(amount) - 1)
    return number(50 + 50 * math.tanh(amount / 2), digits)


def _digits(amount: float) -> int:
    """How many digits after the point show what a small ε changes."""
    return 2 - min(0, math.floor(math.log10(amount)) + 1)
