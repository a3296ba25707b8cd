"""Requests that no machine could carry out: all are refused before the debit, by public facts, and at once."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas
import pytest

import adyton as ad
from adyton.errors import BadInput, KernelFailure
from adyton.kernel.mechanisms import (
    Bisections,
    CoefficientCount,
    DawaPartition,
    DyadicPartition,
    MedianCell,
    VectorLaplace,
    WorstApproximated,
)
from adyton.kernel.operators import MOST_TRANSFORMS, check_request
from adyton.kernel.shapes import VectorShape
from adyton.kernel.transforms import LinearMap
from adyton.plans.registry import plan_named
from adyton.queries import AllRange, Cells, Explicit, Identity, Kronecker, Marginals, Partition, Product, Total
from adyton.queries.cosines import Cosines
from adyton.session import wire

LARGE = 1 << 21
ONE = Fraction(1)


@pytest.fixture(scope="module")
def large() -> ad.Kernel:
    return ad.Kernel.on_vector(np.zeros(LARGE, dtype=np.int64), epsilon=1)


def refused(kernel: ad.Kernel, source, operator) -> str:
    """The sentence with which a measurement is refused; nothing is spent."""
    before = kernel.spent
    with pytest.raises(BadInput) as error:
        kernel.measure(source, wire.decode(wire.encode(operator)), "0.5")
    assert kernel.spent == before
    return str(error.value)


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        (VectorLaplace(AllRange(LARGE)), "GB of memory; the limit is 2 GB"),
        (VectorLaplace(Product(Total(AllRange(LARGE).count), AllRange(LARGE))), "GB of memory"),
        (VectorLaplace(Kronecker([AllRange(1 << 11), AllRange(1 << 10)])), "GB of memory"),
        (VectorLaplace(Cosines(LARGE, LARGE)), "billion steps"),
        (VectorLaplace(Product(Total(AllRange(8).count), Product(AllRange(8), Cells(LARGE, range(8))))), None),
        (WorstApproximated(AllRange(LARGE), np.zeros(LARGE, dtype=np.int64)), "GB of memory"),
        (CoefficientCount(ONE), "billion steps"),
        (Bisections(LARGE, ONE, ONE / 2), "GB of memory"),
        (DawaPartition(lengths="all", longest=1 << 40), "buckets"),
        (DyadicPartition((LARGE,), chances=tuple(range(1, 100))), "GB of memory"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_cannot_be_carried_out_is_not_charged(large, operator, words):
    if words is None:  # small, though it is made of many parts: allowed
        before = large.spent
        large.measure(large.root, operator, "0.001")
        assert large.spent == before + Fraction(1, 1000)
    else:
        assert words in refused(large, large.root, operator)


def test_refusals_say_what_was_asked_what_is_allowed_and_what_to_do(large):
    sentence = refused(large, large.root, VectorLaplace(AllRange(LARGE)))
    assert "all intervals of 2,097,152 cells" in sentence
    assert "the limit is 2 GB" in sentence
    assert sentence.endswith("Ask fewer queries, or about fewer cells.")


def test_the_marginals_of_many_axes():
    many = VectorLaplace(Marginals((2,) * 18, [(0,)] * 50_000))
    with pytest.raises(BadInput, match="billion steps"):
        check_request(many, VectorShape((2,) * 18), ONE)


def test_noise_in_long_arithmetic_is_for_few_answers(large):
    """Scales of more than 57 bits are drawn in Python integers, forty microseconds each."""
    before = large.spent
    for operator in (VectorLaplace(Identity(LARGE)), DawaPartition()):
        with pytest.raises(BadInput, match="billion steps"):
            large.measure(large.root, operator, Fraction(1, 1 << 60))
    assert large.spent == before


def test_monstrous_coefficients():
    kernel = ad.Kernel.on_vector(np.array([1]), epsilon=1)
    huge = Kronecker([Explicit(1, [0], [0], [2**62], 1)] * 40)
    for operator in (VectorLaplace(huge), WorstApproximated(huge, np.zeros(1, dtype=np.int64))):
        assert "bits" in refused(kernel, kernel.root, operator)
    with pytest.raises(BadInput, match="bits"):
        kernel.transform(kernel.root, LinearMap(huge))


def test_maps_are_limited_alone_and_together(large):
    with pytest.raises(BadInput, match="GB of memory"):
        large.root.map(AllRange(LARGE))
    shape = VectorShape((10_000,))
    for _ in range(MOST_TRANSFORMS):  # each of them takes a second, and all are made after the debit
        shape = shape.derive(Cosines(10_000, 10_000))
    with pytest.raises(BadInput, match="billion steps"):
        check_request(MedianCell(), shape, ONE)


def test_sources_are_not_derived_for_ever():
    """A chain of a thousand steps was followed after the debit, and ended in a recursion error."""
    kernel = ad.Kernel.on_vector(np.ones(4, dtype=np.int64), epsilon=1)
    source = kernel.root
    for _ in range(MOST_TRANSFORMS):
        source = source.reduce(Partition([0, 1, 2, 3]))
    with pytest.raises(BadInput, match="derived in 100 steps"):
        source.reduce(Partition([0, 1, 2, 3]))
    assert source.measure(Total(4), "0.5").answers.shape == (1,)
    with pytest.raises(BadInput, match="derived in 100 steps; the limit is 76 here"):
        ad.Pythia().estimate(source, ad.workloads.Prefix(4), "0.5")
    assert kernel.spent == Fraction(1, 2)


def test_a_long_operator_has_a_short_name_in_the_ledger():
    kernel = ad.Kernel.on_vector(np.ones(4, dtype=np.int64), epsilon=1)
    part = {"Identity": {"domain": [4]}}
    many = wire.decode(json.dumps({"VectorLaplace": {"queries": {"Stack": {"parts": [part] * 5000}}}}))
    kernel.measure(kernel.root, many, "0.5")
    assert len(kernel.ledger.report().entries[0].operator) < 400


class Unpublishable(MedianCell):
    """Claim. None. Proof. None. It fails when its output is to be published."""

    def publish(self, output, source, epsilon, private):
        raise ValueError(f"the secret is {output}")


def test_publishing_is_guarded(monkeypatch):
    monkeypatch.setattr(MedianCell, "publish", Unpublishable.publish)
    kernel = ad.Kernel.on_vector(np.array([1, 2, 3]), epsilon=1)
    with pytest.raises(KernelFailure) as error:
        kernel.measure(kernel.root, MedianCell(), "0.5")
    assert "secret" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__context__ is None
    assert kernel.ledger.report().entries[0].status == "failed"


@pytest.mark.parametrize("name", ["efpa", "structure-first", "mwem", "dawa", "dyadic", "denoised-tree", "hb"])
def test_plans_refuse_huge_domains_before_the_first_debit(name):
    with pytest.raises(BadInput, match="takes up to"):
        plan_named(name).check_size(ad.workloads.Prefix(1 << 26), ONE)


@pytest.mark.parametrize("name", ["change-points", "staged-hierarchy"])
def test_plans_that_go_block_by_block_take_more_cells(name):
    plan_named(name).check_size(ad.workloads.Prefix(1 << 24), ONE)
    with pytest.raises(BadInput, match="takes up to 16,777,216 cells, given 16,777,217"):
        plan_named(name).check_size(ad.workloads.Prefix((1 << 24) + 1), ONE)


@pytest.mark.parametrize(("name", "options"), [("mwem", {"rounds": 10_000}), ("efpa", {})])
def test_plans_with_costly_measurements_check_them_first(name, options):
    kernel = ad.Kernel.on_vector(np.zeros(1 << 18, dtype=np.int64), epsilon=1)
    with pytest.raises(BadInput, match="billion steps|GB of memory"):
        plan_named(name, **options).estimate(kernel.root, ad.workloads.Prefix(1 << 18), 1)
    assert kernel.spent == 0


def test_a_task_over_a_huge_table_is_refused():
    schema = ad.Schema({name: ad.Integer(0, 999) for name in ("a", "b", "c")})
    table = pandas.DataFrame({name: [1] for name in ("a", "b", "c")})
    with ad.Session(table, schema=schema, epsilon=1) as session:
        for task in (ad.Histogram("a", "b", "c"), ad.Ranges("a", "b", "c")):
            with pytest.raises(BadInput, match=r"1,000,000,000 cells; at most"):
                session.release(task, epsilon="0.5")
        with pytest.raises(BadInput, match=r"1,000,000,000 cells together; at most .* Name all-pairs"):
            session.release(ad.Marginals(way=2), epsilon="0.5", algorithm="identity")
        assert session.spent == 0
