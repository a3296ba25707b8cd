"""A selector: what Delphi learnt from public data, the features that it buys, and the choice that it makes by them.

Features are a few numbers about a private vector, each bought at most once. Errors at ε on x are those at 1 on ε·x,
divided by ε (as far as noise is concerned); so features are those of ε·x. The noise is added to the feature of x, whose
sensitivity is known, and the sum is multiplied by ε afterwards, which is post-processing. The number of cells that are
not empty is the same for x and ε·x and stays as it is; the partition that is best for ε·x when an interval costs 1 is
best for x when it costs 1/ε.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.choice.checked_file import FileKind, digest_of
from adyton.choice.decision import Bought, Decision, finite_values
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import Rational, display
from adyton.kernel import mechanisms
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import VectorSource
from adyton.messages import listing, no_such, shorten
from adyton.plans.algorithm import SMALLEST_EPSILON
from adyton.plans.registry import algorithms, plan_named, plan_type, standing
from adyton.queries import Measurement, Queries, Reduction, Total
from adyton.queries.domain_trees import along_curve
from adyton.selection.workload_kinds import reach
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.kernel.mechanisms.published.statistic import Statistic

FORMAT = "adyton selector"
_FILE = FileKind(FORMAT, 1, "a selector", "`adyton train` writes selectors.")
KINDS = {
    "similar-inputs": "similar_inputs:SimilarInputs",
    "tree": "tree_selector:TreeSelector",
    "closed-form": "closed_form:ClosedForm",
}
"""Where the kinds of selectors stand, by the name under which they are saved."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """Where a selector comes from."""

    dimensions: int
    algorithms: tuple[str, ...]
    workloads: tuple[str, ...]
    corpus: tuple[str, ...]
    """The data sets that it was trained on."""
    epsilons: tuple[str, ...]
    inputs: int
    trials: int
    date: str
    """The day of training, as in 2026-11-15."""
    adyton: str
    """The version of the package that trained it."""
    library: tuple[str, ...] = ()
    """What could have been chosen among on that day."""

    def __post_init__(self) -> None:
        for name in ("algorithms", "workloads", "corpus", "epsilons", "library"):
            values = getattr(self, name)
            if not isinstance(values, tuple) or not all(isinstance(value, str) for value in values):
                raise BadInput(f"{name} of a selector must be names, given {shorten(values)}.")
        for name, least in (("dimensions", 1), ("inputs", 0), ("trials", 0)):
            whole(getattr(self, name), name, least)
        for name in set(self.algorithms).intersection(algorithms()):
            if plan_type(name).chooses:
                raise BadInput(f"a selector chooses among algorithms that estimate, and {name!r} chooses itself.")
        if not (isinstance(self.date, str) and isinstance(self.adyton, str) and self.algorithms):
            raise BadInput("a selector must know algorithms, and say when and by which version it was trained.")


class Selector(ABC):
    """A trained chooser. Subclasses say how they choose; all are saved and loaded in the same way."""

    kind: ClassVar[str]
    training: Training
    share: Fraction
    """The part of the budget that features may cost; what is not spent on them goes to the algorithm."""

    @abstractmethod
    def choose(
        self, x: VectorSource, workload: Queries, epsilon: Fraction, total: int | None = None, *, ordered: bool = True
    ) -> Choice:
        """Choose an algorithm for a private vector, spending at most the share of *epsilon* on noisy features.

        A public number of rows, *total*, is not bought. Of cells that are not *ordered* along any axis, nothing is
        expected of their neighbours.
        """

    @abstractmethod
    def learnt(self) -> dict[str, Any]:
        """What was learnt, as plain values."""

    @classmethod
    @abstractmethod
    def from_learnt(cls, training: Training, share: Rational, learnt: Any) -> Selector:
        """The selector that :meth:`learnt` describes."""

    @abstractmethod
    def in_words(self) -> str:
        """What was learnt, for people."""

    def finish(self, cells: Reals, choice: Choice, workload: Queries) -> Reals:
        """Post-process the estimate by what was bought, where the choice says so (``finished``); else leave it."""
        return cells

    def features(self) -> frozenset[str]:
        """The names of the private features that it may ask for."""
        return frozenset()

    def admit(self, workload: Queries, epsilon: Fraction) -> None:
        """Refuse what could end, after features were paid for, with nothing to run or too little to run it with."""
        self.available(workload)
        least = (1 - self.share) * epsilon
        if self.share and min(least, self.share * epsilon / max(1, len(self.features()))) < SMALLEST_EPSILON:
            raise BadInput(
                f"features may cost {self.share} of ε, which leaves less than 2^-40 for them or for the algorithm. "
                "Spend more, or choose a share nearer to a half."
            )
        for name in self.features():
            feature_named(name).check_size(workload.domain, epsilon)

    def available(self, workload: Queries | None = None, *, ordered: bool = True) -> tuple[list[str], tuple[str, ...]]:
        """The algorithms that can be chosen here, and remarks on those that are missing or unknown to the selector.

        For a *workload*, without those that cannot take it on. Those that count on the order of the cells are left out
        where there is none, and those that are made for sums where all queries ask about single cells, unless no others
        are known.
        """
        here, known = set(algorithms(self.training.dimensions)), self.training.algorithms
        usable = [name for name in known if name in here and (workload is None or _can_run(name, workload))]
        if not usable:
            raise BadInput(
                f"this selector knows {listing(known)}, none of which is in the library and can take this on. "
                "Name an algorithm, or train again."
            )
        if not ordered:
            usable = [name for name in usable if not plan_type(name).serves.ordered] or usable
        if workload is not None and reach(workload) == 0:
            usable = [name for name in usable if not plan_type(name).serves.sums] or usable
        missing = [name for name in known if name not in here]
        unseen = sorted(here - set(known) - set(self.training.library)) if self.training.library else []
        newer = [name for name in unseen if not plan_type(name).variant]
        notes = []
        if missing:
            notes.append(
                f"the library has no {listing(missing)}, which the selector knows: the choice is among the rest."
            )
        if newer:
            notes.append(f"the selector does not know {listing(newer)}: train again to have the choice of all.")
        return usable, tuple(notes)

    def candidates(self, workload: Queries, *, ordered: bool = True) -> list[str]:
        """The algorithms that could be chosen."""
        return self.available(workload, ordered=ordered)[0]

    def check(self, workload: Queries, epsilon: Fraction = Fraction(1)) -> None:
        """Refuse a domain of another dimension, and budgets that no feature can be bought with."""
        if not epsilon >= SMALLEST_EPSILON:
            raise BadInput(f"epsilon must be at least 2^-40 to choose an algorithm, given {display(epsilon)}.")
        ndim = len(workload.domain)
        if ndim != self.training.dimensions:
            raise BadInput(
                f"this selector was trained for {self.training.dimensions} dimensions, the domain {workload.domain} "
                f"has {ndim}. Leave the selector out to use the one that fits."
            )

    def with_share(self, part: Rational) -> Selector:
        """The same selector with another share of the budget for features."""
        return type(self).from_learnt(self.training, part, self.learnt())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the selector to a file: JSON, with a digest that shows later changes."""
        _FILE.write(body_of(self), path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Selector:
        """The selector in a file that :meth:`save` wrote."""
        return _FILE.read(path, _from_plain)

    @cached_property
    def digest(self) -> str:
        """What tells it apart from all other selectors."""
        return digest_of(body_of(self))

    def __str__(self) -> str:
        about, more = self.training, "s" if self.training.dimensions > 1 else ""
        return (
            f"{self.kind} selector for {about.dimensions} dimension{more}, trained {about.date} on {about.inputs} "
            f"inputs from {listing(about.corpus)}; it chooses among {listing(about.algorithms)} and spends at most "
            f"{self.share} of the budget on features."
        )

    def __repr__(self) -> str:
        about = self.training
        return f"<{self.kind} selector among {len(about.algorithms)} algorithms, from {about.inputs} inputs>"


def body_of(selector: Selector) -> dict[str, Any]:
    """All that is kept of a selector in a file."""
    return {
        **_FILE.head,
        "kind": selector.kind,
        "training": asdict(selector.training),
        "share": str(selector.share),
        "learnt": selector.learnt(),
    }


def _from_plain(plain: dict[str, Any]) -> Selector:
    """The selector in a file, of the class that its kind stands for."""
    about: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in plain["training"].items()
    }
    if not isinstance(plain["share"], str):
        raise BadInput(f"the share of a selector is a text such as '1/100', given {shorten(plain['share'])}.")
    kind: type[Selector] = standing(f"adyton.selection.{KINDS[plain['kind']]}")
    return kind.from_learnt(Training(**about), plain["share"], plain["learnt"])


