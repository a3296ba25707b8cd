"""Which way to go with many attributes: measure all pairs, or choose some; how many, and with which shares.

Public functions of public numbers. The way of a plan that uses them:

1. the 1-way tables, FIRST of the budget, divided by :func:`single_shares`;
2. β, the mean over all pairs of ‖M − M̂‖₁ with M̂ independence, DISTANCE of the budget;
3. :func:`outlook` and :func:`decide`: all pairs with the rest, or the 1-way tables once more and some pairs;
4. in the second case, for each of :func:`stages`: choose its pairs by ‖M − M̂‖₁ − Σ min(b, M̂), with b = ``scale`` the
   noise that each would be measured with, and measure them with the shares of :func:`pair_shares`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.marginals.forest import Pair
from adyton.marginals.pair_model import PairModel
from adyton.solving.residuals import Group, part_variances
from adyton.strategies.table_shares import mean_absolute, on_grid, table_shares

FIRST, DISTANCE = Fraction(5, 100), Fraction(2, 100)
"""The parts of a budget for the 1-way tables and for β."""
REST = 1 - FIRST - DISTANCE
CHOOSING = Fraction(15, 100)
"""The part of a stage's budget that its choices cost."""
PLENTY, ENOUGH, SOME = 2.0, 0.5, 0.08
"""Rows times ε for each cell of the pairs: from ENOUGH on all pairs may be measured, below SOME none is. From PLENTY on
two pairs are chosen for each attribute, from ENOUGH on one, from SOME on half of one."""
WORTH = 0.45
"""All pairs are measured if their noise is less than this part of what independence gets wrong."""


def single_shares(sides: Mapping[str, int]) -> dict[Group, Fraction]:
    """Shares for the 1-way tables, in proportion to √cells: so the sum of their errors is small. They sum to at most 1.

    >>> single_shares({"a": 4, "b": 36})
    {('a',): Fraction(1, 4), ('b',): Fraction(3, 4)}
    """
    shares = on_grid(np.sqrt(np.array(list(sides.values()), dtype=np.float64)))
    return {(name,): share for name, share in zip(sides, shares, strict=True)}


def all_pair_shares(sides: Mapping[str, int]) -> dict[Group, Fraction]:
    """Shares for measuring all pairs of attributes, so that the sum of all their errors is least."""
    return table_shares(sides, list(itertools.combinations(sides, 2)))


@dataclass(frozen=True)
class Outlook:
    """What is known before pairs are measured."""

    attributes: int
    signal: float
    """Rows times ε for each cell of all pairs."""
    noise: float
    """The mean total variation that is expected if all pairs are measured with the rest of the budget."""
    dependence: float
    """The mean total variation of independence, from β."""


def outlook(
    model: PairModel,
    measured: Iterable[tuple[Group, float]],
    distance: float,
    epsilon: float,
    rest: float,
    shares: Mapping[Group, Fraction] | None = None,
    pairs: Iterable[Pair] | None = None,
) -> Outlook:
    """From the model of the 1-way tables, their cell variances, β, the whole ε and what of it is left for pairs.

    *pairs* are those that matter, and *shares* how they would be measured; where nothing is said, all of them.
    """
    sides = model.sides
    shares = all_pair_shares(sides) if shares is None else shares
    own = {pair: 2 / (rest * float(share)) ** 2 for pair, share in shares.items()}
    squares = part_variances(sides, [*measured, *own.items()])
    total = max(model.total, 1.0)
    errors, cells = [], 0
    for pair in itertools.combinations(sides, 2) if pairs is None else pairs:
        table, _ = model.pair(pair)
        off = mean_absolute(squares.variance(*pair), own.get(pair, math.inf))
        errors.append(float(np.minimum(off, table).sum()) / (2 * total))
        cells += table.size
    return Outlook(len(sides), total * epsilon / cells, float(np.mean(errors)), distance / (2 * total))


@dataclass(frozen=True)
class Decision:
    """The way to go. Shares are parts of the whole budget."""

    every_pair: bool
    top_up: Fraction
    """What the 1-way tables get once more."""
    pairs: int
    """How many pairs are chosen, if not all are measured."""
    rest: Fraction
    """What is left for pairs."""
    why: str


def decide(seen: Outlook) -> Decision:
    """All pairs if their noise is small beside what independence gets wrong; else as many as the signal allows.

    >>> decide(Outlook(10, signal=3.0, noise=0.01, dependence=0.2)).every_pair
    True
    >>> decide(Outlook(10, signal=0.2, noise=0.3, dependence=0.2)).pairs
    5
    """
    possible = math.comb(seen.attributes, 2)
    beside = f"noise of {seen.noise:.3f} beside a dependence of {seen.dependence:.3f}"
    if seen.signal >= ENOUGH and seen.noise < WORTH * seen.dependence:
        return Decision(True, Fraction(0), possible, REST, f"all pairs: {beside}")
    if seen.signal >= PLENTY:
        top_up, pairs = Fraction(25, 100), 2 * seen.attributes
    elif seen.signal >= ENOUGH:
        top_up, pairs = Fraction(40, 100), seen.attributes
    elif seen.signal >= SOME:
        top_up, pairs = Fraction(70, 100), max(1, seen.attributes // 2)
    else:
        top_up, pairs = REST, 0
    pairs = min(pairs, possible)
    if not pairs:
        return Decision(False, REST, 0, Fraction(0), "no pairs: too few rows for each cell of a pair")
    return Decision(False, top_up, pairs, REST - top_up, f"{pairs} pairs: {beside}")


@dataclass(frozen=True)
class Stage:
    """Some pairs, chosen one after the other and then measured together. Shares are parts of the whole budget."""

    pairs: int
    forest: bool
    """Whether the pairs may not close a circle."""
    choosing: Fraction
    measuring: Fraction

    def scale(self, epsilon: Fraction) -> Fraction:
        """The noise of a pair if all of the stage were measured alike: b."""
        return self.pairs / (self.measuring * epsilon)


def stages(decision: Decision, attributes: int) -> tuple[Stage, ...]:
    """First a forest, then any pairs; each stage gets its part of the budget by the number of its pairs.

    >>> [(stage.pairs, stage.forest) for stage in stages(decide(Outlook(6, 2.0, 0.2, 0.1)), 6)]
    [(5, True), (7, False)]
    """
    if decision.every_pair or not decision.pairs:
        return ()
    counts = [min(decision.pairs, attributes - 1)]
    if decision.pairs > counts[0]:
        counts.append(decision.pairs - counts[0])
    made = []
    for number, count in enumerate(counts):
        share = decision.rest * count / decision.pairs
        made.append(Stage(count, number == 0, CHOOSING * share, (1 - CHOOSING) * share))
    return tuple(made)


def pair_shares(predicted: Sequence[Reals], scale: float) -> list[Fraction]:
    """How to divide a stage's budget over its chosen pairs: ε_q ∝ √(Σ min(1, M̂/b) + 2). They sum to at most 1.

    Cells that are expected to be empty cost nothing: they are shrunk away afterwards.
    """
    return on_grid(np.sqrt([float(np.minimum(1.0, table / scale).sum()) + 2 for table in predicted]))


def penalties(predicted: Mapping[Pair, Reals], scale: float) -> dict[Pair, float]:
    """What measuring a pair would cost in error: Σ min(b, M̂)."""
    return {pair: float(np.minimum(scale, table).sum()) for pair, table in predicted.items()}
