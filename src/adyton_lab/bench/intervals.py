"""How often confidence intervals of counts contain the true count: measured on public data, where it is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.choice.pythia import Chosen, Pythia
from adyton.exact import positive
from adyton.kernel.kernel import Kernel
from adyton.queries import Identity, Queries, RandomRanges
from adyton.result.noise_model import NoiseModel
from adyton.schema import Attribute, Integer, Numeric, Schema
from adyton_lab.bench.common import CONFIDENCE, Coverage, Folder, Rows, needed, shapes
from adyton_lab.corpus import dpbench_corpus
from adyton_lab.corpus.public_files import cell_counts, coded_rows, draw, regrid
from adyton_lab.corpus.tables import TABLES
from adyton_lab.training.engine import geometric_mean


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
def _dpbench(folder: Path, ndim: int) -> dict[str, Reals]:
    return {shape.name: shape.counts for shape in dpbench_corpus(folder, ndim, public=True)}


def _of(table: str, *names: str, seen: bool = False, **own: Attribute) -> Counted:
    """Attributes of a table as declared in :data:`TABLES`, or with a declaration of their own."""
    file, attributes = TABLES[table]
    chosen = tuple((name, own.get(name.replace("-", "_")) or attributes[name]) for name in names)
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
    _of("credit", "PAY_AMT1", PAY_AMT1=_clamped(0, 49_999, 50), seen=True),
    _of("credit", "EDUCATION", "MARRIAGE"),
    _of("diamonds", "price", price=_clamped(0, 19_999, 20), seen=True),
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
"""The histograms whose cells are measured; most of them were not used to decide anything."""
EPSILONS = ("0.01", "0.1", "1")
_INTERVALS = 100
"""The least number of intervals of a case for each trial."""
_SIDES, _SCALES, _RANGES = {1: 1024, 2: 32}, (10**4, 10**6), 500


def intervals(*, data: Folder = None, public: bool = False, trials: int = 10) -> Rows:
    """How often confidence intervals contain the true count, measured on public data, for which it is known.

    For algorithms with fixed noise the coverage can be computed (and is tested). Here algorithms are chosen privately,
    and most of the intervals are approximate. With 20 trials there are 2,000 intervals or more in every line.
    """
    folder = needed(data, "public tables and histograms", "intervals are judged")
    lines = len(HISTOGRAMS) * len(EPSILONS) + len(_SIDES) * len(_SCALES) * len(EPSILONS[1:])
    return lines, count_coverage(folder, trials, public=public)


def count_coverage(data: Path, trials: int, *, public: bool = True) -> Iterator[Coverage]:
    """Cells of public histograms, a record for each histogram and budget; then ranges on a line and boxes on a plane, a
    record for each number of rows and budget."""
    for histogram, epsilon in itertools.product(HISTOGRAMS, EPSILONS):
        x = histogram.counts(data)
        seen = _released(x, Identity(x.shape), epsilon, trials, ordered=histogram.ordered)
        name = f"{histogram.name} (seen)" if histogram.seen else histogram.name
        yield _record("cells", name, epsilon, [seen])
    for (ndim, side), rows, epsilon in itertools.product(_SIDES.items(), _SCALES, EPSILONS[1:]):
        workload = RandomRanges((side,) * ndim, _RANGES, seed=2)
        of_each = [
            _released(draw(shape, rows, seed=number), workload, epsilon, trials)
            for number, shape in enumerate(shapes(ndim, side, data, public=public).values())
        ]
        name = f"{len(of_each)} of DPBench, {rows:,} rows"
        yield _record("ranges" if ndim == 1 else "boxes", name, epsilon, of_each)


@dataclass(frozen=True, eq=False)
class _Seen:
    """Intervals of several releases of the same data, one after the other."""

    needed: Reals
    """The distance of the truth from the estimate, divided by that of the bound on the same side."""
    widths: Reals
    expected: list[float]
    """The expected error of each release, divided by the true one."""


def _released(x: Integers, workload: Queries, epsilon: str, trials: int, *, ordered: bool = True) -> _Seen:
    """Releases of the same counts, each with the algorithm that is chosen for it."""
    amount, truth, plan = (
        positive(epsilon, "epsilon"),
        np.asarray(workload @ x, dtype=np.float64),
        Pythia(ordered=ordered),
    )
    distances, widths, expected = [], [], []
    for seed in range(max(1, math.ceil(_INTERVALS * trials / workload.count))):
        made = plan.carry_out(Kernel.simulated(x, epsilon=amount, seed=seed).root, workload, amount)
        chosen = Chosen.named(made.algorithm, finished=made.choice.finished)
        noise = NoiseModel(chosen, workload, made.choice.left, made.estimate, made.measured)
        interval = noise.interval(workload, CONFIDENCE)
        above = truth >= interval.estimate
        room = np.where(above, interval.upper - interval.estimate, interval.estimate - interval.lower)
        away = np.where((truth <= 0) & (interval.lower <= 0), 0, np.abs(truth - interval.estimate) - 1e-9)
        distances.append(away / np.maximum(room, 1e-12))
        widths.append(interval.upper - interval.lower)
        known = noise.expected_error() or noise.resampled_error()
        expected.append(known.total / max(float(np.linalg.norm(interval.estimate - truth)), 1e-9))
    return _Seen(np.concatenate(distances), np.concatenate(widths), expected)


def _record(kind: str, data: str, epsilon: str, seen: list[_Seen]) -> Coverage:
    distances = np.concatenate([part.needed for part in seen])
    rates = [100 * float((part.needed <= 1).mean()) for part in seen]
    return Coverage(
        kind=kind,
        data=data,
        epsilon=epsilon,
        intervals=distances.size,
        holds=float(np.mean(rates)),
        worst=min(rates) if len(rates) > 1 else None,
        width=1 / max(float(np.quantile(distances, CONFIDENCE)), 1e-9),
        expected=geometric_mean([ratio for part in seen for ratio in part.expected]),
    )
