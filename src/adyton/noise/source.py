"""What a source of randomness offers. Mechanisms draw from one and never ask which kind it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np

from adyton.arrays import Flags, Integers, Places
from adyton.exact import Rational
from adyton.noise.coins import Bounds, Refine
from adyton.whole import IntegerArray


@dataclass(frozen=True, eq=False)
class Ratio:
    """An array of fractions ``numerator / denominator``: two arrays of whole numbers that broadcast together."""

    numerator: IntegerArray
    denominator: IntegerArray

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of fractions."""
        own, other = np.shape(self.numerator), np.shape(self.denominator)
        return own if own == other else np.broadcast_shapes(own, other)


Size: TypeAlias = int | tuple[int, ...]
Scale: TypeAlias = Rational | Sequence[Rational] | Ratio


class NoiseSource(Protocol):
    """A source of randomness."""

    @property
    def private(self) -> bool:
        """Whether answers that carry this noise are private: exact sampling from a cryptographic generator."""

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Integers with P(z) proportional to exp(-|z| / scale); the scales broadcast to *size* from the right."""

    def uniform_integers(self, size: Size, bound: int) -> IntegerArray:
        """Integers that take each value of 0 … bound - 1 with the same probability."""

    def bernoulli_exp(self, gamma: Rational) -> bool:
        """True with probability exp(-gamma), for gamma at least 0."""

    def coins(self, lower: Bounds, upper: Bounds, refine: Refine) -> Flags:
        """Coins with real probabilities lower/2⁶² ≤ p ≤ upper/2⁶²; refine(i, digits) has more of the i-th."""

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """The index of a large score: candidates in random order, the first that passes exp(sharpness·(score - max)).

        With sharpness = ε / (2Δ), Δ the sensitivity of every score, the choice is ε-differentially private; with
        ε / Δ where one more row can only raise the scores, or only lower them.
        """

    def permute_and_flips(self, scores: IntegerArray, allowed: Flags, sharpness: Rational) -> Places:
        """For every row of scores an independent choice among the columns that are allowed there; −1 if none is."""

    def exponential_choices(self, count: int, multiplicities: Integers, gaps: Integers, rate: Rational) -> Places:
        """*count* independent choices of j with probability ∝ multiplicities[j]·exp(−rate·gaps[j]).

        Multiplicities are whole numbers from 1 that add up to less than 2⁶⁰, gaps are whole numbers from 0.
        """


class Draws(Protocol):
    """The two draws that a selection is made of. An auditor's source can enumerate them and replay every branch."""

    def uniform_integer(self, bound: int) -> int:
        """One of 0 … bound - 1, each with the same probability."""

    def bernoulli_exp(self, gamma: Fraction) -> bool:
        """True with probability exp(-gamma)."""
