"""A preview: what a request would cost and how far off its answer would be, for people."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from adyton.exact import display
from adyton.programs.base import Outlook
from adyton.schema import Schema


@dataclass(frozen=True, eq=False)
class Preview:
    """What a request would cost and how far off its answer would be. Nothing was spent to know it."""

    task: str
    epsilon: Fraction
    remaining: Fraction
    """What is left of the budget now."""
    outlook: Outlook
    schema: Schema
    """Of the whole table."""
    counted: tuple[str, ...] = ()
    """Which rows of each unit would be counted, where that is not all of them."""

    @property
    def candidates(self) -> Any:
        """What could run, with the error to expect; None where it depends on the data."""
        return self.outlook.errors(self.epsilon)

    @property
    def expected_error(self) -> Any:
        """The least error that can be promised before anything is spent."""
        return self.outlook.promised(self.epsilon)

    @property
    def chosen(self) -> bool:
        """Whether one of several will be chosen privately."""
        return self.outlook.chooses

    @property
    def cells(self) -> int | None:
        """How many cells would be estimated; None where there are none."""
        return self.outlook.cells

    @property
    def queries(self) -> int | None:
        """How many queries the task asks; None where it asks for something else."""
        return self.outlook.queries

    @property
    def misfits(self) -> Fraction:
        """The part of the budget that will count the rows which do not match the schema."""
        return self.outlook.misfits.of(self.epsilon)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else is known beforehand: which way the release goes, and what it leaves out."""
        own = self.outlook.notes(self.schema, self.epsilon)
        return (*self.counted, *own, *self.outlook.misfits.notes(self.epsilon))

    @property
    def affordable(self) -> bool:
        """Whether the budget that is left is enough."""
        return self.epsilon <= self.remaining

    def sentence(self) -> str:
        """What would be charged, and whether there is enough."""
        enough = "" if self.affordable else ", which is not enough"
        part = display(self.epsilon * self.misfits)
        checked = f" Of this, {part} counts the rows that do not match the schema." if self.misfits else ""
        size = f"{self.outlook.size}; " if self.outlook.size else ""
        return (
            f"{self.task}: {size}would cost ε = {display(self.epsilon)} of the "
            f"{display(self.remaining)} that is left{enough}.{checked}"
        )

    def lines(self) -> list[tuple[str, ...]]:
        """A line for each candidate, below a header; none where all is said in words."""
        return self.outlook.lines(self.epsilon)

    def __str__(self) -> str:
        lines = self.lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = ["  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in lines]
        said = [self.sentence(), *self.notes, self.outlook.head(self.epsilon), *map(str.rstrip, rows)]
        return "\n".join([*said, self.outlook.ending] if self.outlook.ending else said)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        words = escape(" ".join((self.sentence(), *self.notes, self.outlook.head(self.epsilon))))
        head, *rest = self.lines() or [()]
        titles = "".join(f"<th>{escape(one)}</th>" for one in head)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(one)}</td>' for one in line)}</tr>" for line in rest)
        table = f"<table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>" if head else ""
        return f"<p>{words}</p>{table}"
