"""The words of error messages: values cut to a readable length, lists, and the name that was probably meant."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Iterable
from decimal import Decimal

_LONGEST = 60
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
"""Names that people know from elsewhere, for each of ours."""


def shorten(value: object) -> str:
    """A value as it may appear in a message.

    >>> shorten("age"), shorten(0.5), shorten(2**1000)
    ("'age'", '0.5', 'a number of 1001 bits')
    """
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    try:
        text = str(value) if isinstance(value, numbers.Number | Decimal) else repr(value)
    except ValueError:  # Python writes no number of more than 4300 digits
        return f"a {type(value).__name__} with monstrous numbers"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "…"


def listing(names: Iterable[object], limit: int = 20) -> str:
    """Names for a message, the first *limit* of them.

    >>> listing(["age", "sex"])
    "'age', 'sex'"
    """
    shown = [shorten(name) for name in names]
    more = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return ", ".join(shown[:limit]) + more


def suggestion(given: object, allowed: Iterable[object]) -> str:
    """`` Did you mean …?`` when one of the allowed names is close, else nothing.

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
