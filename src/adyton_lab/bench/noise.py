"""How fast the exact discrete Laplace noise is beside OpenDP's, in one run, and whether both follow their law."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.noise import ExactNoise, OpenDPNoise
from adyton_lab.audit.randomness import laplace_fit, same_law
from adyton_lab.bench.timing import timed

SCALES: tuple[Fraction, ...] = (Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(100), Fraction(10**6))


@dataclass(frozen=True, kw_only=True)
class NoiseComparison:
    """One scale: seconds for *draws* draws, medians over repeats, and p-values of the sample that was timed."""

    scale: str
    draws: int
    seconds: float
    opendp_seconds: float
    """Measured, or scaled up if OpenDP drew fewer."""
    times_faster: float
    fit_p: float
    """The p-value of our sample against the exact probabilities."""
    opendp_fit_p: float
    """The p-value of OpenDP's sample against them."""
    same_law_p: float
    """The p-value of both samples coming from one distribution."""


def compare(
    draws: int = 1_000_000,
    scales: Sequence[Rational] = SCALES,
    *,
    repeats: int = 3,
    opendp_draws: int | None = None,
) -> Iterator[NoiseComparison]:
    """Time both samplers, taking turns, after one untimed draw each that loads and compiles what they need.

    OpenDP is timed through its own measurement on a vector of 64-bit integers, its list of results included and our
    conversion to an array not. *opendp_draws* makes it draw fewer and scales its time.
    """
    if draws < 1000 or repeats < 1 or (opendp_draws is not None and opendp_draws < 1000):
        raise BadInput("compare needs at least 1000 draws and 1 repeat.")
    for scale in scales:
        yield _compare_at(positive(scale, "scale"), draws, repeats, opendp_draws or draws)


def steps() -> int:
    """How many records :func:`compare` yields."""
    return len(SCALES)


def _compare_at(scale: Fraction, draws: int, repeats: int, opendp_draws: int) -> NoiseComparison:
    exact, opendp = ExactNoise(), OpenDPNoise()
    theirs = opendp.measurement(scale)
    zeros = [0] * opendp_draws
    exact.discrete_laplace(100_000, scale)
    theirs(zeros[:1000])
    our_times, their_times = [], []
    for _ in range(repeats):
        took, our_sample = timed(lambda: exact.discrete_laplace(draws, scale))
        our_times.append(took)
        took, their_sample = timed(lambda: theirs(zeros))
        their_times.append(took)
    seconds, opendp_seconds = median(our_times), median(their_times) * draws / opendp_draws
    return NoiseComparison(
        scale=str(scale),
        draws=draws,
        seconds=seconds,
        opendp_seconds=opendp_seconds,
        times_faster=opendp_seconds / seconds,
        fit_p=laplace_fit(our_sample, scale),
        opendp_fit_p=laplace_fit(their_sample, scale),
        same_law_p=same_law(our_sample, their_sample),
    )
