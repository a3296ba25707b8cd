"""Which quantiles somebody asks for: parts of all rows, or a word for several."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction

from adyton.errors import BadInput
from adyton.exact import exact
from adyton.messages import shorten

MOST_QUANTILES = 1000
_MOST_PARTS = 10**6
_NAMED = {
    "median": (Fraction(1, 2),),
    "quartiles": tuple(Fraction(part, 4) for part in (1, 2, 3)),
    "deciles": tuple(Fraction(part, 10) for part in range(1, 10)),
}
QUARTILES = _NAMED["quartiles"]


def quantile_name(part: Fraction) -> str:
    """A quantile as a percentage.

    >>> quantile_name(Fraction(1, 4)), quantile_name(Fraction(1, 8))
    ('25%', '12.5%')
    """
    return f"{float(100 * part):.7g}%"


def parts_of(given: object) -> tuple[Fraction, ...]:
    """Parts of all rows, each once, in order."""
    if isinstance(given, str) and given in _NAMED:
        return _NAMED[given]
    single = isinstance(given, str | int | float | Fraction) or not isinstance(given, Iterable)
    values: list[object] = [given] if single else list(given)  # type: ignore[call-overload]
    if not values or len(values) > MOST_QUANTILES:
        raise BadInput(f"ask for at least one quantile and at most {MOST_QUANTILES:,}, given {len(values):,}.")
    parts = []
    for value in values:
        part = Fraction(-1)
        with suppress(BadInput):
            part = exact(value, "a quantile") if not isinstance(value, bool) else part
        if not 0 <= part <= 1:
            raise BadInput(
                f"a quantile lies from 0 to 1, given {shorten(value)}. Write 0.9 for the value that nine in ten rows "
                'do not exceed; or "median", "quartiles" or "deciles".'
            )
        parts.append(part.limit_denominator(_MOST_PARTS))
    return tuple(sorted(set(parts)))
