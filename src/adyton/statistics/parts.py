"""What was measured about numbers, part by part: noisy whole numbers and the ε that each part had."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.messages import shorten
from adyton.schema.plain_values import as_amount, as_real, as_text, of_kind, part_of
from adyton.statistics.asked import Asked
from adyton.statistics.looking import LOOKED, coarse_parts
from adyton.whole import IntegerArray, whole_array

KINDS = ("sums", "shares", "look", "coarse", "quantiles", "cells", "curve")
_MOST_BITS = 256


@dataclass(frozen=True, eq=False)
class Part:
    """Numbers for every group, groups × width, and what one row paid for them; a look is about all groups at once."""

    kind: str
    numbers: IntegerArray
    """Whole numbers; of a curve, real ones."""
    epsilon: Fraction
    error: float = 0.0
    """Of a curve: the standard error of a count up to a value."""

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": self.kind,
            "epsilon": as_number(self.epsilon),
            "error": self.error,
            "numbers": self.numbers.tolist(),
        }

    @classmethod
    def from_plain(cls, plain: object, asked: Asked, most: Fraction) -> Part:
        """What :meth:`to_plain` wrote, checked as a stranger's."""
        kind = as_text(part_of(plain, "kind"), "kind")
        if kind not in KINDS:
            raise BadInput(f"{shorten(kind)} is nothing that is measured about numbers")
        epsilon = as_amount(part_of(plain, "epsilon"), "epsilon", most=most)
        lines = of_kind(list, part_of(plain, "numbers"), "numbers")
        width = width_of(kind, asked)
        flat: list[Any] = []
        for line in lines:
            if len(of_kind(list, line, "numbers")) not in width:
                raise BadInput(f"a group has {len(line)} numbers of the kind {kind}")
            flat += line
        if len(lines) != (1 if kind == "look" else asked.groups) or len({len(line) for line in lines}) != 1:
            raise BadInput(f"there are numbers of {len(lines)} groups, and {asked.groups} groups")
        shape = (len(lines), len(lines[0]))
        error = as_real(part_of(plain, "error"), "error")
        if kind == "curve":
            return cls(kind, np.array([as_real(one, "a number") for one in flat]).reshape(shape), epsilon, error)
        if not all(type(one) is int and one.bit_length() <= _MOST_BITS for one in flat):
            raise BadInput("there is a number that is not whole")
        numbers = whole_array(flat, shape)
        if kind in ("look", "quantiles") and not (min(flat) >= 0 and max(flat) < asked.attribute.base_size):
            raise BadInput("a chosen cell is none of the attribute")
        return cls(kind, numbers, epsilon, error)


def width_of(kind: str, asked: Asked) -> tuple[int, ...]:
    """How many numbers a group can have."""
    cells = asked.attribute.base_size
    return {
        "sums": (1,),
        "shares": (2, 3),
        "quantiles": (len(asked.task.quantiles),),
        "look": (len(LOOKED),),
        "coarse": (coarse_parts(asked),),
    }.get(kind, (cells,))
