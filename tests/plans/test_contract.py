"""One contract for every registered plan. A new plan is tested by being registered."""

import re
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.stats import ks_2samp

import adyton as ad
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.noise import SimulatedNoise
from adyton.plans import algorithms, plan_named, simulate
from adyton.plans.strategy_plan import DenoisingPlan, StrategyPlan
from adyton.queries import Explicit, Identity, Partition, Prefix, RandomRanges, Total
from over_cases import over

NAMES = algorithms()
LINES = [(1,), (2,), (3,), (7,), (4097,)]
PLANES = [(1, 7), (5, 3), (17, 64)]
SOLIDS = [(2, 3, 4)]
SERVED = [
    (name, domain)
    for name in NAMES
    for domain in (*LINES, *PLANES, *SOLIDS)
    if plan_named(name).serves.serves(len(domain))
]
INDEPENDENT = [name for name in NAMES if not plan_named(name).serves.data_dependent]
FALSE_ALARM = 1e-7
STRIPES = [name for name in NAMES if name.endswith("striped") and name != "hb-striped"]  # all but the quickest
RELATIVES = ("mwem-b", "mwem-c", *STRIPES)
"""Made of the same steps as others that are compared by chance in every run: MWEM-D, and the plans of stripes whose
inner plans are compared themselves."""
LONG = {*RELATIVES, "mwem*"}
"""Those on two domains by default; ``mwem*`` is ``mwem`` with another number of rounds."""
COMPARED = [pytest.param(name, marks=[pytest.mark.full] if name in {*LONG, "mwem"} else []) for name in NAMES]
ONE_BY_ONE = [name for name in NAMES if not plan_named(name).simulates_many]
"""Their trials are a loop outside of the plan, which is the same for all of them."""
AT_ONCE = [
    pytest.param(name, marks=[pytest.mark.full] if name in {*RELATIVES, *ONE_BY_ONE} - {"dawa"} else [])
    for name in NAMES
]


def identify(case):
    return case if isinstance(case, str) else "×".join(map(str, case))


def is_linear(plan):
    """Such plans are fast: least squares is all that they do."""
    return isinstance(plan, StrategyPlan) and not isinstance(plan, DenoisingPlan)


def data_sets(domain):
    random = np.random.default_rng(len(domain))
    few = random.poisson(random.gamma(0.3, 5, domain))
    huge = np.zeros(domain, dtype=np.int64)
    huge[(0,) * len(domain)] = huge[(-1,) * len(domain)] = 10**12
    return {"nothing": np.zeros(domain, dtype=np.int64), "few": few, "huge": huge}


def requests(name, domain):
    """Workloads with data for each: all data for the first, other data for each of the others; few cells are quick."""
    data = data_sets(domain)
    small = np.prod(domain) < 1000
    yield Identity(domain), data.values() if small else [data["few"]]
    if domain in ((1,), (7,), (5, 3)):  # what is special about few queries is special on few cells
        yield Total(domain), [data["nothing"]]
        yield RandomRanges(domain, 1, seed=3), [data["huge"]]
    if len(domain) == 1 and (name, domain) != ("hdmm", (4097,)):  # half a minute: among the long tests
        yield Prefix(domain), [data["few"]]


def check_requests(name, domain, given):
    for workload, data in given:
        for x in data:
            kernel = Kernel.simulated(x, epsilon=1, seed=1)
            estimate = plan_named(name).estimate(kernel.root, workload, "1/3")
            assert estimate.shape == domain
            assert estimate.dtype == np.float64
            assert np.isfinite(estimate).all()
            assert kernel.spent == F(1, 3)


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        pytest.param(
            name,
            domain,
            marks=[pytest.mark.full] if domain == (3,) or (name in LONG and domain not in ((7,), (5, 3))) else [],
        )
        for name, domain in SERVED
    ],
    ids=identify,
)
def test_any_data_give_a_finite_estimate_and_cost_exactly_what_was_asked(name, domain):
    check_requests(name, domain, requests(name, domain))


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_all_data_with_every_workload(name):
    for domain in (domain for domain in (*LINES[:-1], *PLANES[:-1]) if plan_named(name).serves.serves(len(domain))):
        workloads = [workload for workload, _ in requests(name, domain)]
        check_requests(name, domain, [(workload, data_sets(domain).values()) for workload in workloads])


