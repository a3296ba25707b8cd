"""The tuned parameter: drawn from the whole lattice by its law, charged as everything is, and telling nothing else."""

import math
import os
import threading
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats
from toy_curves import MALFORMED, random_smooth, random_steps

from adyton.errors import BadInput, BudgetExceeded, KernelFailure, LedgerMismatch
from adyton.kernel.instances.lattice import POINTS, UNIT, Lattice, SmoothCurve, StepCurve, Utility
from adyton.kernel.instances.opening import on_instances, simulated_instances, survey
from adyton.kernel.instances.votes import ADD_REMOVE, RELATIONS, REPLACE, PrivateInstances
from adyton.kernel.ledger import Ledger
from adyton.kernel.mechanisms import ChosenPoint, NoisyCount, TunedParameter
from adyton.noise import ExactNoise, SimulatedNoise
from adyton.session.wire import decode_facts, encode_facts
from adyton_lab.audit.enumeration import enumerate_distribution
from adyton_lab.audit.tuning import audit_tuning

LATTICE = Lattice(0.5, 3.0)
REGRET = Utility.named("regret")
DRAWS = 4000


def same(curve):
    return curve


def opened(curves, **options):
    return on_instances(curves, same, LATTICE, REGRET, **{"epsilon": 1, **options})


def held(curves, neighbours=ADD_REMOVE):
    return PrivateInstances(survey(curves, same, LATTICE, REGRET), LATTICE, neighbours)


def drawn(curves, epsilon=1, default=None, neighbours=ADD_REMOVE, noise=None, trials=DRAWS):
    noise = noise or ExactNoise()
    return TunedParameter(default).draw(held(curves, neighbours), F(epsilon), noise, trials)[:, 0]


@pytest.mark.parametrize("default", [None, 0.9])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_loses_more_than_epsilon(neighbours, default):
    found = audit_tuning(neighbours, default=default)
    assert found.passed, found
    assert 0.9 < found.figures["largest/ε"] <= 1


@pytest.mark.parametrize("noise", [ExactNoise(), SimulatedNoise(3)], ids=["exact", "simulated"])
@pytest.mark.parametrize(("neighbours", "rate"), [(ADD_REMOVE, 1.0), (REPLACE, 0.5)])
@pytest.mark.parametrize("default", [None, 1.0])
def test_the_law_of_steps(noise, neighbours, rate, default):
    """Every piece by its length and e^(rate·utility); inside a piece every place alike. False alarm: 1e-7 a test."""
    curves = [random_steps(np.random.default_rng(one), pieces=4) for one in range(3)]
    sums = survey(curves, same, LATTICE, REGRET)
    counts = np.diff(np.append(sums.starts, POINTS))
    weights = counts * np.exp(rate * sums.tops / UNIT)
    if default is not None:
        weights = np.append(weights, POINTS * np.exp(rate * sums.at(np.array([LATTICE.nearest(default)])) / UNIT))
    places = drawn(curves, default=default, neighbours=neighbours, noise=noise)
    pieces = np.searchsorted(np.append(sums.starts, POINTS), places, "right") - 1
    seen = np.bincount(pieces, minlength=weights.size)
    expected = weights / weights.sum() * DRAWS
    big = expected >= 5
    observed, wanted = np.append(seen[big], seen[~big].sum()), np.append(expected[big], expected[~big].sum())
    kept = wanted > 0
    assert stats.chisquare(observed[kept], wanted[kept]).pvalue > 1e-7
    inside = places < POINTS
    shares = (places[inside] - sums.starts[pieces[inside]]) / counts[pieces[inside]]
    assert stats.kstest(shares, "uniform").pvalue > 1e-7


