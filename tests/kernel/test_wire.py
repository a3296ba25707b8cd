"""Operators and results travel as text and come back the same; strangers do not."""

import base64
import json
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.kernel import mechanisms
from adyton.kernel.admission import QUERIES, admit
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import (
    MECHANISMS,
    Bisections,
    BucketBoundaries,
    ChosenPoint,
    CoefficientCount,
    DawaPartition,
    DeclaredFunction,
    DyadicPartition,
    MeanDistance,
    MeasureTables,
    MedianCell,
    NestedQuantiles,
    NoisyCount,
    NonZeros,
    PairChoice,
    ParentChoice,
    Partitionality,
    Resolution,
    SplitChoice,
    TotalVariation,
    TunedParameter,
    VectorLaplace,
    WorstApproximated,
)  # fmt: skip
from adyton.kernel.transforms import (
    TRANSFORMS,
    Coarsen,
    CountLeaves,
    CountMisfits,
    CountTables,
    GroupBy,
    LinearMap,
    MergeCells,
    Reduce,
    Select,
    ShareRows,
    SingleTables,
    SplitTable,
    SplitVector,
    SumValues,
    UnitSizes,
    Vectorize,
    Where,
)  # fmt: skip
from adyton.queries import (
    AllRange,
    Cells,
    Explicit,
    Grid,
    Haar,
    Hierarchy,
    Identity,
    Kronecker,
    Marginals,
    Measurement,
    OnGroups,
    Partition,
    Prefix,
    Product,
    Ranges,
    Reduction,
    Stack,
    Total,
    Weighted,
)  # fmt: skip
from adyton.queries.cosines import Cosines
from adyton.queries.measurement import NoisyTables
from adyton.schema import RowTree
from adyton.session.wire import decode, decode_facts, decode_result, encode, encode_facts, encode_result
from over_cases import over

TREE = RowTree.stump(["sex", "smoker"]).grow({0: "sex"}, {"sex": 2})
EXAMPLES = [
    Select(("age", "sex")),
    Coarsen(ad.Schema({"age": ad.Integer(0, 119, step=10)})),
    Where("age > 3 and sex = 'F'"),
    GroupBy(("age",), "n", 5),
    UnitSizes("visits", 9),
    SplitTable("age"),
    SplitTable("age", Partition([0, 1, -1])),
    Vectorize(),
    CountMisfits(("age",), ("sex",)),
    CountMisfits(("age", "sex")),
    CountTables((("age", "sex"), ("sex",))),
    MergeCells((("age", "sex"), ("sex",)), ((Partition([0, 1, 0]), None), (None,))),
    SingleTables(),
    MeasureTables((0, 2), (Fraction(1, 3), Fraction(1, 2))),
    PairChoice.of({0: [[0.5, 2], [0, 1]], 2: [[1, 1], [1, 1]]}, 3, 2, forest=True),
    MeanDistance.of({1: [0.25, 7]}),
    ParentChoice((0, 1), "age"),
    CountLeaves(TREE, ("age",)),
    CountLeaves(TREE, ()),
    SplitChoice(TREE, TREE.free(), "age", "entropy", 1000),
    Reduce(Partition([0, 0, 1])),
    SplitVector(Partition([0, 1, 1])),
    LinearMap(Explicit.from_rows([[1, -2, 0]])),
    LinearMap(Total((2, 3))),
    NoisyCount(),
    Bisections(3, Fraction(2, 7), Fraction(1, 3)),
    BucketBoundaries(3, 20, 9),
    CoefficientCount(Fraction(1, 2)),
    DawaPartition(Fraction(4, 3), "all", 12),
    DyadicPartition((2, 3), Fraction(1, 3)),
    DeclaredFunction("largest"),
    MedianCell(),
    NestedQuantiles(4, 2, (Fraction(1, 4), Fraction(1, 2)), np.array([3, 1])),
    SumValues("age", ("sex",)),
    ShareRows("age", (), 2),
    NonZeros(),
    Partitionality(Fraction(5, 2)),
    Resolution((1, 4), (7, 0)),
    TotalVariation(),
    TunedParameter(),
    TunedParameter(0.5),
    ChosenPoint(),
    WorstApproximated(Prefix(3), np.array([1, -2, 3]), 8),
    VectorLaplace(Identity((2, 3))),
    VectorLaplace.weighted(Prefix(3), [1, 2, 3]),
]