LARGE = [
    pytest.param(name, domain, marks=[pytest.mark.full] if number else [])
    for name in NAMES
    for number, domain in enumerate(
        domain for domain in ((8, 32), (1000,), (17, 64)) if plan_named(name).serves.serves(len(domain))
    )
]
"""On a small map, if a plan serves maps; in the long run on a line and on a larger map as well."""


@pytest.mark.full
def test_hdmm_on_many_prefixes():
    kernel = Kernel.simulated(np.arange(4097), epsilon=1, seed=0)
    assert np.isfinite(plan_named("hdmm").estimate(kernel.root, Prefix(4097), 1)).all()
    assert kernel.spent == 1


@pytest.mark.parametrize(("name", "domain"), LARGE, ids=identify)
def test_ten_thousand_queries(name, domain):
    x = data_sets(domain)["few"]
    workload = RandomRanges(domain, 10_000, seed=0)
    assert simulate(name, x, workload, 1, seed=0).shape == domain


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", ["1000", "1e-6"])
def test_extreme_budgets(name, epsilon):
    """Noise that vanishes from double precision, or drowns everything."""
    ndim = next(ndim for ndim in (1, 2) if plan_named(name).serves.serves(ndim))
    domain = (9,) if ndim == 1 else (3, 3)
    x = np.arange(9).reshape(domain)
    workload = Identity(domain)
    estimate = simulate(name, x, workload, epsilon, seed=0)
    assert np.isfinite(estimate).all()
    if epsilon == "1000" and name not in ("uniform", "adaptive-hierarchy", "monotone-hierarchy"):
        np.testing.assert_allclose(estimate, x, atol=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_huge_counts_keep_their_size(name):
    """A cell of 10¹² rows among empty ones comes back to within a millionth, unless a plan spreads cells evenly."""
    ndim = next(ndim for ndim in (1, 2) if plan_named(name).serves.serves(ndim))
    domain = (7,) if ndim == 1 else (5, 3)
    x = data_sets(domain)["huge"]
    estimate = simulate(name, x, Identity(domain), 1, seed=0)
    assert estimate.sum() == pytest.approx(x.sum(), rel=1e-6)
    if name != "uniform":
        assert estimate.max() == pytest.approx(1e12, rel=1e-6)


@pytest.mark.parametrize("name", COMPARED)
def test_the_real_kernel_agrees_with_the_simulated_one(name):
    plan = plan_named(name)
    ndim = next(ndim for ndim in (1, 2) if plan.serves.serves(ndim))
    domain = (6,) if ndim == 1 else (2, 3)
    x = np.array([0, 0, 3, 9, 1, 0]).reshape(domain)
    workload = RandomRanges(domain, 8, seed=2)
    weights = np.arange(1, 7).reshape(domain)
    simulations, trials = (1000, 50) if is_linear(plan) else (100, 40)
    simulated = simulate(name, x, workload, 1, seed=0, trials=simulations)
    assert simulated.shape == (simulations, *domain)
    real, kernel = [], Kernel.on_vector(x, epsilon=trials)
    for trial in range(1, trials + 1):
        real.append(plan.estimate(kernel.root, workload, 1))
        assert kernel.spent == trial
    axes = tuple(range(1, ndim + 1))
    for statistic in (lambda e: (e * weights).sum(axis=axes), lambda e: np.abs(e - x).sum(axis=axes)):
        assert ks_2samp(statistic(np.array(real)), statistic(simulated)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", AT_ONCE)
def test_trials_at_once_are_trials_one_by_one(name):
    """A batch is not one trial repeated, nor does a trial depend on the others in its batch."""
    plan = plan_named(name)
    batch, single = (1000, 50) if is_linear(plan) else (200, 40) if plan.simulates_many else (40, 40)
    ndim = next(ndim for ndim in (1, 2) if plan.serves.serves(ndim))
    domain = (16,) if ndim == 1 else (4, 4)
    x = np.random.default_rng(0).poisson(4, domain)
    workload = Identity(domain)
    many = simulate(name, x, workload, 1, seed=0, trials=batch)
    alone = np.array([simulate(name, x, workload, 1, seed=seed) for seed in range(1, single + 1)])
    axes = tuple(range(1, ndim + 1))
    distances = [np.abs(estimates - x).sum(axis=axes) for estimates in (many, alone)]
    assert ks_2samp(*distances).pvalue > FALSE_ALARM
    assert len(np.unique(many.reshape(batch, -1)[:, 0])) > 1


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_a_simulation(name):
    ndim = next(ndim for ndim in (1, 2) if plan_named(name).serves.serves(ndim))
    domain = (16,) if ndim == 1 else (4, 4)
    x = np.random.default_rng(0).poisson(4, domain)
    first, again, other = (simulate(name, x, Identity(domain), 1, seed=seed, trials=3) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


PREDICTED = [
    pytest.param(name, domain, marks=[pytest.mark.full] if name in RELATIVES or domain in ((64,), (8, 8)) else [])
    for name in INDEPENDENT
    for domain in ((37,), (5, 6), *(((64,), (8, 8)) if is_linear(plan_named(name)) else ()))
    if plan_named(name).serves.serves(len(domain))
]


@pytest.mark.parametrize(("name", "domain"), PREDICTED, ids=identify)
def test_measured_error_is_the_expected_error(name, domain):
    """Within 5%: 10,000 trials leave an uncertainty of about 0.83%, so a false alarm is six deviations away."""
    plan = plan_named(name)
    x = np.random.default_rng(1).poisson(5, domain)
    trials = (
        10_000
        if isinstance(plan, StrategyPlan) and plan.expected_error(Identity(domain), 1, x).kind == "exact"
        else 100
    )
    for workload in (
        Identity(domain),
        RandomRanges(domain, 40, seed=4),
        *([Prefix(domain)] if len(domain) == 1 else []),
    ):
        expected = plan.expected_error(workload, "0.5", x)
        assert expected.queries == workload.count
        exact = expected.kind == "exact"
        if not (exact or isinstance(workload, Identity) or "hierarchy" in name):
            continue  # what denoises cells, one by one, can be worse on sums of them
        estimates = simulate(name, x, workload, "0.5", seed=7, trials=trials)
        measured = np.sqrt(np.square(workload @ (estimates - x)).sum(axis=-1).mean())
        if exact:
            assert measured == pytest.approx(expected.total, rel=0.05)
        else:
            assert measured < 1.1 * expected.total


def test_without_data_a_biased_plan_says_that_its_error_is_noise_only():
    assert plan_named("uniform").expected_error(Identity(4), 1).kind == "noise only"
    assert plan_named("hb").expected_error(Identity(4), 1).kind == "exact"


def test_unequal_noise_that_is_ignored_shows_in_the_error(monkeypatch):
    """A solver that believes all answers equally noisy is not the one whose error was promised."""
    from adyton.strategies.base import Strategy, _prepare

    honest = Strategy.variances
    monkeypatch.setattr(
        Strategy, "variances", lambda self, epsilon: np.full(self.queries.count, honest(self, epsilon).mean())
    )
    _prepare.cache_clear()
    with pytest.raises(AssertionError):
        test_measured_error_is_the_expected_error("quadtree", (8, 8))
    _prepare.cache_clear()


# ---- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_options_of_every_plan(name):
    ndim = next(ndim for ndim in (1, 2) if plan_named(name).serves.serves(ndim))
    domain = (16,) if ndim == 1 else (4, 4)
    x = np.random.default_rng(0).poisson(1, domain)
    axes = tuple(range(1, ndim + 1))
    positive = simulate(name, x, Identity(domain), 1, seed=0, trials=5, nonnegative=True)
    assert positive.min() >= 0
    public = simulate(name, x, Identity(domain), 1, seed=0, trials=5, total=int(x.sum()))
    np.testing.assert_allclose(public.sum(axis=axes), x.sum())
    both = simulate(name, x, Identity(domain), 1, seed=0, trials=5, total=int(x.sum()), nonnegative=True)
    assert both.min() >= 0
    np.testing.assert_allclose(both.sum(axis=axes), x.sum())


def test_reduction_answers_on_groups():
    x = np.arange(64)
    workload = ad.workloads.Ranges(64, [[0], [32]], [[31], [63]])
    estimates = simulate("identity", x, workload, 1, seed=0, trials=2000, reduce=True)
    np.testing.assert_allclose(np.ptp(estimates[:, :32], axis=1), 0, atol=1e-9)
    measured = np.square(workload @ (estimates - x)).sum(axis=1).mean()
    expected = plan_named("identity", reduce=True).expected_error(workload, 1)
    assert expected.total**2 < 4
    assert measured == pytest.approx(expected.total**2, rel=0.25)  # ten standard deviations of 2000 trials


@pytest.mark.parametrize("name", NAMES)
def test_any_kind_of_workload_and_source(name):
    """Queries without known structure, and vectors that were derived from others."""
    plan = plan_named(name)
    ndim = next(ndim for ndim in (1, 2) if plan.serves.serves(ndim))
    domain = (12,) if ndim == 1 else (3, 4)
    x = np.arange(12).reshape(domain)
    workload = Explicit.from_rows(np.random.default_rng(0).integers(0, 3, (5, 12)), domain)
    options = [{}, {"reduce": True}] if plan.serves.serves(1) else [{}]
    for chosen in options:
        kernel = Kernel.simulated(x, epsilon=1, seed=0)
        assert plan_named(name, **chosen).estimate(kernel.root, workload, "1/7").shape == domain
        assert kernel.spent == F(1, 7)
    if plan.serves.serves(1):
        kernel = Kernel.simulated(x, epsilon=1, seed=0)
        derived = kernel.root.reduce(Partition(np.arange(12) // 2))
        assert plan.estimate(derived, Prefix(6), "1/7").shape == (6,)
        assert kernel.spent == F(1, 7)


@pytest.mark.parametrize("name", ["adaptive-hierarchy", "staged-hierarchy"])
def test_shares_of_the_budget_are_exact_and_checked_first(name):
    for share in (0.02, "1/3"):
        kernel = Kernel.simulated(np.arange(9), epsilon=1, seed=0)
        plan_named(name, total_share=share).estimate(kernel.root, Prefix(9), "1/3")
        assert kernel.spent == F(1, 3)
    for share in (0, 1, 2, -1, float("nan"), "half"):
        kernel = Kernel.simulated(np.arange(9), epsilon=1, seed=0)
        with pytest.raises(BadInput, match="total_share"):
            plan_named(name, total_share=share).estimate(kernel.root, Prefix(9), "1/3")
        assert kernel.spent == 0


# ---- bad input ------------------------------------------------------------------------------------------------------


def test_unknown_names_come_with_the_nearest_one():
    with pytest.raises(BadInput, match="no algorithm 'priveled'.*Did you mean 'privelet'"):
        simulate("priveled", [1, 2], Identity(2), 1)
    with pytest.raises(BadInput, match="no option 'nonegative'.*Did you mean 'nonnegative'"):
        simulate("hb", [1, 2], Identity(2), 1, nonegative=True)


@over(NAMES)
def test_dimensions_that_are_not_served(name):
    plan = plan_named(name)
    for ndim in (1, 2, 3, 4):
        assert (name in algorithms(ndim)) == plan.serves.serves(ndim)
        if not plan.serves.serves(ndim):
            x = np.ones((2,) * ndim, dtype=int)
            with pytest.raises(
                BadInput,
                match=f"{re.escape(name)} serves .* dimensions; the domain .* has {ndim}\\. Leave the algorithm",
            ):
                simulate(name, x, Identity(x.shape), 1)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.5, 2], "whole numbers"),
        ([1.0, 2.0], "astype"),
        ([-1, 2], "at least 0, given -1"),
        ([], "at least one cell"),
        (["a", "b"], "whole numbers"),
        ([1, 2, 3], "domain of shape"),
        ([[1, 2]], "domain of shape"),
    ],
)
def test_bad_counts(x, message):
    with pytest.raises(BadInput, match=message):
        simulate("identity", x, Identity(2), 1)


def test_bad_workloads_and_budgets_spend_nothing():
    kernel = Kernel.simulated([1, 2, 3], epsilon=1, seed=0)
    plan = plan_named("hb")
    for workload, epsilon in (
        (Identity(2), 1),
        ("prefix", 1),
        (Identity(3), 0),
        (Identity(3), float("nan")),
        (Identity(3), -1),
    ):
        with pytest.raises(BadInput):
            plan.estimate(kernel.root, workload, epsilon)
    assert kernel.spent == 0
    for trials in (0, 1.5, -1):
        with pytest.raises(BadInput, match="trials"):
            simulate("hb", [1, 2], Identity(2), 1, trials=trials)
    with pytest.raises(BadInput, match="seed"):
        simulate("hb", [1, 2], Identity(2), 1, seed=-1)


def test_simulated_noise_marks_its_answers():
    assert SimulatedNoise(0).private is False
    assert not Kernel.simulated([1], epsilon=1, trials=3).root.measure(Identity(1), 1).private
