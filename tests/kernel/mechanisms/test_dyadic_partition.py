"""The dyadic partition: its law, its loss, its arithmetic on counts that break doubles, and what the checks catch."""

import itertools
from decimal import Context, Decimal
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.stats import chisquare
from selection_laws import ONE_EPSILON

from adyton.errors import BadInput
from adyton.kernel.counts import PrivateVector
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import AuditCase, DyadicPartition
from adyton.kernel.mechanisms.published import dyadic_partition
from adyton.kernel.mechanisms.published.dyadic_partition import GRID, PartitionWeights, deviations, enclose_level
from adyton.noise import ExactNoise, SimulatedNoise
from adyton.noise.bits import COIN_BITS, enclose
from adyton.session.wire import decode, encode
from adyton_lab.audit.enumeration import enumerate_distribution, selection_loss
from adyton_lab.audit.pairs import vector_pairs
from exact_laws import loses_more
from over_cases import over

DIGITS = Context(prec=60, Emin=-(10**17), Emax=10**17)
FALSE_ALARM = 1e-7


def deviation(values):
    return min(sum(abs(value - centre) for value in values) for centre in values)


def partitions(first, last):
    """All partitions of the cells first … last − 1, a power of two of them, with the numbers of blocks cut and kept."""
    yield ((first, last),), 0, int(last - first > 1)
    if last - first > 1:
        middle = (first + last) // 2
        for (left, cut, kept), (right, more_cut, more_kept) in itertools.product(
            partitions(first, middle), list(partitions(middle, last))
        ):
            yield left + right, cut + more_cut + 1, kept + more_kept


