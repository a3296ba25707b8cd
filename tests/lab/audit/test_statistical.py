"""The statistical audit: it never accuses an honest mechanism, and it catches the broken ones.

Each call of ``certify`` runs at ALPHA, so an assertion that an honest mechanism stays below its ε fails by accident
with probability at most ALPHA; that of ``test_validity`` fails with at most 10⁻⁶. Assertions that a mutant is caught
concern the power of the audit; the seeds are fixed, and each was seen to hold for other seeds as well.
"""

import math

import numpy as np
import pytest
from scipy import stats

from adyton.errors import BadInput
from adyton_lab.audit.pairs import vector_pairs
from adyton_lab.audit.statistical import certify, probability_at_least, probability_at_most

ALPHA = 1e-8
DRAWS = 400_000


@pytest.fixture
def generator():
    return np.random.default_rng(20_240_607)


def discrete_laplace(generator, size, epsilon):
    """The difference of two geometric variables: P(z) = (1 - a)/(1 + a) · a^|z| with a = e^-epsilon."""
    return generator.geometric(-math.expm1(-epsilon), size) - generator.geometric(-math.expm1(-epsilon), size)


def noisy(generator, epsilon):
    """The data, each cell with its own noise."""
    return lambda data, trials: data + discrete_laplace(generator, (trials, *np.shape(data)), epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_exact_noise_is_never_accused_and_nearly_convicted(generator, epsilon):
    """False alarms: at most 6·ALPHA for each ε."""
    bounds = [
        certify(noisy(generator, epsilon), count, count + 1, draws=DRAWS, alpha=ALPHA).lower_bound
        for count in (0, 1, 5, 100, 10**6, 2**53)  # the last is where a float stops telling neighbours apart
    ]
    assert max(bounds) <= epsilon
    assert min(bounds) >= (0.95 if epsilon >= 1 else 0.6) * epsilon


def test_power_at_a_million_draws(generator):
    """An exact mechanism reaches 0.97 ε and an overspend of 2% is proved. False alarms: 10⁻⁶."""
    honest = certify(noisy(generator, 1), 0, 1, draws=10**6, alpha=1e-6)
    assert 0.97 <= honest.lower_bound <= 1
    assert honest.estimate == pytest.approx(1, abs=0.02)
    assert certify(noisy(generator, 1.02), 0, 1, draws=2 * 10**6, alpha=1e-6).lower_bound > 1


@pytest.mark.parametrize("pairs", [8, pytest.param(30, marks=pytest.mark.full)])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_vectors_are_never_accused(generator, epsilon, pairs):
    """Cells with independent noise: the loss is ε whatever the pair. False alarms: at most 30·ALPHA for each ε."""
    bounds = [
        certify(noisy(generator, epsilon), pair.left, pair.right, draws=20_000, alpha=ALPHA).lower_bound
        for pair in vector_pairs(4, pairs)
    ]
    assert max(bounds) <= epsilon
    assert max(bounds) >= (0.8 if epsilon >= 1 else 0) * epsilon


def test_distance_two_doubles_the_loss(generator):
    """False alarms: ALPHA for each pair."""
    for pair in vector_pairs(3, 2, distance=2):
        bound = certify(noisy(generator, 1), pair.left, pair.right, draws=DRAWS, alpha=ALPHA).lower_bound
        assert 1.9 <= bound <= 2


def test_rows_spread_over_two_cells_are_seen_together(generator):
    """No single coordinate has a loss above 1; together they have 2. False alarms: ALPHA."""
    left, right = np.array([4, 7, 1, 1]), np.array([5, 6, 1, 1])
    certificate = certify(noisy(generator, 1), left, right, draws=DRAWS, alpha=ALPHA)
    assert 1.8 <= certificate.lower_bound <= 2


def test_wide_outputs_fit_in_memory(generator):
    """More cells than the audit looks at one by one; it finds the one that differs. False alarms: ALPHA."""
    left = np.zeros(300, dtype=np.int64)
    right = left.copy()
    right[217] = 1
    certificate = certify(noisy(generator, 1), left, right, draws=60_000, alpha=ALPHA, batch=5_000)
    assert 0.85 <= certificate.lower_bound <= 1
    assert "coordinate 217" in certificate.event


def test_validity(generator):
    """A loss of exactly ε is exceeded in at most a fraction alpha of audits.  False alarms: at most 10⁻⁶."""
    repetitions, alpha = 200, 0.01
    accused = sum(
        certify(noisy(generator, 1), 0, 1, draws=2_000, alpha=alpha).lower_bound > 1 for _ in range(repetitions)
    )
    assert accused <= stats.binom.isf(1e-6, repetitions, alpha)


@pytest.mark.parametrize("trials", [1, 7, 50])
@pytest.mark.parametrize("level", [0.2, 1e-3])
def test_clopper_pearson_covers(trials, level):
    """By summing the binomial over every count: no probability is missed more often than the level. Not random."""
    hits = np.arange(trials + 1)
    lower = np.array([probability_at_least(int(k), trials, level) for k in hits])
    upper = np.array([probability_at_most(int(k), trials, level) for k in hits])
    for truth in np.linspace(0, 1, 201):
        chance = stats.binom.pmf(hits, trials, truth)
        assert chance[lower > truth + 1e-12].sum() <= level
        assert chance[upper < truth - 1e-12].sum() <= level


def test_clopper_pearson_far_in_the_tail():
    for hits, trials in ((3, 10**6), (731_000, 10**6), (10**6 - 2, 10**6)):
        lower, upper = (bound(hits, trials, 1e-9) for bound in (probability_at_least, probability_at_most))
        assert stats.binom.sf(hits - 1, trials, lower) == pytest.approx(1e-9, rel=1e-3)
        assert stats.binom.cdf(hits, trials, upper) == pytest.approx(1e-9, rel=1e-3)


VECTOR = (np.array([3, 0, 5]), np.array([3, 1, 5]))


def halved_scale(generator, data, trials):
    return data + discrete_laplace(generator, (trials, 3), 2)


def under_scaled(generator, data, trials):
    return data + discrete_laplace(generator, (trials, 3), 1.05)


def no_noise(generator, data, trials):
    return np.broadcast_to(data, (trials, 3))


def one_sided(generator, data, trials):
    return data + generator.geometric(-math.expm1(-1), (trials, 3)) - 1


def never_below_the_truth(generator, data, trials):
    return np.maximum(data + discrete_laplace(generator, (trials, 3), 1), data)


def singletons_without_noise(generator, data, trials):
    """Cells that count fewer than two rows are released as they are."""
    return data + np.where(data > 1, discrete_laplace(generator, (trials, 3), 1), 0)


def one_seed_for_two_phases(generator, data, trials):
    """Two answers of ε/2 each, to different queries, with the same noise: their difference is an exact count."""
    noise = discrete_laplace(generator, trials, 0.5)
    return np.stack([data[0] + noise, data[0] + data[1] + noise], axis=1)


def sensitivity_two_ignored(generator, data, trials):
    """Every row counts in its cell and in the total, each measured with all of ε."""
    queries = np.vstack([np.eye(3, dtype=np.int64), np.ones(3, dtype=np.int64)])
    return queries @ data + discrete_laplace(generator, (trials, 4), 1)


def rounded_on_one_side(generator, data, trials):
    """Real-valued noise, rounded only where a cell is empty."""
    answers = data + generator.laplace(0, 1, (trials, 3))
    return np.where(data == 0, np.rint(answers), answers)


def rare_leak(generator, data, trials):
    """Honest noise, but one time in a thousand the second cell's parity is told."""
    answers = data + discrete_laplace(generator, (trials, 3), 1)
    answers[generator.random(trials) < 1e-3, 2] = 10_000 + data[1] % 2
    return answers


def failure_on_one_side(generator, data, trials):
    """A division by the true count: not a number where it is zero, a small share of the time."""
    answers = data + generator.laplace(0, 1, (trials, 3))
    answers[generator.random(trials) < 5e-3, 1] = np.inf if data[1] else np.nan
    return answers


def phases_leak(generator, data, trials):
    """Noise on the magnitudes of Fourier coefficients only."""
    coefficients = np.fft.rfft(data)
    return coefficients / np.abs(coefficients) * np.abs(np.abs(coefficients) + generator.laplace(0, 1, (trials, 2)))


MUTANTS = {
    halved_scale: 1.9,
    no_noise: 8,
    one_sided: 4,
    never_below_the_truth: 4,
    singletons_without_noise: 8,
    one_seed_for_two_phases: 8,
    sensitivity_two_ignored: 1.8,
    rounded_on_one_side: 8,
    rare_leak: 2,
    failure_on_one_side: 3,
    phases_leak: 3,
}


@pytest.mark.parametrize(("mutant", "least"), MUTANTS.items())
def test_mutants_are_caught(generator, mutant, least):
    """Each claims ε = 1; the bound that the audit must reach is near the true loss, or large where that is infinite."""
    certificate = certify(lambda *given: mutant(generator, *given), *VECTOR, draws=DRAWS, alpha=ALPHA)
    assert certificate.lower_bound > max(least, 1), certificate


def test_five_percent_too_little_noise_is_caught(generator):
    certificate = certify(lambda *given: under_scaled(generator, *given), *VECTOR, draws=DRAWS, alpha=ALPHA)
    assert certificate.lower_bound > 1, certificate


def test_an_infinite_loss_is_bounded_better_by_more_draws(generator):
    few, many = (certify(lambda d, t: np.full(t, d), 0, 1, draws=n, alpha=ALPHA) for n in (10**3, 10**5))
    assert math.inf > many.lower_bound > few.lower_bound + 4
    assert few.estimate == math.inf


def test_whole_numbers_on_one_side_only_are_read_alike(generator):
    """The type of the array is not an output. False alarms: ALPHA."""
    sample = lambda data, trials: discrete_laplace(generator, (trials, 2), 1).astype(data)  # noqa: E731
    assert certify(sample, int, float, draws=20_000, alpha=ALPHA).lower_bound == 0
    assert certify(sample, int, object, draws=20_000, alpha=ALPHA).lower_bound == 0


def test_a_statistic_of_the_callers_own(generator):
    """The parity of the sum: the only thing this mechanism leaks."""

    def parity_kept(data, trials):
        return data + 2 * generator.integers(-(10**12), 10**12, (trials, 2)) * np.array([1, -1])

    left, right = np.array([0, 0]), np.array([0, 1])
    certificate = certify(
        parity_kept, left, right, draws=20_000, alpha=ALPHA, statistic=lambda outputs, *_: outputs.sum(axis=1) % 2
    )
    assert certificate.lower_bound > 6
    assert certificate.draws == 20_000


def test_equal_distributions_have_no_loss(generator):
    """False alarms: ALPHA."""
    assert certify(noisy(generator, 1), 5, 5, draws=50_000, alpha=ALPHA).lower_bound == 0


def test_the_event_is_described_in_words(generator):
    """Zero or one on the left; on the right, ten more every other time."""
    sample = lambda data, trials: generator.integers(0, 2, trials) + data * generator.integers(0, 2, trials)  # noqa: E731
    certificate = certify(sample, 0, 10, draws=1000, alpha=0.01)
    assert certificate.event == "the output ≥ 10, likelier on the right"
    assert certify(sample, 10, 0, draws=1000, alpha=0.01).event == "the output ≥ 10, likelier on the left"
    assert certify(sample, -10, 0, draws=1000, alpha=0.01).event == "the output ≤ -9, likelier on the left"


def test_batches_bound_what_is_drawn_at_once(generator):
    asked = []

    def sample(data, trials):
        asked.append(trials)
        return data + discrete_laplace(generator, trials, 1)

    certify(sample, 0, 1, draws=10_000, alpha=0.01, batch=300)
    assert max(asked) == 300
    assert sum(asked) == 2 * (10_000 + 1)  # one more to see what an output looks like


@pytest.mark.parametrize("wrong", [{"draws": 99}, {"alpha": 0.0}, {"alpha": 1.0}, {"alpha": math.nan}, {"batch": 0}])
def test_bad_requests_are_refused(generator, wrong):
    with pytest.raises(BadInput):
        certify(noisy(generator, 1), 0, 1, **({"draws": 1000, "alpha": 0.1} | wrong))


def test_bad_samplers_are_refused():
    with pytest.raises(BadInput, match="shape"):
        certify(lambda data, trials: np.zeros(3), 0, 1, draws=1000, alpha=0.1)
    kinds = iter([int, int, int, float])
    with pytest.raises(BadInput, match="one kind"):
        certify(lambda data, trials: np.zeros(trials, dtype=next(kinds)), 0, 1, draws=1000, alpha=0.1)
    with pytest.raises(BadInput, match="numbers"):
        certify(lambda data, trials: np.array(["yes"] * trials), 0, 1, draws=1000, alpha=0.1)
