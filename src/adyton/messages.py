"""Parts of messages: values cut to a readable length, ends of intervals, lists, suggested names, paths, text safe for
spreadsheets."""

from __future__ import annotations

import difflib
import numbers
import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path

from adyton.errors import BadInput

_FORMULA = re.compile(r"'*(?:[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r\n])")
"""Also matches apostrophes before a formula: another one is added, so that different texts stay different."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def harmless(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet could run it. Numbers stay as they are.

    >>> harmless("=HYPERLINK(1)"), harmless("@home"), harmless("-5"), harmless("surgery"), harmless("'=a")
    ("'=HYPERLINK(1)", "'@home", '-5', 'surgery', "''=a")
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def printable(text: str) -> str:
    """*text* with control characters spelled out, so that it cannot steer a terminal.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def percent(part: float) -> str:
    """A part of a whole in percent, with two digits.

    >>> percent(0.0712), percent(0.998), percent(1.25)
    ('7.1%', '100%', '125%')
    """
    return f"{100 * part:.2g}%" if part < 0.995 else f"{100 * part:.0f}%"


def span(low: float, high: float, write: Callable[[float], str], more: Callable[[float, int], str]) -> tuple[str, str]:
    """The ends of an interval as text: by *write* or, where they would look the same, with one, two, … *more* digits.

    >>> span(1234567, 1234570, "{:.6g}".format, lambda value, digits: f"{value:.{6 + digits}g}")
    ('1234567', '1234570')
    """
    first, last = write(low), write(high)
    for digits in range(1, 13):
        if first != last or low == high:
            break
        first, last = more(low, digits), more(high, digits)
    return first, last


def joined(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> joined(["ward", "age", "sex"]), joined(["ward"])
    ('ward, age and sex', 'ward')
    """
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


_COMMA = re.compile(r"([+-]?)(\d*),(\d+)", re.ASCII)
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)


def without_comma(given: object) -> str:
    """How to write a number that was written with a comma, in a sentence; empty for anything else.

    >>> without_comma("0,5"), without_comma("12,500"), without_comma("1,000,000"), without_comma("0.5")
    ('Write 0.5 with a dot.', 'Write 12500 without a comma, or 12.5 with a dot.', 'Write 1000000 without commas.', '')
    >>> without_comma("12,000")
    'Write 12000 without a comma, or 12.'
    """
    text = given.strip() if isinstance(given, str) and len(given) <= _LONGEST else ""
    plain, decimal = text.replace(",", ""), _COMMA.fullmatch(text)
    if _GROUPED.fullmatch(text) and decimal is None:
        return f"Write {plain} without commas."
    if decimal is None:
        return ""
    dotted = f"{decimal[1]}{decimal[2] or 0}.{decimal[3]}"
    if not _GROUPED.fullmatch(text):
        return f"Write {dotted} with a dot."
    short = dotted.rstrip("0").rstrip(".")
    return f"Write {plain} without a comma, or {short}{' with a dot' * ('.' in short)}."


_LONGEST = 60
_PLAIN = (str, bytes, numbers.Number, Decimal, os.PathLike, date, time, timedelta)
_OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "identity": ("laplace", "discrete-laplace", "geometric", "flat", "noisy-counts", "noise"),
    "sums": ("laplace", "discrete-laplace", "geometric", "clamped-sums", "bounded-sum"),
    "choice": ("exponential", "exponential-mechanism", "permute-and-flip"),
    "privelet": ("haar", "wavelet", "wavelets"),
    "efpa": ("fourier", "cosine", "dct"),
    "hb": ("hierarchical", "hierarchy", "tree"),
    "h2": ("binary-tree", "binary", "boost"),
    "hdmm": ("matrix-mechanism", "high-dimensional-matrix-mechanism"),
    "mwem": ("multiplicative-weights",),
    "uniform-grid": ("grid", "ug"),
    "adaptive-grid": ("ag",),
    "select-pairs": ("mst", "aim", "pgm", "private-pgm"),
    "privbayes": ("bayesian-network", "bayes-network"),
    "naive-bayes": ("bayes", "nb", "gaussian-nb"),
    "chosen": ("decision-tree", "tree", "cart"),
    "fletcher-islam": ("random-forest", "forest"),
}
"""For each name used here, the names of the same thing in other software."""


def shorten(value: object) -> str:
    """A value as it may appear in a message. For a value that could hold rows, such as a data frame, only the type.

    >>> shorten("age"), shorten(0.5), shorten(2**1000), shorten({"age": [34, 51]})
    ("'age'", '0.5', 'a number of 1001 bits', 'a dict')
    """
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    if not (_is_plain(value) or (isinstance(value, list | tuple | set | frozenset) and all(map(_is_plain, value)))):
        name = type(value).__name__
        return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
    try:
        text = str(value) if isinstance(value, numbers.Number | Decimal) else repr(value)
    except ValueError:  # Python does not write numbers of more than 4300 digits
        return f"a {type(value).__name__} with very long numbers"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "…"


def _is_plain(value: object) -> bool:
    """Whether a value is a single thing that a person writes, or an object of Adyton, which shows nothing private."""
    own = type(value).__module__.split(".")[0] == "adyton"
    return value is None or own or callable(value) or isinstance(value, _PLAIN)


def path_of(given: object) -> Path:
    """The path of a file or a folder, or an error for anything else."""
    try:
        if isinstance(given, str | os.PathLike) and b"\0" not in os.fsencode(given):
            return Path(os.fsdecode(given))
    except UnicodeEncodeError:
        pass
    raise BadInput(f"this must be the path of a file or folder, given {shorten(given)}.")


def listing(names: Iterable[object], limit: int = 20) -> str:
    """Names for a message: the first *limit*, and how many more there are.

    >>> listing(["age", "sex"])
    "'age', 'sex'"
    """
    shown = [shorten(name) for name in names]
    more = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return ", ".join(shown[:limit]) + more


def suggestion(given: object, allowed: Iterable[object]) -> str:
    """`` Did you mean …?`` if one of the allowed names is similar, else an empty text.

    >>> suggestion("agee", ["age", "sex"])
    " Did you mean 'age'?"
    >>> suggestion("Laplace", ["hb", "identity"])
    " Did you mean 'identity'?"
    """
    names = [name for name in allowed if isinstance(name, str)]
    if not isinstance(given, str) or len(given) > 200:
        return ""
    known = given.strip().lower().replace("_", "-").replace(" ", "-")
    elsewhere = [name for name in names if known in _OTHER_NAMES.get(name, ())]
    close = elsewhere or difflib.get_close_matches(given, names, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def no_such(kind: str, given: object, there_are: Iterable[object]) -> str:
    """The message for a name that does not exist.

    >>> no_such("attribute", "agee", ["age", "sex"])
    "there is no attribute 'agee'. There are 'age', 'sex'. Did you mean 'age'?"
    """
    names = list(there_are)
    return f"there is no {kind} {shorten(given)}. There are {listing(names)}.{suggestion(given, names)}"
