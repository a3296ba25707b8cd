"""How some pairs are chosen and measured in stages, once it was decided that not all are measured.

In every stage pairs are chosen by ‖M − M̂‖₁ − Σ min(b, M̂), with b = ``scale`` the noise that each would be measured
with, and then measured with the shares of :func:`pair_shares`. Public functions of public numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.marginals.deciding import Decision
from adyton.marginals.forest import Pair
from adyton.strategies.table_shares import on_grid

CHOOSING = Fraction(15, 100)
"""The part of a stage's budget that its choices cost."""
LABEL_TOP_UP, LABEL = Fraction(15, 100), Fraction(60, 100)
"""Where there is a label: the parts of what the look left that the 1-way tables get, and the pairs with the label."""


@dataclass(frozen=True)
class Stage:
    """Some pairs, chosen one after the other and then measured together. Shares are parts of the whole budget."""

    pairs: int
    forest: bool
    """Whether the pairs may not close a circle."""
    choosing: Fraction
    measuring: Fraction
    label: bool = False
    """Whether these are the pairs with the label: nothing is chosen then."""

    def scale(self, epsilon: Fraction) -> Fraction:
        """The noise of a pair if all of the stage were measured alike: b."""
        return self.pairs / (self.measuring * epsilon)


@dataclass(frozen=True)
class Stages:
    """What the 1-way tables get once more, as a part of the whole budget, and what comes then."""

    top_up: Fraction
    stages: tuple[Stage, ...]


def stages(decision: Decision, longest: int, possible: int) -> Stages:
    """First a forest, of *longest* pairs at most, then any of the *possible* pairs; each stage gets its part of the
    budget by the number of its pairs.

    >>> from adyton.marginals.deciding import WAYS
    >>> [(one.pairs, one.forest) for one in stages(WAYS["two an attribute"].decision(6, Fraction(1)), 5, 15).stages]
    [(5, True), (7, False)]
    """
    pairs = 0 if decision.every_pair else min(decision.pairs, possible)
    counts = [count for count in (min(pairs, longest), pairs - min(pairs, longest)) if count]
    made = [_stage(one, decision.rest * one / pairs, forest=place == 0) for place, one in enumerate(counts)]
    return Stages(decision.top_up, tuple(made))


def label_stages(decision: Decision, attributes: int, own: int, possible: int) -> Stages:
    """Where one attribute is a label, its *own* pairs come first, and then any others, one for each attribute: rows
    that are to teach a classifier must have them."""
    left = decision.top_up + decision.rest
    others = min(attributes, possible - own)
    if not decision.pairs or not own:
        return stages(decision, attributes - 1, possible)
    first = Stage(own, True, Fraction(0), left * (LABEL if others else 1 - LABEL_TOP_UP), label=True)
    rest = left * (1 - LABEL_TOP_UP - LABEL)
    return Stages(left * LABEL_TOP_UP, (first, _stage(others, rest, forest=False)) if others else (first,))


def _stage(pairs: int, share: Fraction, *, forest: bool) -> Stage:
    return Stage(pairs, forest, CHOOSING * share, (1 - CHOOSING) * share)


def pair_shares(predicted: Sequence[Reals], scale: float) -> list[Fraction]:
    """How to divide a stage's budget over its chosen pairs: ε_q ∝ √(Σ min(1, M̂/b) + 2). They sum to at most 1.

    Cells that are expected to be empty cost nothing: they are shrunk away afterwards.
    """
    return on_grid(np.sqrt([float(np.minimum(1.0, table / scale).sum()) + 2 for table in predicted]))


def penalties(predicted: Mapping[Pair, Reals], scale: float) -> dict[Pair, float]:
    """What measuring a pair would cost in error: Σ min(b, M̂)."""
    return {pair: float(np.minimum(scale, table).sum()) for pair, table in predicted.items()}
