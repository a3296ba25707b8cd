"""What a whole program gives away, exactly: it is recorded on one table and replayed on its neighbour.

A program (a release, a fit, a count, anything that measures) is run on a table D. Every output of a mechanism is
recorded, with all that its probability depends on. The program is then run on a neighbour D′, and the kernel gives
it the outputs of D: its next request can depend on these alone, so the two runs must make the same requests, in the
same order, with the same noise, and end in the same result. If they do not, the program has read a row without the
kernel, which is itself a finding. The losses of all outputs are added up and compared with the charge:

* Additive noise. The answers a and a′ with discrete Laplace noise of the scales b lose at most Σ |a − a′| / b, and
  some outputs lose exactly that. Computed in fractions.
* Permute-and-flip. The largest |ln P(j) / P′(j)| over all candidates j. P(j) = p_j·∫₀¹ Π_{i≠j} (1 − p_i·t) dt with
  p_i = e^(−sharpness·gap_i) is integrated exactly, except for rounding, by Gauss–Legendre quadrature, whose terms are
  all positive; a bound on the rounding is added. The loss never exceeds the bound by the lemma on differences of
  scores, which is used instead if it is smaller, or if there are very many candidates.
* Coins. They draw one of many outcomes in steps, none of which is private on its own: ln P/P′ of the outcome drawn, the
  signed sum of the logarithms of all coins, to 30 digits.
* A place of a lattice (``TunedParameter``) is drawn by rejection sampling. By the lemma on differences of scores: the
  sharpness times the width of the interval of the changes in the sums of votes, evaluated wherever a piece begins or
  ends on either side, and at evenly spaced places in between.
* DAWA's partition adds noise to costs that are never published. Its loss is taken from its claim, which is audited
  separately: ε times the L1 distance of the two vectors.

Each step is bounded separately, for its worst output if possible: the claim of every step is about all of its outputs,
so this demands no more than the sum of the claims, and finds more than the outputs of one run would.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar
from unittest import mock

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals
from adyton.exact import Rational, exact
from adyton.kernel import kernel as kernel_module
from adyton.kernel.instances.lattice import POINTS
from adyton.kernel.instances.tuned_parameter import TunedParameter
from adyton.kernel.kernel import Kept, run
from adyton.kernel.mechanisms import Mechanism
from adyton.kernel.mechanisms.published.dawa_partition import DawaPartition
from adyton.learning.tree_growing import PublicRandomness
from adyton.noise import SimulatedNoise
from adyton.noise.bits import Bounds, Refine
from adyton.noise.source import NoiseSource, Scale, Scales, Size, read_scales, read_size
from adyton.queries import Noisy
from adyton.whole import IntegerArray
from adyton_lab.audit.enumeration import row_by_row

TOLERANCE = Fraction(1, 10**12)
"""How far rounding may raise a loss per charge above 1."""
_ROUNDING = 1e-9
_MOST_CANDIDATES = 256
"""The largest choice whose distribution is integrated; larger choices are bounded."""
_DIGITS = Context(prec=30)
_LOOKED_AT = 4096
Program: TypeAlias = Callable[[Any], tuple[Any, Fraction]]
"""A function of a table that returns a published result and the charge."""
Kind = TypeVar("Kind", "Shift", "Flip", "Toss")
Drawn = TypeVar("Drawn")


class DivergenceError(Exception):
    """Two runs with the same outputs made different requests, or ended in different results."""


class Shift(NamedTuple):
    """Discrete Laplace noise."""

    scales: Scales
    drawn: IntegerArray

    def public(self) -> Any:
        """What must be the same on both sides."""
        return self.drawn.shape, self.scales.numerators.tolist(), self.scales.denominators.tolist()


class Flip(NamedTuple):
    """A choice by permute-and-flip."""

    scores: list[Any]
    sharpness: Fraction
    drawn: int

    def public(self) -> Any:
        """What must be the same on both sides."""
        return len(self.scores), self.sharpness


class Toss(NamedTuple):
    """Coins: the weights of heads and tails."""

    weights: list[tuple[Decimal, Decimal]]
    drawn: Flags

    def public(self) -> Any:
        """What must be the same on both sides."""
        return len(self.weights)

    def logarithm(self) -> Decimal:
        """ln P of the outcome drawn."""
        logarithms = [
            _DIGITS.ln(_DIGITS.divide(weights[0] if heads else weights[1], _DIGITS.add(*weights)))
            for weights, heads in zip(self.weights, self.drawn.tolist(), strict=True)
        ]
        return sum(logarithms, Decimal(0))


Draw: TypeAlias = Shift | Flip | Toss


class ScriptedNoise(SimulatedNoise):
    """Simulated noise that records every draw. With a *script*, it repeats the choices of another run; if *silent*,
    additive noise is zero."""

    def __init__(self, seed: int, script: Sequence[Draw] | None = None, *, silent: bool = False) -> None:
        super().__init__(seed)
        self._script, self._silent = script, silent
        self.draws: list[Draw] = []
        self.hidden = False
        """Whether a draw was made of a kind that is not recorded in ``draws``."""

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Noise, or zeros."""
        shape = read_size(size)
        drawn = np.zeros(shape, dtype=np.int64) if self._silent else super().discrete_laplace(shape, scale)
        self.draws.append(Shift(read_scales(scale, shape), drawn))
        return drawn

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """A choice, or that of the script."""
        scripted = self._scripted(Flip)
        drawn = super().permute_and_flip(scores, sharpness) if scripted is None else scripted.drawn
        listed = scores.tolist() if isinstance(scores, np.ndarray) else list(scores)
        self.draws.append(Flip(listed, exact(sharpness, "sharpness", computed=True), drawn))
        return drawn

    def permute_and_flips(self, scores: IntegerArray, allowed: Flags, sharpness: Rational) -> Places:
        """One choice after the other."""
        return row_by_row(self.permute_and_flip, scores, allowed, sharpness)

    def coins(self, lower: Bounds, upper: Bounds, refine: Refine) -> Flags:
        """Tosses, or those of the script."""
        scripted = self._scripted(Toss)
        drawn = super().coins(lower, upper, refine) if scripted is None else scripted.drawn
        self.draws.append(Toss([refine(coin, _DIGITS.prec) for coin in range(lower.size)], drawn))
        return drawn

    def uniform_integers(self, size: Size, bound: int) -> IntegerArray:
        """Places within a piece."""
        return self._hidden(super().uniform_integers(size, bound))

    def bernoulli_exp(self, gamma: Rational) -> bool:
        """A coin."""
        return self._hidden(super().bernoulli_exp(gamma))

    def exponential_choices(self, count: int, multiplicities: Integers, gaps: Integers, rate: Rational) -> Places:
        """Pieces."""
        return self._hidden(super().exponential_choices(count, multiplicities, gaps, rate))

    def _hidden(self, drawn: Drawn) -> Drawn:
        self.hidden = True
        return drawn

    def _scripted(self, kind: type[Kind]) -> Kind | None:
        if self._script is None:
            return None
        place = len(self.draws)
        scripted = self._script[place] if place < len(self._script) else None
        if not isinstance(scripted, kind):
            raise DivergenceError(f"draw {place} is of another kind on the neighbour")
        return scripted


