"""Which pairs of attributes to measure: those that a public model guesses badly."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import Rational, exact
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.counts import CountedTables, GuessedTables
from adyton.kernel.mechanisms.measure_tables import counting
from adyton.kernel.operators import Mechanism
from adyton.kernel.shapes import SourceShape, TablesShape
from adyton.messages import shorten
from adyton.noise.laplace import is_long, machine_rate
from adyton.noise.source import NoiseSource
from adyton.queries.base import SLOW_DRAW, Size
from adyton.schema import Integer, Schema
from adyton.whole import IntegerArray, add, whole

_LARGEST_PRICE = 1 << 62


@dataclass(frozen=True, eq=False)
class PairChoice(Mechanism):
    """Some of the tables that a public model M̂ guesses badly, one after the other, by permute-and-flip.

    The score of table q is ‖M_q − M̂_q‖₁ − Σ min(b, M̂_q): how far the guess is from the truth, less what noise of the
    scale b would do to it. In whole numbers it is 2^bits times that, on the grid of the guess, and ``price`` is
    2^bits·b, rounded. ``count`` tables are chosen, none of them twice. In a ``forest`` tables are pairs of attributes,
    and no chosen pair closes a circle with those chosen before and with those at the places ``taken``.

    Claim.  ε-DP for tables at distance 1 (one row added or removed).
    Proof.  By the lemma on distances (:class:`~adyton.kernel.counts.GuessedTables`) one row more or less moves
    each score by at most 2^bits, up or down: a row that comes closer to one guess can lead away from another. The sums
    over M̂ are public. So scores move against each other by at most R = 2·2^bits, and by the lemma on differences of
    scores a choice with sharpness (ε/count)/R, or less, is ε/count-DP: scores that are not monotone need the factor 2.
    Which tables can be chosen next is a function of the choices before, whatever the rows, so that all choices together
    are ε-DP (sequential composition). Nor can candidates run out for some rows and not for others: sets of pairs that
    close no circle form a matroid, whose maximal sets have equal size, and a larger ``count`` is refused.  ∎
    """

    takes = TablesShape
    guess: GuessedTables
    price: int
    count: int
    forest: bool = False
    taken: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        guesses: Mapping[int, npt.ArrayLike],
        scale: Rational,
        count: int,
        *,
        forest: bool = False,
        taken: Sequence[int] = (),
    ) -> PairChoice:
        """With tables of real numbers by their places, and the *scale* b of the noise that measuring them would have.

        >>> PairChoice.of({0: [[1.5, 2], [0, 4]]}, "0.5", 1).price
        524288
        """
        guess, noise = GuessedTables.of(guesses), exact(scale, "scale", computed=True)
        price = min(_LARGEST_PRICE, max(0, round(noise * guess.unit)))
        return cls(guess, price, operator.index(count), forest, tuple(int(place) for place in taken))

    def check(self, source: TablesShape) -> None:
        """Guesses at tables of this source, and not more choices than there can be."""
        self.guess.check(source)
        if not 0 <= self.price <= _LARGEST_PRICE:
            raise BadInput(f"price must be a whole number in 0 … 2^62, given {shorten(self.price)}.")
        whole(self.count, "count", 1)
        if self.taken:
            source.check_places(self.taken)
        most = len(self.guess.places)
        if self.forest:
            named = [source.groups[place] for place in (*self.guess.places, *self.taken)]
            if any(len(group) != 2 for group in named):
                raise BadInput("a forest is made of tables of two attributes each. Leave out the others.")
            edges = _Forest(source.groups[place] for place in self.taken)
            most = sum(edges.join(source.groups[place]) for place in self.guess.places)
        if self.count > most:
            what = "form a forest" if self.forest else "be chosen"
            raise BadInput(
                f"at most {most} of these tables can {what}, asked for {shorten(self.count)}. Ask for fewer."
            )

    def size(self, source: TablesShape, epsilon: Fraction) -> Size:
        """Every cell a few times, and every candidate in every choice."""
        flips = self.count * len(self.guess.places)
        return Size(10 * self.guess.numbers.size, 64 * self.guess.numbers.size + self._flip(epsilon) * flips)

    def _flip(self, epsilon: Fraction) -> int:
        return SLOW_DRAW if is_long(self.sharpness(epsilon)) else 32

    def sharpness(self, epsilon: Fraction) -> Fraction:
        """Of each choice: (ε/count)/(2·2^bits), or a little less."""
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
        edges = _Forest(groups[place] for place in self.taken) if self.forest else None
        left, chosen = list(range(len(self.guess.places))), []
        for _ in range(self.count):
            number = left[noise.permute_and_flip(scores[left], sharpness)]
            place = self.guess.places[number]
            chosen.append(place)
            left.remove(number)
            if edges is not None:
                edges.join(groups[place])
                left = [one for one in left if not edges.joined(groups[self.guess.places[one]])]
        return np.array(chosen, dtype=np.int64)

    def parts(self, source: SourceShape) -> None:
        """One choice after the other."""

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Any:
        """The places."""
        return tuple(output.tolist())

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """One choice, two choices, and a forest, among the pairs of three and of four attributes."""
        first, second, poor = [[8, 0], [0, 1]], [[0, 8], [0, 1]], np.array([[0.25, 0], [0, 0]])
        cases = [
            ("one of two pairs", 3, cls.of({0: first, 1: poor}, 1, 1)),
            ("two of three pairs", 3, cls.of({0: first, 1: poor, 2: second}, "0.75", 2)),
            ("a forest", 4, cls.of({0: first, 1: poor, 3: second, 5: [[0, 0], [8, 1]]}, 2, 2, forest=True, taken=(4,))),
        ]
        return [one._case(name, attributes) for name, attributes, one in cases]

    def _case(self, name: str, attributes: int) -> AuditCase:
        names = "abcd"[:attributes]
        schema = Schema({one: Integer(0, 1) for one in names})
        groups = tuple((one, other) for one in names for other in names if one < other)
        left = np.zeros(schema.shape, dtype=np.int64)
        left[(0, 0, 1, 0)[:attributes]] = 8  # as all guesses have it, but for the poor one
        right = left.copy()
        right[(1,) * attributes] += 1  # closer to all guesses, but for the poor one
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


class _Forest:
    """Which attributes pairs have joined so far."""

    def __init__(self, pairs: Iterable[tuple[str, ...]]) -> None:
        self._parts: dict[str, frozenset[str]] = {}
        for pair in pairs:
            self.join(pair)

    def joined(self, pair: tuple[str, ...]) -> bool:
        """Whether the pair would close a circle."""
        return self._of(pair[0]) is self._of(pair[1])

    def join(self, pair: tuple[str, ...]) -> bool:
        """Join both attributes; whether they were apart before."""
        if self.joined(pair):
            return False
        together = self._of(pair[0]) | self._of(pair[1])
        self._parts.update(dict.fromkeys(together, together))
        return True

    def _of(self, name: str) -> frozenset[str]:
        return self._parts.setdefault(name, frozenset((name,)))
