"""Targets: how accurate an answer should be, the least ε for it in one sentence, and the error against ε in a picture.

A target is a typical error (a number: the root mean square error of one answer), or the half-width of a 95% interval:
``"±20"``, or ``"5%"`` of a public number. Nothing here reads a row: a percentage refers to a number that is given, to
the numbers of an earlier release, or to an even share of the public number of rows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from adyton.errors import BadInput
from adyton.exact import display, positive
from adyton.kernel.ledger.records import LARGEST_TOTAL
from adyton.messages import shorten
from adyton.programs.base import OFTEN, Outlook
from adyton.result.result import Result
from adyton.whole import SAFE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LARGEST, SMALLEST = Fraction(LARGEST_TOTAL), Fraction(1, 10**6)
EPSILONS = tuple(map(Fraction, ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5")))
"""The budgets for which errors are shown."""
_DIGITS = 4
_SIGNS = ("±", "+-", "+/-")
_FORMS = '10 (a typical error), "±20" (the half-width of a 95% interval) or "5%" (of what "of" says)'


@dataclass(frozen=True)
class Target:
    """How accurate each answer should be: *amount* is in the unit of the answers."""

    given: object
    amount: float
    typical: bool
    """Whether it is a typical error; otherwise it is the half-width of a 95% interval."""
    base: float | None = None
    """The number that percentages refer to, if it is known."""

    @classmethod
    def of(cls, error: object, outlook: Outlook, of: object = None, rows: int | None = None) -> Target:
        """The target that somebody gives, of the number *of* if it is a percentage.

        *rows* is the public number of rows that the answers are about, if there is one.
        """
        base = _base(of, outlook, rows)
        text = error.strip() if isinstance(error, str) else ""
        if text.endswith("%"):
            if base is None:
                raise BadInput(
                    f"{shorten(error)} of what? What the answers will be is not public. Give of: a number such as 400, "
                    "or an earlier release; for counts of all rows, rows in the schema is enough, too."
                )
            return cls(error, _amount(text[:-1], error) / 100 * base, False, base)
        for sign in _SIGNS:
            if text.startswith(sign):
                return cls(error, _amount(text.removeprefix(sign), error), False, base)
        return cls(error, _amount(error, error), True, base)

    def least(self, outlook: Outlook) -> Fraction:
        """The least ε, to four digits, that meets it."""
        error_at = outlook.error_at if self.typical else outlook.half_width
        error_at(Fraction(1))  # refuses what has no known error
        return least_epsilon(error_at, self.amount, self.given)

    def sentence(self, epsilon: Fraction, outlook: Outlook) -> str:
        """What *epsilon* buys, in one sentence."""
        if not self.typical:
            return _promise(epsilon, self.amount, outlook, self.base)
        words = f"ε = {display(epsilon)} gives {outlook.answers} a {outlook.word} of at most {shown(self.amount)}"
        try:
            good = _good_to(outlook.half_width(epsilon), outlook, self.base)
        except BadInput:
            return f"{words}{outlook.unit}."
        return f"{words}{outlook.unit}: {'each is ' * _each(outlook)}{good}."


def outcome(epsilon: Fraction, outlook: Outlook, rows: int | None) -> str:
    """How accurate the answers for a budget are, in one sentence; empty where it depends on the data."""
    try:
        return _promise(epsilon, outlook.half_width(epsilon), outlook, _base(None, outlook, rows))
    except BadInput:
        return ""


def _promise(epsilon: Fraction, half: float, outlook: Outlook, base: float | None) -> str:
    good = _good_to(half, outlook, base)
    return f"ε = {display(epsilon)} makes {'each of ' * _each(outlook)}{outlook.answers} {good}."


def _each(outlook: Outlook) -> bool:
    return outlook.answers.startswith("these") and not outlook.adapts


def _good_to(half: float, outlook: Outlook, base: float | None) -> str:
    part = "" if base is None else f", or {shown(100 * half / base)}% of {shown(base)}"
    often = f"{OFTEN} on average" if outlook.adapts and outlook.answers.startswith("these") else OFTEN
    return f"good to ± {shown(half)}{outlook.unit}{part}, {often}"


def shown(value: float) -> str:
    """A number with three digits, or all digits before the decimal point.

    >>> shown(20.04), shown(1234.5), shown(5.0), shown(0.0123)
    ('20', '1,234', '5', '0.0123')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _amount(text: object, given: object) -> float:
    """The number in a target."""
    try:
        amount = positive(text, "error", computed=True)
    except BadInput:
        if isinstance(given, str):
            raise BadInput(f"error must be greater than 0, such as {_FORMS}, given {shorten(given)}.") from None
        raise
    return float(min(amount, Fraction(SAFE)))


