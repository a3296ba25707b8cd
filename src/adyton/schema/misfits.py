"""Misfits: the ways in which a row can fail to fit the schema, and what becomes of it. All of this is public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from adyton.schema.attributes import Attribute, Boolean, Categorical, CelledAttribute
from adyton.schema.declaration import Schema
from adyton.schema.durations import Duration
from adyton.schema.numbers import Integer, Numeric
from adyton.schema.times import Times

Reason: TypeAlias = Literal["unreadable", "no time", "missing", "no level", "out of bounds"]
Fate: TypeAlias = Literal["left out", "counted as missing", "unmatched", "clamped", "counted as other"]
REASONS: tuple[Reason, ...] = get_args(Reason)
FATES: tuple[Fate, ...] = get_args(Fate)


@dataclass(frozen=True)
class Misfit:
    """One way not to fit: the attribute, the reason, and what becomes of such rows."""

    attribute: str
    reason: Reason
    fate: Fate


def misfits_of(schema: Schema, counted: Sequence[str], tested: Sequence[str] = ()) -> tuple[Misfit, ...]:
    """The ways not to fit, the gravest first: a row that has several of them is told under the first.

    *counted* are attributes whose cells are counted; *tested* are others that a predicate looks at, which sees numbers
    beyond the bounds as they are.

    >>> schema = Schema({"age": Integer(0, 119, outside="clamp"), "sex": Categorical(["F", "M"])})
    >>> [(one.attribute, one.reason, one.fate) for one in misfits_of(schema, ["age"], ["sex"])]
    [('age', 'unreadable', 'left out'), ('age', 'missing', 'left out'), ('sex', 'missing', 'left out'), \
('sex', 'no level', 'unmatched'), ('age', 'out of bounds', 'clamped')]
    """
    found = [misfit for name in counted for misfit in _ways(name, schema.attributes[name], tested=False)]
    found += [misfit for name in tested for misfit in _ways(name, schema.attributes[name], tested=True)]
    return tuple(sorted(found, key=_gravity))


def reads_numbers(attribute: Attribute) -> bool:
    """Whether a text must be a number to be a value of the attribute."""
    return isinstance(attribute, Integer | Numeric) or (
        isinstance(attribute, Categorical) and type(attribute.levels[0]) is int
    )


def unread_as(attribute: Attribute) -> Reason | None:
    """Why a text may not be a value of the attribute at all; None where every text can be compared with its levels."""
    if isinstance(attribute, Times | Duration):
        return "no time"
    return "unreadable" if reads_numbers(attribute) else None


def _ways(name: str, attribute: Attribute, *, tested: bool) -> list[Misfit]:
    """The ways not to fit one attribute; an identifier takes every value."""
    if not isinstance(attribute, CelledAttribute):
        return []
    ways = []
    unread = unread_as(attribute)
    if unread is not None:
        nulled: Fate = "left out" if attribute.nulls == "drop" or tested else "counted as missing"
        ways.append(Misfit(name, unread, nulled))
    if attribute.nulls == "drop":
        ways.append(Misfit(name, "missing", "left out"))
    outside: Fate = "left out"
    if attribute.outside != "drop":
        outside = "clamped" if attribute.outside == "clamp" else "counted as other"
    if isinstance(attribute, Categorical | Boolean):
        ways.append(Misfit(name, "no level", "unmatched" if tested else outside))
    elif not tested and not (isinstance(attribute, Times) and attribute.is_part):
        ways.append(Misfit(name, "out of bounds", outside))
    return ways


def _gravity(misfit: Misfit) -> tuple[int, int]:
    """Values that cannot be read, then missing ones, then others; and first those whose rows are lost."""
    return min(REASONS.index(misfit.reason), REASONS.index("no level")), FATES.index(misfit.fate)
