"""How tables of many attributes are measured: all pairs, or some; how many, and with which shares of the budget.

These are functions of public numbers. A program that uses them takes these steps:

1. the number of rows, for COUNT of the budget; :func:`look_shares` then says what the next two steps may cost;
2. the 1-way tables, divided by :func:`single_shares`;
3. β, the mean over all pairs of ‖M − M̂‖₁, where M̂ assumes independence;
4. :func:`evidence` and :func:`decide`: all pairs with the rest, or the 1-way tables once more and some pairs;
5. in the second case, :func:`stages`: in each, pairs are chosen by ‖M − M̂‖₁ − Σ min(b, M̂), with b = ``scale`` the noise
   that each would be measured with, and then measured with the shares of :func:`pair_shares`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from statistics import NormalDist

import numpy as np

from adyton.arrays import Reals
from adyton.marginals.pair_model import Pair, PairModel
from adyton.queries.measurement import Group
from adyton.solving.residuals import part_variances
from adyton.strategies.table_shares import mean_absolute, on_grid

COUNT = Fraction(2, 1000)
"""The part of a budget for the number of rows."""
FIRST, DISTANCE = Fraction(5, 100), Fraction(2, 100)
"""The largest parts of a budget for the 1-way tables and β before the decision."""
LEAST_FIRST, LEAST_DISTANCE = Fraction(1, 200), Fraction(2, 1000)
"""The smallest parts of a budget for them."""
LEAST_REST = 1 - COUNT - FIRST - DISTANCE
"""At least this part is left for pairs."""
CLEAR, CLEAR_DISTANCE = 0.01, 0.002
"""Between these bounds, the parts are such that the noise has this total variation in the 1-way tables, and in β."""

ENOUGH, SOME = 0.5, 0.08
"""Rows times ε per cell of the pairs: only from ENOUGH on can all pairs be measured; below SOME, no pair is."""


@dataclass(frozen=True)
class Law:
    """How the error of a way follows from noise and dependence. The constants were fitted to public tables."""

    single: float = 0.95
    """The error of denoised 1-way tables, relative to their noise."""
    pair: float = 1.17
    """The error of denoised pairs, relative to their noise."""
    every: float = 1.03
    """The same, where all pairs are measured."""
    every_single: float = 1.57
    """The error of 1-way tables where all pairs are measured, relative to their noise."""
    bend: float = 2.5
    """How sharply the error of a measured pair passes from its dependence to its noise, whichever is smaller."""
    explained: float = 0.23
    """The part of the dependence of other pairs that a forest of measured pairs explains."""
    spread: float = 1.36
    """The standard deviation of the logarithm of the pairs' dependence."""
    usual: float = 0.195
    """The median of the mean dependence of tables, relative to what their 1-way tables allow."""
    varies: float = 0.67
    """The standard deviation of its logarithm."""
    blur: float = 1.2
    """The part of the noise of 1-way tables that is in β."""
    blur_varies: float = 0.32
    """The standard deviation of the logarithm of that part."""
    sampled: float = 0.62
    """The part of the sampling variation that is in every pair."""
    choice: float = 0.52
    """The scale of the noise in the choice of pairs."""


LAW = Law()
_POINTS = 48
"""The number of quantiles of the pairs' dependence."""
GRID = np.geomspace(0.003, 0.9, 33)
"""Possible values of the mean dependence of a table."""


DIFFERENT = 64
"""An attribute counts as if it had at most so many cells: of more of them, neighbours or rare ones are alike."""


def single_shares(sides: Mapping[str, int]) -> dict[Group, Fraction]:
    """Shares for the 1-way tables, in proportion to √cells, which keeps the sum of errors small; they sum to at most 1.

    >>> single_shares({"a": 4, "b": 36})
    {('a',): Fraction(1, 4), ('b',): Fraction(3, 4)}
    """
    shares = on_grid(np.sqrt(np.minimum(list(sides.values()), DIFFERENT)))
    return {(name,): share for name, share in zip(sides, shares, strict=True)}


