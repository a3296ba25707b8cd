"""Learns what a program should choose at its choice points, by replaying the program on public data.

One visit of a choice point is changed at a time, and everything else stays the same: earlier visits are forced to
repeat their choices, later visits follow the policy, and the noise depends only on the place in the program, so the two
runs see the same noise wherever they do the same. The difference of their scores then has half the variance that it
would have with fresh noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.choice.models import Lessons
from adyton.choice.options import Seen, features_of
from adyton.choice.policy import Gain, LearnedChoices, Learnt, Policy, Visit, followed
from adyton.choice.training import Fit, PublicData, Score, budgets, finite_score, learn, public_inputs, usual_fits
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.whole import whole

Program: TypeAlias = Callable[..., Any]


def learn_choices(
    program: Program,
    inputs: Any,
    score: Score,
    *,
    epsilons: Rational | Sequence[Rational] = 1,
    trials: int = 1,
    rounds: int = 2,
    visits: int = 4,
    seed: int = 0,
    trusted: Sequence[Any] = (),
) -> LearnedChoices:
    """Learn what a program should choose where it calls :func:`adyton.choose`, from public data.

    The program is called as ``program(source, *arguments, epsilon=…)`` on simulated kernels over the inputs, a list of
    :class:`adyton.PublicData` or counts by name, *trials* times at each budget. ``score(answer, public)`` says how good
    an answer is: higher is better. In each round every option is tried at up to *visits* visits of every label, one
    visit at a time, and the models learnt so far choose in the next round. At the end, models learnt for each data set
    from all the others are compared with the defaults: if they are no better, the defaults are kept.
    """
    times = whole(trials, "trials", 1)
    cases = [(public, epsilon) for public in public_inputs(inputs) for epsilon in budgets(epsilons)]
    repeated = [case for case in cases for _ in range(times)]
    runs = [Run(public, epsilon, number) for number, (public, epsilon) in enumerate(repeated)]
    replayer = Replayer(program, score, whole(visits, "visits", 1), whole(seed, "seed", 0), trusted)
    learnt: dict[str, Learnt] = {}
    lessons: list[Lesson] = []
    plain: list[float] = []
    for turn in range(whole(rounds, "rounds", 1)):
        replayed = [replayer.lessons(run, learnt, turn) for run in runs]
        plain = plain or [base for base, _ in replayed]
        lessons += [lesson for _, more in replayed for lesson in more]
        tables = _tables(lessons)
        learnt = {label: learn(table, default, usual_fits(table)) for label, (table, default) in tables.items()}
    return _judged(replayer, runs, np.array(plain), tables, learnt)


def _judged(
    replayer: Replayer,
    runs: Sequence[Run],
    plain: Reals,
    tables: Mapping[str, tuple[Lessons, str]],
    learnt: dict[str, Learnt],
) -> LearnedChoices:
    """The models learnt, if they make the whole program better on held-out data sets; else the defaults.

    For each data set the models are fitted again to the others; the kind of model is chosen from all data sets.
    """
    sources = list(dict.fromkeys(run.public.source for run in runs))
    if all(choice.model is None for choice in learnt.values()) or len(sources) < 2:
        return LearnedChoices(learnt)
    inside = np.array([replayer.run(run, learnt)[0] for run in runs])
    refits = {label: usual_fits(table) for label, (table, _) in tables.items()}
    held = np.empty(len(runs))
    for source in sources:
        others = {label: _without(source, tables[label][0], choice, refits[label]) for label, choice in learnt.items()}
        for place, run in enumerate(runs):
            if run.public.source == source:
                held[place] = replayer.run(run, others)[0]
    own = np.array([run.public.source for run in runs])
    before, within, after = (
        np.array([scores[own == name].mean() for name in sources]) for scores in (plain, inside, held)
    )
    error = float(np.std(after - before, ddof=1) / np.sqrt(len(sources)))
    gain = Gain(float(before.mean()), float(within.mean()), float(after.mean()), error)
    if after.mean() - before.mean() > error:
        return LearnedChoices(learnt, gain)
    reason = f"the whole program gained {after.mean() - before.mean():.4g} ± {error:.2g} on held-out public data"
    return LearnedChoices({label: replace(choice, model=None, reason=reason) for label, choice in learnt.items()}, gain)


def _without(source: str, table: Lessons, learnt: Learnt, fits: Mapping[str, Fit]) -> Learnt:
    """The same kind of model, learnt from all data sets except one."""
    others = ~table.of(source)
    if learnt.model is None or not others.any():
        return replace(learnt, model=None)
    rest = table.where(others)
    return replace(learnt, model=fits[learnt.model.kind](rest), ranges=rest.ranges())


@dataclass(frozen=True, eq=False)
class Run:
    """A public input at a budget, with its own noise."""

    public: PublicData
    epsilon: Fraction
    seed: int


@dataclass(frozen=True, eq=False)
class Lesson:
    """The scores of the whole program for each option at one visit."""

    label: str
    source: str
    values: Mapping[str, Seen]
    scores: Mapping[str, float]
    weight: float
    default: str


@dataclass(frozen=True, eq=False)
class Replayer:
    """Runs a program on public inputs under given policies."""

    program: Program
    score: Score
    visits: int
    """The most visits of a label that are changed in a run; if there are more, these get a larger weight."""
    seed: int
    trusted: Sequence[Any] = field(default=())

    def run(
        self, run: Run, learnt: Mapping[str, Learnt], forced: Mapping[tuple[str, int], str] | None = None
    ) -> tuple[float, list[Visit]]:
        """The score of a run, and its trace."""
        kernel = run.public.opened(run.epsilon, run.seed, trusted=self.trusted)
        policy = Policy(learnt, forced or {}, overrules=True)
        with followed(policy) as trace:
            answer = self.program(kernel.root, *run.public.arguments, epsilon=run.epsilon)
        return finite_score(self.score, answer, run.public), trace

    def lessons(self, run: Run, learnt: Mapping[str, Learnt], turn: int) -> tuple[float, list[Lesson]]:
        """The score of a run, and the lessons from changing single visits of it."""
        base, trace = self.run(run, learnt)
        random = np.random.default_rng([self.seed, turn, run.seed])
        lessons = []
        for label in dict.fromkeys(visit.label for visit in trace):
            places = [place for place, visit in enumerate(trace) if visit.label == label]
            sampled = sorted(random.permutation(places)[: self.visits].tolist())
            lessons += [self._lesson(run, learnt, trace, place, base, len(places) / len(sampled)) for place in sampled]
        return base, lessons

    def _lesson(
        self, run: Run, learnt: Mapping[str, Learnt], trace: list[Visit], place: int, base: float, weight: float
    ) -> Lesson:
        """Try every other option at one visit; earlier visits repeat their choices."""
        visit = trace[place]
        before = {(earlier.label, earlier.number): earlier.chosen for earlier in trace[:place]}
        scores = {visit.chosen: base}
        for option in visit.options:
            if option not in scores:
                scores[option] = self.run(run, learnt, before | {(visit.label, visit.number): option})[0]
        ordered = {option: scores[option] for option in visit.options}
        return Lesson(visit.label, run.public.source, visit.values, ordered, weight, visit.default)


def _tables(lessons: Sequence[Lesson]) -> dict[str, tuple[Lessons, str]]:
    """For each label, its lessons as a table, and its default."""
    labels = dict.fromkeys(lesson.label for lesson in lessons)
    return {label: _table([lesson for lesson in lessons if lesson.label == label]) for label in labels}


def _table(lessons: Sequence[Lesson]) -> tuple[Lessons, str]:
    first = lessons[0]
    options = tuple(first.scores)
    if any(tuple(lesson.scores) != options or lesson.default != first.default for lesson in lessons):
        raise BadInput(
            f"{first.label!r} has different options or defaults at different visits. Give each choice its own label."
        )
    if any(lesson.values.keys() != first.values.keys() for lesson in lessons):
        raise BadInput(
            f"{first.label!r} has different values at different visits. Give it the same values at all visits."
        )
    rows = [features_of(lesson.values) for lesson in lessons]
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    values = np.array([[row.get(name, 0.0) for name in names] for row in rows]).reshape(len(lessons), len(names))
    scores = np.array([[lesson.scores[option] for option in options] for lesson in lessons])
    weights, sources = np.array([lesson.weight for lesson in lessons]), tuple(lesson.source for lesson in lessons)
    known = np.isfinite(values).all(axis=1)
    return Lessons(names, options, values, scores, scores, sources, weights).where(known), first.default
