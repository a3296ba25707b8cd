"""Known totals: counts that are public already, exact or with an error, which a release can be made to agree with.

They are given by the curator and are not measured: ε does not cover them. This file reads and checks them, with public
information alone and before anything is spent; :mod:`adyton.result.known` adjusts a release to them.
"""

from __future__ import annotations

import csv
import io
import math
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.messages import listing, no_such, path_of, shorten
from adyton.queries import Queries
from adyton.schema import Schema
from adyton.schema.plain_values import as_plain
from adyton.tasks.questions import as_queries, question_in_words, to_plain

COUNT, ERROR = "count", "error"
"""The columns with the totals and with their standard deviations; all other columns name attributes."""
MOST_TOTALS, MOST_COEFFICIENTS = 2000, 1 << 24
"""How many totals can be given, and how many totals times cells."""
_LARGEST = 2.0**53
_LARGEST_FILE = 1 << 24
_SLACK = 1e-9
"""Relative: exact totals that differ by less do not contradict each other."""
_SEED = 20161107
_FORMS = (
    "Known totals are a number of rows, a table with a column for each attribute and the columns count and, if they "
    'are not exact, error: {"district": ["North", "South"], "count": [5000, 4000]}, a frame or a CSV file; or a list '
    "of these."
)


@dataclass(frozen=True)
class KnownTotals:
    """Counts that are public, each with the rows that it counts and its standard deviation: 0 if it is exact.

    >>> from adyton.schema import Categorical
    >>> known = KnownTotals.of([9000, {"district": ["North"], "count": [5000], "error": [20]}])
    >>> print(known.checked(Schema({"district": Categorical(["North", "South"])})))
    9,000 rows in all (exact); 5,000 ± 20 with district North
    """

    parts: tuple[Mapping[str, Any], ...]
    """The rows that each total counts, in the form of a query; empty for all rows."""
    counts: tuple[float, ...]
    errors: tuple[float, ...]
    fits: Schema | None = field(default=None, compare=False)
    """The schema that they were checked for, if they were."""

    @classmethod
    def of(cls, given: object) -> KnownTotals:
        """From unchecked values; files are read now. The attributes and levels are checked by :meth:`checked`."""
        if isinstance(given, cls):
            return given
        lines = list(_lines(given))
        if not lines:
            raise BadInput(f"no known totals were given. {_FORMS}")
        if len(lines) > MOST_TOTALS:
            raise BadInput(f"at most {MOST_TOTALS:,} known totals can be given, given {len(lines):,}.")
        parts, counts, errors = zip(*lines, strict=True)
        return cls(parts, counts, errors)

    def checked(self, schema: Schema) -> KnownTotals:
        """The same for the cells of a schema, with levels as it declares them; refused where a total does not fit it,
        or where exact totals contradict each other. What was checked for it already is not checked again."""
        if self.fits == schema:
            return self
        cells = math.prod(schema.shape)
        if len(self.counts) * cells > MOST_COEFFICIENTS:
            raise BadInput(
                f"{len(self.counts):,} known totals of {cells:,} cells are too many: totals times cells may be at "
                f"most {MOST_COEFFICIENTS:,}. Give fewer totals, or release fewer attributes."
            )
        parts = tuple(
            {name: _level(schema, name, value) for name, value in part.items() if _known_name(schema, name)}
            for part in self.parts
        )
        known = KnownTotals(tuple(map(to_plain, parts)), self.counts, self.errors)
        rows = known.rows(schema)
        _, first, times = np.unique(rows, axis=0, return_index=True, return_counts=True)
        if (times > 1).any():
            raise BadInput(
                f"the known total of {known.words(int(first[np.argmax(times > 1)]))} is given twice. Give it once."
            )
        known._check_agreement(rows)
        return replace(known, fits=schema)

    def _check_agreement(self, rows: Reals) -> None:
        """Refuse exact totals that no table of counts has: the smallest changes that would make them agree are found
        by linear programming."""
        exact = self.deviations == 0
        totals, own = np.array(self.counts)[exact], rows[exact]
        if not exact.any() or own.sum(axis=0).max() <= 1:
            return
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack

        # cells that the same totals count are taken as one: the sum of a random weight for each total is the same
        marks = np.random.default_rng(_SEED).standard_normal(len(own)) @ own
        _, places = np.unique(marks.round(9), return_index=True)
        scale, ones = max(1.0, float(totals.max())), csr_array(np.eye(len(own)))
        sides = hstack([csr_array(own[:, places]), ones, -ones])
        costs = np.repeat([0.0, 1.0], [places.size, 2 * len(own)])
        how: Any = {"A_eq": sides, "b_eq": totals / scale, "options": {"primal_feasibility_tolerance": 1e-10}}
        found = linprog(costs, **how)
        if found.x is None or found.fun <= _SLACK:
            return
        off = np.abs(found.x[places.size :].reshape(2, -1)).max(axis=0)
        line = int(np.flatnonzero(exact)[np.argmax(off)])
        raise BadInput(
            f"these known totals contradict each other: no counts of at least 0 have all of them, and that of "
            f"{self.words(line)}, {self.counts[line]:,.10g}, is too large or too small by {off.max() * scale:,.6g}. "
            "Correct it, or give the errors of totals that are not exact."
        )

    @property
    def deviations(self) -> Reals:
        """The standard deviation of each total."""
        return np.array(self.errors)

    def queries(self, schema: Schema) -> Queries:
        """The totals as queries about the cells."""
        return as_queries(schema, [dict(part) for part in self.parts])

    def rows(self, schema: Schema) -> Reals:
        """Their coefficients, totals × cells."""
        return np.concatenate([np.asarray(rows, dtype=np.float64) for rows in self.queries(schema).rows()])

    def words(self, line: int) -> str:
        """The rows that one of them counts."""
        return question_in_words(self.parts[line])

    def and_more(self, other: KnownTotals) -> KnownTotals:
        """These and others."""
        return KnownTotals(self.parts + other.parts, self.counts + other.counts, self.errors + other.errors)

    def to_plain(self) -> list[dict[str, Any]]:
        """As plain values for JSON."""
        lines = zip(self.parts, self.counts, self.errors, strict=True)
        return [{"of": as_plain(to_plain(part)), COUNT: count, ERROR: error} for part, count, error in lines]

    def __str__(self) -> str:
        """All of them by the attributes that they are about: single totals with their numbers."""
        sets: dict[tuple[str, ...], list[int]] = {}
        for line, part in enumerate(self.parts):
            sets.setdefault(tuple(part), []).append(line)
        return "; ".join(self._set_in_words(names, lines) for names, lines in sets.items())

    def _set_in_words(self, names: tuple[str, ...], lines: list[int]) -> str:
        errors = [self.errors[line] for line in lines]
        exact = "exact" if not any(errors) else "some exact" if not all(errors) else ""
        if len(lines) > 1:
            spread = exact or f"± {min(errors):,.4g}{f' to {max(errors):,.4g}' if min(errors) < max(errors) else ''}"
            return f"{len(lines):,} totals by {' × '.join(names)} ({spread})"
        (line,) = lines
        count = f"{self.counts[line]:,.10g}{'' if exact else f' ± {errors[0]:,.4g}'}"
        of = f" with {self.words(line)}" if names else " rows in all"
        return f"{count}{of}{' (exact)' if exact else ''}"


