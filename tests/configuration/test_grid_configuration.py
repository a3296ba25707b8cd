"""A black box on a public grid: one parameter, or two; failures are bad points, not errors."""

import math

import numpy as np
import pytest

import adyton as ad
from adyton.configuration.tuning import Grid
from adyton.errors import BadInput
from adyton.kernel.instances.lattice import UNIT, Utility
from adyton.kernel.instances.votes import vote_of


def near(instance, parameter):
    return 100 - 50 * abs(parameter - instance)


def near_both(instance, parameter):
    first, second = parameter
    return 100 - 30 * abs(first - instance) - 30 * abs(second - 2 * instance)


def test_one_parameter():
    grid = Grid(near, points=64, interval=(0, 2))
    found = ad.configure(grid, [0.7] * 2000, 1)
    assert abs(found.parameter - 0.7) < 0.06
    assert found.parameter in grid.parameters()
    assert (found.points, found.guarantee.points, found.family) == (64, 64, "grid")
    assert "among 64 points of [0, 2]" in str(found.explain())
    assert "the best of the 64 points of the grid; nothing is said" in str(found.guarantee)


def test_two_parameters(tmp_path):
    grid = Grid(near_both, points=(10, 20), interval=((0, 1), (0, 2)), name="both")
    assert (grid.size, len(grid.parameters()), grid.parameter(21)) == (200, 200, pytest.approx((0.15, 0.15)))
    found = ad.configure(grid, [0.5] * 4000, 1)
    assert abs(found.parameter[0] - 0.5) < 0.11
    assert abs(found.parameter[1] - 1) < 0.2
    found.save(tmp_path / "config.json")
    assert ad.Configuration.load(tmp_path / "config.json") == found
    assert ad.configure(grid, [0.5] * 10, 1, public=True).curve is None
    assert len(ad.configure(Grid(near), [0.5] * 10, 1, public=True).curve) == 64


def test_bad_points_are_bad_and_not_errors():
    def touchy(instance, parameter):
        if parameter < 0.5:
            raise ValueError(instance)
        return math.nan if parameter < 0.6 else 10 + parameter

    grid = Grid(touchy, points=10)
    levels = vote_of(grid.curve("anything"), grid.size, Utility.named("regret")).levels
    assert levels[:6].tolist() == [0] * 6
    assert levels[9] == UNIT
    lost = Grid(lambda instance, parameter: instance.nothing, points=10)
    assert ad.configure(lost, [1, 2, 3], 1).parameter in lost.parameters()


def test_examples_show_mistakes():
    broken = Grid(lambda instance, parameter: instance.nothing, examples=[3])
    with pytest.raises(BadInput, match="grid fails on its own example: AttributeError"):
        ad.configure(broken, [1], 1)
    absurd = Grid(lambda instance, parameter: math.inf, examples=[3])
    assert np.isfinite(absurd.curve(3).values).all()


BAD = {
    "no function": ({"run": 3}, "run must be a function"),
    "one point": ({"points": 1}, "points must be a whole number of at least 2"),
    "half a point": ({"points": 2.5}, "points must be a whole number"),
    "too many": ({"points": (300, 300), "interval": ((0, 1), (0, 1))}, "has up to 65,536 points"),
    "too few counts": ({"points": (3, 3)}, "one for each of 1 intervals"),
    "four axes": ({"interval": ((0, 1),) * 4}, "at most 3 parameters"),
    "zero length": ({"interval": (1, 1)}, "from a number to a greater one"),
    "words": ({"interval": "0,1"}, "two numbers such as"),
    "no name": ({"name": " "}, "name must be a word"),
}


@pytest.mark.parametrize(("given", "said"), BAD.values(), ids=BAD)
def test_bad_grids(given, said):
    with pytest.raises(BadInput, match=said):
        Grid(**{"run": near, **given})


@pytest.mark.parametrize("more", [{"interval": (0, 2)}, {"default": 0.5}])
def test_what_a_grid_does_not_take(more):
    with pytest.raises(BadInput, match="a grid has its own interval"):
        ad.configure(Grid(near), [0.5], 1, **more)
