"""Ways in which published kernels were broken, each tried against this one."""

from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded, PredicateError
from adyton.kernel.mechanisms import VectorLaplace
from adyton.workloads import Explicit, Identity, Partition, Total
from adyton_lab.audit.walk import RecordingNoise


def kernel_with_recorder(total=1):
    noise = RecordingNoise(0)
    return ad.Kernel.on_vector([5, 6, 7], epsilon=total, noise=noise), noise


def test_a_charge_and_a_noise_from_two_different_numbers():
    """Charged 10⁻⁶ and answered with an error of 10⁻⁸: here there is one number, and the noise follows it."""
    kernel, noise = kernel_with_recorder()
    kernel.root.measure(Identity(3), "1e-6")
    assert noise.scales == [10**6] * 3
    assert kernel.spent == F("1e-6")
    with pytest.raises(TypeError):
        kernel.root.measure(Identity(3), "1e-6", epsilon="100")


def test_a_negative_request_as_a_refund():
    kernel, _ = kernel_with_recorder()
    kernel.root.measure(Total(3), 1)
    for refund in (-1, "-0.5", F(-1, 3), -float("inf")):
        with pytest.raises(BadInput):
            kernel.root.measure(Total(3), refund)
    with pytest.raises(BudgetExceeded):
        kernel.root.measure(Total(3), "0.000001")


def test_not_a_number_is_larger_than_nothing():
    """``spent + nan > total`` is false, so a careless comparison lets it through."""
    kernel, _ = kernel_with_recorder()
    for value in (float("nan"), np.nan, "nan", np.float32("nan")):
        with pytest.raises(BadInput):
            kernel.root.measure(Total(3), value)
    assert kernel.spent == 0


def test_a_mask_with_large_weights():
    """A diagonal of 1000 in place of 0 and 1 multiplies what every later measurement costs."""
    kernel, _ = kernel_with_recorder()
    amplified = kernel.root.map(Explicit.from_rows(1000 * np.eye(3, dtype=int)))
    with pytest.raises(BudgetExceeded):
        amplified.measure(Identity(3), "0.01")
    amplified.measure(Identity(3), "0.001")
    assert kernel.spent == 1


def test_a_grouping_that_repeats_a_cell():
    """A cell has one label, and a repeated coefficient is refused, so neither can count a row many times for free."""
    with pytest.raises(BadInput, match="given twice"):
        Explicit(3, [0] * 1000, [1] * 1000, [1] * 1000, 1)
    kernel, _ = kernel_with_recorder()
    repeated = kernel.root.map(Explicit.from_rows(np.ones((1000, 3), dtype=int)))
    assert repeated.stability == 1000
    with pytest.raises(BadInput):
        Partition([[0, 1], [1, 2]], groups=9)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch hacked')", "age > 3) or (1=1", "age > (select max(age) from t)", "1 = 1",
        "age > 3; copy (select 1) to 'hacked'", "age > 3 union select 1", "cast(age as integer) > 3", "age / 0 > 1",
        "age > 3 -- comment", "age > /* x */ 3", "read_csv('x') is null", "getenv('HOME') = 'x'", "age::int > 3",
        "age > 'x' || 'y'", "age in (select 1)", "exists (select 1)", "age = ?", "age = $1", "age > 1e999", "not",
        "age like 'x'", "case when age > 3 then true end", "t.age > 3", "\"age\"\".x\" > 3", "age > -(-(3))", "age", "",
    ],
)  # fmt: skip
def test_a_predicate_that_does_more_than_compare(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"age": [1, 2, 3]})
    kernel = ad.Kernel(table, schema=ad.Schema({"age": ad.Integer(0, 9)}), epsilon=1)
    with pytest.raises(PredicateError):
        kernel.root.where(text)
    assert list(tmp_path.iterdir()) == []
    assert kernel.spent == 0


def test_a_default_seed():
    """Two fresh kernels, the same question: the noise differs."""
    answers = {tuple(ad.Kernel.on_vector([0] * 40, epsilon=1).root.measure(Identity(40), 1).answers) for _ in range(5)}
    assert len(answers) == 5


def test_twenty_twentieths():
    kernel, _ = kernel_with_recorder()
    for _ in range(20):
        kernel.root.measure(Total(3), 0.05)
    assert kernel.remaining == 0
    with pytest.raises(BudgetExceeded):
        kernel.root.measure(Total(3), 0.05)


def test_a_domain_read_from_the_data():
    """The shape of a vector is the schema's, whatever the rows hold, and bounds must be declared."""
    schema = ad.Schema({"age": ad.Integer(0, 9)})
    shapes = set()
    for ages in ([1, 2, 3], [], [10**9, -5], [None, 4]):
        kernel = ad.Kernel(pd.DataFrame({"age": pd.array(ages, dtype="Int64")}), schema=schema, epsilon=1)
        shapes.add(kernel.root.vectorize().shape)
    assert shapes == {(10,)}
    with pytest.raises(BadInput):
        ad.Schema.from_toml('[attributes.age]\ntype = "integer"\n')


def test_the_same_source_handed_to_a_richer_kernel():
    poor, rich = ad.Kernel.on_vector([1], epsilon="0.1"), ad.Kernel.on_vector([1], epsilon=100)
    with pytest.raises(BadInput, match="another kernel"):
        rich.measure(poor.root, VectorLaplace(Identity(1)), 50)
    assert rich.spent == poor.spent == 0
