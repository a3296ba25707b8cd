"""Private algorithm configuration, measured: how much a privately tuned parameter loses, on made-up instances.

Balcan, Dick and Vitercik, "Differentially private algorithm configuration", 2017, prove an upper bound on this loss and
measure nothing. Here every family is tuned on few and on many instances, with small and large ε, and tested on held-out
instances: against the best parameter without privacy, and against the value that people use today.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from adyton.arrays import Integers, Places, Reals
from adyton.compiling import cached_property
from adyton.configuration import made_up
from adyton.configuration.family import Family
from adyton.configuration.greedy import Auction, IndependentSet, Knapsack
from adyton.configuration.max_cut import MaxCut
from adyton.configuration.problems import WeightedGraph
from adyton.configuration.routing import Routing
from adyton.kernel.instances.lattice import POINTS, UNIT, Curve, Lattice, StepCurve, Utility
from adyton.kernel.instances.opening import simulated_instances
from adyton.kernel.instances.votes import (
    SmoothSums,
    SmoothVote,
    StepSums,
    StepVote,
    SummedUtility,
    Vote,
    smooth_values,
    vote_of,
)
from adyton_lab.training.engine import Advance, unseen

CLIPS = ("0.1", "0.05")
PAPER = "value"
"""The paper's utility: the value itself, in [0, H], with the least H that holds for the kind."""
TODAY = f"clip {CLIPS[0]}, prior on today"
"""Half of the prior is on today's value."""
UTILITIES = (*(f"clip {clip}" for clip in CLIPS), TODAY, PAPER)
_EXACT = Utility.named("regret", clip=1)
"""The utility of the best parameter without privacy: the mean relative regret, not clipped."""


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A parameter that was tuned once, and how it does on held-out instances. Regrets are means of relative regrets."""

    family: str
    kind: str
    utility: str
    instances: int
    epsilon: str
    trial: int
    parameter: float
    regret: float
    without_privacy: float
    """The regret of the best parameter for the same instances."""
    default: float
    """The regret of the value used today."""
    loss: float
    """How far the sum of utilities is below the best, on the instances used for tuning, in units of H."""
    bound: float
    """The paper's upper bound on that loss."""


@dataclass(frozen=True)
class Protocol:
    """The settings that are varied, and the number of repetitions."""

    sizes: tuple[int, ...]
    epsilons: tuple[str, ...]
    trials: int
    to_tune: int
    """How many instances there are to draw samples from."""
    to_judge: int

    def steps(self, number_of_kinds: int) -> int:
        """The number of instances computed plus the number of parameters tuned."""
        runs = self.trials * len(self.sizes) * len(UTILITIES) * len(self.epsilons)
        return number_of_kinds * (self.to_tune + self.to_judge + runs)


FULL = Protocol((10, 20, 50, 100, 200, 500, 1000), ("0.1", "0.3", "1", "3"), 20, 2000, 1000)
QUICK = Protocol((10, 50, 200), ("0.1", "1"), 10, 400, 300)


def run(asked: Protocol, advance: Advance = unseen) -> list[Tuned]:
    """Every tuned parameter: for each kind of instances, size, ε and utility. Nothing here is private."""
    return [tuned for number, kind in enumerate(kinds()) for tuned in tuned_on(kind, asked, number, advance)]


def tuned_on(kind: Kind, asked: Protocol, number: int, advance: Advance = unseen) -> Iterator[Tuned]:
    """All measurements on one kind of instances."""
    tuning = Pool.of(kind, [(0, seed) for seed in range(asked.to_tune)], advance)
    judging = Pool.of(kind, [(1, seed) for seed in range(asked.to_judge)], advance)
    exact, default = tuning.votes(_EXACT), judging.regret(judging.default)
    utilities = UTILITIES if (tuning.best >= 0).all() else UTILITIES[:-1]  # negative costs are not values in [0, H]
    votes = {name: tuning.votes(utility_for(name, tuning)) for name in utilities}
    for trial in range(asked.trials):
        order = np.random.default_rng([number, trial]).permutation(asked.to_tune)
        for size in asked.sizes:
            sample = order[:size].tolist()
            without = judging.regret(best_place(summed_up(exact, sample, tuning, _EXACT)))
            for name, said in votes.items():
                sums = summed_up(said, sample, tuning, utility_for(name, tuning))
                windows = Windows.of([said[number] for number in sample], best_place(sums))
                today = kind.family.default if name == TODAY else None
                for place, epsilon in enumerate(asked.epsilons):
                    drawn = drawn_place(sums, tuning.lattice, epsilon, [number, trial, size, place], today)
                    lost = (int(sums.tops.max()) - int(sums.at(np.array([drawn]))[0])) / UNIT
                    yield Tuned(
                        family=kind.family.name,
                        kind=kind.name,
                        utility=name,
                        instances=size,
                        epsilon=epsilon,
                        trial=trial,
                        parameter=float(tuning.lattice.point(drawn)),
                        regret=judging.regret(drawn),
                        without_privacy=without,
                        default=default,
                        loss=lost,
                        bound=bound(windows, float(epsilon), prior=1.0 if today is None else 0.5),
                    )
                    advance(1)


