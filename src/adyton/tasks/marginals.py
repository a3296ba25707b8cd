"""The task of several tables at once: marginals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from adyton.errors import BadInput
from adyton.messages import joined, listing, shorten
from adyton.queries import Kronecker, Queries, Stack, Total
from adyton.queries import Marginals as MarginalQueries
from adyton.schema import Identifier, Schema
from adyton.schema.cell_groups import coarsened
from adyton.schema.numbers import axes_of
from adyton.tasks.counts import check_axes
from adyton.tasks.questions import Along, AlongKind
from adyton.tasks.request import Option, Task, names_of
from adyton.whole import whole

Group: TypeAlias = tuple[str, ...]
MOST_SETS = 1 << 16
"""The largest number of tables in a request."""
_LEAST, _MOST = 1e-6, 1e6


def axes_in(names: Iterable[str], schema: Schema) -> Group:
    """The names of the axes: a point has two axes, any other attribute is one axis.

    >>> from adyton.schema import Boolean, Point
    >>> schema = Schema({"ill": Boolean(), "home": Point(box=(-74.3, 40.5, -73.7, 40.9), grid=8)})
    >>> axes_in(["home", "ill"], schema)
    ('home_longitude', 'home_latitude', 'ill')
    """
    return tuple(axis for name in names for axis in axes_of(name, schema.attributes))


def names_in(given: object, what: str) -> Group:
    """A list of names as a tuple of texts."""
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise BadInput(f"{what}, given {shorten(given)}.")
    return tuple(str.__str__(name) for name in names)


def sets_in(given: object, attrs: object) -> tuple[Group, ...]:
    """Sets of names; refused where a set is given twice."""
    what = 'sets must be a list of sets of names, like [("age", "sex"), ("age",)]'
    if attrs is not None:
        raise BadInput("attrs belongs to way: sets name their own attributes. Leave one of them out.")
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadInput(f"{what}, given {shorten(given)}.")
    sets = tuple(names_in(names, what) for names in given)
    if not sets or len(sets) > MOST_SETS or not all(sets):
        raise BadInput(f"{what}: at least one of them, at most {MOST_SETS:,}, none empty; given {len(sets):,}.")
    for group in sets:
        if len(set(group)) < len(group):
            raise BadInput(f"an attribute is given twice in {listing(group)}. Name each once.")
    if len({frozenset(group) for group in sets}) < len(sets):
        raise BadInput("a set of attributes is given twice. Name each once, with a weight if it matters more.")
    return sets


def weights_in(given: Any, sets: Sequence[Sequence[str]] | None) -> tuple[tuple[frozenset[str], float], ...] | None:
    """Sets of names with their weights."""
    if given is None:
        return None
    what = 'weights map tables to numbers, like {("age", "sex"): 3}'
    if not isinstance(given, Mapping):
        if sets is None or isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(sets):
            raise BadInput(f"{what}, or are a number for each of the sets; given {shorten(given)}.")
        given = dict(zip(sets, given, strict=True))
    weights = []
    for names, weight in given.items():
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not _LEAST <= weight <= _MOST:
            raise BadInput(f"{what}, from {_LEAST:g} to {_MOST:,.0f}, given {shorten(weight)}.")
        weights.append((frozenset(names_in(names, what)), float(weight)))
    return tuple(weights)


_ALONG = ("ranges", "prefixes", "totals")


@dataclass(frozen=True, kw_only=True)
class Marginals(Task):
    """All tables of *way* attributes, out of some or all attributes, summed over the others; or *sets* of attributes.

    The queries are the cells of every table. Along the attributes in *ranges* they are all intervals, along those in
    *prefixes* all counts up to a value, and along those in *totals* also the count of any value: within each table, in
    every combination with the other attributes. *weights* say how much the error of some tables matters; other tables
    have weight 1. They have an effect only where tables are measured one by one, not over the whole domain. With
    *cells*, attributes of numbers are read in at most that many cells, each made of neighbouring cells of the schema.
    The name of a point means its two axes, and *way* counts axes.

    >>> print(Marginals(way=2, attrs=["age", "sex", "department"]))
    2-way marginals of age × sex × department
    >>> print(Marginals(sets=[("age", "sex"), ("age", "department")], weights={("age", "sex"): 3}))
    marginals age × sex, age × department
    >>> print(Marginals(way=2, ranges=["age"], totals=["sex"]))
    2-way marginals of all attributes, with ranges of age, any sex
    """

    kind = "marginals"
    command_options = (
        Option("marginals", "All tables of K attributes.", "K", int),
        Option("attributes", "For --marginals: out of these attributes.", "A,B…", asks=False),
        Option("marginal", "The table of these attributes; can be repeated.", "A,B…", list[str]),
        Option("with-ranges", "For tables: counts between any two bounds of these, too.", "A,B…", asks=False),
        Option("with-prefixes", "For tables: counts up to every value of these, too.", "A,B…", asks=False),
        Option("with-any", "For tables: counts of any value of these, too.", "A,B…", asks=False),
        Option("cells", "For tables: read each attribute of numbers in at most N cells.", "N", int, asks=False),
    )
    answered_by = "adyton.programs.tables:Tables"
    way: int | None = None
    attrs: Sequence[str] | None = None
    sets: Sequence[Sequence[str]] | None = None
    weights: Mapping[Sequence[str], float] | Sequence[float] | None = None
    ranges: Sequence[str] = ()
    prefixes: Sequence[str] = ()
    totals: Sequence[str] = ()
    cells: int | None = None

    def __post_init__(self) -> None:
        if (self.way is None) == (self.sets is None):
            raise BadInput('say which tables: way=2 for all pairs of attributes, or sets=[("age", "sex"), …].')
        if self.way is not None:
            object.__setattr__(self, "way", whole(self.way, "way", 1))
        if self.sets is not None:
            object.__setattr__(self, "sets", sets_in(self.sets, self.attrs))
        if self.attrs is not None:
            object.__setattr__(self, "attrs", names_in(self.attrs, 'attrs is a list of names, like ["age", "sex"]'))
        object.__setattr__(self, "weights", weights_in(self.weights, self.sets))
        if self.cells is not None:
            object.__setattr__(self, "cells", whole(self.cells, "cells", 1))
        for what in _ALONG:
            names = names_in(getattr(self, what), f'{what} must be a list of names, like ["age"]')
            object.__setattr__(self, what, tuple(dict.fromkeys(names)))
        if both := [name for name in self.ranges if name in self.prefixes]:
            raise BadInput(f"{both[0]} is in ranges and in prefixes. A prefix is a range: leave it out of prefixes.")

    def select(self, schema: Schema) -> Schema:
        """The named attributes, or all attributes that have cells."""
        if self.sets is not None:
            names = {name for group in self.sets for name in schema.check_names(group)}
            named: Sequence[str] = [name for name in schema.names if name in names]
        elif self.attrs is not None:
            named = self.attrs
        else:
            named = [name for name, kind in schema.attributes.items() if not isinstance(kind, Identifier)]
        selected = schema.select(named) if self.cells is None else coarsened(schema.select(named), self.cells)
        count = len(selected.shape)
        if self.way is not None and self.way > count:
            raise BadInput(f"there are only {count} attributes, {listing(selected.names)}; way cannot be {self.way}.")
        if self.way is not None and (sets := math.comb(count, self.way)) > MOST_SETS:
            raise BadInput(
                f"{count} attributes have {sets:,} sets of {self.way}; at most {MOST_SETS:,} are allowed. "
                "Name fewer attributes (attrs), or the tables that matter (sets)."
            )
        if len(asked := {frozenset(group) for group in self.tables(selected)}) < len(self.sets or ()):
            raise BadInput("two sets name the same attributes: a point stands for its two axes. Leave one of them out.")
        for group, _ in self._weighed:
            if frozenset(axes_in(group, selected)) not in asked:
                raise BadInput(f"a weight is given for {listing(sorted(group))}, which is not a requested table.")
        self._check_along(selected)
        return selected

    def _check_along(self, schema: Schema) -> None:
        for what in _ALONG:
            for name in axes_in(getattr(self, what), schema):
                if name not in schema.attributes:
                    raise BadInput(f"{what} names {shorten(name)}, which is in no table: {listing(schema.names)} are.")
                if what != "totals" and not schema.attributes[name].ordered:
                    raise BadInput(f"{name} has no order, so it has no {what}. Leave it out of {what}.")

    def along(self, schema: Schema) -> dict[str, Along]:
        """The queries along attributes, where they are not the single cells."""
        kinds: dict[str, AlongKind] = dict.fromkeys(axes_in(self.prefixes, schema), "prefixes")
        kinds |= dict.fromkeys(axes_in(self.ranges, schema), "ranges")
        totals = axes_in(self.totals, schema)
        named = [name for name in schema.names if name in kinds or name in totals]
        sizes = dict(zip(schema.names, schema.shape, strict=True))
        return {name: Along(sizes[name], kinds.get(name, "cells"), name in totals) for name in named}

    def tables(self, schema: Schema) -> tuple[Group, ...]:
        """The attributes of each table, in the order of the schema."""
        if self.way is not None:
            return tuple(itertools.combinations(schema.names, self.way))
        assert self.sets is not None
        return tuple(tuple(sorted(axes_in(group, schema), key=schema.names.index)) for group in self.sets)

    def groups(self, schema: Schema) -> tuple[Group, ...]:
        """The same as :meth:`tables`."""
        return self.tables(schema)

    def widest(self, schema: Schema) -> int:
        """The number of attributes of the widest table, given the schema."""
        return max(len(axes_in(group, schema)) for group in self.sets or ()) if self.way is None else self.way

    def importance(self, schema: Schema) -> tuple[float, ...]:
        """The weight of each table."""
        given = {frozenset(axes_in(group, schema)): weight for group, weight in self._weighed}
        return tuple(given.get(frozenset(group), 1.0) for group in self.tables(schema))

    @property
    def _weighed(self) -> tuple[tuple[frozenset[str], float], ...]:
        return () if self.weights is None else self.weights  # type: ignore[return-value]  # read when it was made

    def workload(self, schema: Schema) -> Queries:
        """The cells of all these tables, as sums of the cells of the whole domain."""
        check_axes(schema)
        if self.weights is not None:
            raise BadInput(
                'weights apply only where tables are measured one by one. Name the algorithm "all-pairs" or '
                '"select-pairs", or leave the choice to "auto".'
            )
        if along := self.along(schema):
            return _products(schema, self.tables(schema), along)
        if self.way is not None:
            return MarginalQueries(schema.shape, way=self.way)
        return MarginalQueries(
            schema.shape, [[schema.names.index(name) for name in group] for group in self.tables(schema)]
        )

    def to_dict(self) -> dict[str, Any]:
        """The number of attributes and their names, or the sets; the weights; and the queries along attributes."""
        plain: dict[str, Any] = {"task": self.kind}
        if self.way is not None:
            plain["way"] = self.way
        if self.attrs is not None:
            plain["attributes"] = list(self.attrs)
        if self.sets is not None:
            plain["sets"] = [list(group) for group in self.sets]
        if self.weights is not None:
            plain["weights"] = [{"attributes": sorted(group), "weight": weight} for group, weight in self._weighed]
        if self.cells is not None:
            plain["cells"] = self.cells
        return plain | {what: list(getattr(self, what)) for what in _ALONG if getattr(self, what)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Marginals:
        """Read what :meth:`to_dict` wrote."""
        weights = plain.get("weights")
        if weights is not None:
            if not isinstance(weights, list) or not all(isinstance(line, Mapping) for line in weights):
                raise BadInput(f"weights are written as a list of mappings, given {shorten(weights)}.")
            what = "a weight has attributes"
            weights = {names_in(line.get("attributes"), what): line.get("weight") for line in weights}
        return cls(
            way=None if "sets" in plain else plain.get("way", 0),
            attrs=plain.get("attributes"),
            sets=plain.get("sets"),
            weights=weights,
            cells=plain.get("cells"),
            **{what: plain.get(what, ()) for what in _ALONG},
        )

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Marginals:
        """All tables of a number of attributes, or the named tables."""
        tables = given.get("marginal")
        if tables and "attributes" in given:
            raise BadInput("--attributes belongs to --marginals: --marginal names its own attributes. Leave it out.")
        return cls(
            way=given.get("marginals"),
            attrs=names_of(given["attributes"]) if "attributes" in given else None,
            sets=[names_of(table) for table in tables] if tables else None,
            ranges=names_of(given.get("with_ranges")),
            prefixes=names_of(given.get("with_prefixes")),
            totals=names_of(given.get("with_any")),
            cells=given.get("cells"),
        )

    @property
    def title(self) -> str:
        """The tables, by their attributes.

        >>> Marginals(way=2, attrs=["age", "sex", "department"]).title
        'All tables of two attributes out of age, sex and department'
        >>> Marginals(sets=[("age", "sex"), ("department",)]).title
        'Rows by age and sex, and by department'
        """
        if self.sets is not None:
            tables = [f"by {joined(group)}" for group in self.sets[:3]]
            more = [f"in {len(self.sets) - 3} more tables"] if len(self.sets) > 3 else []
            *first, last = tables + more
            return f"Rows {', '.join(first)}, and {last}" if first else f"Rows {last}"
        many = {1: "one attribute", 2: "two attributes", 3: "three attributes"}.get(
            self.way or 0, f"{self.way} attributes"
        )
        return f"All tables of {many}{'' if self.attrs is None else f' out of {joined(self.attrs)}'}"

    def __str__(self) -> str:
        words = [f"{what} of {', '.join(names)}" for what in _ALONG[:2] if (names := getattr(self, what))]
        words += [f"any {', '.join(self.totals)}"] if self.totals else []
        words += [f"at most {self.cells:,} cells each"] if self.cells is not None else []
        along = f", with {', '.join(words)}" if words else ""
        if self.sets is not None:
            shown = ", ".join(" × ".join(group) for group in self.sets[:3])
            more = f" and {len(self.sets) - 3} more" if len(self.sets) > 3 else ""
            return f"marginals {shown}{more}{along}"
        of = "all attributes" if self.attrs is None else " × ".join(self.attrs)
        return f"{self.way}-way marginals of {of}{along}"


def _products(schema: Schema, groups: Sequence[Group], along: Mapping[str, Along]) -> Queries:
    """For each table, the combinations of the queries along its attributes, summed over the other attributes."""
    sizes = dict(zip(schema.names, schema.shape, strict=True))
    own = {name: along.get(name, Along(side)).queries() for name, side in sizes.items()}
    tables = [
        Kronecker([own[name] if name in group else Total(side) for name, side in sizes.items()]) for group in groups
    ]
    return tables[0] if len(tables) == 1 else Stack(tables)
