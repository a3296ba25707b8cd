"""Synthetic rows as tables and files: marked as synthetic, and compared with the tables they were made from."""

from __future__ import annotations

import codecs
import itertools
import json
import math
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from adyton import __version__
from adyton.arrays import Array, Flags, Places, Reals
from adyton.drafts import replaced
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.result.folder import for_spreadsheets
from adyton.result.sheets import Look
from adyton.schema import Schema
from adyton.schema.attributes import OTHER_LABEL, Attribute, Boolean, Categorical, CelledAttribute
from adyton.schema.calendar import DAY, LATEST
from adyton.schema.numbers import Integer, Numeric
from adyton.schema.reading import compared, texts_of_levels
from adyton.schema.time_formats import UNIX
from adyton.schema.times import Date, Times
from adyton.whole import whole

if TYPE_CHECKING:
    import pyarrow as pa


Codes = npt.NDArray[np.int32]
"""Rows as cell numbers: one line for each row, one column for each attribute."""


Group = tuple[str, ...]


class Comparison:
    """How far the tables of rows are from the released ones, computed part by part; *names* are the columns.

    >>> compared = Comparison({("a", "b"): np.array([[1.0, 1.0], [0.0, 2.0]])}, ["a", "b"])
    >>> compared.add(np.array([[0, 0], [0, 1], [1, 1], [1, 0]], dtype=np.int32))
    >>> compared.distances()
    {('a', 'b'): 0.25}
    """

    def __init__(self, tables: Mapping[Group, Reals], names: Sequence[str]) -> None:
        self._tables = dict(tables)
        self._names = list(names)
        self._counts: dict[Group, Reals] = {group: np.zeros(table.shape) for group, table in self._tables.items()}
        self._rows = 0

    def add(self, codes: Codes) -> None:
        """Count some more rows."""
        for group, counts in self._counts.items():
            cells = np.zeros(len(codes), dtype=np.int64)
            for name, side in zip(group, counts.shape, strict=True):
                cells = cells * side + codes[:, self._names.index(name)]
            np.add(counts, np.bincount(cells, minlength=counts.size).reshape(counts.shape), out=counts)
        self._rows += len(codes)

    def distances(self) -> dict[Group, float]:
        """The total variation between rows and release for every table; empty if there are no rows."""
        if not self._rows:
            return {}
        shares = {group: table / max(table.sum(), 1e-300) for group, table in self._tables.items()}
        return {
            group: float(np.abs(counts / self._rows - shares[group]).sum() / 2)
            for group, counts in self._counts.items()
        }


_AT_A_TIME = 1 << 17
_MOST_COMPARED = 1 << 22
"""How many cells of tables the rows are compared with at most."""


