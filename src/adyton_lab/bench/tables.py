"""Tables of several attributes: all their pairs, and plans along the longest attribute, each against its rivals."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.choice.pythia import ALONG, fixed_error, shared_error
from adyton.errors import BadInput, LargeBudget
from adyton.kernel.kernel import Kernel
from adyton.marginals.pair_model import Pair, PairModel
from adyton.marginals.program import Outcome, TableSet, TablesProgram, measured, program_named
from adyton.marginals.resolution import FEW, CellGroups, merged
from adyton.marginals.tables_release import TablesRelease, table_interval
from adyton.noise import SimulatedNoise
from adyton.plans import plan_named, simulate
from adyton.queries import Identity, Kronecker, Marginals, Prefix, Queries, Stack, Total
from adyton.schema import Attribute, Integer, Numeric, Schema
from adyton.session import Session
from adyton.solving.nonnegative import project_to_simplex
from adyton.tasks import Marginals as AllTables
from adyton_lab.bench.common import CONFIDENCE, Coverage, Folder, Held, Rows, needed
from adyton_lab.corpus.public_files import cell_counts, coded_rows
from adyton_lab.corpus.tables import TABLES, PublicTable, public_table, tables_in
from adyton_lab.training.engine import distances

WAYS = ("auto", "all-pairs", "select-pairs")
EPSILONS = ("0.1", "1", "10")


@dataclass(frozen=True, kw_only=True)
class PairsRecord:
    """All methods on one table with one budget: the mean total variation over all pairs."""

    table: str
    attributes: int
    epsilon: str
    clipped: float
    """Independent Laplace noise on every pair, an equal share for each, cut off at zero."""
    projected: float
    """The same noise, projected to counts of at least zero with one common total."""
    auto: float
    all_pairs: float
    select_pairs: float
    went: str
    """The algorithm that auto chose."""
    ratio: float
    """The error of auto divided by that of clipped noise."""
    beside_projected: float
    """The error of auto divided by that of projected noise."""
    beside_better: float
    """The error of auto divided by the smaller of all_pairs and select_pairs."""
    auto_in_groups: float
    """The mean total variation where the cells of each attribute are in eight groups with about as many rows."""
    better_in_groups: float
    """The smaller of those of all_pairs and select_pairs."""
    seconds: float
    """The processor time of auto, with its tables."""


def pairs(*, data: Folder = None, public: bool = False, trials: int = 1) -> Rows:
    """Tables of all pairs of many attributes: all methods, against independent noise that is cut off at zero.

    Every table in a folder with every budget; the means over *trials* runs.
    """
    folder = needed(data, "public tables", "pairs are compared")
    places = list(itertools.product(_known(tables_in(folder), folder), EPSILONS))
    return len(places), (_pairs(public_table(name, folder, public=public), epsilon, trials) for name, epsilon in places)


def _known(names: list[str], folder: Path) -> list[str]:
    if not names:
        raise BadInput(f"{folder} holds none of the known tables. Give the folder that has adult.csv.gz.")
    return names


def _pairs(table: PublicTable, epsilon: str, trials: int) -> PairsRecord:
    wanted = TableSet.of(table.schema, list(itertools.combinations(table.schema.names, 2)))
    truth = true_pairs(table)
    groups = CellGroups(true_singles(table), wanted.ordered)
    coarse = {pair: merged(counts, groups.at(pair, FEW)) for pair, counts in truth.items()}
    in_groups: dict[str, list[float]] = {way: [] for way in WAYS}
    errors: dict[str, list[float]] = {way: [] for way in ("clipped", "projected", *WAYS)}
    went, seconds = "", 0.0
    for trial in range(trials):
        noisy = _independent(table, wanted, Fraction(epsilon), trial)
        errors["clipped"].append(distance({pair: np.maximum(counts, 0.0) for pair, counts in noisy.items()}, truth))
        errors["projected"].append(distance(_projected(noisy), truth))
        for way in WAYS:
            begun = time.process_time()
            algorithm, pairs = run(way, table, wanted, Fraction(epsilon), trial)
            if way == "auto":
                went, seconds = algorithm, seconds + time.process_time() - begun
            errors[way].append(distance(pairs, truth))
            few = {pair: merged(counts, groups.at(pair, FEW)) for pair, counts in pairs.items()}
            in_groups[way].append(distance(few, coarse))
    means = {way: float(np.mean(runs)) for way, runs in errors.items()}
    return PairsRecord(
        table=table.name,
        attributes=len(table.schema.names),
        epsilon=epsilon,
        clipped=means["clipped"],
        projected=means["projected"],
        auto=means["auto"],
        all_pairs=means["all-pairs"],
        select_pairs=means["select-pairs"],
        went=went,
        ratio=means["auto"] / means["clipped"],
        beside_projected=means["auto"] / means["projected"],
        beside_better=means["auto"] / min(means["all-pairs"], means["select-pairs"]),
        auto_in_groups=float(np.mean(in_groups["auto"])),
        better_in_groups=min(float(np.mean(in_groups[way])) for way in WAYS if way != "auto"),
        seconds=seconds / trials,
    )


def run(way: str, table: PublicTable, wanted: TableSet, epsilon: Fraction, seed: int) -> tuple[str, dict[Pair, Reals]]:
    """The algorithm that was used, and the tables of all pairs."""
    outcome, model = outcome_of(program_named(way), table, wanted, epsilon, seed)
    return outcome.algorithm, model.all_pairs()


def outcome_of(
    program: TablesProgram, table: PublicTable, wanted: TableSet, epsilon: Fraction, seed: int
) -> tuple[Outcome, PairModel]:
    """What a program measures with simulated noise, and the model that follows."""
    kernel = Kernel.simulated_table(table.codes, table.schema, epsilon=epsilon, seed=seed)
    outcome = program.measure(kernel.root, wanted, epsilon)
    return outcome, program.estimate(wanted, outcome.measured).model


def _independent(table: PublicTable, wanted: TableSet, epsilon: Fraction, seed: int) -> dict[Pair, Reals]:
    kernel = Kernel.simulated_table(table.codes, table.schema, epsilon=epsilon, seed=seed)
    share = Fraction(1, len(wanted.pairs))
    noisy = measured(kernel.root.tables(list(wanted.pairs)), dict.fromkeys(wanted.pairs, share), epsilon)
    return {(part.group[0], part.group[1]): np.asarray(part.counts, dtype=np.float64) for part in noisy}


def _projected(tables: dict[Pair, Reals]) -> dict[Pair, Reals]:
    total = np.array(max(1.0, float(np.mean([table.sum() for table in tables.values()]))))
    return {pair: project_to_simplex(table.ravel(), total).reshape(table.shape) for pair, table in tables.items()}


def true_pairs(table: PublicTable) -> dict[Pair, Reals]:
    """The tables of all pairs of public rows."""
    names, shape = table.schema.names, table.schema.shape
    pairs = {}
    for left, right in itertools.combinations(range(len(names)), 2):
        sides = shape[left], shape[right]
        cells = np.bincount(table.codes[:, left] * sides[1] + table.codes[:, right], minlength=math.prod(sides))
        pairs[names[left], names[right]] = cells.reshape(sides).astype(np.float64)
    return pairs


def true_singles(table: PublicTable) -> dict[str, Reals]:
    """The tables of the single attributes of public rows."""
    sides = zip(table.schema.names, table.schema.shape, table.codes.T, strict=True)
    return {name: np.bincount(codes, minlength=side).astype(np.float64) for name, side, codes in sides}


def distance(tables: dict[Pair, Reals], truth: dict[Pair, Reals]) -> float:
    """The mean over all pairs of the total variation between both, each divided by its own sum."""
    return float(np.mean([np.abs(parts(tables[pair]) - parts(truth[pair])).sum() / 2 for pair in truth]))


def parts(table: Reals) -> Reals:
    """A table divided by its sum."""
    return np.asarray(table / max(float(table.sum()), 1e-9))


# ---- expected errors and intervals of pairs --------------------------------------------------------------------------


def pair_coverage(data: Folder, trials: int = 1, *, public: bool = False) -> Iterator[Coverage]:
    """The expected errors of all pairs that ``auto`` releases, on every public table in a folder.

    For each budget, a record for pairs that were measured, with the intervals of their cells, and one for the others,
    which have no intervals. ``expected`` is about total variations.
    """
    folder = needed(data, "public tables", "expected errors of pairs are compared")
    tables = [public_table(name, folder, public=public) for name in _known(tables_in(folder), folder)]
    for epsilon in EPSILONS:
        measured = Held(kind="pairs that were measured", epsilon=epsilon)
        other = Held(kind="pairs that were not measured", epsilon=epsilon)
        for table in tables:
            truth = true_pairs(table)
            for trial in range(trials):
                release = _released(table, folder, Fraction(epsilon), trial)
                for pair, counts in truth.items():
                    made, expected = release.table(*pair), release.wrong(pair)
                    held = measured if made.how == "measured" else other
                    if expected is not None:
                        held.expect(expected, float(np.abs(parts(made.counts) - parts(counts)).sum()) / 2)
                    bounds = table_interval(release, pair, CONFIDENCE)
                    if not bounds.missing:
                        held.add(table.name, made.counts, bounds.lower, bounds.upper, counts)
        yield from (held.coverage() for held in (measured, other))


def _released(table: PublicTable, folder: Path, epsilon: Fraction, seed: int) -> TablesRelease:
    """What ``auto`` releases, with all its tables of pairs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeBudget)
        session = Session(
            folder / TABLES[table.name][0], schema=table.schema, epsilon=epsilon, noise=SimulatedNoise(seed)
        )
        release = session.release(AllTables(way=2), epsilon, misfits=False)
    assert isinstance(release, TablesRelease)
    return release


