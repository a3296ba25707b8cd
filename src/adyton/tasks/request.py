"""Tasks and requests: what a curator can ask for, in terms of the table's attributes, and the same with its budget.

A request is one value with one form in JSON. Kinds of tasks are found by their names in :data:`TASKS`, and by their
options on the command line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

from adyton.errors import BadInput
from adyton.exact import Rational, as_number, budget, exact
from adyton.messages import listing, shorten
from adyton.plans.registry import Added, Registry, check_name
from adyton.queries import Queries
from adyton.schema import Schema
from adyton.schema.attributes import Label
from adyton.schema.plain_values import as_plain, as_text, of_kind, part_of
from adyton.tasks.known import KnownTotals


@dataclass(frozen=True)
class Option:
    """An option of the command line that asks for a task, or refines it."""

    name: str
    """The name without the leading dashes: ``with-ranges``."""
    help: str
    metavar: str | None = None
    reads: type = str
    """The type of its value: ``str``, ``int``, ``Path``, ``list[str]`` if it can be repeated, ``bool`` for a flag."""
    asks: bool = True
    """Whether it asks for the task; else it refines the task that another option asks for."""

    @property
    def key(self) -> str:
        """Its name as a Python identifier."""
        return self.name.replace("-", "_")

    def __str__(self) -> str:
        return f"--{self.name}"


def names_of(text: str | None) -> list[str]:
    """Names separated by commas; an empty list where no text was given."""
    return [] if text is None else [name.strip() for name in text.split(",")]


class Task(ABC):
    """Something to release. Most tasks name the cells of some attributes, and queries that should be accurate.

    Such a release answers any other query too; the task says for which queries the algorithm is chosen.
    """

    kind: ClassVar[str]
    answered_by: ClassVar[str | type] = "adyton.programs.counts:Counts"
    """The program that answers it, or its import path: see :class:`adyton.programs.Program`."""
    merges: ClassVar[bool] = False
    """Whether only these queries matter, so that cells that all of them treat alike may be merged."""
    cumulative: ClassVar[bool] = False
    """Whether the task asks for counts up to each cell instead of the counts of the cells."""
    command_options: ClassVar[tuple[Option, ...]] = ()
    """The options of the command line that ask for it. Each kind of task has its own: they are not inherited."""
    per_unit: ClassVar[bool] = False
    """Whether units are counted instead of rows."""
    last_class: int | None = None
    """Where units are counted by their number of rows: the last class, of units with this many rows or more."""

    @property
    def title(self) -> str:
        """What is asked, as the heading of a page."""
        words = str(self)
        return words[:1].upper() + words[1:]

    @abstractmethod
    def select(self, schema: Schema) -> Schema:
        """The schema of the attributes that the task is about, given the schema of a table."""

    def workload(self, schema: Schema) -> Queries:
        """The queries, given the schema of these attributes; refused by tasks that do not ask about cells."""
        raise BadInput(f"{self}: this is not a count of cells. Leave the algorithm to auto.")

    def axes(self, schema: Schema) -> dict[str, tuple[Label, ...]]:
        """The labels of the cells along each axis, given the schema of these attributes."""
        return {name: attribute.labels for name, attribute in schema.attributes.items()}

    def tables(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """The attributes of each requested table; empty where the cells of all attributes are requested."""
        return ()

    def questions(self) -> tuple[Mapping[str, Any], ...]:
        """The queries, where they are listed one by one."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The task as plain values, here only its kind; :func:`task_from_dict` reads them back."""
        return {"task": self.kind}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The task that :meth:`to_dict` describes, from unchecked values."""
        return cls()

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """The task from those of its options that were given, by their keys: here names separated by commas."""
        (text,) = given.values()
        return cls(*names_of(text))


_PLACES = {
    "histogram": "tasks.counts:Histogram",
    "ranges": "tasks.counts:Ranges",
    "cdf": "tasks.counts:Cdf",
    "marginals": "tasks.marginals:Marginals",
    "queries": "tasks.counts:QueryList",
    "sum": "tasks.numbers:Sum",
    "mean": "tasks.numbers:Mean",
    "quantiles": "tasks.numbers:Quantiles",
    "variance": "tasks.numbers:Variance",
    "summary": "tasks.numbers:Summary",
    "rows per unit": "tasks.counts:RowsPerUnit",
    "count": "tasks.counts:Count",
    "units": "tasks.counts:Units",
    "rows left out": "tasks.counts:RowsLeftOut",
    "classifier": "learning.classifier:Classifier",
    "tuning": "configuration.tuning:Tuning",
}
"""The module and class of each kind of task."""
TASKS = Registry[Task]("task", _PLACES, noun="task of the kind", key="kind", base=Task)
"""All kinds of tasks, by name."""


AUTO = "auto"
_KEYS = ("task", "epsilon", "where", "algorithm", "options", "misfits", "known")


@dataclass(frozen=True)
class Request:
    """A task with its budget, a filter of rows, an algorithm and its options.

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
    """Whether to count the rows that do not match the schema, or the share of the budget to spend on it."""
    known: KnownTotals | None = None
    """Public totals that the result is adjusted to."""

    @classmethod
    def of(
        cls,
        task: object,
        epsilon: Rational,
        *,
        where: str | None = None,
        algorithm: str = AUTO,
        misfits: Rational | bool | None = None,
        known: object = None,
        options: Mapping[str, Any] | None = None,
    ) -> Request:
        """From unchecked arguments: the only place where a budget is read."""
        check_name(algorithm)
        if where is not None and not isinstance(where, str):
            raise BadInput(f'where is a predicate in a text, such as "age >= 65", given {shorten(where)}.')
        amount = budget(epsilon, "epsilon")
        totals = None if known is None else KnownTotals.of(known)
        own = dict(options or {})
        return cls(as_task(task), amount, where, algorithm, own, misfits, totals)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """As plain values; :meth:`from_dict` reads them back. Options that are objects are refused."""
        options = as_plain(self.options)
        for name, value in options.items():
            if not isinstance(value, str | int | float | bool | list | dict | None):
                raise BadInput(f"the option {name} is a {type(value).__name__}, which cannot be written as JSON.")
        return {
            "task": self.task.to_dict(),
            "epsilon": as_number(self.epsilon),
            "where": self.where,
            "algorithm": self.algorithm,
            "options": options,
            "misfits": as_plain(self.misfits),
            **({} if self.known is None else {"known": self.known.to_plain()}),
        }

    @classmethod
    def from_dict(cls, plain: object, epsilon: Rational | None = None) -> Request:
        """From unchecked plain values: the task is a mapping of its own, or its keys are among those of the request.
        *epsilon* is the budget where the values have none.
        """
        if not isinstance(plain, Mapping):
            raise BadInput(f"a request must be a mapping, given {shorten(plain)}.")
        nested = isinstance(plain.get("task"), Mapping)
        if nested and (unknown := [key for key in plain if key not in _KEYS]):
            raise BadInput(f"a request has the keys {listing(_KEYS)}, given {listing(unknown)}.")
        given, where = plain.get("epsilon", epsilon), plain.get("where")
        own = _Noted(plain["task"] if nested else plain)
        task = task_from_dict(own)
        if unknown := [key for key in own if key not in own.read and (nested or key not in _KEYS)]:
            keys = ", ".join(sorted(own.read - {"task"})) or "none of its own"
            raise BadInput(
                f"the task {task.kind!r} has no {listing(unknown)}; its keys are: {keys}. Besides them, a request has "
                f"{', '.join(_KEYS[1:])}."
            )
        options = of_kind(dict, {} if not nested and "options" in own.read else plain.get("options") or {}, "options")
        return cls.of(
            task,
            exact(part_of(given, "exact"), "epsilon", computed=True) if isinstance(given, Mapping) else given,
            where=None if where is None else as_text(where, "where"),
            algorithm=plain.get("algorithm", AUTO),
            misfits=plain.get("misfits"),
            known=plain.get("known"),
            options={as_text(name, "the name of an option"): value for name, value in options.items()},
        )

    def __str__(self) -> str:
        return f"{self.task}{f' where {self.where}' if self.where else ''}"


