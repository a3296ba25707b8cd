"""The fit of a hidden chain of levels: its rates are learnt by EM, then the cells are concluded from all the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from adyton.arrays import Integers, Places, Reals
from adyton.denoising import hidden_chain as chain
from adyton.denoising.intensities import Intensities
from adyton.denoising.level_shapes import SCATTERED, SPIKES, blended, distribution, first_shares, relearnt

CHANGE = 0.001
"""The rates of drift and of fresh starts before anything was seen. A large start overfits."""
ARRIVALS = 50.0
"""Cells' worth of belief in the base distribution of fresh levels."""
RATES, EDGE_RATES = 0.5, 0.1
"""Fresh starts, and drifts, in one cell's worth of belief: without an edge, and with one, where some are given."""
OPENING = 0.5
"""At an edge: the chance that the chain begins on a clear level."""
RESTARTS = 0.5
"""At an edge: cell i, counted from 1, starts afresh with chance RESTARTS/i whatever the others do."""
BLOCK = 1 << 14
"""Cells whose forward vectors are kept at once; longer chains keep one vector a block and go forward again."""
_Block: TypeAlias = tuple[Integers, Reals, Reals, Reals, Reals, Reals, Reals, Reals]
"""What all loops take of a block: bins, restarts, evidence, chances, rates, and room for rows, sizes and more."""
LEARNT = 1 << 20
"""From how many cells, of all ways, rates are learnt: longer chains learn from blocks that lie evenly spread."""


@dataclass(frozen=True, eq=False)
class _Law:
    """What a chain has learnt: the shapes of levels, where fresh ones land, and the rates of both moves."""

    shares: Reals
    spikes: Reals
    arrivals: Reals
    change: float
    drifting: float

    @classmethod
    def first(cls, parts: int, base: Reals) -> _Law:
        """Before anything was seen."""
        return cls(first_shares(parts, SCATTERED, SPIKES), base, base, CHANGE, CHANGE)


