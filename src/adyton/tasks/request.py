"""A request: a task, what may be spent on it, and how. One value, with one form in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from adyton.errors import BadInput
from adyton.exact import Rational, as_number, budget, exact
from adyton.messages import listing, shorten
from adyton.plans.registry import Added, Registry, check_name
from adyton.schema.plain_values import as_plain, as_text, of_kind, part_of
from adyton.tasks.base import Option, Task

_PLACES = {
    "histogram": "tasks.named:Histogram",
    "ranges": "tasks.named:Ranges",
    "cdf": "tasks.named:Cdf",
    "marginals": "tasks.marginals:Marginals",
    "queries": "tasks.named:QueryList",
    "sum": "tasks.numbers:Sum",
    "mean": "tasks.numbers:Mean",
    "quantiles": "tasks.numbers:Quantiles",
    "variance": "tasks.numbers:Variance",
    "summary": "tasks.numbers:Summary",
    "rows per unit": "tasks.units:RowsPerUnit",
    "count": "tasks.units:Count",
    "units": "tasks.units:Units",
    "rows left out": "tasks.units:RowsLeftOut",
    "classifier": "learning.classifier:Classifier",
    "tuning": "configuration.tuning:Tuning",
}
"""Where each kind of task stands."""
TASKS = Registry[Task]("task", _PLACES, noun="task of the kind", key="kind", base=Task)
"""All kinds of tasks, by name."""


# ---- from a command line --------------------------------------------------------------------------------------------


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
    """Whether to count the rows that do not match the schema, or the part of the budget to take for it."""

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


def register(task: Added) -> Added:
    """Enter a kind of task; from then on it is read, released, saved and asked for like any other."""
    return TASKS.register(task)


def task_from_dict(plain: object) -> Task:
    """The task that :meth:`Task.to_dict` describes."""
    if not isinstance(plain, Mapping):
        raise BadInput(f"a task must be a mapping, given {shorten(plain)}.")
    return TASKS[plain.get("task")].from_dict(plain)


def as_task(given: object) -> Task:
    """The task, or an error that says what one is."""
    if isinstance(given, Task):
        return given
    raise BadInput(
        f'a task is ad.Histogram("age"), ad.Ranges("age"), ad.Cdf("age"), ad.Marginals(way=2), ad.QueryList([…]), '
        f"ad.Count(), ad.Units(), ad.RowsPerUnit(), or "
        f'ad.Sum, ad.Mean, ad.Quantiles, ad.Variance or ad.Summary("age", by="sex"), given {shorten(given)}.'
    )


def asking() -> list[tuple[Option, list[type[Task]]]]:
    """The options of the command line, each with the tasks that it is for; those of several stand behind the last.

    Tasks from other rooms have commands of their own.
    """
    found: dict[Option, list[type[Task]]] = {}
    for task in (TASKS[kind] for kind in TASKS if _PLACES.get(kind, "tasks").startswith("tasks")):
        for option in vars(task).get("asked_by", ()):
            found[option] = [*found.pop(option, []), task]
    names = [option.name for option in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise BadInput(f"two kinds of task are asked for by --{twice.pop()}. Give one of them another option.")
    return list(found.items())


def asked_task(given: Mapping[str, Any]) -> Task | None:
    """The one task that was asked for by options, given by their keys; None for none."""
    known = [
        (option, tasks, given[option.key])
        for option, tasks in asking()
        if given.get(option.key) is not None and given[option.key] is not False and given[option.key] != []
    ]
    named = [(option, task) for option, (task, *_), _ in known if option.asks]
    if len(named) > 1:
        raise BadInput(f"ask for one thing at a time: {', or '.join(str(option) for option, _ in named)}.")
    asked = named[0][1] if named else None
    for option, tasks, _ in known:
        if asked not in tasks:
            those = [str(one) for one, of in asking() if one.asks and set(of) & set(tasks)]
            raise BadInput(f"{option} belongs to {' or '.join(those)}. Leave it out, or ask for that.")
    return None if asked is None else asked.from_options({option.key: value for option, _, value in known})


def ways_to_ask() -> str:
    """The options that ask for something, for messages."""
    *most, last = (str(option) for option, _ in asking() if option.asks)
    return f"{', '.join(most)} or {last}"