def test_every_operator_has_an_example():
    assert {type(example) for example in EXAMPLES} == {*TRANSFORMS, *MECHANISMS}


@over(EXAMPLES)
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
    """Not in the list. Claim. None. Proof. None."""


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
        '{"MergeCells": {"groups": [["a"]], "maps": [[[0, 1]]]}}', '{"MergeCells": {"maps": []}}',
        '{"MergeCells": {"groups": [["a"]], "maps": [[{"Partition": {"labels": [0, 1], "groups": 3}}]]}}',
        '{"MergeCells": {"groups": [["a"]], "maps": [[{"Total": {"domain": [2]}}]]}}',
        '{"MergeCells": {"groups": ["a"], "maps": [[null]]}}',
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


QUERY_SETS = [
    Identity((2, 3)), Total(6), Prefix(6), AllRange(4), Ranges((2, 3), [[0, 1]], [[1, 2]]), Haar(6),
    Hierarchy((2, 3), [[0, 6], [0, 2, 6]], [5, 4, 3, 2, 1, 0], [0, 2]), Marginals((2, 3), way=1),
    Grid.of_blocks((2, 3), (1, 2)), Kronecker([Haar(2), Prefix(3)]), Stack([Total(6), Prefix(6)]),
    Product(Prefix(2), Reduction(Partition([0, 0, 1, 1, 1, -1]))), Reduction(Partition([0, 1, 1])), Cells(6, [3, 1]),
    OnGroups(Ranges(4, [[0]], [[1]]), Partition([0, 0, 1, 1])), Explicit.from_rows([[0, 5], [7, 0]]),
    Cosines(6, 4),
]  # fmt: skip


def test_every_query_set_that_can_be_measured_has_an_example():
    assert {type(queries) for queries in QUERY_SETS} == {*QUERIES, Cosines}


@over(QUERY_SETS)
def test_query_sets_arrive_as_they_were(queries):
    again = decode(encode(VectorLaplace(queries))).queries
    x = np.arange(queries.cells) + 3
    np.testing.assert_array_equal(again @ x, queries @ x)
    assert again.domain == queries.domain
    assert again.sensitivity() == queries.sensitivity()


@pytest.mark.parametrize(
    "queries",
    [
        Weighted(Identity(2), [1, 1]),
        Stack([Identity(2), Weighted(Identity(2), [0.5, 0.5])]),
        Kronecker([Stack([Weighted(Identity(2), 1)])]),
        Product(Weighted(Identity(1), 0.1), Total(2)),
        OnGroups(Weighted(Identity(2), 0.1), Partition([0, 1])),
    ],
    ids=str,
)
def test_weighted_queries_are_not_measured_however_deep(queries):
    with pytest.raises(BadInput, match="Weighted"):
        Kernel.simulated([1, 2], epsilon=1).root.measure(queries, 1)


def test_a_lying_query_set_inside_another_one_is_refused():
    class Free(Identity):
        def column_sums(self, weights=None):
            return np.zeros(2, dtype=np.int64)

    touched = Identity(2)
    object.__setattr__(touched, "column_sums", lambda weights=None: np.zeros(2, dtype=np.int64))
    for inner in (Free(2), touched):
        with pytest.raises(BadInput):
            encode(VectorLaplace(Stack([inner])))


def test_queries_inside_queries_without_end_are_refused():
    queries = Identity(2)
    for _ in range(30):
        queries = Stack([queries])
    with pytest.raises(BadInput, match="deep"):
        encode(VectorLaplace(queries))


# ---- what comes out -------------------------------------------------------------------------------------------------

X = np.array([5, 0, 9, 2, 2, 7])
RESULTS = {
    "plain": lambda x: x.measure(Prefix(6), 1),
    "weighted": lambda x: x.measure(Prefix(6), 1, weights=[1, 2, 3, 4, 5, 6]),
    "derived": lambda x: x.reduce(Partition([0, 0, 1, 1, 2, -1])).map(Total(3)).measure(Identity(1), 1),
    "partition": lambda x: x.select(DawaPartition(), 1),
    "choice": lambda x: x.select(MedianCell(), 1),
    "noisy value": lambda x: x.statistic(TotalVariation(), 1),
}


def parts(result):
    """All that a result says, in values that can be compared."""
    if not isinstance(result, Measurement):
        return (result.labels.tolist(), result.groups) if isinstance(result, Partition) else result
    asked = result.on_first_vector()
    facts = (asked @ np.arange(asked.cells)).tolist(), result.epsilon, result.private
    return result.answers.tolist(), result.variances.tolist(), result.answers.dtype, *facts