# ---- stripes --------------------------------------------------------------------------------------------------------


WORKLOADS = ("pairs", "prefixes")
FIXED = ("identity", "hb-striped", "hdmm")
"""Algorithms whose error is known, and small on such tables."""
_FACTORS = np.arange(0.01, 1.5, 0.01)


def _long(table: str, attribute: str, cells: Integer | Numeric, *others: str) -> tuple[str, Schema]:
    """The file of a public table, and a long attribute with some others."""
    file, declared = TABLES[table]
    known: dict[str, Attribute] = {**declared, "education-num": Integer(1, 16)}
    return file, Schema({attribute: cells, **{name: known[name] for name in others}})


def _bins(low: float, high: float, bins: int) -> Numeric:
    return Numeric(low, high, bins=bins, outside="clamp")


_CARDS = ("SEX", "EDUCATION", "MARRIAGE")
LONG_TABLES: dict[str, tuple[str, Schema]] = {
    "weights of adults": _long("adult", "fnlwgt", _bins(0, 1_000_000, 2048), "sex", "race", "education-num"),
    "ages of adults": _long("adult", "age", Integer(17, 90), "sex", "education-num", "income"),
    "carats of diamonds": _long("diamonds", "carat", _bins(0, 5.12, 512), "cut", "color"),
    "delays of flights": _long("flights", "arr_delay", _bins(-100, 924, 1024), "origin", "carrier"),
    "times of flights": _long("flights", "air_time", _bins(0, 700, 700), "origin", "month"),
    "bills of cards": _long(
        "credit", "BILL_AMT1", _bins(-10_000, 400_000, 4096), *_CARDS, "default_payment_next_month"
    ),
    "limits of cards": _long("credit", "LIMIT_BAL", _bins(0, 1_000_000, 100), *_CARDS, "PAY_0"),
    "rented bicycles": _long("rides", "cnt", _bins(0, 1000, 1000), "season", "weathersit", "workingday"),
    "pressures of patients": _long("stroke", "rsbp", _bins(70, 270, 200), "sex", "stype", "rconsc"),
}
"""Public tables by name: the file, and a long attribute with some others."""


