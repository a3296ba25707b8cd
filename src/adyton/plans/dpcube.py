"""DPCube: boxes of alike cells are found on noisy counts, and measured again."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.kernel.sources import VectorSource
from adyton.partitions import lift
from adyton.partitions.kd_partition import kd_partition
from adyton.plans.base import Plan, Tasks
from adyton.plans.options import Positive, Share
from adyton.queries import Identity, Queries


@dataclass(frozen=True, kw_only=True)
class DPCube(Plan):
    """Noisy cells show boxes inside which they differ by no more than their noise; then each box is measured with fresh
    noise, and both answers about it are averaged by their precision. Good for data with flat or empty regions.

    This is least squares on both measurements for cells that are equal inside a box. The boxes are post-processing of
    the first answers; the second measurement has noise of its own.

    Xiao, Xiong and Yuan, "Differentially private data release through multidimensional partitioning", SDM workshop at
    VLDB 2010.
    """

    name = "dpcube"
    serves = Tasks(dimensions=(1, 2), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    partition_share: Share = Fraction(1, 2)
    """The part of the budget that finds the boxes."""
    price: Positive = Fraction(6)
    """What one more box must take off the squared deviations, in variances of a noisy cell."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Measure cells, find boxes, measure boxes, average."""
        part = self.partition_share
        cells = x.measure(Identity(x.shape), part * epsilon)
        boxes = kd_partition(cells.answers, x.shape, float(self.price) * float(cells.variances[0]))
        counts = x.reduce(boxes).measure(Identity(boxes.groups), (1 - part) * epsilon)
        sums = np.bincount(boxes.labels, cells.answers.astype(np.float64))
        first = cells.variances[0] * boxes.sizes  # the variance of a box's sum over its noisy cells
        return lift((first * counts.answers + counts.variances * sums) / (first + counts.variances), boxes)
