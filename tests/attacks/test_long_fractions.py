"""Numbers chosen to be long: none may make a ledger useless, fail after the charge, or fill a message."""

from __future__ import annotations

import sqlite3
from fractions import Fraction as F
from math import gcd

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded
from adyton.exact import STEPS
from adyton.kernel.instances.lattice import Lattice, StepCurve, Utility
from adyton.kernel.instances.opening import on_instances
from adyton.kernel.ledger import Ledger
from adyton.kernel.mechanisms import (
    MECHANISMS,
    Bisections,
    CoefficientCount,
    DeclaredFunction,
    Resolution,
    TunedParameter,
)
from adyton.kernel.mechanisms.published.statistic import BoundFunction
from adyton.kernel.shapes import InstancesShape, TableShape, TablesShape
from adyton.queries import Explicit
from earlier_ledgers import FIRST

TABLE = pd.DataFrame({"age": [34] * 100})
SCHEMA = ad.Schema({"age": ad.Integer(0, 119)})
STEP = F(1, STEPS)
LONG = F(2**2046 + 1, 2**2047 + 1)
TINY = ["1e-310", "1e-399", "1e-160", F(1, 2**2047), F(2**1000 + 1, 2**2047 + 1), STEP / 2]
ADMITTED = [STEP, F(1, 2**64 - 59), LONG, 7 + LONG, 999]
"""The smallest, the largest, and those with long numbers."""


def coprime(bits: int, count: int) -> list[int]:
    chosen: list[int] = []
    candidate = 2**bits - 1
    while len(chosen) < count:
        if all(gcd(candidate, other) == 1 for other in (*chosen, 10)):
            chosen.append(candidate)
        candidate -= 2
    return chosen