def _base(of: object, outlook: Outlook, rows: int | None) -> float | None:
    """The number that percentages refer to: the given one, the mean of the numbers of an earlier release, or an even
    share of the public number of rows."""
    if of is None:
        return None if rows is None else outlook.even_share(rows)
    if not isinstance(of, Result):
        return float(min(positive(of, "of", computed=True), Fraction(SAFE)))
    columns = [column for sheet in of.sheets().sheets for column in sheet.columns if column.name == outlook.column]
    values = np.concatenate(
        [np.asarray(column.values, dtype=float) for column in columns if column.known] or [np.empty(0)]
    )
    if not values.size or not math.isfinite(mean := float(values.mean())) or mean <= 0:
        raise BadInput(
            f"the earlier release ({of.task}) has no {outlook.column}, or none that is above 0 on average. Give a "
            "number instead, such as of=400."
        )
    return mean


# ---- the least ε ----------------------------------------------------------------------------------------------------


def least_epsilon(error_at: Callable[[Fraction], float], target: float, given: object) -> Fraction:
    """The smallest sufficient ε, by bisection between one that is too small and one that is enough, to four digits.

    The error falls as 1/ε until the noise is so small that most of it is rounded away, and then faster.
    """
    enough = _rounded_up(Fraction(max(1e-9, error_at(Fraction(1)) / target)))
    while enough < LARGEST and error_at(enough) > target:
        enough = min(LARGEST, enough * 2)
    enough = min(enough, LARGEST)
    if error_at(enough) > target:
        raise BadInput(f"no ε up to {LARGEST} has an error of at most {shorten(given)}. Ask for less accuracy.")
    few = enough / 2
    while few > SMALLEST and error_at(few) <= target:
        enough, few = few, few / 2
    while _rounded_up(few) < (middle := _rounded_up((few + enough) / 2)) < enough:
        if error_at(middle) <= target:
            enough = middle
        else:
            few = middle
    return enough


def _rounded_up(value: Fraction) -> Fraction:
    """The value rounded up to four significant digits.

    >>> _rounded_up(Fraction(1, 3))
    Fraction(1667, 5000)
    """
    unit = Fraction(10) ** (math.floor(math.log10(value)) - _DIGITS + 1)
    return math.ceil(value / unit) * unit


class Epsilon(Fraction):
    """A fraction that is printed as a decimal where it can be. What is computed from it is a plain fraction again.

    The one that ``session.epsilon_for`` returns has a *sentence* on what it buys, and a picture.

    >>> print(Epsilon(141, 500), Epsilon(1, 3))
    0.282 1/3
    >>> Epsilon("0.282"), Epsilon("0.282") == Fraction(141, 500)
    (Epsilon('0.282'), True)
    """

    sentence: str = ""
    """What this budget buys: "ε = 0.31 makes each of these 7 counts good to ± 20, or 5% of 400, 19 times of 20."."""
    _plot: Callable[[str | os.PathLike[str] | None], Figure] | None = None

    @classmethod
    def reaching(cls, target: Target, outlook: Outlook, task: str) -> Epsilon:
        """The least ε that meets a target."""
        least = target.least(outlook)
        made = cls(least)
        made.sentence = target.sentence(least, outlook)
        made._plot = partial(plot_errors, made.sentence, task, outlook, EPSILONS, least, target.amount)
        return made

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The error against ε on a matplotlib figure, written to *path* if one is given, with the target marked."""
        if self._plot is None:
            raise BadInput("only an ε that epsilon_for returned has a picture.")
        return self._plot(path)

    def __str__(self) -> str:
        return display(Fraction(self.numerator, self.denominator))

    def __repr__(self) -> str:
        return f"Epsilon({str(self)!r})"


def plot_errors(
    said: str,
    task: str,
    outlook: Outlook,
    budgets: Sequence[Fraction],
    epsilon: Fraction | None,
    amount: float | None,
    path: str | os.PathLike[str] | None,
) -> Figure:
    """A picture of the error against ε under a sentence: the typical error of each algorithm, and the half-width of the
    95% interval of the best one. *epsilon* is marked at the error *amount*, or else at its half-width."""
    from adyton.report.plot import errors_drawing, plot_curves  # loaded when a figure is made

    return plot_curves(said, errors_drawing(task, outlook, budgets, epsilon, amount), path)
