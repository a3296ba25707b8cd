"""The exact exponential variable, on which all other exact noise rests.

Von Neumann's method (1951), on real numbers whose binary digits are drawn when they are needed, as in Karney,
"Sampling exactly from the normal distribution" (2016). It takes no arithmetic and no constant, only comparisons of
uniform numbers:

    Draw U₁ and challengers U₂, U₃, … while U₁ > U₂ > U₃ > ….  Given U₁ = u, the run has at least k members with
    probability u^(k-1)/(k-1)!, so its length is odd with probability 1 - u + u²/2! - … = e^(-u). Accept U₁ when it
    is; else start again. A start fails with probability 1 - ∫e^(-u)du = 1/e, independently of the others. The number
    of failures V is geometric with ratio 1/e, the accepted U has density ∝ e^(-u) on [0, 1), and so E = V + U has
    density e^(-x) on [0, ∞).  ∎

From E follow exactly, for rational s and γ: ⌊s·E⌋ is geometric, P(⌊s·E⌋ ≥ k) = P(E ≥ k/s) = e^(-k/s); and E ≥ γ has
probability e^(-γ). A question about E is answered from the digits known so far if they settle it, else after drawing
more.

How words become numbers (the compiled twin in ``compiled`` reads them in the same way): a candidate U₁ takes a word,
63 bits for its first digits and the lowest bit for a coin that is independent of everything else; then each word
holds the first 32 digits of two challengers, upper half first. The run is thus of odd length exactly when it ends on
an upper half.
"""

from __future__ import annotations

from adyton.noise.bits import WORD_BITS, Tape

CANDIDATE_BITS = 63
CHALLENGER_BITS = 32
_LOWER_HALF = (1 << CHALLENGER_BITS) - 1


class Uniform:
    """A uniform real number in [0, 1) of which the first *bits* binary digits are known."""

    __slots__ = ("bits", "digits")

    def __init__(self, digits: int, bits: int) -> None:
        self.digits = digits
        self.bits = bits

    def extend(self, tape: Tape) -> None:
        """Draw 64 more digits."""
        self.digits = self.digits << WORD_BITS | tape.word()
        self.bits += WORD_BITS

    def below(self, other: Uniform, tape: Tape) -> bool:
        """Whether this number is less than the other; digits are drawn until they differ."""
        while True:
            shared = min(self.bits, other.bits)
            mine, theirs = self.digits >> self.bits - shared, other.digits >> other.bits - shared
            if mine != theirs:
                return mine < theirs
            for number in (self, other):
                if number.bits == shared:
                    number.extend(tape)


class Exponential:
    """One draw E = whole + fraction of the unit exponential, with an independent fair coin."""

    __slots__ = ("_fraction", "_tape", "_whole", "coin")

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._whole = 0
        while True:
            word = tape.word()
            self.coin = bool(word & 1)
            self._fraction = Uniform(word >> 1, CANDIDATE_BITS)
            if _odd_run(self._fraction, tape):
                return
            self._whole += 1

    def floor_times(self, numerator: int, denominator: int) -> int:
        """⌊E · numerator / denominator⌋."""
        while True:
            first, bits = self._prefix()
            # first/2^bits ≤ E < (first + 1)/2^bits
            lowest = first * numerator // (denominator << bits)
            highest = ((first + 1) * numerator - 1) // (denominator << bits)
            if lowest == highest:
                return lowest
            self._fraction.extend(self._tape)

    def at_least(self, numerator: int, denominator: int) -> bool:
        """Whether E ≥ numerator / denominator."""
        while True:
            first, bits = self._prefix()
            threshold = numerator << bits
            if first * denominator >= threshold:
                return True
            if (first + 1) * denominator <= threshold:
                return False
            self._fraction.extend(self._tape)

    def _prefix(self) -> tuple[int, int]:
        fraction = self._fraction
        return (self._whole << fraction.bits) + fraction.digits, fraction.bits


def _odd_run(first: Uniform, tape: Tape) -> bool:
    """Whether the falling run that starts with *first* has an odd number of members."""
    last = first
    while True:
        word = tape.word()
        upper = Uniform(word >> CHALLENGER_BITS, CHALLENGER_BITS)
        if not upper.below(last, tape):
            return True
        lower = Uniform(word & _LOWER_HALF, CHALLENGER_BITS)
        if not lower.below(upper, tape):
            return False
        last = lower