class _Noted(dict[str, Any]):
    """A mapping that notes which of its keys were read: the others are misspelt."""

    def __init__(self, plain: Mapping[str, Any]) -> None:
        super().__init__(plain)
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)


def sent_request(plain: Any) -> Request:
    """A request that somebody else has written. No file is opened because it names one: known totals are values."""
    known = plain.get("known") if isinstance(plain, Mapping) else None
    for part in known if isinstance(known, list) else [known]:
        if isinstance(part, str):
            raise BadInput("known totals are given as values to a service, not as the name of a file.")
    return Request.from_dict(plain)


def register(task: Added) -> Added:
    """Add a kind of task; from then on it can be read, released and saved like any other."""
    return TASKS.register(task)


def task_from_dict(plain: object) -> Task:
    """The task that :meth:`Task.to_dict` describes."""
    if not isinstance(plain, Mapping):
        raise BadInput(f"a task must be a mapping, given {shorten(plain)}.")
    return TASKS[plain.get("task")].from_dict(plain)


def as_task(given: object) -> Task:
    """The task, or an error that says what a task is."""
    if isinstance(given, Task):
        return given
    raise BadInput(
        f'a task is ad.Histogram("age"), ad.Ranges("age"), ad.Cdf("age"), ad.Marginals(way=2), ad.QueryList([…]), '
        f"ad.Count(), ad.Units(), ad.RowsPerUnit(), or "
        f'ad.Sum, ad.Mean, ad.Quantiles, ad.Variance or ad.Summary("age", by="sex"), given {shorten(given)}.'
    )


def command_options() -> list[tuple[Option, list[type[Task]]]]:
    """The options of the command line, each with its tasks; shared options come after the last of their tasks.

    Tasks of other packages have commands of their own.
    """
    options: dict[Option, list[type[Task]]] = {}
    for task in (TASKS[kind] for kind in TASKS if _PLACES.get(kind, "tasks").startswith("tasks")):
        for option in vars(task).get("command_options", ()):
            options[option] = [*options.pop(option, []), task]
    names = [option.name for option in options]
    if twice := {name for name in names if names.count(name) > 1}:
        raise BadInput(f"two kinds of task are asked for by --{twice.pop()}. Give one of them another option.")
    return list(options.items())


def task_from_options(given: Mapping[str, Any]) -> Task | None:
    """The one task that the given options ask for, by their keys; None if they ask for none."""
    known = [
        (option, tasks, given[option.key])
        for option, tasks in command_options()
        if given.get(option.key) is not None and given[option.key] is not False and given[option.key] != []
    ]
    named = [(option, task) for option, (task, *_), _ in known if option.asks]
    if len(named) > 1:
        raise BadInput(f"ask for one thing at a time: {', or '.join(str(option) for option, _ in named)}.")
    wanted = named[0][1] if named else None
    for option, tasks, _ in known:
        if wanted not in tasks:
            those = [str(other) for other, owners in command_options() if other.asks and set(owners) & set(tasks)]
            raise BadInput(f"{option} belongs to {' or '.join(those)}. Leave it out, or ask for that.")
    return None if wanted is None else wanted.from_options({option.key: value for option, _, value in known})


def ways_to_ask() -> str:
    """The options that ask for something, for messages."""
    *most, last = (str(option) for option, _ in command_options() if option.asks)
    return f"{', '.join(most)} or {last}"