# ---- reading ---------------------------------------------------------------------------------------------------------


Line = tuple[Mapping[str, Any], float, float]


def _lines(given: object, *, listed: bool = False) -> Iterator[Line]:
    """The totals in any of the forms that are allowed; a list is not *listed* in another one."""
    if isinstance(given, Mapping) and set(given) <= {"of", COUNT, ERROR} and isinstance(given.get("of"), Mapping):
        yield _line(dict(given["of"]), given.get(COUNT), given.get(ERROR))
    elif isinstance(given, numbers.Number):
        yield _line({}, given, None)
    elif isinstance(given, str | os.PathLike):
        yield from _of_columns(_file_columns(given))
    elif isinstance(given, list | tuple) and not listed:
        for part in given:
            yield from _lines(part, listed=True)
    else:
        yield from _of_columns(_columns(given))


def _columns(given: object) -> dict[str, Sequence[Any]]:
    """The columns of a mapping or of a frame of any library."""
    if isinstance(given, Mapping):
        columns = {
            name: [values] if isinstance(values, str | numbers.Number) else values for name, values in given.items()
        }
    elif hasattr(given, "to_pydict"):  # Arrow
        columns = given.to_pydict()
    elif hasattr(given, "to_dict") and hasattr(given, "columns"):  # pandas, polars
        names = list(given.columns)
        if len(set(names)) < len(names):
            raise BadInput(f"the frame of known totals has two columns of the same name: {listing(names)}.")
        columns = {name: given[name].to_list() for name in names}  # type: ignore[index]
    else:
        raise BadInput(f"known totals cannot be read from {shorten(given)}. {_FORMS}")
    for name, values in columns.items():
        if not isinstance(name, str) or isinstance(values, Mapping) or not isinstance(values, Iterable):
            raise BadInput(f"the column {shorten(name)} of known totals must be a list of values. {_FORMS}")
    return {name: list(values) for name, values in columns.items()}


