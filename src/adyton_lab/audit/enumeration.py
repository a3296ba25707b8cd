"""The exact output distribution of a sampler: its own code is run once for every combination of its random choices.

Depth first: a run follows a script of choices and, past its end, always takes the first branch; the script is then
advanced at its last choice that has a branch left. The probability of an outcome is the sum over its paths of the
product of their branches' probabilities, in decimals of 40 digits that reach 10^-10^18, so exp(-1000) is not zero.
"""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Flags, Integers, Places
from adyton.errors import AdytonError, BadInput
from adyton.exact import Rational, exact
from adyton.kernel.mechanisms import AuditCase
from adyton.kernel.operators import claim
from adyton.noise.bits import Bounds, Refine
from adyton.noise.exact import permute_and_flip
from adyton.noise.exponential import ExponentialWeights
from adyton.noise.source import NoiseSource, Scale, Size
from adyton.whole import IntegerArray
from adyton_lab.audit.pairs import EPSILONS, REACH, Counts, Finding, Pair, signed_pairs, vector_pairs
from adyton_lab.audit.statistical import counts_fit, laplace_fit

Run: TypeAlias = "Callable[[EnumeratingSource], Hashable]"
_EXACT = decimal.Context(prec=40, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
_LARGEST_GAMMA = 10**17
_ONE = Decimal(1)
_TOLERANCE = Decimal("1e-12")
TOLERANCE = 1e-9


class EnumeratingSource:
    """A source of randomness that follows a script instead of drawing, and keeps the probability of its path."""

    private = False

    def __init__(self, script: list[int], deepest: int) -> None:
        self._script = script
        self._deepest = deepest
        self._branches: list[int] = []
        self.probability = _ONE

    def uniform_integer(self, bound: int) -> int:
        """One of 0 … bound - 1, each with probability 1 / bound."""
        if bound < 1:
            raise BadInput(f"bound must be at least 1, given {bound}.")
        return self._choose(int(bound), lambda _: _EXACT.divide(_ONE, Decimal(int(bound))))

    def uniform_integers(self, size: Size, bound: int) -> IntegerArray:
        """An array of such integers; each element is a separate choice."""
        shape = (size,) if isinstance(size, int) else tuple(size)
        kind = np.int64 if bound <= 2**63 else object
        values = [self.uniform_integer(bound) for _ in range(math.prod(shape))]
        return np.array(values, dtype=kind).reshape(shape)

    def bernoulli_exp(self, gamma: Rational) -> bool:
        """True with probability exp(-gamma); gamma = 0 is certain and does not branch."""
        rate = exact(gamma, "gamma", computed=True)
        return rate == 0 or self._choose(2, lambda branch: _exp_and_rest(rate)[branch]) == 0

    def coins(self, lower: Bounds, upper: Bounds, refine: Refine) -> npt.NDArray[np.bool_]:
        """Each coin is a separate choice, its two probabilities known to about forty digits."""
        return np.array([self._coin(*refine(coin, _EXACT.prec)) for coin in range(lower.size)], dtype=bool)

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """The choice as a single branching, with its exact distribution; a sampler under test is enumerated flip by
        flip."""
        values = [exact(score, "score", computed=True) for score in scores]
        factor = exact(sharpness, "sharpness", computed=True)
        if not values or factor < 0:
            raise BadInput(f"Give some scores and a sharpness of at least 0, given {len(values)} scores and {factor}.")
        law = _first_to_pass(tuple(_exp_and_rest(factor * (max(values) - value))[0] for value in values))
        return self._choose(len(law), law.__getitem__)

    def permute_and_flips(self, scores: IntegerArray, allowed: Flags, sharpness: Rational) -> Places:
        """One branching for each row with an allowed choice."""
        return row_by_row(self.permute_and_flip, scores, allowed, sharpness)

    def exponential_choices(self, count: int, multiplicities: Integers, gaps: Integers, rate: Rational) -> Places:
        """Each choice as a single branching, with its exact distribution."""
        weights = ExponentialWeights(multiplicities, gaps, exact(rate, "rate", computed=True)).exactly(_EXACT.prec)
        total = reduce(_EXACT.add, weights)
        chosen = [
            self._choose(len(weights), lambda branch: _EXACT.divide(weights[branch], total)) for _ in range(count)
        ]
        return np.array(chosen, dtype=np.int64)

    def discrete_laplace(self, size: Size, scale: Scale) -> NoReturn:
        """Refused: the noise takes infinitely many values."""
        raise BadInput(
            "Discrete Laplace noise takes infinitely many values and cannot be enumerated. "
            "Audit this mechanism with certify(), or enumerate only its selection."
        )

    def next_script(self) -> list[int] | None:
        """The script of the path after this one, which must have been run; None after the last."""
        if len(self._branches) < len(self._script):
            _diverged()
        script = self._script[: len(self._branches)]
        while script and script[-1] + 1 == self._branches[len(script) - 1]:
            script.pop()
        return [*script[:-1], script[-1] + 1] if script else None

    def _coin(self, heads: Decimal, tails: Decimal) -> bool:
        total = _EXACT.add(heads, tails)
        return self._choose(2, lambda branch: _EXACT.divide((heads, tails)[branch], total)) == 0

    def _choose(self, branches: int, probability: Callable[[int], Decimal]) -> int:
        if branches == 1:
            return 0
        depth = len(self._branches)
        if depth >= self._deepest:
            raise BadInput(
                f"One path makes more than {self._deepest} choices. Enumerate a sampler that terminates, on less data."
            )
        if depth == len(self._script):
            self._script.append(0)
        branch = self._script[depth]
        if branch >= branches:
            _diverged()
        self._branches.append(branches)
        self.probability = _EXACT.multiply(self.probability, probability(branch))
        return branch


def row_by_row(
    choose: Callable[[IntegerArray, Rational], int], scores: IntegerArray, allowed: Flags, sharpness: Rational
) -> Places:
    """For every row of scores, one choice among the columns allowed in that row; −1 if none is allowed."""
    chosen = np.full(len(scores), -1, dtype=np.int64)
    for row in np.flatnonzero(allowed.any(axis=1)):
        among = np.flatnonzero(allowed[row])
        chosen[row] = among[choose(scores[row, among], sharpness)]
    return chosen


def enumerate_distribution(run: Run, limit: int = 1_000_000) -> dict[Hashable, float]:
    """The probability of every outcome that ``run(source)`` can return; probabilities below 10⁻³²³ show as 0.0.

    >>> enumerate_distribution(lambda source: source.uniform_integer(4) // 3)
    {0: 0.75, 1: 0.25}
    """
    return {outcome: float(probability) for outcome, probability in _distribution(run, limit).items()}


def largest_loss(
    run_on: Callable[[Any], Run], pairs: Iterable[Pair], limit: int = 1_000_000
) -> tuple[float, Pair | None]:
    """The largest |ln P(y) / Q(y)| over outcomes y and pairs, P and Q the distributions on the two sides, and its pair.

    Infinite if some outcome is possible on one side only. For discrete outcomes the largest ratio over single outcomes
    is the largest over all events (the mediant inequality), so the sampler is ε-private on these pairs if and only if
    the loss is at most ε. Rounded once, to the nearest float: compare with a tolerance of 10⁻¹². The pair is None if
    there is no loss at all.
    """
    worst: tuple[float, Pair | None] = (0.0, None)
    for pair in pairs:
        loss = _loss(_distribution(run_on(pair.left), limit), _distribution(run_on(pair.right), limit))
        if loss > worst[0]:
            worst = (loss, pair)
        if loss == math.inf:
            break
    return worst


def _loss(left: dict[Hashable, Decimal], right: dict[Hashable, Decimal]) -> float:
    if left.keys() != right.keys():
        return math.inf
    return max(float(abs(_EXACT.ln(_EXACT.divide(left[outcome], right[outcome])))) for outcome in left)


def _distribution(run: Run, limit: int) -> dict[Hashable, Decimal]:
    result: dict[Hashable, Decimal] = {}
    script: list[int] | None = []
    paths = 0
    while script is not None:
        if paths == limit:
            raise BadInput(f"The sampler has more than {limit} paths. Enumerate it on fewer cells, or raise limit.")
        source = EnumeratingSource(script, limit)
        outcome = run(source)
        result[outcome] = _EXACT.add(result.get(outcome, Decimal(0)), source.probability)
        script = source.next_script()
        paths += 1
    total = Decimal(0)
    for probability in result.values():
        total = _EXACT.add(total, probability)
    if abs(total - 1) > _TOLERANCE:
        raise AdytonError(
            f"The probabilities of {paths} paths add up to {total:.15g}, not 1: the enumeration is wrong."
        )
    return result


@lru_cache(maxsize=65536)
def _exp_and_rest(rate: Fraction) -> tuple[Decimal, Decimal]:
    """exp(-rate) and 1 - exp(-rate), with spare digits for the cancellation when the rate is small."""
    if not 0 <= rate <= _LARGEST_GAMMA:
        raise BadInput(f"exp(-gamma) can be enumerated for gamma from 0 to 10^17, given {float(rate):.6g}.")
    context = _EXACT.copy()
    context.prec += max(0, rate.denominator.bit_length() - rate.numerator.bit_length())
    power = context.exp(context.divide(Decimal(-rate.numerator), Decimal(rate.denominator)))
    return _EXACT.plus(power), _EXACT.plus(context.subtract(_ONE, power))


@lru_cache(maxsize=4096)
def _first_to_pass(passes: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    """The distribution of permute-and-flip: P(i) = p_i · ∫₀¹ Π_{j≠i} (1 - p_j·t) dt. Written independently, as an
    oracle must be.

    Let candidates arrive at independent uniform times: in random order. Candidate i, arriving at t, is chosen if it
    passes and no other candidate arrived before t and passed.
    """
    context = _EXACT.copy()
    context.prec += len(passes)  # the coefficients alternate in sign and reach 2^n
    law = []
    for i, chance in enumerate(passes):
        polynomial = [_ONE]
        for other in passes[:i] + passes[i + 1 :]:
            shifted = [Decimal(0), *(context.multiply(other, term) for term in polynomial)]
            polynomial = [context.subtract(a, b) for a, b in zip([*polynomial, Decimal(0)], shifted, strict=True)]
        integral = Decimal(0)
        for power, term in enumerate(polynomial):
            integral = context.add(integral, context.divide(term, Decimal(power + 1)))
        law.append(_EXACT.multiply(chance, integral))
    return tuple(law)


def _diverged() -> NoReturn:
    raise AdytonError(
        "The sampler made different choices when it was run again. "
        "Draw only from the given source, and start each run from the same state."
    )


def audit_selection_exactly(case: AuditCase, *, pairs: int, advance: Callable[[], None] = lambda: None) -> Finding:
    """The exact largest loss of one audit case at every ε, over *pairs* neighbouring pairs and some with negative
    numbers."""
    worst = 0.0
    neighbours = vector_pairs(case.domain, count=pairs) + signed_pairs(case.domain, count=max(1, pairs // 4))
    neighbours += [Pair("searched", left, right) for left, right in case.searched]
    for epsilon in EPSILONS:
        loss, pair = selection_loss(case, epsilon, neighbours)
        advance()
        worst = max(worst, loss / float(epsilon))
        if loss > float(epsilon) + TOLERANCE:
            name = "no pair" if pair is None else pair.name
            detail = f"loses {loss:.6g} at ε = {float(epsilon):g} on “{name}”."
            return Finding("selections", case.name, False, detail, {"loss/ε": worst})
    figures = {"claim": claim(case.mechanism), "largest/ε": round(worst, 4), "pairs": len(neighbours)}
    return Finding("selections", case.name, True, f"at most {worst:.3f} of ε, enumerated exactly.", figures)


def selection_loss(case: AuditCase, epsilon: Fraction, pairs: Iterable[Pair]) -> tuple[float, Pair | None]:
    """The largest privacy loss of one case on these pairs, and the pair on which it occurs."""

    def run_on(side: Counts) -> Run:
        def run(source: EnumeratingSource) -> Hashable:
            return tuple(case.mechanism.draw(case.prepare(side), epsilon, source, 1)[0].reshape(-1).tolist())

        return run

    return largest_loss(run_on, pairs)


# ---- does the noise have the distribution it claims? ----------------------------------------------------------------

FALSE_ALARM = 1e-7
"""The probability of a false alarm in each test below; an audit makes fewer than ten."""
SCALES = (Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(100), Fraction(10**6))


def audit_laplace(noise: NoiseSource, draws: int) -> Finding:
    """χ² of discrete Laplace draws against the exact probabilities, at five scales."""
    values = {}
    for scale in SCALES:
        values[str(scale)] = laplace_fit(noise.discrete_laplace(draws, scale), scale)
    worst = min(values, key=lambda scale: values[scale])
    passed = values[worst] >= FALSE_ALARM
    detail = f"smallest p-value {values[worst]:.3g}, at scale {worst}."
    return Finding("noise", "discrete Laplace against its exact probabilities", passed, detail, {"p": values})


def audit_uniform(noise: NoiseSource, draws: int) -> Finding:
    """χ² of uniform integers, for bounds where taking a remainder would be visibly uneven."""
    values = {}
    for bound in (3, 1000, 3 * 2**61, 3 * 2**62):
        sample = noise.uniform_integers(draws, bound)
        parts = min(bound, 24)
        classes = np.array([int(value) * parts // bound for value in sample.tolist()])
        starts = [-(-part * bound // parts) for part in range(parts + 1)]  # class c holds starts[c] … starts[c + 1] - 1
        sizes = np.array([(end - start) / bound for start, end in itertools.pairwise(starts)])
        values[str(bound)] = counts_fit(np.bincount(classes, minlength=parts), sizes)
    worst = min(values, key=lambda bound: values[bound])
    passed = values[worst] >= FALSE_ALARM
    detail = f"smallest p-value {values[worst]:.3g}, for the bound {worst}."
    return Finding("noise", "uniform integers", passed, detail, {"p": values})


def audit_streams(noise: NoiseSource) -> Finding:
    """Two calls share no randomness: at this scale, an equal pair among 64 has a probability below 2⁻³⁵."""
    first, second = (noise.discrete_laplace(8, 2**40).tolist() for _ in range(2))
    shared = set(first) & set(second) - {0}
    detail = "two calls gave different draws." if not shared else "two calls gave the same draws: a shared stream."
    return Finding("noise", "independent streams", not shared, detail)


def audit_selection() -> Finding:
    """Permute-and-flip on small vectors, with every branch of its own code enumerated: the loss is at most ε, and
    close to it."""
    worst = 0.0
    for epsilon in EPSILONS:
        for scores in (_cells, _opposed):

            def run_on(cells: Array, epsilon: Fraction = epsilon, scores: Scores = scores) -> Run:
                return lambda source: permute_and_flip(source, scores(cells), epsilon / 2)  # Δ = 1

            pairs = [pair for size in (1, 2, 3, 4) for pair in vector_pairs(size, count=30) if pair.left.max() < 200]
            loss, pair = largest_loss(run_on, pairs)
            worst = max(worst, loss / float(epsilon))
            if loss > float(epsilon) * (1 + 1e-12):
                detail = f"loses {loss:.6g} at ε = {float(epsilon):g} on “{pair.name if pair else ''}”."
                return Finding("noise", _SELECTION, False, detail, {"loss/ε": loss / float(epsilon)})
    return Finding("noise", _SELECTION, worst >= REACH, f"largest loss {worst:.6g} of ε.", {"loss/ε": worst})


_SELECTION = "permute-and-flip, enumerated"
Scores = Callable[[Array], list[int]]


def _cells(cells: Array) -> list[int]:
    """Scores that one more row can only raise."""
    return [int(cell) for cell in cells]


def _opposed(cells: Array) -> list[int]:
    """Scores of which one more row raises some and lowers others: the worst case, which needs the factor 2."""
    return [int(cells.sum()) * (-1) ** place for place in range(cells.size + 1)]