def fitted(
    bins: Integers,
    likelihood: Reals,
    tables: Sequence[Reals],
    table: Intensities,
    steps: int,
    edge: bool = False,
    ways: int = 1,
) -> tuple[Reals, Reals]:
    """Fit the chain by EM; then posterior means of the cells, and how well the other cells predicted each.

    *tables* are what means are taken of, each times the likelihood: the result has a row for each. Of so many *ways*
    through the cells this is one.

    Rates of a million cells are as good as known: longer chains learn them from blocks that lie evenly spread, the
    first and the last included. Between two of these the chain starts afresh, of which nothing is learnt.
    """
    opening, restarts = _edge(table, bins.size) if edge else (None, np.zeros(bins.size))
    blocks = max(1, LEARNT // ways // BLOCK)
    seen, fresh = (bins, restarts) if bins.size * ways <= LEARNT else _sampled(bins, restarts, blocks)
    law, belief = _Law.first(likelihood.shape[0], table.base), EDGE_RATES if edge else RATES
    learning = _Passes(seen, fresh, opening, likelihood, table)
    for _ in range(steps):
        law = learning.relearnt(law, belief)
    concluding = learning if seen is bins else _Passes(bins, restarts, opening, likelihood, table)
    return concluding.concluded(law, tables)


def _sampled(bins: Integers, restarts: Reals, blocks: int) -> tuple[Integers, Reals]:
    """Blocks of the cells, evenly spread; at the first cell of each but the first the chain is sure to start afresh."""
    starts = np.linspace(0, bins.size - BLOCK, blocks).astype(np.int64)
    places: Places = (starts[:, None] + np.arange(BLOCK)).reshape(-1)
    fresh = restarts[places]
    fresh[BLOCK::BLOCK] = 1
    return bins[places], fresh


class _Passes:
    """Passes to and fro over a chain, block by block, with room for the forward vectors of one block."""

    def __init__(
        self, bins: Integers, restarts: Reals, opening: Reals | None, likelihood: Reals, table: Intensities
    ) -> None:
        self._bins, self._restarts, self._opening = bins, restarts, opening
        self._likelihood, self._table = likelihood, table
        levels, longest = table.base.size, min(bins.size, BLOCK)
        self._rows, self._sizes = np.zeros((longest + 1, levels + 1)), np.ones(longest + 1)
        self._spare = np.zeros(levels + 1)

    def relearnt(self, law: _Law, belief: float) -> _Law:
        """One EM step. A fresh start is usual, at the rate that is fitted, or due to *restarts*, at a fixed rate: of
        those seen, only the usual ones teach the rate."""
        base, restarts, cells = self._table.base, self._restarts, self._bins.size
        evidence = self._evidence(law)
        ahead, occupied, landed = np.ones(base.size), np.zeros_like(evidence), np.zeros(base.size)
        jumps, same = np.empty(cells), 0.0
        for place, here in self._backwards(law, evidence):
            same += chain.backward(*here, ahead, occupied, landed, jumps[place])
        change, drifting = law.change, law.drifting
        usual = (1 - restarts) * change / (restarts + (1 - restarts) * change)  # P(usual | fresh start)
        changes = float(usual @ jumps)
        moved = cells - (float(jumps.sum()) - changes)  # cells that moved as usual
        drifts = max(0.0, moved - changes - (1 - change - drifting) * same)
        arrivals = distribution(law.arrivals * landed, base, ARRIVALS)
        change, drifting = (changes + belief) / (moved + 1), (drifts + belief) / (moved + 1)
        occupied[-1] = 0  # cells above the limit say nothing about shares
        shapes = relearnt(self._likelihood, self._table.kind, base, law.shares, law.spikes, evidence, occupied)
        return _Law(*shapes, arrivals, change, drifting)

    def concluded(self, law: _Law, tables: Sequence[Reals]) -> tuple[Reals, Reals]:
        """Posterior means, one row for each of the tables, and how well the other cells predicted each."""
        evidence, levels, cells = self._evidence(law), self._table.base.size, self._bins.size
        means = [blended(one, self._table.kind, law.shares, law.spikes) / evidence for one in tables]
        aheads = [np.ones(levels) for _ in tables]
        found, weight = np.empty((len(tables), cells)), np.empty(cells)
        for place, here in self._backwards(law, evidence):
            for ahead, mean, row in zip(aheads, means, found, strict=True):
                chain.conclude(*here, ahead, mean, row[place], weight[place])
        return found, weight

    def _evidence(self, law: _Law) -> Reals:
        return blended(self._likelihood, self._table.kind, law.shares, law.spikes)

    def _backwards(self, law: _Law, evidence: Reals) -> Iterator[tuple[slice, _Block]]:
        """The blocks from the last to the first, with what the loops take of each; its forward vectors are there."""
        rows, sizes, starts = self._rows, self._sizes, range(0, self._bins.size, BLOCK)
        stay = np.full(self._table.base.size, 1 - law.change - law.drifting)
        stay[[0, -1]] += law.drifting / 2  # a drift off the grid stays
        rates = np.array([law.drifting / 2, law.change])
        moves = (evidence, np.stack([stay, law.arrivals]), rates, rows, sizes, self._spare)
        places = [slice(start, start + BLOCK) for start in starts]
        blocks: list[_Block] = [(self._bins[place], self._restarts[place], *moves) for place in places]
        first = law.arrivals if self._opening is None else self._opening  # before the first cell: a fresh start
        marks = [(np.append(first, 0.0), 1.0)]  # what comes before a block
        for block in blocks:
            rows[0], sizes[0] = marks[-1]
            chain.forward(*block)
            length = block[0].size
            marks.append((rows[length].copy(), float(sizes[length])))
        yield places[-1], blocks[-1]
        for place, block, mark in zip(places[-2::-1], blocks[-2::-1], marks[-3::-1], strict=True):
            rows[0], sizes[0] = mark
            chain.forward(*block)
            yield place, block


def _edge(table: Intensities, cells: int) -> tuple[Reals, Reals]:
    """The law of the level before the first cell, and the fixed chance that each cell starts afresh.

    Before the first cell: OPENING evenly over the clear levels, the rest as the base has it.
    """
    clear = table.kind == 2
    quiet = np.where(clear, 0, table.base)
    opening = OPENING * clear / clear.sum() + (1 - OPENING) * quiet / quiet.sum()
    restarts = RESTARTS / np.arange(1, cells + 1)
    restarts[:1] = 0  # the first cell has the opening instead
    return opening, restarts
