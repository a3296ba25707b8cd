"""Training a choice maker: every option is tried on every public input, and the best model is chosen, or none.

Public inputs are counts or rows of a table, opened by a kernel whose noise is simulated. Models are judged on data sets
that they were not fitted to: if none beats the default there, the default is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.choice.formulas import Synthesiser
from adyton.choice.models import Fixed, Lessons, Model, SimilarRows, TreeModel
from adyton.choice.options import DeclaredMetafeature, Metafeature, Option
from adyton.choice.policy import Figures, Learnt
from adyton.errors import BadInput
from adyton.exact import Rational, display, positive
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms.published.statistic import Declared
from adyton.kernel.sources import Source, TableSource, VectorSource
from adyton.messages import shorten
from adyton.noise import KeyedNoise
from adyton.schema import Schema


@dataclass(frozen=True, eq=False)
class PublicData:
    """A public input to learn a choice from. Nothing that is done with it is protected.

    >>> import numpy as np
    >>> PublicData("census", np.array([[3, 0], [1, 5]])).counts.shape
    (2, 2)
    """

    source: str
    """The data set that it comes from: models are judged on data sets that were held out."""
    data: Any
    """An array of counts; with a *schema*, the rows of a table as numbers of cells, rows × attributes."""
    schema: Schema | None = None
    arguments: tuple[Any, ...] = ()
    """Arguments of the program or the options besides the source, for example a workload or the name of a label."""
    held: Any = None
    """Whatever the score needs besides the data, for example rows to predict."""

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source:
            raise BadInput(f"public data need the name of their data set, given {shorten(self.source)}.")

    @property
    def counts(self) -> Any:
        """The data as an array."""
        return np.asarray(self.data)

    def opened(self, epsilon: Fraction, seed: int, *, trusted: Collection[Declared] = ()) -> Kernel[Any]:
        """A kernel with this budget and simulated noise, which depends on the place in the program and the seed."""
        noise = KeyedNoise(seed)
        if self.schema is None:
            return Kernel.simulated(self.counts, epsilon=epsilon, noise=noise, trusted=trusted)
        return Kernel.simulated_table(self.counts, self.schema, epsilon=epsilon, noise=noise)


Score: TypeAlias = Callable[[Any, PublicData], float]
"""How good an answer is on public data: higher is better."""


def public_inputs(given: Any) -> list[PublicData]:
    """Public inputs in a list: from a mapping of data set names to counts, or from a list of them."""
    if isinstance(given, Mapping):
        given = [PublicData(name, data) for name, data in given.items()]
    if isinstance(given, str | PublicData) or not isinstance(given, Iterable):
        raise BadInput(f"public data are a list of PublicData, or counts by name, given {shorten(given)}.")
    inputs = list(given)
    if not inputs or not all(isinstance(public, PublicData) for public in inputs):
        raise BadInput("public data are a list of PublicData, with at least one entry, or counts by name.")
    return inputs


def budgets(given: Rational | Sequence[Rational]) -> list[Fraction]:
    """One or several budgets, in a list."""
    several = [given] if isinstance(given, str | int | float | Fraction) else list(given)  # type: ignore[arg-type]
    if not several:
        raise BadInput("epsilons are a list with at least one entry.")
    return [positive(epsilon, "epsilons") for epsilon in several]


def finite_score(score: Score, answer: Any, public: PublicData) -> float:
    """The score of an answer, which must be a number."""
    value = float(score(answer, public))
    if not np.isfinite(value):
        raise BadInput(f"the score must be a finite number, and higher is better; on {public.source} it was {value}.")
    return value


# ---- trying out -----------------------------------------------------------------------------------------------------

_ROUNDING = Fraction(1, 10**60)
"""The most that the kernel's grid of budgets may take away."""


def tried_on_twin(
    feature: Metafeature, source: Source, epsilon: Fraction, price: Fraction, trusted: Collection[Declared]
) -> None:
    """Try a metafeature on a simulated kernel whose root is like the source, without rows: it must spend its price."""

    def twin(amount: Fraction) -> Kernel[Any]:
        if isinstance(source, TableSource):
            nothing = np.zeros((0, len(source.schema.attributes)), dtype=np.int64)
            return Kernel.simulated_table(nothing, source.schema, epsilon=amount, seed=0)
        assert isinstance(source, VectorSource)
        nothing = np.zeros(source.shape, dtype=np.int64)
        return Kernel.simulated(nothing, epsilon=amount, seed=0, trusted=trusted)

    _tried(feature, twin, epsilon, price)


def trusted_among(metafeatures: Sequence[Metafeature]) -> list[DeclaredMetafeature]:
    """The metafeatures that a kernel must be opened with."""
    return [feature for feature in metafeatures if isinstance(feature, DeclaredMetafeature)]


