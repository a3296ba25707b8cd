"""Votes are whole numbers of one instance alone; sums of them are exact, whatever the order; failures tell nothing."""

import sys
import threading
import warnings
from fractions import Fraction as F

import numpy as np
import pytest
from toy_curves import MALFORMED, random_smooth, random_steps

from adyton.errors import BadInput
from adyton.kernel.instances.lattice import POINTS, UNIT, Lattice, SmoothCurve, StepCurve, Utility
from adyton.kernel.instances.opening import survey
from adyton.kernel.instances.votes import FLAT, SmoothVote, StepSums, StepVote, vote_of

LATTICE = Lattice(0.5, 3.0)
REGRET = Utility.named("regret")
VALUE = Utility.named("value", bound=100)


def asked(curves, **options):
    """A survey of curves that are there already."""
    return survey(curves, lambda curve: curve, LATTICE, REGRET, **options)


def level(curve, place, utility=REGRET):
    """A vote at one place, written again: in fractions."""
    values = [F(value) for value in curve.values.tolist()]
    value, best = values[int(np.searchsorted(curve.starts, place, "right")) - 1], max(values)
    if utility.name == "value":
        share = min(max(value / utility.scale, F(0)), F(1))
    elif best == 0:
        share = F(0)
    else:
        share = 1 - min(utility.scale, (best - value) / abs(best)) / utility.scale
    return share * UNIT


@pytest.mark.parametrize("utility", [REGRET, Utility.named("regret", clip=1), VALUE], ids=str)
@pytest.mark.parametrize(("low", "high"), [(80, 100), (-100, -80), (-5, 5), (1e-300, 2e-300), (-1e300, 1e300)])
def test_levels_are_what_they_should_be(utility, low, high):
    curve = random_steps(np.random.default_rng(1), low=low, high=high)
    vote = vote_of(curve, LATTICE, utility)
    exactly = [level(curve, place, utility) for place in curve.starts.tolist()]
    assert all(abs(found - wanted) <= F(51, 100) for found, wanted in zip(vote.levels.tolist(), exactly, strict=True))
    assert vote.levels.min() >= 0
    assert vote.levels.max() <= UNIT


