"""How fast the exact discrete Laplace noise is beside OpenDP's, in one run, and whether both follow their law."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.noise import ExactNoise, OpenDPNoise
from adyton.noise.goodness import laplace_fit, same_law

SCALES: tuple[Fraction, ...] = (Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(100), Fraction(10**6))


@dataclass(frozen=True, kw_only=True)
class NoiseComparison:
    """One scale: seconds for *draws* draws, and p-values of the sample that was timed."""

    scale: Fraction
    draws: int
    repeats: int
    seconds: float
    """The median over the repeats, for *draws* draws."""
    opendp_draws: int
    """How many OpenDP drew in each repeat; if not *draws*, its time is scaled to *draws*."""
    opendp_seconds: float
    """The median over the repeats, for *draws* draws: measured, or scaled up from *opendp_draws*."""
    fit: float
    """The p-value of our sample against the exact probabilities."""
    opendp_fit: float
    """The p-value of OpenDP's sample against them."""
    same_law: float
    """The p-value of both samples coming from one distribution."""

    @property
    def ratio(self) -> float:
        """How many times faster than OpenDP."""
        return self.opendp_seconds / self.seconds


def compare(
    draws: int = 1_000_000,
    scales: Sequence[Rational] = SCALES,
    *,
    repeats: int = 3,
    opendp_draws: int | None = None,
) -> list[NoiseComparison]:
    """Time both samplers, taking turns, after one untimed draw each that loads and compiles what they need.

    OpenDP is timed through its own measurement on a vector of 64-bit integers, its list of results included and our
    conversion to an array not. *opendp_draws* makes it draw fewer and scales its time.
    """
    if draws < 1000 or repeats < 1 or (opendp_draws is not None and opendp_draws < 1000):
        raise BadInput("compare needs at least 1000 draws and 1 repeat.")
    return [_compare_at(positive(scale, "scale"), draws, repeats, opendp_draws or draws) for scale in scales]


def _compare_at(scale: Fraction, draws: int, repeats: int, opendp_draws: int) -> NoiseComparison:
    exact, opendp = ExactNoise(), OpenDPNoise()
    theirs = opendp.measurement(scale)
    zeros = [0] * opendp_draws
    exact.discrete_laplace(100_000, scale)
    theirs(zeros[:1000])
    our_times, their_times = [], []
    for _ in range(repeats):
        seconds, our_sample = _timed(lambda: exact.discrete_laplace(draws, scale))
        our_times.append(seconds)
        seconds, their_sample = _timed(lambda: theirs(zeros))
        their_times.append(seconds)
    return NoiseComparison(
        scale=scale,
        draws=draws,
        repeats=repeats,
        seconds=median(our_times),
        opendp_draws=opendp_draws,
        opendp_seconds=median(their_times) * draws / opendp_draws,
        fit=laplace_fit(our_sample, scale),
        opendp_fit=laplace_fit(their_sample, scale),
        same_law=same_law(our_sample, their_sample),
    )


def _timed(draw: Callable[[], npt.ArrayLike]) -> tuple[float, npt.ArrayLike]:
    start = time.perf_counter()
    sample = draw()
    return time.perf_counter() - start, sample
