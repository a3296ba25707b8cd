"""Which model to take: the one that does best on data sets that it has not seen, or none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.choice.model import Fixed, Lessons, Model, TreeModel
from adyton.choice.policy import Figures, Learnt
from adyton.choice.similar_rows import SimilarRows
from adyton.choice.synthesis import Synthesiser

Fit: TypeAlias = Callable[[Lessons], Model | None]
"""Learns a model; None if there is none."""
_ERRORS = 2.0
"""By how many standard errors a model must beat the default on held-out data sets: the best of several models looks
better than it is."""
_NEARLY = 0.05
_SIMPLEST = ("fixed", "written", "formula", "tree", "similar")
"""Of models that gain nearly as much as the best one, the first of these is taken."""


def usual_fits(lessons: Lessons) -> dict[str, Fit]:
    """All models that are learnt without anybody's help, for these lessons and any part of them."""
    if not lessons.features:
        return {"fixed": Fixed.fit}
    formulas = Synthesiser(lessons).fit
    return {"fixed": Fixed.fit, "tree": TreeModel.fit, "similar": SimilarRows.fit, "formula": formulas}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a way to choose took, row by row, and the score that it had."""

    chosen: Reals
    """Places in the list of options."""
    scores: Reals


def learn(
    lessons: Lessons,
    default: str,
    fits: Mapping[str, Fit],
    *,
    most: int | None = None,
    free: frozenset[str] = frozenset(),
) -> Learnt:
    """The model of least mean regret on held-out data sets, if it beats the default there; else the default.

    Each data set is held out in turn: all that is learnt is learnt from the others. *most* is how many features the
    share of the budget was divided among; those that are *free* cost nothing.
    """
    judge = _Judge(lessons, default, max(1, len(lessons.features) if most is None else most), free)
    models = {name: model for name, fit in fits.items() if (model := fit(lessons)) is not None}
    inside = {name: judge.outcome(judge.bounded(model)) for name, model in models.items()}
    nothing = Learnt(lessons.options, default, None)
    if len(lessons.names) < 2:
        figures = {name: judge.figures(one.scores, None) for name, one in {"default": judge.standing, **inside}.items()}
        return replace(nothing, figures=figures, reason="there is only one public data set, and none to hold out")
    held = {name: judge.held_out(fits[name]) for name in models}
    figures = {name: judge.figures(inside[name].scores, held[name].scores) for name in models}
    figures["default"] = judge.figures(judge.standing.scores, judge.standing.scores)
    if not models:
        return replace(nothing, figures=figures, reason="there is nothing to choose by")
    gains = {name: judge.gain(one) for name, one in held.items()}
    enough = (1 - _NEARLY) * max(gains.values())
    name = next((one for one in _SIMPLEST if gains.get(one, -np.inf) >= enough), max(gains, key=gains.__getitem__))
    gain, error = gains[name], figures[name].error
    if gain <= _ERRORS * error:
        words = f"the best model, “{name}”, gained {gain:.4g} ± {error:.2g} on held-out public data"
        return replace(nothing, figures=figures, reason=words)
    barred = tuple(option for option in lessons.options if option != default and not judge.beats(held[name], option))
    words = f"on held-out public data it gained {gain:.4g} ± {error:.2g} on the default"
    return replace(judge.bounded(models[name]), barred=barred, figures=figures, reason=words)


@dataclass(frozen=True, eq=False)
class _Judge:
    lessons: Lessons
    default: str
    parts: int
    free: frozenset[str]

    @property
    def standing(self) -> Outcome:
        """The default everywhere, with the whole budget."""
        place = self.lessons.options.index(self.default)
        return Outcome(np.full(len(self.lessons.sources), float(place)), self.lessons.scores[:, place])

    def bounded(self, model: Model, seen: Lessons | None = None) -> Learnt:
        """The model inside of the ranges of what it was learnt from."""
        return Learnt(self.lessons.options, self.default, model, (seen or self.lessons).ranges())

    def outcome(self, learnt: Learnt, lessons: Lessons | None = None) -> Outcome:
        """What is chosen on each row, paying for what is looked at."""
        rows = lessons or self.lessons
        chosen, looked = np.empty(len(rows.sources)), np.empty(len(rows.sources))
        for number, row in enumerate(rows.values.tolist()):
            values = dict(zip(rows.features, row, strict=True))
            seen: set[str] = set()

            def look(name: str, values: dict[str, float] = values, seen: set[str] = seen) -> float:
                seen.add(name)
                return values[name]

            chosen[number] = rows.options.index(learnt.decide(look).chosen)
            looked[number] = min(1.0, len(seen - self.free) / self.parts)
        return Outcome(chosen, rows.gained(chosen, looked))

    def held_out(self, fit: Fit) -> Outcome:
        """Each data set by a model that was learnt from all the others."""
        chosen, scores = np.empty(len(self.lessons.sources)), np.empty(len(self.lessons.sources))
        for source in self.lessons.names:
            rows: Flags = self.lessons.of(source)
            others = self.lessons.where(~rows)
            model = fit(others)
            learnt = Learnt(others.options, self.default, None) if model is None else self.bounded(model, others)
            found = self.outcome(learnt, self.lessons.where(rows))
            chosen[rows], scores[rows] = found.chosen, found.scores
        return Outcome(chosen, scores)

    def gain(self, held: Outcome) -> float:
        """The mean over data sets of what is gained on the default."""
        return float(np.mean(self._by_source(held.scores - self.standing.scores)))

    def figures(self, inside: Reals, held: Reals | None) -> Figures:
        """Mean regrets over data sets, each counting as one, and how far the gain on the default can be trusted."""
        best = self.lessons.scores.max(axis=1)
        in_sample = float(np.mean(self._by_source(best - inside)))
        if held is None:
            return Figures(in_sample, None)
        gains = self._by_source(held - self.standing.scores)
        error = float(np.std(gains, ddof=1) / np.sqrt(gains.size))
        return Figures(in_sample, float(np.mean(self._by_source(best - held))), error)

    def _by_source(self, values: Reals) -> Reals:
        """The weighted mean of each data set."""
        rows = [self.lessons.of(source) for source in self.lessons.names]
        return np.array([np.average(values[one], weights=self.lessons.weights[one]) for one in rows])

    def beats(self, held: Outcome, option: str) -> bool:
        """Whether an option was better than the default where a model took it, on held-out data."""
        taken = held.chosen == self.lessons.options.index(option)
        if not taken.any():
            return False
        gains = held.scores[taken] - self.standing.scores[taken]
        return float(np.average(gains, weights=self.lessons.weights[taken])) > 0
