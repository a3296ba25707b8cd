"""The task of several tables at once: marginals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.errors import BadInput
from adyton.messages import listing, shorten
from adyton.queries import Marginals as MarginalQueries
from adyton.queries import Queries
from adyton.schema import Identifier, Schema
from adyton.tasks.base import Task
from adyton.tasks.named import check_axes
from adyton.whole import whole

Group = tuple[str, ...]
MOST_SETS = 1 << 16
"""How many tables can be asked for."""
_LEAST, _MOST = 1e-6, 1e6


@dataclass(frozen=True, kw_only=True)
class Marginals(Task):
    """All tables of *way* attributes, out of some or all attributes, summed over the others; or *sets* of attributes.

    *weights* say of some tables how much their error matters; others have the weight 1. They count where tables are
    measured by themselves, not over the whole domain.

    >>> print(Marginals(way=2, attrs=["age", "sex", "department"]))
    2-way marginals of age × sex × department
    >>> print(Marginals(sets=[("age", "sex"), ("age", "department")], weights={("age", "sex"): 3}))
    marginals age × sex, age × department
    """

    kind = "marginals"
    way: int | None = None
    attrs: Sequence[str] | None = None
    sets: Sequence[Sequence[str]] | None = None
    weights: Mapping[Sequence[str], float] | Sequence[float] | None = None

    def __post_init__(self) -> None:
        if (self.way is None) == (self.sets is None):
            raise BadInput('say which tables: way=2 for all pairs of attributes, or sets=[("age", "sex"), …].')
        if self.way is not None:
            object.__setattr__(self, "way", whole(self.way, "way", 1))
        if self.sets is not None:
            object.__setattr__(self, "sets", _sets(self.sets, self.attrs))
        if self.attrs is not None:
            object.__setattr__(self, "attrs", _names(self.attrs, 'attrs must be a list of names, like ["age", "sex"]'))
        object.__setattr__(self, "weights", _weights(self.weights, self.sets))

    def select(self, schema: Schema) -> Schema:
        """The attributes named, or all that have cells."""
        celled = [name for name, one in schema.attributes.items() if not isinstance(one, Identifier)]
        if self.sets is not None:
            wanted = {name for group in self.sets for name in group}
            unknown = [name for name in wanted if name not in schema.attributes]
            named: Sequence[str] = sorted(unknown) or [name for name in schema.names if name in wanted]
        else:
            named = celled if self.attrs is None else tuple(self.attrs)
        selected = schema.select(named)
        count = len(selected.shape)
        if self.way is not None and self.way > count:
            raise BadInput(f"there are {count} attributes, {listing(selected.names)}: way is {self.way}.")
        if self.way is not None and (sets := math.comb(count, self.way)) > MOST_SETS:
            raise BadInput(
                f"{count} attributes have {sets:,} sets of {self.way}, allowed are {MOST_SETS:,}. "
                "Name fewer attributes (attrs), or the tables that matter (sets)."
            )
        for group, _ in self._weighed:
            if group not in {frozenset(one) for one in self.groups(selected)}:
                raise BadInput(f"a weight is given for {listing(sorted(group))}, which is no table that is asked for.")
        return selected

    def groups(self, schema: Schema) -> tuple[Group, ...]:
        """The attributes of each table, in the order of the schema of all of them."""
        if self.way is not None:
            return tuple(itertools.combinations(schema.names, self.way))
        assert self.sets is not None
        return tuple(tuple(sorted(group, key=schema.names.index)) for group in self.sets)

    @property
    def widest(self) -> int:
        """How many attributes the largest table has."""
        return max(map(len, self.sets or ()), default=0) if self.way is None else self.way

    def importance(self, schema: Schema) -> tuple[float, ...]:
        """The weight of each table."""
        given = dict(self._weighed)
        return tuple(given.get(frozenset(group), 1.0) for group in self.groups(schema))

    @property
    def _weighed(self) -> tuple[tuple[frozenset[str], float], ...]:
        return () if self.weights is None else self.weights  # type: ignore[return-value]  # read when it was made

    def workload(self, schema: Schema) -> Queries:
        """The cells of all these tables, as sums of the cells of the whole domain."""
        check_axes(schema)
        if self.weights is not None:
            raise BadInput(
                'weights count where tables are measured by themselves. Name the algorithm "all-pairs" or '
                '"select-pairs", or leave the choice to "auto".'
            )
        if self.way is not None:
            return MarginalQueries(schema.shape, way=self.way)
        return MarginalQueries(
            schema.shape, [[schema.names.index(name) for name in one] for one in self.groups(schema)]
        )

    def to_dict(self) -> dict[str, Any]:
        """The order, and the names if some are named; or the sets; and the weights that are given."""
        plain: dict[str, Any] = {"task": self.kind}
        if self.way is not None:
            plain["way"] = self.way
        if self.attrs is not None:
            plain["attributes"] = list(self.attrs)
        if self.sets is not None:
            plain["sets"] = [list(group) for group in self.sets]
        if self.weights is not None:
            plain["weights"] = [{"attributes": sorted(group), "weight": weight} for group, weight in self._weighed]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Marginals:
        """What :meth:`to_dict` says."""
        weights = plain.get("weights")
        if weights is not None:
            if not isinstance(weights, list) or not all(isinstance(one, Mapping) for one in weights):
                raise BadInput(f"weights are written as a list of mappings, given {shorten(weights)}.")
            weights = {_names(one.get("attributes"), "a weight has attributes"): one.get("weight") for one in weights}
        way = None if "sets" in plain else plain.get("way", 0)
        return cls(way=way, attrs=plain.get("attributes"), sets=plain.get("sets"), weights=weights)

    def __str__(self) -> str:
        if self.sets is not None:
            shown = ", ".join(" × ".join(group) for group in self.sets[:3])
            return f"marginals {shown}" + (f" and {len(self.sets) - 3} more" if len(self.sets) > 3 else "")
        of = "all attributes" if self.attrs is None else " × ".join(self.attrs)
        return f"{self.way}-way marginals of {of}"


def _names(given: object, what: str) -> Group:
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise BadInput(f"{what}, given {shorten(given)}.")
    return tuple(str.__str__(name) for name in names)


def _sets(given: object, attrs: object) -> tuple[Group, ...]:
    what = 'sets must be a list of sets of names, like [("age", "sex"), ("age",)]'
    if attrs is not None:
        raise BadInput("attrs belongs to way: sets name their attributes themselves. Leave one of them out.")
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadInput(f"{what}, given {shorten(given)}.")
    sets = tuple(_names(one, what) for one in given)
    if not sets or len(sets) > MOST_SETS or not all(sets):
        raise BadInput(f"{what}: at least one of them, at most {MOST_SETS:,}, none empty; given {len(sets):,}.")
    for one in sets:
        if len(set(one)) < len(one):
            raise BadInput(f"an attribute is given twice in {listing(one)}. Name each once.")
    if len({frozenset(one) for one in sets}) < len(sets):
        raise BadInput("a set of attributes is given twice. Name each once, with a weight if it matters more.")
    return sets


def _weights(given: Any, sets: Sequence[Sequence[str]] | None) -> tuple[tuple[frozenset[str], float], ...] | None:
    """Sets of names with their weights."""
    if given is None:
        return None
    what = 'weights map tables to numbers, like {("age", "sex"): 3}'
    if not isinstance(given, Mapping):
        if sets is None or isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(sets):
            raise BadInput(f"{what}, or are a number for each of the sets; given {shorten(given)}.")
        given = dict(zip(sets, given, strict=True))
    found = []
    for names, weight in given.items():
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not _LEAST <= weight <= _MOST:
            raise BadInput(f"{what}, from {_LEAST:g} to {_MOST:,.0f}, given {shorten(weight)}.")
        found.append((frozenset(_names(names, what)), float(weight)))
    return tuple(found)
