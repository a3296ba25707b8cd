"""What an instance says depends on that instance alone: not on its place, on other instances, or on what ran before.

Every family is surveyed with its instances in other orders, alone and in company: no sum may change. A family whose
chance is keyed by position is caught by the same harness.
"""

import itertools

import numpy as np
import pytest

from adyton.configuration.family import families, family_named
from adyton.configuration.max_cut import MaxCut
from adyton.errors import BadInput
from adyton.kernel.instances.lattice import POINTS, Lattice, Utility
from adyton.kernel.instances.opening import survey

REGRET = Utility.named("regret")
PLACES = np.random.default_rng(0).integers(0, POINTS, 200)
EVERY = [family_named(name) for name in families()] + [MaxCut("threshold"), MaxCut("expected")]


def depends_on_order(family):
    """Whether a sum changes with the order of the instances, or what one says changes with its company."""
    lattice, instances = Lattice(*family.interval), list(family.examples())

    def sums(chosen):
        return survey(chosen, lambda instance: family.curve(instance, lattice), lattice, REGRET).at(PLACES)

    together = sums(instances)
    orders = [instances[::-1], [instances[place] for place in np.random.default_rng(1).permutation(len(instances))]]
    apart = np.sum([sums([instance]) for instance in instances], axis=0)
    return any(not np.array_equal(together, other) for other in [*map(sums, orders), apart])


@pytest.mark.parametrize("family", EVERY, ids=str)
def test_no_family_depends_on_the_order(family):
    assert not depends_on_order(family)


def test_chance_keyed_by_position_is_caught(monkeypatch):
    """Max-cut's hyperplanes drawn from a stream that all instances share."""
    numbers = itertools.count()
    monkeypatch.setattr(
        "adyton.configuration.problems.CutGraph.chance", lambda self: np.random.default_rng(next(numbers))
    )
    assert depends_on_order(MaxCut())


def test_families_by_name():
    assert all(family_named(name).name == name for name in families())
    assert family_named("max-cut", {"rounding": "expected"}) == MaxCut("expected")
    for name, options, said in (
        ("cut", {}, "no family 'cut'"),
        ("max-cut", {"planes": 2}, "no option 'planes'"),
        ("max-cut", {"rounding": "up"}, "no rounding 'up'"),
        ("max-cut", {"hyperplanes": "x"}, "whole number"),
    ):
        with pytest.raises(BadInput, match=said):
            family_named(name, options)
