"""Blocks measured in stages, from coarse to fine: each stage uses the noisy answers so far and cuts where it pays.

A stage spends the same share of ε on every cell that is still open, on blocks of the sizes that are locally best. A
block that further cuts would not improve is finished: the remaining budget of its cells goes into one last answer,
which is worth more than several small ones. Finished and open cells are disjoint parts of the domain, so by parallel
composition together they cost as much as the more expensive part. The choice is post-processing of noisy answers and
costs no privacy.

**The model.** Let d be the difference between the halves of a block of M rows, and T_l the energy of the workload
between the levels l and l + 1, counted from the cells (see :mod:`.optimal_levels`), spread evenly over the blocks of
the level. If d is known with precision q, its remaining error is d²/(1 + q·d²), the least of any linear estimate.
Before d is measured, d² = τ²M² + M with τ from a few values. And rows are crowded: the halves of a block do not all
hold half of its rows; instead, fewer of them hold ``CROWDING``/2 of its rows each, and the others nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled
from adyton.queries import Measurement, Partition
from adyton.queries.domain_trees import layout
from adyton.queries.hierarchy import BlockTree
from adyton.solving.trees import BlockAnswers
from adyton.strategies.optimal_levels import LevelWeights, optimal_levels

CROWDING = 1.5
SPREADS = ((0.0, 0.1), (0.1, 0.2), (0.3, 0.4), (1.0, 0.3))
"""Values of τ and their probabilities."""
_MODEL = np.concatenate([[CROWDING], *((tau**2, weight) for tau, weight in SPREADS)])
_COARSER, _FINER = 1.45, 0.6
"""For scarce data, the factors for the shares of the first and the last stage."""
_SCARCE, _PLENTY = 0.75, 60.0
"""ε·rows per cell up to which data are scarce, and from which on they are plentiful."""
_NEAR = 2
"""An error in a block's sum affects blocks up to this many levels above the one that it was cut from."""


def stage_levels(cells: int, level_energy: npt.ArrayLike, signal: float) -> LevelWeights:
    """The finest block size and the share of each stage, the last stage first, for ε·rows = *signal*.

    These are the best levels and weights without knowledge of the data (:func:`.optimal_levels`); with little data,
    more is spent on the first stages, because most cells are finished early.

    >>> stage_levels(4096, np.ones(13), 1e9) == optimal_levels(4096, np.ones(13))
    True
    """
    best = optimal_levels(cells, level_energy)
    per_cell = max(float(signal), 1e-9) / cells
    scarcity = min(1.0, max(0.0, np.log(_PLENTY / per_cell) / np.log(_PLENTY / _SCARCE)))
    tilt = 1 + scarcity * (np.linspace(_FINER, _COARSER, len(best.weights)) - 1)
    weights = np.array(best.weights) * (tilt if len(best.weights) > 1 else 1.0)
    return LevelWeights(best.block_sizes, tuple((weights / weights.sum()).tolist()))


def level_costs(tree: BlockTree, level_energy: npt.ArrayLike) -> Reals:
    """The workload's error per squared error of 1: in the difference of two blocks of 2^l cells, and last in the total.

    >>> from adyton.queries.domain_trees import tree_of_halves
    >>> level_costs(tree_of_halves(2), [0.5, 2.5])
    array([0.25, 1.25])
    """
    halved = [tree.cells]  # the cells of blocks that have two halves, level by level
    for level, children in zip(tree.boundaries[-2::-1], tree.children[-2::-1], strict=True):
        every = children[-1] == 2 * (children.size - 1)
        halved.insert(-1, tree.cells if every else max(1, int(np.diff(level)[np.diff(children) == 2].sum())))
    return np.asarray(np.asarray(level_energy, dtype=np.float64) / np.array(halved))


@dataclass(frozen=True, eq=False)
class Step:
    """What to measure now: blocks to finish, and blocks to continue with; groups are numbered along the open cells."""

    finished: Places
    going_on: Places
    share: Fraction
    """The budget of the blocks that continue, as a share of the ε for all stages; the others get all that is left."""
    split: Partition | None
    """Which open cells are finished (0) and which continue (1); None if it is the same for all."""
    groups: tuple[Partition | None, Partition | None]
    """The blocks as groups of the cells that are finished, and of those that continue."""


