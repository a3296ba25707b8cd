"""A request: a task, what may be spent on it, and how. One value, with one form in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from adyton.errors import BadInput
from adyton.exact import Rational, as_number, budget, exact
from adyton.messages import listing, shorten
from adyton.plans.registry import check_name
from adyton.schema.plain_values import as_plain, as_text, of_kind, part_of
from adyton.tasks.base import Task
from adyton.tasks.reading import as_task, task_from_dict

AUTO = "auto"
_KEYS = ("task", "epsilon", "where", "algorithm", "options", "misfits")
_OTHERS = ", ".join(_KEYS[1:])


@dataclass(frozen=True)
class Request:
    """What somebody asks for: a task, its budget, which rows, which algorithm with which options.

    >>> from adyton.tasks import Histogram
    >>> request = Request.of(Histogram("age"), "0.5", where="sex = 'F'")
    >>> request.epsilon, Request.from_dict(request.to_dict()) == request
    (Fraction(1, 2), True)
    """

    task: Task
    epsilon: Fraction
    where: str | None = None
    algorithm: str = AUTO
    options: Mapping[str, Any] = field(default_factory=dict)
    misfits: Fraction | bool | None = None
    """Whether to count the rows that do not fit the schema, or the part of the budget to take for it."""

    @classmethod
    def of(
        cls,
        task: object,
        epsilon: Rational,
        *,
        where: str | None = None,
        algorithm: str = AUTO,
        misfits: Rational | bool | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Request:
        """From what was given: the one place where a budget is read."""
        check_name(algorithm)
        if where is not None and not isinstance(where, str):
            raise BadInput(f'where is a predicate in a text, such as "age >= 65", given {shorten(where)}.')
        amount = budget(epsilon, "epsilon")
        return cls(as_task(task), amount, where, algorithm, dict(options or {}), misfits)  # type: ignore[arg-type]

    def with_epsilon(self, epsilon: Fraction) -> Request:
        """The same for another budget."""
        return replace(self, epsilon=epsilon)

    def to_dict(self) -> dict[str, Any]:
        """As plain values; :meth:`from_dict` reads them back. Refused where an option is an object, which has none."""
        options = as_plain(self.options)
        for name, value in options.items():
            if not isinstance(value, str | int | float | bool | list | dict | None):
                raise BadInput(f"the option {name} is a {type(value).__name__}, which cannot be written down as JSON.")
        return {
            "task": self.task.to_dict(),
            "epsilon": as_number(self.epsilon),
            "where": self.where,
            "algorithm": self.algorithm,
            "options": options,
            "misfits": as_plain(self.misfits),
        }

    @classmethod
    def from_dict(cls, plain: object, epsilon: Rational | None = None) -> Request:
        """From plain values of a stranger: a task is a mapping of its own, or stands among the keys of the request.

        *epsilon* is the budget where none is given.
        """
        if not isinstance(plain, Mapping):
            raise BadInput(f"a request must be a mapping, given {shorten(plain)}.")
        nested = isinstance(plain.get("task"), Mapping)
        if nested and (unknown := [key for key in plain if key not in _KEYS]):
            raise BadInput(f"a request has the keys {listing(_KEYS)}, given {listing(unknown)}.")
        given, where = plain.get("epsilon", epsilon), plain.get("where")
        task = task_from_dict(plain["task"] if nested else plain)
        its_own = {*task.to_dict(), *getattr(task, "__dataclass_fields__", ())}
        if not nested and (unknown := [key for key in plain if key not in {*_KEYS, *its_own}]):
            raise BadInput(
                f"a request for a {task.kind} has no {listing(unknown)}. Known beside the task's own are {_OTHERS}."
            )
        options = of_kind(dict, {} if not nested and "options" in its_own else plain.get("options") or {}, "options")
        return cls.of(
            task,
            exact(part_of(given, "exact"), "epsilon", computed=True) if isinstance(given, Mapping) else given,
            where=None if where is None else as_text(where, "where"),
            algorithm=plain.get("algorithm", AUTO),
            misfits=plain.get("misfits"),
            options={as_text(name, "the name of an option"): value for name, value in options.items()},
        )

    def __str__(self) -> str:
        return f"{self.task}{f' where {self.where}' if self.where else ''}"