@dataclass(frozen=True, kw_only=True)
class StripesRecord:
    """One table, workload and budget."""

    table: str
    workload: str
    epsilon: str
    striped: float | None
    """The mean error of the plan along the longest attribute, divided by that of its fixed counterpart."""
    other: float | None
    """The least error of the algorithms in FIXED, divided by the same."""
    own: float
    shared: float
    """The factors of :mod:`adyton.choice.pythia`, fitted to all other tables."""
    regret: float
    """The error of what they choose, divided by the smaller of the two."""


@dataclass(frozen=True)
class _Errors:
    striped: float
    other: float
    fixed: float
    shared: float


def stripes(*, data: Folder = None, public: bool = False, trials: int = 1) -> Rows:
    """Plans along the longest of several attributes, against the best algorithm whose error is known beforehand.

    Every table, both workloads and every budget; the means over *trials* runs. The factors in the last line are those
    of all tables, and its regret is the mean.
    """
    folder = needed(data, "public tables", "stripes are compared")
    names = _known([name for name, (file, _) in LONG_TABLES.items() if (folder / file).is_file()], folder)
    return len(names) * len(WORKLOADS) * len(EPSILONS) + 1, _stripes(names, folder, public, trials)


def _stripes(names: Sequence[str], folder: Path, public: bool, trials: int) -> Iterator[StripesRecord]:
    measured: dict[tuple[str, str, str], _Errors] = {}
    for name in names:
        x = _read(name, folder, public=public)
        for workload, epsilon in itertools.product(WORKLOADS, EPSILONS):
            measured[name, workload, epsilon] = _errors(x, _workload(workload, x.shape), epsilon, trials)
    regrets = []
    for (name, workload, epsilon), errors in measured.items():
        own, shared = _fitted([others for place, others in measured.items() if place[0] != name] or [errors])
        striped, other = errors.striped / errors.fixed, errors.other / errors.fixed
        chosen = striped if math.hypot(own * errors.fixed, shared * errors.shared) < errors.other else other
        regrets.append(chosen / min(striped, other))
        yield StripesRecord(
            table=name,
            workload=workload,
            epsilon=epsilon,
            striped=striped,
            other=other,
            own=own,
            shared=shared,
            regret=regrets[-1],
        )
    own, shared = _fitted(list(measured.values()))
    yield StripesRecord(
        table="all",
        workload="",
        epsilon="",
        striped=None,
        other=None,
        own=own,
        shared=shared,
        regret=float(np.mean(regrets)),
    )


