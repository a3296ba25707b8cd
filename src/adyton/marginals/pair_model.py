"""A model of a table with many attributes: its 1-way tables, those of some pairs, and the maximum spanning forest of
these, which carry most of what attributes say about one another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.messages import listing
from adyton.solving.residuals import in_order

How: TypeAlias = Literal["measured", "by a path", "independent", "fitted to pairs"]
"""Where a table comes from: it was measured and denoised; conditionals were multiplied along measured pairs; nothing
measured connects its attributes; or its pairs were fitted."""

MOST_CELLS = 1 << 24
"""The largest table that is worked out."""
_LEAST, _NEAR = 1e-9, 1e-5
ROUNDS = 15
"""Of iterative proportional fitting."""
_FORM = "adyton pair model 1"


@dataclass(frozen=True, eq=False)
class ModelTable:
    """The counts of a group of attributes, and how they were got."""

    group: tuple[str, ...]
    counts: Reals
    how: How


@dataclass(frozen=True, eq=False)
class PairModel:
    """Every attribute's own table, the tables of measured pairs, and the forest that connects them.

    Of a pair that was not measured the model thinks that its attributes depend on each other through the attributes on
    the path between them alone (Chow and Liu, "Approximating discrete probability distributions with dependence
    trees", 1968), and where there is no path, not at all; unless rows were fitted to all measured pairs together.

    >>> singles = {"a": np.array([6.0, 2.0]), "b": np.array([4.0, 4.0]), "c": np.array([7.0, 1.0])}
    >>> model = PairModel.of(singles, {("a", "b"): np.array([[4.0, 2.0], [0.0, 2.0]])})
    >>> model.table("b", "a").counts.tolist(), model.table("b", "a").how
    ([[4.0, 0.0], [2.0, 2.0]], 'measured')
    >>> model.table("a", "c").counts.tolist(), model.table("a", "c").how
    ([[5.25, 0.75], [1.75, 0.25]], 'independent')
    """

    singles: Mapping[str, Reals]
    pairs: Mapping[Pair, Reals]
    forest: Forest
    errors: Mapping[tuple[str, ...], float]
    """For measured tables the expected mean of |error| of a cell before denoising, where it is known."""
    fitted: Mapping[Pair, Reals] = field(default_factory=dict)
    """The tables of all pairs, once rows were fitted to the measured ones; see :mod:`adyton.marginals.refining`."""

    @classmethod
    def of(
        cls,
        singles: Mapping[str, Reals],
        pairs: Mapping[Pair, Reals],
        errors: Mapping[tuple[str, ...], float] | None = None,
    ) -> PairModel:
        """With the forest of largest mutual information. The pairs stand in the order of the attributes."""
        forest = Forest.heaviest(tuple(singles), {pair: mutual_information(table) for pair, table in pairs.items()})
        known = dict(errors or {})
        return cls(MappingProxyType(dict(singles)), MappingProxyType(dict(pairs)), forest, MappingProxyType(known))

    @cached_property
    def sides(self) -> dict[str, int]:
        """How many cells each attribute has."""
        return {name: table.size for name, table in self.singles.items()}

    @property
    def total(self) -> float:
        """The estimated number of rows."""
        return float(next(iter(self.singles.values())).sum())

    def table(self, *group: str) -> ModelTable:
        """The counts over some attributes, an axis for each in the order given, and how they were got."""
        sides = self.sides
        names = in_order(group, sides)
        cells = math.prod(sides[name] for name in names)
        if cells > MOST_CELLS:
            raise BadInput(
                f"the table of {listing(group)} has {cells:,} cells; the limit is {MOST_CELLS:,}. Ask for fewer "
                "attributes, or count rows that are sampled from the model."
            )
        if len(names) <= 1:
            counts = self.singles[names[0]].copy() if names else np.array(self.total)
            return ModelTable(group, counts, "measured")
        if len(names) == 2:
            counts, how = self.pair((names[0], names[1]))
        else:
            counts, how = self._fitted(names)
        return ModelTable(group, counts.transpose([names.index(name) for name in group]).copy(), how)

    def pair(self, pair: Pair) -> tuple[Reals, How]:
        """The table of two attributes in the order of the schema, and how it was got."""
        if pair in self.fitted:
            return self.fitted[pair], "measured" if pair in self.pairs else "fitted to pairs"
        if pair in self.pairs:
            return self.pairs[pair], "measured"
        connected = pair in self._by_path
        return self.predicted(pair), "by a path" if connected else "independent"

    def predicted(self, pair: Pair) -> Reals:
        """What the forest says about a pair, whether or not the pair was measured."""
        if pair in self._by_path:
            return self._by_path[pair]
        one, other = self.singles[pair[0]], self.singles[pair[1]]
        return np.asarray(np.outer(one, other) / max(self.total, _LEAST))

    def all_pairs(self) -> dict[Pair, Reals]:
        """The tables of all pairs, in the order of the attributes."""
        return {pair: self.pair(pair)[0] for pair in itertools.combinations(self.singles, 2)}

    def expected_error(self, pair: Pair) -> float | None:
        """The expected total variation of a measured pair, at most; None where no closed form is known.

        No cell is expected to be off by more than what is in it: ½ Σ min(E|error|, M̂)/N̂.
        """
        if pair not in self.pairs or pair not in self.errors:
            return None
        off = np.minimum(self.errors[pair], self.pairs[pair]).sum()
        return float(off / (2 * max(self.total, _LEAST)))

    @cached_property
    def _by_path(self) -> dict[Pair, Reals]:
        """The tables of all pairs that the forest connects: conditionals multiplied along the paths."""
        place = {name: number for number, name in enumerate(self.singles)}
        steps = {
            (known, new): self._edge(known, new) / np.maximum(self.singles[known], _LEAST)[:, None]
            for pair in self.forest.pairs
            for known, new in (pair, pair[::-1])
        }
        found = {}
        for start in self.singles:
            reached = {start: np.diag(self.singles[start])}
            for known, new in self.forest.walk(start):
                direct = known == start
                reached[new] = self._edge(known, new) if direct else reached[known] @ steps[known, new]
                if place[start] < place[new]:
                    found[start, new] = reached[new]
        return found

    def _edge(self, known: str, new: str) -> Reals:
        return self.pairs[known, new] if (known, new) in self.pairs else self.pairs[new, known].T

    def _fitted(self, names: tuple[str, ...]) -> tuple[Reals, How]:
        """A table of several attributes, from those of its pairs; what a path inside the group says is implied."""
        tables, inside = {}, set(names)
        for pair in sorted(itertools.combinations(names, 2), key=lambda pair: pair not in self.forest.pairs):
            table, how = self.pair(pair)
            path = self.forest.path(*pair) if how == "by a path" else None
            if how != "independent" and not (path and inside.issuperset(path)):
                tables[pair] = table
        counts = fitted_to_pairs({name: self.singles[name] for name in names}, tables)
        return counts, "fitted to pairs" if tables else "independent"

    def to_dict(self) -> dict[str, Any]:
        """For JSON; :meth:`from_dict` reads it back."""
        return {
            "form": _FORM,
            "singles": {name: table.tolist() for name, table in self.singles.items()},
            "pairs": [{"group": list(pair), "counts": table.tolist()} for pair, table in self.pairs.items()],
            "errors": [{"group": list(group), "error": error} for group, error in self.errors.items()],
            "fitted": [{"group": list(pair), "counts": table.tolist()} for pair, table in self.fitted.items()],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> PairModel:
        """What :meth:`to_dict` wrote."""
        try:
            if content["form"] != _FORM:
                raise KeyError("form")
            singles = {str(name): _counts(table, 1) for name, table in content["singles"].items()}
            pairs = {_pair(one["group"]): _counts(one["counts"], 2) for one in content["pairs"]}
            errors = {tuple(map(str, one["group"])): float(one["error"]) for one in content["errors"]}
            fitted = {_pair(one["group"]): _counts(one["counts"], 2) for one in content["fitted"]}
            for pair, table in (*pairs.items(), *fitted.items()):
                if table.shape != tuple(singles[name].size for name in pair):
                    raise ValueError("shape")
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BadInput(
                f"this is no pair model. Give what a model's to_dict() wrote, of the form {_FORM!r}."
            ) from None
        return replace(cls.of(singles, pairs, errors), fitted=MappingProxyType(fitted))


def _counts(table: Any, axes: int) -> Reals:
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != axes or not (np.isfinite(counts) & (counts >= 0)).all():
        raise ValueError("counts")
    return counts


def _pair(group: Any) -> Pair:
    one, other = group
    return str(one), str(other)


def fitted_to_pairs(singles: Mapping[str, Reals], pairs: Mapping[Pair, Reals], rounds: int = ROUNDS) -> Reals:
    """The table over all of *singles*, from independence scaled to each of the *pairs* in turn.

    Where the pairs agree with one another, this converges to the table of largest entropy that has them (Csiszár,
    "I-divergence geometry of probability distributions and minimization problems", 1975). Noisy pairs do not quite;
    after so many rounds what is left of their quarrel is small beside their noise.

    >>> half = {"a": np.array([2.0, 2.0]), "b": np.array([2.0, 2.0]), "c": np.array([2.0, 2.0])}
    >>> same = np.array([[2.0, 0.0], [0.0, 2.0]])
    >>> fitted_to_pairs(half, {("a", "b"): same, ("b", "c"): same}).round(3).tolist()
    [[[2.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]]
    """
    names = list(singles)
    total = max(float(np.mean([table.sum() for table in singles.values()])), _LEAST)
    cells = np.array(total)
    for table in singles.values():
        cells = np.multiply.outer(cells, np.maximum(table, _LEAST) / total)
    for _ in range(rounds if pairs else 0):
        moved = 0.0
        for (one, other), table in pairs.items():
            kept = (names.index(one), names.index(other))
            sums = cells.sum(axis=tuple(axis for axis in range(len(names)) if axis not in kept), keepdims=True)
            wanted = np.maximum(table, _LEAST).reshape(sums.shape)
            moved = max(moved, float(np.abs(sums - wanted).sum()))
            cells *= wanted / np.maximum(sums, 1e-12)
        if moved < _NEAR * total:
            break
    return np.asarray(cells)


Pair = tuple[str, str]


def mutual_information(table: Reals) -> float:
    """What two attributes say about each other, in nats, by a table of counts of at least 0.

    >>> round(mutual_information(np.array([[1.0, 0.0], [0.0, 1.0]])), 6)
    0.693147
    """
    total = table.sum()
    if not total > 0:
        return 0.0
    parts = table / total
    even = np.outer(parts.sum(axis=1), parts.sum(axis=0))
    own = parts > 0
    return float((parts[own] * np.log(parts[own] / even[own])).sum())


@dataclass(frozen=True)
class Forest:
    """Pairs of attributes without a circle.

    >>> forest = Forest(("a", "b", "c", "d"), (("a", "c"), ("b", "c")))
    >>> forest.path("a", "b"), forest.path("a", "d")
    (('a', 'c', 'b'), None)
    """

    names: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @classmethod
    def heaviest(cls, names: Sequence[str], weights: Mapping[Pair, float]) -> Forest:
        """The forest of largest total weight (Kruskal, 1956); of equal weights, the pair that comes first."""
        parts, chosen = Parts(names), []
        for pair in sorted(weights, key=lambda pair: -weights[pair]):
            if parts.join(*pair):
                chosen.append(pair)
        return cls(tuple(names), tuple(chosen))

    def neighbours(self) -> dict[str, list[str]]:
        """For every attribute those that it has a pair with."""
        found: dict[str, list[str]] = {name: [] for name in self.names}
        for one, other in self.pairs:
            found[one].append(other)
            found[other].append(one)
        return found

    def walk(self, start: str) -> list[Pair]:
        """The pairs of the tree of *start*, each as it is met from there: (known, new)."""
        near, met, steps, stack = self.neighbours(), {start}, [], [start]
        while stack:
            known = stack.pop()
            for new in near[known]:
                if new not in met:
                    met.add(new)
                    steps.append((known, new))
                    stack.append(new)
        return steps

    def path(self, start: str, end: str) -> tuple[str, ...] | None:
        """The attributes from one to another, both included; None if no path leads there."""
        before = {new: known for known, new in self.walk(start)}
        if end not in before and end != start:
            return None
        way = [end]
        while way[-1] != start:
            way.append(before[way[-1]])
        return tuple(reversed(way))

    def order(self) -> list[tuple[str | None, str]]:
        """Every attribute once, after the one that it hangs on: (that one, or None for the first of a tree, itself)."""
        met: set[str] = set()
        steps: list[tuple[str | None, str]] = []
        for name in self.names:
            if name not in met:
                tree: list[tuple[str | None, str]] = [(None, name), *self.walk(name)]
                met.update(new for _, new in tree)
                steps += tree
        return steps


class Parts:
    """Sets that are joined step by step: whether two attributes are in one tree already.

    >>> parts = Parts("abc")
    >>> parts.join("a", "b"), parts.join("b", "a"), parts.joined("a", "c")
    (True, False, False)
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._above = {name: name for name in names}

    def _top(self, name: str) -> str:
        while self._above[name] != name:
            self._above[name] = self._above[self._above[name]]
            name = self._above[name]
        return name

    def joined(self, one: str, other: str) -> bool:
        """Whether both are in the same set."""
        return self._top(one) == self._top(other)

    def join(self, one: str, other: str) -> bool:
        """Make one set of both; whether they were two."""
        first, second = self._top(one), self._top(other)
        self._above[first] = second
        return first != second
