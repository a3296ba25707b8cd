"""From a program with marked places and public data to what is decided there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.choice.checked_file import FileKind
from adyton.choice.judging import Fit, learn, usual_fits
from adyton.choice.model import Lessons
from adyton.choice.policy import Learnt, Policy, Visit, followed
from adyton.choice.training import Lesson, Program, Replayer, Run, Score, budgets, public_inputs, tables_of
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.whole import whole

_KIND = FileKind("adyton learned choices", 1, "a file of learned choices", "LearnedChoices.save writes such files.")


@dataclass(frozen=True)
class Gain:
    """The mean score of the whole program over public data sets, by the default and by what was learnt."""

    default: float
    in_sample: float
    held_out: float | None
    """Each data set by what was learnt from the others; None if there was only one."""
    error: float
    """The standard error of the held-out difference, over data sets."""

    def __str__(self) -> str:
        held = "not known" if self.held_out is None else f"{self.held_out:.4g} ± {self.error:.2g}"
        return f"mean score {self.default:.4g} by defaults, {self.in_sample:.4g} learnt in sample, {held} held out"


@dataclass(frozen=True, eq=False)
class LearnedChoices:
    """What public data taught at the marked places of a program, by label."""

    learnt: Mapping[str, Learnt]
    gain: Gain | None = None

    @contextmanager
    def followed(self, *, yields: bool = False) -> Iterator[list[Visit]]:
        """Within the block, in this thread, the places are decided by what was learnt; the trace grows.

        With *yields*, a place that choices around this block know too is left to them, and theirs is the trace.
        """
        with followed(Policy(self.learnt), yields=yields) as trace:
            yield trace

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learnt to a file: JSON, with a digest that shows later changes."""
        gain = None if self.gain is None else asdict(self.gain)
        learnt = {label: one.to_plain() for label, one in self.learnt.items()}
        _KIND.write({**_KIND.head, "learnt": learnt, "gain": gain}, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> LearnedChoices:
        """What :meth:`save` wrote, checked as a stranger's file."""
        return _KIND.read(path, _loaded)

    def explain(self) -> str:
        """What is decided where, and what it was worth on public data."""
        parts = [f"{label}: {one.in_words()}" for label, one in self.learnt.items()]
        return "\n\n".join([*parts, *([] if self.gain is None else [f"The whole program: {self.gain}."])])

    def __str__(self) -> str:
        return self.explain()


def _loaded(plain: dict[str, Any]) -> LearnedChoices:
    learnt = {str(label): Learnt.from_plain(one) for label, one in plain["learnt"].items()}
    if plain["gain"] is None:
        return LearnedChoices(learnt)
    kept = plain["gain"]
    held = None if kept["held_out"] is None else float(kept["held_out"])
    gain = Gain(float(kept["default"]), float(kept["in_sample"]), held, float(kept["error"]))
    if not np.isfinite([gain.default, gain.in_sample, held or 0.0, gain.error]).all():
        raise BadInput("the mean scores of learned choices are finite numbers.")
    return LearnedChoices(learnt, gain)


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
    """Learn what a program decides where it calls :func:`adyton.choose`, from public data.

    The program is called as ``program(source, *arguments, epsilon=…)`` on simulated kernels over the inputs, a list of
    :class:`adyton.PublicData` or counts by name, at each budget, so many *trials* times. ``score(answer, public)`` says
    how good an answer is: the higher the better. In each round every option is tried at up to *visits* visits of every
    label, one visit at a time, and what was learnt then decides in the next round. In the end, what was learnt for each
    data set from all the others is run against the defaults: if that is no better, the defaults stand.
    """
    runs = [
        Run(public, epsilon, number)
        for number, (public, epsilon, _) in enumerate(
            (public, epsilon, trial)
            for public in public_inputs(inputs)
            for epsilon in budgets(epsilons)
            for trial in range(whole(trials, "trials", 1))
        )
    ]
    replayer = Replayer(program, score, whole(visits, "visits", 1), whole(seed, "seed", 0), trusted)
    learnt: dict[str, Learnt] = {}
    lessons: list[Lesson] = []
    plain: list[float] = []
    for turn in range(whole(rounds, "rounds", 1)):
        found = [replayer.lessons(one, learnt, turn) for one in runs]
        plain = plain or [base for base, _ in found]
        lessons += [lesson for _, more in found for lesson in more]
        tables = tables_of(lessons)
        learnt = {label: learn(table, default, usual_fits(table)) for label, (table, default) in tables.items()}
    return _judged(replayer, runs, np.array(plain), tables, learnt)


def _judged(
    replayer: Replayer,
    runs: Sequence[Run],
    plain: Reals,
    tables: Mapping[str, tuple[Lessons, str]],
    learnt: dict[str, Learnt],
) -> LearnedChoices:
    """What was learnt, if it makes the whole program better on data sets that were held out.

    For each data set the models are fitted again, to the others; which kind of model is known from all of them.
    """
    sources = list(dict.fromkeys(one.public.source for one in runs))
    if all(one.model is None for one in learnt.values()) or len(sources) < 2:
        return LearnedChoices(learnt)
    inside = np.array([replayer.run(one, learnt)[0] for one in runs])
    refits = {label: usual_fits(table) for label, (table, _) in tables.items()}
    held = np.empty(len(runs))
    for source in sources:
        others = {label: _without(source, tables[label][0], one, refits[label]) for label, one in learnt.items()}
        for place, one in enumerate(runs):
            if one.public.source == source:
                held[place] = replayer.run(one, others)[0]

    def means(scores: Reals) -> Reals:
        own = np.array([one.public.source for one in runs])
        return np.array([scores[own == name].mean() for name in sources])

    before, after = means(plain), means(held)
    error = float(np.std(after - before, ddof=1) / np.sqrt(len(sources)))
    gain = Gain(float(before.mean()), float(means(inside).mean()), float(after.mean()), error)
    if after.mean() - before.mean() > error:
        return LearnedChoices(learnt, gain)
    reason = f"the whole program gained {after.mean() - before.mean():.4g} ± {error:.2g} on held-out public data"
    return LearnedChoices({label: replace(one, model=None, reason=reason) for label, one in learnt.items()}, gain)


def _without(source: str, table: Lessons, learnt: Learnt, fits: Mapping[str, Fit]) -> Learnt:
    """The same kind of model, learnt from all data sets but one."""
    others = ~table.of(source)
    if learnt.model is None or not others.any():
        return replace(learnt, model=None)
    rest = table.where(others)
    return replace(learnt, model=fits[learnt.model.kind](rest), ranges=rest.ranges())
