"""Operators travel as text and come back the same; strangers do not."""

import json

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.mechanisms import MECHANISMS, NoisyCount, VectorLaplace
from adyton.kernel.transforms import (
    TRANSFORMS,
    GroupBy,
    LinearMap,
    Reduce,
    Select,
    SplitTable,
    SplitVector,
    Vectorize,
    Where,
)  # fmt: skip
from adyton.kernel.wire import decode, encode
from adyton.queries import Explicit, Identity, Partition, Prefix, Total

EXAMPLES = [
    Select(("age", "sex")),
    Where("age > 3 and sex = 'F'"),
    GroupBy(("age",), "n", 5),
    SplitTable("age"),
    SplitTable("age", Partition([0, 1, -1])),
    Vectorize(),
    Reduce(Partition([0, 0, 1])),
    SplitVector(Partition([0, 1, 1])),
    LinearMap(Explicit.from_rows([[1, -2, 0]])),
    LinearMap(Total((2, 3))),
    NoisyCount(),
    VectorLaplace(Identity((2, 3))),
    VectorLaplace.weighted(Prefix(3), [1, 2, 3]),
]


def test_every_operator_has_an_example():
    assert {type(example) for example in EXAMPLES} == {*TRANSFORMS, *MECHANISMS}


@pytest.mark.parametrize("operator", EXAMPLES, ids=lambda operator: type(operator).__name__)
def test_round_trip(operator):
    text = encode(operator)
    again = decode(text)
    assert type(again) is type(operator)
    assert encode(again) == text


def test_the_weights_that_arrive_are_frozen():
    again = decode(encode(EXAMPLES[-1]))
    assert not again.weights.flags.writeable
    assert np.array_equal(again.weights, EXAMPLES[-1].weights)


class Stranger(Select):
    """Not in the list."""


@pytest.mark.parametrize(
    "thing", [Stranger(("age",)), "Select", None, 3, Identity(3), LinearMap("x"), Select([["age"]])]
)
def test_strangers_are_not_sent(thing):
    with pytest.raises(BadInput):
        encode(thing)


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "{}", "3", "not json", '{"Kernel": {}}', '{"Identity": {"domain": [3]}}', '{"Select": 5}',
        '{"Select": {"attributes": ["a"], "more": 1}}', '{"Vectorize": {}, "Select": {}}', '{"os.system": {"a": "ls"}}',
        '{"LinearMap": {"queries": {"Identity": {"domain": [-3]}}}}',
        '{"Reduce": {"partition": {"array": "!", "shape": [1]}}}',
        "[" * 100_000,
    ],
)  # fmt: skip
def test_nonsense_is_not_received(text):
    with pytest.raises(BadInput):
        decode(text)


def test_the_wire_is_json():
    assert json.loads(encode(Vectorize())) == {"Vectorize": {}}


def test_the_order_of_fields_does_not_matter():
    packed = json.loads(encode(LinearMap(Explicit.from_rows([[0, 5], [7, 0], [1, 1]]))))
    fields = packed["LinearMap"]["queries"]["Explicit"]
    packed["LinearMap"]["queries"]["Explicit"] = dict(reversed(fields.items()))
    again = decode(json.dumps(packed)).queries
    assert (again @ np.array([1, 10])).tolist() == [50, 7, 11]
