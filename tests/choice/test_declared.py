"""Functions with a declared sensitivity: only a kernel that was opened with one runs it, with noise of its own."""

from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.kernel.mechanisms import DeclaredFunction
from adyton.kernel.mechanisms.published.statistic import BoundFunction, Declared
from places import cells, even, lines, score

COUNTS = np.arange(12).reshape(3, 4)


@ad.metafeature(sensitivity=1)
def largest(counts):
    """The largest count."""
    return counts.max()


@ad.metafeature(sensitivity="0.5", step="0.01")
def half(counts):
    return counts.sum() / 2


def test_a_kernel_runs_what_it_was_opened_with():
    private = ad.Kernel.on_vector(COUNTS, epsilon=900, trusted=[largest, half])
    assert largest.buy(private.root, F(300)).value == 11
    found = half.buy(private.root, F(300))
    assert found.value == pytest.approx(33, abs=0.05)
    assert private.spent == 600
    entry = private.root.statistic(DeclaredFunction("largest"), 200)
    assert entry.private


def test_other_kernels_do_not():
    private = ad.Kernel.on_vector(COUNTS, epsilon=1, trusted=[half])
    with pytest.raises(BadInput, match="was not opened with the function 'largest'"):
        largest.buy(private.root, F(1, 2))
    with pytest.raises(BadInput, match="does not accept the operator BoundFunction"):
        private.root.statistic(BoundFunction("largest", largest, (3, 4)), F(1, 2))
    assert private.spent == 0


@pytest.mark.parametrize(
    ("value", "step", "expected"),
    [
        (lambda counts: 7, None, 7),
        (lambda counts: np.int64(7), None, 7),
        (lambda counts: 7.5, None, 0),
        (lambda counts: "7", None, 0),
        (lambda counts: 1 / 0, None, 0),
        (lambda counts: counts.sort(), None, 0),
        (lambda counts: 10**4000, None, 2**62),
        (lambda counts: 0.126, F(1, 100), 13),
        (lambda counts: float("nan"), F(1, 100), 0),
        (lambda counts: float("inf"), F(1, 100), 0),
        (lambda counts: -1e300, F(1, 100), -(2**62)),
    ],
)
def test_every_value_is_a_whole_number_of_steps(value, step, expected):
    counts = COUNTS.copy()
    counts.flags.writeable = False
    assert Declared("f", value, F(1), step).steps(counts) == expected


def test_rounding_costs_a_step():
    assert (largest.changes, half.changes) == (1, 51)
    assert ad.metafeature(sensitivity="1.5")(lambda_named).changes == 2


def lambda_named(counts):
    return 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ad.metafeature(lambda_named), "without a sensitivity"),
        (lambda: ad.ChoiceMaker([cells, even], informed_by=[lambda_named]), "without a sensitivity"),
        (lambda: ad.metafeature(sensitivity=0)(lambda_named), "greater than 0"),
        (lambda: ad.metafeature(sensitivity=float("inf"))(lambda_named), "finite"),
        (lambda: ad.metafeature(sensitivity=1, step=-1)(lambda_named), "greater than 0"),
        (lambda: ad.metafeature(sensitivity=1, step="1e-20")(lambda_named), "larger step"),
        (lambda: ad.metafeature(sensitivity=1)(3), "is a function"),
        (lambda: ad.Kernel.on_vector(COUNTS, epsilon=1, trusted=largest), "trusted must be a list"),
        (lambda: ad.Kernel.on_vector(COUNTS, epsilon=1, trusted=[lambda_named]), "trusted must be a list"),
        (lambda: ad.Kernel.on_vector(COUNTS, epsilon=1, trusted=[largest, largest]), "the same name"),
    ],
)
def test_bad_declarations(make, words):
    with pytest.raises(BadInput, match=words):
        make()


def test_a_choice_maker_is_informed_by_declared_functions():
    told = [ad.option(predict="largest - 40")(cells.function), ad.option(predict="0")(even.function)]
    maker = ad.ChoiceMaker(told, informed_by=[largest], share="0.5", score=score)
    counts = next(iter(lines(1).values()))
    trusting = ad.Kernel.on_vector(counts, epsilon=1, trusted=[largest])
    maker(trusting.root, epsilon=1)
    assert trusting.spent == 1
    other = ad.Kernel.on_vector(counts, epsilon=1)
    with pytest.raises(BadInput, match="was not opened with the function"):
        maker(other.root, epsilon=1)
    assert other.spent == 0
    assert maker.train(lines(4), trials=1).learnt is not None
