"""How mechanisms are attacked, and what they claim: for auditors and for pages. No release asks for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.arrays import Reals
from adyton.kernel.counts import PrivateVector
from adyton.kernel.operators import Mechanism
from adyton.whole import IntegerArray


@dataclass(frozen=True)
class AuditCase:
    """How to attack a mechanism.

    The auditor makes neighbouring vectors over *domain*, turns each into what the kernel would hold with *prepare*,
    draws many outputs of *mechanism*, and looks at them and at *statistic* (outputs, left, right, ε): a function of an
    output that separates the two neighbours well.
    """

    name: str
    mechanism: Mechanism
    domain: tuple[int, ...]
    prepare: Callable[[Any], Any] = PrivateVector.of
    statistic: Callable[[IntegerArray, IntegerArray, IntegerArray, Fraction], Reals] | None = None
    reaches_epsilon: bool = True
    """Whether some pair loses all of ε, so that an audit which certifies much less has no power."""
    enumerable: bool = False
    """Whether the auditor can follow every way in which the random choices fall, and so find the exact loss."""
    searched: tuple[tuple[IntegerArray, IntegerArray], ...] = ()
    """Neighbours that were found to be telling, besides those that the auditor makes."""


def claim(mechanism: Mechanism | type[Mechanism]) -> str:
    """What a mechanism promises."""
    return section(mechanism, "Claim.", "Proof.")


def section(owner: object, start: str, end: str) -> str:
    """The text of a docstring from *start* to *end*, in one line."""
    text = inspect.cleandoc(owner.__doc__ or "")
    return " ".join(text.split(start, 1)[1].split(end, 1)[0].split())
