"""Round numbers for axes, and numbers as people write them."""

from __future__ import annotations

import math
from collections.abc import Sequence

_STEPS = (1.0, 2.0, 5.0, 10.0)
_SIZES = ((1e9, "G"), (1e6, "M"), (1e4, "k"))
"""From which size on ticks are written with which letter."""


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About *count* round numbers from *low* to *high*, none outside.

    >>> nice_ticks(-3, 104), nice_ticks(0, 1)
    ([0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    step = nice_step(high - low, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(place * step, digits) + 0.0 for place in range(first, last + 1)]


def nice_step(width: float, count: int = 5) -> float:
    """The round distance (1, 2 or 5 times a power of ten) of which about *count* go into *width*.

    >>> nice_step(107), nice_step(0.9)
    (20.0, 0.2)
    """
    rough = width / max(1, count) if width > 0 else 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return float(f"{power * min(_STEPS, key=lambda step: abs(math.log(step * power / rough))):.12g}")


def reach(values: Sequence[float], zero: bool = True) -> tuple[float, float]:
    """What an axis has to show of some values, never empty: with *zero* from there on, else with a little room around
    them.

    >>> reach([5.0, 10.0]), reach([3.0, -1.0]), reach([0.0]), reach([5.0, 10.0], zero=False), reach([7.0], zero=False)
    ((0.0, 10.0), (-1.0, 3.0), (0.0, 1.0), (4.8, 10.2), (6.5, 7.5))
    """
    finite = [value for value in values if math.isfinite(value)]
    if zero or not finite:
        low, high = min([0.0, *finite]), max([0.0, *finite])
        return (low, high) if high > low else (0.0, 1.0)
    low, high = min(finite), max(finite)
    room = 0.04 * (high - low) or 0.5 * max(abs(low), 1e-9) / max(abs(low), 1.0)
    return low - room, high + room


def people(value: float) -> str:
    """A number of people: a whole one.

    >>> people(1234.56), people(-0.4), people(-7.6)
    ('1,235', '0', '−8')
    """
    return number(value, 0)


def number(value: float, digits: int = 1) -> str:
    """A number for people: a comma at every thousand, a real minus, and no digits that say nothing.

    >>> number(1234.56), number(-0.04), number(2.0), number(-7.25)
    ('1,234.6', '0', '2', '−7.2')
    """
    text = f"{value:,.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def figure(value: float) -> str:
    """A number of three digits or all that stand before its point, whichever is more.

    >>> figure(12345.6), figure(12.345), figure(0.001234), figure(1.5e12)
    ('12,346', '12.3', '0.00123', '1.5e+12')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "∞" if value > 0 else "−∞"
    if not 1e-5 <= abs(value) < 1e9:
        return f"{value:.3g}".replace("-", "−", 1) if value < 0 else f"{value:.3g}"
    return number(value, max(0, 2 - math.floor(math.log10(abs(value)))))


def tick_words(values: Sequence[float]) -> list[str]:
    """The words of ticks: short, all with the same letter for thousands, millions or more.

    >>> tick_words([-1500.0, 0.0, 1500.0]), tick_words([0.0, 5000.0, 20000.0]), tick_words([0.0, 2.5e6])
    (['−1,500', '0', '1,500'], ['0', '5k', '20k'], ['0', '2.5M'])
    """
    largest = max((abs(value) for value in values), default=0.0)
    size, letter = next(((size, letter) for size, letter in _SIZES if largest >= size), (1.0, ""))
    unit = 1e3 if letter == "k" else size
    return [number(value / unit, 6) + letter * (value != 0) for value in values]
