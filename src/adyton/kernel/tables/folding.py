"""Texts without capitals, as Python folds them, in an engine that cannot call functions of ours.

Claim.  The folded text equals a text over the given alphabet if and only if what Python folds it to does.
Proof.  Python folds sign by sign, and what it folds to stays as it is when it is folded again. A sign is left alone
here only if it folds to itself, or to something that is not all in the alphabet. If the fold by Python is over the
alphabet, no sign is of the second kind, so that both folds are equal. If the fold here is over the alphabet and a
sign of the second kind is in it, that sign does not stay as it is, and so is in no folded text.  ∎
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from adyton.kernel.engines import Engine
from adyton.kernel.engines.engine import engine_function

_SURROGATES = range(0xD800, 0xE000)
_AT_A_TIME = 16
"""So many replacements inside one another."""


@cache
def folds() -> dict[str, str]:
    """Every sign that folds to something else.

    >>> folds()["K"], folds()["ß"], folds()["\\N{KELVIN SIGN}"], "k" in folds()
    ('k', 'ss', 'k', False)
    """
    signs = (chr(number) for number in range(sys.maxunicode + 1) if number not in _SURROGATES)
    return {sign: fold for sign in signs if (fold := sign.casefold()) != sign}


def spellings_of(sign: str) -> str:
    """All signs that fold to what this one folds to.

    >>> spellings_of("k"), spellings_of("$")
    ('kK\\u212a', '$')
    """
    fold = sign.casefold()
    if sign == fold == sign.lower() == sign.upper():
        return sign
    others = [other for other, own in folds().items() if own == fold]
    return "".join(dict.fromkeys([*([fold] if len(fold) == 1 else []), sign, *others]))


def folding(alphabet: frozenset[str] | None, engine: Engine) -> Iterator[Callable[[Any], Any]]:
    """The steps that fold a text, as far as it could be one over the alphabet; all of it, if that is None."""
    wanted = {sign: fold for sign, fold in folds().items() if alphabet is None or alphabet.issuperset(fold)}
    several = [(sign, fold) for sign, fold in wanted.items() if len(fold) > 1]
    single = [(sign, fold) for sign, fold in wanted.items() if len(fold) == 1]
    for first in range(0, len(several), _AT_A_TIME):
        yield _replacing(several[first : first + _AT_A_TIME], engine)
    if single:
        yield _exchanging(single, engine)


def _replacing(pairs: list[tuple[str, str]], engine: Engine) -> Callable[[Any], Any]:
    def replace(text: Any) -> Any:
        import ibis

        found = text
        for sign, fold in pairs:
            found = found.replace(engine.constant(sign), engine.constant(fold))
        return ibis.ifelse(_is_plain(text), text, found)

    return replace


def _exchanging(pairs: list[tuple[str, str]], engine: Engine) -> Callable[[Any], Any]:
    def exchange(text: Any) -> Any:
        import ibis

        signs, shown = (engine.constant("".join(column)) for column in zip(*pairs, strict=True))
        found = engine_function("translate", ("string", "string", "string"), "string")(text, signs, shown)
        return ibis.ifelse(_is_plain(text), text.lower(), found)

    return exchange


def _is_plain(text: Any) -> Any:
    """Whether every sign is one byte: then its small letters are those of every language."""
    return engine_function("octet_length", "string", "int32")(text) == text.length()