def test_the_best_of_an_instance_is_its_own():
    """Regret does not change when an instance is measured in another unit; costs are as good as values."""
    curve = random_steps(np.random.default_rng(2))
    vote = vote_of(curve, LATTICE, REGRET)
    assert vote.levels.max() == UNIT
    scaled = vote_of(StepCurve(curve.starts, curve.values * 1024), LATTICE, REGRET)
    assert scaled.levels.tolist() == vote.levels.tolist()
    costs = vote_of(
        StepCurve(curve.starts, np.array([-10.0, -10.5, *[-20.0] * (curve.starts.size - 2)])), LATTICE, REGRET
    )
    assert costs.levels[:3].tolist() == [UNIT, UNIT // 2, 0]
    nothing = vote_of(StepCurve(curve.starts, np.minimum(0.0, curve.values - 90)), LATTICE, REGRET)
    assert set(nothing.levels.tolist()) == {0}


@pytest.mark.parametrize("curve", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_curve_has_no_say(curve):
    assert vote_of(curve, LATTICE, REGRET) is FLAT
    good = random_steps(np.random.default_rng(0))
    assert np.array_equal(asked([good, curve]).tops, asked([good]).tops)


def test_smooth_curves_need_an_interval_of_positive_numbers():
    curve = random_smooth(np.random.default_rng(0))
    assert isinstance(vote_of(curve, LATTICE, REGRET), SmoothVote)
    assert vote_of(curve, Lattice(-1.0, 3.0), REGRET) is FLAT
    assert vote_of(curve, 10, REGRET) is FLAT


class Refused(Exception):
    """Whatever a family may raise."""

    def __str__(self):
        raise ValueError


@pytest.mark.parametrize("problem", [Refused, RecursionError, MemoryError, ZeroDivisionError, StopIteration])
def test_a_failure_is_a_flat_vote(problem):
    good = random_steps(np.random.default_rng(0))

    def curve(instance):
        if instance:
            raise problem
        warnings.warn("about this very instance", stacklevel=1)
        return good

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = survey([0, 1, 0], curve, LATTICE, REGRET)
    assert heard == []
    assert np.array_equal(found.tops, 2 * asked([good]).tops)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interruption_goes_through(interruption):
    def curve(instance):
        raise interruption

    with pytest.raises(interruption):
        survey(range(1000), curve, LATTICE, REGRET)


def test_work_is_shared_by_threads_and_reported():
    seen, told = set(), []

    def curve(instance):
        seen.add(threading.current_thread().name)
        return random_steps(np.random.default_rng(instance), pieces=200)

    survey(range(60), curve, LATTICE, REGRET, progress=lambda done, of: told.append((done, of)))
    assert threading.current_thread().name not in seen
    assert told[-1] == (60, 60)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def brute(curves, places, owners=None):
    """Sums at some places, one vote after the other."""
    names = owners or range(len(curves))
    groups = {name: [one for one, owner in zip(curves, names, strict=True) if owner == name] for name in names}
    total = np.zeros(places.size, dtype=np.int64)
    for group in groups.values():
        votes = [vote_of(one, LATTICE, REGRET) for one in group]
        levels = [vote.levels[np.searchsorted(vote.starts, places, "right") - 1] for vote in votes]
        total += np.sum(levels, axis=0) // len(group)
    return total


def test_the_sweep_equals_one_vote_after_the_other():
    generator = np.random.default_rng(4)
    curves = [random_steps(generator) for _ in range(40)] + [
        StepCurve(np.array([0, 7, 8]), np.array([1.0, 0.95, 1.0]))
    ] * 5
    sums = asked(curves)
    places = np.concatenate(
        [sums.starts, np.maximum(sums.starts - 1, 0), generator.integers(0, POINTS, 500), [POINTS - 1]]
    )
    assert np.array_equal(sums.at(places), brute(curves, places))
    assert (np.diff(sums.tops) != 0).all()
    owners = generator.integers(0, 9, len(curves)).tolist()
    assert np.array_equal(asked(curves, owners=owners).at(places), brute(curves, places, owners))


def test_an_owner_has_one_vote():
    good = random_steps(np.random.default_rng(5))
    many = asked([good] * 50, owners=["a"] * 50)
    assert np.array_equal(many.at(many.starts), asked([good]).at(many.starts))
    assert many.tops.max() <= UNIT


@pytest.mark.parametrize("kind", [random_steps, random_smooth])
def test_the_order_of_instances_changes_nothing(kind):
    """What an instance says is its own: permuting the instances must not change any sum."""
    generator = np.random.default_rng(6)
    curves = [kind(generator) for _ in range(30)]
    owners = generator.integers(0, 12, 30)
    places = generator.integers(0, POINTS, 100)
    first = asked(curves, owners=owners.tolist()).at(places)
    for _ in range(3):
        order = generator.permutation(30)
        again = asked([curves[place] for place in order], owners=owners[order].tolist())
        assert np.array_equal(again.at(places), first)


def test_no_instances_are_flat():
    for owners in (None, []):
        sums = asked([], owners=owners)
        assert (sums.starts.tolist(), sums.tops.tolist()) == ([0], [0])


@pytest.mark.parametrize("owners", [["a"], "abc", 3, [[1], [2], [3]]])
def test_owners_that_do_not_fit(owners):
    with pytest.raises(BadInput, match="owner must be a list"):
        asked([None] * 3, owners=owners)


# ---- smooth curves --------------------------------------------------------------------------------------------------


def smooth_level(curve, place):
    """A smooth vote at one place, by NumPy on single numbers."""
    point = LATTICE.point(place)
    ends = np.append(curve.starts[1:], POINTS) - 1
    inner = [np.linspace(start, end, 4001).astype(np.int64) for start, end in zip(curve.starts, ends, strict=True)]
    best = max(_value(row, LATTICE.point(places)).max() for row, places in zip(curve.coefficients, inner, strict=True))
    row = curve.coefficients[int(np.searchsorted(curve.starts, place, "right")) - 1]
    return (1 - min(0.1, (best - _value(row, point)) / best) / 0.1) * UNIT


def _value(row, point):
    return row[0] + row[1] / point + row[2] / point**2


def test_smooth_votes_are_read_at_the_point():
    generator = np.random.default_rng(7)
    curve = random_smooth(generator)
    sums = asked([curve])
    places = generator.integers(0, POINTS, 300)
    wanted = [smooth_level(curve, place) for place in places.tolist()]
    assert np.abs(sums.at(places) - wanted).max() <= 2  # the best is looked for on a coarser grid there


@pytest.mark.parametrize("spread", [0.01, 10.0, 300.0])
@pytest.mark.parametrize("owned", [False, True])
def test_the_envelope_is_above_and_close(spread, owned):
    generator = np.random.default_rng(8)
    curves = [random_smooth(generator, spread=spread) for _ in range(40)] + [random_steps(generator) for _ in range(10)]
    sums = asked(curves, owners=generator.integers(0, 20, 50).tolist() if owned else None)
    ends = np.append(sums.starts[1:], POINTS) - 1
    places = np.concatenate([sums.starts[::7], ends[::7], generator.integers(0, POINTS, 3000)])
    tops = sums.tops[np.searchsorted(sums.starts, places, "right") - 1]
    over = tops - sums.at(places)
    assert over.min() >= 0
    assert np.median(over) < UNIT / 4 + 4 * 50
    assert not sums.exact


def test_one_wide_smooth_piece_is_cut():
    """Many equal curves without starts inside: the envelope must not be one number for all of the interval."""
    curve = SmoothCurve(np.array([0]), np.array([[100.0, 30.0, -40.0]]))
    sums = asked([curve] * 300)
    places = np.random.default_rng(9).integers(0, POINTS, 500)
    over = sums.tops[np.searchsorted(sums.starts, places, "right") - 1] - sums.at(places)
    assert over.min() >= 0
    assert np.median(over) < UNIT


def test_steps_are_cheap():
    """10⁵ pieces; the time is a matter of the machine, so the size of what is kept is counted."""
    generator = np.random.default_rng(10)
    votes = []
    for _ in range(1000):
        starts = np.unique(np.append(0, generator.integers(1, POINTS, 100)))
        votes.append(StepVote(starts, generator.integers(0, UNIT, starts.size)))
    sums = StepSums.of(votes)
    assert sums.starts.size <= sum(vote.starts.size for vote in votes)
    assert sys.getsizeof(sums.tops) < 2**20


def test_max_cut_in_expectation_has_an_envelope_from_zero_on():
    """An interval from 0: t = 1/s reaches 2³³ there, and the curves are constant near it."""
    from adyton.configuration.max_cut import MaxCut
    from adyton.configuration.problems import CutGraph

    generator, family = np.random.default_rng(12), MaxCut("expected")
    lattice = Lattice(*family.interval)
    graphs = []
    for _ in range(30):
        ends = np.argwhere(np.triu(generator.random((12, 12)) < 0.5, 1))
        graphs.append(CutGraph.of_edges(12, [(int(a), int(b), float(generator.random())) for a, b in ends]))
    sums = survey(graphs, lambda graph: family.curve(graph, lattice), lattice, REGRET)
    ends = np.append(sums.starts[1:], POINTS) - 1
    places = np.concatenate([sums.starts[::5], ends[::5], generator.integers(0, POINTS, 2000), np.arange(50)])
    over = sums.tops[np.searchsorted(sums.starts, places, "right") - 1] - sums.at(places)
    assert sums.tops.max() > 10 * UNIT
    assert over.min() >= 0
    assert np.median(over) < UNIT / 2
