"""What a caller may give to a ledger; everything else is refused before the file is touched."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from fractions import Fraction

from adyton.errors import BadInput
from adyton.exact import display
from adyton.grid import rounded_up
from adyton.kernel.ledger.records import fits
from adyton.messages import listing, shorten


def amount(amount: object) -> Fraction:
    """A debit: exact, never a refund, and a whole number of steps of the grid of budgets."""
    if isinstance(amount, bool) or not isinstance(amount, int | Fraction):
        raise BadInput(f"a debit must be a Fraction or an int, given {type(amount).__name__}.")
    exactly = Fraction(amount)
    if not fits(exactly):
        raise BadInput("a debit has too many digits. Write it with fewer.")
    if exactly < 0:
        raise BadInput(f"a debit must not be negative, given {display(exactly)}.")
    return rounded_up(exactly)


def lineage(lineage: object) -> list[str]:
    """The names of the steps from the root to the source."""
    if isinstance(lineage, str) or not isinstance(lineage, Sequence):
        raise BadInput(f"lineage must be a sequence of names, given {type(lineage).__name__}.")
    return [text(name, "a name in the lineage") for name in lineage]


def text(value: object, name: str) -> str:
    """A text that can be stored."""
    if not isinstance(value, str) or not value:
        raise BadInput(f"{name} must be a text with at least one character, given {shorten(value)}.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{name} must be a text that can be written as UTF-8, given {shorten(value)}.") from None
    return str(value)


def file_name(path: object) -> str:
    """A path, as text."""
    if not isinstance(path, str | os.PathLike):
        raise BadInput(f"path must be the name of a file, or None to keep the ledger in memory, given {shorten(path)}.")
    name = os.fsdecode(path)
    if not name or "\0" in name or name == ":memory:":
        raise BadInput(f"path must be the name of a file, or None to keep the ledger in memory, given {name!r}.")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise BadInput(f"path must be a name that a file can have, given {name!r}.") from None
    return name


def accepted(accept: object, words: Sequence[str]) -> frozenset[str]:
    """Those of the *words* that allow a change of what a ledger was made for."""
    named = isinstance(accept, Collection) and all(isinstance(word, str) and word in words for word in accept)
    if isinstance(accept, str) or not isinstance(accept, Collection) or not named:
        raise BadInput(
            f"accept may hold the words {listing(words)}, given {shorten(accept)}. Write accept={{{words[0]!r}}}."
        )
    return frozenset(accept)
