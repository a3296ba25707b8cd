"""Exact randomness for private answers, and fast simulated noise for experiments.

The functions draw exactly, from a cryptographic generator, and cannot be seeded:

>>> from adyton import noise
>>> noise.discrete_laplace(1000, "2.5").dtype
dtype('int64')
>>> noise.discrete_laplace((100, 3), ["0.5", 1, "7/3"]).shape
(100, 3)
>>> int(noise.uniform_integers(10, 6).max()) < 6
True
>>> noise.bernoulli_exp(0)
True
>>> noise.permute_and_flip([0, 10_000, 3], sharpness=1)
1

The classes are interchangeable sources for a kernel: :class:`ExactNoise`, :class:`OpenDPNoise` (private),
:class:`SimulatedNoise` and :class:`KeyedNoise` (seeded, for experiments on public data).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from adyton.exact import Rational
from adyton.noise.exact import ExactNoise
from adyton.noise.opendp import OpenDPNoise
from adyton.noise.simulated import KeyedNoise, SimulatedNoise, discrete_laplace_variance
from adyton.noise.source import NoiseSource, Ratio, Scale, Size
from adyton.whole import IntegerArray

__all__ = [
    "ExactNoise",
    "IntegerArray",
    "KeyedNoise",
    "NoiseSource",
    "OpenDPNoise",
    "Ratio",
    "Scale",
    "SimulatedNoise",
    "Size",
    "bernoulli_exp",
    "discrete_laplace",
    "discrete_laplace_variance",
    "permute_and_flip",
    "uniform_integers",
]

_EXACT = ExactNoise()


def discrete_laplace(size: Size, scale: Scale) -> IntegerArray:
    """Integers with P(z) proportional to exp(-|z| / scale), exactly.

    *scale* is a positive int, Fraction, decimal string or float (read by its decimal form: 0.1 is one tenth), or has a
    scale for each element: a sequence of such numbers, or a :class:`Ratio` of integer arrays, which broadcast to *size*
    from the right. The result is an int64 array, or an array of Python integers if some draw does not fit.

    >>> import numpy as np
    >>> discrete_laplace((2, 3), Ratio(np.array([1, 7, 100]), np.array([2, 3, 1]))).shape
    (2, 3)
    """
    return _EXACT.discrete_laplace(size, scale)


def uniform_integers(size: Size, bound: int) -> IntegerArray:
    """Integers that take each value of 0 … bound - 1 with the same probability; the bound may be of any size.

    >>> uniform_integers(4, 1).tolist()
    [0, 0, 0, 0]
    """
    return _EXACT.uniform_integers(size, bound)


def bernoulli_exp(gamma: Rational) -> bool:
    """True with probability exp(-gamma), exactly, for a rational gamma of at least 0.

    >>> bernoulli_exp(10**100)
    False
    """
    return _EXACT.bernoulli_exp(gamma)


def permute_and_flip(scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
    """The index of a large score: of the candidates in random order, the first accepted by a coin with
    P(heads) = exp(sharpness·(score - max)).

    With sharpness = ε / (2Δ), Δ the sensitivity of every score, the choice is ε-differentially private.

    >>> permute_and_flip([Fraction(1, 2), Fraction(1, 3)], sharpness=10**9)
    0
    """
    return _EXACT.permute_and_flip(scores, sharpness)
