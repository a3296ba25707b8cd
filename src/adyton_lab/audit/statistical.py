"""Do the outputs of a mechanism give away more than ε? A lower bound on the loss of a mechanism treated as a black box.

A mechanism is ε-differentially private when P(M(left) ∈ E) ≤ e^ε · P(M(right) ∈ E) for every event E and both orders
of every neighbouring pair, so one event with a larger ratio refutes the claim. :func:`certify` looks for that event in
three independent samples: the first describes the outputs, the second chooses the events, and only the third counts as
evidence, so the bound is valid however greedy the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.mechanisms import AuditCase
from adyton.kernel.operators import claim
from adyton.noise import ExactNoise
from adyton.noise.source import NoiseSource
from adyton_lab.audit.pairs import EPSILONS, REACH, Finding, Pair, vector_pairs

Sampler: TypeAlias = Callable[[Any, int], Array]
Statistic: TypeAlias = Callable[[Array, Any, Any], Array] | None

_SEARCH_SHARE = 8  # one draw in eight describes the outputs, another one in eight chooses the events
_LARGEST_BATCH = 2**24  # numbers in one batch of outputs
FALSE_ALARM = 1e-6
"""The probability, at most, that an audit case fails although the mechanism keeps its claim."""
Histograms: TypeAlias = list[list[Array]]
"""One list per column: left, right."""

_CARRIED = 4
"""The largest number of events that reach the test: two in each direction."""
_MOST_CUTS, _COARSE_CUTS = 4096, 64
_MOST_FEATURES, _MOST_ALL_DIFFERENCES = 32, 6


def audit_mechanism(
    case: AuditCase,
    *,
    pairs: int,
    draws: int,
    strong_draws: int,
    reach: float = REACH,
    noise: NoiseSource | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Finding:
    """Attack one audit case on *pairs* neighbouring pairs at every ε; at ε ≥ 1, attack the leakiest pair again with
    *strong_draws*."""
    attack = _attacker(case, FALSE_ALARM / attacks(pairs), noise or ExactNoise())
    neighbours = vector_pairs(case.domain, count=pairs)
    worst, reached = 0.0, 0.0
    for epsilon in EPSILONS:
        certified = []
        for pair in neighbours:
            certified.append((attack(pair, epsilon, draws), pair))
            advance()
        if epsilon >= 1:
            leakiest = max(certified, key=lambda entry: entry[0].lower_bound)[1]
            certified.append((attack(leakiest, epsilon, strong_draws), leakiest))
            advance()
        certificate, pair = max(certified, key=lambda entry: entry[0].lower_bound)
        ratio = certificate.lower_bound / float(epsilon)
        worst = max(worst, ratio)
        if epsilon >= 1:
            reached = max(reached, ratio)
        if ratio > 1:
            detail = (
                f"loses at least {certificate.lower_bound:.4g} at ε = {float(epsilon):g} on “{pair.name}”: "
                f"{certificate.event}."
            )
            return Finding("mechanisms", case.name, False, detail, {"certified/ε": ratio})
    figures = {
        "claim": claim(case.mechanism),
        "certified/ε": round(reached, 4),
        "largest/ε": round(worst, 4),
        "pairs": pairs,
        "draws": strong_draws,
    }
    if case.reaches_epsilon and reached < reach:
        return Finding("mechanisms", case.name, False, f"the audit reached only {reached:.3f} of ε: no power.", figures)
    return Finding("mechanisms", case.name, True, f"never above ε; {reached:.3f} of ε certified.", figures)


def attacks(pairs: int) -> int:
    """How many attacks an audit of one case makes."""
    return pairs * len(EPSILONS) + sum(epsilon >= 1 for epsilon in EPSILONS)


def _attacker(case: AuditCase, alpha: float, noise: NoiseSource) -> Callable[[Pair, Fraction, int], Certificate]:
    """Certificates for one audit case; the data that the kernel would hold are prepared once for each pair."""

    @cache
    def hold(pair: Pair) -> tuple[Any, Any]:
        return case.prepare(pair.left), case.prepare(pair.right)

    def attack(pair: Pair, epsilon: Fraction, draws: int) -> Certificate:
        def sample(side: Array, trials: int) -> Array:
            return case.mechanism.draw(hold(pair)[side is pair.right], epsilon, noise, trials)

        def statistic(outputs: Array, left: Any, right: Any) -> Array:
            flat = outputs.reshape(len(outputs), -1)
            if case.statistic is None:
                return flat
            return np.column_stack([flat, case.statistic(flat, left, right, epsilon)])

        return certify(sample, pair.left, pair.right, draws=draws, alpha=alpha, statistic=statistic)

    return attack


# ---- a certificate for one pair -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Certificate:
    """What the audit can prove about one pair of data sets."""

    lower_bound: float  # the loss on this pair is at least this, with confidence 1 - alpha
    estimate: float  # ln of the ratio of observed frequencies; infinite if the event was never seen on one side
    event: str  # the event that proves it, in words
    draws: int  # outputs drawn on each side, the search included
    alpha: float  # the probability, at most, that lower_bound exceeds the true loss


def certify(
    sample: Sampler, left: Any, right: Any, *, draws: int, alpha: float, statistic: Statistic = None, batch: int = 10**5
) -> Certificate:
    """Bound from below the loss max_E |ln P(M(left) ∈ E) / P(M(right) ∈ E)| of the mechanism behind *sample*.

    ``sample(data, trials)`` returns an array whose first axis runs over *trials* independent outputs; successive calls
    must be independent too. ``statistic(outputs, left, right)`` may replace the outputs by one or more numbers each.

    Claim.  P(lower_bound > loss) ≤ alpha, over the draws.
    Proof.  Given the two search samples, the m ≤ 4 events carried to the test are fixed. For each of them
    P(p⁻ > p) ≤ alpha/2m and P(q⁺ < q) ≤ alpha/2m (Clopper and Pearson 1934); otherwise ln(p⁻/q⁺) ≤ ln(p/q) ≤ loss.
    The union bound over the 2m failures gives alpha. A bound below 0 is replaced by 0, which every loss reaches.  ∎
    An event that never happens on one side of n test draws yields about ln(n·p / ln(2m/alpha)), which grows with n.
    """
    if draws < 100 or batch < 1 or not 0 < alpha < 1:
        raise BadInput(f"Ask for draws ≥ 100, batch ≥ 1 and 0 < alpha < 1; given {draws}, {batch} and {alpha}.")

    probes = [np.asarray(sample(data, 1)) for data in (left, right)]
    batch = min(batch, max(1, _LARGEST_BATCH // max(1, probes[0].size)))
    looks = [statistic(probe, left, right) if statistic else probe for probe in probes]
    whole = all(look.dtype.kind in "biu" for look in looks)  # one type for all: an output must not reveal its batch

    def features(side: int, trials: int) -> Array:
        outputs = np.asarray(sample((left, right)[side], trials))
        return _as_features(statistic(outputs, left, right) if statistic else outputs, trials, whole)

    def batches(total: int) -> Iterator[tuple[int, Array]]:
        for start in range(0, total, batch):
            for side in (0, 1):
                yield side, features(side, min(batch, total - start))

    first, second = min(draws // _SEARCH_SHARE, batch), draws // _SEARCH_SHARE
    test = draws - first - second
    described = [features(side, first) for side in (0, 1)]
    columns = columns_of(described)
    shapes = [[column.histogram(part) for part in described] for column in columns]
    chosen_on = [[np.zeros_like(count) for count in shape] for shape in shapes]
    for side, part in batches(second):
        for column, counts in zip(columns, chosen_on, strict=True):
            counts[side] += column.histogram(part)
    events = telling_events(columns, shapes, chosen_on, trials=second, test=test, alpha=alpha)
    hits = np.zeros((len(events), 2), dtype=np.int64)
    for side, part in batches(test):
        for row, event in enumerate(events):
            hits[row, side] += np.count_nonzero(event.members[event.column.cells(part)])
    best = Certificate(0.0, 0.0, "anything", draws, alpha)
    level = alpha / (2 * len(events))  # alpha / 2m
    for event, seen in zip(events, hits.tolist(), strict=True):
        likely, unlikely = seen[event.favours], seen[1 - event.favours]
        lower, upper = probability_at_least(likely, test, level), probability_at_most(unlikely, test, level)
        if lower > upper * math.exp(best.lower_bound):
            estimate = math.log(likely / unlikely) if unlikely else math.inf
            best = Certificate(math.log(lower / upper), estimate, event.words, draws, alpha)  # ln(p⁻ / q⁺)
    return best


def probability_at_least(hits: int, trials: int, level: float) -> float:
    """Clopper–Pearson: the p with P(Binomial(trials, p) ≥ hits) = level; it exceeds the true p at most that often."""
    return 0.0 if hits == 0 else float(special.betaincinv(hits, trials - hits + 1, level))


def probability_at_most(hits: int, trials: int, level: float) -> float:
    """Clopper–Pearson: the p with P(Binomial(trials, p) ≤ hits) = level; the true p exceeds it at most that often."""
    return 1.0 if hits == trials else float(special.betainccinv(hits + 1, trials - hits, level))


def _as_features(values: Array, trials: int, whole: bool) -> Array:
    if values.shape[:1] != (trials,):
        raise BadInput(f"The sampler was asked for {trials} outputs and gave an array of shape {values.shape}.")
    if values.dtype.kind not in ("biu" if whole else "biufcO"):
        raise BadInput(f"Outputs must be numbers of one kind, given {values.dtype}. Convert them with statistic=.")
    parts = [values.real, values.imag] if values.dtype.kind == "c" else [values]
    return np.stack(parts, axis=-1).reshape(trials, -1).astype(np.int64 if whole else np.float64)


# ---- events that may tell two samples apart: which numbers to examine, and which values -----------------------------


@dataclass(frozen=True, eq=False)
class Column:
    """One number per output, and the cells its values fall into: cell 2i + 1 is exactly cut i, 2i the gap below it."""

    name: str
    read: Callable[[Array], Array]
    cuts: Array

    def cells(self, features: Array) -> Array:
        """The number of the cell of each output."""
        values = self.read(features)
        position = np.searchsorted(self.cuts, values)
        return np.asarray(2 * position + (self.cuts[np.minimum(position, len(self.cuts) - 1)] == values))

    def histogram(self, features: Array) -> Array:
        """How many outputs fall into each cell."""
        return np.bincount(self.cells(features), minlength=2 * len(self.cuts) + 1)


@dataclass(frozen=True, eq=False)
class Event:
    """A set of cells of one column, and the side (0 is left) on which it should be likelier."""

    column: Column
    members: Array
    favours: int
    words: str


def columns_of(parts: Sequence[Array]) -> list[Column]:
    """The numbers to examine: coordinates; if several, also their differences, sum, identity and joint evidence."""

    def column(name: str, read: Callable[[Array], Array], most: int = _MOST_CUTS) -> Column:
        return Column(name, read, _cuts(np.concatenate([read(part) for part in parts]), most))

    if parts[0].shape[1] == 1:
        return [column("the output", partial(_difference, 0, None))]
    kept = _telling_features(parts)
    single = [(f"coordinate {i}", partial(_difference, i, None)) for i in kept]
    reach = len(kept) if len(kept) <= _MOST_ALL_DIFFERENCES else 2  # all pairs, or only consecutive coordinates
    columns = [column(*entry) for entry in single]
    together = [(i, j) for start, j in enumerate(kept) for i in kept[start + 1 : start + reach]]
    columns += [column(f"coordinate {i} minus coordinate {j}", partial(_difference, i, j)) for i, j in together]
    columns.append(column("the sum", lambda features: np.asarray(features.sum(axis=1))))
    columns.append(column("the fingerprint of the whole output", _fingerprint))
    coarse = [column(*entry, _COARSE_CUTS) for entry in single]
    tables = [np.log((entry.histogram(parts[0]) + 10) / (entry.histogram(parts[1]) + 10)) for entry in coarse]

    def evidence(features: Array) -> Array:  # 64 · Σ_i ln P(left gives y_i) / P(right gives y_i), rounded
        terms = [table[entry.cells(features)] for entry, table in zip(coarse, tables, strict=True)]
        return np.asarray(np.rint(64 * np.sum(terms, axis=0)))

    columns.append(column("64 times the evidence summed over coordinates", evidence))
    return columns


def telling_events(
    columns: Sequence[Column], shapes: Histograms, counts: Histograms, *, trials: int, test: int, alpha: float
) -> list[Event]:
    """For each direction, the event with the best predicted bound on the test sample, and the safest event so far.

    Predicted with Wilson's interval of half-width z deviations; z·√(trials/test) here is as wide as z on the test.
    """
    z = -float(special.ndtri(alpha / (2 * _CARRIED)))
    chosen: dict[tuple[int, str, bytes], Event] = {}
    for favours in (0, 1):
        for caution in (z * math.sqrt(trials / test), z):
            candidates: list[tuple[float, Column, str, Array]] = []
            for column, shape, count in zip(columns, shapes, counts, strict=True):
                natural = np.arange(len(count[0]))
                likeliest = np.argsort((shape[1 - favours] + 2) / (shape[favours] + 2), kind="stable")
                for kind, order in (("lower", natural), ("upper", natural[::-1]), ("set", likeliest)):
                    likely, unlikely = (np.cumsum(count[side][order]) for side in (favours, 1 - favours))
                    with np.errstate(divide="ignore"):
                        score = np.log(_wilson(likely, trials, -caution)) - np.log(_wilson(unlikely, trials, caution))
                    last = int(np.argmax(score))
                    candidates.append((float(score[last]), column, kind, order[: last + 1]))
            _, column, kind, inside = max(candidates, key=lambda candidate: candidate[0])
            words = f"{_words(column, kind, inside)}, likelier on the {('left', 'right')[favours]}"
            members = np.isin(np.arange(2 * len(column.cuts) + 1), inside)
            chosen[favours, column.name, members.tobytes()] = Event(column, members, favours, words)
    return list(chosen.values())


def _words(column: Column, kind: str, inside: Array) -> str:
    end, cuts = int(inside[-1]), column.cuts
    if kind == "set" or end in (0, 2 * len(cuts)):
        values = [f"{cuts[cell // 2]:.6g}" for cell in inside[:4] if cell % 2]
        return f"{column.name} in a set of {len(inside)} cells ({', '.join([*values, '…'])})"
    upper = kind == "upper"
    return f"{column.name} {('≤≥' if end % 2 else '<>')[upper]} {cuts[(end - upper) // 2]:.6g}"


def _wilson(hits: Array, trials: int, z: float) -> Array:
    """The end of Wilson's interval on the side of z's sign: quick, and close enough for choosing events."""
    spread = np.sqrt(hits * (trials - hits) / trials + z * z / 4)
    return np.asarray(np.maximum((hits + z * z / 2 + z * spread) / (trials + z * z), 0.0))


def _cuts(values: Array, most: int) -> Array:
    """The distinct values; when there are too many, the commonest ones and evenly spaced quantiles."""
    values = np.sort(values[~np.isnan(values)])
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) > most:
        commonest = distinct[np.argsort(-counts, kind="stable")[: most // 2]]
        distinct = np.union1d(commonest, values[np.linspace(0, len(values) - 1, most // 2).astype(np.int64)])
    return distinct if len(distinct) else np.zeros(1)


def _telling_features(parts: Sequence[Array]) -> list[int]:
    """At most 32 coordinates: those whose mean or mean square differs most between the two sides."""
    score = np.zeros(parts[0].shape[1])
    for power in (1, 2) if len(score) > _MOST_FEATURES else ():
        here, there = ((part - parts[0].mean(axis=0)) ** power for part in parts)
        score = np.fmax(score, np.abs(here.mean(axis=0) - there.mean(axis=0)) / (here.std(axis=0) + 1e-9))
    return [int(i) for i in np.sort(np.argsort(-score, kind="stable")[:_MOST_FEATURES])]


def _difference(i: int, j: int | None, features: Array) -> Array:
    """Coordinate *i*, minus coordinate *j* if it is given."""
    return features[:, i] if j is None else features[:, i] - features[:, j]


def _fingerprint(features: Array) -> Array:
    """A 64-bit mix of each row's bits: equal rows agree, and a rare collision only merges two outcomes."""
    mixed = np.zeros(len(features), dtype=np.uint64)
    for bits in np.ascontiguousarray(features).view(np.uint64).T:
        mixed = (mixed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed.view(np.int64)


# ---- goodness of fit


def discrete_laplace_probabilities(edges: npt.ArrayLike, scale: Rational) -> Reals:
    """The probabilities of the classes between increasing *edges*: Z ≤ e₁, e₁ < Z ≤ e₂, …, Z > e_k.

    In each half they are differences of tails, so the rarest classes keep their precision.

    >>> discrete_laplace_probabilities([-1, 0], 1).round(6).tolist()
    [0.268941, 0.462117, 0.268941]
    """
    points, rate = np.asarray(edges, dtype=np.float64), float(1 / positive(scale, "scale", computed=True))
    # P(Z ≤ z) below zero, P(Z > z) from zero on
    tail = np.exp(-rate * np.where(points < 0, -points, points + 1)) / (1 + np.exp(-rate))
    left = np.diff(np.where(points < 0, tail, 0.5), prepend=0.0, append=0.5)  # each class's part below the median
    right = np.diff(np.where(points < 0, -0.5, -tail), prepend=-0.5, append=0.0)  # and above it
    return np.asarray(left + right)


SMALLEST_EXPECTATION = 20
"""Classes with fewer expected draws are merged: the chi-square approximation then holds far into the tail."""

_LEVELS = np.concatenate((10.0 ** -np.arange(6, 1, -0.5), np.arange(1, 50) / 50, 1 - 10.0 ** -np.arange(2, 6.5, 0.5)))


def laplace_fit(sample: npt.ArrayLike, scale: Rational) -> float:
    """The p-value of a sample against the discrete Laplace distribution, on classes that reach far into both tails."""
    values = np.asarray(sample).ravel()
    spread = float(positive(scale, "scale", computed=True))
    rest = 2 * np.minimum(_LEVELS, 1 - _LEVELS)  # the quantiles of the continuous Laplace: ±scale·ln(rest)
    edges = np.unique(np.rint(np.sign(0.5 - _LEVELS) * spread * np.log(rest)))
    observed = np.bincount(np.searchsorted(edges, values, side="left"), minlength=edges.size + 1)
    return counts_fit(observed, discrete_laplace_probabilities(edges, scale))


def counts_fit(observed: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """The p-value of counts against the probabilities of their classes; neighbouring rare classes are merged."""
    counts = np.asarray(observed, dtype=np.float64)
    expected = np.asarray(probabilities, dtype=np.float64) * counts.sum()
    groups = _merge(expected)
    seen, foreseen = np.bincount(groups, counts), np.bincount(groups, expected)
    if seen.size < 2:
        return 1.0
    return float(stats.chisquare(seen, foreseen * (seen.sum() / foreseen.sum())).pvalue)


def same_law(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The p-value of two samples being drawn from one distribution, over about 50 classes of the pooled draws."""
    samples = [np.asarray(sample).ravel() for sample in (first, second)]
    edges = np.unique(np.quantile(np.concatenate(samples), _LEVELS, method="lower"))
    table = np.stack([np.bincount(np.searchsorted(edges, own), minlength=edges.size + 1) for own in samples])
    groups = _merge(table.sum(axis=0) * (min(own.size for own in samples) / table.sum()))
    merged = np.stack([np.bincount(groups, row) for row in table])
    return float(stats.chi2_contingency(merged).pvalue) if merged.shape[1] > 1 else 1.0


def _merge(expected: Reals) -> Integers:
    """Group numbers for neighbouring classes, such that each group has enough expected draws."""
    groups = np.zeros(expected.size, dtype=np.int64)
    left = float(expected.sum())
    held, group = 0.0, 0
    for place, value in enumerate(expected):
        groups[place] = group
        held, left = held + value, left - value
        if held >= SMALLEST_EXPECTATION and left >= SMALLEST_EXPECTATION:
            held, group = 0.0, group + 1
    return groups