@pytest.mark.parametrize("measure", RESULTS.values(), ids=RESULTS)
def test_results_arrive_as_they_were(measure):
    result = measure(Kernel.simulated(X, epsilon=1, seed=1).root)
    again = decode_result(encode_result(result))
    assert type(again) is type(result)
    assert parts(again) == parts(result)


def test_answers_of_any_length_and_number_arrive():
    huge = Kernel.simulated(np.array([2**62, 2**62]), epsilon=1, seed=1).root.measure(Total(2), 1)
    many = Kernel.simulated(X, epsilon=1, seed=1, trials=4).root.measure(Identity(6), 1)
    assert (huge.answers.dtype, many.answers.shape) == (object, (4, 6))
    for result in (huge, many):
        assert parts(decode_result(encode_result(result))) == parts(result)


def packed(change):
    """A measurement as text, after a change."""
    plain = json.loads(encode_result(Kernel.simulated(X, epsilon=1, seed=1).root.measure(Identity(6), 1)))
    change(plain["Measurement"])
    return json.dumps(plain)


def array(values):
    return json.loads(encode_result(Partition(values)))["Partition"]["labels"]


def reals(values):
    packed = base64.b64encode(np.array(values, dtype=np.float64).tobytes()).decode()
    return {"array": ["float64", [len(values)], packed]}


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(answers=array([1, 2])),
        lambda m: m.update(answers=m["variances"]),
        lambda m: m.update(answers={"array": ["object", [6], [1, 2, 3, 4, 5, "6"]]}),
        lambda m: m.update(answers={"array": ["object", [6], [1, 2, 3, 4, 5, 2**4000]]}),
        lambda m: m.update(answers={"array": ["complex128", [6], ""]}),
        lambda m: m.update(answers=[1, 2, 3, 4, 5, 6]),
        lambda m: m.update(variances=array([1, 2, 3, 4, 5, 6])),
        lambda m: m.update(variances=reals([1, 2])),
        lambda m: m.update(variances=reals([1, 2, 3, 4, 5, -1])),
        lambda m: m.update(variances=reals([1, 2, 3, 4, 5, np.nan])),
        lambda m: m.update(epsilon={"fraction": [-1, 2]}),
        lambda m: m.update(epsilon={"fraction": [1, 0]}),
        lambda m: m.update(epsilon=0.5),
        lambda m: m.update(private=1),
        lambda m: m.update(queries=None),
        lambda m: m.update(queries={"Select": {"attributes": ["age"]}}),
        lambda m: m.update(mapping={"Total": {"domain": [3]}}),
        lambda m: m.update(noise=1),
        lambda m: m.pop("variances"),
    ],
)
def test_spoiled_measurements_are_not_received(change):
    with pytest.raises(BadInput):
        decode_result(packed(change))


SPOILED_TABLES = [
    {"groups": [["a"]]}, {"shapes": [[2], [3]]}, {"shapes": [[2], [2, 1]]}, {"shapes": [[2], ["2"]]},
    {"counts": array([0, 1, 2])}, {"counts": [1, 2, 3, 4]}, {"variances": reals([1.0])},
    {"variances": reals([1.0, np.nan])}, {"epsilon": {"fraction": [0, 1]}}, {"private": 1}, {"more": 1},
]  # fmt: skip


def spoiled_tables(change):
    """Noisy tables as text, after a change."""
    good = NoisyTables((("a",), ("b",)), ((2,), (2,)), np.arange(4), np.ones(2), Fraction(1), True)
    text = encode_result(good)
    assert decode_result(text).tables()["b",].tolist() == [2, 3]
    plain = json.loads(text)
    plain["NoisyTables"].update(change)
    return json.dumps(plain)


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "true", "2.5", '"3"', "[1.5]", "[true]", "[[1]]", "9" * 1000, "NaN", '{"NoisyCount": {}}',
        '{"Identity": {"domain": [3]}}',
        '{"NoisyValue": {"value": NaN, "deviation": 1.0, "private": true}}',
        '{"NoisyValue": {"value": 1e999, "deviation": 1.0, "private": true}}',
        '{"NoisyValue": {"value": 1.0, "deviation": -1.0, "private": true}}',
        '{"NoisyValue": {"value": 1, "deviation": 1.0, "private": true}}',
        '{"NoisyValue": {"value": 1.0, "deviation": 1.0, "private": "yes"}}',
        '{"Partition": {"labels": [0, 5], "groups": 2}}',
        *(spoiled_tables(change) for change in SPOILED_TABLES),
    ],
)  # fmt: skip
def test_nonsense_is_no_result(text):
    with pytest.raises(BadInput):
        decode_result(text)