def _tried(
    feature: Metafeature, opened: Callable[[Fraction], Kernel[Any]], epsilon: Fraction, price: Fraction
) -> float:
    """The value of a metafeature on a simulated kernel; it must spend what it was given, no more and no less."""
    kernel = opened(epsilon if feature.free else price)
    bought = feature.buy(kernel.root, epsilon if feature.free else price)
    _check_spent(kernel, Fraction(0) if feature.free else price, f"the metafeature {feature.name!r}")
    return bought.value


def _check_spent(kernel: Kernel[Any], asked: Fraction, what: str) -> None:
    """Refuse a function that spends less than it was given; the kernel itself refuses to spend more."""
    if not 0 <= asked - kernel.spent < _ROUNDING:
        raise BadInput(
            f"{what} was given ε = {display(asked)} and spent {display(kernel.spent)} on public data. It must spend "
            "exactly what it is given."
        )


@dataclass(frozen=True, eq=False)
class Trainer:
    """Measures options and metafeatures on every public input at every budget, *trials* times."""

    options: Sequence[Option]
    metafeatures: Sequence[Metafeature]
    share: Fraction
    score: Score
    inputs: Sequence[PublicData]
    epsilons: Sequence[Fraction]
    trials: int
    seed: int

    @property
    def _cases(self) -> list[tuple[int, Fraction]]:
        """The number of the input, and the budget."""
        return [(number, epsilon) for number in range(len(self.inputs)) for epsilon in self.epsilons]

    def scores(self, part: Fraction) -> Reals:
        """(inputs · budgets) × options: the mean score with this part of the budget."""
        return np.array(
            [
                [self._mean_score(number, part * epsilon, option) for option in self.options]
                for number, epsilon in self._cases
            ]
        )

    def lessons(self, most: int, full: Reals, dear: Reals) -> Lessons:
        """Lessons with these scores, and with features that cost 1/*most* of the share each, as they do in use."""
        cases = self._cases
        rows = [(place, trial) for place in range(len(cases)) for trial in range(self.trials)]
        values = [
            [self._feature(*cases[place], feature, most, trial) for feature in self.metafeatures]
            for place, trial in rows
        ]
        places = [place for place, _ in rows]
        return Lessons(
            tuple(feature.name for feature in self.metafeatures),
            tuple(option.name for option in self.options),
            np.array(values, dtype=np.float64).reshape(len(rows), len(self.metafeatures)),
            full[places],
            dear[places],
            tuple(self.inputs[cases[place][0]].source for place in places),
            np.ones(len(rows)),
        )

    def _mean_score(self, number: int, epsilon: Fraction, option: Option) -> float:
        public, scores = self.inputs[number], []
        for trial in range(self.trials):
            kernel = self._opened(number, epsilon, trial)
            answer = option(kernel.root, *public.arguments, epsilon=epsilon)
            _check_spent(kernel, epsilon, f"the option {option.name!r}")
            scores.append(finite_score(self.score, answer, public))
        return float(np.mean(scores))

    def _feature(self, number: int, epsilon: Fraction, feature: Metafeature, most: int, trial: int) -> float:
        price = self.share * epsilon / most
        return _tried(feature, lambda amount: self._opened(number, amount, trial + self.trials), epsilon, price)

    def _opened(self, number: int, amount: Fraction, trial: int) -> Kernel[Any]:
        """A kernel whose noise depends on the input and the trial, but not on the option that is run."""
        seed = int(np.random.SeedSequence([self.seed, number, trial]).generate_state(1)[0])
        return self.inputs[number].opened(amount, seed, trusted=trusted_among(self.metafeatures))


# ---- judging --------------------------------------------------------------------------------------------------------

Fit: TypeAlias = Callable[[Lessons], Model | None]
"""Fits a model to lessons; None if there is none."""
_ERRORS = 2.0
"""By how many standard errors a model must beat the default on held-out data sets: the best of several models looks
better than it is."""
_NEARLY = 0.05
_SIMPLEST = ("fixed", "written", "formula", "tree", "similar")
"""Of models that gain nearly as much as the best, the first in this list is chosen."""


def usual_fits(lessons: Lessons) -> dict[str, Fit]:
    """All models that need no programmer's predictions, for these lessons and any part of them."""
    if not lessons.features:
        return {"fixed": Fixed.fit}
    formulas = Synthesiser(lessons).fit
    return {"fixed": Fixed.fit, "tree": TreeModel.fit, "similar": SimilarRows.fit, "formula": formulas}


