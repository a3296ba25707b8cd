"""Selectors, which come from files, that end in what cannot be run: refused before any feature is paid for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import adyton as ad
from adyton.choice.decision_tree import Leaf, Split
from adyton.choice.selector import Training
from adyton.choice.trained_selectors import TreeSelector
from adyton.errors import BadInput
from adyton.queries import Identity


def selector(name: str, *, share: str = "1/100", feature: str = "scale") -> TreeSelector:
    """A tree that asks about one feature and ends in one algorithm."""
    about = Training(
        dimensions=1,
        algorithms=(name,),
        workloads=("identity",),
        corpus=("x",),
        epsilons=("1",),
        inputs=1,
        trials=1,
        date="2026-01-01",
        adyton="0",
    )
    leaf = Leaf(name, {name: 1.0}, 7)
    tree = Split(feature, 5.0, leaf, leaf)
    return TreeSelector.from_learnt(about, share, TreeSelector(about, Fraction(1, 2), {"identity": tree}).learnt())


def kernel(cells: int) -> ad.Kernel:
    return ad.Kernel.on_vector(np.ones(cells, dtype=np.int64), epsilon=1)


def test_no_selector_chooses_the_chooser():
    with pytest.raises(BadInput, match="'pythia' chooses too"):
        selector("pythia")


def test_a_chooser_under_another_name_is_not_chosen():
    """A subclass of Pythia, registered by somebody, cannot be run inside a choice either."""
    from dataclasses import dataclass

    from adyton.plans.registry import PLANS, register

    @register
    @dataclass(frozen=True, kw_only=True)
    class Again(ad.Pythia):
        """Chooses again."""

        name = "again"

    try:
        room = kernel(16)
        with pytest.raises(BadInput, match="'again' chooses too"):
            ad.Pythia(selector("again")).estimate(room.root, Identity(16), "0.5")
        assert room.spent == 0
    finally:
        del PLANS["again"]


def test_too_little_is_left_for_the_algorithm():
    room = kernel(16)
    plan = ad.Pythia(selector("identity", share="999/1000"))
    with pytest.raises(BadInput, match=r"leaves less than 2\^-40"):
        plan.estimate(room.root, Identity(16), Fraction(1, 1 << 38))
    with pytest.raises(BadInput, match=r"leaves less than 2\^-40"):
        ad.Pythia(selector("identity")).estimate(room.root, Identity(16), Fraction(1, 1 << 38))
    assert room.spent == 0
    assert np.isfinite(plan.estimate(room.root, Identity(16), "0.5")).all()
    assert room.spent == Fraction(1, 2)


@pytest.mark.parametrize("name", ["efpa"])
def test_an_algorithm_that_the_domain_is_too_large_for_is_not_chosen(name):
    room = kernel(1 << 18)
    with pytest.raises(BadInput, match="can run on this workload"):
        ad.Pythia(selector(name)).estimate(room.root, Identity(1 << 18), "0.5")
    assert room.spent == 0


def test_a_feature_that_the_domain_is_too_large_for_is_not_bought():
    shape = (1 << 23,)
    chooser = selector("identity", feature="partitionality")
    with pytest.raises(BadInput, match="GB of memory"):
        chooser.admit(Identity(shape), Fraction(1))
