"""Selections: private choices among candidates that are public."""

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
    """A mechanism whose output is one of finitely many choices, written as whole numbers of a public count.

    Subclasses write :meth:`choose`: integers in, exact draws from *noise*, the choice out. Most of them choose by
    permute-and-flip or by the exponential mechanism, and their proofs rest on one lemma.

    Lemma.  (On differences of scores.) Let a candidate be chosen by permute-and-flip, or by the exponential mechanism
    P(j) ∝ π_j·e^{s·u_j}, with the scores u_j and the sharpness s; let the candidates and π be public. If one row more
    or less changes all scores by amounts that lie in an interval of length R, which is to say that no score moves by
    more than R against another, then the loss is at most s·R: the choice is ε-DP with s = ε/R.
    Proof.  Both see only differences of scores, so the least change can be taken from all of them: then every score
    rises, by at most R. Permute-and-flip chooses as the largest of s·u_j + E_j does, with independent exponential E_j
    (Ding, Kifer et al., 2021). Fix all E but that of candidate j, which is chosen just if E_j ≥ t for a number t that
    they and the scores settle. The others rise by at most s·R and j does not fall, so t rises by at most s·R, and
    P(E_j ≥ t + s·R) ≥ e^{−s·R}·P(E_j ≥ t): the choice of j becomes less likely by a factor of at most e^{s·R}. With the
    neighbours exchanged the changes lie in an interval of the same length, so it becomes more likely by no more than
    that. In the exponential mechanism every weight rises by a factor between 1 and e^{s·R}, and so does their sum.  ∎

    Two rules follow. Scores that move by at most Δ, up or down, have R = 2Δ: that is the factor 2 of the exponential
    mechanism. Scores that all move in one direction have R = Δ, and need no factor 2.
    """

    takes = VectorShape

    @abstractmethod
    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """One choice for these counts. How many numbers it has does not depend on the counts."""

    def draw(self, data: PrivateVector, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """Independent choices."""
        values = data.values()
        return np.stack([self.choose(values, epsilon, noise) for _ in range(trials)])

    def case(self, name: str, domain: tuple[int, ...]) -> AuditCase:
        """A case for the auditor, who can follow every choice; most choices never lose all of ε."""
        return AuditCase(name, self, domain, reaches_epsilon=False, enumerable=True)

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Any:
        """The number of what was chosen."""
        return int(output[0])


class PartitionSelection(Selection):
    """A choice among partitions: a label for every cell."""

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Partition:
        """The partition."""
        return Partition(output)