def law(values, mechanism, epsilon):
    """The claim itself: every partition by its weight, without any recursion over sums."""
    price = F(round(mechanism.bucket_cost * GRID), GRID)
    weights = {}
    costs = {}
    for blocks, cut, kept in partitions(0, len(values)):
        prior = sum(F(s, 100) ** cut * (1 - F(s, 100)) ** kept for s in mechanism.chances)
        costs[blocks] = (prior, sum(deviation(values[first:last]) + price for first, last in blocks))
    least = min(cost for _, cost in costs.values())
    for blocks, (prior, cost) in costs.items():
        exponent = -epsilon / 2 * (cost - least)
        power = DIGITS.exp(DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
        weights[blocks] = DIGITS.multiply(DIGITS.divide(Decimal(prior.numerator), Decimal(prior.denominator)), power)
    total = sum(weights.values())
    return {labels_of(blocks): float(weight / total) for blocks, weight in weights.items()}


def labels_of(blocks):
    return tuple(number for number, (first, last) in enumerate(blocks) for _ in range(first, last))


def enumerated(values, mechanism, epsilon):
    values = np.array(values)
    return enumerate_distribution(lambda source: tuple(mechanism.choose(values, epsilon, source).tolist()))


def case_of(mechanism):
    return AuditCase("case", mechanism, mechanism.domain, PrivateVector.of, enumerable=True)


@pytest.mark.parametrize(
    "values",
    [
        [0, 0, 0, 0, 0, 0, 0, 1],
        [3, 3, 9, 9, 0, 1, 0, 40],
        [2**53 + 1, 2**53, 0, 0, 2**53 - 1, 1, 2**53, 2**53 + 2],
        [2**61, 0, 2**61 + 1, 1, 2**61, 2, 2**61 + 3, 3],
    ],
    ids=["nearly empty", "mixed", "2^53", "2^61"],
)
def test_the_law_is_the_claim(values):
    """Enumerated through the sampler's own code, against fractions; doubles could not tell the large counts apart."""
    mechanism = DyadicPartition((8,), F(1, 3), (10, 60))
    seen = [min(value, (2**62 - 1) // (8 * GRID)) for value in values]  # counts beyond are cut off
    found, expected = enumerated(values, mechanism, F(1)), law(seen, mechanism, F(1))
    assert found.keys() == expected.keys()
    for labels, probability in expected.items():
        assert found[labels] == pytest.approx(probability, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("noise", [ExactNoise(), SimulatedNoise(3)], ids=["exact", "simulated"])
@pytest.mark.parametrize("values", [[3, 3, 4, 9, 0, 1, 0, 0], [2**53 + 2, 2**53, 2**53, 2**53 + 1, 5, 5, 5, 5]])
def test_draws_follow_the_law(noise, values):
    mechanism = DyadicPartition((8,), F(2), (10, 60))
    expected = law(values, mechanism, F(1, 2))
    draws = [tuple(mechanism.choose(np.array(values), F(1, 2), noise).tolist()) for _ in range(600)]
    counts = np.array([draws.count(labels) for labels in expected])
    chances = np.array(list(expected.values())) * len(draws)
    often = chances >= 10
    rare = chances[~often].sum()
    pooled = np.append(counts[often], counts[~often].sum()), np.append(chances[often], rare)
    if rare < 1:  # a Poisson count of mean 1 is at most 12, but for a chance of 10⁻¹⁰
        assert counts[~often].sum() <= 12
        pooled = counts[often], chances[often] * counts[often].sum() / chances[often].sum()
    assert chisquare(*pooled).pvalue > FALSE_ALARM


@pytest.mark.parametrize("domain", [(4,), (2, 2), (2, 3), (8,)])
@pytest.mark.parametrize("epsilon", ONE_EPSILON)
def test_the_loss_is_at_most_epsilon(domain, epsilon):
    pairs = vector_pairs(domain, count=12 if domain != (8,) else 3)
    loss, _ = selection_loss(case_of(DyadicPartition(domain, F(1, 2), (10, 60))), epsilon, pairs)
    assert 0.4 * epsilon < loss <= epsilon + 1e-9


@pytest.mark.parametrize("mutant", ["no factor 2", "mean instead of median", "free cells", "price by the data"])
def test_mutants_are_caught(mutant, monkeypatch):
    """Each leaks more than ε on some pair, and the enumeration says so."""
    if mutant == "no factor 2":
        honest = PartitionWeights.__init__

        def careless(self, costs, parts, rate, chances):
            honest(self, costs, parts, 2 * rate, chances)

        monkeypatch.setattr(PartitionWeights, "__init__", careless)
    elif mutant == "mean instead of median":

        def about_the_mean(values, boundaries):
            blocks = [[values[a:b] for a, b in itertools.pairwise(level)] for level in boundaries]
            return [np.array([int(2 * np.abs(b - b.mean()).sum()) for b in level]) for level in blocks]

        monkeypatch.setattr(dyadic_partition, "deviations", about_the_mean)
    elif mutant == "free cells":  # what is spent on cells is not charged: their counts enter the score as they are
        monkeypatch.setattr(
            dyadic_partition, "deviations", lambda x, tree: [3 * level for level in deviations(x, tree)]
        )
    else:
        monkeypatch.setattr(
            dyadic_partition, "deviations", lambda x, tree: [level * (1 + x.sum()) for level in deviations(x, tree)]
        )
    case = case_of(DyadicPartition((4,), F(1, 2), (10, 60)))
    assert loses_more(case, F(1), vector_pairs((4,), count=30), 1 + 1e-9)


@over([1, 2, 3, 5, 8, 37], [3, 2**53, 2**62])
def test_deviations_are_exact(size, largest):
    random = np.random.default_rng(size)
    values = largest - random.integers(0, 4, size) if size % 2 else random.integers(0, largest, size, dtype=np.int64)
    _, boundaries, _ = dyadic_partition._tree((size,))
    found, most = deviations(values, boundaries), (2**62 - 1) // (size * GRID)
    for level, blocks in zip(found, boundaries, strict=True):
        expected = [
            deviation([min(most, value) for value in values[a:b].tolist()]) for a, b in itertools.pairwise(blocks)
        ]
        assert level.tolist() == expected


@over([(37,), (64,), (5, 6), (8, 8), (2,) * 7], [F(1, 1000), F(1, 3), F(40)])
def test_double_precision_encloses_the_truth(domain, rate):
    """Every pair of bounds holds the probability that many digits give, and is narrow."""
    random = np.random.default_rng(0)
    order, boundaries, parts = dyadic_partition._tree(domain)
    values = random.poisson(random.gamma(0.3, 20, order.size))
    costs = [GRID * level + 5 for level in deviations(values, boundaries)]
    weights = PartitionWeights(costs, parts, rate / GRID, (F(1, 50), F(1, 2), F(97, 100)))
    bits = 150

    def check(lower, upper, odds):
        low, high = enclose(*odds, bits)
        assert lower << (bits - COIN_BITS) <= low + 1
        assert high - 1 <= upper << (bits - COIN_BITS)
        assert (upper - lower) / 2**COIN_BITS < 1e-9

    for k, (lower, upper) in enumerate(zip(*weights.choice_bounds(), strict=True)):
        check(int(lower), int(upper), weights.refine_choice(k, 0, 60))
    for k, level in itertools.product(range(3), range(len(parts))):
        blocks = np.arange(costs[level].size)
        for block, lower, upper in zip(blocks, *weights.cut_bounds(k, level, blocks), strict=True):
            check(int(lower), int(upper), weights.refine_cut(k, level, np.array([block]), 0, 60))


def test_the_slack_grows_with_the_number_of_parts():
    """Along ten axes a block has 1024 parts: the bound covers as many roundings, in whatever order they are added."""
    number, tiny = 1024, 0.9 * 2.0**-54
    below = np.full(number, tiny)
    logs, errors, _, _ = enclose_level(
        np.array([0, number]), np.array([0.0]), np.array([1.0]), below, np.zeros(number), -1000.0, 0.0
    )
    assert abs(F(number) * F(tiny) - 1 - F(float(logs[0]))) <= errors[0]
    assert errors[0] >= (number + 4) * 2.0**-53


def test_digits_are_digits():
    """What is asked for in a hundred digits has a hundred digits, however small the default precision is."""
    weights = PartitionWeights([np.array([7]), np.array([0, 0])], [np.array([0, 2])], F(1, 3), (F(1, 10), F(1, 3)))
    context = Context(prec=130)
    power = context.exp(context.divide(Decimal(-7), Decimal(3)))
    first = context.add(context.divide(Decimal(1), 10), context.multiply(context.divide(Decimal(9), 10), power))
    second = context.add(context.divide(Decimal(1), 3), context.multiply(context.divide(Decimal(2), 3), power))
    for found, expected in zip(weights.refine_choice(0, 0, 100), (first, second), strict=True):
        assert abs(context.divide(found, expected) - 1) < Decimal("1e-100")


def test_on_a_kernel():
    kernel = Kernel.on_vector([5, 5, 5, 5, 0, 0, 0, 0], epsilon=10)
    partition = kernel.root.select(DyadicPartition((8,), F(1)), 9)
    assert partition.cells == 8
    assert kernel.spent == 9
    again = decode(encode(DyadicPartition((2, 3), F(1, 3))))
    assert (again.domain, again.bucket_cost) == ((2, 3), F(1, 3))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (DyadicPartition((7,)), "shape"),
        (DyadicPartition((2, 4)), "shape"),
        (DyadicPartition((8,), F(-1)), "cost"),
        (DyadicPartition((8,), F(2**41)), "cost"),
        (DyadicPartition((8,), F(1), ()), "chances"),
        (DyadicPartition((8,), F(1), (0, 50)), "chances"),
        (DyadicPartition((8,), 0.5), "bucket_cost"),
        (DyadicPartition([8]), "domain"),
    ],
)
def test_bad_input_costs_nothing(bad, message):
    kernel = Kernel.on_vector(np.arange(8), epsilon=1)
    with pytest.raises(BadInput, match=message):
        kernel.root.select(bad, 1)
    assert kernel.spent == 0
