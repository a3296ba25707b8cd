"""Whatever runs on a kernel in this process runs on one behind a service, and gives the same."""

import gc
import threading
from fractions import Fraction

import numpy as np
import pytest

import adyton as ad
from adyton.choice.decision_tree import Leaf, Split
from adyton.choice.models import TreeModel
from adyton.choice.policy import Learnt
from adyton.errors import BadInput, BudgetExceeded, KernelFailure, ServiceError
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import NoisyCount
from adyton.kernel.transforms import Vectorize
from adyton.learning import tree_growing
from adyton.learning.registry import learner_named, learners
from adyton.plans import algorithms, plan_named
from adyton.queries import Identity, Partition, Prefix, RandomRanges
from small_service import TOKEN, SmallService, listening

SCHEMA = ad.Schema(
    {
        "age": ad.Integer(0, 63),
        "sex": ad.Categorical(["F", "M"]),
        "visits": ad.Integer(0, 7),
        "x": ad.Integer(0, 15),
        "y": ad.Integer(0, 15),
    }
)
CODES = np.random.default_rng(3).binomial([63, 1, 7, 15, 15], [0.3, 0.4, 0.5, 0.6, 0.2], (3000, 5))
NAMES = algorithms()


def simulated(seed=7):
    return Kernel.simulated_table(CODES, SCHEMA, epsilon=1000, seed=seed)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    service = SmallService(simulated())
    with listening(service, tmp_path_factory.mktemp("s") / "s") as address:
        service.url = address
        yield service


@pytest.fixture
def opened(service):
    """A function that returns a kernel here and its twin behind the service, with the same noise."""
    sessions = []

    def pair(seed=7):
        service.kernel, service.doors, service.results = simulated(seed), {}, {}
        sessions.append(ad.connect(service.url, token=TOKEN))
        return simulated(seed), sessions[-1].kernel

    yield pair
    for session in sessions:
        session.close()


def domains(name):
    dimensions = plan_named(name).serves
    return [axes for axes in (("age",), ("x", "y"), ("sex", "visits", "x")) if dimensions.serves(len(axes))][:1]


@pytest.mark.parametrize("name", NAMES)
def test_every_plan_gives_the_same(name, opened):
    (axes,) = domains(name)
    here, there = opened()
    answers = []
    for kernel in (here, there):
        x = kernel.root.select(axes).vectorize()
        workload = Prefix(x.shape) if len(axes) == 1 else RandomRanges(x.shape, 30, seed=1)
        answers.append(plan_named(name).estimate(x, workload, "1/3"))
    assert answers[0].tobytes() == answers[1].tobytes()
    assert (there.spent, there.remaining) == (here.spent, here.remaining) == (Fraction(1, 3), 1000 - Fraction(1, 3))


@pytest.mark.parametrize("name", learners())
def test_every_learner_gives_the_same(name, opened, monkeypatch):
    monkeypatch.setattr(tree_growing.secrets, "randbits", lambda bits: 7)  # random trees
    sources = [kernel.root.select("sex", "age", "visits") for kernel in opened()]
    models = [learner_named(name).fit(source, "sex", 1).to_plain() for source in sources]
    assert models[0] == models[1]


def tree(feature):
    leaf = Leaf("by_hierarchy", {"by_cells": 1.0, "by_hierarchy": 0.0}, 3)
    return TreeModel(Split(feature, 10.0, Leaf("by_cells", {"by_cells": 0.0, "by_hierarchy": 1.0}, 3), leaf))


def fraction_of_rows(source, epsilon):
    return source.reduce(Partition([0] * 8 + [-1] * 56)).measure(Identity(1), epsilon).answers[0]


@ad.option
def by_cells(source, workload, *, epsilon):
    return plan_named("identity").estimate(source, workload, epsilon)


@ad.option
def by_hierarchy(source, workload, *, epsilon):
    return plan_named("hb").estimate(source, workload, epsilon)


def test_a_choice_maker_gives_the_same(opened):
    seen = {"fraction_of_rows": (-1e9, 1e9)}
    learnt = Learnt(("by_cells", "by_hierarchy"), "by_cells", tree("fraction_of_rows"), seen)
    maker = ad.ChoiceMaker([by_cells, by_hierarchy], informed_by=[ad.metafeature(fraction_of_rows)], learnt=learnt)
    answers = [maker(kernel.root.select("age").vectorize(), Prefix(64), epsilon=1) for kernel in opened()]
    assert answers[0].tobytes() == answers[1].tobytes()
    assert str(maker.trace[0]) == str(maker.trace[1])
    assert maker.trace[0].bought


