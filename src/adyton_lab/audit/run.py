"""The whole audit: every check of the noise, the mechanisms, the kernel's accounting and the ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from adyton.errors import BadInput
from adyton.kernel.instances.votes import RELATIONS
from adyton.kernel.mechanisms import MECHANISMS, AuditCase
from adyton.noise import ExactNoise
from adyton_lab.audit.accounting import audit_accounting, audit_group_by, audit_leaves, audit_misfits, audit_tables
from adyton_lab.audit.certificates import EPSILONS as BUDGETS
from adyton_lab.audit.certificates import audit_certificates
from adyton_lab.audit.certificates import cases as certificate_cases
from adyton_lab.audit.durability import audit_concurrency, audit_crashes, audit_exactness
from adyton_lab.audit.enumeration import (
    audit_laplace,
    audit_selection,
    audit_selection_exactly,
    audit_streams,
    audit_uniform,
)
from adyton_lab.audit.pairs import EPSILONS, REACH, Finding
from adyton_lab.audit.people import STORES
from adyton_lab.audit.statistical import attacks, audit_mechanism
from adyton_lab.audit.tuning import audit_tuning
from adyton_lab.audit.whole_programs import (
    LONG,
    REMOVED,
    SHORT,
    SOME,
    Case,
    audit_cases,
    family_cases,
    mechanism_cases,
    number_cases,
    plan_cases,
    row_cases,
    table_cases,
)


@dataclass(frozen=True)
class Profile:
    """How much work an audit does."""

    pairs: int
    exact_pairs: int
    draws: int
    strong_draws: int
    noise_draws: int
    sequences: int
    kills: int
    whole_pairs: int
    """Pairs of neighbours for each plan, learner, program for many tables and family."""
    people: Mapping[str, Any]
    """Questions to tables of people: for each kind the formats of the tables, and whose rows are removed."""
    toys: int = 2
    """The largest set of made-up instances on which the distribution of a tuned parameter is enumerated."""
    reach: float = REACH
    """The fraction of ε that must be certified for a mechanism that loses all of it: fewer draws certify less."""
    budgets: tuple[Fraction, ...] = BUDGETS
    """The budgets for which the certificates of plans are recomputed."""


PROFILES = {
    "brief": Profile(
        pairs=3,
        exact_pairs=3,
        draws=3_000,
        strong_draws=100_000,
        noise_draws=50_000,
        sequences=50,
        kills=6,
        whole_pairs=1,
        people={SOME: {"csv": ("heavy",)}},
        toys=1,
        reach=0.8,
        budgets=BUDGETS[-1:],
    ),
    "quick": Profile(
        pairs=30,
        exact_pairs=40,
        draws=8_000,
        strong_draws=1_000_000,
        noise_draws=200_000,
        sequences=150,
        kills=20,
        whole_pairs=4,
        people={kind: {"csv": ("heavy", "7")} for kind in LONG}
        | {kind: {"csv": ("heavy", "", "row"), "pandas": ("7",), "parquet": ("heavy",)} for kind in SHORT},
    ),
    "full": Profile(
        pairs=40,
        exact_pairs=1000,
        draws=200_000,
        strong_draws=4_000_000,
        noise_draws=5_000_000,
        sequences=100_000,
        kills=200,
        whole_pairs=10,
        people={kind: {"csv": ("heavy", "7"), "duckdb": ("heavy",), "pandas": ("",)} for kind in LONG}
        | {kind: dict.fromkeys(STORES, ("heavy", "f")) | {"csv": (*REMOVED, "row")} for kind in SHORT},
        toys=3,
    ),
}
Advance = Callable[[], None]


@dataclass(frozen=True)
class Check:
    """One part of an audit: its name, how many steps of progress it reports, and the work.

    Work of several steps is given *advance*, to be called after every step.
    """

    name: str
    steps: int
    work: Callable[..., Finding]

    def run(self, advance: Advance = lambda: None) -> Finding:
        """Do the work; a check that raises an error counts as a failed finding."""
        try:
            if self.steps > 1:
                return self.work(advance=advance)
            finding = self.work()
            advance()
            return finding
        except Exception as error:
            return Finding("audit", self.name, False, f"the check failed with {type(error).__name__}: {error}")


def _attack(case: AuditCase, size: Profile) -> Check:
    if case.enumerable:
        return Check(case.name, len(EPSILONS), partial(audit_selection_exactly, case, pairs=size.exact_pairs))
    work = partial(
        audit_mechanism, case, pairs=size.pairs, draws=size.draws, strong_draws=size.strong_draws, reach=size.reach
    )
    return Check(case.name, attacks(size.pairs), work)


def _whole_programs(size: Profile) -> list[Check]:
    """Everything that a curator can ask for, replayed on neighbours."""
    most = size.whole_pairs
    made: dict[str, Callable[[], Iterable[Case]]] = {
        "mechanisms by a kernel": partial(mechanism_cases, 2 * most),
        "plans": partial(plan_cases, most),
        "programs for numbers": partial(number_cases, most),
        "programs for many tables": partial(row_cases, "programs", most),
        "learners": partial(row_cases, "learners", most),
        "configure": partial(family_cases, range(0, most, 3), brief=most == 1),
    }
    made |= {f"{kind}, of people": partial(table_cases, kind, sources) for kind, sources in size.people.items()}
    return [Check(name, 1, partial(_replay, name, cases)) for name, cases in made.items()]


def _replay(name: str, made: Callable[[], Iterable[Case]]) -> Finding:
    return audit_cases(name, made())


def checks(profile: str) -> list[Check]:
    """The checks of a profile, in order."""
    if profile not in PROFILES:
        raise BadInput(f"there is no audit profile {profile!r}. Choose one of {', '.join(PROFILES)}.")
    size, noise = PROFILES[profile], ExactNoise()
    listed = [
        Check("discrete Laplace", 1, partial(audit_laplace, noise, size.noise_draws)),
        Check("uniform integers", 1, partial(audit_uniform, noise, size.noise_draws // 4)),
        Check("streams", 1, partial(audit_streams, noise)),
        Check("selection", 1, audit_selection),
        *(_attack(case, size) for mechanism in MECHANISMS for case in mechanism.audit_cases()),
        Check("certificates", len(list(certificate_cases())), partial(audit_certificates, epsilons=size.budgets)),
        *_whole_programs(size),
        *(
            Check(
                f"tuned, {relation}", len(EPSILONS), partial(audit_tuning, relation, default=default, largest=size.toys)
            )
            for relation in RELATIONS
            for default in (None, 0.25)
        ),
        Check("accounting", size.sequences, partial(audit_accounting, size.sequences)),
        Check("group-by", 1, audit_group_by),
        Check("misfits", 1, audit_misfits),
        Check("leaves", 1, audit_leaves),
        Check("tables", 1, audit_tables),
        Check("merged tables", 1, partial(audit_tables, merge=True)),
        Check("exactness", 1, audit_exactness),
    ]
    if hasattr(os, "fork"):
        listed += [
            Check("concurrency", 1, audit_concurrency),
            Check("crashes", size.kills, partial(audit_crashes, size.kills)),
        ]
    return listed


def audit(profile: str = "quick", advance: Advance = lambda: None) -> Iterator[Finding]:
    """Run the checks one after the other."""
    for check in checks(profile):
        yield check.run(advance)


def steps(profile: str) -> int:
    """How many times an audit calls its *advance*, if nothing fails."""
    return sum(check.steps for check in checks(profile))
