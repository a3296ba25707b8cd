"""The whole audit: every check of the noise, the mechanisms, the kernel's accounting and the ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from adyton.audit.accounting import audit_accounting, audit_group_by, audit_leaves, audit_misfits, audit_tables
from adyton.audit.certificates import EPSILONS as BUDGETS
from adyton.audit.certificates import audit_certificates, cases
from adyton.audit.durability import audit_concurrency, audit_crashes, audit_exactness
from adyton.audit.findings import Finding
from adyton.audit.learners import audit_learner
from adyton.audit.mechanisms import EPSILONS, REACH, attacks, audit_mechanism
from adyton.audit.plans import audit_plan
from adyton.audit.program_certificates import audit_programs
from adyton.audit.programs import audit_program
from adyton.audit.randomness import audit_laplace, audit_selection, audit_streams, audit_uniform
from adyton.audit.selections import audit_selection_exactly
from adyton.audit.tuning import audit_configure, audit_tuning
from adyton.audit.units import ASKED, BRIEFLY, audit_units
from adyton.errors import BadInput
from adyton.kernel.instances.private_instances import RELATIONS
from adyton.kernel.mechanisms import MECHANISMS, AuditCase
from adyton.learning.registry import learner_named
from adyton.marginals.registry import PROGRAMS
from adyton.noise import ExactNoise
from adyton.plans import algorithms, plan_named


@dataclass(frozen=True)
class Profile:
    """How long to look."""

    pairs: int
    exact_pairs: int
    draws: int
    strong_draws: int
    noise_draws: int
    sequences: int
    kills: int
    plan_pairs: int
    """Of neighbours, for each whole plan and learner; with 0, only what they are charged is looked at."""
    plan_draws: int
    toys: int = 2
    """How many made-up instances the sets have, at most, on which the law of a tuned parameter is enumerated."""
    reach: float = REACH
    """The share of ε that must be certified of a mechanism that loses all of it: fewer draws certify less."""
    budgets: tuple[Fraction, ...] = BUDGETS
    """Which budgets the certificates of plans are recomputed for."""


PROFILES = {
    "brief": Profile(
        pairs=4,
        exact_pairs=6,
        draws=3_000,
        strong_draws=100_000,
        noise_draws=50_000,
        sequences=50,
        kills=6,
        plan_pairs=0,
        plan_draws=0,
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
        plan_pairs=1,
        plan_draws=120,
    ),
    "full": Profile(
        pairs=40,
        exact_pairs=1000,
        draws=200_000,
        strong_draws=4_000_000,
        noise_draws=5_000_000,
        sequences=100_000,
        kills=200,
        plan_pairs=3,
        plan_draws=2_000,
        toys=3,
    ),
}
LEARNERS = ("chosen", "friedman-schuster", "jagannathan", "naive-bayes-tree", "profiled-tree")
"""Whose fitted models are attacked as a whole: each stops, chooses or counts in another way."""
Advance = Callable[[], None]


@dataclass(frozen=True)
class Check:
    """One part of an audit: its name, how many steps of progress it reports, and the work."""

    name: str
    steps: int
    work: Callable[[Advance], Finding]

    def run(self, advance: Advance = lambda: None) -> Finding:
        """Do the work; a check that breaks has found something, too."""
        try:
            return self.work(advance)
        except Exception as error:
            return Finding("audit", self.name, False, f"the check broke: {type(error).__name__}: {error}")


def _attack(case: AuditCase, size: Profile, advance: Advance) -> Finding:
    if case.enumerable:
        return audit_selection_exactly(case, pairs=size.exact_pairs, advance=advance)
    return audit_mechanism(
        case,
        pairs=size.pairs,
        draws=size.draws,
        strong_draws=size.strong_draws,
        reach=size.reach,
        advance=advance,
    )


def _attack_plan(name: str, size: Profile, advance: Advance) -> Finding:
    return audit_plan(plan_named(name), pairs=size.plan_pairs, draws=size.plan_draws, advance=advance)


def _attack_program(name: str, size: Profile, advance: Advance) -> Finding:
    return audit_program(name, pairs=size.plan_pairs, draws=size.plan_draws, advance=advance)


def _attack_learner(name: str, size: Profile, advance: Advance) -> Finding:
    return audit_learner(learner_named(name), pairs=size.plan_pairs, draws=size.plan_draws, advance=advance)


def _enumerate_tuning(relation: str, default: float | None, size: Profile, advance: Advance) -> Finding:
    return audit_tuning(relation, default=default, largest=size.toys, advance=advance)


def _attack_configure(size: Profile, advance: Advance) -> Finding:
    return audit_configure(pairs=size.plan_pairs, draws=size.plan_draws, advance=advance)


def checks(profile: str) -> list[Check]:
    """The checks of a profile, in order."""
    if profile not in PROFILES:
        raise BadInput(f"there is no audit profile {profile!r}. Choose one of {', '.join(PROFILES)}.")
    size = PROFILES[profile]
    noise = ExactNoise()
    plain = [
        Check("discrete Laplace", 1, lambda _: audit_laplace(noise, size.noise_draws)),
        Check("uniform integers", 1, lambda _: audit_uniform(noise, size.noise_draws // 4)),
        Check("streams", 1, lambda _: audit_streams(noise)),
        Check("selection", 1, lambda _: audit_selection()),
    ]
    statistical = [
        Check(
            case.name,
            len(EPSILONS) if case.enumerable else attacks(size.pairs),
            partial(_attack, case, size),
        )
        for mechanism in MECHANISMS
        for case in mechanism.audit_cases()
    ]
    recompute = partial(audit_certificates, epsilons=size.budgets)
    plans = [
        Check("certificates", sum(1 for _ in cases()), recompute),
        Check("programs", len(PROGRAMS), partial(audit_programs, epsilons=size.budgets)),
    ]
    wholes = [Check(name, size.plan_pairs, partial(_attack_plan, name, size)) for name in algorithms()]
    wholes += [Check(name, size.plan_pairs, partial(_attack_program, name, size)) for name in PROGRAMS]
    wholes += [Check(name, size.plan_pairs, partial(_attack_learner, name, size)) for name in LEARNERS]
    wholes.append(Check("configure", size.plan_pairs, partial(_attack_configure, size)))
    plans += wholes if size.plan_pairs else []
    tuning = [
        Check(f"tuned, {relation}", len(EPSILONS), partial(_enumerate_tuning, relation, default, size))
        for relation in RELATIONS
        for default in (None, 0.25)
    ]
    records = [
        Check("accounting", size.sequences, lambda advance: audit_accounting(size.sequences, advance=advance)),
        Check("group-by", 1, lambda _: audit_group_by()),
        Check("misfits", 1, lambda _: audit_misfits()),
        Check("leaves", 1, lambda _: audit_leaves()),
        Check("tables", 1, lambda _: audit_tables()),
        Check("units", 1, lambda _: audit_units(ASKED if size.plan_pairs else BRIEFLY)),
        Check("exactness", 1, lambda _: audit_exactness()),
    ]
    if hasattr(os, "fork"):
        records += [
            Check("concurrency", 1, lambda _: audit_concurrency()),
            Check("crashes", size.kills, lambda advance: audit_crashes(size.kills, advance=advance)),
        ]
    return plain + statistical + plans + tuning + records


def audit(profile: str = "quick", advance: Advance = lambda: None) -> Iterator[Finding]:
    """Run the checks one after the other."""
    for check in checks(profile):
        yield check.run(advance)


def steps(profile: str) -> int:
    """How many times an audit calls its *advance*, if nothing fails."""
    return sum(check.steps for check in checks(profile))