def _file_columns(given: str | os.PathLike[str]) -> dict[str, Sequence[Any]]:
    """The columns of a CSV file."""
    file = path_of(given)
    try:
        with file.open("rb") as opened:
            content = opened.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise BadInput(f"{file} is too large for a file of known totals: at most {_LARGEST_FILE:,} bytes.")
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{file} cannot be read ({error.strerror or error}). Name a CSV file of known totals.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{file} is not text in UTF-8. Name a CSV file of known totals.") from None
    try:
        header, *lines = [line for line in csv.reader(io.StringIO(text), strict=True) if any(map(str.strip, line))]
    except (ValueError, csv.Error):
        raise BadInput(f"{file} is not a CSV file with a header and lines. {_FORMS}") from None
    names = [name.strip() for name in header]
    for number, line in enumerate(lines, 2):
        if len(line) != len(names):
            raise BadInput(f"line {number} of {file} has {len(line)} values, and its header {len(names)}.")
    if len(set(names)) < len(names):
        raise BadInput(f"{file} has two columns of the same name: {listing(names)}.")
    return {name: [line[place] for line in lines] for place, name in enumerate(names)}


def _of_columns(columns: Mapping[str, Sequence[Any]]) -> Iterator[Line]:
    """A total for each line; an attribute that is blank there is summed over."""
    if COUNT not in columns:
        raise BadInput(f"known totals need a column count, given {listing(columns) or 'none'}. {_FORMS}")
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise BadInput(f"all columns of known totals must have the same length, given {listing(sorted(lengths))}.")
    names = [name for name in columns if name not in (COUNT, ERROR)]
    for line, count in enumerate(columns[COUNT]):
        part = {name: columns[name][line] for name in names if not _blank(columns[name][line])}
        yield _line(part, count, columns[ERROR][line] if ERROR in columns else None)


def _blank(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NA of pandas, or an empty text."""
    if isinstance(value, str):
        return not value.strip()
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:  # NA is neither
        return True
    except ValueError:  # an array, which is refused later
        return False


def _line(part: Mapping[str, Any], count: object, error: object) -> Line:
    """One total, with its numbers checked."""
    where = f" with {', '.join(f'{name} {value}' for name, value in part.items())}" if part else ""
    number = _number(count, f"the known total{where}")
    spread = 0.0 if _blank(error) else _number(error, f"the error of the known total{where}")
    if not spread and not number.is_integer():
        raise BadInput(
            f"the known total{where} is {number:,.10g}: an exact count is a whole number. Give its error if it is not "
            "exact."
        )
    return part, number, spread


def _number(given: Any, name: str) -> float:
    try:
        number = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number <= _LARGEST:
        raise BadInput(f"{name} must be a number from 0 to 2^53, given {shorten(given)}.")
    return number


def _known_name(schema: Schema, name: str) -> bool:
    if name not in schema.names:
        raise BadInput(
            f"{no_such('attribute', name, schema.names)} Known totals are about attributes of the release; sum them "
            "over the others."
        )
    return True


def _level(schema: Schema, name: str, value: Any) -> Any:
    """The level that a value of a file or of a frame stands for; anything else is left to the reader of queries."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | numbers.Number):
        return value
    levels = {str(label): label for label in schema.attributes[name].labels}
    levels |= {str(label).lower(): label for label in levels.values() if isinstance(label, bool)}
    return levels.get(str(value).strip(), value)
