"""Transcripts: the laws that losses are computed from, the ways of looking past the kernel, and seeded bugs."""

import math
import re
from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.kernel.budget import Budget
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import BucketBoundaries, MeasureTables, NoisyCount, VectorLaplace
from adyton.kernel.mechanisms.published.statistic import Statistic
from adyton.noise import Ratio
from adyton.queries import Identity
from adyton_lab.audit.enumeration import enumerate_distribution
from adyton_lab.audit.run import PROFILES, _whole_programs
from adyton_lab.audit.transcripts import Flip, ScriptedNoise, Toss, _flip_loss, _log_law, loss_between
from adyton_lab.audit.whole_programs import SHORT, audit_cases, mechanism_cases, plan_cases, row_cases, table_cases
from over_cases import over

# ---- the laws


@over([[0], [3, 3], [0, 5, 9, 9, 2], [F(1, 3), 2, F(7, 2)], [-40, 0, 1]], [F(1, 10), F(3)])
def test_the_law_of_permute_and_flip_is_the_enumerated_one(scores, sharpness):
    law = enumerate_distribution(lambda source: source.permute_and_flip(scores, sharpness))
    found = np.exp(_log_law(Flip(scores, sharpness, 0)))
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert found == pytest.approx([law[place] for place in range(len(scores))], rel=1e-10)


def test_a_choice_among_many_keeps_its_precision():
    """200 candidates of about the same score: the probabilities add up to 1."""
    scores = list(range(100)) * 2
    assert np.exp(_log_law(Flip(scores, F(1, 50), 0))).sum() == pytest.approx(1, abs=1e-11)


def test_the_loss_of_a_choice_is_that_of_its_worst_candidate():
    one, other = (Flip(scores, F(1, 2), 0) for scores in ([0, 4, 1], [1, 3, 1]))
    laws = [
        enumerate_distribution(lambda source, one=one: source.permute_and_flip(one.scores, F(1, 2)))
        for one in (one, other)
    ]
    exactly = max(abs(math.log(laws[0][place] / laws[1][place])) for place in range(3))
    assert exactly <= float(_flip_loss(one, other)) <= exactly + 1e-8
    assert _flip_loss(one, other) < F(1, 2) * 2  # less than the lemma allows: the scores move by 2 against each other


def test_the_law_of_coins_is_the_enumerated_one():
    """The boundaries of buckets are drawn by coins, of which they are all that is seen."""
    mechanism, values = BucketBoundaries(3, 9, 4), np.array([0, 7, 7, 1, 2])
    law = enumerate_distribution(lambda source: tuple(mechanism.choose(values, F(2), source).tolist()))
    seen = {}
    for seed in range(40):
        noise = ScriptedNoise(seed)
        drawn = tuple(mechanism.choose(values, F(2), noise).tolist())
        assert all(isinstance(draw, Toss) for draw in noise.draws)
        seen[drawn] = math.exp(sum(draw.logarithm() for draw in noise.draws))
    assert len(seen) > 2
    assert all(law[drawn] == pytest.approx(chance, rel=1e-12) for drawn, chance in seen.items())


# ---- looking past the kernel


def asked(question, left, right, total=1):
    """Of vectors one row apart."""

    def program(x):
        kernel = Kernel.on_vector(x, epsilon=total, dataset="vector")
        return question(kernel.root), kernel.spent

    return loss_between(program, np.array(left), np.array(right))


def counts(x, epsilon=F(1)):
    return x.measure(Identity(x.shape), epsilon).answers.tolist()


def rows(x):
    return int(x.kernel._kept[x.node].data.values().sum())


def test_a_histogram_loses_all_that_is_charged():
    found = asked(counts, [3, 0, 2], [3, 1, 2])
    assert (found.passed, found.lost, found.charged, found.steps) == (True, 1, 1, 1)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (lambda x: rows(x), "the result is not"),
        (
            lambda x: [counts(x, F(1, 4)) for _ in range(2 + rows(x) % 2)],
            "is asked for more|is charged|is asked for less",
        ),
        (lambda x: counts(x, F(1, 2 + rows(x) % 2)), "something else"),
        (lambda x: counts(x) if rows(x) % 2 else 1 / 0, "fails on the neighbour"),
    ],
    ids=["the number of rows", "more questions", "another budget", "a failure"],
)
def test_another_way_on_the_neighbour_is_a_finding(question, words):
    found = asked(question, [3, 0, 2], [3, 1, 2])
    if not found.divergence:  # the way back
        found = asked(question, [3, 1, 2], [3, 0, 2])
    assert not found.passed
    assert found.ratio == math.inf
    assert re.search(words, found.divergence)


