"""Attributes of ordered numbers: whole ones in cells of equal length, real ones in bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from adyton.errors import SchemaError
from adyton.messages import shorten
from adyton.schema.attributes import CelledAttribute, Label
from adyton.schema.checks import real_number, whole_number


@dataclass(frozen=True)
class Integer(CelledAttribute):
    """Whole numbers from *min* to *max*, both included, in cells of *step* numbers each.

    A number with a fraction falls in the cell of the whole number below it.

    >>> Integer(0, 99, step=25).labels
    ('[0, 24]', '[25, 49]', '[50, 74]', '[75, 99]')
    """

    kind: ClassVar[str] = "integer"
    ordered: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = ("drop", "clamp", "other")

    min: int
    max: int
    step: int = 1

    def __post_init__(self) -> None:
        self._check_policies()
        for name in ("min", "max", "step"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name))
        if self.min > self.max:
            raise SchemaError(f"min is {self.min} and max is {self.max}: min must not exceed max. Swap them?")
        if self.max - self.min >= 2**53:
            raise SchemaError(f"max − min must be below 2^53, given {self.min} to {self.max}. Write tighter bounds.")
        if self.step < 1:
            raise SchemaError(f"step must be at least 1, given {self.step}.")

    @property
    def base_size(self) -> int:
        """One cell per *step* numbers; the last may be shorter."""
        return (self.max - self.min) // self.step + 1

    def _base_labels(self) -> tuple[Label, ...]:
        starts = range(self.min, self.max + 1, self.step)
        if self.step == 1:
            return tuple(starts)
        return tuple(f"[{start}, {min(start + self.step - 1, self.max)}]" for start in starts)


@dataclass(frozen=True)
class Numeric(CelledAttribute):
    """Real numbers from *min* to *max* in *bins* cells of equal width, or in the cells between given *edges*.

    Cells hold their left edge and not their right one, except the last, which holds both. Among bins of equal width,
    what lies less than a billionth of a bin below an edge counts as on it: 0.29 is in [0.29, 0.3), although the nearest
    doubles say otherwise. Given edges are compared exactly.

    >>> Numeric(0, 1, bins=2).labels
    ('[0, 0.5)', '[0.5, 1]')
    >>> Numeric(edges=[0, 1, 10]).size
    2
    """

    kind: ClassVar[str] = "numeric"
    ordered: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = ("drop", "clamp", "other")

    min: float = field(default=None)  # type: ignore[assignment]
    max: float = field(default=None)  # type: ignore[assignment]
    bins: int = field(default=None)  # type: ignore[assignment]
    edges: Sequence[float] | None = None

    def __post_init__(self) -> None:
        self._check_policies()
        if self.edges is not None:
            self._check_edges()
            return
        missing = [name for name in ("min", "max", "bins") if getattr(self, name) is None]
        if missing:
            raise SchemaError(
                f"{' and '.join(missing)} missing: numeric needs min, max and bins, or edges. "
                "Write bounds from public knowledge, never from the rows."
            )
        object.__setattr__(self, "min", real_number(self.min, "min"))
        object.__setattr__(self, "max", real_number(self.max, "max"))
        object.__setattr__(self, "bins", whole_number(self.bins, "bins"))
        if self.min >= self.max:
            raise SchemaError(f"min is {self.min} and max is {self.max}: min must be below max. Swap them?")
        if self.bins < 1:
            raise SchemaError(f"bins must be at least 1, given {self.bins}.")
        largest = max(abs(self.min), abs(self.max))
        if self.width < largest * 2**-52 or self.width < 1e-300:
            raise SchemaError(f"{self.bins} bins between {self.min} and {self.max} are too narrow. Ask for fewer bins.")

    def _check_edges(self) -> None:
        given: Any = self.edges
        if isinstance(given, str | bytes | dict) or not hasattr(given, "__iter__"):
            raise SchemaError(f"edges must be a list of numbers, given {shorten(given)}. Write edges = [0, 10, 100].")
        edges = tuple(real_number(edge, "an edge") for edge in given)
        if len(edges) < 2:
            raise SchemaError(f"edges needs at least two numbers, given {shorten(list(edges))}.")
        for left, right in pairwise(edges):
            if left >= right:
                raise SchemaError(f"edges must increase, given {left} before {right}. Sort them; write each once.")
        derived = {"min": edges[0], "max": edges[-1], "bins": len(edges) - 1}
        for name, value in derived.items():
            if getattr(self, name) not in (None, value):
                raise SchemaError(f"give either edges or {name}, not both: the edges already say {name} = {value}.")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "edges", edges)

    @property
    def width(self) -> float:
        """The width of a cell, where all are equal."""
        return (self.max - self.min) / self.bins

    @property
    def tolerance(self) -> float:
        """The part of a bin's width that counts as on the edge above it; it exceeds the rounding of doubles."""
        return max(1e-9, 1e-15 * self.bins)

    @property
    def base_size(self) -> int:
        """One cell per bin."""
        return self.bins

    def _base_labels(self) -> tuple[Label, ...]:
        edges = self.edges or [*(self.min + i * self.width for i in range(self.bins)), self.max]
        texts = [_number_text(edge) for edge in edges]
        closing = [")"] * (self.bins - 1) + ["]"]
        return tuple(f"[{a}, {b}{close}" for a, b, close in zip(texts, texts[1:], closing, strict=False))


def _number_text(number: float) -> str:
    """A number for a label: without the noise of the last digits, and whole numbers without a point."""
    text = f"{number:.12g}"
    return text if "e" not in text or abs(number) >= 2**53 or number % 1 else str(int(number))