@dataclass(frozen=True, eq=False)
class StagedBlocks:
    """The blocks that are still open at the beginning of a stage, and what is known about all blocks."""

    known: BlockAnswers
    stages: LevelWeights
    costs: Reals
    epsilon: float
    """The budget for all stages together."""
    stage: int
    left: Fraction
    """The share of epsilon that the open cells still have."""
    blocks: Places
    cut_from: Places
    """The level of the block that each open block was cut from."""

    @classmethod
    def begin(
        cls, known: BlockAnswers, stages: LevelWeights, level_energy: npt.ArrayLike, epsilon: float
    ) -> StagedBlocks:
        """All cells are open, as one block."""
        costs = level_costs(known.tree, level_energy)
        root = np.zeros(1, dtype=np.int64)
        return cls(known, stages, costs, epsilon, 0, Fraction(1), root, np.array([costs.size - 1]))

    def levels(self, blocks: Places) -> Places:
        """The number of halvings from each block down to single cells."""
        return self.costs.size - 1 - layout(self.known.tree).levels[blocks]

    def step(self) -> Step:
        """The blocks to measure now."""
        last = self.stage == len(self.stages.weights) - 1
        share = self.stages.share(-1 - self.stage)
        levels = self.levels(self.blocks)
        if self.stage:
            finished, cuts = self._choose(levels, share)
        else:
            finest = min(self.costs.size, self.stages.block_sizes[-1].bit_length()) - 1
            finished, cuts = np.full(1, last), np.full(1, finest)
        sizes = layout(self.known.tree).sizes
        parts = [self._cut(self.blocks[which], cuts[which]) for which in (finished, ~finished)]
        mixed = finished.any() and not finished.all()
        split = Partition(np.repeat(~finished, sizes[self.blocks]).astype(np.int64)) if mixed else None
        groups = [Partition(np.repeat(np.arange(part.size), sizes[part])) if part.size else None for part in parts]
        return Step(parts[0], parts[1], share, split, (groups[0], groups[1]))

    def _choose(self, levels: Places, share: Fraction) -> tuple[Flags, Places]:
        """For each open block, whether it is finished, and the level of the blocks that it is cut into now."""
        estimates, variances = self.known.estimates()
        after = max(0.0, float(self.left - share))
        following = self.stages.weights[-2 - self.stage] if self.stage < len(self.stages.weights) - 1 else 0.0
        shares = np.array([float(self.left), float(share), after, following, max(0.0, after - following)])
        felt = np.concatenate([[0.0], np.cumsum(self.costs)])[np.minimum(self.cut_from + _NEAR, self.costs.size)]
        rows, known = np.maximum(0.0, estimates[self.blocks]), 1 / variances[self.blocks]
        finished, cuts = np.ones(levels.size, dtype=np.bool_), np.empty(levels.size, dtype=np.int64)
        for level in np.flatnonzero(np.bincount(levels)).tolist():
            some = np.flatnonzero(levels == level)
            own = rows[some], known[some], felt[some]
            at_once, going_on, now = self._ways(level, np.square(shares * self.epsilon) / 2)
            least, cuts[some] = self._cheapest(level, at_once, *own)
            if going_on.size:
                goes_on = self._cheapest(level, going_on, *own)[0] < least
                finished[some] = ~goes_on
                best = self._cheapest(level, now, *(values[goes_on] for values in own))[1]
                cuts[some[goes_on]] = best + level + 1 - len(now)
        return finished, cuts

    def _ways(self, level: int, precisions: Reals) -> tuple[Reals, Reals, Reals]:
        """The precisions that the blocks of each level inside a block of this level can get: in one last answer; in
        answers of this stage and of one or two later ones; and in this stage alone, if more follow.

        *precisions* are those of an answer with: the whole remaining budget; this stage's share; what remains after it;
        the next stage's share; what remains after that.
        """
        last, now, rest, following, end = precisions
        units = np.eye(level + 1)
        finest = [min(size.bit_length() - 1, level) for size in self.stages.block_sizes[::-1]][self.stage :]
        if len(finest) == 1:
            return last * units, np.empty((0, level + 1)), np.empty((0, level + 1))
        first, final = _pairs(level, finest[0])
        ways = now * units[first] + rest * units[final]
        if len(finest) > 2:
            first, final = first[final <= finest[1]], final[final <= finest[1]]
            between = now * units[first] + following * units[np.minimum(finest[1], first)]
            ways = np.concatenate([ways, between + end * units[final]])
        return last * units, ways, now * units[finest[0] :]

    def _cheapest(self, level: int, ways: Reals, rows: Reals, known: Reals, felt: Reals) -> tuple[Reals, Places]:
        """The least expected error of each block of a level, and the number of the way that reaches it."""
        least, best = np.empty(rows.size), np.empty(rows.size, dtype=np.int64)
        cheapest(rows, level, ways, known, felt, _MODEL, self.costs[:-1], least, best)
        return least, best

    def after(self, step: Step, finished: Measurement | None, going_on: Measurement | None) -> StagedBlocks:
        """The open blocks and the known answers after a step."""
        known, starts = self.known, layout(self.known.tree).starts
        for blocks, answered in ((step.finished, finished), (step.going_on, going_on)):
            if answered is not None:
                known = known.with_answers(blocks, answered.answers.astype(np.float64), answered.variances)
        owners = np.searchsorted(starts[self.blocks], starts[step.going_on], side="right") - 1
        origin = self.levels(self.blocks)[owners]
        cut_from = np.where(origin > self.levels(step.going_on), origin, self.cut_from[owners])
        left = self.left - step.share
        return replace(self, known=known, stage=self.stage + 1, left=left, blocks=step.going_on, cut_from=cut_from)

    def _cut(self, blocks: Places, cuts: Places) -> Places:
        """Some of the open blocks, cut into blocks of these levels."""
        tree, depths = layout(self.known.tree), self.costs.size - 1 - cuts
        starts = tree.starts[blocks]
        first, last = tree.blocks_at(depths, starts), tree.blocks_at(depths, starts + tree.sizes[blocks] - 1)
        counts = last - first + 1
        return np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