def utility_for(name: str, pool: Pool) -> Utility:
    """A utility by its name; H is the largest value of the kind, unknown in practice, which favours the paper."""
    if name == PAPER:
        return Utility.named("value", bound=Fraction(float(pool.best.max())))
    return Utility.named("regret", clip=name.removeprefix("clip ").split(",")[0])


def summed_up(votes: Sequence[Vote], sample: Sequence[int], pool: Pool, utility: Utility) -> SummedUtility:
    """The summed utility of these instances."""
    said = [votes[number] for number in sample]
    steps = [vote for vote in said if isinstance(vote, StepVote)]
    if len(steps) == len(said):
        return StepSums.of(steps)
    return SmoothSums([[vote] for vote in said], pool.lattice, utility)


def best_place(sums: SummedUtility) -> int:
    """The middle of the longest of the best pieces; if pieces are not constant, the best of the most promising
    middles."""
    lengths = np.diff(np.append(sums.starts, POINTS))
    middles = sums.starts + lengths // 2
    if sums.exact:
        return int(middles[np.where(sums.tops == sums.tops.max(), lengths, 0).argmax()])
    promising = middles[np.argsort(-sums.tops, kind="stable")[:100]]
    return int(promising[sums.at(promising).argmax()])


def drawn_place(
    sums: SummedUtility, lattice: Lattice, epsilon: str, seed: Sequence[int], today: float | None = None
) -> int:
    """A place drawn by the kernel as it would be for private instances, with a seeded generator."""
    kernel = simulated_instances(sums, lattice, epsilon=epsilon, seed=np.random.SeedSequence(seed))
    return lattice.nearest(kernel.root.tune(epsilon, today))


# ---- made-up instances of every family ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A family, and a way to make up instances for it."""

    family: Family[Any]
    name: str
    make: Callable[..., Any]
    """Takes a seed of two numbers."""

    @property
    def label(self) -> str:
        """The family's name and the kind's."""
        return f"{self.family.name}, {self.name}"


def kinds() -> list[Kind]:
    """For every family, the kinds of instances that papers make up; at the end, kinds with other parameters (even
    weights, half the bids), to show how much a gain depends on them."""
    cuts = partial(made_up.cut_graph, vertices=50)
    graphs, bids = partial(made_up.graph, vertices=100), partial(made_up.bids, goods=40)
    return [
        *(
            Kind(Knapsack(), name, partial(made_up.items, name, count=50))
            for name in ("uncorrelated", "weak", "strong", "lognormal")
        ),
        *(Kind(IndependentSet(), name, partial(graphs, name)) for name in ("gnp", "preferential", "geometric")),
        Kind(IndependentSet(adaptive=True), "gnp, adaptive", partial(graphs, "gnp")),
        *(Kind(Auction(), name, partial(bids, name, count=200)) for name in ("regions", "decay", "uniform")),
        *(Kind(Routing(), name, partial(made_up.deliveries, name, customers=25)) for name in ("random", "clustered")),
        *(
            Kind(family, f"{name}, {way}", partial(cuts, name))
            for name in ("gnp", "spins")
            for way, family in (("rotation", MaxCut()), ("threshold", MaxCut("threshold")))
        ),
        Kind(MaxCut("expected"), "gnp, expected", partial(cuts, "gnp")),
        Kind(IndependentSet(), "gnp, even weights", partial(_even_graph, "gnp", vertices=100)),
        *(Kind(Auction(), f"{name}, half the bids", partial(bids, name, count=100)) for name in ("regions", "decay")),
    ]


def _even_graph(kind: str, vertices: int, seed: Sequence[int]) -> WeightedGraph:
    """A graph whose vertices weigh 1 to 100, all equally often."""
    edges = made_up.graph(kind, vertices=vertices, seed=seed).edges
    return WeightedGraph(np.random.default_rng([*seed, 1]).integers(1, 101, vertices), edges)


