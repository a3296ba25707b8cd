"""How often confidence intervals of counts contain the true count: measured on public data, where it is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from adyton.arrays import Integers
from adyton.schema import Attribute, Categorical, Integer, Numeric, Schema
from adyton_lab.bench.common import Coverage
from adyton_lab.corpus import dpbench_corpus
from adyton_lab.corpus.public_files import cell_counts, coded_rows, regrid
from adyton_lab.corpus.tables import TABLES


@dataclass(frozen=True)
class Counted:
    """A public histogram: attributes of a table, or a histogram of DPBench with this many cells along each axis."""

    name: str
    file: str
    attributes: tuple[tuple[str, Attribute], ...] = ()
    side: int = 0
    seen: bool = False
    """Whether it was looked at while constants were decided; the others are a test of them."""

    @property
    def ordered(self) -> bool:
        """Whether an axis has an order."""
        return self.side > 0 or any(attribute.ordered for _, attribute in self.attributes)

    def counts(self, folder: Path) -> Integers:
        """The true counts."""
        if self.side:
            shape = _dpbench(folder, int(self.file))[self.name.split()[0]]
            return np.rint(regrid(shape, (self.side,) * int(self.file))).astype(np.int64)
        schema = Schema(dict(self.attributes))
        return cell_counts(coded_rows(folder, self.file, schema, public=True, doing="a benchmark of counts"), schema)


@lru_cache(maxsize=2)
def _dpbench(folder: Path, ndim: int) -> dict[str, np.ndarray]:
    return {shape.name: shape.counts for shape in dpbench_corpus(folder, ndim, public=True)}


def _of(table: str, *names: str, seen: bool = False, **own: Attribute) -> Counted:
    """Attributes of a table as declared in :data:`TABLES`, or with a declaration of their own."""
    file, attributes = TABLES[table]
    chosen = tuple((name, own.get(name.replace("-", "_"), attributes.get(name))) for name in names)
    return Counted(f"{table}: {' × '.join(names)}", file, chosen, seen=seen)


def _clamped(low: int, high: int, step: int = 1) -> Integer:
    return Integer(low, high, step=step, outside="clamp")


def _bins(low: float, high: float, bins: int) -> Numeric:
    return Numeric(low, high, bins, outside="clamp")


_CPS = {"income": _clamped(0, 199_999, 2000), "age": _clamped(0, 99), "marital": Integer(1, 7), "race": Integer(1, 4)}


def _cps(*names: str, seen: bool = False) -> Counted:
    return Counted(
        f"cps: {' × '.join(names)}", "cps2000.csv.gz", tuple((name, _CPS[name]) for name in names), seen=seen
    )


HISTOGRAMS = (
    _of("adult", "capital-gain", capital_gain=_clamped(0, 99_999, 3125), seen=True),
    _of("adult", "native-country", seen=True),
    _of("titanic", "Fare", Fare=_clamped(0, 299, 1), seen=True),
    _of("titanic", "SibSp", "Parch", seen=True),
    _of("adult", "age", seen=True),
    _of("adult", "occupation", seen=True),
    _of("adult", "education", "race", seen=True),
    _of("rides", "cnt", cnt=_clamped(0, 999, 4), seen=True),
    _of("credit", "LIMIT_BAL", LIMIT_BAL=_clamped(0, 999_999, 10_000), seen=True),
    _of("diamonds", "carat", carat=_bins(0, 5, 500), seen=True),
    _of("flights", "dep_delay", dep_delay=_clamped(-60, 451), seen=True),
    _of("stroke", "rsbp", rsbp=Integer(70, 299), seen=True),
    Counted("HEPTH 1024", "1", side=1024, seen=True),
    Counted("NETTRACE 256", "1", side=256, seen=True),
    Counted("MEDCOST 4096", "1", side=4096, seen=True),
    _of("adult", "hours-per-week"),
    _of("adult", "capital-loss"),
    _of("adult", "education"),
    _of("adult", "workclass", "occupation"),
    _of("adult", "age", "hours-per-week"),
    _of("titanic", "Age", Age=_clamped(0, 99)),
    _of("titanic", "Pclass", "Embarked"),
    _of("rides", "hr", "weekday"),
    _of("rides", "casual", casual=_clamped(0, 399)),
    _of("credit", "AGE", AGE=_clamped(20, 83)),
    _of("credit", "PAY_AMT1", PAY_AMT1=_clamped(0, 49_999, 50)),
    _of("credit", "EDUCATION", "MARRIAGE"),
    _of("diamonds", "price", price=_clamped(0, 19_999, 20)),
    _of("diamonds", "color", "clarity"),
    _of("flights", "carrier"),
    _of("flights", "distance", distance=_bins(0, 5000, 250)),
    _of("flights", "carrier", "month"),
    _of("stroke", "age", age=Integer(16, 99)),
    _of("stroke", "rdelay", "stype"),
    _of("stops", "lat", "long", lat=_bins(44.89, 45.06, 32), long=_bins(-93.33, -93.19, 32)),
    _of("stops", "race", "policePrecinct"),
    _cps("income"),
    _cps("age", "marital"),
    _of("contraceptive", "wife_age"),
    Counted("ADULT 4096", "1", side=4096),
    Counted("INCOME 512", "1", side=512),
    Counted("PATENT 2048", "1", side=2048),
    Counted("SEARCHLOGS 1024", "1", side=1024),
)