def _can_run(name: str, workload: Queries) -> bool:
    """Whether an algorithm can take on a workload inside of a choice, where it is handed a noisy number of rows."""
    rows = Measurement(Total(workload.domain), np.zeros(1, dtype=np.int64), lambda: np.ones(1), Fraction(1), False)
    plan = plan_named(name, rows=rows)
    try:
        plan.check(workload)
        plan.check_size(workload, Fraction(1))
    except BadInput:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Choice(Decision):
    """Which algorithm was chosen, what that cost, and why. Regrets are how many times the best algorithm's error to
    expect; notes name algorithms that the selector knows and the library does not have, or the other way around."""

    errors: dict[str, float] = field(default_factory=dict)
    """For each algorithm the error to expect, as far as the selector predicts it: ‖W·x̂ − W·x‖₂."""
    finished: bool = False
    """Whether the selector changes the estimate afterwards, by what was bought: its noise then depends on the data."""

    @property
    def algorithm(self) -> str:
        """The algorithm that was chosen."""
        return self.chosen

    @property
    def total(self) -> Measurement | None:
        """The noisy number of rows, if it was bought: the chosen algorithm need not buy it again."""
        return next((one.total for one in self.bought if one.total is not None), None)

    def compared(self) -> dict[str, float]:
        """The error to expect of each algorithm, relative to the best of them (1 = best).

        A regret compares with whichever algorithm is best on each of many tables, so that nobody's mean is 1.
        """
        least = min(self.regrets.values(), default=1.0)
        return {name: regret / least for name, regret in self.regrets.items()} if 0 < least < math.inf else self.regrets

    def to_plain(self) -> dict[str, Any]:
        """With the errors."""
        plain = super().to_plain()
        return {
            "algorithm": plain["chosen"],
            "left": plain["left"],
            "bought": plain["bought"],
            "regrets": plain["regrets"],
            "errors": finite_values(self.errors),
            "notes": plain["notes"],
            "finished": self.finished,
        }

    def _more(self) -> list[str]:
        """Notes on the library are not part of the sentence."""
        return []