class Pool:
    """The curves of instances of one kind, for tuning or for testing."""

    def __init__(self, family: Family[Any], curves: Sequence[Curve], lattice: Lattice) -> None:
        self.family, self.curves, self.lattice = family, curves, lattice

    @classmethod
    def of(cls, kind: Kind, seeds: Sequence[tuple[int, int]], advance: Advance = unseen) -> Pool:
        """The curves of the instances that these seeds make, computed on all cores."""
        lattice = Lattice(*kind.family.interval)

        def computed(seed: tuple[int, int]) -> Curve:
            curve = kind.family.curve(kind.make(seed=seed), lattice)
            advance(1)
            return curve

        with ThreadPoolExecutor() as pool:
            return cls(kind.family, list(pool.map(computed, seeds)), lattice)

    def votes(self, utility: Utility) -> list[Vote]:
        """The vote of every instance."""
        with np.errstate(all="ignore"):
            return [vote_of(curve, self.lattice, utility) for curve in self.curves]

    def regret(self, place: int) -> float:
        """The mean relative regret: how far below the best value for each instance this place is, as a fraction of
        it."""
        rows = np.searchsorted(self._keys, np.arange(len(self.curves)) * POINTS + place, "right") - 1
        points = np.full(rows.size, self.lattice.point(place))
        values = smooth_values(self._coefficients[rows], points)
        size = np.abs(self.best)
        return float(np.divide(self.best - values, size, out=np.zeros_like(size), where=size > 0).mean())

    @property
    def default(self) -> int:
        """The place of the value that people use today."""
        return self.lattice.nearest(self.family.default)

    @cached_property
    def best(self) -> Reals:
        """The largest value on every instance."""
        said = self.votes(Utility.named("regret", clip=1))
        pairs = zip(self.curves, said, strict=True)
        best = [
            curve.values.max() if isinstance(curve, StepCurve) else vote.best if isinstance(vote, SmoothVote) else 0.0
            for curve, vote in pairs
        ]
        return np.array(best, dtype=np.float64)

    @cached_property
    def _keys(self) -> Places:
        numbers = np.repeat(np.arange(len(self.curves)), [curve.starts.size for curve in self.curves])
        return np.asarray(numbers * POINTS + np.concatenate([curve.starts for curve in self.curves]))

    @cached_property
    def _coefficients(self) -> Reals:
        """c₀, c₁ and c₂ of every piece of every instance."""
        rows = [
            np.stack([curve.values, *np.zeros((2, curve.values.size))], axis=1)
            if isinstance(curve, StepCurve)
            else curve.coefficients
            for curve in self.curves
        ]
        return np.concatenate(rows)


# ---- the paper's bound, which can be computed because the instances are public --------------------------------------

ZETA = 0.01
"""The bound holds with probability 1 − ζ."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows around the optimum: each has its fraction w/L of the interval, and k, the number of instances whose
    utility changes inside it. Only the longest window for each k is kept."""

    shares: Reals
    changing: Integers

    @classmethod
    def of(cls, votes: Sequence[Vote], optimum: int) -> Windows:
        """All windows around the place *optimum*, cut off at the ends of the interval."""
        free = np.sort([_unchanged(vote, optimum) for vote in votes])
        reach = np.unique(np.concatenate([free, [POINTS]]))
        widths = np.minimum(optimum + reach, POINTS - 1) - np.maximum(optimum - reach, 0) + 1
        return cls(widths / POINTS, np.searchsorted(free, reach, "left"))


def bound(windows: Windows, epsilon: float, zeta: float = ZETA, prior: float = 1.0) -> float:
    """(1/ε)(ln(L/w) + ln(1/ζ)) + k, minimised over w, in units of H: bounds the summed loss with probability 1 − ζ.

    Balcan, Dick and Vitercik, 2017 and 2018.

    Proof.  In the window no sum is below the best by more than k, so its places together weigh at least
    w·e^{ε(U* − k)}. All places that lose more than k + t weigh less than L·e^{ε(U* − k − t)}, which is ζ times that for
    t = (ln(L/w) + ln(1/ζ))/ε. If only a fraction *prior* of the prior is on the interval, L/w becomes L/(w·prior).  ∎

    >>> from adyton.kernel.instances.votes import FLAT
    >>> round(bound(Windows.of([FLAT], 7), epsilon=1.0, zeta=math.exp(-3)), 9)
    3.0
    """
    return float(((-np.log(windows.shares * prior) - math.log(zeta)) / epsilon + windows.changing).min())


def _unchanged(vote: Vote, place: int) -> int:
    """How many places on each side have the same level; all places if none differs."""
    if not isinstance(vote, StepVote):
        return 0
    moves = vote.starts[1:][np.diff(vote.levels) != 0]
    after = int(np.searchsorted(moves, place, "right"))
    left = place - int(moves[after - 1]) if after else POINTS
    right = int(moves[after]) - 1 - place if after < moves.size else POINTS
    return min(left, right)