def _fitted(errors: Sequence[_Errors]) -> tuple[float, float]:
    """The factors whose prediction is nearest, by least squares of logarithms, in steps of 0.01."""
    log = np.log([case.striped for case in errors])
    fixed, shared = np.square([[case.fixed, case.shared] for case in errors]).T
    factors = list(itertools.product(_FACTORS, _FACTORS))
    off = [float(np.square(log - np.log(a**2 * fixed + b**2 * shared) / 2).sum()) for a, b in factors]
    own, part = factors[int(np.argmin(off))]
    return float(own), float(part)


def _read(name: str, folder: Path, *, public: bool) -> Integers:
    """The counts of all cells of a public table."""
    file, schema = LONG_TABLES[name]
    return cell_counts(coded_rows(folder, file, schema, public=public, doing="a benchmark"), schema)


def _workload(name: str, domain: tuple[int, ...]) -> Queries:
    """All pairs of attributes, or all prefixes of the first for every combination of the others' cells and totals."""
    if name == "pairs":
        return Marginals(domain, way=2)
    first, *others = domain
    return Kronecker([Prefix(first), *(Stack([Identity(side), Total(side)]) for side in others)])


def _errors(x: Integers, workload: Queries, epsilon: str, trials: int) -> _Errors:
    runs = [simulate(ALONG, x, workload, epsilon, seed=seed) for seed in range(trials)]
    return _Errors(
        striped=float(np.mean(distances(workload, np.stack(runs), x))),
        other=min(plan_named(name).expected_error(workload, epsilon).total for name in FIXED),
        fixed=fixed_error(workload, Fraction(epsilon)),
        shared=shared_error(workload, Fraction(epsilon)),
    )
