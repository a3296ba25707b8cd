"""How good a parameter is for one instance, as a whole number 0 … 2²⁰: a function of that instance alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.exact import Rational, exact, positive
from adyton.messages import no_such, shorten

UNIT = 1 << 20
"""The best level that a parameter can have for one instance."""
UTILITIES = ("regret", "value")
_LEAST = Fraction(1, 10**6)


@dataclass(frozen=True)
class Utility:
    """Either the clipped relative regret, or the value itself; ``scale`` is the clip h, or the bound H.

    * ``regret``: 1 − min(h, (best − u)/|best|)/h, where best is the largest value on that very instance. It does not
      change when all values of an instance are multiplied by a positive number. For costs, which are negative values,
      it is the relative excess over the least cost. Where best is 0 nothing can be relative to it, and the instance has
      no say.
    * ``value``: u/H, for values that are known to lie in [0, H]; what lies outside is clamped.

    Privacy needs nothing but levels of 0 … 2²⁰ that depend on the instance alone: then one instance moves no two
    parameters against each other by more than 2²⁰.
    """

    name: str
    scale: Fraction

    @classmethod
    def named(cls, name: str, clip: Rational = "0.1", bound: Rational | None = None) -> Utility:
        """The utility of this name, with its clip or its bound, or an error.

        >>> Utility.named("regret", clip="0.05")
        Utility(name='regret', scale=Fraction(1, 20))
        """
        if not isinstance(name, str) or name not in UTILITIES:
            raise BadInput(no_such("utility", name, UTILITIES))
        if name == "regret":
            if bound is not None:
                raise BadInput("a bound is for the utility value, the regret has a clip. Leave bound out.")
            clipped = exact(clip, "clip")
            if not _LEAST <= clipped <= 1:
                raise BadInput(f"clip must be greater than 0 (at least 10^-6) and at most 1, given {shorten(clip)}.")
            return cls(name, clipped)
        if bound is None:
            raise BadInput(
                "the utility value needs a bound, a public number that no value exceeds. Give one, or use regret."
            )
        return cls(name, positive(bound, "bound"))

    def levels(self, values: Reals, best: float | Reals) -> Integers:
        """Whole numbers 0 … 2²⁰ for finite values, of which *best* is the largest on the instance.

        >>> Utility.named("regret").levels(np.array([100.0, 95.0, 50.0]), 100.0).tolist()
        [1048576, 524288, 0]
        """
        scale = float(self.scale)
        with np.errstate(all="ignore"):
            if self.name == "regret":
                size = np.abs(best)
                losses = np.where(size > 0, (best - values) / size, scale)
                shares = 1 - np.minimum(losses, scale) / scale
            else:
                shares = values / scale
            return np.asarray(np.rint(np.clip(shares, 0.0, 1.0) * UNIT).astype(np.int64))

    def line(self, best: Reals) -> tuple[Reals, Reals]:
        """(a, b) such that a level is a + b·value, before rounding and clipping; not finite where that fails."""
        scale = float(self.scale)
        with np.errstate(all="ignore"):
            if self.name == "value":
                return np.zeros_like(best), np.full_like(best, UNIT / scale)
            slopes = np.where(best == 0, 0.0, UNIT / (np.abs(best) * scale))
            return UNIT * (np.sign(best) ** 2 - np.sign(best) / scale), slopes
