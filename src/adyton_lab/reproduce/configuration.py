"""Private algorithm configuration, measured: what a parameter that was tuned privately loses, on made-up instances.

Balcan, Dick and Vitercik, "Differentially private algorithm configuration", 2017, prove how much that is at most, and
measure nothing. Here every family is tuned on few and on many instances, with small and large ε, and judged on others
that it was not tuned on: against the best parameter without privacy, and against what people use today.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.kernel.instances.lattice import POINTS, UNIT, Lattice, Utility
from adyton.kernel.instances.opening import simulated_instances
from adyton.kernel.instances.votes import SmoothSums, StepSums, StepVote, SummedUtility, Vote
from adyton_lab.engine import Advance, unseen
from adyton_lab.reproduce.configuration_bound import Windows, bound
from adyton_lab.reproduce.configuration_pools import Kind, Pool, kinds
from adyton_lab.training.engine import Advance, unseen

CLIPS = ("0.1", "0.05")
PAPER = "value"
"""The paper's utility: the value itself, in [0, H], with the least H that holds for the kind."""
TODAY = f"clip {CLIPS[0]}, prior on today"
"""Half of the prior is on today's value."""
UTILITIES = (*(f"clip {clip}" for clip in CLIPS), TODAY, PAPER)
_EXACT = Utility.named("regret", clip=1)
"""What the best parameter without privacy is found by: the mean relative regret, not clipped."""


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A parameter that was tuned once, and how it does on instances that were not seen. Regrets are relative means."""

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
    """The regret of today's value."""
    loss: float
    """How far the sum of utilities is from the best, on the instances it was tuned on, in units of H."""
    bound: float
    """What the paper proves about that loss."""


@dataclass(frozen=True)
class Protocol:
    """What is varied, and how often it is repeated."""

    sizes: tuple[int, ...]
    epsilons: tuple[str, ...]
    trials: int
    to_tune: int
    """How many instances there are to draw samples from."""
    to_judge: int

    def steps(self, number_of_kinds: int) -> int:
        """How many instances are looked at and parameters tuned."""
        runs = self.trials * len(self.sizes) * len(UTILITIES) * len(self.epsilons)
        return number_of_kinds * (self.to_tune + self.to_judge + runs)


FULL = Protocol((10, 20, 50, 100, 200, 500, 1000), ("0.1", "0.3", "1", "3"), 20, 2000, 1000)
QUICK = Protocol((10, 50, 200), ("0.1", "1"), 10, 400, 300)


def protocol(*, quick: bool) -> Protocol:
    """All sizes, or a few."""
    return QUICK if quick else FULL


def run(*, quick: bool = False, advance: Advance = unseen) -> list[Tuned]:
    """Every parameter tuned: for each kind of instances, size, ε and utility. Nothing here is private."""
    asked = protocol(quick=quick)
    return [tuned for number, kind in enumerate(kinds()) for tuned in tuned_on(kind, asked, number, advance)]


def tuned_on(kind: Kind, asked: Protocol, number: int, advance: Advance = unseen) -> Iterator[Tuned]:
    """All that is measured on one kind of instances."""
    tuning = Pool.of(kind, [(0, seed) for seed in range(asked.to_tune)], advance)
    judging = Pool.of(kind, [(1, seed) for seed in range(asked.to_judge)], advance)
    exact, default = tuning.votes(_EXACT), judging.regret(judging.default)
    votes = {name: tuning.votes(utility_for(name, tuning)) for name in utilities_for(tuning)}
    for trial in range(asked.trials):
        order = np.random.default_rng([number, trial]).permutation(asked.to_tune)
        for size in asked.sizes:
            sample = order[:size].tolist()
            without = judging.regret(best_place(summed_up(exact, sample, tuning, _EXACT)))
            for name, said in votes.items():
                sums = summed_up(said, sample, tuning, utility_for(name, tuning))
                windows = Windows.of([said[one] for one in sample], best_place(sums))
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


def utilities_for(pool: Pool) -> Sequence[str]:
    """The paper's utility needs values from 0 on: costs, which are negative, have only a regret."""
    return UTILITIES if (pool.best >= 0).all() else UTILITIES[:-1]


def utility_for(name: str, pool: Pool) -> Utility:
    """A utility by its name here; H is the largest value of the kind, which favours the paper: nobody knows it."""
    if name == PAPER:
        return Utility.named("value", bound=Fraction(float(pool.best.max())))
    return Utility.named("regret", clip=name.removeprefix("clip ").split(",")[0])


def summed_up(votes: Sequence[Vote], sample: Sequence[int], pool: Pool, utility: Utility) -> SummedUtility:
    """The sum of what these instances say."""
    said = [votes[one] for one in sample]
    steps = [vote for vote in said if isinstance(vote, StepVote)]
    return (
        StepSums.of(steps) if len(steps) == len(said) else SmoothSums([[vote] for vote in said], pool.lattice, utility)
    )


def best_place(sums: SummedUtility) -> int:
    """The middle of the longest of the best pieces. Where pieces are not constant: the best of the most promising."""
    lengths = np.diff(np.append(sums.starts, POINTS))
    middles = sums.starts + lengths // 2
    if sums.exact:
        return int(middles[np.where(sums.tops == sums.tops.max(), lengths, 0).argmax()])
    promising = middles[np.argsort(-sums.tops, kind="stable")[:100]]
    return int(promising[sums.at(promising).argmax()])


def drawn_place(
    sums: SummedUtility, lattice: Lattice, epsilon: str, seed: Sequence[int], today: float | None = None
) -> int:
    """A place, drawn by the kernel as from private instances, with seeded chance."""
    kernel = simulated_instances(sums, lattice, epsilon=epsilon, seed=np.random.SeedSequence(seed))
    return lattice.nearest(kernel.root.tune(epsilon, today))
