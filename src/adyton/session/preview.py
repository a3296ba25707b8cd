"""A preview: what a release would cost and how far off it would be, for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from adyton.exact import display
from adyton.plans.base import ExpectedError


def promised(errors: Mapping[str, ExpectedError | None]) -> tuple[str, ExpectedError] | None:
    """The algorithm of least error among those whose error is the same on all data; if there is none, the least of
    those that improve on such an error by an amount that depends on the data; None if there is neither."""
    known = [(name, error) for name, error in errors.items() if error is not None]
    for kinds in ({"exact", "estimate"}, {"upper mark"}):
        fitting = [pair for pair in known if pair[1].kind in kinds]
        if fitting:
            return min(fitting, key=lambda pair: pair[1].total)
    return None


@dataclass(frozen=True)
class Preview:
    """What a release would cost and how far off it would be. Nothing was spent to know it."""

    task: str
    cells: int
    queries: int
    epsilon: Fraction
    remaining: Fraction
    """What is left of the budget now."""
    candidates: Mapping[str, ExpectedError | None]
    """The algorithms that could run, with the error to expect; None where it depends on the data."""
    chosen: bool
    """Whether one of them will be chosen privately."""
    misfits: Fraction = Fraction(0)
    """The part of the budget that will count the rows which do not fit the schema."""

    @property
    def expected_error(self) -> ExpectedError | None:
        """The least error that can be promised before anything is spent."""
        found = promised(self.candidates)
        return None if found is None else found[1]

    @property
    def affordable(self) -> bool:
        """Whether the budget that is left is enough."""
        return self.epsilon <= self.remaining

    def lines(self) -> list[tuple[str, str, str]]:
        """For each algorithm its error, and what kind of figure that is; the least first."""
        known = {name: error for name, error in self.candidates.items() if error is not None}
        ranked = sorted(known.items(), key=lambda pair: pair[1].total)
        rest = [(name, "–", "depends on the data") for name in self.candidates if name not in known]
        return [(name, f"{error.per_query:.4g}", error.kind) for name, error in ranked] + rest

    def sentence(self) -> str:
        """What would be charged, and whether there is enough."""
        enough = "" if self.affordable else ", which is not enough"
        part = display(self.epsilon * self.misfits)
        checked = f" Of this, {part} counts the rows that do not fit the schema." if self.misfits else ""
        return (
            f"{self.task}: {self.cells:,} cells; would cost ε = {display(self.epsilon)} of the "
            f"{display(self.remaining)} that is left{enough}.{checked}"
        )

    def __str__(self) -> str:
        how = "One of these is chosen privately:" if self.chosen else "This would run:"
        rows = [f"  {name:<22} {error:>10}  {kind}" for name, error, kind in self.lines()]
        return "\n".join([self.sentence(), how, f"  {'algorithm':<22} {'error':>10}", *rows])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{error}</td><td>{kind}</td></tr>" for name, error, kind in self.lines()
        )
        return (
            f"<p>{escape(self.sentence())}</p><table><thead><tr><th>algorithm</th><th>error of an answer</th>"
            f"<th>what the figure is</th></tr></thead><tbody>{rows}</tbody></table>"
        )