@dataclass(frozen=True)
class LookShares:
    """What is spent before the decision, as parts of the whole budget."""

    count: Fraction
    first: Fraction
    distance: Fraction

    @property
    def rest(self) -> Fraction:
        """The part that is left."""
        return 1 - self.count - self.first - self.distance


def look_shares(sides: Mapping[str, int], rows: float, epsilon: float) -> LookShares:
    """How much to spend on the 1-way tables and β, given a noisy number of rows.

    >>> narrow = {"a": 4, "b": 4, "c": 4}
    >>> look_shares(narrow, 1e6, 1.0).rest, look_shares(narrow, 1000, 1.0)
    (Fraction(991, 1000), LookShares(count=Fraction(1, 500), first=Fraction(1, 20), distance=Fraction(1, 50)))
    """
    roots = np.sqrt(np.array(list(sides.values()), dtype=np.float64))
    strength = 2 * max(rows, 1.0) * epsilon
    first = float(roots.mean() * roots.sum()) / (CLEAR * strength)
    distance = 1 / (CLEAR_DISTANCE * strength)
    return LookShares(COUNT, _between(LEAST_FIRST, first, FIRST), _between(LEAST_DISTANCE, distance, DISTANCE))


def _between(least: Fraction, value: float, most: Fraction) -> Fraction:
    """The value in thousandths, rounded down, between two bounds."""
    return min(most, max(least, Fraction(math.floor(min(value, 1.0) * 1000), 1000)))


def occupied(
    model: PairModel, shares: Mapping[Group, Fraction], pairs: Iterable[Pair], epsilon: float
) -> dict[Pair, float]:
    """The part of each pair's cells, Σ min(1, M̂/b) + 2 of them, that is expected to hold more rows than noise if
    *epsilon* is spent by these *shares*: counts below the noise are shrunk to 0, whatever was measured."""
    variances = [(group, 2 / (epsilon * float(share)) ** 2) for group, share in shares.items()]
    squares = part_variances(model.sides, variances)
    parts = {}
    for pair in pairs:
        table, scale = model.predicted(pair), math.sqrt(squares.variance(*pair) / 2)
        parts[pair] = (float(np.minimum(1.0, table / scale).sum()) + 2) / (table.size + 2)
    return parts


@dataclass(frozen=True)
class WayNoise:
    """The noise of one way, as mean total variations."""

    measured: float
    """The part of all pairs that is measured."""
    per_attribute: float
    """The number of measured pairs per attribute."""
    single: float
    """From the noise of 1-way tables."""
    pair: float
    """From the noise of a measured pair."""
    choice: float
    """The noise in the choice of pairs."""


@dataclass(frozen=True)
class Evidence:
    """What is known before pairs are measured."""

    attributes: int
    signal: float
    """Rows times ε per cell of all pairs."""
    noise: Mapping[str, WayNoise]
    """The noise of each of :data:`WAYS`."""
    sampled: float
    """The mean total variation of independent attributes that is due to the limited number of rows."""
    weights: Reals
    """How likely each of the possible mean dependences is, given β and its noise."""

    @property
    def dependence(self) -> float:
        """The mean total variation of independence: its posterior mean."""
        return float(self.weights @ GRID)

    @property
    def known(self) -> bool:
        """Whether β says more about the dependence than public tables in general do."""
        logs = np.log(GRID)
        middle = float(self.weights @ logs)
        return math.sqrt(float(self.weights @ (logs - middle) ** 2)) < 0.5 * LAW.varies

    def expected(self, name: str, law: Law = LAW) -> float:
        """The expected mean total variation over all pairs."""
        noise, points = self.noise[name], quantiles(law.spread)
        least = np.minimum(law.sampled * self.sampled, GRID)
        own = np.minimum(least[:, None] + (GRID - least)[:, None] * points, 1.0)
        every = name == "all pairs"
        single = noise.single * (law.every_single if every else law.single)
        level = max(noise.pair, 1e-9) * (law.every if every else law.pair)
        whole = np.hypot(own, single)
        measured = level * whole / (level**law.bend + whole**law.bend) ** (1 / law.bend)
        left = np.hypot(own * (1 - law.explained * min(1.0, noise.per_attribute)), single)
        certain = own.std(axis=1) / np.hypot(own.std(axis=1), law.choice * noise.choice + 1e-9)
        first = np.clip(noise.measured * _POINTS - np.arange(_POINTS), 0.0, 1.0)
        chosen = certain[:, None] * first + (1 - certain[:, None]) * noise.measured
        return float(self.weights @ (chosen * measured + (1 - chosen) * left).mean(axis=1))


