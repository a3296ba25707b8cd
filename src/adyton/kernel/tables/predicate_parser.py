"""From the text of a ``where`` to our own tree: SQL is parsed by sqlglot, and a strict list says what may come through.

No text at all makes :func:`parse_predicate` raise anything but a :class:`PredicateError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adyton.errors import PredicateError
from adyton.kernel.tables.predicate_nodes import HELP, Converter
from adyton.kernel.tables.predicates import DEEPEST, TOO_DEEP, Predicate, check_predicate
from adyton.messages import shorten
from adyton.schema import Schema

LONGEST = 10_000


def parse_predicate(text: str, schema: Schema) -> Predicate:
    """Read a predicate over the attributes of *schema*.

    >>> from adyton.schema import Categorical, Integer
    >>> schema = Schema({"age": Integer(0, 119), "sex": Categorical(["F", "M"])})
    >>> print(parse_predicate("age between 20 and 29 and not sex = 'F'", schema))
    "age" between 20 and 29 and not "sex" = 'F'
    >>> parse_predicate("agee > 3", schema)
    Traceback (most recent call last):
    adyton.errors.PredicateError: there is no attribute 'agee'. There are 'age', 'sex'. Did you mean 'age'?
    """
    predicate = _parse(text, schema.names)
    check_predicate(predicate, schema)
    _check_length(str(predicate))  # so that what is written down can be read again
    return predicate


def _parse(text: str, columns: Sequence[str]) -> Predicate:
    """The tree of a text; *columns* are the names that bare or quoted identifiers may have."""
    if not isinstance(text, str):
        raise PredicateError(f"a predicate is a text, given {shorten(text)}.")
    _check_length(text)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise PredicateError("the predicate holds a NUL or half a surrogate pair. Write plain Unicode text.")
    statements = _statements(text)
    if statements is None:
        raise PredicateError(f"the predicate cannot be parsed: {shorten(text)}. {HELP}")
    if not statements or statements == [None]:
        raise PredicateError("the predicate is empty. Leave it out to keep all rows.")
    if len(statements) > 1:
        raise PredicateError("the predicate holds a semicolon. Write one condition; join conditions with and.")
    return Converter(columns).predicate(statements[0], 0)


def _check_length(text: str) -> None:
    """An error if a predicate is too long, as given or in its canonical form."""
    if len(text) > LONGEST:
        raise PredicateError(
            f"the predicate has {len(text):,} characters, allowed are {LONGEST:,}. Write a shorter one."
        )


def _statements(text: str) -> list[Any] | None:
    """What sqlglot makes of the text; None if it cannot, or if the text holds comments or is nested too deeply."""
    import logging

    import sqlglot

    logger = logging.getLogger("sqlglot")
    disabled, logger.disabled = logger.disabled, True
    problem = None
    statements: list[Any] | None = None
    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
        problem = _token_problem(tokens)
        if problem is None:
            statements = list(sqlglot.parse(text, read="duckdb"))
    except Exception:  # whatever a parser may do with a hostile text, including RecursionError
        statements = None
    finally:
        logger.disabled = disabled
    if problem is not None:
        raise PredicateError(problem)
    return statements


def _token_problem(tokens: Sequence[Any]) -> str | None:
    depth = deepest = nots = 0
    for token in tokens:
        kind = token.token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        nots = nots + 1 if kind in ("NOT", "DASH") else 0
        deepest = max(deepest, depth, nots)
        if token.comments:
            return "the predicate holds a comment. Leave comments out."
    if deepest > DEEPEST:
        return TOO_DEEP
    return None
