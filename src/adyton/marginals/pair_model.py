"""A model of a table with many attributes: its 1-way tables, the tables of some pairs, and the maximum spanning forest
of these pairs, which carries most of the dependence between attributes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.marginals.resolution import Maps, maps_of, merged, plain_maps
from adyton.messages import listing
from adyton.solving.residuals import in_order

Pair: TypeAlias = tuple[str, str]
How: TypeAlias = Literal["measured", "by a path", "independent", "fitted to pairs"]
"""Where a table comes from: it was measured and denoised; conditionals were multiplied along measured pairs; nothing
measured connects its attributes; or its pairs were fitted."""

MOST_CELLS = 1 << 24
"""The largest table that is computed."""
_LEAST, _NEAR = 1e-9, 1e-5
_ROUNDS = 15
"""Rounds of iterative proportional fitting."""
_UNEVEN = 1.35
"""Errors of cells grow like the roots of their counts; their squares sum to this multiple of what that implies."""
_SCATTERED = 1.9
"""The mean square of the errors of pairs that were not measured, relative to the square of what is expected of each:
few of them depend much more than others."""
_OF_CELLS, _OF_ROWS, _INSIDE = 0.7, 0.88, 1.15
"""The parts of the noise of 1-way tables, and of the sampling variation, by which cells err that are not measured one
by one; and a factor for the dependence inside of groups."""
_FORM, _TABLES = "adyton pair model 1", ("pairs", "fitted")


@dataclass(frozen=True, eq=False)
class ModelTable:
    """The counts of a group of attributes, and where they come from."""

    group: tuple[str, ...]
    counts: Reals
    how: How


@dataclass(frozen=True, eq=False)
class PairModel:
    """Every attribute's own table, the tables of measured pairs, and the forest that connects them.

    The attributes of a pair that was not measured are assumed to depend on each other only through the attributes on
    the path between them (Chow and Liu, "Approximating discrete probability distributions with dependence trees",
    1968), and not at all where there is no path; unless rows were fitted to all measured pairs together.

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
    """For measured tables, the expected absolute error of a cell before denoising, where it is known."""
    fitted: Mapping[Pair, Reals] = field(default_factory=dict)
    """The tables of all pairs, after rows were fitted to the measured ones; see :mod:`adyton.marginals.refining`."""
    maps: Mapping[Pair, Maps] = field(default_factory=dict)
    """For measured pairs whose cells were counted together, the groups of cells of both attributes."""

    @classmethod
    def of(
        cls,
        singles: Mapping[str, Reals],
        pairs: Mapping[Pair, Reals],
        errors: Mapping[tuple[str, ...], float] | None = None,
    ) -> PairModel:
        """The model with the forest of largest mutual information. Pairs name attributes in the order of *singles*."""
        forest = Forest.heaviest(tuple(singles), {pair: mutual_information(table) for pair, table in pairs.items()})
        known = dict(errors or {})
        return cls(MappingProxyType(dict(singles)), MappingProxyType(dict(pairs)), forest, MappingProxyType(known))

    @cached_property
    def sides(self) -> dict[str, int]:
        """The number of cells of each attribute."""
        return {name: table.size for name, table in self.singles.items()}

    @property
    def total(self) -> float:
        """The estimated number of rows."""
        return float(next(iter(self.singles.values())).sum())

    def table(self, *group: str) -> ModelTable:
        """The counts over some attributes, an axis for each in the order given, and where they come from."""
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
        """The table of two attributes in the order of the schema, and where it comes from."""
        if pair in self.fitted:
            return self.fitted[pair], "measured" if pair in self.pairs else "fitted to pairs"
        if pair in self.pairs:
            return self.pairs[pair], "measured"
        connected = pair in self._by_path
        return self.predicted(pair), "by a path" if connected else "independent"

    def predicted(self, pair: Pair) -> Reals:
        """The forest's prediction of a pair, whether or not the pair was measured."""
        if pair in self._by_path:
            return self._by_path[pair]
        return np.asarray(np.outer(*(self.singles[name] for name in pair)) / max(self.total, _LEAST))

    def all_pairs(self) -> dict[Pair, Reals]:
        """The tables of all pairs, in the order of the attributes."""
        return {pair: self.pair(pair)[0] for pair in itertools.combinations(self.singles, 2)}

    def how(self, group: Sequence[str]) -> How:
        """Where a table comes from, without computing it."""
        names = in_order(group, self.sides)
        if len(names) == 2:
            return self.pair((names[0], names[1]))[1]
        if len(names) < 2 or names in self.errors:
            return "measured"
        connected = any(self.pair(pair)[1] != "independent" for pair in itertools.combinations(names, 2))
        return "fitted to pairs" if connected else "independent"

    @cached_property
    def _by_path(self) -> dict[Pair, Reals]:
        """The tables of all pairs that the forest connects: conditionals multiplied along the paths."""
        place = {name: number for number, name in enumerate(self.singles)}
        steps = {
            (known, new): self._edge(known, new) / np.maximum(self.singles[known], _LEAST)[:, None]
            for pair in self.forest.pairs
            for known, new in (pair, pair[::-1])
        }
        tables = {}
        for start in self.singles:
            reached = {start: np.diag(self.singles[start])}
            for known, new in self.forest.walk(start):
                direct = known == start
                reached[new] = self._edge(known, new) if direct else reached[known] @ steps[known, new]
                if place[start] < place[new]:
                    tables[start, new] = reached[new]
        return tables

    def _edge(self, known: str, new: str) -> Reals:
        return self.pairs[known, new] if (known, new) in self.pairs else self.pairs[new, known].T

    def _fitted(self, names: tuple[str, ...]) -> tuple[Reals, How]:
        """A table of several attributes, from the tables of its pairs; a pair whose path is inside the group is
        implied."""
        tables, inside = {}, set(names)
        for pair in sorted(itertools.combinations(names, 2), key=lambda pair: pair not in self.forest.pairs):
            table, how = self.pair(pair)
            path = self.forest.path(*pair) if how == "by a path" else None
            if how != "independent" and not (path and inside.issuperset(path)):
                tables[pair] = table
        counts = fitted_to_pairs({name: self.singles[name] for name in names}, tables)
        return counts, "fitted to pairs" if tables else "independent"

    def to_dict(self) -> dict[str, Any]:
        """The model as plain values for JSON; :meth:`from_dict` reads them back."""
        return {
            "form": _FORM,
            "singles": {name: table.tolist() for name, table in self.singles.items()},
            "pairs": [{"group": list(pair), "counts": table.tolist()} for pair, table in self.pairs.items()],
            "errors": [{"group": list(group), "error": error} for group, error in self.errors.items()],
            "fitted": [{"group": list(pair), "counts": table.tolist()} for pair, table in self.fitted.items()],
            "maps": [{"group": list(pair), "maps": plain_maps(maps)} for pair, maps in self.maps.items()],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> PairModel:
        """Read what :meth:`to_dict` wrote."""
        try:
            if content["form"] != _FORM:
                raise KeyError("form")
            singles = {str(name): _counts(table, 1) for name, table in content["singles"].items()}
            errors = {tuple(map(str, line["group"])): float(line["error"]) for line in content["errors"]}
            pairs, fitted = ({_pair(line): _counts(line["counts"], 2) for line in content[key]} for key in _TABLES)
            for pair, table in (*pairs.items(), *fitted.items()):
                if table.shape != tuple(singles[name].size for name in pair):
                    raise ValueError("shape")
            maps = {
                _pair(line): maps_of(line["maps"], [singles[name].size for name in _pair(line)])
                for line in content.get("maps", ())
            }
            if not maps.keys() <= pairs.keys():
                raise ValueError("maps")
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BadInput(
                f"this is not a pair model. Give the output of a model's to_dict(), of the form {_FORM!r}."
            ) from None
        return replace(cls.of(singles, pairs, errors), fitted=MappingProxyType(fitted), maps=maps)


def _pair(line: Mapping[str, Any]) -> Pair:
    first, second = line["group"]
    return str(first), str(second)


def _counts(table: Any, axes: int) -> Reals:
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != axes or not (np.isfinite(counts) & (counts >= 0)).all():
        raise ValueError("counts")
    return counts


def total_variation(model: PairModel, group: Sequence[str]) -> float | None:
    """An upper bound on the expected total variation of a measured table; None where it depends on unmeasured tables.

    The error of a cell is assumed to be at most its count: ½ Σ min(E|error|, M̂)/N̂. It is that of the table as it was
    measured: where cells were counted together, see :func:`expected_errors`.
    """
    names = in_order(group, model.sides)
    if names not in model.errors:
        return None
    counts = model.pairs.get((names[0], names[1])) if len(names) == 2 else model.table(*names).counts
    if counts is None:
        return None
    if len(names) == 2:
        counts = merged(counts, model.maps.get((names[0], names[1]), ()))
    return float(np.minimum(model.errors[names], counts).sum() / (2 * max(model.total, _LEAST)))


@dataclass(frozen=True)
class Expected:
    """The expected error of a table of two attributes."""

    total_variation: float
    """The part of all rows that is expected in a wrong cell."""
    squared: float
    """The expected sum of the squared errors of its cells, in rows."""
    limit: bool = False
    """Whether these are no expectations but what the upper 90% limit of a look at all pairs leaves for a pair that was
    not measured."""


_UPPER = NormalDist().inv_cdf(0.9)
"""A look is above the truth by this many standard deviations with a chance of a tenth; by Laplace noise, .082."""


def expected_errors(
    model: PairModel,
    pairs: Collection[Pair],
    distance: tuple[float, float] | None = None,
    *,
    in_groups: bool = False,
) -> dict[Pair, Expected]:
    """The expected error of each of these *pairs*, whether or not it was measured. *distance* is β, the noisy mean over
    *pairs* of ‖M − M̂‖₁ where M̂ assumes independence, and its standard deviation, if it is known.

    A measured pair errs by its noise, or by less where denoising has found no dependence. Any other pair errs by the
    dependence that was not measured, too, which nobody knows. With β, what is reported is an upper limit: the mean that
    β + 1.28 standard deviations leaves for such pairs, or less where the 1-way tables do not allow as much. Since β is
    about the first 1-way tables, it includes their noise. Without β, such pairs are left out.

    Where cells were counted together, or β is about groups of cells (*in_groups*), cells also err by the noise of the
    1-way tables and by what so few rows differ from any rule: that part is added.

    >>> singles = {"a": np.array([60.0, 40.0]), "b": np.array([50.0, 50.0]), "c": np.array([90.0, 10.0])}
    >>> noise = {("a",): 1.0, ("b",): 1.0, ("c",): 1.0, ("a", "b"): 2.0}
    >>> model = PairModel.of(singles, {("a", "b"): np.array([[45.0, 15.0], [5.0, 35.0]])}, noise)
    >>> errors = expected_errors(model, [("a", "b"), ("a", "c")], (30.0, 2.0))
    >>> [(round(error.total_variation, 3), error.limit) for error in errors.values()]
    [(0.044, False), (0.066, True)]
    """
    total, independent = max(model.total, 1.0), PairModel.of(model.singles, {})
    parts = {name: np.clip(table / total, 0.0, 1.0) for name, table in model.singles.items()}
    allowed = {name: 1 - float((part**2).sum()) for name, part in parts.items()}
    alone = {name: total_variation(model, (name,)) or 0.0 for name in parts}
    even = {pair: independent.predicted(pair) for pair in pairs}
    apart = {
        pair: float(np.abs(model.pairs[pair] - even[pair]).sum()) / (2 * total) for pair in pairs if pair in model.pairs
    }
    limits = dict[Pair, float]()
    if distance is not None:
        most = {pair: min(allowed[name] for name in pair) for pair in even if pair not in apart}
        surely = sum(max(0.0, far - (total_variation(model, pair) or 0.0)) for pair, far in apart.items())
        limits = _shared_out(most, (distance[0] + _UPPER * distance[1]) / (2 * total) * len(even) - surely)
    errors = {}
    for pair, table in even.items():
        first, second = pair
        noise, own = math.hypot(alone[first], alone[second]), total_variation(model, pair)
        scattered = _SCATTERED if own is None else 1.0
        if own is not None:
            seen = (math.hypot(apart[pair], noise) / max(own, _LEAST)) ** 3
            wrong = 1.1 * own * (seen / (1 + seen)) ** 0.2
        elif pair in limits:
            wrong = max(1.24 * noise, limits[pair])
        else:
            continue
        if pair in model.maps or (in_groups and own is None):
            wrong = _INSIDE * math.hypot(wrong, _OF_CELLS * noise, _OF_ROWS * sampled(table, total))
        wrong = min(1.0, wrong)
        spread = float(table.sum()) / max(float(np.sqrt(table).sum()), _LEAST) ** 2
        errors[pair] = Expected(wrong, _UNEVEN * scattered * spread * (2 * total * wrong) ** 2, pair in limits)
    return errors


def sampled(table: Reals, rows: float) -> float:
    """The mean total variation between a table and as many rows that are drawn from it.

    >>> round(sampled(np.full((2, 2), 25.0), 100.0), 3)
    0.08
    """
    return float(np.minimum(np.sqrt(2 * table / math.pi), 2 * table).sum()) / (2 * rows)


def _shared_out(most: Mapping[Pair, float], whole: float) -> dict[Pair, float]:
    """The *whole* in equal parts, except that no pair gets more than its *most*: the others get what it cannot have.

    >>> _shared_out({("a", "b"): 0.1, ("a", "c"): 0.5, ("b", "c"): 0.5}, 0.7)
    {('a', 'b'): 0.1, ('a', 'c'): 0.3, ('b', 'c'): 0.3}
    """
    parts, left = {}, max(0.0, whole)
    for number, pair in enumerate(sorted(most, key=lambda pair: most[pair])):
        parts[pair] = min(most[pair], left / (len(most) - number))
        left -= parts[pair]
    return parts


def fitted_to_pairs(singles: Mapping[str, Reals], pairs: Mapping[Pair, Reals]) -> Reals:
    """The table over all of *singles*, from independence scaled to each of the *pairs* in turn.

    Where the pairs agree with one another, this converges to the table of largest entropy that has them (Csiszár,
    "I-divergence geometry of probability distributions and minimization problems", 1975). Noisy pairs do not quite
    agree; after the last round their disagreement is small compared with their noise.

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
    for _ in range(_ROUNDS if pairs else 0):
        moved = 0.0
        for pair, table in pairs.items():
            kept = [names.index(name) for name in pair]
            sums = cells.sum(axis=tuple(axis for axis in range(len(names)) if axis not in kept), keepdims=True)
            wanted = np.maximum(table, _LEAST).reshape(sums.shape)
            moved = max(moved, float(np.abs(sums - wanted).sum()))
            cells *= wanted / np.maximum(sums, 1e-12)
        if moved < _NEAR * total:
            break
    return np.asarray(cells)


def mutual_information(table: Reals) -> float:
    """The mutual information of two attributes, in nats, from a table of non-negative counts.

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
    """Pairs of attributes without a cycle.

    >>> forest = Forest(("a", "b", "c", "d"), (("a", "c"), ("b", "c")))
    >>> forest.path("a", "b"), forest.path("a", "d")
    (('a', 'c', 'b'), None)
    """

    names: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @classmethod
    def heaviest(cls, names: Sequence[str], weights: Mapping[Pair, float]) -> Forest:
        """The forest of largest total weight (Kruskal, 1956); among equal weights, the first pair is taken."""
        trees, chosen = {name: {name} for name in names}, []
        for first, second in sorted(weights, key=lambda pair: -weights[pair]):
            tree, other = trees[first], trees[second]
            if tree is not other:
                chosen.append((first, second))
                tree |= other
                trees.update(dict.fromkeys(other, tree))
        return cls(tuple(names), tuple(chosen))

    @cached_property
    def neighbours(self) -> dict[str, list[str]]:
        """For every attribute, the attributes that it has a pair with."""
        near: dict[str, list[str]] = {name: [] for name in self.names}
        for first, second in self.pairs:
            near[first].append(second)
            near[second].append(first)
        return near

    def walk(self, start: str) -> list[Pair]:
        """The pairs of the tree of *start*, in the order in which they are reached from it: (known, new)."""
        met, steps, stack = {start}, list[Pair](), [start]
        while stack:
            known = stack.pop()
            for new in self.neighbours[known]:
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
        """Every attribute once, after its neighbour towards the root: (neighbour, or None for a root; attribute)."""
        met: set[str] = set()
        steps: list[tuple[str | None, str]] = []
        for name in self.names:
            if name not in met:
                tree: list[tuple[str | None, str]] = [(None, name), *self.walk(name)]
                met.update(new for _, new in tree)
                steps += tree
        return steps