@cache
def quantiles(spread: float) -> Reals:
    """The dependence of pairs relative to their mean, the largest first: quantiles of a log-normal law."""
    normal = NormalDist()
    points = np.exp([spread * normal.inv_cdf(1 - (place + 0.5) / _POINTS) for place in range(_POINTS)])
    return np.asarray(points / points.mean())


def evidence(
    model: PairModel,
    measured: Iterable[tuple[Group, float]],
    distance: tuple[float, float],
    epsilon: float,
    rest: float,
    shares: Mapping[Group, Fraction],
    pairs: Iterable[Pair],
) -> Evidence:
    """The evidence from the model of the 1-way tables, their cell variances, β and its standard deviation, the whole ε
    and the *rest* for pairs.

    *pairs* are those that matter, and *shares* are those with which they would be measured.
    """
    sides, total = model.sides, max(model.total, 1.0)
    own = {group: 2 / (rest * float(share)) ** 2 for group, share in shares.items()}
    known, wanted = list(measured), list(pairs)
    tables = [model.predicted(pair) for pair in wanted]
    every = [*known, *own.items()]
    squares = part_variances(sides, every)
    off = [mean_absolute(squares.variance(*pair), own.get(pair, math.inf)) for pair in wanted]

    def wrong(scales: Iterable[float]) -> float:
        cells = (float(np.minimum(scale, table).sum()) for scale, table in zip(scales, tables, strict=True))
        return float(np.mean(list(cells))) / (2 * total)

    noise = {}
    for name, way in WAYS.items():
        plan, possible = way.decision(len(sides), Fraction(1)), len(wanted)
        if plan.every_pair:
            noise[name] = WayNoise(1.0, possible / len(sides), _blur(model, every, wanted), wrong(off), 0.0)
            continue
        again = [(group, 2 / (rest * float(plan.top_up * part)) ** 2) for group, part in single_shares(sides).items()]
        number, single = min(plan.pairs, possible), _blur(model, [*known, *again], wanted)
        left = max(float(plan.rest) * rest, 1e-300)
        scale = number / (float(1 - CHOOSING) * left)
        choice = number / (float(CHOOSING) * left * total)
        noise[name] = WayNoise(number / possible, number / len(sides), single, wrong([scale] * possible), choice)
    sampled = float(np.mean([np.minimum(np.sqrt(2 * table / math.pi), 2 * table).sum() for table in tables]))
    sampled /= 2 * total
    allowed = float(
        np.mean([math.prod(1 - float(((model.singles[name] / total) ** 2).sum()) for name in pair) for pair in wanted])
    )
    weights = posterior(distance[0] / (2 * total), distance[1] / (2 * total), _blur(model, known, wanted), allowed)
    return Evidence(len(sides), total * epsilon / sum(table.size for table in tables), noise, sampled, weights)


def posterior(seen: float, deviation: float, blur: float, allowed: float, law: Law = LAW) -> Reals:
    """How likely each value of the mean dependence is: the law of public tables, times the likelihood of the *seen*
    distance. That is √(dependence² + blur²), where the blur is known only roughly, plus Laplace noise."""
    steps = np.linspace(-2, 2, 9)
    part = np.minimum(law.blur * blur * np.exp(steps * law.blur_varies), 1.0)
    expected = np.minimum(np.hypot(GRID[:, None], part), 1.0)
    scale = np.hypot(deviation, 0.05 * expected)
    logs = -math.sqrt(2) * np.abs(seen - expected) / scale - np.log(scale) - steps**2 / 2
    logs -= ((np.log(GRID / max(allowed, 1e-3)) - math.log(law.usual)) ** 2 / (2 * law.varies**2))[:, None]
    weights = np.exp(logs - logs.max()).sum(axis=1)
    return np.asarray(weights / weights.sum())


