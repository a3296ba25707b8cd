"""A selector: what Delphi learnt from public data, and how an algorithm is chosen by it. It can be kept in a file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from adyton.arrays import Reals
from adyton.choice.checked_file import digest_of
from adyton.errors import BadInput
from adyton.exact import Rational, display
from adyton.kernel.sources import VectorSource
from adyton.messages import listing, shorten
from adyton.plans.algorithm import SMALLEST_EPSILON
from adyton.plans.registry import algorithms, plan_named, plan_type
from adyton.queries import Measurement, Queries, Total
from adyton.remembered import cached_property
from adyton.selection import selector_file
from adyton.selection.choice import Choice
from adyton.selection.features import feature_named
from adyton.selection.workload_kinds import reach
from adyton.whole import whole


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
        selector_file.write(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Selector:
        """The selector in a file that :meth:`save` wrote."""
        return selector_file.read(path)

    @cached_property
    def digest(self) -> str:
        """What tells it apart from all other selectors."""
        return digest_of(selector_file.body_of(self))

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