@pytest.mark.parametrize("bits", [64, 2048])
def test_strange_denominators_leave_the_ledger_usable(tmp_path, bits):
    path = tmp_path / "visits.ledger"
    with ad.Session(TABLE, schema=SCHEMA, epsilon=1, ledger=path, dataset="visits") as stranger:
        for denominator in coprime(bits, 12):
            stranger._kernel.root.count(F(denominator // 1000, denominator))
        assert stranger.spent.denominator.bit_length() <= STEPS.bit_length()
        assert len(repr(stranger)) < 200
    with ad.Session(TABLE, schema=SCHEMA, ledger=path, dataset="visits") as victim:
        for epsilon in ("0.1", "0.5", "0.25", "1/101"):
            victim.count(epsilon)
        victim.count(victim.remaining)
        assert victim.remaining == 0
        with pytest.raises(BudgetExceeded) as refused:
            victim.count("0.1")
        assert len(str(refused.value)) < 300
    assert len(Ledger.read(path).entries) >= 5


def test_a_ledger_that_was_filled_with_long_sums_before_there_was_a_grid_works_again(tmp_path):
    path = tmp_path / "visits.ledger"
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        ledger.debit(F(1, 10), lineage=["root"], operator="laplace")
    long = F(1, 3**5160)
    text = f"{long.numerator}/{long.denominator}"
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE entries SET amount = ?, spent_after = ?", (text, text))
        connection.execute("UPDATE ledger SET spent = ?", (text,))
        for statement in FIRST:
            connection.execute(statement)
    connection.close()
    with ad.Session(TABLE, schema=SCHEMA, ledger=path, dataset="visits", accept={"terms"}) as session:
        session.count("0.1")
        session.count("1/97")
        assert session.spent == long + F(1, 10) + F(1, 97)
    assert Ledger.read(path).spent == long + F(1, 10) + F(1, 97)


def test_what_people_write_is_charged_as_written():
    with ad.Session(TABLE, schema=SCHEMA, epsilon=2) as session:
        for _ in range(20):
            session.count(0.05)
        assert session.spent == 1
        for _ in range(3):
            session.count("1/3")
        assert session.remaining == 0


@pytest.mark.parametrize("rows", [2, 3, 101, 10**9 + 7, 2**53])
def test_a_row_may_count_any_number_of_times(rows):
    with ad.Session(TABLE, schema=SCHEMA, epsilon=1, rows_per_unit=rows) as session:
        session.count("0.1")
        session.release(ad.Histogram("age"), epsilon="0.7", algorithm="identity") if rows < 1000 else session.count(
            "0.7"
        )
        assert session.spent == F(8, 10)


def test_the_parts_of_a_release_never_add_up_to_more():
    with ad.Session(TABLE, schema=SCHEMA, epsilon="1/101", rows_per_unit=103) as session:
        session.release(ad.Ranges("age"), epsilon=session.remaining, algorithm="efpa", selection_share="0.0311")
        assert 0 <= session.remaining < 1000 * STEP


CASES = [case for mechanism in MECHANISMS for case in mechanism.audit_cases()]


def source_of(case):
    if case.mechanism.takes is TableShape:
        sizes = {"a": 2, "b": 3, "c": 2, "y": 2}  # those of splits
        schema = ad.Schema({name: ad.Integer(0, size - 1) for name, size in sizes.items()})
        return ad.Kernel(pd.DataFrame(dict.fromkeys(sizes, [0, 1] * 50)), schema=schema, epsilon=1000).root
    if case.mechanism.takes is InstancesShape:
        lattice = isinstance(case.mechanism, TunedParameter)
        curve, parameters = StepCurve(np.array([0, 2]), np.array([1.0, 2.0])), Lattice(0.0, 1.0) if lattice else 4
        utility = Utility.named("regret")
        return on_instances([None] * 3, lambda _: curve, parameters, utility, epsilon=1000).root
    if case.mechanism.takes is TablesShape:
        schema = ad.Schema({name: ad.Integer(0, size - 1) for name, size in zip("abcde", case.domain, strict=False)})
        rows = pd.DataFrame(dict.fromkeys(schema.names, [0, 1] * 50))
        groups = case.prepare(np.zeros(case.domain, dtype=np.int64)).groups
        return ad.Kernel(rows, schema=schema, epsilon=1000).root.tables(groups)
    trusted = [case.mechanism.declared] if isinstance(case.mechanism, BoundFunction) else []
    return ad.Kernel.on_vector(np.full(case.domain, 3), epsilon=1000, trusted=trusted).root


def sent(case):
    """The mechanism as it comes to the kernel: of a function that the kernel was opened with, its name."""
    return DeclaredFunction(case.mechanism.name) if isinstance(case.mechanism, BoundFunction) else case.mechanism


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_mechanism_works_with_every_budget_that_is_admitted(case):
    source = source_of(case)
    for epsilon in TINY:
        with pytest.raises(BadInput, match="epsilon must be at least"):
            source.kernel.measure(source, sent(case), epsilon)
    assert source.kernel.spent == 0
    for epsilon in ADMITTED:
        if epsilon == 999:
            source = source_of(case)  # whose whole budget is 1000
        before = source.kernel.spent
        answer = source.kernel.measure(source, sent(case), epsilon)
        getattr(answer, "standard_deviations", None)
        assert len(repr(answer)) < 2000
        assert 0 < source.kernel.spent - before <= F(epsilon)


def test_long_parameters_of_mechanisms_are_refused_or_carried_out():
    kernel = ad.Kernel.on_vector(np.full(8, 3), epsilon=1000)
    long, too_long = F(2**2046 + 1, 2**2047 + 1), F(1, 2**2049)
    for make in (lambda price: Bisections(2, price, F(1, 2)), CoefficientCount):
        for epsilon in (STEP, LONG):
            kernel.root.select(make(long), epsilon)
        spent = kernel.spent
        with pytest.raises(BadInput, match="too many digits"):
            kernel.root.select(make(too_long), 1)
        assert kernel.spent == spent
    with pytest.raises(BadInput, match="too many digits"):
        kernel.root.select(Resolution((1, 2, 4), (2**3000, 2, 1)), 1)


def test_a_source_whose_rows_count_too_often_is_refused():
    source = ad.Kernel.on_vector([1, 2], epsilon=1).root
    tall = Explicit.from_rows([[2**40, 0], [0, 2**40]])
    with pytest.raises(BadInput, match="2\\^64"):
        source.map(tall).map(tall)


@pytest.mark.parametrize("epsilon", [LONG, F(1, 2**65 + 1), 2**70, "1e-70", "0." + "1" * 40, 10**300])
def test_what_a_session_is_asked_for_is_short(epsilon):
    with ad.Session(TABLE, schema=SCHEMA, epsilon=1) as session:
        for ask in (
            lambda: session.count(epsilon),
            lambda: session.release(ad.Histogram("age"), epsilon=epsilon, algorithm="identity"),
            lambda: session.preview(ad.Histogram("age"), epsilon),
            lambda: ad.Session(TABLE, schema=SCHEMA, epsilon=epsilon),
            lambda: Ledger.open(None, total=epsilon, dataset="visits"),
        ):
            with pytest.raises(BadInput, match="too many digits") as refused:
                ask()
            assert len(str(refused.value)) < 300
        assert session.spent == 0


def test_a_simulation_rounds_as_the_kernel_does():
    x = np.arange(8)
    kernel = ad.Kernel.simulated(x, epsilon=F(1, 303), seed=1)
    kernel.root.measure(ad.workloads.Identity(8), F(1, 303))
    assert 0 <= kernel.remaining < STEP