def _blur(model: PairModel, measured: Sequence[tuple[Group, float]], pairs: Sequence[Pair]) -> float:
    """The mean total variation of pairs that is due only to the noise of the 1-way tables. It is a part of β, which is
    too large where rows are few. Squares of independent errors add up."""
    squares, total = part_variances(model.sides, measured), max(model.total, 1.0)
    single = {
        name: float(np.minimum(mean_absolute(squares.variance(name)), table).sum()) / (2 * total)
        for name, table in model.singles.items()
    }
    return float(np.mean([math.hypot(*(single[name] for name in pair)) for pair in pairs]))


@dataclass(frozen=True)
class Decision:
    """Which tables to measure. Shares are parts of the whole budget."""

    every_pair: bool
    top_up: Fraction
    """The additional share of the 1-way tables."""
    pairs: int
    """The number of pairs to choose, if not all are measured."""
    rest: Fraction
    """The share left for pairs."""
    why: str
    in_groups: bool = False
    """Whether all pairs are measured in groups of cells, if all are."""


@dataclass(frozen=True)
class Way:
    """The number of pairs to choose per attribute, and the part of the rest that the 1-way tables get first."""

    pairs: Fraction | None
    """The number per attribute; None where all pairs are measured."""
    top_up: Fraction

    def decision(self, attributes: int, rest: Fraction, why: str = "") -> Decision:
        """The decision for this number of attributes, with *rest* of the budget."""
        possible = math.comb(attributes, 2)
        if self.pairs is None:
            return Decision(True, Fraction(0), possible, rest, why)
        pairs = min(possible, math.ceil(self.pairs * attributes))
        top_up = rest * self.top_up if pairs else rest
        return Decision(False, top_up, pairs, rest - top_up, why)


WAYS = {
    "all pairs": Way(None, Fraction(0)),
    "four pairs an attribute": Way(Fraction(4), Fraction(15, 100)),
    "two pairs an attribute": Way(Fraction(2), Fraction(27, 100)),
    "one pair an attribute": Way(Fraction(1), Fraction(43, 100)),
    "half a pair an attribute": Way(Fraction(1, 2), Fraction(75, 100)),
    "a quarter of a pair an attribute": Way(Fraction(1, 4), Fraction(85, 100)),
    "no pairs": Way(Fraction(0), Fraction(1)),
}
"""The possible decisions."""


def decide(
    seen: Evidence, rest: Fraction, *, every: bool = True, some: bool = False, pairs: int | None = None
) -> Decision:
    """The way with the least expected error, averaged over what the dependence may be.

    *rest* is the part of the budget that is left. If *every* is false, pairs are always chosen, never all measured;
    with *some*, at least one is, where that is possible at all. *pairs*, if given, is the number of pairs to choose.
    """
    if pairs is not None:
        return _exactly(seen.attributes, pairs, rest)
    possible = [name for name in WAYS if name != "all pairs" or (every and seen.signal >= ENOUGH)]
    if some:
        possible = [name for name in possible if WAYS[name].pairs != 0]
    errors = {name: seen.expected(name) for name in (possible if seen.signal >= SOME else ["no pairs"])}
    name, *others = sorted(errors, key=lambda name: errors[name])
    why = f"{name}: an expected error of {errors[name]:.2g}"
    if others:
        why += f", {others[0]} of {errors[others[0]]:.2g}"
    about = f"of {seen.dependence:.2g}" if seen.known else "that noise hides"
    return WAYS[name].decision(seen.attributes, rest, f"{why}, with a dependence {about} (total variations)")