# ---- doors that close -----------------------------------------------------------------------------------------------


def test_what_was_derived_is_derived_again_behind_another_door(service, opened):
    _, there = opened()
    parts = there.root.split("sex")
    ages = [part.select("age").vectorize() for part in parts]
    first = ages[0].measure(Identity(64), "0.5")
    service.kernel, service.doors = simulated(8), {}
    calls = len(service.calls)
    again = [x.measure(Identity(64), "0.25") for x in ages]
    made = [call.rpartition("/")[2] for call in service.calls[calls:]]
    assert made.count("POST ") == 0
    assert made.count("transform") == 5  # the split once, then select and vectorize for each of its parts
    assert service.kernel.spent == Fraction(1, 4)  # the parts are still disjoint
    assert [answer.answers.shape for answer in (first, *again)] == [(64,)] * 3


def test_a_measurement_before_its_door_closed_is_not_paid_twice(service, opened):
    _, there = opened()
    service.troubles.extend([None, "lost"])
    answer = there.root.count("0.5")  # opens a door, and is sent twice
    assert service.kernel.spent == Fraction(1, 2)
    assert answer.answers.shape == (1,)


def test_a_table_with_another_schema_is_refused(service, opened):
    _, there = opened()
    ages = there.root.select("age").vectorize()
    service.kernel, service.doors = Kernel.simulated_table(CODES, SCHEMA.with_attributes(
        {**SCHEMA.attributes, "age": ad.Integer(0, 99)}), epsilon=1), {}  # fmt: skip
    with pytest.raises(ServiceError, match="has changed at the service"):
        ages.measure(Identity(64), 1)
    assert service.kernel.spent == 0


def test_doors_that_close_again_and_again(service, opened, monkeypatch):
    _, there = opened()
    real = service._said

    def closing(*given):
        said = real(*given)
        service.doors = {}
        return said

    monkeypatch.setattr(service, "_said", closing)
    with pytest.raises(ServiceError, match="ends again and again"):
        there.root.count(1)


def test_what_is_no_longer_used_is_forgotten_many_at_a_time(service, opened):
    _, there = opened()
    ages = there.root.select("age")
    calls = len(service.calls)
    for _ in range(100):
        ages.vectorize()
    gc.collect()
    vector = ages.vectorize()
    (door,) = service.doors.values()
    assert sum(call.endswith("/forget") for call in service.calls[calls:]) == 1
    assert len(door) < 45
    del ages
    gc.collect()
    for _ in range(100):
        there.root.select("sex")
    assert vector.measure(Identity(64), 1).answers.shape == (64,)  # what it is derived from is kept
    assert len(door) < 80


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_the_door_refuses_what_a_kernel_refuses(service, opened):
    here, there = opened()
    with pytest.raises(BadInput, match="source of another kernel"):
        there.measure(here.root, NoisyCount(), 1)
    with pytest.raises(BadInput, match="not a mechanism"):
        there.measure(there.root, Vectorize(), 1)
    with pytest.raises(BadInput, match="not a transform"):
        there.transform(there.root, NoisyCount())
    with pytest.raises(BadInput, match="greater than 0"):
        there.root.count(0)
    with pytest.raises(BadInput, match="has 64 cells"):
        there.root.select("age").vectorize().measure(Identity(63), 1)
    with pytest.raises(BudgetExceeded) as refused:
        there.afford(there.root, 2000)
    assert (refused.value.left, refused.value.total) == (1000, 1000)
    for action in (list, len, bool):
        with pytest.raises(TypeError):
            action(there.root)
    assert "<private table: simulation; attributes age, sex" in repr(there.root)
    assert there.spent == 0


def test_a_measurement_that_failed_at_the_service(service, opened, monkeypatch):
    _, there = opened()

    def fails(*_, **__):
        raise KernelFailure

    monkeypatch.setattr(service, "_measure", fails)
    with pytest.raises(KernelFailure, match="stays spent"):
        there.root.count(1)


def test_long_fractions_pass(opened):
    here, there = opened()
    for epsilon in (Fraction(1, 3) * Fraction(10**18, 10**18 + 9), Fraction(7, 2**60), "0.1"):
        first, second = (kernel.root.count(epsilon) for kernel in (here, there))
        assert (first.epsilon, first.answers.tolist()) == (second.epsilon, second.answers.tolist())
    assert here.spent == there.spent


def test_several_threads_share_a_door(opened):
    _, there = opened()
    ages = there.root.select("age").vectorize()
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(ages.measure(Identity(64), "0.1").answers)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer.tobytes() for answer in seen}) == 8
    assert there.spent == Fraction(8, 10)
