"""Even blocks of a tree, chosen privately; then one noisy count for each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.block_posterior import block_posterior
from adyton.kernel.mechanisms import DyadicPartition
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Plan, Tasks
from adyton.plans.options import Share
from adyton.queries import Identity, Queries
from adyton.queries.domain_trees import halved_boxes
from adyton.solving.block_answers import BlockAnswers

_PRICE, _DEAREST = Fraction(1, 10), Fraction(1 << 40)
"""What a block costs, times the ε of its count, and the most that it can cost, in rows."""
_CHANCES = (2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 97)
"""Percents of cutting a block, each as likely as the others."""


@dataclass(frozen=True, kw_only=True)
class Dyadic(Plan):
    """Halves of halves (quarters of quarters on a plane) that are nearly even are chosen by the exponential
    mechanism and counted with noise; then posterior means, under a law, learnt from all counts, of how blocks divide
    their rows.

    The first stage of Li et al., "A data- and workload-aware algorithm for range queries under differential privacy",
    PVLDB 2014, made private on a tree; after McSherry and Talwar, "Mechanism design via differential privacy", 2007,
    and Kolaczyk, "Bayesian multiscale models for Poisson processes", 1999.
    """

    name = "dyadic"
    serves = Tasks(dimensions=(1, 2), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    partition_share: Share = Fraction(1, 5)
    """The part of the budget that chooses the blocks."""

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """The weights of all blocks are held."""
        super().check_size(workload, epsilon)
        check_request(DyadicPartition(workload.domain, chances=_CHANCES), VectorShape(workload.domain), epsilon)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Choose, count, posterior means on the tree of the blocks, spread evenly."""
        left = (1 - self.partition_share) * epsilon
        price = min(_PRICE / left, _DEAREST)
        blocks = x.select(DyadicPartition(x.shape, price, _CHANCES), self.partition_share * epsilon)
        counts = x.reduce(blocks).measure(Identity(blocks.groups), left)
        tree = halved_boxes(x.shape)
        answers = counts.answers.astype(np.float64)
        known = BlockAnswers.none(tree).with_answers(tree.blocks_of(blocks), answers, counts.variances)
        return tree.unordered(block_posterior(known))
