"""How fast a table is turned into a vector, against the quickest ways that an expert would write for the same question.

All ways answer the same two questions about the same rows, in turn, in one process: how many rows lie in each of
100,000 cells of two numbers, and how many have each of 10,000 texts. What counts is the least processor time of several
rounds, that of the engine's server included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from adyton_lab.bench.counting_places import BINS, LEVELS, Ways, place_at

ROWS = 10_000_000
_ROUNDS = 5


@dataclass(frozen=True)
class CountingTime:
    """What one way of counting takes for one question: the least processor time, in seconds."""

    engine: str
    question: str
    rows: int
    way: str
    processor_seconds: float
    times_the_fastest_other: float
    """Over the least of all ways but this one."""


def compare(rows: int = ROWS, engine: str | None = None) -> Iterator[CountingTime]:
    """Run all ways in turn; *engine* is the address of a PostgreSQL, or ``spark`` for one that is started here."""
    with place_at(engine, rows) as place:
        for question, schema in _questions().items():
            table = place.opened(question, schema)
            ways: Ways = {"adyton": lambda table=table: int(table.vectorize().sum())}  # type: ignore[misc]
            ways |= place.ways(question)
            _check_same(ways)
            least = dict.fromkeys(ways, float("inf"))
            for _ in range(_ROUNDS):
                for way, work in ways.items():
                    least[way] = min(least[way], place.processor_seconds(work))
            for way, seconds in least.items():
                fastest = min(other for name, other in least.items() if name != way)
                yield CountingTime(place.name, question, rows, way, seconds, seconds / fastest)


def _questions() -> dict[str, Any]:
    from adyton.schema import Categorical, Integer, Numeric, Schema

    return {
        "numbers": Schema({"age": Integer(0, 99), "salary": Numeric(0, 100_000, bins=BINS)}),
        "texts": Schema({"town": Categorical([f"level number {place}" for place in range(LEVELS)])}),
    }


def _check_same(ways: Ways) -> None:
    """All ways count the same rows; this also warms them up."""
    found = {way: work() for way, work in ways.items()}
    if len(set(found.values())) != 1:
        raise AssertionError(f"the ways do not count the same rows, so that the comparison means nothing: {found}")


def steps(rows: int = ROWS, engine: str | None = None) -> int:
    """How many records :func:`compare` yields."""
    return 7 if engine is None else 4
