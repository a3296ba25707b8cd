"""A lower bound on the privacy loss of a mechanism that can only be run, never read.

A mechanism is ε-differentially private when P(M(left) ∈ E) ≤ e^ε · P(M(right) ∈ E) for every event E and both orders
of every neighbouring pair, so one event with a larger ratio refutes the claim. :func:`certify` looks for that event in
three independent samples: the first says what the outputs look like, the second chooses the events, and only the third
counts as evidence, so however greedy the search, the bound stays honest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from adyton.arrays import Array
from adyton.errors import BadInput
from adyton_lab.audit.events import columns_of, telling_events

Sampler: TypeAlias = Callable[[Any, int], Array]
Statistic: TypeAlias = Callable[[Array, Any, Any], Array] | None

_SEARCH_SHARE = 8  # one draw in eight describes the outputs, another one in eight chooses the events
_LARGEST_BATCH = 2**24  # numbers in one batch of outputs


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
    whole = all(look.dtype.kind in "biu" for look in looks)  # one reading for all: an output must not betray its batch

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
    """Clopper–Pearson: the p with P(Binomial(trials, p) ≥ hits) = level; the true one is smaller at most that often."""
    return 0.0 if hits == 0 else float(special.betaincinv(hits, trials - hits + 1, level))


def probability_at_most(hits: int, trials: int, level: float) -> float:
    """Clopper–Pearson: the p with P(Binomial(trials, p) ≤ hits) = level; the true one is larger at most that often."""
    return 1.0 if hits == trials else float(special.betainccinv(hits + 1, trials - hits, level))


def _as_features(values: Array, trials: int, whole: bool) -> Array:
    if values.shape[:1] != (trials,):
        raise BadInput(f"The sampler was asked for {trials} outputs and gave an array of shape {values.shape}.")
    if values.dtype.kind not in ("biu" if whole else "biufcO"):
        raise BadInput(f"Outputs must be numbers of one kind, given {values.dtype}. Map them to such with statistic=.")
    parts = [values.real, values.imag] if values.dtype.kind == "c" else [values]
    return np.stack(parts, axis=-1).reshape(trials, -1).astype(np.int64 if whole else np.float64)
