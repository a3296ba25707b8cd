"""How often confidence intervals contain the truth, for every kind of release: on public data, where it is known. The
cells, ranges and boxes of counts are here, the other kinds in chapters of their own."""

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
from adyton_lab.bench.common import CONFIDENCE, Coverage, Folder, Held, Rows, needed, shapes
from adyton_lab.bench.comparing import comparison_coverage
from adyton_lab.bench.known import known_coverage
from adyton_lab.bench.numbers import number_coverage
from adyton_lab.bench.tables import pair_coverage
from adyton_lab.corpus import dpbench_corpus
from adyton_lab.corpus.public_files import cell_counts, coded_rows, draw, regrid
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
    _of("adult", "fnlwgt"),
    _of("adult", "marital-status", "relationship"),
    _of("titanic", "Pclass", "Cabin"),
    _of("rides", "windspeed", windspeed=_bins(0, 1, 67)),
    _of("rides", "registered", registered=_clamped(0, 899, 3)),
    _of("credit", "BILL_AMT1", BILL_AMT1=_clamped(-10_000, 489_999, 2000)),
    _of("credit", "PAY_0", "PAY_2"),
    _of("diamonds", "depth", depth=_bins(50, 75, 250)),
    _of("flights", "sched_dep_time"),
    _of("flights", "month", "day"),
    _of("stops", "preRace", "gender"),
    _cps("race", "marital"),
    Counted("skin: R", "skin.csv.gz", (("R", Integer(0, 255, step=4)),)),
    Counted("zip codes: lon", "us_zipcodes.csv.gz", (("lon", _bins(-180, -60, 480)),)),
)
"""The histograms whose cells are measured; most of them were not used to decide anything."""
EPSILONS = ("0.01", "0.1", "1")
_INTERVALS = 100
"""The least number of intervals of a case for each trial."""
_SIDES, _SCALES, _RANGES = {1: 1024, 2: 32}, (10**4, 10**6), 500


def intervals(*, data: Folder = None, public: bool = False, trials: int = 20) -> Rows:
    """How often the intervals of every kind of release contain the truth, and what expected errors are worth.

    With 20 trials there are at least 2,000 intervals in most lines, and of each histogram.
    """
    folder = needed(data, "public tables and histograms", "intervals are measured")
    suites = (
        count_coverage(folder, trials, public=public),
        number_coverage(folder, 3 * trials, public=public),
        pair_coverage(folder, max(1, trials // 5), public=public),
        comparison_coverage(folder, 3 * trials, public=public),
        known_coverage(folder, trials),
    )
    return None, itertools.chain.from_iterable(suites)


def count_coverage(data: Path, trials: int, *, public: bool = True) -> Iterator[Coverage]:
    """The cells of public histograms, for each budget those that were seen while constants were decided and the
    others; then ranges on a line and boxes on a plane."""
    for epsilon, seen in itertools.product(EPSILONS, (True, False)):
        held = Held(kind=f"cells of {'seen' if seen else 'other'} histograms", epsilon=epsilon)
        for histogram in HISTOGRAMS:
            if histogram.seen is seen:
                x = histogram.counts(data)
                _release(held, histogram.name, x, Identity(x.shape), trials, ordered=histogram.ordered)
        yield held.coverage()
    for (ndim, side), rows, epsilon in itertools.product(_SIDES.items(), _SCALES, EPSILONS[1:]):
        workload = RandomRanges((side,) * ndim, _RANGES, seed=2)
        held = Held(kind=f"{'ranges' if ndim == 1 else 'boxes'}, {rows:,} rows", epsilon=epsilon)
        for number, (name, shape) in enumerate(shapes(ndim, side, data, public=public).items()):
            _release(held, name, draw(shape, rows, seed=number), workload, trials)
        yield held.coverage()


def _release(held: Held, name: str, x: Integers, workload: Queries, trials: int, *, ordered: bool = True) -> None:
    """Compare releases of the same counts with them, each by the algorithm that is chosen for it."""
    amount, plan = positive(held.epsilon, "epsilon"), Pythia(ordered=ordered)
    truth = np.asarray(workload @ x, dtype=np.float64)
    for seed in range(max(1, math.ceil(_INTERVALS * trials / workload.count))):
        made = plan.carry_out(Kernel.simulated(x, epsilon=amount, seed=seed).root, workload, amount)
        chosen = Chosen.named(made.algorithm, finished=made.choice.finished)
        noise = NoiseModel(chosen, workload, made.choice.left, made.estimate, made.measured)
        interval = noise.interval(workload, CONFIDENCE)
        nothing = (truth <= 0) & (interval.lower <= 0)  # a true count of 0 needs no width below it
        held.add(name, np.where(nothing, 0.0, interval.estimate), interval.lower, interval.upper, truth)
        known = noise.expected_error() or noise.resampled_error()
        held.expect(known.total, float(np.linalg.norm(interval.estimate - truth)))
