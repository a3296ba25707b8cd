"""EFPA: a histogram described by its slowest cosine waves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.arrays import Reals
from adyton.kernel.mechanisms import CoefficientCount
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Plan, Tasks
from adyton.plans.options import Share
from adyton.queries import Cosines, Queries


@dataclass(frozen=True, kw_only=True)
class Efpa(Plan):
    """Choose how many of the slowest cosine waves to keep, measure those, and leave the others out.

    Ács, Castelluccia and Chen, "Differentially private histogram publishing through lossy compression", ICDM 2012. On
    an orthonormal basis of real waves, so that no phase is published without noise; and with the noise that the
    coefficients need, which for k waves of n cells is about k·√(2/n), not √k.
    """

    name = "efpa"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    selection_share: Share = Fraction(1, 8)
    """The part of the budget that chooses how many waves are kept. In the paper it is half, which pays only where a few
    waves say it all."""

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Choosing among all waves takes cells² steps."""
        super().check_size(workload, epsilon)
        check_request(CoefficientCount(epsilon), VectorShape(workload.domain), epsilon)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Choose, measure, invert."""
        remaining = (1 - self.selection_share) * epsilon
        waves = Cosines(x.shape, x.select(CoefficientCount(remaining), self.selection_share * epsilon))
        return waves.inverse(x.measure(waves, remaining).answers)
