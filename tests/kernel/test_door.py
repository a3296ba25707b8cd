"""Plans run through any door: here through one that turns all that passes into JSON text and back."""

from fractions import Fraction

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MeanDistance, MeasureTables, PairChoice, ParentChoice, SplitChoice
from adyton.kernel.sources import TableSource, TablesSource, VectorSource, handle
from adyton.plans import plan_named
from adyton.queries import AllRange, Partition, Prefix
from adyton.schema import RowTree
from adyton.session.wire import decode, decode_facts, decode_result, encode, encode_facts, encode_result


class TextDoor:
    """A kernel elsewhere: only texts reach it, and only texts come back."""

    def __init__(self, kernel):
        self._kernel, self._sources, self.texts = kernel, {}, []
        self.root = self._received(kernel.root)

    @property
    def budget(self):
        return self._kernel.budget

    def transform(self, source, operator):
        sources = self._kernel.transform(self._sources[source.node], decode(self._sent(encode(operator))))
        return tuple(self._received(one) for one in sources)

    def measure(self, source, operator, epsilon):
        asked = decode(self._sent(encode(operator)))
        answer = self._kernel.measure(self._sources[source.node], asked, Fraction(self._sent(str(Fraction(epsilon)))))
        return decode_result(self._sent(encode_result(answer)))

    def afford(self, source, epsilon):
        self._kernel.afford(self._sources[source.node], epsilon)

    def _received(self, source):
        self._sources[source.node] = source
        return handle(self, decode_facts(self._sent(encode_facts(source.facts))))

    def _sent(self, text):
        assert type(text) is str
        self.texts.append(text)
        return text


def counts(cells):
    return np.random.default_rng(5).poisson(np.linspace(0, 40, cells) * (np.arange(cells) % 7 < 3))


PLANS = ["identity", "hb", "greedy-h", "privelet", "dawa", "ahp", "mwem", "efpa", "php", "structure-first", "pythia"]


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_gives_the_same_through_text(name):
    x, workload = counts(64), AllRange(64)
    near = Kernel.simulated(x, epsilon=2, seed=11)
    door = TextDoor(Kernel.simulated(x, epsilon=2, seed=11))
    here = plan_named(name).estimate(near.root, workload, 1)
    there = plan_named(name).estimate(door.root, workload, 1)
    assert here.tobytes() == there.tobytes()
    assert door.budget == near.budget
    assert len(door.texts) > 3


@pytest.mark.parametrize("name", ["quadtree", "adaptive-grid"])
def test_a_plan_on_a_plane(name):
    x = counts(256).reshape(16, 16)
    workload = ad.workloads.RandomRanges((16, 16), 40, seed=1)
    near = plan_named(name).estimate(Kernel.simulated(x, epsilon=1, seed=3).root, workload, 1)
    door = TextDoor(Kernel.simulated(x, epsilon=1, seed=3))
    assert near.tobytes() == plan_named(name).estimate(door.root, workload, 1).tobytes()


def test_many_trials():
    x = counts(32)
    near = Kernel.simulated(x, epsilon=1, seed=3, trials=5)
    door = TextDoor(Kernel.simulated(x, epsilon=1, seed=3, trials=5))
    found = [plan_named("hb").estimate(one.root, Prefix(32), 1) for one in (near, door)]
    assert found[0].shape == (5, 32)
    assert found[0].tobytes() == found[1].tobytes()


def test_tables_behind_a_door(table, schema):
    door = TextDoor(ad.Kernel(table, schema=schema, epsilon=1))
    old = door.root.where("age >= 50").select("sex", "age")
    assert isinstance(old, TableSource)
    assert (old.schema.names, old.lineage[1:]) == (("sex", "age"), ('where("age" >= 50)', "select(sex, age)"))
    vector = old.vectorize()
    assert isinstance(vector, VectorSource)
    assert (vector.shape, vector.schema) == ((2, 10), old.schema)
    halves = vector.split(Partition(np.arange(20) // 10))
    answers = [half.measure(ad.workloads.Identity(10), "0.25").answers for half in halves]
    assert [answer.shape for answer in answers] == [(10,), (10,)]
    assert door.root.group_by("patient", max_count=3).stability == 2
    assert door.budget.spent == Fraction(1, 4)
    with pytest.raises(BudgetExceeded, match="0.75 of 1 is left"):
        plan_named("identity").estimate(vector, ad.workloads.Identity((2, 10)), "0.8")


def test_leaves_behind_a_door(table, schema):
    tree = RowTree.stump(["sex", "age"]).grow({0: "sex"}, schema)
    door = TextDoor(ad.Kernel(table, schema=schema, epsilon=200))
    choice = SplitChoice(tree, tree.free(), "stay", "entropy", 100)
    assert door.root.choose_splits(choice, 1) == (1, 1)
    leaves = door.root.leaves(tree, "age")
    assert (leaves.shape, leaves.lineage[-1], leaves.facts.shape.leaves) == ((2, 10), "leaves(age)", tree)
    answers = leaves.measure(ad.workloads.Identity((2, 10)), 60).answers.reshape(2, 10)
    assert answers.sum(axis=1).tolist() == [3, 2]
    assert door.budget.spent == 61


@pytest.mark.parametrize("cells", [None, [1, 0, 1]])
def test_many_tables_behind_a_door(cells):
    """As they are, and with merged cells."""
    schema = ad.Schema({name: ad.Integer(0, 2) for name in "abc"})
    codes = np.random.default_rng(2).integers(0, 3, (100, 3))
    found = []
    for through in (lambda kernel: kernel, TextDoor):
        kernel = Kernel.simulated_table(codes, schema, epsilon=10, seed=5)
        tables = through(kernel).root.tables([("a", "b"), ("b", "c"), ("c", "a")])
        tables = tables if cells is None else tables.merged(dict.fromkeys(tables.groups, (cells, None)))
        assert isinstance(tables, TablesSource)
        noisy = tables.measure(MeasureTables.weighted((0, 2), (1, 2)), 1)
        guesses = {place: np.full(shape, 11.3) for place, shape in enumerate(tables.shapes)}
        found.append(
            (
                [(one.group, one.counts.tolist(), one.variance) for one in noisy],
                tables.choose_pairs(PairChoice.of(guesses, 2, 2, forest=True), 1),
                tables.mean_distance(MeanDistance.of(guesses), 1),
                tables.choose_parents(ParentChoice((0, 1, 2), "c"), 1),
                tables.vectors()[1].measure(ad.workloads.Identity(tables.shapes[1]), 1).answers.tolist(),
                (tables.groups, tables.shapes, tables.lineage, kernel.spent),
            )
        )
    assert found[0] == found[1]


def test_a_handle_on_a_door_is_of_no_use_to_a_kernel():
    kernel = Kernel.simulated([1, 2], epsilon=1)
    with pytest.raises(BadInput, match="another kernel"):
        kernel.measure(TextDoor(kernel).root, ad.kernel.mechanisms.NonZeros(), 1)
