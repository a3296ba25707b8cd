"""An ε to be shown: a fraction that is written as people write it."""

from __future__ import annotations

from fractions import Fraction

from adyton.exact import display


class Epsilon(Fraction):
    """A fraction like any other, but for how it is printed. What is computed from it is a plain fraction again.

    >>> print(Epsilon(141, 500), Epsilon(1, 3))
    0.282 1/3
    >>> Epsilon("0.282"), Epsilon("0.282") == Fraction(141, 500)
    (Epsilon('0.282'), True)
    """

    def __str__(self) -> str:
        return display(Fraction(self.numerator, self.denominator))

    def __repr__(self) -> str:
        return f"Epsilon({str(self)!r})"
