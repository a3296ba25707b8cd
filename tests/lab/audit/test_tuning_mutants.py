"""Seeded bugs of tuning on private instances: the audit must catch every one of them. Each passes without the bug."""

from dataclasses import dataclass, replace
from fractions import Fraction as F
from functools import partial

import numpy as np

from adyton.configuration.configure import configure
from adyton.kernel.instances import lattice, opening, tuned_parameter, votes
from adyton.kernel.instances.lattice import UNIT, Lattice, Utility
from adyton.kernel.instances.votes import ADD_REMOVE, REPLACE, PrivateInstances, StepSums, StepVote
from adyton.kernel.mechanisms import ChosenPoint, TunedParameter
from adyton_lab.audit import whole_programs
from adyton_lab.audit.enumeration import enumerate_distribution
from adyton_lab.audit.tuning import ToyFamily, audit_tuning, held_toys
from adyton_lab.audit.whole_programs import audit_cases, family_cases


def test_critical_points_only(monkeypatch):
    """A piece is drawn by its weight, and then its start is told: the support is the data's own."""
    monkeypatch.setattr(tuned_parameter, "_uniform_places", lambda pieces, starts, counts, noise: starts[pieces])
    found = audit_tuning(ADD_REMOVE, largest=1)
    assert not found.passed
    assert found.figures["loss/ε"] == np.inf


def test_dropped_factor_two(monkeypatch):
    """Where an instance is replaced, sums move against each other by twice as much."""
    monkeypatch.setattr(votes, "spread", lambda neighbours: UNIT)
    assert audit_tuning(ADD_REMOVE, largest=1).passed
    found = audit_tuning(REPLACE, largest=1)
    assert not found.passed
    assert 1.5 < found.figures["loss/ε"] <= 2


def unclamped(self, values, best):
    """Values of the instance's own size, on the grid but not clipped."""
    return np.rint(np.clip(values, -1e3, 1e3) * UNIT / 8).astype(np.int64)


def test_unclamped_utility(monkeypatch):
    monkeypatch.setattr(Utility, "levels", unclamped)
    assert not audit_tuning(ADD_REMOVE, largest=1).passed


def test_unclipped_regret(monkeypatch):
    """A regret of more than the clip goes below 0."""

    def levels(self, values, best):
        with np.errstate(all="ignore"):
            return np.rint(np.clip(1 - (best - values) / max(abs(best), 1e-9) * 10, -50, 1) * UNIT).astype(np.int64)

    monkeypatch.setattr(Utility, "levels", levels)
    assert not audit_tuning(ADD_REMOVE, largest=1).passed


def relative_to_all(toys, neighbours):
    """A utility that is divided by the largest value over all instances: one more changes what the others say."""
    family, lattice = ToyFamily(), Lattice(0.0, 1.0)
    curves = [family.curve(toy, lattice) for toy in toys if toy < ToyFamily.toys - 1]
    largest = max((float(curve.values.max()) for curve in curves), default=1.0)
    votes = [
        StepVote(curve.starts, np.rint(np.clip(curve.values / largest, 0, 1) * UNIT).astype(np.int64))
        for curve in curves
    ]
    return PrivateInstances(StepSums.of(votes), lattice, neighbours)


def test_the_data_s_own_maximum():
    assert audit_tuning(ADD_REMOVE, held=held_toys).passed
    assert not audit_tuning(ADD_REMOVE, held=relative_to_all).passed