@pytest.mark.parametrize(
    "change",
    [
        {"node": -1}, {"node": True}, {"stability": -1}, {"lineage": [1]}, {"lineage": "root"}, {"shape": None},
        {"shape": {"Facts": {}}}, {"shape": {"VectorShape": {"shape": [2.5]}}},
        {"shape": {"Identity": {"domain": [6]}}},
        {"shape": {"VectorShape": {"shape": [6], "pending": {"size": [1, "2"]}}}}, {"more": 1},
        {"shape": {"VectorShape": {"shape": [6], "schema": {"schema": {"attributes": 3}}}}},
    ],
)  # fmt: skip
def test_spoiled_facts_are_not_received(change):
    plain = json.loads(encode_facts(Kernel.simulated(X, epsilon=1).root.facts))
    plain["Facts"].update(change)
    with pytest.raises(ad.errors.AdytonError):
        decode_facts(json.dumps(plain))


def merged_tables():
    """A source with a merged table and another one."""
    schema = ad.Schema({"a": ad.Integer(0, 2), "b": ad.Boolean()})
    tables = Kernel.simulated_table(np.zeros((9, 2), dtype=int), schema, epsilon=1).root.tables([("a", "b"), ("b",)])
    return tables.merged([(("a", "b"), ([1, 0, 1], None)), (("b",), (None,))])


def test_the_facts_of_merged_tables_arrive_as_they_were():
    facts = merged_tables().facts
    again = decode_facts(encode_facts(facts))
    assert (again, hash(again.shape)) == (facts, hash(facts.shape))
    assert again.shape.shapes == ((2, 2), (2,))


@pytest.mark.parametrize(
    "change",
    [
        {"merged": [[2, None]]}, {"merged": [[2], [None]]}, {"merged": [[2, None], [None], [None]]}, {"merged": [2, 1]},
        {"merged": [[0, None], [None]]}, {"merged": [[-1, None], [None]]}, {"merged": [[4, None], [None]]},
        {"merged": [[2.0, None], [None]]}, {"merged": [[True, None], [None]]}, {"merged": None},
        {"groups": [["a", "c"], ["b"]]}, {"groups": [["a"], ["b"]]}, {"pending": 3},
    ],
)  # fmt: skip
def test_spoiled_facts_of_merged_tables_are_not_received(change):
    plain = json.loads(encode_facts(merged_tables().facts))
    plain["Facts"]["shape"]["TablesShape"].update(change)
    with pytest.raises(BadInput):
        decode_facts(json.dumps(plain))


def test_an_array_of_other_numbers_is_refused():
    """Weights that are no whole numbers would break the proof, however they came to be there."""
    kernel, forged = Kernel.simulated([1, 2], epsilon=1), VectorLaplace(Identity(2))
    object.__setattr__(forged, "weights", np.frombuffer(np.array([1.0, 2.5]).tobytes()))
    with pytest.raises(BadInput, match="float64"):
        kernel.measure(kernel.root, forged, 1)
    with pytest.raises(BadInput, match="float64"):
        encode(forged)


@over([*(kind.__name__ for kind in mechanisms.CORE), *mechanisms.PLACES])
def test_a_class_with_the_name_of_a_mechanism_is_a_stranger(name):
    """What is known is the class itself, wherever it stands, and not its name."""
    own = getattr(mechanisms, name)
    stranger = dataclass(frozen=True)(type(name, (own,), {"__module__": own.__module__, "__doc__": own.__doc__}))
    assert mechanisms.is_mechanism(own)
    assert not mechanisms.is_mechanism(stranger)
    with pytest.raises(BadInput, match="does not accept the operator"):
        admit(object.__new__(stranger))


def test_a_mechanism_that_nobody_has_loaded_is_read_from_its_text():
    text = encode(Bisections(1, Fraction(2), Fraction(1, 10)))
    code = f"""
import sys
from adyton.session.wire import decode
from adyton.kernel.mechanisms import is_mechanism
assert "adyton.kernel.mechanisms.published.bisections" not in sys.modules
assert is_mechanism(type(decode({text!r})))
"""
    subprocess.run([sys.executable, "-c", code], check=True)
