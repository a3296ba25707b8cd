"""The Census case study: three workloads on a table of 1.4 million cells.

Zhang et al., "εKTELO", SIGMOD 2018, Sections 7.1 and 8.1.1 (Table 1): heads of household of the March 2000 Current
Population Survey, by income, age, marital status, race and sex. The error is ‖W·x̂ − W·x‖₂/(queries·rows).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.learning.coding import codes_of
from adyton.plans import simulate
from adyton.queries import Identity, Kronecker, Marginals, Prefix, Queries, Stack, Total
from adyton.queries.axes import stripe_workload, stripes_of, whole_of
from adyton.schema import Integer, Numeric, Schema
from adyton_lab.bench.published_dawa import published_dawa
from adyton_lab.corpus.public_files import confirm_public
from adyton_lab.reproduce.networks import NETWORKS, network_estimate
from adyton_lab.reproduce.outcomes import Job
from adyton_lab.training.engine import distances

FILE, PART, EPSILON = "cps2000.csv.gz", "table1", "1"
ZEROS, NOT_PRIVATE = "zeros", "published dawa-striped (not private)"
PLANS = (
    "identity",
    "hdmm",
    "hb-striped",
    "dawa-striped",
    "denoised-cells",
    "change-points-striped",
    "adaptive-hierarchy-striped",
    "staged-hierarchy-striped",
    "auto",
)
SCHEMA = Schema(
    {
        "income": Numeric(0, 750_000, bins=5000),
        "age": Numeric(0, 100, bins=5),
        "marital": Integer(1, 7),
        "race": Integer(1, 4),
        "sex": Integer(1, 2),
    }
)
UNITS = {"identity": 1e9, "2-way marginals": 1e7, "prefix (income)": 1e7}
"""Table 1 shows errors in these units."""


@dataclass(frozen=True, eq=False)
class Census:
    """The public counts and what is asked about them."""

    counts: Integers

    @property
    def workloads(self) -> dict[str, Queries]:
        """The three of the paper. "Any" value of an attribute is its total."""
        return _workloads(self.counts.shape)

    def error(self, name: str, estimate: Reals) -> float:
        """In the units of Table 1."""
        workload = self.workloads[name]
        (distance,) = distances(workload, estimate[None], self.counts)
        return float(distance / workload.count / max(1, self.counts.sum()) * UNITS[name])


@lru_cache(maxsize=4)
def _workloads(domain: tuple[int, ...]) -> dict[str, Queries]:
    first, *others = domain
    return {
        "identity": Identity(domain),
        "2-way marginals": Marginals(domain, way=2),
        "prefix (income)": Kronecker([Prefix(first), *(Stack([Identity(side), Total(side)]) for side in others)]),
    }


def census_file(folder: str | os.PathLike[str]) -> Path:
    """Where the table is; a folder without it is refused."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise BadInput(f"there is no {FILE} in {folder}. Give the folder that holds the March 2000 survey.")
    return path


def read_census(folder: str | os.PathLike[str], *, public: bool) -> Census:
    """The counts of all cells. *public* says that the table is public: nothing here is protected."""
    confirm_public(public, "reproducing an evaluation", "It is made for a table that was published for this purpose.")
    codes = codes_of(census_file(folder), SCHEMA)
    cells = np.ravel_multi_index(tuple(codes[(codes >= 0).all(axis=1)].T), SCHEMA.shape)
    return Census(np.bincount(cells, minlength=int(np.prod(SCHEMA.shape))).reshape(SCHEMA.shape))


def trials(*, quick: bool) -> int:
    """How often everything is repeated."""
    return 1 if quick else 5


def jobs(census: Census, *, quick: bool = False) -> Iterator[Job]:
    """Every method on every workload."""
    for trial in range(trials(quick=quick)):
        for method, run in _methods(census).items():
            for name in census.workloads:
                if method != ZEROS or trial == 0:
                    yield Job(PART, "census", name, EPSILON, method, trial, partial(_trial, census, name, run))


def steps(*, quick: bool = False) -> int:
    """How many trials there are."""
    return len(UNITS) * ((len(PLANS) + len(NETWORKS) + 1) * trials(quick=quick) + 1)


def _trial(census: Census, name: str, run: Callable[[Queries, int], Reals], seed: int) -> float:
    return census.error(name, run(census.workloads[name], seed))


def _methods(census: Census) -> dict[str, Callable[[Queries, int], Reals]]:
    """An estimate for a workload and a seed, by method."""
    x = census.counts
    plans = {name: partial(_planned, x, "pythia" if name == "auto" else name) for name in PLANS}
    networks = {name: partial(_network, x, name) for name in NETWORKS}
    return {ZEROS: lambda workload, seed: np.zeros(x.shape), **networks, **plans, NOT_PRIVATE: partial(_published, x)}


def _planned(x: Integers, name: str, workload: Queries, seed: int) -> Reals:
    return simulate(name, x, workload, EPSILON, seed=seed)


def _network(x: Integers, name: str, workload: Queries, seed: int) -> Reals:
    """It does not depend on the workload."""
    return network_estimate(name, x, SCHEMA, EPSILON, seed)


def _published(x: Integers, workload: Queries, seed: int) -> Reals:
    """NOT PRIVATE. The DAWA that published evaluations ran, in every stripe of public counts."""
    line, stripes = stripe_workload(workload, 0), stripes_of(x.reshape(-1), x.shape, 0)
    found = [published_dawa(stripe, line, EPSILON, seed + number) for number, stripe in enumerate(stripes)]
    return whole_of(np.stack(found), x.shape, 0).reshape(x.shape)