def learn(
    lessons: Lessons,
    default: str,
    fits: Mapping[str, Fit],
    *,
    most: int | None = None,
    free: frozenset[str] = frozenset(),
) -> Learnt:
    """The model of least mean regret on held-out data sets, if it beats the default there; else the default.

    Each data set is held out in turn: models are fitted to the others. *most* is how many features the
    share of the budget was divided among; those that are *free* cost nothing.
    """
    judge = _Judge(lessons, default, max(1, len(lessons.features) if most is None else most), free)
    models = {name: model for name, fit in fits.items() if (model := fit(lessons)) is not None}
    inside = {name: judge.outcome(judge.bounded(model)) for name, model in models.items()}
    nothing = Learnt(lessons.options, default, None)
    if len(lessons.names) < 2:
        ways = {"default": judge.standing, **inside}
        figures = {name: judge.figures(outcome.scores, None) for name, outcome in ways.items()}
        return replace(nothing, figures=figures, reason="there is only one public data set, and none to hold out")
    held = {name: judge.held_out(fits[name]) for name in models}
    figures = {name: judge.figures(inside[name].scores, held[name].scores) for name in models}
    figures["default"] = judge.figures(judge.standing.scores, judge.standing.scores)
    if not models:
        return replace(nothing, figures=figures, reason="there is nothing to choose by")
    gains = {name: judge.gain(outcome) for name, outcome in held.items()}
    enough = (1 - _NEARLY) * max(gains.values())
    name = next((kind for kind in _SIMPLEST if gains.get(kind, -np.inf) >= enough), max(gains, key=gains.__getitem__))
    gain, error = gains[name], figures[name].error
    if gain <= _ERRORS * error:
        words = f"the best model, “{name}”, gained {gain:.4g} ± {error:.2g} on held-out public data"
        return replace(nothing, figures=figures, reason=words)
    barred = tuple(option for option in lessons.options if option != default and not judge.beats(held[name], option))
    words = f"on held-out public data it gained {gain:.4g} ± {error:.2g} on the default"
    return replace(judge.bounded(models[name]), barred=barred, figures=figures, reason=words)


@dataclass(frozen=True, eq=False)
class _Outcome:
    """The options that were chosen, row by row, and their scores."""

    chosen: Reals
    """Places in the list of options."""
    scores: Reals


@dataclass(frozen=True, eq=False)
class _Judge:
    lessons: Lessons
    default: str
    parts: int
    free: frozenset[str]

    @property
    def standing(self) -> _Outcome:
        """The default everywhere, with the whole budget."""
        place = self.lessons.options.index(self.default)
        return _Outcome(np.full(len(self.lessons.sources), float(place)), self.lessons.scores[:, place])

    def bounded(self, model: Model, seen: Lessons | None = None) -> Learnt:
        """The model, bounded by the ranges of the lessons that it was fitted to."""
        return Learnt(self.lessons.options, self.default, model, (seen or self.lessons).ranges())

    def outcome(self, learnt: Learnt, lessons: Lessons | None = None) -> _Outcome:
        """The choice on each row, paying for the features that are read."""
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
        return _Outcome(chosen, rows.gained(chosen, looked))

    def held_out(self, fit: Fit) -> _Outcome:
        """The choices on each data set by a model that was fitted to all the others."""
        chosen, scores = np.empty(len(self.lessons.sources)), np.empty(len(self.lessons.sources))
        for source in self.lessons.names:
            rows: Flags = self.lessons.of(source)
            others = self.lessons.where(~rows)
            model = fit(others)
            learnt = Learnt(others.options, self.default, None) if model is None else self.bounded(model, others)
            outcome = self.outcome(learnt, self.lessons.where(rows))
            chosen[rows], scores[rows] = outcome.chosen, outcome.scores
        return _Outcome(chosen, scores)

    def gain(self, held: _Outcome) -> float:
        """The gain over the default, averaged over data sets."""
        return float(np.mean(self._by_source(held.scores - self.standing.scores)))

    def figures(self, inside: Reals, held: Reals | None) -> Figures:
        """Mean regrets over data sets of equal weight, and the standard error of the gain over the default."""
        best = self.lessons.scores.max(axis=1)
        in_sample = float(np.mean(self._by_source(best - inside)))
        if held is None:
            return Figures(in_sample, None)
        gains = self._by_source(held - self.standing.scores)
        error = float(np.std(gains, ddof=1) / np.sqrt(gains.size))
        return Figures(in_sample, float(np.mean(self._by_source(best - held))), error)

    def _by_source(self, values: Reals) -> Reals:
        """The weighted mean of each data set."""
        parts = [self.lessons.of(source) for source in self.lessons.names]
        return np.array([np.average(values[rows], weights=self.lessons.weights[rows]) for rows in parts])

    def beats(self, held: _Outcome, option: str) -> bool:
        """Whether an option was better than the default where a model took it, on held-out data."""
        taken = held.chosen == self.lessons.options.index(option)
        if not taken.any():
            return False
        gains = held.scores[taken] - self.standing.scores[taken]
        return float(np.average(gains, weights=self.lessons.weights[taken])) > 0
