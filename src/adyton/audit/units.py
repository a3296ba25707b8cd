"""Does what is charged protect a whole person? Neighbours are tables that differ by all rows of one unit.

One person has 530 rows, the others have 1 to 19, and some rows are blank where they should say whose they are. The same
requests are put to a kernel with and without a person, by a noise source that adds nothing and writes down what it was
asked for. What the answers would have given away is then known exactly: Σ |a − a′| / b over all counts, b the scale of
the noise, and for a private choice its sharpness times the width of the interval that the scores moved within. That
must never be more than what was charged. On one of the two sides the rows stand in another order.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from adyton.arrays import Flags, Places
from adyton.audit.findings import Finding
from adyton.exact import Rational, exact
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MeasureTables, Mechanism, SplitChoice
from adyton.kernel.sources import Source, TableSource, VectorSource
from adyton.learning.registry import learner_named
from adyton.noise import SimulatedNoise
from adyton.noise.scales import read_ratio
from adyton.noise.source import Scale, Size
from adyton.queries import Identity
from adyton.schema import Boolean, Categorical, Integer, RowTree, Schema
from adyton.schema.units import DROP, ONE
from adyton.whole import IntegerArray

LIMIT = 4
_SIZES = {"heavy": 530, "b": 19, "c": 14, "d": 9, "e": 3, "f": 1, "": 61}
"""How many rows each person has; the last are rows without a person."""
_REMOVED = ("heavy", "")
_EPSILON = Fraction(1, 3)
_ATTRIBUTES = {"age": Integer(0, 4), "sex": Categorical(["F", "M"]), "smoker": Boolean()}
Row = tuple[str, int, str, bool]


class _Silent(SimulatedNoise):
    """No noise at all; what was asked for stays."""

    def __init__(self) -> None:
        super().__init__(0)
        self.scales: list[Fraction] = []
        self.choices: list[tuple[list[Fraction], Fraction]] = []

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Zeros."""
        ratio = read_ratio(scale)
        pairs = np.broadcast_arrays(ratio.numerator, ratio.denominator)
        each = [Fraction(int(above), int(below)) for above, below in zip(*(p.ravel() for p in pairs), strict=True)]
        self.scales += each * (int(np.prod(size)) // len(each))
        return np.zeros(size, dtype=np.int64)

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """The first, so that both sides go the same way."""
        self.choices.append(([Fraction(one) for one in list(scores)], exact(sharpness, "sharpness", computed=True)))
        return 0

    def permute_and_flips(self, scores: IntegerArray, allowed: Flags, sharpness: Rational) -> Places:
        """The first that is allowed, in every row."""
        for row, kept in zip(scores, allowed, strict=True):
            self.permute_and_flip(row[kept].tolist(), sharpness)
        return np.asarray(allowed.argmax(axis=1), dtype=np.int64)


class Told(NamedTuple):
    """All that a program was told, without noise, and the noise that would have hidden it."""

    answers: list[int]
    scales: list[Fraction]
    choices: list[tuple[list[Fraction], Fraction]]
    """The scores of each choice, and its sharpness."""


class Watched(Kernel[TableSource]):
    """A kernel that keeps all of its answers."""

    silent: _Silent
    answers: list[int]

    def play(self, program: Callable[[TableSource], None]) -> Told:
        """What a program is told."""
        self.answers, self.silent.scales, self.silent.choices = [], [], []
        program(self.root)
        return Told(self.answers, self.silent.scales, self.silent.choices)

    def measure(self, source: Source, operator: Mechanism, epsilon: Rational) -> Any:
        """Measure, and keep the answers."""
        answer = super().measure(source, operator, epsilon)
        if not isinstance(operator, SplitChoice):
            counts = answer.counts if isinstance(operator, MeasureTables) else answer.answers
            self.answers += [int(one) for one in np.ravel(counts)]
        return answer


def _histogram(vector: VectorSource) -> None:
    vector.measure(Identity(vector.shape), _EPSILON)


def _counts(root: TableSource) -> None:
    root.count(_EPSILON)
    root.where("age >= 2").count(_EPSILON)


def _split(root: TableSource) -> None:
    one, other = root.split("smoker")
    other.count(_EPSILON)
    for smaller in one.split("sex"):
        _histogram(smaller.select("age").vectorize())


def _vectors(root: TableSource) -> None:
    _histogram(root.vectorize())
    _histogram(root.select("age", "sex").vectorize())
    _histogram(root.misfits(["age", "smoker"]))


def _marginals(root: TableSource) -> None:
    tables = root.tables([("age", "sex"), ("sex", "smoker"), ("age",)])
    tables.measure(MeasureTables.weighted(range(3)), _EPSILON)


def _classifier(root: TableSource) -> None:
    stump = RowTree.stump(root.schema)
    root.choose_splits(SplitChoice(stump, [[1, 1, 0]], "smoker", "gini"), _EPSILON)
    _histogram(root.leaves(stump.grow({0: "sex"}, root.schema), "smoker"))
    learner_named("naive-bayes").fit(root, "smoker", _EPSILON)


def _people(root: TableSource) -> None:
    root.units(most=50).count(_EPSILON)
    _histogram(root.where("sex = 'F'").units("visits", most=30).vectorize())
    _histogram(root.group_by("person", count="visits", max_count=9).select("visits").vectorize())
    for part in root.split("sex"):
        part.group_by("person", count="visits", max_count=9).count(_EPSILON)


PROGRAMS: dict[str, Callable[[TableSource], None]] = {
    "counts": _counts,
    "split": _split,
    "histograms": _vectors,
    "marginals": _marginals,
    "classifiers": _classifier,
    "people": _people,
}
BRIEFLY = {"csv": ("split", "classifiers", "people")}
ASKED = {"csv": tuple(PROGRAMS), "parquet": ("split", "people"), "frame": ("split", "marginals")}
"""Which programs are put to which kind of table."""
NO_UNIT = {"csv": ONE, "parquet": DROP, "frame": ONE}


def audit_units(asked: Mapping[str, Sequence[str]] = MappingProxyType(ASKED)) -> Finding:
    """Put programs to tables with and without a person."""
    worst, tight = Fraction(0), Fraction(0)
    for kind, programs in asked.items():
        schema = Schema(_ATTRIBUTES, LIMIT, unit="person", no_unit=NO_UNIT[kind])
        with tempfile.TemporaryDirectory() as folder:
            for name, removed, loss, spent in _losses(Path(folder), kind, schema, programs):
                if loss > spent:
                    detail = (
                        f"{name} from {kind}: {removed or 'the blank unit'} loses {float(loss):.4g}, charged are "
                        f"{float(spent):.4g}."
                    )
                    return Finding("kernel", "units", False, detail, {"loss/ε": float(loss / spent)})
                worst = max(worst, loss / spent)
                tight = max(tight, loss / spent if removed == "heavy" else Fraction(0))
    detail = f"a person loses at most {float(worst):.3f} of what is charged, whatever their number of rows."
    return Finding("kernel", "units", tight >= Fraction(9, 10), detail, {"loss/ε": float(worst)})


def _losses(
    folder: Path, kind: str, schema: Schema, programs: Sequence[str]
) -> Iterator[tuple[str, str, Fraction, Fraction]]:
    """For each program and person: what is lost, and what was charged."""
    rows = _rows()
    whole = _opened(_stored(folder / "all", kind, rows), schema)
    without = {}
    for person in _REMOVED:
        fewer = [row for row in reversed(rows) if row[0] != person]
        without[person] = _opened(_stored(folder / f"without_{person}", kind, fewer), schema)
    for name in programs:
        before = whole.spent
        told = whole.play(PROGRAMS[name])
        for person, kernel in without.items():
            yield name, person, _loss(told, kernel.play(PROGRAMS[name])), whole.spent - before


def _rows() -> list[Row]:
    random = np.random.default_rng(18)
    rows = [
        (person, int(random.integers(5)), "FM"[random.integers(2)], bool(random.integers(2)))
        for person, size in _SIZES.items()
        for _ in range(size)
    ]
    return [rows[place] for place in random.permutation(len(rows))]


def _stored(path: Path, kind: str, rows: Sequence[Row]) -> Any:
    """A CSV file, a folder of three Parquet files among which everybody's rows are dealt out, or an Arrow table."""
    import pyarrow
    from pyarrow import parquet

    names = ("person", *_ATTRIBUTES)
    if kind == "csv":
        file = path.with_suffix(".csv")
        lines = [",".join(map(str, row)) for row in rows]
        file.write_text("\n".join([",".join(names), *lines, ""]), encoding="utf-8")
        return file
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    columns["person"] = [person or None for person in columns["person"]]
    table = pyarrow.table(columns)
    if kind == "frame":
        return table
    path.mkdir()
    for part in range(3):
        parquet.write_table(table.take(np.arange(part, len(rows), 3)), path / f"{part}.parquet")
    return path


def _opened(table: Any, schema: Schema) -> Watched:
    noise = _Silent()
    kernel = Watched(table, schema=schema, epsilon=1000, noise=noise)
    kernel.silent = noise
    return kernel


def _loss(one: Told, other: Told) -> Fraction:
    """What the answers of both give away: both were asked the same."""
    moved = zip(one.answers, other.answers, one.scales, strict=True)
    loss = sum((abs(a - b) / scale for a, b, scale in moved), Fraction(0))
    for (scores, sharpness), (others, _) in zip(one.choices, other.choices, strict=True):
        changes = [a - b for a, b in zip(scores, others, strict=True)]
        loss += sharpness * (max(changes) - min(changes))
    return loss