@dataclass(frozen=True, eq=False)
class Event:
    """One output of one mechanism, and all that its probability depends on."""

    request: tuple[Any, ...]
    operator: Mechanism
    epsilon: Fraction
    output: IntegerArray
    draws: list[Draw]
    held: Any
    """The output without its additive noise; for DAWA's partition and tuned parameters, the data."""

    def loss(self, other: Event) -> Fraction:
        """An upper bound on |ln P/P′| of the output between this side and the other."""
        if [draw.public() for draw in self.draws] != [draw.public() for draw in other.draws]:
            raise DivergenceError(f"{self.operator} has different noise on the neighbour")
        if isinstance(self.operator, DawaPartition):
            return self.epsilon * int(np.abs(self.held - other.held).sum())
        if isinstance(self.operator, TunedParameter):
            return self.epsilon / int(self.held.spread) * _width(_moved(self.held.sums, other.held.sums))
        if self.draws and isinstance(self.draws[0], Shift):
            return _shift_loss(self.held - other.held, self.draws[0].scales)
        if not np.array_equal(self.output, other.output):
            raise DivergenceError(f"{self.operator} has another output on the neighbour although all choices are equal")
        pairs = list(zip(self.draws, other.draws, strict=True))
        flips = [_flip_loss(a, b) for a, b in pairs if isinstance(a, Flip) and isinstance(b, Flip)]
        tosses = [a.logarithm() - b.logarithm() for a, b in pairs if isinstance(a, Toss) and isinstance(b, Toss)]
        return sum(flips, Fraction(0)) + Fraction(abs(sum(tosses, Decimal(0))))


