"""Coarser cells for numbers and times: neighbouring cells become one. What they are follows from the schema alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from adyton.errors import SchemaError
from adyton.messages import shorten
from adyton.schema.attributes import Attribute
from adyton.schema.declaration import Schema
from adyton.schema.numbers import Integer, Numeric
from adyton.schema.times import Times

_READING = ("column", "unit", "zone", "format", "by")
"""What says how values are read, which is not for coarser cells to change."""
Cells = npt.NDArray[np.int64]
_NEARLY = 1e-6
"""In parts of a cell: how far apart two edges may be that are meant to be one."""


def coarsened(schema: Schema, most: int) -> Schema:
    """The schema with at most *most* cells for each attribute of numbers, beside those for other and missing values.

    As many neighbouring cells become one as are needed; the last may be shorter. Attributes without an order stay.

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


def merged_cells(fine: Attribute, coarse: Attribute) -> Cells:
    """For every cell of an attribute the coarser cell that it is part of; an error if there is none.

    >>> merged_cells(Integer(0, 4, nulls="level"), Integer(0, 4, step=2, nulls="level")).tolist()
    [0, 0, 1, 1, 2, 3]
    """
    if fine == coarse:
        return np.arange(fine.size)
    match fine, coarse:
        case Integer(), Integer() if (fine.min, fine.max) == (coarse.min, coarse.max) and coarse.step % fine.step == 0:
            base = np.arange(fine.base_size) // (coarse.step // fine.step)
        case Numeric(), Numeric() if _made_of(_edges(fine), _edges(coarse)):
            edges = _edges(fine)
            base = np.searchsorted(_edges(coarse), (edges[:-1] + edges[1:]) / 2, side="right") - 1
        case Times(), Times() if not fine.is_part and coarse.every % fine.every == 0:
            base = np.arange(fine.base_size) // (coarse.every // fine.every)
        case _:
            raise _refusal(fine, coarse)
    if type(fine) is not type(coarse) or any(getattr(fine, key, 0) != getattr(coarse, key, 0) for key in _READING):
        raise _refusal(fine, coarse)
    if isinstance(fine, Times) and fine.span != coarse.span:  # type: ignore[union-attr]
        raise _refusal(fine, coarse)
    if (fine.nulls, fine.outside) != (coarse.nulls, coarse.outside):
        raise _refusal(fine, coarse)
    return np.append(base, np.arange(coarse.base_size, coarse.size))


def check_coarser(fine: Schema, coarse: Schema) -> None:
    """An error unless the second schema is the first one with coarser cells."""
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
    """Whether every coarse edge is a fine one, and both have the same ends."""
    place = np.clip(np.searchsorted(fine, coarse), 1, fine.size - 1)
    near = np.minimum(np.abs(fine[place] - coarse), np.abs(fine[place - 1] - coarse))
    return bool((near <= _NEARLY * np.diff(fine).min()).all()) and fine[0] == coarse[0] and fine[-1] == coarse[-1]


def _refusal(fine: Attribute, coarse: Attribute) -> SchemaError:
    return SchemaError(f"the cells of {shorten(coarse)} are not made of whole cells of {shorten(fine)}.")