def _exactly(attributes: int, pairs: int, rest: Fraction) -> Decision:
    """The number of pairs that the request names; the 1-way tables get the share of the way with the nearest number."""
    top_ups = {way.pairs * attributes: way.top_up for way in WAYS.values() if way.pairs}
    top_up = rest * top_ups[min(top_ups, key=lambda usual: abs(usual - pairs))]
    return Decision(False, top_up, pairs, rest - top_up, f"{pairs:,} pairs, as asked for")


CHOOSING = Fraction(15, 100)
"""The part of a stage's budget that its choices cost."""
LABEL_PAIRS = Fraction(1, 3)
"""Where there is a label, so many of its pairs are measured beside a forest; rounded up."""


@dataclass(frozen=True)
class Stage:
    """Some pairs, chosen one after the other and then measured together. Shares are parts of the whole budget."""

    pairs: int
    forest: bool
    """Whether the pairs must form a forest, without a cycle."""
    choosing: Fraction
    measuring: Fraction
    label: bool = False
    """Whether these are pairs with the label, as long as there are any."""

    def scale(self, epsilon: Fraction) -> Fraction:
        """b, the noise of a pair if all pairs of the stage had equal shares."""
        return self.pairs / (self.measuring * epsilon)


@dataclass(frozen=True)
class Stages:
    """The additional share of the 1-way tables, as a part of the whole budget, and the stages after that."""

    top_up: Fraction
    stages: tuple[Stage, ...]


def stages(decision: Decision, longest: int, possible: int) -> Stages:
    """First a forest, of at most *longest* pairs, then any of the *possible* pairs; stages divide the budget by the
    number of their pairs.

    >>> plan = stages(WAYS["two pairs an attribute"].decision(6, Fraction(1)), 5, 15)
    >>> [(stage.pairs, stage.forest) for stage in plan.stages]
    [(5, True), (7, False)]
    """
    if decision.every_pair:
        whole = Stage(possible, False, Fraction(0), decision.rest)
        return Stages(decision.top_up, (whole,) if possible else ())
    pairs = min(decision.pairs, possible)
    counts = [count for count in (min(pairs, longest), pairs - min(pairs, longest)) if count]
    made = [_stage(count, decision.rest * count / pairs, forest=place == 0) for place, count in enumerate(counts)]
    return Stages(decision.top_up, tuple(made))


def label_stages(decision: Decision, longest: int, own: int, possible: int) -> Stages:
    """Where one attribute is a label, for classifiers that learn from the rows: a forest, then those of the label's
    *own* pairs that are guessed worst, then any. Measuring all pairs of the label would leave little for each.

    >>> plan = label_stages(WAYS["two pairs an attribute"].decision(6, Fraction(1)), 5, 5, 15)
    >>> [(stage.pairs, stage.label) for stage in plan.stages]
    [(5, False), (2, True), (5, False)]
    """
    if not decision.pairs or not own:
        return stages(decision, longest, possible)
    forest = min(decision.pairs, longest)
    label = min(math.ceil(LABEL_PAIRS * own), possible - forest)
    counts = (forest, label, max(0, min(decision.pairs, possible) - forest - label))
    whole, made = sum(counts), []
    for place, count in enumerate(counts):
        if count:
            made.append(replace(_stage(count, decision.rest * count / whole, forest=place == 0), label=place == 1))
    return Stages(decision.top_up, tuple(made))


def _stage(pairs: int, share: Fraction, *, forest: bool) -> Stage:
    return Stage(pairs, forest, CHOOSING * share, (1 - CHOOSING) * share)


def pair_shares(predicted: Sequence[Reals], scale: float) -> list[Fraction]:
    """How to divide a stage's budget over its chosen pairs: ε_q ∝ √(Σ min(1, M̂/b) + 2). They sum to at most 1.

    Cells that are expected to be empty need no budget: they are shrunk to 0 afterwards.
    """
    return on_grid(np.sqrt([float(np.minimum(1.0, table / scale).sum()) + 2 for table in predicted]))