@dataclass
class Transcript:
    """The events of a run, or of a run that replays the transcript it is given to *follow*."""

    seed: int
    follow: Transcript | None = None
    events: list[Event] = field(default_factory=list)
    result: str = ""
    charged: Fraction = Fraction(0)
    failure: str = ""

    def play(self, program: Program, data: Any) -> Transcript:
        """Run the program on a table."""
        try:
            with self._listening():
                result, self.charged = program(data)
        except Exception as error:
            if not self.failure and self.follow is None:
                raise
            raise DivergenceError(self.failure or f"it fails on the neighbour: {error}") from error
        self.result = published(result)
        return self

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Intercept the kernel's calls to its mechanisms, and make public random choices the same in all runs."""

        def listened(operator: Mechanism, kept: Kept, *rest: Any) -> Any:
            return run(_Heard(operator, self, kept), kept, *rest)  # type: ignore[arg-type]

        def seeded(seed: int | None) -> PublicRandomness:
            return PublicRandomness(self.seed if seed is None else seed)

        with (
            mock.patch.object(kernel_module, "run", listened),
            mock.patch.object(PublicRandomness, "of", staticmethod(seeded)),
        ):
            yield

    def output_of(self, operator: Mechanism, kept: Kept, epsilon: Fraction) -> IntegerArray:
        """Run a mechanism and record its output; or take the output of the run that is followed."""
        shape = getattr(kept.facts.shape, "shape", None)
        request = (str(operator), kept.facts.lineage, kept.facts.stability, shape, epsilon)
        place = len(self.events)
        before = self._followed(place, request)
        noise = ScriptedNoise(self.seed + place, None if before is None else before.draws, silent=before is not None)
        output = operator.draw(kept.data, epsilon, noise, 1)
        held: Any = output
        if isinstance(operator, DawaPartition):
            held = kept.data.values()
        elif isinstance(operator, TunedParameter):
            held = kept.data
        elif noise.hidden:
            raise DivergenceError(f"{operator} makes draws that cannot be replayed")
        elif any(isinstance(draw, Shift) for draw in noise.draws) and before is None:
            held = operator.draw(kept.data, epsilon, ScriptedNoise(0, silent=True), 1)
            if len(noise.draws) > 1 or not np.array_equal(held + noise.draws[0].drawn, output):
                raise DivergenceError(f"{operator} does not add the noise that it draws to its answers")
        self.events.append(Event(request, operator, epsilon, output, noise.draws, held))
        return output if before is None else before.output

    def _followed(self, place: int, request: tuple[Any, ...]) -> Event | None:
        if self.follow is None:
            return None
        if place >= len(self.follow.events):
            raise DivergenceError(f"the neighbour is asked for more: {request[0]}")
        before = self.follow.events[place]
        if before.request != request:
            raise DivergenceError(f"the neighbour is asked for something else: {request} instead of {before.request}")
        return before

    def loss(self) -> Fraction:
        """What the outputs of the followed run give away about the difference between its table and this one."""
        assert self.follow is not None
        before = self.follow
        if len(before.events) != len(self.events):
            raise DivergenceError("the neighbour is asked for less")
        if before.charged != self.charged:
            raise DivergenceError(f"the neighbour is charged {self.charged} instead of {before.charged}")
        lost = sum((a.loss(b) for a, b in zip(before.events, self.events, strict=True)), Fraction(0))
        if before.result != self.result:
            raise DivergenceError("all outputs are equal, but the result is not")
        return lost


