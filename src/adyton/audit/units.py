"""Does what is charged protect a whole person? Neighbours are tables that differ by all rows of one unit.

One person has 530 rows, the others have 1 to 19, and some rows are blank where they should say whose they are. The same
requests are put to a kernel with and without a person, by a noise source that adds nothing and writes down what it was
asked for. What the answers would have given away is then known exactly: Σ |a − a′| / b over all counts, b the scale of
the noise, and for a private choice its sharpness times the width of the interval that the scores moved within. That
must never be more than what was charged. On one of the two sides the rows stand in another order, so that other rows
are in other files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

from adyton.audit.findings import Finding
from adyton.audit.silent import Watched, loss
from adyton.audit.unit_programs import ATTRIBUTES, PROGRAMS
from adyton.audit.unit_tables import people, stored, whose
from adyton.schema import Schema
from adyton.schema.units import DROP, ONE

LIMIT = 4
REMOVED = ("heavy", "", "7", "f")
"""Whose rows are missing in a neighbour."""
BRIEFLY = {"csv": ("split", "sums", "people"), "pandas": ("classifiers",)}
ASKED = {
    "csv": tuple(PROGRAMS),
    "parquet": ("split", "sums", "people"),
    "duckdb": ("split", "statistics", "people"),
    "frame": ("split", "marginals", "people in parts"),
    "pandas": ("split", "histograms", "classifiers", "people"),
}
"""Which programs are put to which kind of table."""
_NO_UNIT = {"csv": ONE, "parquet": DROP, "duckdb": ONE, "frame": ONE, "pandas": ONE}


def audit_units(
    asked: Mapping[str, Sequence[str]] = MappingProxyType(ASKED), removed: Sequence[str] = REMOVED
) -> Finding:
    """Put programs to tables with and without a person."""
    worst, tight = Fraction(0), Fraction(0)
    for kind, programs in asked.items():
        schema = Schema(ATTRIBUTES, LIMIT, unit="person", no_unit=_NO_UNIT[kind])
        with tempfile.TemporaryDirectory() as folder:
            for name, person, lost, spent in _losses(Path(folder), kind, schema, programs, removed):
                if lost > spent:
                    detail = (
                        f"{name} from {kind}: {person or 'the blank unit'} loses {float(lost):.4g}, charged are "
                        f"{float(spent):.4g}."
                    )
                    return Finding("kernel", "units", False, detail, {"loss/ε": float(lost / spent)})
                worst = max(worst, lost / spent)
                tight = max(tight, lost / spent if person == "heavy" else Fraction(0))
    detail = f"a person loses at most {float(worst):.3f} of what is charged, whatever their number of rows."
    return Finding("kernel", "units", tight >= Fraction(9, 10), detail, {"loss/ε": float(worst)})


def _losses(
    folder: Path, kind: str, schema: Schema, programs: Sequence[str], removed: Sequence[str]
) -> Iterator[tuple[str, str, Fraction, Fraction]]:
    """For each program and person: what is lost, and what was charged."""
    rows = people()
    whole = Watched.opened(stored(folder / "all", kind, rows), schema)
    without = {}
    for place, person in enumerate(removed):
        fewer = [row for row in reversed(rows) if whose(row, kind) != person]
        without[person] = Watched.opened(stored(folder / f"without_{place}", kind, fewer), schema)
    for name in programs:
        before = whole.spent
        told = whole.play(PROGRAMS[name])
        for person, kernel in without.items():
            yield name, person, loss(told, kernel.play(PROGRAMS[name], told.outputs)), whole.spent - before
