"""The grid of budgets: every debit is a whole number of public steps, so that no sum of debits ever grows long.

Fractions are exact, but their sums are not short: the common denominator of a few hundred strange budgets has thousands
of digits, and then nobody can use the ledger any more. So the kernel rounds ε *down* to a grid at its one door, before
it computes the noise and the charge, both from the rounded number. This

* never charges less than what is spent: the noise belongs to the very number that is charged;
* never asks for more than was allowed: the parts of a budget, each rounded down, fit into it;
* keeps what people write: the step is 10⁻³² / lcm(1, …, 100), so that one tenth, every decimal of up to 32 digits, and
  the n-th part of such a decimal for every n up to 100 lie on the grid. Three thirds are one, twenty twentieths too;
* loses less than 10⁻⁷³ a measurement where something else is asked for.

Where a row counts s times (``rows_per_unit``, a group-by, a linear map), it is the charge s·ε at the root that is
rounded: budgets for one row are then multiples of a step divided by s.
"""

from __future__ import annotations

import math
from fractions import Fraction

STEPS = 10**32 * math.lcm(*range(1, 101))
"""How many steps make 1: a number of 243 bits."""


def on_grid(value: Fraction) -> bool:
    """Whether a number is a whole number of steps.

    >>> on_grid(Fraction(1, 3)), on_grid(Fraction(1, 10**32)), on_grid(Fraction(1, 101))
    (True, True, False)
    """
    return STEPS % value.denominator == 0


def rounded_down(epsilon: Fraction, stability: int = 1) -> Fraction:
    """The largest budget of at most *epsilon* that costs a whole number of steps where a row counts *stability* times.

    >>> rounded_down(Fraction(1, 3)), rounded_down(Fraction(1, 303), 101)
    (Fraction(1, 3), Fraction(1, 303))
    """
    steps = STEPS * max(1, stability)
    return epsilon if steps % epsilon.denominator == 0 else Fraction(math.floor(epsilon * steps), steps)


def rounded_up(amount: Fraction) -> Fraction:
    """The least whole number of steps that is at least *amount*: for a debit that no kernel has rounded."""
    return amount if on_grid(amount) else Fraction(math.ceil(amount * STEPS), STEPS)
