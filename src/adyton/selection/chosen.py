"""What runs once an algorithm was chosen: known before the choice for each that could be, and afterwards for one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy.typing as npt

from adyton.arrays import Reals
from adyton.exact import Rational
from adyton.kernel.sources import VectorSource
from adyton.plans.base import ExpectedError, Plan, Tasks
from adyton.plans.registry import plan_named
from adyton.queries import Queries
from adyton.solving.noise_moments import Moments


@dataclass(frozen=True, kw_only=True)
class Chosen(Plan):
    """An algorithm inside a choice. Merging, a public total and non-negativity are the chooser's; the rest is its own.

    It is not listed among the algorithms: it says what :class:`adyton.Pythia` does with one of them.
    """

    name = "chosen"
    serves = Tasks()

    plan: Plan
    finished: bool = False
    """Whether the selector changes the estimate afterwards."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "simulates_many", self.plan.simulates_many)

    @classmethod
    def named(cls, algorithm: str, *, finished: bool = False, **options: Any) -> Chosen:
        """The algorithm of this name; the options are those of the choice."""
        return cls(plan=plan_named(algorithm), finished=finished, **options)

    @property
    def linear(self) -> bool:
        """A selector that has the last word projects."""
        return super().linear and not self.finished

    @property
    def inner(self) -> Plan:
        """The algorithm, which knows a public total."""
        return replace(self.plan, total=self.total)

    def check(self, workload: Queries) -> None:
        """Refuse what the algorithm does not serve."""
        super().check(workload)
        self.inner.check(self.merging(workload).workload)

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Refuse what is too much for the algorithm."""
        self.inner.check_size(self.inner.merging(workload).workload, epsilon)

    def predicts_soon(self, workload: Queries) -> bool:
        """As the algorithm does."""
        return self.plan.predicts_soon(workload)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """As it would run by itself."""
        cells = self.inner.carry_out(x, workload, epsilon).estimate
        return cells.reshape(*cells.shape[: cells.ndim - len(workload.domain)], -1)

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """That of the algorithm on the merged cells."""
        merging = self.merging(workload)
        seen = None if x is None else merging.counts(x).reshape(merging.workload.domain)
        found = self.inner.expected_error(merging.workload, epsilon, seen)
        return found if self.linear or found.kind == "noise only" else replace(found, kind="upper mark")

    def one_law(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """Where it is so for the algorithm, and nothing follows."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries) if self.linear else None
        return asked is not None and self.inner.one_law(merging.workload, epsilon, asked)

    def moments(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Moments | None:
        """Those of the algorithm, if nothing follows."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries) if self.linear else None
        return None if asked is None else self.inner.moments(merging.workload, epsilon, asked)

    def variances(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Reals:
        """Those of the algorithm, on the merged cells."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries)
        assert asked is not None
        return self.inner.variances(merging.workload, epsilon, asked)

    def determines(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """Where the algorithm does, on the merged cells."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries)
        return asked is not None and self.inner.determines(merging.workload, epsilon, asked)
