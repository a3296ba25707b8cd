"""Learning the choices inside a program: it is replayed on public data with one visit changed at a time.

What a choice was worth shows when everything else stays the same. Visits before it are forced to what they were, those
after it follow the policy, and the noise depends on the place in the program only, so that both runs see the same noise
wherever they do the same: the difference of their scores has half the variance that fresh noise would leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.choice.learnt import Learnt
from adyton.choice.lessons import Lessons
from adyton.choice.policy import Policy, Visit, followed
from adyton.choice.public_data import PublicData
from adyton.choice.values import Seen, features_of
from adyton.errors import BadInput

Program = Callable[..., Any]
Score = Callable[[Any, PublicData], float]


@dataclass(frozen=True, eq=False)
class Run:
    """One public input at one budget, with noise of its own."""

    public: PublicData
    epsilon: Fraction
    seed: int


@dataclass(frozen=True, eq=False)
class Lesson:
    """What one visit was worth: the score of the whole program for each option there."""

    label: str
    source: str
    values: Mapping[str, Seen]
    scores: Mapping[str, float]
    weight: float
    default: str


@dataclass(frozen=True, eq=False)
class Replayer:
    """Runs a program on public inputs, under policies of its own."""

    program: Program
    score: Score
    visits: int
    """At most so many visits of a label are changed in a run; the others are weighted up."""
    seed: int
    trusted: Sequence[Any] = field(default=())

    def run(
        self, one: Run, learnt: Mapping[str, Learnt], forced: Mapping[tuple[str, int], str] | None = None
    ) -> tuple[float, list[Visit]]:
        """The score of one run, and its trace."""
        kernel = one.public.opened(one.epsilon, one.seed, trusted=self.trusted)
        policy = Policy(learnt, forced or {}, overrules=True)
        with followed(policy) as trace:
            answer = self.program(kernel.root, *one.public.arguments, epsilon=one.epsilon)
        return finite_score(self.score, answer, one.public), trace

    def lessons(self, one: Run, learnt: Mapping[str, Learnt], turn: int) -> tuple[float, list[Lesson]]:
        """The score of a run, and what changing single visits of it does."""
        base, trace = self.run(one, learnt)
        random = np.random.default_rng([self.seed, turn, one.seed])
        found = []
        for label in dict.fromkeys(visit.label for visit in trace):
            places = [place for place, visit in enumerate(trace) if visit.label == label]
            sampled = sorted(random.permutation(places)[: self.visits].tolist())
            found += [self._lesson(one, learnt, trace, place, base, len(places) / len(sampled)) for place in sampled]
        return base, found

    def _lesson(
        self, one: Run, learnt: Mapping[str, Learnt], trace: list[Visit], place: int, base: float, weight: float
    ) -> Lesson:
        """Every other option at one visit, the earlier visits as they were."""
        visit = trace[place]
        before = {(earlier.label, earlier.number): earlier.chosen for earlier in trace[:place]}
        scores = {visit.chosen: base}
        for option in visit.options:
            if option not in scores:
                scores[option] = self.run(one, learnt, before | {(visit.label, visit.number): option})[0]
        ordered = {option: scores[option] for option in visit.options}
        return Lesson(visit.label, one.public.source, visit.values, ordered, weight, visit.default)


def finite_score(score: Score, answer: Any, public: PublicData) -> float:
    """The score of an answer, which must be a number."""
    value = float(score(answer, public))
    if not np.isfinite(value):
        raise BadInput(f"the score must be a finite number, the higher the better; on {public.source} it was {value}.")
    return value


def tables_of(lessons: Sequence[Lesson]) -> dict[str, tuple[Lessons, str]]:
    """For each label its lessons as a table, and its default."""
    labels = dict.fromkeys(one.label for one in lessons)
    return {label: _table([one for one in lessons if one.label == label]) for label in labels}


def _table(lessons: Sequence[Lesson]) -> tuple[Lessons, str]:
    first = lessons[0]
    options = tuple(first.scores)
    if any(tuple(one.scores) != options or one.default != first.default for one in lessons):
        raise BadInput(
            f"{first.label!r} is asked with other options or another default at other visits. Give each its own label."
        )
    if any(one.values.keys() != first.values.keys() for one in lessons):
        raise BadInput(f"{first.label!r} is told other values at other visits. Tell it the same at all.")
    told = [features_of(one.values) for one in lessons]
    names = tuple(dict.fromkeys(name for one in told for name in one))
    values = np.array([[one.get(name, 0.0) for name in names] for one in told]).reshape(len(lessons), len(names))
    scores = np.array([[one.scores[option] for option in options] for one in lessons])
    weights, sources = np.array([one.weight for one in lessons]), tuple(one.source for one in lessons)
    known = np.isfinite(values).all(axis=1)
    return Lessons(names, options, values, scores, scores, sources, weights).where(known), first.default
