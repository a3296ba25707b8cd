"""A selector: what Delphi learnt from public data, the features that it buys, and the choice that it makes with them.

Features are a few numbers about a private vector, each bought at most once. The errors on x with the budget ε are the
errors on ε·x with the budget 1, divided by ε (as far as they come from noise); so a selector uses the features of ε·x.
The noise is added to the feature of x, whose sensitivity is known, and the sum is multiplied by ε afterwards, which is
post-processing. The number of cells that are not empty is the same for x and ε·x and stays as it is; the partition that
is best for ε·x when an interval costs 1 is best for x when it costs 1/ε.

A selector is trained on a few workloads that represent all others. What matters about a workload is how much of the
domain its queries ask about. Among algorithms that are expected to be nearly equally good, one with exact errors is
preferred.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.choice.checked_file import FileKind, digest_of
from adyton.choice.decision import Bought, Choice
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
from adyton.queries import Identity, Measurement, Prefix, Queries, RandomRanges, Ranges, Total
from adyton.queries.domain_trees import along_curve
from adyton.queries.ranges import LENGTHS
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.kernel.mechanisms.published.statistic import Statistic

FORMAT = "adyton selector"
_FILE = FileKind(FORMAT, 1, "a selector", "`adyton train` writes selectors.")
KINDS = {
    "similar-inputs": "trained_selectors:SimilarInputs",
    "tree": "trained_selectors:TreeSelector",
    "closed-form": "pythia:ClosedForm",
}
"""The classes of selectors, by the name under which they are saved."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a selector was trained."""

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
    """All algorithms of the library on that day."""

    def __post_init__(self) -> None:
        for name in ("algorithms", "workloads", "corpus", "epsilons", "library"):
            values = getattr(self, name)
            if not isinstance(values, tuple) or not all(isinstance(value, str) for value in values):
                raise BadInput(f"{name} of a selector must be names, given {shorten(values)}.")
        for name, least in (("dimensions", 1), ("inputs", 0), ("trials", 0)):
            whole(getattr(self, name), name, least)
        for name in set(self.algorithms).intersection(algorithms()):
            if plan_type(name).chooses:
                raise BadInput(f"a selector chooses among algorithms that estimate, but {name!r} chooses too.")
        if not (isinstance(self.date, str) and isinstance(self.adyton, str) and self.algorithms):
            raise BadInput("a selector must name algorithms, and say when and by which version it was trained.")


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

        A public number of rows, *total*, is not bought. Cells that are not *ordered* along any axis need not resemble
        their neighbours.
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
        """Post-process the estimate with the bought features if the choice says ``finished``; else return it
        unchanged."""
        return cells

    def features(self) -> frozenset[str]:
        """The names of the private features that it may ask for."""
        return frozenset()

    def admit(self, workload: Queries, epsilon: Fraction) -> None:
        """Refuse requests that could fail after features were paid for: no algorithm to run, or too little budget
        left."""
        self.available(workload)
        least = (1 - self.share) * epsilon
        if self.share and min(least, self.share * epsilon / max(1, len(self.features()))) < SMALLEST_EPSILON:
            raise BadInput(
                f"the share {self.share} for features leaves less than 2^-40 for each of them or for the algorithm. "
                "Spend more, or choose a share nearer to a half."
            )
        for name in self.features():
            feature_named(name).check_size(workload.domain, epsilon)

    def available(self, workload: Queries | None = None, *, ordered: bool = True) -> tuple[list[str], tuple[str, ...]]:
        """The algorithms that can be chosen here, and remarks on those that are missing or unknown to the selector.

        For a *workload*, without those that cannot run on it. Algorithms that need an order of the cells are left out
        where there is none, and algorithms for sums where all queries ask about single cells, unless no others are
        known.
        """
        here, known = set(algorithms(self.training.dimensions)), self.training.algorithms
        usable = [name for name in known if name in here and (workload is None or _can_run(name, workload))]
        if not usable:
            raise BadInput(
                f"this selector knows {listing(known)}, none of which is in the library and can run on this workload. "
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
            notes.append(f"the selector does not know {listing(newer)}: train again to choose among all.")
        return usable, tuple(notes)

    def candidates(self, workload: Queries, *, ordered: bool = True) -> list[str]:
        """The algorithms that could be chosen."""
        return self.available(workload, ordered=ordered)[0]

    def check(self, workload: Queries, epsilon: Fraction = Fraction(1)) -> None:
        """Refuse a domain with another number of dimensions, and a budget too small to buy a feature."""
        if not epsilon >= SMALLEST_EPSILON:
            raise BadInput(f"epsilon must be at least 2^-40 to choose an algorithm, given {display(epsilon)}.")
        ndim = len(workload.domain)
        if ndim != self.training.dimensions:
            raise BadInput(
                f"this selector was trained for {self.training.dimensions} dimensions, the domain {workload.domain} "
                f"has {ndim}. Leave the selector out to use the one for these dimensions."
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
        """A checksum: different selectors have different checksums."""
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
    """The content of a selector's file."""
    return {
        **_FILE.head,
        "kind": selector.kind,
        "training": asdict(selector.training),
        "share": str(selector.share),
        "learnt": selector.learnt(),
    }


def _from_plain(plain: dict[str, Any]) -> Selector:
    """The selector in a file, of the class for its kind."""
    about: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in plain["training"].items()
    }
    if not isinstance(plain["share"], str):
        raise BadInput(f"the share of a selector is a text such as '1/100', given {shorten(plain['share'])}.")
    kind: type[Selector] = standing(f"adyton.choice.{KINDS[plain['kind']]}")
    return kind.from_learnt(Training(**about), plain["share"], plain["learnt"])


def _can_run(name: str, workload: Queries) -> bool:
    """Whether an algorithm can run on a workload after a choice, where it is given a noisy number of rows."""
    rows = Measurement(Total(workload.domain), np.zeros(1, dtype=np.int64), lambda: np.ones(1), Fraction(1), False)
    plan = plan_named(name, rows=rows)
    try:
        plan.check(workload)
        plan.check_size(workload, Fraction(1))
    except BadInput:
        return False
    return True


CELLS = "cells"
"""The only public feature: how many cells the domain has."""


@dataclass(frozen=True)
class Feature:
    """A private feature: what it is in words, and the mechanism that measures it."""

    name: str
    words: str
    statistic: Callable[[Fraction], Statistic] | None
    """Makes the mechanism, given ε; None for the total, a measurement that the algorithm can use again."""
    scales: bool = True
    """Whether the feature of ε·x is ε times that of x."""
    along: bool = False
    """Whether it needs the cells along a line."""

    def unit(self, epsilon: Fraction) -> Fraction:
        """The factor that the feature of x is multiplied by."""
        return epsilon if self.scales else Fraction(1)

    def check_size(self, domain: tuple[int, ...], epsilon: Fraction) -> None:
        """Refuse a domain on which it could not be measured."""
        if self.statistic is not None:
            shape = VectorShape((math.prod(domain),) if self.along else domain)
            check_request(self.statistic(epsilon), shape, epsilon)

    def buy(self, x: VectorSource, epsilon: Fraction, spent: Fraction) -> Bought:
        """Buy the noisy feature of a private vector for *spent*; *epsilon* is the budget of the whole estimate."""
        unit = float(self.unit(epsilon))
        if self.statistic is None:
            total = x.measure(Total(x.shape), spent)
            return Bought(self.name, self.words, unit * float(total.value), unit * total.deviation, spent, total)
        source = x.reduce(along_curve(x.shape)) if self.along and len(x.shape) > 1 else x
        noisy = source.statistic(self.statistic(epsilon), spent)
        return Bought(self.name, self.words, unit * noisy.value, unit * noisy.deviation, spent)


FEATURES = (
    Feature("scale", "ε times the number of rows", None),
    Feature("non-zeros", "the number of cells that are not empty", lambda epsilon: mechanisms.NonZeros(), scales=False),
    Feature(
        "total-variation",
        "ε times the rows that would have to move to make all counts equal",
        lambda epsilon: mechanisms.TotalVariation(),
    ),
    Feature(
        "partitionality",
        "what the best partition into intervals costs at ε",
        lambda epsilon: mechanisms.Partitionality(1 / epsilon),
        along=True,
    ),
)
"""All private features. A selector may ask for these and :data:`CELLS`, by name."""


def feature_named(name: str) -> Feature:
    """The private feature of this name."""
    for feature in FEATURES:
        if feature.name == name:
            return feature
    raise BadInput(no_such("feature", name, [feature.name for feature in FEATURES]))


_RANGES = 1000
_SHORT, _LONG = 1 / 16, 1 / 4


def _ranges(kind: str) -> Callable[[tuple[int, ...]], Queries]:
    return lambda domain: RandomRanges(domain, _RANGES, seed=0, kind=kind)


WORKLOADS: dict[str, Callable[[tuple[int, ...]], Queries]] = {
    "identity": Identity,
    "prefix": Prefix,
    **{kind: _ranges(kind) for kind in ("short", "medium", "long", "mixed")},
}
"""The representative workloads: each cell; each prefix of a line; a thousand boxes of a kind."""


@lru_cache(maxsize=64)
def workload_named(name: str, domain: tuple[int, ...]) -> Queries:
    """The workload of this name on a domain."""
    if name not in WORKLOADS:
        raise BadInput(no_such("workload", name, WORKLOADS))
    return WORKLOADS[name](domain)


@lru_cache(maxsize=64)
def reach(workload: Queries) -> float:
    """From 0, where a query asks about one cell, to 1, where it asks about all: log(cells of a query) / log(cells).

    >>> from adyton.queries import Identity, Total
    >>> reach(Identity(64)), reach(Total(64))
    (0.0, 1.0)
    """
    asked = max(1.0, float(np.mean(_cells_asked(workload))))
    return min(1.0, math.log(asked) / math.log(workload.cells)) if workload.cells > 1 else 0.0


def kind_of(workload: Queries, kinds: Iterable[str]) -> str:
    """The representative of this workload, among those that a selector was trained on.

    On a line, prefixes represent queries that ask about at least half the domain on average, and identity represents
    shorter ones. On a plane, boxes that are all short, all medium or all long along both axes are of that kind; any
    others are mixed.

    >>> from adyton.queries import Prefix, RandomRanges
    >>> kind_of(Prefix(9), ["identity", "prefix"])
    'prefix'
    >>> kind_of(RandomRanges((32, 32), 9, seed=0, kind="long"), ["short", "medium", "long", "mixed"])
    'long'
    """
    known = sorted(kinds)
    kind = _kind_on_line(workload) if len(workload.domain) == 1 else _kind_of_boxes(workload)
    if kind in known:
        return kind
    return "mixed" if "mixed" in known else known[0]


@lru_cache(maxsize=64)
def _kind_on_line(workload: Queries) -> str:
    return "identity" if float(np.mean(_cells_asked(workload))) < workload.cells / 2 else "prefix"


@lru_cache(maxsize=64)
def _kind_of_boxes(workload: Queries) -> str:
    parts = _parts_of_sides(workload)
    for kind, low, high in zip(LENGTHS, (0, _SHORT, _LONG), (_SHORT, _LONG, math.inf), strict=True):
        single = kind == "short"  # a single cell of a small domain is short too
        fits = (parts >= low) & ((parts < high) | (single & (parts <= 1 / np.array(workload.domain))))
        if fits.all():
            return kind
    return "mixed"


def _parts_of_sides(workload: Queries) -> Reals:
    """For each query the part of each side that it spans; the same along all axes for queries that are not boxes."""
    if isinstance(workload, Ranges):
        return np.asarray((workload.upper - workload.lower + 1) / np.array(workload.domain))
    part = (_cells_asked(workload) / workload.cells) ** (1 / len(workload.domain))
    return np.asarray(np.repeat(part[:, None], len(workload.domain), axis=1))


def _cells_asked(workload: Queries) -> Reals:
    """How many cells each query asks about, if its coefficients are 0 and 1."""
    return np.asarray(np.abs(np.asarray(workload @ np.ones(workload.cells), dtype=np.float64)))


TIE = 1.02
"""Algorithms whose expected regrets differ by less than this factor count as equally good."""
FEW_CELLS, TIE_OF_FEW = 32, 1.1
"""Up to this many categories, people read each count with its interval. Exact intervals are worth more there, so this
larger factor is used."""


def tie_of(workload: Queries, ordered: bool) -> float:
    """The factor by which an exact error may exceed the least error: larger for a few categories, read one by one.

    Levels of a categorical attribute are listed because they occur, so few are empty. The cells of a number can be
    empty in long stretches, where an algorithm with exact errors is much less accurate than others.
    """
    few = workload.cells <= FEW_CELLS and reach(workload) == 0 and not ordered
    return TIE_OF_FEW if few else TIE


def cheapest(
    regrets: Iterable[tuple[str, float]], usable: Iterable[str], exact: Collection[str] = (), tie: float = TIE
) -> str:
    """The algorithm of least regret among those that can be used, by :func:`best`.

    >>> cheapest({"hb": 1.01, "dawa": 1.0}.items(), ["hb", "dawa"], exact=["hb"])
    'hb'
    """
    allowed = set(usable)
    names, expected = zip(*sorted((name, regret) for name, regret in regrets if name in allowed), strict=True)
    return str(names[int(best(np.array(expected), np.array([name in exact for name in names]), tie))])


def best(regrets: Reals, exact: npt.NDArray[np.bool_], tie: float = TIE) -> npt.NDArray[np.intp]:
    """Along the last axis, the place of the least regret; or, where algorithms whose errors are *exact* (known
    beforehand and the same on all data) are as good up to a factor *tie*, the place of the best of these."""
    tied = exact & (regrets <= tie * regrets.min(axis=-1, keepdims=True))
    preferred = np.where(tied | ~tied.any(axis=-1, keepdims=True), regrets, np.inf)
    return np.asarray(np.argmin(preferred, axis=-1))