class _Heard:
    """A mechanism whose outputs go through a transcript; everything else is delegated to the mechanism."""

    def __init__(self, operator: Mechanism, transcript: Transcript, kept: Kept) -> None:
        self._operator, self._transcript, self._kept = operator, transcript, kept

    def draw(self, data: Any, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """One output."""
        try:
            if trials != 1:
                raise DivergenceError(f"{trials} outputs for one debit")
            return self._transcript.output_of(self._operator, self._kept, epsilon)
        except Exception as error:  # the kernel reports no details
            self._transcript.failure = str(error) or f"a mechanism failed: {type(error).__name__}"
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)

    def __str__(self) -> str:
        return str(self._operator)


class Loss(NamedTuple):
    """What a program gave away on a pair of neighbours, and what it was charged."""

    lost: Fraction
    charged: Fraction
    divergence: str = ""
    steps: int = 0

    @property
    def ratio(self) -> float:
        """Loss per charge; infinite if the two runs diverged."""
        return math.inf if self.divergence else float(self.lost / self.charged)

    @property
    def passed(self) -> bool:
        """Whether no more was given away than was charged."""
        return not self.divergence and self.lost <= self.charged * (1 + TOLERANCE)


def loss_between(program: Program, left: Any, right: Any, seed: int = 0) -> Loss:
    """Record a program on one table, and replay it on a neighbour."""
    recorded = Transcript(seed)
    try:
        recorded.play(program, left)
        lost = Transcript(seed, recorded).play(program, right).loss()
    except DivergenceError as divergence:
        return Loss(Fraction(0), recorded.charged, str(divergence), len(recorded.events))
    return Loss(lost, recorded.charged, "", len(recorded.events))


def published(result: Any) -> str:
    """All that a result says, as text, without the date."""
    if hasattr(result, "to_dict"):
        plain = result.to_dict()
    elif isinstance(result, Noisy):
        plain = [result.answers, result.standard_deviations]
    else:
        plain = result
    return json.dumps(_undated(plain), default=repr, sort_keys=True)


def _undated(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {str(key): _undated(value) for key, value in plain.items() if key != "created"}
    if isinstance(plain, list | tuple):
        return [_undated(value) for value in plain]
    return plain.tolist() if isinstance(plain, np.ndarray) else plain


def _shift_loss(moved: IntegerArray, scales: Scales) -> Fraction:
    """Σ |a − a′| / b."""
    flat = moved.reshape(-1)
    places = np.flatnonzero(flat).tolist()
    return sum((abs(int(flat[place])) / Fraction(*scales.pair(place)) for place in places), Fraction(0))


def _flip_loss(left: Flip, right: Flip) -> Fraction:
    """The largest |ln P/P′| over all candidates."""
    bound = left.sharpness * _width([Fraction(a) - b for a, b in zip(left.scores, right.scores, strict=True)])
    if not bound or len(left.scores) > _MOST_CANDIDATES:
        return bound
    loss = float(np.abs(_log_law(left) - _log_law(right)).max()) + _ROUNDING
    return min(bound, Fraction(loss)) if math.isfinite(loss) else bound


def _log_law(flip: Flip) -> Reals:
    """ln P of every candidate."""
    best = max(flip.scores)
    gaps = np.array([float(flip.sharpness * (best - score)) for score in flip.scores])
    nodes, weights = _rule(len(gaps) // 2 + 1)
    refused = np.log1p(-np.exp(-gaps)[:, None] * nodes)
    others = refused.sum(axis=0) - refused  # ln Π_{i≠j} (1 − p_i·t)
    return np.asarray(np.log(np.exp(others) @ weights) - gaps)


@cache
def _rule(count: int) -> tuple[Reals, Reals]:
    """Gauss–Legendre nodes and weights on [0, 1]: exact for polynomials of a degree below 2·count."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _moved(sums: Any, others: Any) -> list[Fraction]:
    """By how much the sums of votes differ where pieces begin and end, and at evenly spaced places."""
    starts = np.unique(np.concatenate([sums.starts, others.starts]))
    places = np.concatenate([starts, (starts - 1)[starts > 0], np.arange(_LOOKED_AT) * (POINTS // _LOOKED_AT)])
    places = np.unique(np.append(places, POINTS - 1))
    return [Fraction(int(a) - int(b)) for a, b in zip(sums.at(places), others.at(places), strict=True)]


def _width(changes: Sequence[Fraction]) -> Fraction:
    return max(changes) - min(changes)
