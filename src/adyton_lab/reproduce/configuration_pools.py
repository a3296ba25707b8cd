"""Made-up instances of every family, and what the family's algorithm reaches on them at every parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from adyton.arrays import Places, Reals
from adyton.compiling import cached_property
from adyton.configuration import made_up
from adyton.configuration.family import Family
from adyton.configuration.greedy import Auction, IndependentSet, Knapsack
from adyton.configuration.made_up import cut_graph
from adyton.configuration.max_cut import MaxCut
from adyton.configuration.problems import WeightedGraph
from adyton.configuration.routing import Routing
from adyton.kernel.instances.lattice import POINTS, Curve, Lattice, StepCurve, Utility
from adyton.kernel.instances.votes import SmoothVote, Vote, smooth_values, vote_of
from adyton_lab.training.engine import Advance, unseen


@dataclass(frozen=True)
class Kind:
    """A family, and a way to make up instances for it."""

    family: Family[Any]
    name: str
    make: Callable[..., Any]
    """Takes a seed: two numbers."""

    @property
    def label(self) -> str:
        """The family's name and the kind's."""
        return f"{self.family.name}, {self.name}"


def kinds() -> list[Kind]:
    """All kinds: for every family what papers make up."""
    found = []
    for name in ("uncorrelated", "weak", "strong", "lognormal"):
        found.append(Kind(Knapsack(), name, partial(made_up.items, name, count=50)))
    for name in ("gnp", "preferential", "geometric"):
        found.append(Kind(IndependentSet(), name, partial(made_up.graph, name, vertices=100)))
    adaptive = IndependentSet(adaptive=True)
    found.append(Kind(adaptive, "gnp, adaptive", partial(made_up.graph, "gnp", vertices=100)))
    for name in ("regions", "decay", "uniform"):
        found.append(Kind(Auction(), name, partial(made_up.bids, name, goods=40, count=200)))
    for name in ("random", "clustered"):
        found.append(Kind(Routing(), name, partial(made_up.deliveries, name, customers=25)))
    for name in ("gnp", "spins"):
        found.append(Kind(MaxCut(), f"{name}, rotation", partial(cut_graph, name, vertices=50)))
        found.append(Kind(MaxCut("threshold"), f"{name}, threshold", partial(cut_graph, name, vertices=50)))
    found.append(Kind(MaxCut("expected"), "gnp, expected", partial(cut_graph, "gnp", vertices=50)))
    return found + variants()


def variants() -> list[Kind]:
    """Kinds whose numbers are others, to show how much a gain depends on them: half the bids, and even weights."""
    found = [Kind(IndependentSet(), "gnp, even weights", partial(even_graph, "gnp", vertices=100))]
    for name in ("regions", "decay"):
        found.append(Kind(Auction(), f"{name}, half the bids", partial(made_up.bids, name, goods=40, count=100)))
    return found


def even_graph(kind: str, vertices: int, seed: Sequence[int]) -> WeightedGraph:
    """A graph whose vertices weigh 1 to 100, all equally often."""
    edges = made_up.graph(kind, vertices=vertices, seed=seed).edges
    return WeightedGraph(np.random.default_rng([*seed, 1]).integers(1, 101, vertices), edges)


class Pool:
    """Instances of one kind by their curves: some to tune on, and others to judge by."""

    def __init__(self, family: Family[Any], curves: Sequence[Curve], lattice: Lattice) -> None:
        self.family, self.curves, self.lattice = family, curves, lattice

    @classmethod
    def of(cls, kind: Kind, seeds: Sequence[tuple[int, int]], advance: Advance = unseen) -> Pool:
        """The curves of the instances that these seeds make, computed on all cores."""
        lattice = Lattice(*kind.family.interval)

        def computed(seed: tuple[int, int]) -> Curve:
            found = kind.family.curve(kind.make(seed=seed), lattice)
            advance(1)
            return found

        with ThreadPoolExecutor() as pool:
            return cls(kind.family, list(pool.map(computed, seeds)), lattice)

    def votes(self, utility: Utility) -> list[Vote]:
        """What every instance says."""
        with np.errstate(all="ignore"):
            return [vote_of(curve, self.lattice, utility) for curve in self.curves]

    def regret(self, place: int) -> float:
        """The mean over instances of how far below the best parameter for that very instance this one is, in parts."""
        rows = np.searchsorted(self._keys, np.arange(len(self.curves)) * POINTS + place, "right") - 1
        points = np.full(rows.size, self.lattice.point(place))
        values = smooth_values(self._coefficients[rows], points)
        size = np.abs(self.best)
        return float(np.divide(self.best - values, size, out=np.zeros_like(size), where=size > 0).mean())

    @property
    def default(self) -> int:
        """The place of what people use today."""
        return self.lattice.nearest(self.family.default)

    @cached_property
    def best(self) -> Reals:
        """The largest value on every instance."""
        said = self.votes(Utility.named("regret", clip=1))
        pairs = zip(self.curves, said, strict=True)
        found = [curve.values.max() if isinstance(curve, StepCurve) else _best(vote) for curve, vote in pairs]
        return np.array(found, dtype=np.float64)

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


def _best(vote: Vote) -> float:
    return vote.best if isinstance(vote, SmoothVote) else 0.0
