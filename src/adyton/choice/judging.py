"""Which model to take: the one that does best on data sets that it has not seen, or none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.choice.learnt import Figures, Learnt
from adyton.choice.lessons import Lessons
from adyton.choice.model import Fixed, Model, TreeModel
from adyton.choice.similar_rows import SimilarRows

Fit: TypeAlias = Callable[[Lessons], Model | None]
"""Learns a model; None if there is none."""
_ERRORS = 1.0
"""By how many standard errors a model must beat the default on held-out data sets: the best of several models looks
better than it is."""
PLAIN_FITS: dict[str, Fit] = {"fixed": Fixed.fit, "tree": TreeModel.fit, "similar": SimilarRows.fit}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a way to choose took, row by row, and the score that it had."""

    chosen: Reals
    """Places in the list of options."""
    scores: Reals


def learn(lessons: Lessons, default: str, fits: Mapping[str, Fit], most: int | None = None) -> Learnt:
    """The model of least mean regret on held-out data sets, if it beats the default there; else the default.

    Each data set is held out in turn: all that is learnt is learnt from the others. *most* is how many features the
    share of the budget was divided among.
    """
    parts = max(1, len(lessons.features) if most is None else most)
    place = lessons.options.index(default)
    best, by_default = lessons.scores.max(axis=1), lessons.scores[:, place]
    figures = {"the default": _figures(lessons, best, by_default, by_default, by_default)}
    several = len(lessons.names) > 1
    held: dict[str, Outcome] = {}
    models: dict[str, Model] = {}
    for name, fit in fits.items():
        whole = fit(lessons)
        if whole is None:
            continue
        models[name] = whole
        inside = _outcome(_bounded(lessons, default, whole), lessons, parts)
        if several:
            held[name] = _held_out(lessons, default, fit, parts)
        figures[name] = _figures(lessons, best, by_default, inside.scores, held[name].scores if several else None)
    nothing = Learnt(lessons.options, default, None, figures=figures)
    if not several:
        return replace(nothing, reason="there is only one public data set, and none to hold out")
    name = min(models, key=lambda one: (figures[one].held_out or 0.0, models[one].most), default="")
    if not name:
        return replace(nothing, reason="there is nothing to choose by")
    gain = (figures["the default"].held_out or 0.0) - (figures[name].held_out or 0.0)
    if gain <= _ERRORS * figures[name].error:
        words = f"the best model, “{name}”, gained {gain:.4g} ± {figures[name].error:.2g} on held-out public data"
        return replace(nothing, reason=words)
    barred = tuple(
        option
        for number, option in enumerate(lessons.options)
        if option != default and not _beats(lessons, held[name], number, place)
    )
    words = f"on held-out public data it gained {gain:.4g} ± {figures[name].error:.2g} on the default"
    return replace(_bounded(lessons, default, models[name]), barred=barred, figures=figures, reason=words)


def _bounded(lessons: Lessons, default: str, model: Model) -> Learnt:
    """The model inside of the ranges of its own lessons."""
    return Learnt(lessons.options, default, model, lessons.ranges())


def _outcome(learnt: Learnt, lessons: Lessons, parts: int) -> Outcome:
    """What is chosen on each row, paying for what is looked at."""
    chosen, looked = np.empty(len(lessons.sources)), np.empty(len(lessons.sources))
    for number, row in enumerate(lessons.values.tolist()):
        values = dict(zip(lessons.features, row, strict=True))
        seen: set[str] = set()

        def look(name: str, values: dict[str, float] = values, seen: set[str] = seen) -> float:
            seen.add(name)
            return values[name]

        chosen[number] = lessons.options.index(learnt.decide(look).chosen)
        looked[number] = min(1.0, len(seen) / parts)
    return Outcome(chosen, lessons.gained(chosen, looked))


def _held_out(lessons: Lessons, default: str, fit: Fit, parts: int) -> Outcome:
    """Each data set by a model that was learnt from all the others."""
    chosen, scores = np.empty(len(lessons.sources)), np.empty(len(lessons.sources))
    for source in lessons.names:
        rows: Flags = lessons.of(source)
        others = lessons.where(~rows)
        model = fit(others)
        learnt = Learnt(lessons.options, default, None) if model is None else _bounded(others, default, model)
        found = _outcome(learnt, lessons.where(rows), parts)
        chosen[rows], scores[rows] = found.chosen, found.scores
    return Outcome(chosen, scores)


def _figures(lessons: Lessons, best: Reals, by_default: Reals, inside: Reals, held: Reals | None) -> Figures:
    """Mean regrets over data sets of equal weight, and how far the gain on the default can be trusted."""
    if held is None:
        return Figures(float(np.mean(_by_source(lessons, best - inside))), None)
    gains = _by_source(lessons, held - by_default)
    error = float(np.std(gains, ddof=1) / np.sqrt(gains.size)) if gains.size > 1 else 0.0
    means = (float(np.mean(_by_source(lessons, best - one))) for one in (inside, held))
    return Figures(*means, error)


def _by_source(lessons: Lessons, values: Reals) -> Reals:
    """The weighted mean of each data set."""
    rows = [lessons.of(source) for source in lessons.names]
    return np.array([np.average(values[one], weights=lessons.weights[one]) for one in rows])


def _beats(lessons: Lessons, held: Outcome, option: int, default: int) -> bool:
    """Whether an option was better than the default where a model took it, on held-out data."""
    taken = held.chosen == option
    if not taken.any():
        return False
    gains = held.scores[taken] - lessons.scores[taken, default]
    return float(np.average(gains, weights=lessons.weights[taken])) > 0
