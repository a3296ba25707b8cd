"""What comes out of the kernel: noisy answers, and how noisy they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.queries.base import Queries
from adyton.whole import IntegerArray


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy answers to queries on one source.

    ``private`` is False when the noise was simulated: such answers protect nobody and must not leave the machine.
    """

    queries: Queries
    answers: IntegerArray = field(repr=False)
    variances: npt.NDArray[np.float64] = field(repr=False)
    epsilon: Fraction
    private: bool

    @property
    def value(self) -> int:
        """The answer, where there is just one."""
        if self.answers.size != 1:
            raise ValueError(f"there are {self.answers.size} answers: read them from .answers.")
        return int(self.answers.reshape(-1)[0])

    @property
    def standard_deviations(self) -> npt.NDArray[np.float64]:
        """The standard deviation of the noise in each answer."""
        return np.sqrt(self.variances)
