"""How many cosine waves to keep: the exact loss, the scores in whole numbers, and what goes wrong without them."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.fft import dct, idct
from selection_laws import ONE_EPSILON

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import CoefficientCount
from adyton.kernel.mechanisms.published import resolution as module
from adyton.noise import SimulatedNoise
from adyton.queries.cosines import Cosines
from adyton.session.wire import decode, encode
from adyton_lab.audit.enumeration import selection_loss
from adyton_lab.audit.pairs import Pair, vector_pairs
from adyton_lab.audit.statistical import certify
from exact_laws import loses_more, permute_and_flip_probabilities
from over_cases import over

CASES = CoefficientCount.audit_cases()
TOLERANCE = 1e-9


def opposed(cells, remaining):
    """Pairs on which one row more raises the tail from one wave on and lowers the tail from another one on.

    The slow part of x points where e_i does, the fast part the other way, and is about as large as the noise.
    """
    counts, costs = module._candidates(cells, remaining)
    unit = 2.0 ** Cosines(cells, 1).bits
    for split in range(2, cells):
        noise = math.sqrt(costs[counts.index(split)]) / unit
        for cell in (0, 1, cells // 2, cells - 1):
            wave = dct(np.eye(cells)[cell], norm="ortho")
            for size in (1.0, 1.4):
                target = np.concatenate(
                    [
                        [0.0],
                        50 * noise * wave[1:split] / np.linalg.norm(wave[1:split]),
                        -size * noise * wave[split:] / np.linalg.norm(wave[split:]),
                    ]
                )
                x = idct(target, norm="ortho")
                left = np.rint(x - x.min()).astype(np.int64)
                right = left.copy()
                right[cell] += 1
                yield Pair(f"opposed at {split}, cell {cell}", left, right)


PAIRS = {case.name: vector_pairs(case.domain, count=60) for case in CASES}
OPPOSED = list(opposed(8, F(1, 1000)))
CASE_OF_OPPOSED = replace(CASES[0], mechanism=CoefficientCount(F(1, 1000)), domain=(8,))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("epsilon", ONE_EPSILON)
def test_exact_loss(case, epsilon):
    loss, pair = selection_loss(case, epsilon, PAIRS[case.name])
    assert loss <= float(epsilon) + TOLERANCE, pair
    assert loss > 0.5 * float(epsilon)  # the pairs are not harmless


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(3)])
def test_exact_loss_where_scores_rise_and_fall(epsilon):
    loss, pair = selection_loss(CASE_OF_OPPOSED, epsilon, OPPOSED)
    assert loss <= float(epsilon) + TOLERANCE, pair
    assert loss > 0.8 * float(epsilon)


class OneDirection(CoefficientCount):
    """The sharpness for scores that all move in the same direction.

    Claim.  None.
    Proof.  None.  ∎
    """

    def sharpness(self, cells, epsilon):
        return epsilon / (1 + math.isqrt(Cosines(cells, cells).column_energy()))


class OffTheGrid(CoefficientCount):
    """A sensitivity of 1, as if the scores were not in steps of the grid.

    Claim.  None.
    Proof.  None.  ∎
    """

    def sharpness(self, cells, epsilon):
        return epsilon / 2


class Squared(CoefficientCount):
    """The squares, whose sensitivity depends on the data.

    Claim.  None.
    Proof.  None.  ∎
    """

    def scores(self, values, counts, costs):
        return [-(score**2) >> 28 for score in super().scores(values, counts, costs)]


class LargestFirst(CoefficientCount):
    """Candidates that depend on the data: as many as there are coefficients above 1.

    Claim.  None.
    Proof.  None.  ∎
    """

    def scores(self, values, counts, costs):
        scores = super().scores(values, counts, costs)
        large = int((np.abs(Cosines(values.size, values.size) @ values) > 1 << Cosines(values.size, 1).bits).sum())
        return scores[: max(1, large)]


@pytest.mark.parametrize("mutant", [OneDirection, OffTheGrid, Squared, LargestFirst])
def test_mutants_are_caught(mutant):
    ordinary = replace(CASES[1], mechanism=mutant(CASES[1].mechanism.remaining))
    opposite = replace(CASE_OF_OPPOSED, mechanism=mutant(F(1, 1000)))
    assert loses_more(ordinary, F(1), PAIRS[CASES[1].name], 1.05) or loses_more(opposite, F(1), OPPOSED, 1.05)


# ---- the scores ------------------------------------------------------------------------------------------------------


def all_waves(x):
    return Cosines(x.size, x.size) @ x


def slow_scores(x, remaining):
    """In Python integers, one product after the other."""
    cells = len(x)
    rows = np.concatenate(list(Cosines(cells, cells).rows())).astype(np.int64).tolist()
    answers = [sum(a * int(b) for a, b in zip(row, x, strict=True)) for row in rows]
    grid = 4 ** Cosines(cells, 1).bits
    scores = []
    for k in range(1, cells + 1):
        norm = min(F(k), (1 + (k - 1) * F(99, 70)) ** 2 / cells)
        cost = int(2 * k * norm * grid / remaining**2)
        tail = sum(answer**2 for answer in answers[k:])
        root = math.isqrt(tail + cost)
        assert root**2 <= tail + cost < (root + 1) ** 2
        scores.append(-root)
    return scores


@over([1, 2, 7, 8, 31], [1, 1000, 2**53 + 1, 2**62, 2**80])
def test_scores_are_exact(cells, largest):
    random = np.random.default_rng(cells)
    values = [largest - int(one) for one in random.integers(0, 2, cells)]
    x = np.array(values, dtype=np.int64 if largest < 2**62 else object)
    for remaining in (F(1, 10**6), F(1, 3), F(1000)):
        counts, costs = module._candidates(cells, remaining)
        assert counts == tuple(range(1, cells + 1))
        assert CoefficientCount(remaining).scores(all_waves(x), counts, costs) == slow_scores(values, remaining)


@over([0, 1, 2**21 - 1, 2**21, 2**42 - 1, 2**42, 2**61, 2**62, 2**63 - 1, 2**90])
def test_tails_of_squares_are_exact(largest):
    """Digits of 21 bits against Python integers, at the edges of one, two and three digits and beyond."""
    random = np.random.default_rng(1)
    values = [largest - int(one) if keep < 0.8 else -largest for one, keep in random.random((300, 2)) * [3, 1]]
    answers = np.array(values, dtype=np.int64 if largest < 2**63 - 3 else object)
    counts = module._candidates(300, F(1))[0]
    assert module.tail_squares(answers, counts) == [sum(one**2 for one in values[count:]) for count in counts]


def test_one_row_among_very_many_is_seen():
    """Counts near 2⁵³, where doubles would not see it: the scores move, and by no more than they may."""
    for cells in (6, 8):
        counts, costs = module._candidates(cells, F(1))
        left = np.full(cells, 2**53 - 1)
        left[1] -= 5
        right = left.copy()
        right[1] += 1
        before, after = (np.array(CoefficientCount(F(1)).scores(all_waves(x), counts, costs)) for x in (left, right))
        moved = after - before
        assert moved.any()
        assert moved.max() - moved.min() <= module._spread(cells) + 1


def test_the_bound_on_the_grid_is_close_to_the_real_one():
    """An orthonormal column has norm 1, and less without the constant wave."""
    for cells in (2, 5, 64, 100, 1024):
        unit = 2 ** Cosines(cells, 1).bits
        assert module._spread(cells) == pytest.approx(math.sqrt(2 * (1 - 1 / cells)) * unit, rel=1e-4)
        assert CoefficientCount(F(1)).sharpness(cells, F(1)) == F(1, module._spread(cells) + 1)
    assert module._spread(1) == 0


def test_candidates_are_dense_and_end_with_all_waves():
    counts, costs = module._candidates(4096, F(1, 2))
    assert counts[:33] == tuple(range(1, 34))
    assert counts[-1] == 4096
    assert max(later / earlier for earlier, later in itertools.pairwise(counts[32:])) < 1.04
    assert len(counts) < 250
    assert list(costs) == sorted(costs)
    unit = 2 ** Cosines(4096, 1).bits
    for count, cost in list(zip(counts, costs, strict=True))[::20]:
        noise = math.sqrt(2 * count) * Cosines(4096, count).sensitivity() / unit / 0.5
        assert noise <= 1.001 * math.sqrt(cost) / unit <= 1.6 * noise


def test_the_sampler_has_the_law_of_permute_and_flip():
    x = np.array([0, 0, 9, 11, 4, 0, 1, 0])
    selection = CoefficientCount(F(1, 2))
    counts, costs = module._candidates(8, F(1, 2))
    law = permute_and_flip_probabilities(selection.scores(all_waves(x), counts, costs), selection.sharpness(8, F(2)))
    noise, trials = SimulatedNoise(3), 4000
    drawn = np.array([selection.choose(x, F(2), noise)[0] for _ in range(trials)])
    for count, chance in zip(counts, law, strict=True):
        p = float(chance)
        assert abs((drawn == count).mean() - p) <= 6 * math.sqrt(p * (1 - p) / trials) + 6 / trials


# ---- whole releases with a bug --------------------------------------------------------------------------------------


def test_magnitudes_with_noise_and_phases_without_are_caught():
    """Complex waves as published: noise on |F_k|, the phase as it is. It moves with every row."""
    random = np.random.default_rng(0)

    def release(x, trials):
        waves = np.fft.fft(x, norm="ortho")[:3]
        magnitudes = np.abs(waves) + random.laplace(0, math.sqrt(3), (trials, 3))
        noisy = magnitudes * np.exp(1j * np.angle(waves))
        return np.where(magnitudes == 0, 0, np.angle(noisy) % np.pi).round(6)

    left, right = np.array([0, 3, 0, 1, 0, 0]), np.array([0, 3, 0, 2, 0, 0])
    found = certify(release, left, right, draws=4000, alpha=1e-6)
    assert found.lower_bound > 3


def test_one_stream_for_both_phases_is_caught():
    """The noise of the choice is the noise of the coefficients: a choice tells the noise, which is then taken off.

    Two cells, so k is 1 or 2. With two independent streams the same attack finds nothing.
    """

    counts, costs = module._candidates(2, F(1))
    selection, random = CoefficientCount(F(1)), np.random.default_rng(5)

    def release(shared):
        def sample(x, trials):
            scores = np.array(selection.scores(all_waves(x), counts, costs), dtype=float)
            noise = random.standard_exponential((trials, 2))
            choices = np.argmax(float(selection.sharpness(2, F(1))) * scores + noise, axis=1)
            again = noise if shared else random.standard_exponential((trials, 2))
            answers = x.sum() + again[:, 0] - again[:, 1]
            return np.where(choices == 0, answers, -answers) + 1000 * choices

        return sample

    left, right = np.array([0, 4]), np.array([0, 5])
    assert certify(release(True), left, right, draws=200_000, alpha=1e-6).lower_bound > 2.2
    assert certify(release(False), left, right, draws=200_000, alpha=1e-6).lower_bound < 2


# ---- as an operator -------------------------------------------------------------------------------------------------


def test_the_kernel_runs_it():
    kernel = Kernel.on_vector(np.arange(64), epsilon=2)
    chosen = kernel.root.select(CoefficientCount(F(1)), 1)
    assert type(chosen) is int
    assert 1 <= chosen <= 64
    assert kernel.spent == 1


def test_it_travels_as_text():
    assert decode(encode(CoefficientCount(F(3, 7)))) == CoefficientCount(F(3, 7))
    assert str(CoefficientCount(F(1))) == "number of cosine waves"


@pytest.mark.parametrize("remaining", [F(0), F(-1), 1, 0.5, "1", None, True])
def test_bad_budgets_are_refused_before_anything_is_spent(remaining):
    kernel = Kernel.on_vector([1, 2, 3], epsilon=1)
    with pytest.raises(BadInput):
        kernel.root.select(CoefficientCount(remaining), "0.5")
    assert kernel.spent == 0


def test_one_dimension_only():
    kernel = Kernel.on_vector([[1, 2], [3, 4]], epsilon=1)
    with pytest.raises(BadInput, match="one dimension"):
        kernel.root.select(CoefficientCount(F(1)), "0.5")
    assert kernel.spent == 0
