"""Plans along the longest of several attributes, beside the best algorithm whose error is known beforehand."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from adyton.arrays import Integers
from adyton.choice.pythia import ALONG, fixed_error, shared_error
from adyton.errors import BadInput
from adyton.learning.coding import codes_of
from adyton.plans import plan_named, simulate
from adyton.queries import Identity, Kronecker, Marginals, Prefix, Queries, Stack, Total
from adyton.schema import Categorical, Integer, Numeric, Schema
from adyton_lab.corpus.public_files import confirm_public
from adyton_lab.training.engine import distances

EPSILONS = ("0.1", "1", "10")
WORKLOADS = ("pairs", "prefixes")
FIXED = ("identity", "hb-striped", "hdmm")
"""What has a closed form, and is good on tables of this kind."""
_FACTORS = np.arange(0.01, 1.5, 0.01)
_CARRIERS = ["9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV"]
TABLES: dict[str, tuple[str, Schema]] = {
    "weights of adults": (
        "adult.csv.gz",
        Schema(
            {
                "fnlwgt": Numeric(0, 1_000_000, bins=2048, outside="clamp"),
                "sex": Categorical(["Female", "Male"]),
                "race": Categorical(["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]),
                "education-num": Integer(1, 16),
            }
        ),
    ),
    "ages of adults": (
        "adult.csv.gz",
        Schema(
            {
                "age": Integer(17, 90),
                "sex": Categorical(["Female", "Male"]),
                "education-num": Integer(1, 16),
                "income": Categorical(["<=50K", ">50K"]),
            }
        ),
    ),
    "carats of diamonds": (
        "diamonds.csv.gz",
        Schema(
            {
                "carat": Numeric(0, 5.12, bins=512, outside="clamp"),
                "cut": Categorical(["Fair", "Good", "Very Good", "Premium", "Ideal"]),
                "color": Categorical(list("DEFGHIJ")),
            }
        ),
    ),
    "delays of flights": (
        "nyc_flights.csv.gz",
        Schema(
            {
                "arr_delay": Numeric(-100, 924, bins=1024, outside="clamp"),
                "origin": Categorical(["EWR", "JFK", "LGA"]),
                "carrier": Categorical(_CARRIERS),
            }
        ),
    ),
    "times of flights": (
        "nyc_flights.csv.gz",
        Schema(
            {
                "air_time": Numeric(0, 700, bins=700, outside="clamp"),
                "origin": Categorical(["EWR", "JFK", "LGA"]),
                "month": Integer(1, 12),
            }
        ),
    ),
    "bills of cards": (
        "credit_default.csv.gz",
        Schema(
            {
                "BILL_AMT1": Numeric(-10_000, 400_000, bins=4096, outside="clamp"),
                "SEX": Integer(1, 2),
                "EDUCATION": Integer(0, 6),
                "MARRIAGE": Integer(0, 3),
                "default_payment_next_month": Integer(0, 1),
            }
        ),
    ),
    "limits of cards": (
        "credit_default.csv.gz",
        Schema(
            {
                "LIMIT_BAL": Numeric(0, 1_000_000, bins=100, outside="clamp"),
                "SEX": Integer(1, 2),
                "EDUCATION": Integer(0, 6),
                "MARRIAGE": Integer(0, 3),
                "PAY_0": Integer(-2, 8),
            }
        ),
    ),
    "rented bicycles": (
        "bike_sharing_hour.csv.gz",
        Schema(
            {
                "cnt": Numeric(0, 1000, bins=1000, outside="clamp"),
                "season": Integer(1, 4),
                "weathersit": Integer(1, 4),
                "workingday": Integer(0, 1),
            }
        ),
    ),
    "pressures of patients": (
        "stroke.csv.gz",
        Schema(
            {
                "rsbp": Numeric(70, 270, bins=200, outside="clamp"),
                "sex": Categorical(["F", "M"]),
                "stype": Categorical(["LACS", "OTH", "PACS", "POCS", "TACS"]),
                "rconsc": Categorical(["D", "F", "U"]),
            }
        ),
    ),
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
    """The least error among those that are known beforehand, divided by the same."""
    own: float
    shared: float
    """The factors of :mod:`adyton.choice.pythia`, fitted to all other tables."""
    regret: float
    """The error of what is chosen by them, divided by the smaller of both."""


@dataclass(frozen=True)
class _Errors:
    striped: float
    other: float
    fixed: float
    shared: float


def compare(
    *, data: str | os.PathLike[str] | None = None, public: bool = False, trials: int = 1
) -> Iterator[StripesRecord]:
    """Every table, both workloads and every budget; the means over *trials* runs. The factors in the last line, for a
    table of no name, are those of all tables, and its regret is the mean."""
    found: dict[tuple[str, str, str], _Errors] = {}
    for name in _names(data):
        assert data is not None
        x = read(name, data, public=public)
        for workload, epsilon in itertools.product(WORKLOADS, EPSILONS):
            found[name, workload, epsilon] = _errors(x, workload_of(workload, x.shape), epsilon, trials)
    regrets = []
    for (name, workload, epsilon), one in found.items():
        own, shared = _fitted([errors for place, errors in found.items() if place[0] != name] or [one])
        striped, other = one.striped / one.fixed, one.other / one.fixed
        chosen = striped if math.hypot(own * one.fixed, shared * one.shared) < one.other else other
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
    own, shared = _fitted(list(found.values()))
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
    """The factors whose prediction is nearest, by the squares of logarithms, among some per cent."""
    log = np.log([one.striped for one in errors])
    fixed, shared = np.square([[one.fixed, one.shared] for one in errors]).T
    factors = list(itertools.product(_FACTORS, _FACTORS))
    off = [float(np.square(log - np.log(a**2 * fixed + b**2 * shared) / 2).sum()) for a, b in factors]
    own, part = factors[int(np.argmin(off))]
    return float(own), float(part)


def steps(*, data: str | os.PathLike[str] | None = None, **_: object) -> int:
    """How many records :func:`compare` yields."""
    return len(_names(data)) * len(WORKLOADS) * len(EPSILONS) + 1


def read(name: str, data: str | os.PathLike[str], *, public: bool) -> Integers:
    """The counts of all cells of a public table."""
    confirm_public(public, "a benchmark", "It is made for tables that were published.")
    file, schema = TABLES[name]
    codes = codes_of(Path(data) / file, schema)
    cells = np.ravel_multi_index(tuple(codes[(codes >= 0).all(axis=1)].T), schema.shape)
    return np.bincount(cells, minlength=int(np.prod(schema.shape))).reshape(schema.shape)


def workload_of(name: str, domain: tuple[int, ...]) -> Queries:
    """All pairs of attributes, or all prefixes of the first for every combination of the others, each of which may be
    any."""
    if name == "pairs":
        return Marginals(domain, way=2)
    first, *others = domain
    return Kronecker([Prefix(first), *(Stack([Identity(side), Total(side)]) for side in others)])


def _names(data: str | os.PathLike[str] | None) -> list[str]:
    if data is None:
        raise BadInput("stripes are compared on public tables. Give the folder that holds them with --data.")
    names = [name for name, (file, _) in TABLES.items() if (Path(data) / file).is_file()]
    if not names:
        raise BadInput(f"{data} holds none of the tables that are known. Give the folder that has adult.csv.gz.")
    return names


def _errors(x: Integers, workload: Queries, epsilon: str, trials: int) -> _Errors:
    runs = [simulate(ALONG, x, workload, epsilon, seed=seed) for seed in range(trials)]
    return _Errors(
        striped=float(np.mean(distances(workload, np.stack(runs), x))),
        other=min(plan_named(name).expected_error(workload, epsilon).total for name in FIXED),
        fixed=fixed_error(workload, Fraction(epsilon)),
        shared=shared_error(workload, Fraction(epsilon)),
    )