def test_the_law_of_smooth_curves():
    """Against a density on a fine grid. False alarm: 1e-7."""
    generator = np.random.default_rng(4)
    curves = [random_smooth(generator, pieces=3, spread=3) for _ in range(6)]
    sums = survey(curves, same, LATTICE, REGRET)
    grid = (np.arange(4000) * 2 + 1) * (POINTS // 8000)
    density = np.exp(sums.at(grid) / UNIT)
    cumulative = np.concatenate([[0], np.cumsum(density) / density.sum()])
    places = drawn(curves, trials=2000)
    levels = np.interp(places / POINTS, np.linspace(0, 1, 4001), cumulative)
    assert stats.kstest(levels, "uniform").pvalue > 1e-7
    at_default = drawn(curves, trials=500, default=1.0)
    assert 50 < (at_default == POINTS).sum() < 450


@pytest.mark.parametrize("default", [None, 1.0])
def test_no_instances_give_a_draw_from_the_prior(default):
    places = drawn([], default=default)
    inside = places[places < POINTS]
    assert stats.kstest(inside / POINTS, "uniform").pvalue > 1e-7
    share = inside.size / DRAWS
    assert share == 1 if default is None else abs(share - 0.5) < 6 * 0.5 / math.sqrt(DRAWS)


@pytest.mark.parametrize("curve", [*MALFORMED.values(), random_steps(np.random.default_rng(0))])
def test_there_is_always_an_answer(curve):
    kernel = opened([curve] * 3)
    assert 0.5 < kernel.root.tune("0.5") < 3
    assert kernel.remaining == F(1, 2)


def test_it_finds_the_best_part():
    """With 2000 instances that like [1, 1.1] alone, nothing else is drawn but with probability e^-1990."""
    cuts = np.array([0, *(LATTICE.first_from(end) for end in (1.0, 1.1))])
    curve = StepCurve(cuts, np.array([80.0, 100.0, 80.0]))
    assert 1 <= opened([curve] * 2000).root.tune(1) <= 1.1
    owned = opened([curve] * 2000, owners=["one"] * 2000).root
    assert owned.kernel.terms.unit == "owner"
    assert 0.5 < owned.tune(1) < 3


def test_debits_come_first_and_are_settled(tmp_path):
    path = tmp_path / "bids.ledger"
    kernel = opened([random_steps(np.random.default_rng(0))] * 5, ledger=path, dataset="bids")
    kernel.root.tune("0.25", default=1.5)
    (entry,) = kernel.ledger.entries()
    assert (entry.amount, entry.status) == (F(1, 4), "answered")
    assert entry.operator == "tuned parameter, or 1.5, ε = 0.25"
    with pytest.raises(BudgetExceeded):
        kernel.root.tune("0.76")
    for default in (math.nan, math.inf, 0.4, 3.1):
        with pytest.raises(BadInput, match="default must lie in the interval from 0.5 to 3"):
            kernel.root.tune("0.1", default=default)
    with pytest.raises(BadInput, match="an interval of parameters"):
        kernel.root.choose_point("0.1")
    with pytest.raises(BadInput, match="works on a table"):
        kernel.measure(kernel.root, NoisyCount(), "0.1")
    assert kernel.remaining == F(3, 4)


@pytest.mark.parametrize(
    "other",
    [
        {"neighbours": REPLACE},
        {"owners": ["a"]},
        {"parameters": Lattice(0.5, 4.0)},
        {"parameters": 64},
        {"utility": Utility.named("regret", clip="0.05")},
        {"utility": Utility.named("value", bound=1)},
    ],
    ids=str,
)
def test_a_ledger_keeps_its_terms(tmp_path, other):
    path, curve = tmp_path / "bids.ledger", random_steps(np.random.default_rng(0))
    with_terms = {"parameters": LATTICE, "utility": REGRET, "epsilon": 1, "ledger": path, "dataset": "bids"}
    first = on_instances([curve], same, **with_terms)
    first.root.tune("0.1")
    first.ledger.close()
    asked = []
    with pytest.raises(LedgerMismatch, match="unit|schema"):
        on_instances([curve], asked.append, **{**with_terms, **other})
    assert asked == []  # refused before the long work
    again = on_instances([curve], same, **with_terms)
    assert again.remaining == F(9, 10)
    again.ledger.close()


def test_an_interrupted_survey_leaves_the_ledger_as_it_was(tmp_path):
    def curve(instance):
        raise KeyboardInterrupt

    path = tmp_path / "bids.ledger"
    with pytest.raises(KeyboardInterrupt):
        on_instances([1], curve, LATTICE, REGRET, epsilon=1, ledger=path, dataset="bids")
    assert Ledger.read(path).spent == 0


def test_handles_tell_nothing():
    kernel = opened([random_steps(np.random.default_rng(one)) for one in range(7)])
    root = kernel.root
    assert repr(root) == "<private instances: instances; parameters in [0.5, 3]>"
    assert decode_facts(encode_facts(root.facts)) == root.facts
    for attempt in (len, list, float, lambda one: one[0]):
        with pytest.raises(TypeError, match="measurements only"):
            attempt(root)
    assert (root.points, root.neighbours, root.interval) == (POINTS, ADD_REMOVE, (0.5, 3.0))
    with pytest.raises(BadInput, match="relation of neighbours 'swap'"):
        opened([], neighbours="swap")
    with pytest.raises(BadInput, match="Name the data set"):
        opened([], ledger="bids.ledger")


def test_a_failure_inside_says_nothing(monkeypatch):
    kernel = opened([random_steps(np.random.default_rng(0))])

    def broken(self, places):
        raise ValueError("instance 17")

    monkeypatch.setattr("adyton.kernel.instances.votes.StepSums.at", broken)
    with pytest.raises(KernelFailure) as failure:
        kernel.root.tune("0.5", default=1.0)
    assert failure.value.__context__ is None
    assert kernel.remaining == F(1, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_kernel_answers_nothing():
    kernel = opened([random_steps(np.random.default_rng(0))])
    child = os.fork()
    if not child:
        try:
            kernel.root.tune("0.5")
        except BadInput:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_threads_share_one_budget():
    kernel = opened([random_steps(np.random.default_rng(0))])
    found = []

    def tune():
        try:
            found.append(kernel.root.tune("0.3"))
        except BudgetExceeded:
            found.append(None)

    threads = [threading.Thread(target=tune) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one is not None for one in found) == 3


def test_public_instances_are_drawn_from_a_seed():
    sums = survey([random_steps(np.random.default_rng(0))] * 9, same, LATTICE, REGRET)
    kernels = [simulated_instances(sums, LATTICE, epsilon=1, seed=5) for _ in range(2)]
    assert not kernels[0].private
    assert kernels[0].root.tune(1, default=1.0) == kernels[1].root.tune(1, default=1.0)
    with pytest.raises(BadInput, match="simulated noise"):
        simulated_instances(sums, LATTICE, epsilon=1, noise=ExactNoise())


def test_a_thousand_equal_smooth_curves_are_drawn_soon():
    """The envelope is cut finely enough that few draws are refused."""
    curve = SmoothCurve(np.array([0]), np.array([[100.0, 30.0, -40.0]]))
    data, refused = held([curve] * 1000), []

    class Counting(ExactNoise):
        def bernoulli_exp(self, gamma):
            kept = super().bernoulli_exp(gamma)
            refused.append(not kept)
            return kept

    TunedParameter().draw(data, F(1), Counting(), 50)
    assert sum(refused) < 200


def test_points_of_a_grid_have_the_law_of_permute_and_flip():
    def curve(values):
        return StepCurve(np.arange(3), np.array(values, dtype=float))

    kernel = on_instances([(10, 9, 0)] * 4000, curve, 3, REGRET, epsilon=1)
    assert kernel.root.choose_point("0.5") == 0
    assert repr(kernel.root) == "<private instances: instances; parameters in a grid of 3>"
    with pytest.raises(BadInput, match="a grid of points"):
        kernel.root.tune("0.1")
    data = PrivateInstances(survey([(10, 9.5, 0)], curve, 3, REGRET), 3, REPLACE)
    chosen = np.bincount(ChosenPoint().draw(data, F(2), ExactNoise(), 3000)[:, 0], minlength=3)
    law = enumerate_distribution(lambda source: source.permute_and_flip([0, F(-1, 2), -1], 1))  # ε/2 of 0, ½ and 1
    assert stats.chisquare(chosen, [3000 * law[point] for point in range(3)]).pvalue > 1e-7
