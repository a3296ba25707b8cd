"""Training on public data: counts or rows of a table, opened by a kernel whose noise is simulated.

A choice maker tries every option on every public input, by the same programs. The choices inside a program are learnt
by replaying it with one visit changed at a time. What a choice was worth shows when everything else stays the same.
Visits before it are forced to what they were, those after it follow the policy, and the noise depends on the place in
the program only, so that both runs see the same noise wherever they do the same: the difference of their scores has
half the variance that fresh noise would leave.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.choice.metafeatures import DeclaredMetafeature, Metafeature, Seen, features_of
from adyton.choice.model import Lessons
from adyton.choice.options import Option
from adyton.choice.policy import Learnt, Policy, Visit, followed
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
    """One public input to learn a choice from. Nothing that is done with it is protected.

    >>> import numpy as np
    >>> PublicData("census", np.array([[3, 0], [1, 5]])).counts.shape
    (2, 2)
    """

    source: str
    """The data set that it comes from: what is learnt is judged on data sets that were held out."""
    data: Any
    """An array of counts; with a *schema*, the rows of a table as numbers of cells, rows × attributes."""
    schema: Schema | None = None
    arguments: tuple[Any, ...] = ()
    """What the program or the options are given beside the source, for example a workload or the name of a label."""
    held: Any = None
    """Whatever the score needs beside the data, for example rows to predict."""

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source:
            raise BadInput(f"public data come from a data set with a name, given {shorten(self.source)}.")

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


def twin(source: Source, epsilon: Fraction, trusted: Collection[Declared] = ()) -> Kernel[Any]:
    """A simulated kernel whose root is like a source, without rows: for trying out what would be spent."""
    if isinstance(source, TableSource):
        nothing = np.zeros((0, len(source.schema.attributes)), dtype=np.int64)
        return Kernel.simulated_table(nothing, source.schema, epsilon=epsilon, seed=0)
    assert isinstance(source, VectorSource)
    return Kernel.simulated(np.zeros(source.shape, dtype=np.int64), epsilon=epsilon, seed=0, trusted=trusted)


def public_inputs(given: Any) -> list[PublicData]:
    """Several public inputs: of a mapping from the names of data sets to counts, or as they are."""
    if isinstance(given, Mapping):
        given = [PublicData(name, data) for name, data in given.items()]
    if isinstance(given, str | PublicData) or not isinstance(given, Iterable):
        raise BadInput(f"public data are a list of PublicData, or counts by name, given {shorten(given)}.")
    found = list(given)
    if not found or not all(isinstance(one, PublicData) for one in found):
        raise BadInput("public data are a list of PublicData, with at least one entry, or counts by name.")
    return found


def budgets(given: Rational | Sequence[Rational]) -> list[Fraction]:
    """One budget or several."""
    several = [given] if isinstance(given, str | int | float | Fraction) else list(given)  # type: ignore[arg-type]
    if not several:
        raise BadInput("epsilons are a list with at least one entry.")
    return [positive(one, "epsilons") for one in several]


_ROUNDING = Fraction(1, 10**60)
"""What the kernel's grid of budgets may take away."""


@dataclass(frozen=True, eq=False)
class Trainer:
    """Measures options and metafeatures on public inputs, each at each budget, so many times."""

    options: Sequence[Option]
    metafeatures: Sequence[Metafeature]
    share: Fraction
    score: Score
    inputs: Sequence[PublicData]
    epsilons: Sequence[Fraction]
    trials: int
    seed: int

    def scores(self, part: Fraction) -> Reals:
        """(inputs · budgets) × options: the mean score with this part of the budget."""
        found = [
            [self._mean_score(public, epsilon, option, part) for option in self.options]
            for public in self.inputs
            for epsilon in self.epsilons
        ]
        return np.array(found)

    def lessons(self, most: int, full: Reals, dear: Reals) -> Lessons:
        """With features that cost a *most*-th of the share each, as they will; the scores are known."""
        cases = [(public, epsilon) for public in self.inputs for epsilon in self.epsilons]
        rows = [(place, trial) for place in range(len(cases)) for trial in range(self.trials)]
        values = [
            [self._feature(*cases[place], one, most, trial) for one in self.metafeatures] for place, trial in rows
        ]
        places = [place for place, _ in rows]
        return Lessons(
            tuple(one.name for one in self.metafeatures),
            tuple(option.name for option in self.options),
            np.array(values, dtype=np.float64).reshape(len(rows), len(self.metafeatures)),
            full[places],
            dear[places],
            tuple(cases[place][0].source for place in places),
            np.ones(len(rows)),
        )

    def _mean_score(self, public: PublicData, epsilon: Fraction, option: Option, part: Fraction) -> float:
        found = []
        for trial in range(self.trials):
            kernel = self._opened(public, part * epsilon, trial)
            answer = option(kernel.root, *public.arguments, epsilon=part * epsilon)
            check_spent(kernel, part * epsilon, f"the option {option.name!r}")
            found.append(finite_score(self.score, answer, public))
        return float(np.mean(found))

    def _feature(self, public: PublicData, epsilon: Fraction, one: Metafeature, most: int, trial: int) -> float:
        price = self.share * epsilon / most
        return tried(one, lambda amount: self._opened(public, amount, trial + self.trials), epsilon, price)

    def _opened(self, public: PublicData, amount: Fraction, trial: int) -> Kernel[Any]:
        """With noise that belongs to this input and trial, whatever is run."""
        place = [id(one) for one in self.inputs].index(id(public))
        seed = int(np.random.SeedSequence([self.seed, place, trial]).generate_state(1)[0])
        return public.opened(amount, seed, trusted=trusted_among(self.metafeatures))


def trusted_among(metafeatures: Sequence[Metafeature]) -> list[DeclaredMetafeature]:
    """Those that a kernel has to be opened with."""
    return [one for one in metafeatures if isinstance(one, DeclaredMetafeature)]


def tried(one: Metafeature, opened: Callable[[Fraction], Kernel[Any]], epsilon: Fraction, price: Fraction) -> float:
    """The value of a metafeature on a simulated kernel; it must spend what it was given, no more and no less."""
    kernel = opened(epsilon if one.free else price)
    found = one.buy(kernel.root, epsilon if one.free else price)
    check_spent(kernel, Fraction(0) if one.free else price, f"the metafeature {one.name!r}")
    return found.value


def check_spent(kernel: Kernel[Any], asked: Fraction, what: str) -> None:
    """Refuse what spends something else than it was given; too much was refused by the kernel already."""
    if not 0 <= asked - kernel.spent < _ROUNDING:
        raise BadInput(
            f"{what} was given ε = {display(asked)} and spent {display(kernel.spent)} on public data. It must spend "
            "exactly what it is given."
        )


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
