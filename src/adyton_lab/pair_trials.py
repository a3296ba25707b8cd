"""Ways to measure the pairs of PUBLIC tables, tried out: what a private plan would see, and its error.

Nothing here is private, and nothing is charged: noise comes from a seeded generator, and errors are compared with the
truth. The steps are those of :mod:`adyton.marginals.deciding`.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.marginals import deciding
from adyton.marginals.deciding import Decision, Look, Outlook, Stage
from adyton.marginals.estimating import estimated
from adyton.marginals.pair_model import Pair, PairModel, Parts
from adyton.marginals.program import Wanted
from adyton.marginals.refining import refined
from adyton.queries.measurement import Group, MeasuredTable
from adyton.remembered import cached_property
from adyton.schema import Integer, Schema

ROWS = 1 << 14
"""So many rows are fitted in a trial: fewer than in a release, to save time."""


@dataclass(frozen=True, eq=False)
class PublicPairs:
    """The 1-way tables and the pairs of a public table."""

    name: str
    sides: Mapping[str, int]
    rows: int
    tables: Mapping[Group, Reals]
    codes: Integers
    ordered: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, codes: Integers, sides: Sequence[int], ordered: Sequence[bool] = ()) -> PublicPairs:
        """From the numbers of cells, a column for each attribute. Attributes are named by their places."""
        names = [f"x{place:02d}" for place in range(len(sides))]
        tables: dict[Group, Reals] = {}
        for size in (1, 2):
            for group in itertools.combinations(range(len(sides)), size):
                tables[tuple(names[place] for place in group)] = _counted(codes, sides, group)
        alike = frozenset(one for one, known in zip(names, ordered, strict=False) if known)
        return cls(name, dict(zip(names, sides, strict=True)), len(codes), tables, codes, alike)

    def table(self, group: Group) -> Reals:
        """The counts of any group."""
        if group in self.tables:
            return self.tables[group]
        names = list(self.sides)
        return _counted(self.codes, list(self.sides.values()), [names.index(name) for name in group])

    @property
    def pairs(self) -> list[Pair]:
        """All pairs of attributes."""
        return list(itertools.combinations(self.sides, 2))

    @cached_property
    def wanted(self) -> Wanted:
        """All pairs are asked for."""
        return Wanted.of(Schema({name: Integer(0, side - 1) for name, side in self.sides.items()}), self.pairs)

    def error(self, model: PairModel) -> float:
        """The mean total variation over all pairs."""
        found = model.all_pairs()
        return float(np.mean([np.abs(found[pair] - self.tables[pair]).sum() for pair in self.pairs])) / (2 * self.rows)

    def distances(self, model: PairModel) -> dict[Pair, float]:
        """‖M − M̂‖₁ for every pair."""
        found = model.all_pairs()
        return {pair: float(np.abs(found[pair] - self.tables[pair]).sum()) for pair in self.pairs}


def _counted(codes: Integers, sides: Sequence[int], places: Sequence[int]) -> Reals:
    shape = [sides[place] for place in places]
    cells = np.ravel_multi_index(tuple(codes[:, place] for place in places), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


@dataclass(eq=False)
class Trial:
    """One run on a public table: what was measured so far."""

    public: PublicPairs
    epsilon: Fraction
    random: np.random.Generator
    measured: list[MeasuredTable] = field(default_factory=list)
    shares: Mapping[Group, Fraction] = field(default_factory=dict)
    """For measuring all pairs, once a look was taken."""

    def measure(self, shares: Mapping[Group, Fraction], part: Fraction) -> None:
        """Tables with Laplace noise, each with its share of a part of ε."""
        for group, share in shares.items():
            scale = 1 / float(self.epsilon * part * share)
            truth = self.public.table(group)
            noisy = truth + self.random.laplace(scale=scale, size=truth.shape)
            self.measured.append(MeasuredTable(group, noisy, 2 * scale**2))

    def model(self, *, last: bool = False) -> PairModel:
        """What the measurements say; the *last* time with all care."""
        ordered, passes = self.public.ordered, 2 if last else 1
        found = estimated(self.public.sides, self.measured, ordered=ordered, passes=passes).model
        return refined(found, ROWS) if last else found

    def look(self) -> tuple[Outlook, Look]:
        """The number of rows, the 1-way tables and β, and what follows from them."""
        epsilon, sides = float(self.epsilon), self.public.sides
        rows = self.public.rows + self.random.laplace(scale=1 / float(self.epsilon * deciding.COUNT))
        spent = deciding.look(sides, rows, epsilon)
        self.measure(deciding.single_shares(sides), spent.first)
        model = self.model()
        distance = float(np.mean(list(self.public.distances(model).values())))
        distance += self.random.laplace(scale=1 / float(self.epsilon * spent.distance))
        seen, rest = [(one.group, one.variance) for one in self.measured], float(self.epsilon * spent.rest)
        self.shares = self.public.wanted.shares(
            deciding.occupied(model, self.public.wanted.shares(), self.public.pairs, rest)
        )
        return deciding.outlook(model, seen, distance, epsilon, rest, self.shares, self.public.pairs), spent

    def go(self, decision: Decision, label: str | None = None) -> PairModel:
        """After a look: the pairs, by a decision; those with a label first, if one is named."""
        if decision.every_pair:
            self.measure(self.shares, decision.rest)
            return self.model(last=True)
        own, possible = [pair for pair in self.public.pairs if label in pair], len(self.public.pairs)
        plan = deciding.stages(decision, len(self.public.sides) - 1, possible)
        if label is not None:
            plan = deciding.label_stages(decision, len(self.public.sides), len(own), possible)
        if plan.top_up:
            self.measure(deciding.single_shares(self.public.sides), plan.top_up)
        model = self.model()
        for stage in plan.stages:
            scale = float(stage.scale(self.epsilon))
            chosen = own if stage.label else self._chosen(model, stage, scale)
            shares = deciding.pair_shares([model.predicted(pair) for pair in chosen], scale)
            self.measure(dict(zip(chosen, shares, strict=True)), stage.measuring)
            model = self.model()
        return self.model(last=True)

    def _chosen(self, model: PairModel, stage: Stage, scale: float) -> list[Pair]:
        """Permute-and-flip, which is report-noisy-max with exponential noise."""
        taken = {one.group for one in self.measured}
        penalties = deciding.penalties(model.all_pairs(), scale)
        scores = {pair: far - penalties[pair] for pair, far in self.public.distances(model).items()}
        noise = 2 * stage.pairs / float(self.epsilon * stage.choosing)
        parts, chosen = Parts(list(self.public.sides)), list[Pair]()
        for _ in range(stage.pairs):
            free = [one for one in scores if one not in taken and not (stage.forest and parts.joined(*one))]
            if not free:
                break
            noisy = [scores[pair] for pair in free] + self.random.exponential(noise, len(free))
            chosen.append(free[int(np.argmax(noisy))])
            parts.join(*chosen[-1])
            taken.add(chosen[-1])
        return chosen

    def again(self, seed: Sequence[int]) -> Trial:
        """The same look, with other noise from here on."""
        return Trial(self.public, self.epsilon, np.random.default_rng(seed), list(self.measured), self.shares)


def tried(public: PublicPairs, epsilon: Fraction, seed: int) -> Iterator[tuple[str, Outlook, float]]:
    """Each way after one look: its name, what the look told, and the error.

    The noise is another one for every table and ε. Were it the same, one way would be lucky on all of them together.
    """
    own = int.from_bytes(hashlib.sha256(f"{public.name} {epsilon}".encode()).digest()[:8], "big")
    first = Trial(public, epsilon, np.random.default_rng([own, seed, 0]))
    seen, spent = first.look()
    done: dict[Decision, float] = {}
    for number, (name, way) in enumerate(deciding.WAYS.items()):
        decision = way.decision(seen.attributes, spent.rest)
        if decision not in done:
            done[decision] = public.error(first.again([own, seed, 1 + number]).go(decision))
        yield name, seen, done[decision]