def test_two_measurements_for_one_charge_are_caught():
    found = asked(lambda x: [counts(x, F(1, 2)) for _ in range(2)], [3, 0], [3, 1])
    assert found.lost == found.charged == 1

    def twice(x):
        kernel = Kernel.on_vector(x, epsilon=1, dataset="vector")
        return [counts(kernel.root, F(1, 2)) for _ in range(2)], F(1, 2)

    assert loss_between(twice, np.array([3, 0]), np.array([3, 1])).ratio == 2


# ---- seeded bugs


def silent_add(self, data, epsilon, noise, trials):
    return np.array([[data.count()]]) + noise.discrete_laplace((trials, 1), 1 / epsilon) // 2


def half_scale(self, data, epsilon, noise, trials):
    return np.array([[data.count()]]) + noise.discrete_laplace((trials, 1), 1 / (2 * epsilon))


def true_count(self, data, epsilon, noise, trials):
    return np.array([[data.count()]])


def scale_by_rows(self, data, epsilon, noise, trials):
    return np.array([[data.count()]]) + noise.discrete_laplace((trials, 1), 2 * data.count() / epsilon)


@pytest.mark.parametrize("draw", [silent_add, half_scale, true_count, scale_by_rows])
def test_counts_with_less_noise_are_caught(monkeypatch, draw):
    """Noise that is halved when it is added, or when it is drawn; none; noise that depends on the true count."""
    monkeypatch.setattr(NoisyCount, "draw", draw)
    schema = ad.Schema({"x": ad.Boolean()})

    def program(number):
        kernel = Kernel.simulated_table(np.zeros((number, 1), dtype=int), schema, epsilon=1)
        return kernel.root.count(1), kernel.spent

    assert not loss_between(program, 5, 6).passed


def scaled(kind, name):
    """A mechanism whose own number, of which the scales of its noise are made, is half of what it should be."""
    honest = getattr(kind, name)

    def halved(self, *given):
        found = honest(self, *given)
        return type(found)(found.numerator, found.denominator * 2) if isinstance(found, Ratio) else F(found) / 2

    return kind, name, halved


@pytest.mark.parametrize(
    ("mutant", "cases"),
    [
        (scaled(VectorLaplace, "_most_moved"), lambda: plan_cases(1, ["identity"])),
        (scaled(VectorLaplace, "_most_moved"), lambda: row_cases("learners", 1, ["naive-bayes"])),
        (scaled(MeasureTables, "_scales"), lambda: row_cases("programs", 1, ["all-pairs"])),
        (scaled(Statistic, "_scale"), lambda: mechanism_cases(1)),
    ],
    ids=["vectors", "learners", "tables", "features"],
)
def test_halved_noise_is_caught_in_whole_programs(monkeypatch, mutant, cases):
    assert audit_cases("honest", cases()).passed
    monkeypatch.setattr(*mutant)
    assert audit_cases("halved", cases()).figures["loss/ε"] > 1


def test_an_ignored_stability_is_caught(monkeypatch):
    """Three rows of a unit, of which one is paid for."""
    honest = Budget.add_source
    monkeypatch.setattr(Budget, "add_source", lambda self, parent, stability: honest(self, parent, 1))
    assert audit_cases("hb", plan_cases(2, ["hb"])).figures["loss/ε"] == pytest.approx(3)


# ---- the long run


@pytest.mark.full
def test_nothing_loses_more_than_its_charge():
    """All of what the full profile replays."""
    found = [check.run() for check in _whole_programs(PROFILES["full"])]
    assert [one.detail for one in found if not one.passed] == []
    assert max(one.figures["loss/ε"] for one in found) <= 1
    assert sum(one.figures["pairs"] for one in found) >= 2000


@pytest.mark.full
@pytest.mark.parametrize("kind", SHORT)
def test_other_tables_than_those_of_the_audit(kind):
    found = audit_cases(kind, table_cases(kind, {"pandas": ("e", "heavy"), "csv": ("07",)}, seed=100))
    assert found.passed, found.detail
