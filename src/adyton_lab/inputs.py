"""Training inputs: a public shape at a domain, a scale and a budget, and the workloads that are asked of it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from adyton.arrays import Integers
from adyton.exact import Rational, positive
from adyton_lab.corpus import Shape
from adyton_lab.corpus.histograms import draw

_RANGES = 1000

LINE_SIZES = (128, 256, 512, 1024, 2048, 4096, 8192)
PLANE_SIDES = (4, 8, 16, 32, 64, 128)
SCALES = tuple(2**exponent for exponent in range(5, 25))


@dataclass(frozen=True, eq=False)
class Input:
    """So many rows of a shape on a domain, to be estimated with a budget."""

    shape: Shape
    domain: tuple[int, ...]
    scale: int
    epsilon: Fraction

    @property
    def data(self) -> str:
        """What tells the counts apart from those of all other inputs."""
        sides = "x".join(str(side) for side in self.domain)
        return f"{self.shape.name}#{self.shape.digest}/{sides}/{self.scale}"

    @property
    def key(self) -> str:
        """What tells the input apart from all others."""
        return f"{self.data}/{self.epsilon}"

    @property
    def seed(self) -> int:
        """The seed of everything that is drawn for these counts: the same in every process and every run."""
        return int.from_bytes(hashlib.sha256(self.data.encode()).digest()[:8], "big")

    def counts(self) -> Integers:
        """The rows, drawn from the shape."""
        return draw(self.shape.at(self.domain), self.scale, self.seed)


def grid(
    shapes: Sequence[Shape],
    sides: Iterable[int] | None = None,
    scales: Iterable[int] = SCALES,
    epsilons: Iterable[Rational] = (1,),
) -> list[Input]:
    """Every shape on every domain, of *sides* cells along each axis, at every scale and with every budget."""
    found = []
    for shape in shapes:
        lengths = (LINE_SIZES if shape.counts.ndim == 1 else PLANE_SIDES) if sides is None else tuple(sides)
        for side, scale, epsilon in itertools.product(lengths, scales, epsilons):
            found.append(Input(shape, (side,) * shape.counts.ndim, scale, positive(epsilon, "epsilon")))
    return found


def spread(inputs: Sequence[Input], most: int) -> list[Input]:
    """At most so many of the inputs, the same ones every time, without regard to what they are like."""
    kept = sorted(inputs, key=lambda one: hashlib.sha256(one.key.encode()).digest())[:most]
    chosen = {id(one) for one in kept}
    return [one for one in inputs if id(one) in chosen]
