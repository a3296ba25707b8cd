"""Numbers as people write them for people, $1,250.50 or 1.250,50 €, read inside the engine.

Claim.  The number of a text depends on that text and the schema alone, and no text makes the engine fail.
Proof.  The text is compared with one regular expression, by an engine of linear time that has an answer for every text.
Where it fits, signs are replaced by others one by one, and the rest is cast by the cast that yields null instead of
failing; where it does not, the number is null.  ∎
"""

from __future__ import annotations

import re
from typing import Any

from adyton.schema import Reading

_BLANKS = " \\t\\r\\n\u00a0\u202f\u2009"
_THOUSANDS = {" ": " \u00a0\u202f\u2009", "'": "'\u2019"}
_MINUS = "\u2212"


def pattern(reading: Reading) -> str:
    """What a number looks like, as a regular expression.

    >>> bool(re.search(pattern(Reading(currency="$", thousands=",")), " $1,250.50 "))
    True
    >>> bool(re.search(pattern(Reading(thousands=",")), "1,25"))
    False
    """
    point = re.escape(reading.decimal)
    digits = "[0-9]+"
    if reading.thousands is not None:
        sign = f"[{_THOUSANDS.get(reading.thousands, reading.thousands)}]"
        digits = f"(?:[0-9]{{1,3}}(?:{sign}[0-9]{{2,3}})*{sign}[0-9]{{3}}|[0-9]+)"
    number = f"(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]{{1,3}})?"
    blank, sign = f"[{_BLANKS}]*", f"[+{_MINUS}-]?"
    money = f"(?:{_currency(reading)})?" if reading.currency else ""
    amount = f"{blank}{sign}{blank}{money}{blank}{sign}{blank}{number}{blank}{money}{blank}"
    bracketed = f"|{blank}[(]{amount}[)]{blank}" if reading.currency else ""
    return f"^(?:{amount}{bracketed})$"


def read_number(column: Any, reading: Reading) -> Any:
    """The numbers of a column of texts; null where a text is none."""
    import ibis

    fits = column.re_search(pattern(reading))
    text = column.re_replace(_currency(reading), "") if reading.currency else column
    apart = "" if reading.thousands is None else _THOUSANDS.get(reading.thousands, reading.thousands)
    text = text.re_replace(f"[{_BLANKS}){apart}]", "")
    text = text.re_replace(f"[({_MINUS}]", "-")
    if reading.decimal != ".":
        text = text.replace(reading.decimal, ".")
    return ibis.ifelse(fits, text, ibis.null("string")).try_cast("float64")


def _currency(reading: Reading) -> str:
    """Any of the signs, the longest first."""
    return "|".join(_literal(sign) for sign in sorted(reading.currency, key=len, reverse=True))


def _literal(text: str) -> str:
    """A text that stands for itself in a regular expression, in either case."""
    return (
        "(?i:"
        + "".join(f"[{sign}]" if not (sign.isalnum() or sign in "^\\]") else _escaped(sign) for sign in text)
        + ")"
    )


def _escaped(sign: str) -> str:
    return f"\\{sign}" if sign in "^\\]" else sign
