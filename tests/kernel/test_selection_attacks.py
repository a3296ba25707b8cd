"""Attacks on private choices: data on which they would fail, requests that would never end, options read too late."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import (
    BucketBoundaries,
    DawaPartition,
    DyadicPartition,
    Resolution,
    WorstApproximated,
)  # fmt: skip
from adyton.plans import algorithms, plan_named, simulate
from adyton.queries import Explicit, Identity
from adyton.session.wire import decode, encode


@pytest.mark.parametrize("x", [[0, 0, 0], [1, 0, 0], [-1, 0, 0]])
@pytest.mark.parametrize("denominator", [2**61, 2**62])
def test_an_empty_vector_is_no_exception(x, denominator):
    """Zero times anything fits 64 bits; the factor itself must, too."""
    selection = decode(encode(WorstApproximated(Identity(3), np.array([0, 0, 0]), denominator)))
    assert Kernel.on_vector(np.array(x), epsilon=1).root.select(selection, 1) in range(3)


def test_denominators_beyond_64_bits_are_refused():
    kernel = Kernel.on_vector([0, 0], epsilon=1)
    with pytest.raises(BadInput, match="denominator"):
        kernel.root.select(WorstApproximated(Identity(2), np.array([0, 0]), 2**63), 1)
    assert kernel.spent == 0


@pytest.mark.parametrize("x", [[0, 0], [1, 0], [2**61, 0]])
def test_counts_beyond_double_precision_are_no_exception(x):
    """A map by 2^62 makes counts of more than a hundred bits; a second one would cost too many times too much."""
    kernel = Kernel.on_vector(np.array(x), epsilon=1)
    enlarge = Explicit((2,), [0, 1], [0, 1], [2**62, 2**62], 2)
    source = kernel.root.map(enlarge)
    with pytest.raises(BadInput, match="fewer maps in a row"):
        source.map(enlarge)
    partition = source.select(DyadicPartition((2,)), F(1, source.stability))
    assert partition.cells == 2
    assert kernel.spent == 1


@pytest.mark.parametrize("first", [-(2**31), 1 - 2**31])
def test_counts_in_few_bits_do_not_wrap_around(first):
    x = np.array([first, 0, 0, 2**31 - 1, 0, 0, 0, 0], dtype=np.int32)
    chosen = Kernel.on_vector(x, epsilon=1).root.select(Resolution((1, 4, 8), (0, 0, 0)), 1)
    assert chosen in (1, 4, 8)
    small = np.full(40, 200, dtype=np.uint8)
    assert Kernel.on_vector(small, epsilon=1).root.select(BucketBoundaries(4, 800, 40), 1).groups == 4
    assert simulate("structure-first", small, Identity(40), 1, seed=0).shape == (40,)


@pytest.mark.parametrize(
    "selection",
    [
        DyadicPartition((4,), F(10**4000)),
        DyadicPartition((4,), F(1), tuple(range(1, 99)) * 2000),
        DyadicPartition((4,), F(1), (50, 50)),
        DawaPartition(F(1), "powers", 10**5000),
        BucketBoundaries(10**5000, 1, 1),
        BucketBoundaries(1, 10**5000, 4),
        BucketBoundaries(1, 1, 10**5000),
        Resolution((10**5000,), (1,)),
    ],
    ids=lambda selection: type(selection).__name__,
)
def test_monstrous_numbers_are_refused_in_one_sentence(selection):
    kernel = Kernel.on_vector(np.arange(4), epsilon=1)
    with pytest.raises(BadInput) as refused:
        kernel.root.select(selection, 1)
    assert len(str(refused.value)) < 300
    assert kernel.spent == 0


def test_hostile_texts():
    for text in (
        '{"DawaPartition": {"bucket_cost": {"fraction": [1, 0]}}}',
        '{"LinearMap": {"queries": {"Explicit": {"domain": [2], "places": {"array": "", "shape": [0]}, "columns": '
        '{"array": "", "shape": [0]}, "coefficients": {"array": "", "shape": [0]}, "length": 1000000000000}}}}',
    ):
        with pytest.raises(BadInput):
            decode(text)


@pytest.mark.parametrize("total", ["x", float("nan"), -1, True, 10**400, [3]])
def test_totals_are_read_when_a_plan_is_made(total):
    """By one reader, which all plans inherit: each is given one of them."""
    for name in algorithms() if total == "x" else ["identity"]:
        with pytest.raises(BadInput, match="total"):
            plan_named(name, total=total)


@pytest.mark.parametrize("name", ["mwem", "mwem*", "mwem-d"])
def test_estimates_near_the_end_of_the_machine_s_numbers(name):
    kernel = Kernel.simulated(np.full(4, 2**62 - 1), epsilon=1, seed=0)
    assert np.isfinite(plan_named(name).estimate(kernel.root, Identity(4), 1)).all()
    assert kernel.spent == 1


def test_rounds_end():
    with pytest.raises(BadInput, match="rounds"):
        simulate("mwem", [1, 2], Identity(2), 1, rounds=10**30)