@dataclass(frozen=True, eq=False)
class CellRows:
    """The estimated counts of all cells as a source of rows; cells with negative counts get none.

    >>> from adyton.schema import Integer
    >>> source = CellRows(Schema({"a": Integer(0, 2)}), np.array([2.0, -1.0, 2.0]))
    >>> np.bincount(next(source.codes(4, seed=1))[:, 0]).tolist()
    [2, 0, 2]
    """

    schema: Schema
    estimate: Reals

    def codes(self, rows: int, seed: int | None) -> Iterator[Codes]:
        """Systematic sampling: in every part, the rows of each cell differ from its share by less than one."""
        wanted = whole(rows, "rows", 0)
        key = secrets.randbits(63) if seed is None else whole(seed, "seed", 0)
        held = np.cumsum(self._cells().reshape(-1))
        parts = -(-wanted // _AT_A_TIME)
        return (self._part(held, wanted, parts, number, key) for number in range(parts))

    def _part(self, held: Reals, wanted: int, parts: int, number: int, key: int) -> Codes:
        count = wanted * (number + 1) // parts - wanted * number // parts
        random = np.random.default_rng([key, number])
        points = (np.arange(count) + random.random()) * (held[-1] / count)
        cells = np.minimum(np.searchsorted(held, points, side="right"), np.searchsorted(held, held[-1]))
        random.shuffle(cells)
        return np.stack(np.unravel_index(cells, self.estimate.shape), axis=1).astype(np.int32)

    def tables(self) -> dict[tuple[str, ...], Reals]:
        """The tables of all pairs, or of the only attribute; only the first tables if they are many and large."""
        names, cells = self.schema.names, self._cells()
        tables: dict[tuple[str, ...], Reals] = {}
        left = _MOST_COMPARED
        for group in itertools.combinations(range(len(names)), min(2, len(names))):
            others = tuple(axis for axis in range(len(names)) if axis not in group)
            left -= int(np.prod([self.estimate.shape[axis] for axis in group]))
            if left < 0:
                break
            tables[tuple(names[axis] for axis in group)] = cells.sum(axis=others)
        return tables

    def _cells(self) -> Reals:
        """The counts without negative ones; if all are 0, every cell gets the same count."""
        cells = Look(nonnegative=True).shown(self.estimate)
        return cells if cells.sum() > 0 else np.ones(cells.shape)


KINDS = (".csv", ".parquet")
MOST_ROWS = 10**9
_NOTE = "Synthetic rows, sampled from differentially private tables. No row is anybody's."
_MARK = b"adyton.synthetic"


class RowSource(Protocol):
    """What rows can be made from: an estimate that has tables."""

    def codes(self, rows: int, seed: int | None) -> Iterator[Codes]:
        """Rows as cell numbers, a part at a time."""

    def tables(self) -> Mapping[tuple[str, ...], Reals]:
        """What the rows are compared with: the tables of all pairs of attributes, or of the only attribute."""


@dataclass(frozen=True)
class RowsMade:
    """Facts about synthetic rows that were made."""

    rows: int
    distance: float | None
    """How far the tables of pairs are from those of the release: the mean total variation; None without rows."""
    farthest: float | None
    """The largest total variation of a pair."""
    farthest_table: tuple[str, ...] = ()
    """The pair with the largest total variation."""
    head: tuple[str, ...] = ()
    """What everybody has to know who reads them: what was not measured, and which rows of the table they represent."""

    def to_plain(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "note": _note(self.head),
            "made_by": f"adyton {__version__}",
            "rows": self.rows,
            "mean_distance_of_pairs": self.distance,
            "largest_distance_of_pairs": self.farthest,
            "farthest_pair": list(self.farthest_table),
        }


def _note(head: Sequence[str]) -> str:
    return f"{_NOTE} What they were made from: {' '.join(head)}" if head else _NOTE


def check_rows(file: Path | None, rows: int, schema: Schema) -> None:
    """Refuse rows that cannot be made or written, before anything is spent."""
    if whole(rows, "rows", 0) > MOST_ROWS:
        raise BadInput(f"at most {MOST_ROWS:,} rows are made at once, given {shorten(rows)}.")
    _no_rows(schema)  # refuses attributes whose rows cannot be made
    if file is not None and file.suffix.lower() not in KINDS:
        raise BadInput(f"rows are written to a file that ends in .csv or .parquet, given {shorten(str(file))}.")
    if file is not None and (file.is_dir() or not (file.parent.is_dir() and os.access(file.parent, os.W_OK))):
        raise BadInput(f"{file} cannot be written. Name a file in a folder that exists.")


def sampled_table(
    source: RowSource, schema: Schema, rows: int, seed: int | None, head: tuple[str, ...]
) -> tuple[pa.Table, RowsMade]:
    """All rows in memory, with the facts about them in the table's metadata."""
    import pyarrow as pa

    check_rows(None, rows, schema)
    comparison = Comparison(source.tables(), schema.names)
    table = pa.concat_tables([_no_rows(schema), *_parts(source, schema, rows, seed, comparison)])
    made = _made(rows, comparison, head)
    return table.replace_schema_metadata({_MARK: json.dumps(made.to_plain())}), made


def write_rows(
    source: RowSource, schema: Schema, file: Path, rows: int, seed: int | None, head: tuple[str, ...]
) -> RowsMade:
    """Write rows a part at a time; the file appears once it is complete."""
    check_rows(file, rows, schema)
    comparison = Comparison(source.tables(), schema.names)
    empty = _no_rows(schema)
    try:
        with replaced(file) as draft:
            with _writer(draft, file.suffix.lower(), empty, schema, _note(head)) as write:
                for part in _parts(source, schema, rows, seed, comparison):
                    write(part.cast(empty.schema))
            made = _made(rows, comparison, head)
            with replaced(file.with_name(f"{file.name}.synthetic.json")) as note:
                note.write_text(json.dumps(made.to_plain(), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file} cannot be written ({error.strerror or error}). Name another file.") from None
    return made


@contextmanager
def _writer(draft: Path, kind: str, empty: pa.Table, schema: Schema, note: str) -> Iterator[Callable[[pa.Table], None]]:
    """A function that writes some rows: as CSV as the schema says that files are written, whose texts no spreadsheet
    treats as formulas; or as Parquet whose metadata says that the rows are synthetic."""
    if kind == ".csv":
        from pyarrow import csv

        options = csv.WriteOptions(include_header=schema.file.header, delimiter=schema.file.delimiter or ",")
        with draft.open("wb") as raw:
            file = codecs.EncodedFile(raw, "utf-8", schema.file.encoding, "replace")
            with csv.CSVWriter(file, as_written(schema, empty).schema, write_options=options) as writer:
                yield lambda part: writer.write_table(as_written(schema, part))
        return
    from pyarrow import parquet

    marked = empty.schema.with_metadata({_MARK: json.dumps({"note": note})})
    with parquet.ParquetWriter(draft, marked, compression="zstd") as writer:
        yield lambda part: writer.write_table(part.replace_schema_metadata(marked.metadata))


def as_written(schema: Schema, table: pa.Table) -> pa.Table:
    """Rows as a CSV file has them: numbers with all their decimals, times in their first format. A file without a
    header has all of its columns, of which others are empty."""
    import pyarrow as pa

    safe = for_spreadsheets(table)
    texts = list(map(_in_csv, schema.attributes.values(), safe.columns))
    if schema.file.header:
        return pa.table(dict(zip(safe.column_names, texts, strict=True)))
    named, nothing = dict(zip(header(schema), texts, strict=True)), pa.nulls(table.num_rows, pa.string())
    return pa.table({name: named.get(name, nothing) for name in schema.file.columns or ()})


def _in_csv(attribute: Attribute, column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    if isinstance(attribute, Numeric):
        digits = decimals(attribute)
        numbers = column if digits is None else column.cast(pa.decimal128(_WIDEST, digits))
        return numbers if attribute.decimal == "." else _with_comma(numbers)
    if isinstance(attribute, Times) and not attribute.is_part and attribute.format and attribute.format[0] != UNIX:
        encoded = column.combine_chunks().dictionary_encode()
        texts = pa.array([time.strftime(attribute.format[0]) for time in encoded.dictionary.to_pylist()], pa.string())
        return pa.chunked_array([texts.take(encoded.indices)])
    return column


def _with_comma(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    from pyarrow import compute

    return compute.replace_substring(numbers.cast("string"), ".", ",")


def _no_rows(schema: Schema) -> pa.Table:
    return arrow_rows(schema, np.zeros((0, len(schema.names)), dtype=np.int32), np.random.default_rng(0))


def _parts(
    source: RowSource, schema: Schema, rows: int, seed: int | None, comparison: Comparison
) -> Iterator[pa.Table]:
    random = np.random.default_rng(seed)
    for codes in source.codes(rows, seed):
        comparison.add(codes)
        yield arrow_rows(schema, codes, random)


def _made(rows: int, comparison: Comparison, head: tuple[str, ...]) -> RowsMade:
    distances = comparison.distances()
    if not distances:
        return RowsMade(rows, None, None, head=head)
    farthest = max(distances, key=lambda group: distances[group])
    return RowsMade(rows, float(np.mean(list(distances.values()))), distances[farthest], farthest, head)


def header(schema: Schema) -> list[str]:
    """The names of the columns of rows: those from which the schema reads its attributes. Attributes that are read from
    one column have columns of their own, with their own names.

    >>> from adyton.schema import Integer
    >>> header(Schema({"years": Integer(0, 99, column="AGE"), "sex": Categorical(["F", "M"])}))
    ['AGE', 'sex']
    """
    columns = {name: schema.column_of(name) for name in schema.names}
    read = Counter([*columns.values(), *(name for name, column in columns.items() if name != column)])
    return [column if read[column] == 1 else name for name, column in columns.items()]


def arrow_rows(schema: Schema, codes: Codes, random: np.random.Generator) -> pa.Table:
    """Rows as an Arrow table: a column for each attribute of the schema, in its order, that the schema reads again.

    Whole numbers, real numbers with some decimals and times (to the second) are drawn uniformly from their cell.
    Missing values are null. A value out of bounds is written so that it is read as such again: the text ``(other)``, or
    a number that is too large.

    >>> from adyton.schema import Integer
    >>> schema = Schema({"sex": Categorical(["F", "M"]), "age": Integer(0, 99, step=50)})
    >>> rows = arrow_rows(schema, np.array([[0, 1], [1, 0]], dtype=np.int32), np.random.default_rng(1))
    >>> rows.column("sex").to_pylist(), [age // 50 for age in rows.column("age").to_pylist()]
    (['F', 'M'], [1, 0])
    """
    import pyarrow

    if codes.ndim != 2 or codes.shape[1] != len(schema.names):
        raise BadInput(f"the schema has {len(schema.names)} attributes, given codes of shape {shorten(codes.shape)}.")
    columns = []
    for attribute, cells in zip(schema.attributes.values(), codes.T, strict=True):
        assert isinstance(attribute, CelledAttribute)
        if cells.size and not 0 <= int(cells.min()) <= int(cells.max()) < attribute.size:
            raise BadInput(f"a code must be a cell, from 0 to {attribute.size - 1}, given {shorten(int(cells.max()))}.")
        columns.append(_column(attribute, cells.astype(np.int64), random))
    return pyarrow.table(dict(zip(header(schema), columns, strict=True)))


def _column(attribute: CelledAttribute, cells: Places, random: np.random.Generator) -> Any:
    import pyarrow

    missing = cells == (-1 if attribute.null_cell is None else attribute.null_cell)
    other = cells == (-1 if attribute.other_cell is None else attribute.other_cell)
    match attribute:
        case Integer():
            return pyarrow.array(_whole_numbers(attribute, cells, other, random), mask=missing)
        case Numeric():
            return pyarrow.array(_real_numbers(attribute, cells, other, random), mask=missing)
        case Times():
            return _times(attribute, cells, missing, other, random)
        case Boolean() | Categorical():
            return _levels(attribute, cells, missing, other)
        case _:
            raise BadInput(f"rows cannot be made for an attribute of kind {attribute.kind!r}. Leave it out.")


def _levels(attribute: Boolean | Categorical, cells: Places, missing: Flags, other: Flags) -> Any:
    """Look up the levels; if other values have a cell, that cell needs a level, too."""
    import pyarrow

    levels: list[Any] = [False, True] if isinstance(attribute, Boolean) else _spelled(attribute)
    if attribute.other_cell is not None:
        numbers = isinstance(levels[0], int) and not isinstance(levels[0], bool)
        levels = [*levels, max(levels) + 1] if numbers else [*map(_text, levels), OTHER_LABEL]
    places = pyarrow.array(np.where(missing, 0, cells), mask=missing)
    return pyarrow.array(levels).take(places)


def _spelled(attribute: Categorical) -> list[Any]:
    """A text for each level that is read as this level: the level itself, or one of its spellings. Keys of a look-up
    are not searched for."""
    reading = attribute.reading
    if not attribute.spellings or reading.lookup is not None:
        return list(attribute.levels)
    levels = list(map(str, attribute.levels))  # levels with spellings are texts
    meant = texts_of_levels(levels, attribute.spellings, reading)
    shown = compared(levels, attribute.spellings, reading)
    return [
        next((text for text in (level, *spellings) if meant.get(shown.normal(text)) == level), level)
        for level, spellings in zip(levels, attribute.spellings, strict=True)
    ]


def _text(level: Any) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def _whole_numbers(attribute: Integer, cells: Places, other: Flags, random: np.random.Generator) -> Array:
    place = np.minimum(cells, attribute.base_size - 1)
    first = attribute.min + place * attribute.step
    last = np.minimum(first + attribute.step - 1, attribute.max)
    return np.where(other, attribute.max + 1, random.integers(first, last, endpoint=True))


def _times(attribute: Times, cells: Places, missing: Flags, other: Flags, random: np.random.Generator) -> Any:
    """A uniformly drawn second of each cell, as a date or a time; parts, such as weekdays, by their names."""
    import pyarrow

    place = np.minimum(cells, attribute.base_size - 1)
    if attribute.is_part:
        names = attribute.labels[: attribute.base_size]
        return pyarrow.array(list(names)).take(pyarrow.array(np.where(missing, 0, place), mask=missing))
    first, last = attribute.span
    ends = np.append(attribute.starts[1:] - 1, last)
    outside = last + 1 if last < LATEST else first - 1
    seconds = np.where(other, outside, random.integers(attribute.starts[place], ends[place], endpoint=True))
    if isinstance(attribute, Date):
        return pyarrow.array((seconds // DAY).astype(np.int32), mask=missing).cast(pyarrow.date32())
    return pyarrow.array(seconds, mask=missing).cast(pyarrow.timestamp("s"))


_WIDEST = 38
"""How many digits a number of a CSV file may have."""
_EXACT = 15
"""How many digits a double holds, whichever they are."""
_CENTS = 2
_NUMBERS, _AMOUNTS = 100, 5
"""How many numbers, or amounts of money, of so many decimals a cell must hold."""


def decimals(attribute: Numeric) -> int | None:
    """With how many decimals numbers are drawn: two, as amounts of money have, and more if cells are so narrow that
    they would hold only a few such numbers. None if doubles have not enough digits for that.

    >>> decimals(Numeric(0, 25_600, bins=512)), decimals(Numeric(0, 1, bins=20))
    (2, 4)
    """
    narrowest, largest = float(np.diff(_edges(attribute)).min()), max(abs(attribute.min), abs(attribute.max), 1.0)
    held = _AMOUNTS if attribute.currency else _NUMBERS
    digits = max(_CENTS, math.ceil(math.log10(held / narrowest) - 1e-9))
    return digits if digits + math.ceil(math.log10(largest)) < _EXACT else None


def _edges(attribute: Numeric) -> Reals:
    if attribute.edges is not None:
        return np.asarray(attribute.edges, dtype=np.float64)
    edges = np.asarray(attribute.min + np.arange(attribute.bins + 1) * attribute.width, dtype=np.float64)
    edges[-1] = attribute.max
    return edges


def _real_numbers(attribute: Numeric, cells: Places, other: Flags, random: np.random.Generator) -> Reals:
    """Points well inside their bins: rounding does not move them to another bin."""
    edges, digits = _edges(attribute), decimals(attribute)
    place = np.minimum(cells, attribute.base_size - 1)
    low, high = edges[place], edges[place + 1]
    points = low + (high - low) * (0.001 + 0.998 * random.random(cells.size))
    points = np.where((points > low) & (points < high), points, low)  # for a bin that holds only a few doubles
    outside = attribute.max + (attribute.max - attribute.min)
    if digits is not None:
        points, outside = np.round(points, digits), round(outside, digits)
        unit = 10.0**-digits
        points = np.where(points < low, np.round(points + unit, digits), points)
        points = np.where(points >= high - unit / 2, np.round(points - unit, digits), points)
    return np.where(other, outside, points)
