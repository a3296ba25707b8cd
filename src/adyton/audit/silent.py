"""A kernel without noise that writes down all that it tells, and the noise that would have hidden it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from adyton.arrays import Flags, Places
from adyton.exact import Rational, exact
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MeasureTables, Mechanism, Selection, SplitChoice
from adyton.kernel.sources import Source, TableSource
from adyton.noise import SimulatedNoise
from adyton.noise.scales import read_ratio
from adyton.noise.source import Scale, Size
from adyton.whole import IntegerArray


class Silent(SimulatedNoise):
    """No noise at all; what was asked for stays."""

    def __init__(self) -> None:
        super().__init__(0)
        self.scales: list[Fraction] = []
        self.choices: list[tuple[list[Fraction], Fraction]] = []

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Zeros."""
        ratio = read_ratio(scale)
        pairs = np.broadcast_arrays(ratio.numerator, ratio.denominator)
        each = [Fraction(int(above), int(below)) for above, below in zip(*(p.ravel() for p in pairs), strict=True)]
        self.scales += each * (int(np.prod(size)) // len(each))
        return np.zeros(size, dtype=np.int64)

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """The first, so that both sides go the same way."""
        self.choices.append(([Fraction(one) for one in list(scores)], exact(sharpness, "sharpness", computed=True)))
        return 0

    def permute_and_flips(self, scores: IntegerArray, allowed: Flags, sharpness: Rational) -> Places:
        """The first that is allowed, in every row."""
        for row, kept in zip(scores, allowed, strict=True):
            self.permute_and_flip(row[kept].tolist(), sharpness)
        return np.asarray(allowed.argmax(axis=1), dtype=np.int64)


class Told(NamedTuple):
    """All that a program was told, without noise, and the noise that would have hidden it."""

    answers: list[int]
    scales: list[Fraction]
    choices: list[tuple[list[Fraction], Fraction]]
    """The scores of each choice, and its sharpness."""
    outputs: list[Any]
    """What came out of each measurement."""


class Watched(Kernel[TableSource]):
    """A kernel that keeps all of its answers."""

    silent: Silent
    told: Told
    replies: list[Any]

    @classmethod
    def opened(cls, table: Any, schema: Any) -> Watched:
        """On a table, with a budget for everything."""
        noise = Silent()
        kernel = cls(table, schema=schema, epsilon=1000, noise=noise)
        kernel.silent = noise
        return kernel

    def play(self, program: Callable[[TableSource], None], replies: Sequence[Any] = ()) -> Told:
        """What a program is told. With *replies*, those of another kernel, it is told these instead: what it asks next
        may depend on them, and both kernels are asked the same."""
        self.silent.scales, self.silent.choices, self.replies = [], [], list(replies)
        self.told = Told([], self.silent.scales, self.silent.choices, [])
        program(self.root)
        return self.told

    def measure(self, source: Source, operator: Mechanism, epsilon: Rational) -> Any:
        """Measure, and keep the answers."""
        answer = super().measure(source, operator, epsilon)
        if not isinstance(operator, SplitChoice | Selection):
            counts = answer.counts if isinstance(operator, MeasureTables) else answer.answers
            self.told.answers.extend(int(one) for one in np.ravel(counts))
        self.told.outputs.append(answer)
        return self.replies.pop(0) if self.replies else answer


def loss(one: Told, other: Told) -> Fraction:
    """What the answers of both give away: both were asked the same."""
    moved = zip(one.answers, other.answers, one.scales, strict=True)
    lost = sum((abs(a - b) / scale for a, b, scale in moved), Fraction(0))
    for (scores, sharpness), (others, _) in zip(one.choices, other.choices, strict=True):
        changes = [a - b for a, b in zip(scores, others, strict=True)]
        lost += sharpness * (max(changes) - min(changes))
    return lost
