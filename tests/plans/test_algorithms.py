"""One contract for whatever runs on a source, by the registries: names, options, and what is refused before a debit."""

from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.configuration.family import FAMILIES
from adyton.errors import BadInput, BudgetExceeded
from adyton.kernel.kernel import Kernel
from adyton.kernel.operators import MOST_TRANSFORMS
from adyton.learning.model import MODELS
from adyton.learning.registry import LEARNERS
from adyton.marginals.program import PROGRAMS as TABLES
from adyton.marginals.program import TableSet
from adyton.plans.algorithm import Algorithm
from adyton.plans.registry import ALGORITHMS
from adyton.queries import Identity
from adyton.statistics.grouped import GroupedNumbers
from adyton.statistics.programs import PROGRAMS as NUMBERS

SCHEMA = ad.Schema({"a": ad.Integer(0, 2), "b": ad.Integer(0, 3), "label": ad.Boolean()})
CODES = np.stack(np.unravel_index(np.arange(600) % 24, SCHEMA.shape), axis=1)
ASKED = {"sums": ad.Sum("b"), "shares": ad.Mean("b"), "choice": ad.Quantiles("b"), "cdf": ad.Quantiles("b")}
REGISTRIES = {"plans": ALGORITHMS, "tables": TABLES, "learners": LEARNERS, "numbers": NUMBERS}
EVERY = [
    *(("plans", name) for name in ("identity", "hb", "dawa", "mwem", "pythia")),  # all plans have a contract test
    *((kind, name) for kind in ("tables", "learners", "numbers") for name in REGISTRIES[kind]),
]


def case(kind, name, epsilon=1):
    """The algorithm, a kernel, its source, and what is asked for."""
    algorithm = REGISTRIES[kind].named(name)
    if kind == "plans":
        kernel = Kernel.simulated(np.arange(16), epsilon=epsilon, seed=1)
        return algorithm, kernel, kernel.root, Identity(16)
    kernel = Kernel.simulated_table(CODES, SCHEMA, epsilon=epsilon, seed=1)
    wanted = TableSet.of(SCHEMA, [("a", "b"), ("a", "label"), ("b", "label")])
    numbers = GroupedNumbers.of(ASKED.get(name, ad.Summary("b", by="a")), SCHEMA)
    return algorithm, kernel, kernel.root, {"tables": wanted, "learners": "label", "numbers": numbers}[kind]


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_what_runs_spends_at_most_what_was_prepared(kind, name):
    algorithm, kernel, source, asked = case(kind, name)
    assert isinstance(algorithm, Algorithm)
    assert algorithm.name == name
    run = algorithm.prepared(source, asked, F(1, 2))
    assert kernel.spent == 0
    run()
    assert 0 < kernel.spent <= F(1, 2)
    assert kernel.spent == F(1, 2) or kind == "learners" or name in ("select-pairs", "auto")


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_what_cannot_be_carried_out_spends_nothing(kind, name):
    algorithm, kernel, source, asked = case(kind, name)
    with pytest.raises(BudgetExceeded):
        algorithm.prepared(source, asked, F(2))
    with pytest.raises(BadInput, match=r"at least 2\^-40"):
        algorithm.prepared(source, asked, F(1, 1 << 41))
    deep = source
    while len(deep.lineage) <= MOST_TRANSFORMS - 10:
        deep = deep.map(Identity(16)) if kind == "plans" else deep.select(*SCHEMA.names)
    with pytest.raises(BadInput, match="was derived in"):
        algorithm.prepared(deep, asked, F(1, 2))
    with pytest.raises(BadInput, match=f"{name} has no option 'colour'"):
        REGISTRIES[kind].named(name, colour="red")
    assert kernel.spent == 0


@pytest.mark.parametrize("registry", [*REGISTRIES.values(), FAMILIES])
def test_names(registry):
    assert len(registry) == len(set(registry))
    assert all(registry[name].name == name and name in registry for name in registry)
    assert "no such" not in registry
    assert registry.what_it_does("no such") == ""
    for given in ("no such", None, ["hb"]):
        with pytest.raises(BadInput, match="there is no .* There are"):
            registry[given]


def test_models_by_kind():
    assert all(MODELS[name].kind == name for name in MODELS)


def test_a_program_that_does_not_tell_what_is_asked_for():
    algorithm, kernel, source, _ = case("numbers", "sums")
    with pytest.raises(BadInput, match="sums does not measure the mean of b.*Name shares"):
        algorithm.prepared(source, GroupedNumbers.of(ad.Mean("b"), SCHEMA), F(1))
    assert kernel.spent == 0
