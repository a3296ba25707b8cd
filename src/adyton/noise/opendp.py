"""Laplace noise from OpenDP, for users who prefer its sampler."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from adyton.errors import BadInput
from adyton.noise.exact import ExactNoise
from adyton.noise.source import Scale, Size, read_scales, read_size
from adyton.whole import IntegerArray

_LARGEST_SCALE = 1 << 57
"""OpenDP clamps its noise to 64 bits; at this scale that affects a fraction e^(-64) of the draws."""


class OpenDPNoise(ExactNoise):
    """Discrete Laplace noise through OpenDP's ``make_laplace``; all other draws as in :class:`ExactNoise`.

    OpenDP's scale is a double. The exact scale is rounded *up* to a double, so the noise is never smaller than
    requested.
    """

    def __init__(self) -> None:
        _measurements()

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Integers with P(z) proportional to exp(-|z| / s), s the smallest double that is at least *scale*."""
        shape = read_size(size)
        scales = read_scales(scale, shape)
        count = math.prod(shape)
        output = np.empty(count, dtype=np.int64)
        if not count:
            return output.reshape(shape)
        places: dict[Fraction, list[int]] = defaultdict(list)
        for place, fraction in enumerate(scales.fractions()):
            places[fraction].append(place)
        measurements = {fraction: self.measurement(fraction) for fraction in places}  # refuse before drawing
        rows = output.reshape(-1, len(scales))
        for fraction, columns in places.items():
            noise = measurements[fraction]([0] * (len(rows) * len(columns)))
            rows[:, columns] = np.array(noise, dtype=np.int64).reshape(len(rows), len(columns))
        return output.reshape(shape)

    def measurement(self, scale: Fraction) -> Callable[[list[int]], list[int]]:
        """OpenDP's measurement that adds noise of this scale, rounded up, to a list of integers."""
        return _measurements()(rounded_up(scale))


def rounded_up(scale: Fraction) -> float:
    """The smallest double that is at least *scale*.

    >>> Fraction(rounded_up(Fraction(1, 10))) >= Fraction(1, 10)
    True
    """
    if scale > _LARGEST_SCALE:
        raise BadInput("scale is too large for OpenDP, which draws 64-bit integers. Use at most 2^57, or ExactNoise.")
    double = float(scale)
    return double if Fraction(double) >= scale else math.nextafter(double, math.inf)


def _measurements() -> Callable[[float], Callable[[list[int]], list[int]]]:
    """A function from a scale to OpenDP's measurement that adds such noise to a list of integers."""
    try:
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance
        from opendp.mod import enable_features
    except ImportError:
        raise BadInput(
            "OpenDPNoise needs the package opendp, which is not installed. Run: pip install opendp."
        ) from None
    enable_features("contrib")
    domain, metric = vector_domain(atom_domain(T="i64")), l1_distance(T="i64")
    return lambda scale: make_laplace(domain, metric, scale)