def test_averages_in_place_of_sums():
    """The mean over all instances needs their number, which is private where one is added or removed."""

    def means(toys, neighbours):
        data = held_toys(toys, neighbours)
        data.sums = StepSums(data.sums.starts, data.sums.tops * 3 // max(1, len(toys)))
        return data

    assert not audit_tuning(ADD_REMOVE, held=means).passed


def test_an_owner_with_many_votes(monkeypatch):
    """An owner's instances are added up, not averaged: at most UNIT is what the proof needs of a vote."""
    family, lattice = ToyFamily(), Lattice(0.0, 1.0)

    def owned(toys, neighbours):
        many = [toy for toy in toys for _ in range(3)]
        owners = [place // 3 for place in range(len(many))]
        sums = opening.survey(
            many, lambda toy: family.curve(toy, lattice), lattice, Utility.named("regret"), owners=owners
        )
        return PrivateInstances(sums, lattice, neighbours)

    assert audit_tuning(ADD_REMOVE, held=owned).passed
    monkeypatch.setattr(StepSums, "averaged", lambda self, votes: StepVote(self.starts, self.tops))
    assert not audit_tuning(ADD_REMOVE, held=owned).passed


@dataclass(frozen=True)
class ThreeTimesAsSharp(TunedParameter):
    """Claim. None. Proof. None."""

    def draw(self, data, epsilon, noise, trials):
        return super().draw(data, 3 * epsilon, noise, trials)


def test_a_sharper_draw_than_what_is_charged():
    assert not audit_tuning(ADD_REMOVE, largest=1, mechanism=ThreeTimesAsSharp()).passed


def test_a_prior_from_the_data():
    """Pieces by their weight alone, whatever their length: as if the data had made the prior."""

    @dataclass(frozen=True)
    class WithoutLengths(TunedParameter):
        """Claim. None. Proof. None."""

        def draw(self, data, epsilon, noise, trials):
            class Alike:
                def exponential_choices(self, count, multiplicities, gaps, rate):
                    return noise.exponential_choices(count, np.ones_like(multiplicities), gaps, rate)

                uniform_integers = staticmethod(noise.uniform_integers)

            return super().draw(data, epsilon, Alike(), trials)

    found = audit_tuning(ADD_REMOVE, largest=1, mechanism=WithoutLengths())
    assert not found.passed


def with_dispersion(family, instances, epsilon, **options):
    """Tells, in its guarantee, how closely the pieces of the very instances lie: the paper's w, which is private."""
    found = configure(family, instances, epsilon, **options)
    sums = opening.survey(
        instances, lambda toy: family.curve(toy, Lattice(0.0, 1.0)), Lattice(0.0, 1.0), Utility.named("regret")
    )
    return replace(found, epsilon=F(1) + F(int(np.diff(sums.starts).min(initial=2**32)), 2**32))


def test_a_published_dispersion(monkeypatch):
    assert audit_cases("configure", family_cases([2], brief=True)).passed
    monkeypatch.setattr(whole_programs, "configure", with_dispersion)
    found = audit_cases("configure", family_cases([2], brief=True))
    assert not found.passed
    assert "the result is not" in found.detail


def test_a_point_of_a_grid_with_a_dropped_two(monkeypatch):
    """One instance out, its opposite in: the enumerated law of permute-and-flip on both sides."""

    def loss():
        laws = []
        for levels in ([UNIT, 0, 0], [0, UNIT, UNIT]):
            data = PrivateInstances(StepSums(np.arange(3), np.array(levels)), 3, REPLACE)
            run = partial(ChosenPoint().draw, data, F(1), trials=1)
            laws.append(enumerate_distribution(lambda source, run=run: int(run(noise=source)[0, 0])))
        return max(abs(np.log(laws[0][point] / laws[1][point])) for point in range(3))

    assert 0.5 < loss() <= 1
    monkeypatch.setattr(votes, "spread", lambda neighbours: UNIT)
    assert loss() > 1.1


def test_levels_stay_inside():
    """Levels are never outside 0 … 2²⁰, whatever a utility is given."""
    values = np.array([np.finfo(float).max, -np.finfo(float).max, 0.0, 5e-324])
    for one in (Utility.named("regret", clip="0.000001"), Utility.named("value", bound="0.001")):
        for best in values:
            levels = one.levels(values, float(best))
            assert levels.min() >= 0
            assert levels.max() <= lattice.UNIT
