"""Groups of cells that follow from the schema alone: coarser cells, and trees that sort rows by their cells.

A coarser cell of numbers or times is made of neighbouring cells. Every inner node of a tree splits on one attribute and
has one child for each cell.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Flags, Integers, Places, nodes_reached
from adyton.errors import BadInput, SchemaError
from adyton.messages import listing, no_such, shorten
from adyton.schema.attributes import Attribute, Identifier
from adyton.schema.declaration import Schema
from adyton.schema.numbers import Integer, Numeric
from adyton.schema.times import Times
from adyton.whole import freeze, rises, whole

_READING = ("column", "unit", "zone", "format", "by")
"""The keys about reading values, which must be the same for coarser cells."""
Cells = npt.NDArray[np.int64]
_EXACT = 1 << 52
"""Whole numbers below this, and halves between them, are doubles."""
_NEARLY = 1e-6
"""Two edges are taken for the same up to this distance, as a fraction of a cell."""


def coarsened(schema: Schema, most: int) -> Schema:
    """The schema with at most *most* cells for each attribute of numbers or times, not counting those for other and
    missing values.

    Neighbouring cells are merged as far as needed; the last may be shorter. Attributes without an order stay.

    >>> coarsened(Schema({"age": Integer(0, 119), "pay": Numeric(0, 750000, 5000)}), 50)
    Schema(age: Integer(min=0, max=119, step=3), pay: Numeric(min=0.0, max=750000.0, bins=50))
    """
    attributes = {name: _coarser(attribute, most) for name, attribute in schema.attributes.items()}
    return schema.with_attributes(attributes)


def _coarser(attribute: Attribute, most: int) -> Attribute:
    if not isinstance(attribute, Integer | Numeric | Times) or attribute.base_size <= most:
        return attribute
    together = -(-attribute.base_size // most)
    if isinstance(attribute, Times):
        return attribute if attribute.is_part else replace(attribute, every=attribute.every * together)
    if isinstance(attribute, Integer):
        return replace(attribute, step=attribute.step * together)
    if attribute.edges is None and attribute.bins % together == 0:
        return replace(attribute, bins=attribute.bins // together)
    edges = _edges(attribute)[:-1:together]
    return replace(attribute, min=None, max=None, bins=None, edges=[*edges.tolist(), attribute.max])  # type: ignore[arg-type]


def can_be_grouped(attribute: Attribute) -> bool:
    """Whether cells are numbers that :func:`grouped` can merge: whole ones must be exact as doubles."""
    if isinstance(attribute, Integer):
        return max(abs(attribute.min), abs(attribute.max)) < _EXACT
    return isinstance(attribute, Numeric)


def grouped(attribute: Integer | Numeric, starts: Sequence[int]) -> Numeric:
    """Numbers in groups of neighbouring cells: each begins with the cell of this number, and ends before the next.

    Whole numbers are read in the cells of real numbers, the last of which ends at the last double below *max* + 1: a
    number with a fraction falls into the cell of the whole number below it, as before.

    >>> grouped(Integer(0, 119, step=10), [0, 3, 6]).edges
    (0.0, 30.0, 60.0, 119.99999999999999)
    """
    if isinstance(attribute, Numeric):
        own = [*_edges(attribute)[list(starts)].tolist(), attribute.max]
        return replace(attribute, min=None, max=None, bins=None, edges=own)  # type: ignore[arg-type]
    firsts = [float(attribute.min + start * attribute.step) for start in starts]
    edges = [*firsts, _end(attribute)]
    return Numeric(edges=edges, nulls=attribute.nulls, outside=attribute.outside, reading=attribute.reading)


def _end(attribute: Integer) -> float:
    """The largest double below *max* + 1."""
    return math.nextafter(float(attribute.max + 1), -math.inf)


def merged_cells(fine: Attribute, coarse: Attribute) -> Cells:
    """The coarser cell that contains each cell of an attribute; an error if there is none.

    >>> merged_cells(Integer(0, 4, nulls="level"), Integer(0, 4, step=2, nulls="level")).tolist()
    [0, 0, 1, 1, 2, 3]
    >>> merged_cells(Integer(0, 4, nulls="level"), grouped(Integer(0, 4, nulls="level"), [0, 1])).tolist()
    [0, 1, 1, 1, 1, 2]
    """
    if fine == coarse:
        return np.arange(fine.size)
    match fine, coarse:
        case Integer(), Integer() if (fine.min, fine.max) == (coarse.min, coarse.max) and coarse.step % fine.step == 0:
            base = np.arange(fine.base_size) // (coarse.step // fine.step)
        case Integer(), Numeric() if coarse.kind == "numeric" and _starts_cells(fine, coarse):
            firsts = np.arange(fine.base_size) * fine.step + float(fine.min)
            base = np.searchsorted(_edges(coarse), firsts, side="right") - 1
        case Numeric(), Numeric() if _made_of(_edges(fine), _edges(coarse)):
            edges = _edges(fine)
            base = np.searchsorted(_edges(coarse), (edges[:-1] + edges[1:]) / 2, side="right") - 1
        case Times(), Times() if not fine.is_part and coarse.every % fine.every == 0:
            base = np.arange(fine.base_size) // (coarse.every // fine.every)
        case _:
            raise _refusal(fine, coarse)
    kept = type(fine) is type(coarse) or isinstance(fine, Integer)
    if not kept or any(getattr(fine, key, 0) != getattr(coarse, key, 0) for key in _READING):
        raise _refusal(fine, coarse)
    if isinstance(fine, Times) and fine.span != coarse.span:  # type: ignore[union-attr]
        raise _refusal(fine, coarse)
    if (fine.nulls, fine.outside) != (coarse.nulls, coarse.outside):
        raise _refusal(fine, coarse)
    return np.append(base, np.arange(coarse.base_size, coarse.size))


def check_coarser(fine: Schema, coarse: Schema) -> None:
    """Raise an error unless the second schema is the first one with coarser cells."""
    if fine.names != coarse.names or fine.with_attributes(coarse.attributes) != coarse:
        raise SchemaError(
            "a coarser schema has the same attributes, in the same order, and the same unit and rows_per_unit."
        )
    for name, attribute in fine.attributes.items():
        merged_cells(attribute, coarse.attributes[name])


def changes(fine: Schema, coarse: Schema) -> tuple[str, ...]:
    """What was made coarser, in words.

    >>> changes(Schema({"age": Integer(0, 119)}), Schema({"age": Integer(0, 119, step=10)}))
    ('age is read in 12 cells instead of 120',)
    """
    return tuple(
        f"{name} is read in {attribute.size:,} cells instead of {fine.attributes[name].size:,}"
        for name, attribute in coarse.attributes.items()
        if attribute != fine.attributes[name]
    )


def _edges(attribute: Numeric) -> npt.NDArray[np.float64]:
    if attribute.edges is not None:
        return np.asarray(attribute.edges, dtype=np.float64)
    edges = attribute.min + np.arange(attribute.bins + 1) * attribute.width
    edges[-1] = attribute.max
    return np.asarray(edges, dtype=np.float64)


def _made_of(fine: npt.NDArray[np.float64], coarse: npt.NDArray[np.float64]) -> bool:
    """Whether every coarse edge is also a fine edge, and both have the same ends."""
    place = np.clip(np.searchsorted(fine, coarse), 1, fine.size - 1)
    near = np.minimum(np.abs(fine[place] - coarse), np.abs(fine[place - 1] - coarse))
    return bool((near <= _NEARLY * np.diff(fine).min()).all()) and fine[0] == coarse[0] and fine[-1] == coarse[-1]


def _starts_cells(fine: Integer, coarse: Numeric) -> bool:
    """Whether every edge is the first number of a cell, exactly, and both have the same ends."""
    if coarse.edges is None or not can_be_grouped(fine):
        return False
    *firsts, end = coarse.edges
    aligned = all(first.is_integer() and (int(first) - fine.min) % fine.step == 0 for first in firsts)
    return aligned and firsts[0] == fine.min and firsts[-1] <= fine.max and end == _end(fine)


def _refusal(fine: Attribute, coarse: Attribute) -> SchemaError:
    return SchemaError(f"the cells of {shorten(coarse)} are not made of whole cells of {shorten(fine)}.")


@dataclass(frozen=True, eq=False)
class RowTree:
    """A tree that assigns each row to a leaf, by its cells in some attributes. It is public.

    Node 0 is the root. Node i splits on ``attributes[split[i]]``, and its child for cell c of that attribute is node
    ``first[i] + c``; for a leaf both numbers are −1. Children have larger numbers than their parents, and no path
    splits twice on the same attribute. Leaves are numbered in the order of their nodes.

    >>> tree = RowTree.stump(["sex", "age"]).grow({0: "sex"}, {"sex": 2, "age": 3})
    >>> tree = tree.grow({2: "age"}, {"sex": 2, "age": 3})
    >>> tree.leaves.tolist(), tree.depth
    ([1, 3, 4, 5], 2)
    >>> tree.node_of(np.array([[0, 2], [1, 2], [1, -1], [0, -1]])).tolist()
    [1, 5, 2, 1]
    """

    attributes: tuple[str, ...]
    split: Integers
    first: Integers

    def __post_init__(self) -> None:
        check_names(self.attributes)
        for name in ("split", "first"):
            object.__setattr__(self, name, freeze(getattr(self, name), name).reshape(-1))
        check_nodes(len(self.attributes), self.split, self.first)

    @classmethod
    def stump(cls, attributes: Schema | Iterable[str]) -> RowTree:
        """A single leaf, which holds every row and can be split on these attributes (of a schema, those with cells)."""
        given = (
            attributes.attributes.items() if isinstance(attributes, Schema) else ((name, None) for name in attributes)
        )
        names = tuple(name for name, attribute in given if not isinstance(attribute, Identifier))
        return cls(names, np.array([-1]), np.array([-1]))

    @property
    def leaves(self) -> Places:
        """The nodes that are leaves, in order."""
        return np.flatnonzero(self.split < 0)

    @property
    def depth(self) -> int:
        """The number of splits on the longest path."""
        return len(self.levels()) - 1

    @property
    def sizes(self) -> Places:
        """The number of children of every node: the number of cells of its attribute, 0 for a leaf."""
        return sizes_of(self.split, self.first)

    def levels(self) -> list[Places]:
        """The nodes at every depth, from the root down."""
        levels, sizes = [np.zeros(1, dtype=np.int64)], self.sizes
        while True:
            inner = levels[-1][self.split[levels[-1]] >= 0]
            if not inner.size:
                return levels
            levels.append(np.concatenate([np.arange(self.first[i], self.first[i] + sizes[i]) for i in inner]))

    def parents(self) -> Places:
        """The node above every node; −1 above the root."""
        above = np.full(self.split.size, -1, dtype=np.int64)
        inner = np.flatnonzero(self.split >= 0)
        inner = inner[np.argsort(self.first[inner])]
        above[1:] = np.repeat(inner, self.sizes[inner])
        return above

    def path(self, node: int) -> tuple[tuple[str, int], ...]:
        """The attributes and cells that lead from the root to a node."""
        above, steps = self.parents(), []
        node = self._node(node)
        while node:
            parent = int(above[node])
            steps.append((self.attributes[int(self.split[parent])], int(node - self.first[parent])))
            node = parent
        return tuple(reversed(steps))

    def used(self, node: int) -> tuple[str, ...]:
        """The attributes on the path to a node."""
        return tuple(name for name, _ in self.path(node))

    def free(self) -> Flags:
        """For every leaf and attribute, whether the path to the leaf has not used the attribute yet."""
        unused = np.ones((self.split.size, len(self.attributes)), dtype=bool)
        sizes = self.sizes
        for level in self.levels():
            for node in level[self.split[level] >= 0]:
                children = slice(self.first[node], self.first[node] + sizes[node])
                unused[children] = unused[node]
                unused[children, self.split[node]] = False
        return unused[self.leaves]

    def grow(self, splits: Mapping[int, str], sizes: Mapping[str, int] | Schema) -> RowTree:
        """The tree in which these leaves split on these attributes; *sizes* has the attributes' numbers of cells.

        Nodes keep their numbers; new nodes follow, in the order of their parents.
        """
        split, first = list(self.split), list(self.first)
        for node, name in sorted(splits.items()):
            if self.split[self._node(node)] >= 0:
                raise BadInput(f"node {node} is not a leaf. Only leaves can split.")
            if name not in self.attributes:
                raise BadInput(no_such("attribute", name, self.attributes))
            known = sizes.attributes if isinstance(sizes, Schema) else sizes
            if name not in known:
                raise BadInput(f"the number of cells of {name!r} is not given.")
            cells = sizes.attributes[name].size if isinstance(sizes, Schema) else sizes[name]
            size = whole(cells, f"the number of cells of {name!r}", 1)
            if len(split) + size > MOST_NODES:
                raise BadInput(f"a tree of rows can have at most {MOST_NODES:,} nodes. Split fewer leaves.")
            split[node], first[node] = self.attributes.index(name), len(split)
            split.extend([-1] * size)
            first.extend([-1] * size)
        return RowTree(self.attributes, np.array(split), np.array(first))

    def node_of(self, codes: Integers) -> Places:
        """The node that each row reaches: its leaf, or an inner node that splits on a cell that the row does not have.

        *codes* has a row for each row of a table and a column for each of the tree's attributes: the number of the
        cell, −1 where there is none.
        """
        if codes.ndim != 2 or codes.shape[1] != len(self.attributes):
            raise BadInput(f"codes need {len(self.attributes)} columns, one per attribute, given shape {codes.shape}.")
        return nodes_reached(codes, self.split, self.first, self.sizes)

    def leaf_numbers(self) -> Places:
        """The number of each leaf among :attr:`leaves` by its node; −1 for other nodes."""
        leaf = self.split < 0
        return np.where(leaf, np.cumsum(leaf) - 1, -1)

    @property
    def places(self) -> Places:
        """A 64-bit number for each leaf that depends only on its path: the same in every tree that has the path."""
        marks = [b""] * self.split.size
        marks[0] = hashlib.sha256(b"root").digest()
        sizes = self.sizes.tolist()
        texts = [name.encode() for name in self.attributes]
        for node in np.flatnonzero(self.split >= 0).tolist():
            above = marks[node] + texts[self.split[node]]
            for cell in range(sizes[node]):
                marks[self.first[node] + cell] = hashlib.sha256(above + b"=%d" % cell).digest()
        return np.array([int.from_bytes(marks[leaf][:8], signed=True) for leaf in self.leaves], dtype=np.int64)

    def check_schema(self, schema: Schema) -> None:
        """Raise an error unless every node has one child for each cell of the schema's attribute."""
        used = np.unique(self.split[self.split >= 0])
        names = [self.attributes[place] for place in used]
        if names:
            schema.check_names(names)
        sizes = self.sizes
        for place, name in zip(used, names, strict=True):
            cells, given = schema.attributes[name].size, sizes[self.split == place]
            if (given != cells).any():
                raise BadInput(f"{name!r} has {cells} cells, given a tree that splits it into {int(given.max())}.")

    def _node(self, node: object) -> int:
        number = whole(node, "a node", 0)
        if number >= self.split.size:
            raise BadInput(f"the tree has {self.split.size} nodes, given node {shorten(node)}.")
        return number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowTree) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.attributes, self.split.tobytes(), self.first.tobytes()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made by the constructor, which checks and freezes again."""
        return RowTree, (self.attributes, self.split, self.first)

    def __repr__(self) -> str:
        return f"RowTree({len(self.leaves)} leaves by {listing(self.attributes)})"


MOST_NODES = 1 << 22
"""Far more than a tree with a useful number of rows in each leaf can have."""


def check_names(names: Sequence[object]) -> None:
    """Raise an error unless these are distinct names in a tuple."""
    if not isinstance(names, tuple) or not names or not all(isinstance(name, str) and name for name in names):
        raise BadInput(f"the attributes of a tree are names in a tuple, given {shorten(names)}.")
    if len(set(names)) < len(names):
        raise BadInput(f"an attribute is given twice in {listing(names)}. Name each once.")


def check_nodes(attributes: int, split: Integers, first: Integers) -> None:
    """Raise an error unless every node but the root is the child of exactly one node before it, and no path splits
    twice on an attribute."""
    inner = np.flatnonzero(split >= 0)
    starts = first[inner]
    order = np.argsort(starts)
    well_formed = (
        0 < split.size == first.size <= MOST_NODES
        and int(split.min()) >= -1
        and int(split.max()) < attributes
        and bool((first[split < 0] == -1).all())
        and bool((starts > inner).all())
        and (not inner.size or (rises(starts[order]) and int(starts.min()) == 1 and int(starts.max()) < split.size))
        and bool(inner.size or split.size == 1)
    )
    if not well_formed:
        raise BadInput(
            "these are not the nodes of a tree: every node but the first must be the child of one node before it, and "
            "a node's children must be consecutive."
        )
    sizes, used = sizes_of(split, first), [0] * split.size  # as bits, one per attribute
    for node in inner.tolist():
        here = 1 << int(split[node])
        if used[node] & here:
            raise BadInput("a path of the tree splits twice on the same attribute. Split on another one.")
        used[first[node] : first[node] + sizes[node]] = [used[node] | here] * int(sizes[node])


def sizes_of(split: Integers, first: Integers) -> Places:
    """The number of children of every node; 0 for a leaf."""
    sizes = np.zeros(split.size, dtype=np.int64)
    inner = np.flatnonzero(split >= 0)
    inner = inner[np.argsort(first[inner])]
    sizes[inner] = np.diff(np.append(first[inner], split.size))
    return sizes
