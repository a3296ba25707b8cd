"""Numbers as people write them for people, $1,250.50 or 1.250,50 €, read inside the engine.

Claim.  The number of a text depends on that text and the schema alone, and no text makes the engine fail.
Proof.  The text is cut and compared with one regular expression, in which no run of signs can be shared out in several
ways, so that it takes no long time on any engine. Where it fits, signs are replaced by others one by one, and the rest
is read as a plain number by the engine's own total function; where it does not, the number is null.  ∎
"""

from __future__ import annotations

from typing import Any

from adyton.kernel.engines import Engine
from adyton.kernel.engines.engine import engine_function
from adyton.kernel.engines.written import LONGEST
from adyton.kernel.tables.folding import spellings_of
from adyton.schema import Reading

_BLANKS = " \t\r\n\u00a0\u202f\u2009"
_THOUSANDS = {" ": " \u00a0\u202f\u2009", "'": "'\u2019"}
_MINUS = "\u2212"
LETTERS = "einfaty"
"""Small letters that plain numbers are written with, such as 1e5, infinity and nan."""


def pattern(reading: Reading, text_end: str = "$") -> str:
    """What a number looks like, as a regular expression.

    >>> import re
    >>> bool(re.search(pattern(Reading(currency="$", thousands=",")), " $1,250.50 "))
    True
    >>> bool(re.search(pattern(Reading(thousands=",")), "1,25"))
    False
    >>> bool(re.search(pattern(Reading(currency=["[x]", "EUR"])), "eur 1"))
    True
    """
    point = f"[{reading.decimal}]"
    digits = "[0-9]+"
    if reading.thousands is not None:
        apart = f"[{_THOUSANDS.get(reading.thousands, reading.thousands)}]"
        digits = f"(?:[0-9]{{1,3}}(?:{apart}[0-9]{{2,3}})*{apart}[0-9]{{3}}|[0-9]+)"
    number = f"(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]{{1,3}})?"
    blank = f"[{_BLANKS}]*"
    sign = f"(?:[+{_MINUS}-]{blank})?"
    money = f"(?:(?:{_currency(reading)}){blank})?" if reading.currency else ""
    amount = f"{blank}{sign}{money}{sign}{number}{blank}{money}"
    bracketed = f"|{blank}[(]{amount}[)]{blank}" if reading.currency else ""
    return f"^(?:{amount}{bracketed}){text_end}"


def plainly(column: Any, reading: Reading, engine: Engine) -> Any:
    """The numbers of a column of texts, written as plain numbers; null where a text is none."""
    import ibis

    short = column.left(LONGEST + 1)
    fits = short.re_search(engine.constant(pattern(reading, engine.text_end))) & (column.length() <= LONGEST)
    text = short.re_replace(engine.constant(_currency(reading)), "") if reading.currency else short
    apart = "" if reading.thousands is None else _THOUSANDS.get(reading.thousands, reading.thousands)
    left_out = "".join(dict.fromkeys(f"{_BLANKS}){apart}"))
    exchange = engine_function("translate", ("string", "string", "string"), "string")
    text = exchange(text, engine.constant(f"({_MINUS}{reading.decimal}{left_out}"), "--.")
    return ibis.ifelse(fits, text, ibis.null("string"))


def _currency(reading: Reading) -> str:
    """Any of the signs, the longest first."""
    return "|".join("".join(map(_literal, sign)) for sign in sorted(reading.currency, key=len, reverse=True))


def _literal(sign: str) -> str:
    """A sign that stands for itself in a regular expression, in either case."""
    spellings = spellings_of(sign)
    return f"\\{sign}" if sign in "^\\[]" else f"[{spellings}]"
