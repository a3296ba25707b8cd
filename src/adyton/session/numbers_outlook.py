"""The outlook before numbers are released: which programs could run, and what error to expect of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from adyton.errors import BadInput
from adyton.exact import Rational, display, positive
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.session.least_epsilon import least_epsilon
from adyton.statistics.asked import Asked
from adyton.statistics.choosing import AUTO, Weighed, in_words, rows_needed, weigh
from adyton.statistics.programs import PROGRAMS
from adyton.whole import SAFE

_PER_ROW = ("mean", "variance", "deviation")


@dataclass(frozen=True)
class NumbersPreview:
    """What a release of numbers would cost and how far off it would be. Nothing was spent to know it."""

    task: str
    groups: int
    epsilon: Fraction
    remaining: Fraction
    candidates: Mapping[str, Mapping[str, float]]
    """The programs that could run, with the error of each statistic; see :mod:`adyton.statistics.programs`."""
    chosen: str
    expected_error: Mapping[str, float]
    misfits: Fraction
    notes: tuple[str, ...]
    counted: tuple[str, ...] = ()
    """Which rows of each unit would be counted, where that is not all of them."""

    @property
    def affordable(self) -> bool:
        """Whether the budget that is left is enough."""
        return self.epsilon <= self.remaining

    def sentence(self) -> str:
        """What would be charged, and whether there is enough."""
        enough = "" if self.affordable else ", which is not enough"
        groups = f"{self.groups:,} groups; " if self.groups > 1 else ""
        part = display(self.epsilon * self.misfits)
        checked = f" Of this, {part} counts the rows that do not fit the schema." if self.misfits else ""
        return (
            f"{self.task}: {groups}would cost ε = {display(self.epsilon)} of the {display(self.remaining)} that is "
            f"left{enough}.{checked}"
        )

    def lines(self) -> list[str]:
        """What would run, and how far off it would be."""
        other = [name for name in self.candidates if name != self.chosen]
        rest = f" (better here than {', '.join(other)})" if other else ""
        return [*self.counted, f"{self.chosen} would run: it {PROGRAMS[self.chosen].words}{rest}.", *self.notes]

    def __str__(self) -> str:
        return "\n".join([self.sentence(), *self.lines()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in (self.sentence(), *self.lines()))


@dataclass(frozen=True, eq=False)
class NumbersOutlook:
    """What can be known of a release of numbers beforehand."""

    asked: Asked
    algorithm: str = AUTO
    misfits: MisfitShare = NO_SHARE
    """The part of the budget that counts rows which do not fit the schema."""

    def weighed(self, epsilon: Fraction) -> Weighed:
        """The programs with their errors, for a release of *epsilon*."""
        row_epsilon = epsilon * (1 - self.misfits.of(epsilon)) / self.asked.schema.rows_per_unit
        return weigh(self.asked, row_epsilon, self.algorithm)

    def errors(self, epsilon: Fraction) -> dict[str, float]:
        """Of the best program: of each statistic, in its own unit where it can be known; in rows for quantiles; and
        times the rows of a group for means and variances of which nobody says how many rows there are."""
        found = self.weighed(epsilon)
        rows = self.asked.task.rows or 1
        errors = found.errors[found.chosen]
        return {name: errors[name] / (rows if name in _PER_ROW else 1) for name in self.asked.task.statistics}

    def epsilon_for(self, error: Rational) -> Fraction:
        """The least ε, to four digits, with which the statistic that was asked for has at most this standard error."""
        target = float(min(positive(error, "error", computed=True), Fraction(SAFE)))
        name = next((one for one in self.asked.task.statistics if one == self.asked.task.kind), None)
        name = name or self.asked.task.statistics[-1]
        if name in _PER_ROW and self.asked.task.rows is None:
            raise BadInput(
                f"the error of a {name} falls with the rows of a group, which are private. If it is public how many "
                f"a group has at least, say so: --group-rows 1000 (in Python {type(self.asked.task).__name__}(…, "
                "rows=1000))."
            )
        return least_epsilon(lambda epsilon: self.errors(epsilon)[name], target, error)

    def notes(self, epsilon: Fraction) -> tuple[str, ...]:
        """The errors in words, and how many rows a group needs."""
        found = self.weighed(epsilon)
        errors = found.errors[found.chosen]
        words = "; ".join(in_words(self.asked, errors, epsilon)) + "."
        needed = rows_needed(self.asked, errors)
        return (words, needed) if needed else (words,)

    def preview(self, epsilon: Fraction, remaining: Fraction, counted: tuple[str, ...] = ()) -> NumbersPreview:
        """What a release of *epsilon* would be, with so much left; *counted* says of which rows."""
        found = self.weighed(epsilon)
        return NumbersPreview(
            task=str(self.asked.task),
            groups=self.asked.groups,
            epsilon=epsilon,
            remaining=remaining,
            candidates=found.errors,
            chosen=found.chosen,
            expected_error=self.errors(epsilon),
            misfits=self.misfits.of(epsilon),
            counted=counted,
            notes=(*self.notes(epsilon), *self.misfits.notes(epsilon)),
        )
