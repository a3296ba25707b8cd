"""Private tables compared with a public model: which tables it guesses badly, and its average distance from them."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.exact import Rational, exact
from adyton.kernel.counts import CountedTables
from adyton.kernel.mechanisms.measure_tables import counting
from adyton.kernel.operators import AuditCase, Mechanism
from adyton.kernel.shapes import SourceShape, TablesShape
from adyton.messages import shorten
from adyton.noise.laplace import is_long, machine_rate
from adyton.noise.simulated import discrete_laplace_variance
from adyton.noise.source import NoiseSource
from adyton.queries import NoisyValue
from adyton.queries.base import SLOW_DRAW, Size
from adyton.schema import Integer, Schema
from adyton.whole import IntegerArray, add, freeze, narrow, whole, whole_array, widen

_LARGEST_PRICE = 1 << 62
FINEST_BITS = 20
"""Guesses are rounded to fractions of a row not smaller than 2⁻²⁰."""
_MOST_BITS = 46
"""The number of bits, out of 64, that the sum over the cells of the largest table on the grid may take."""


@dataclass(frozen=True, eq=False)
class GuessedTables:
    """A public model's guesses at some tables: M̂ = numbers/2^bits, one table after the other.

    Lemma.  (On distances.) One row more or less moves 2^bits·‖M − M̂‖₁ by at most 2^bits, for each table.
    Proof.  By the lemma on rows and tables (:class:`~adyton.kernel.counts.CountedTables`) it moves M by at most
    1 in L1, so ‖M − M̂‖₁ by at most 1, by the triangle inequality; M̂ is public. The distances are computed in whole
    numbers that cannot wrap around.  ∎

    >>> GuessedTables.of({3: [[0.25, 2], [1, 0]]}).numbers.tolist()
    [262144, 2097152, 1048576, 0]
    """

    places: tuple[int, ...]
    numbers: Integers
    bits: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", freeze(self.numbers, "numbers").reshape(-1))

    @classmethod
    def of(cls, tables: Mapping[int, npt.ArrayLike]) -> GuessedTables:
        """Tables of real numbers by their places, rounded to a grid on which sums over cells stay machine integers."""
        return cls(tuple(tables), *on_grid(list(tables.values()), "guessed tables are"))

    @property
    def unit(self) -> int:
        """The number of grid steps per row: 2^bits."""
        return 1 << self.bits

    def check(self, source: TablesShape) -> None:
        """Raise an error unless these are guesses at tables of this source."""
        source.check_places(self.places)
        cells = sum(source.sizes(self.places))
        if self.numbers.size != cells:
            raise BadInput(
                f"these {len(self.places)} tables have {cells:,} cells, given {self.numbers.size:,} guesses."
            )
        if not 0 <= self.bits <= FINEST_BITS:
            raise BadInput(f"bits must be a whole number in 0 … {FINEST_BITS}, given {shorten(self.bits)}.")

    def distances(self, data: CountedTables) -> IntegerArray:
        """2^bits·‖M − M̂‖₁ for each table, exactly. For mechanisms only."""
        on_grid = widen(data.together(self.places), self.unit) * self.unit
        missed = add(on_grid, -widen(self.numbers, 1))
        return self._sums(np.abs(widen(missed, 1)), data)

    def capped(self, most: int, data: CountedTables) -> IntegerArray:
        """Σ min(most, 2^bits·M̂) over the cells of each table: public."""
        return self._sums(np.minimum(self.numbers, most), data)

    def _sums(self, cells: IntegerArray, data: CountedTables) -> IntegerArray:
        longest = max(math.prod(data.shapes[place]) for place in self.places)
        return narrow(np.add.reduceat(widen(cells, longest), data.starts(self.places)))


@dataclass(frozen=True, eq=False)
class PairChoice(Mechanism):
    """Tables that a public model M̂ guesses badly, chosen one after the other by permute-and-flip.

    The score of table q is ‖M_q − M̂_q‖₁ − Σ min(b, M̂_q): the distance of the guess from the truth, less the error that
    noise of scale b would cause. In whole numbers it is 2^bits times that, on the grid of the guess, and ``price`` is
    2^bits·b, rounded. ``count`` different tables are chosen. In a ``forest`` the tables are pairs of attributes, and no
    chosen pair closes a cycle with those chosen before.

    Claim.  ε-DP for tables at distance 1 (one row added or removed).
    Proof.  By the lemma on distances (:class:`GuessedTables`) one row more or less moves each score by at most 2^bits,
    up or down: a row that reduces the distance of one guess can increase that of another. The sums over M̂ are public.
    So scores move relative to each other by at most R = 2·2^bits, and by the lemma on differences of scores a choice
    with sharpness (ε/count)/R, or less, is ε/count-DP: scores that are not monotone need the factor 2. The tables that
    can be chosen next are a function of the choices before, not of the rows, so all choices together are ε-DP
    (sequential composition). Nor can candidates run out for some rows and not for others: sets of pairs without a cycle
    form a matroid, whose maximal sets have equal size, and a larger ``count`` is refused.  ∎
    """

    takes = TablesShape
    guess: GuessedTables
    price: int
    count: int
    forest: bool = False

    @classmethod
    def of(
        cls,
        guesses: Mapping[int, npt.ArrayLike],
        scale: Rational,
        count: int,
        *,
        forest: bool = False,
    ) -> PairChoice:
        """From tables of real numbers by their places, and the *scale* b of the noise if they were measured.

        >>> PairChoice.of({0: [[1.5, 2], [0, 4]]}, "0.5", 1).price
        524288
        """
        guess, noise = GuessedTables.of(guesses), exact(scale, "scale", computed=True)
        price = min(_LARGEST_PRICE, max(0, round(noise * guess.unit)))
        return cls(guess, price, operator.index(count), forest)

    def check(self, source: TablesShape) -> None:
        """Guesses at tables of this source, and no more choices than are possible."""
        self.guess.check(source)
        if not 0 <= self.price <= _LARGEST_PRICE:
            raise BadInput(f"price must be a whole number in 0 … 2^62, given {shorten(self.price)}.")
        whole(self.count, "count", 1)
        most = len(self.guess.places)
        if self.forest:
            pairs, edges = [source.groups[place] for place in self.guess.places], _Forest()
            if any(len(group) != 2 for group in pairs):
                raise BadInput("a forest is made of tables of two attributes each. Leave out the others.")
            most = sum(map(edges.join, pairs))
        if self.count > most:
            what = "form a forest" if self.forest else "be chosen"
            raise BadInput(
                f"at most {most} of these tables can {what}, asked for {shorten(self.count)}. Ask for fewer."
            )

    def size(self, source: TablesShape, epsilon: Fraction) -> Size:
        """Every cell a few times, and every candidate in every choice."""
        cells, flip = self.guess.numbers.size, SLOW_DRAW if is_long(self.sharpness(epsilon)) else 32
        return Size(10 * cells, 64 * cells + flip * self.count * len(self.guess.places))

    def sharpness(self, epsilon: Fraction) -> Fraction:
        """The sharpness of each choice: (ε/count)/(2·2^bits), or a little less."""
        return machine_rate(epsilon / (2 * self.count * self.guess.unit))

    def scores(self, data: CountedTables) -> IntegerArray:
        """2^bits·(‖M − M̂‖₁ − Σ min(b, M̂)) for every candidate, exactly."""
        return add(self.guess.distances(data), -self.guess.capped(self.price, data))

    def draw(self, data: CountedTables, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """The places of the chosen tables, in the order of the choices."""
        scores, sharpness = self.scores(data), self.sharpness(epsilon)
        return np.stack([self._chosen(scores, data.groups, sharpness, noise) for _ in range(trials)])

    def _chosen(
        self, scores: IntegerArray, groups: Sequence[tuple[str, ...]], sharpness: Fraction, noise: NoiseSource
    ) -> IntegerArray:
        edges = _Forest() if self.forest else None
        left, chosen = list(range(len(self.guess.places))), []
        for _ in range(self.count):
            number = left[noise.permute_and_flip(scores[left], sharpness)]
            place = self.guess.places[number]
            chosen.append(place)
            left.remove(number)
            if edges is not None:
                edges.join(groups[place])
                left = [other for other in left if not edges.joined(groups[self.guess.places[other]])]
        return np.array(chosen, dtype=np.int64)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """One choice, two choices, and a forest of three, among the pairs of three and of four attributes."""
        first, second, poor = [[8, 0], [0, 1]], [[0, 8], [0, 1]], np.array([[0.25, 0], [0, 0]])
        cases = [
            ("one of two pairs", 3, cls.of({0: first, 1: poor}, 1, 1)),
            ("two of three pairs", 3, cls.of({0: first, 1: poor, 2: second}, "0.75", 2)),
            ("a forest", 4, cls.of({0: first, 1: poor, 3: second, 5: [[0, 0], [8, 1]]}, 2, 3, forest=True)),
        ]
        return [choice._case(name, attributes) for name, attributes, choice in cases]

    def _case(self, name: str, attributes: int) -> AuditCase:
        names = "abcd"[:attributes]
        schema = Schema({name: Integer(0, 1) for name in names})
        groups = tuple(itertools.combinations(names, 2))
        left = np.zeros(schema.shape, dtype=np.int64)
        left[(0, 0, 1, 0)[:attributes]] = 8  # as in all guesses except the poor one
        right = left.copy()
        right[(1,) * attributes] += 1  # closer to all guesses except the poor one
        return AuditCase(
            f"choice of pairs, {name}",
            self,
            schema.shape,
            counting(schema, groups),
            reaches_epsilon=False,
            enumerable=True,
            searched=((left, right),),
        )

    def __str__(self) -> str:
        way = " in a forest" if self.forest else ""
        return f"choice of {self.count} of {len(self.guess.places)} tables{way}"


def on_grid(tables: Sequence[npt.ArrayLike], what: str) -> tuple[Integers, int]:
    """Tables of real numbers in whole steps of 2^−bits, one table after the other, and the bits."""
    cells = [np.asarray(table, dtype=np.float64).reshape(-1) for table in tables]
    flat = np.concatenate(cells) if cells else np.zeros(0)
    if not np.isfinite(flat).all() or np.abs(flat).max(initial=0.0) >= 2.0**62:
        raise BadInput(f"{what} finite numbers below 2^62, one for each cell.")
    most = max((int(np.abs(table).sum()) for table in cells), default=0)
    bits = max(0, min(_MOST_BITS - most.bit_length(), FINEST_BITS))
    return np.rint(np.ldexp(flat, bits)).astype(np.int64), bits


class _Forest:
    """The attributes that pairs have joined so far."""

    def __init__(self) -> None:
        self._parts: dict[str, frozenset[str]] = {}

    def joined(self, pair: tuple[str, ...]) -> bool:
        """Whether the pair would close a cycle."""
        return self._of(pair[0]) is self._of(pair[1])

    def join(self, pair: tuple[str, ...]) -> bool:
        """Join both attributes; return whether they were apart before."""
        if self.joined(pair):
            return False
        together = self._of(pair[0]) | self._of(pair[1])
        self._parts.update(dict.fromkeys(together, together))
        return True

    def _of(self, name: str) -> frozenset[str]:
        return self._parts.setdefault(name, frozenset((name,)))


@dataclass(frozen=True, eq=False)
class MeanDistance(Mechanism):
    """The mean of ‖M − M̂‖₁ over some tables, for a public model M̂, plus discrete Laplace noise.

    The unit is a step of 2^−bits/(number of tables): S = Σ_q 2^bits·‖M_q − M̂_q‖₁. The noise on S is DLap(Δ/ε), with
    Δ = 2^bits·(number of tables) steps.

    Claim.  ε-DP for tables at distance 1 (one row added or removed).
    Proof.  By the lemma on distances (:class:`GuessedTables`) one row more or less moves each term of S by at most
    2^bits, and their sum by at most Δ: the mean by at most 1. DLap(Δ/ε), or noise with a larger scale because the rate
    ε/Δ was rounded down, changes by at most a factor e^ε when it is shifted by Δ.  ∎
    """

    takes = TablesShape
    guess: GuessedTables

    @classmethod
    def of(cls, guesses: Mapping[int, npt.ArrayLike]) -> MeanDistance:
        """From tables of real numbers by their places."""
        return cls(GuessedTables.of(guesses))

    def check(self, source: TablesShape) -> None:
        """Guesses at tables of this source."""
        self.guess.check(source)

    def size(self, source: TablesShape, epsilon: Fraction) -> Size:
        """Every cell a few times."""
        return Size(10 * self.guess.numbers.size, 64 * self.guess.numbers.size)

    @property
    def steps(self) -> int:
        """Δ: the number of steps that make a mean of 1."""
        return self.guess.unit * len(self.guess.places)

    def scale(self, epsilon: Fraction) -> Fraction:
        """Δ/ε, or a little more."""
        return 1 / machine_rate(epsilon / self.steps)

    def draw(self, data: CountedTables, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """S + DLap(Δ/ε)."""
        total = sum(self.guess.distances(data).tolist())
        return add(whole_array([total], (1,)), noise.discrete_laplace((trials, 1), self.scale(epsilon)))

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> NoisyValue:
        """The noisy mean, in rows."""
        if output.size != 1:
            raise BadInput("a mean distance is measured once. Simulate trials one by one.")
        variance = float(discrete_laplace_variance([self.scale(epsilon)])[0])
        value = Fraction(int(output.reshape(-1)[0]), self.steps)
        return NoisyValue(float(value), math.sqrt(variance) / self.steps, private)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Two pairs of three attributes."""
        schema = Schema({name: Integer(0, 1) for name in "abc"})
        groups = (("a", "b"), ("b", "c"))
        distance = cls.of({0: np.array([[8.0, 0], [0, 4]]), 1: np.array([[60, 0.25], [3, 0]])})
        return [AuditCase("mean distance", distance, schema.shape, counting(schema, groups))]

    def __str__(self) -> str:
        return f"mean distance from {len(self.guess.places)} tables"
