"""Selections: private choices among public candidates."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.kernel.counts import PrivateVector
from adyton.kernel.operators import AuditCase, Mechanism
from adyton.kernel.shapes import SourceShape, VectorShape
from adyton.noise.source import NoiseSource
from adyton.queries import Partition
from adyton.whole import IntegerArray


class Selection(Mechanism):
    """A mechanism whose output is one of finitely many choices, written as a public number of whole numbers.

    Subclasses implement :meth:`choose`, from integers to a choice, with exact draws from *noise*. Most use
    permute-and-flip or the exponential mechanism, and their proofs rest on one lemma.

    Lemma.  (On differences of scores.) Let a candidate be chosen by permute-and-flip, or by the exponential mechanism
    P(j) ∝ π_j·e^{s·u_j}, with the scores u_j and the sharpness s; let the candidates and π be public. If one row more
    or less changes all scores by amounts that lie in an interval of length R, that is, if no score moves by more than R
    relative to another, then the loss is at most s·R: the choice is ε-DP with s = ε/R.
    Proof.  Both depend only on differences of scores, so the smallest change can be subtracted from all scores: then
    every score rises, by at most R. Permute-and-flip has the distribution of the index of the largest s·u_j + E_j, with
    independent exponential E_j (Ding, Kifer et al., 2021). Fix all E except that of candidate j, which is chosen if and
    only if E_j ≥ t, for a number t that they and the scores determine. The others rise by at most s·R and j does not
    fall, so t rises by at most s·R, and P(E_j ≥ t + s·R) ≥ e^{−s·R}·P(E_j ≥ t): the choice of j becomes less likely by
    a factor of at most e^{s·R}. With the neighbours exchanged, the changes lie in an interval of the same length, so it
    becomes more likely by at most the same factor. In the exponential mechanism every weight rises by a factor between
    1 and e^{s·R}, and so does their sum.  ∎

    Two rules follow. Scores that move by at most Δ, up or down, have R = 2Δ: that is the factor 2 of the exponential
    mechanism. Scores that all move in the same direction, by at most Δ, have R = Δ, and need no factor 2.
    """

    takes = VectorShape

    @abstractmethod
    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """One choice for these counts. Its length does not depend on the counts."""

    def draw(self, data: PrivateVector, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """Independent choices."""
        values = data.values()
        return np.stack([self.choose(values, epsilon, noise) for _ in range(trials)])

    def case(self, name: str, domain: tuple[int, ...]) -> AuditCase:
        """A case for the auditor, who can enumerate all choices; for most mechanisms the loss is below ε."""
        return AuditCase(name, self, domain, reaches_epsilon=False, enumerable=True)

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Any:
        """The number of the chosen candidate."""
        return int(output[0])


class PartitionSelection(Selection):
    """A choice among partitions: a label for every cell."""

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Partition:
        """The partition."""
        return Partition(output)