CELLS = "cells"
"""The one feature that is public: how many cells the domain has."""


@dataclass(frozen=True)
class Feature:
    """A private feature: what it is in words, and the mechanism that measures it."""

    name: str
    words: str
    statistic: Callable[[Fraction], Statistic] | None
    """From ε; None for the total, which is a measurement that can be used again."""
    scales: bool = True
    """Whether ε·x has ε times of it."""
    along: bool = False
    """Whether it needs the cells in a line."""

    def unit(self, epsilon: Fraction) -> Fraction:
        """What the feature of x is multiplied by."""
        return epsilon if self.scales else Fraction(1)

    def true(self, x: npt.NDArray[np.int64], epsilon: Fraction) -> float:
        """The feature of public counts, without noise."""
        if self.statistic is None:
            return float(epsilon) * float(x.sum())
        values = x.reshape(-1)
        if self.along and x.ndim > 1:
            values = np.asarray(Reduction(along_curve(x.shape)) @ values)
        statistic = self.statistic(epsilon)
        return float(self.unit(epsilon) * statistic.steps_in(values) * statistic.step(values.size))

    def noise(self, cells: int, epsilon: Fraction, spent: Fraction) -> float:
        """The scale of the Laplace noise that the feature has when *spent* is spent on it."""
        if self.statistic is None:
            return float(epsilon / spent)
        statistic = self.statistic(epsilon)
        return float(self.unit(epsilon) * max(1, statistic.sensitivity(cells)) * statistic.step(cells) / spent)

    def check_size(self, domain: tuple[int, ...], epsilon: Fraction) -> None:
        """Refuse a domain on which it could not be measured."""
        if self.statistic is not None:
            shape = VectorShape((math.prod(domain),) if self.along else domain)
            check_request(self.statistic(epsilon), shape, epsilon)

    def buy(self, x: VectorSource, epsilon: Fraction, spent: Fraction) -> Bought:
        """The noisy feature of a private vector that is to be estimated with *epsilon*, for *spent*."""
        unit = float(self.unit(epsilon))
        if self.statistic is None:
            total = x.measure(Total(x.shape), spent)
            return Bought(self.name, self.words, unit * float(total.value), unit * total.deviation, spent, total)
        source = x.reduce(along_curve(x.shape)) if self.along and len(x.shape) > 1 else x
        found = source.statistic(self.statistic(epsilon), spent)
        return Bought(self.name, self.words, unit * found.value, unit * found.deviation, spent)


FEATURES = (
    Feature("scale", "ε times the number of rows", None),
    Feature("non-zeros", "the number of cells that are not empty", lambda epsilon: mechanisms.NonZeros(), scales=False),
    Feature(
        "total-variation",
        "ε times the rows that lie apart from even counts",
        lambda epsilon: mechanisms.TotalVariation(),
    ),
    Feature(
        "partitionality",
        "what the best partition into intervals costs at ε",
        lambda epsilon: mechanisms.Partitionality(1 / epsilon),
        along=True,
    ),
)
"""All private features. Their names, with :data:`CELLS`, are what a selector may ask for."""


def feature_named(name: str) -> Feature:
    """The private feature of this name."""
    for feature in FEATURES:
        if feature.name == name:
            return feature
    raise BadInput(no_such("feature", name, [feature.name for feature in FEATURES]))


def true_features(x: npt.NDArray[np.int64], epsilon: Fraction) -> npt.NDArray[np.float64]:
    """All private features of public counts, without noise, in the order of :data:`FEATURES`."""
    return np.array([feature.true(x, epsilon) for feature in FEATURES])