@lru_cache(maxsize=256)
def _pairs(level: int, finest: int) -> tuple[Places, Places]:
    """All levels from the finest up to this one, each paired with every level from the cells up to itself."""
    first, final = np.tril_indices(level + 1)
    return first[first >= finest], final[first >= finest]


@compiled
def cheapest(
    rows: Reals,
    level: int,
    ways: Reals,
    known: Reals,
    outer: Reals,
    model: Reals,
    costs: Reals,
    least: Reals,
    best: Places,
) -> None:
    """For each of some blocks of 2^level cells, the least expected error over the *ways* to measure inside it (rows of
    added precisions), and the first way that reaches it."""
    for block in range(rows.size):
        for way in range(ways.shape[0]):
            error = expected_error(rows[block], level, ways[way], known[block], outer[block], model, costs)
            if way == 0 or error < least[block]:
                least[block], best[block] = error, way


@compiled
def expected_error(
    rows: float, level: int, added: Reals, known: float, outer: float, model: Reals, costs: Reals
) -> float:
    """The expected squared error of a block of 2^level cells, if ``added[l]`` is the precision with which the blocks of
    2^l cells inside it are measured.

    *known* is the precision of the block's sum so far, *outer* the cost of an error of that sum elsewhere. ``model``
    holds the crowding, followed by pairs of τ² and weight; ``costs[l]`` is the cost of a squared error of the
    difference between two blocks of 2^l cells.
    """
    precision, whole = 0.0, known
    half = model[0] / 2
    held, blocks = rows * half ** (level - 1), half ** (1 - level)
    error = 0.0
    for below in range(level):
        precision = (precision + added[below]) / 2  # of a difference: half the precision of either sum
        mean = 0.0
        for place in range(1, model.size, 2):
            signal = model[place] * held * held + held
            mean += model[place + 1] * signal / (1 + signal * precision)
        error += blocks * costs[below] * mean
        held /= half
        blocks *= half
    for below in range(level + 1):
        whole += added[below] * 2.0 ** (below - level)
    return error + outer / whole
