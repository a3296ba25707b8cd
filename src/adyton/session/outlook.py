"""The outlook before spending: which algorithms could run, what error to expect of each, and what an error costs.

All of it follows from the schema and the task, which are public: no data are touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.messages import listing
from adyton.plans.base import Plan
from adyton.plans.expected_error import ExpectedError
from adyton.plans.registry import check_name, plan_named, plan_type
from adyton.queries import Queries
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.schema import Schema
from adyton.schema.coarsening import changes
from adyton.session.least_epsilon import least_epsilon
from adyton.session.preview import promised
from adyton.tasks import Task, as_task
from adyton.whole import SAFE

AUTO, _CHOOSER = "auto", "pythia"
_KEPT_WHEN_CHOSEN = ("nonnegative", "reduce", "total")


def plan_of(task: Task, schema: Schema, algorithm: str, options: Mapping[str, Any]) -> tuple[Plan, dict[str, Any]]:
    """The plan to run for a task, and those of its options that the algorithm which runs in the end will have.

    The schema is that of the attributes that the task is about: whether one of them has an order is public.
    """
    check_name(algorithm)
    name = _CHOOSER if algorithm == AUTO else algorithm
    if not plan_type(name).chooses:
        if "rows" in options:
            raise BadInput("rows is for plans that run inside other plans. Leave it out, or give a public total.")
        return plan_named(name, **options), dict(options)
    allowed = ("selector", "share", *_KEPT_WHEN_CHOSEN)
    for one in options:
        if one not in allowed:
            raise BadInput(f"a choice has the options {listing(allowed)}, not {one!r}. Name an algorithm to set its.")
    options = {"reduce": True, **options} if task.merges else options
    ordered = any(attribute.ordered for attribute in schema.attributes.values())
    kept = {one: options[one] for one in _KEPT_WHEN_CHOSEN if one in options}
    return plan_named(name, **options, ordered=ordered), kept


@dataclass(frozen=True, eq=False)
class Outlook:
    """What can be known of a release beforehand."""

    task: Task
    schema: Schema
    """Of the attributes that the task is about."""
    workload: Queries
    plans: Mapping[str, Plan]
    """The algorithms that could run, as they would be run."""
    chooses: bool = False
    """Whether one of them is chosen privately."""
    share: Fraction = Fraction(0)
    """The part of the budget that choosing among them may cost."""
    misfits: MisfitShare = NO_SHARE
    """The part of the budget that counts rows which do not fit the schema; the algorithm gets the rest."""

    @classmethod
    def of(
        cls,
        task: Task,
        schema: Schema,
        algorithm: str = AUTO,
        options: Mapping[str, Any] | None = None,
        misfits: MisfitShare = NO_SHARE,
    ) -> Outlook:
        """For a task on a table with this schema."""
        selected = as_task(task).select(schema)
        workload = task.workload(selected)
        plan, _ = plan_of(task, selected, algorithm, options or {})
        plan.check(workload)
        plans, share = plan.candidates(workload), plan.choice_share(workload)
        return cls(task, selected, workload, plans, plan.chooses, share, misfits)

    def notes(self, schema: Schema) -> tuple[str, ...]:
        """What is made coarser, given the schema of the whole table."""
        if self.task.per_unit:
            return ()
        words = changes(schema.select(self.schema.names), self.schema)
        return (f"{'; '.join(words)}.",) if words else ()

    @property
    def cells(self) -> int:
        """How many cells are estimated."""
        return self.schema.cells

    @property
    def queries(self) -> int:
        """How many queries the task asks."""
        return self.workload.count

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(self.plans)

    def errors(self, epsilon: Fraction) -> dict[str, ExpectedError | None]:
        """The error to expect of each algorithm where it has a closed form that can be computed soon; else None.

        Where a choice comes first, it is the error with what the choice leaves of the budget at least.
        """
        found: dict[str, ExpectedError | None] = {}
        row_epsilon = epsilon * (1 - self.misfits.of(epsilon)) / self.schema.rows_per_unit * (1 - self.share)
        for name, plan in self.plans.items():
            found[name] = None
            if len(self.plans) == 1 or plan.predicts_soon(plan.merging(self.workload).workload):
                try:
                    error = plan.expected_error(self.workload, row_epsilon)
                except BadInput:
                    continue  # it depends on the data
                found[name] = replace(error, kind="estimate") if self.share and error.kind == "exact" else error
        return found

    def epsilon_for(self, error: Rational) -> Fraction:
        """The least ε, to four digits, with which an algorithm has at most this root mean square error of an answer."""
        target = float(min(positive(error, "error", computed=True), Fraction(SAFE)))
        best = promised(self.errors(Fraction(1)))
        if best is None:
            raise BadInput(
                f"the error of {', '.join(self.names)} depends on the data and has no closed form. Name an algorithm "
                "that has one, such as identity, or compare algorithms on public data."
            )

        def error_at(epsilon: Fraction) -> float:
            found = promised(self.errors(epsilon))
            assert found is not None
            return found[1].per_query

        return least_epsilon(error_at, target, error)
