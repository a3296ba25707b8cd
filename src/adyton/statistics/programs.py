"""Programs for numbers: what each measures, and the error to expect of it before anything is spent.

Errors are given in units that do not depend on the data: of a sum in its own unit; of a mean (and of a variance) times
the rows of the group, because they fall with the rows; of a quantile in rows between it and what was chosen.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from adyton.errors import BadInput
from adyton.exact import display
from adyton.kernel.counting.table import LARGEST_DOMAIN
from adyton.kernel.mechanisms import Mechanism, NestedQuantiles, VectorLaplace
from adyton.kernel.operators import check_request
from adyton.kernel.recorder import Ended
from adyton.kernel.sources import TableSource, VectorSource
from adyton.messages import no_such
from adyton.plans.algorithm import MOST_STRIPES, Algorithm
from adyton.plans.registry import Registry, check_name, plan_named
from adyton.queries import Identity, Measurement, Partition, Prefix
from adyton.statistics.asked import Asked
from adyton.statistics.moments import moment_errors, points
from adyton.statistics.parts import Part
from adyton.statistics.quantiles import (
    LOOKED,
    borders,
    coarse_parts,
    even_borders,
    even_places,
    names_of,
    places,
    places_in_all,
    rank_error,
    rank_scales,
)
from adyton.whole import IntegerArray

MOST_CELLS = 1 << 22
"""Quantiles are chosen among so many cells at most."""
MOST_CHOICES = 1 << 17
"""How many quantiles are chosen one by one, over all groups: each takes a third of a millisecond."""
Step = Callable[[], Part]
"""A measurement that was found to be possible, and its answer."""


class Outcome(NamedTuple):
    """What a run returned."""

    parts: tuple[Part, ...]
    ended: BaseException | None = None
    """What ended the program before it came to its end, if something did."""


class NumbersProgram(Algorithm[TableSource, Asked]):
    """A way to measure numbers: its errors before anything is spent, and its measurements."""

    words: ClassVar[str]
    """What it does."""

    @abstractmethod
    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """The standard error of each statistic, with *epsilon* for a row; those are missing that it does not tell."""

    @abstractmethod
    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """The measurements, once it is sure that all of them can be carried out."""

    def serves(self, asked: Asked) -> bool:
        """Whether it tells all that is asked for."""
        return set(self.errors(asked, Fraction(1))) >= set(asked.task.statistics)

    def check_asked(self, source: TableSource, asked: Asked) -> None:
        """Statistics that it tells."""
        self.check(asked)

    def check(self, asked: Asked) -> None:
        """Refuse what it does not tell, and name those that do."""
        if not self.serves(asked):
            serving = [name for name in PROGRAMS if PROGRAMS.named(name).serves(asked)] or ["another task"]
            raise BadInput(f"{self.name} does not tell the {asked.task}. Name {' or '.join(serving)}, or auto.")

    def check_run(self, source: TableSource, asked: Asked, epsilon: Fraction) -> Callable[[], Outcome]:
        """All measurements are found to be possible before the first."""
        return partial(_carried_out, self.steps(source, asked, epsilon))


def _carried_out(steps: Sequence[Step]) -> Outcome:
    """The answers, and what ended them early if something did."""
    parts: list[Part] = []
    try:
        for step in steps:
            parts.append(step())
    except (Ended, Exception) as end:
        if not parts:
            raise
        return Outcome(tuple(parts), end.cause if isinstance(end, Ended) else end)
    return Outcome(tuple(parts))


class Sums(NumbersProgram):
    """Sums by themselves."""

    name, words = "sums", "adds up the values of each group and adds noise for the largest value"

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """√2 · the largest value / ε."""
        return {"sum": math.sqrt(2) * asked.grid.reach * float(asked.grid.step) / float(epsilon)}

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """One vector."""
        return [measured("sums", source, source.sums(asked.task.attribute, asked.task.by), 1, epsilon)]


class Shares(NumbersProgram):
    """Count, mean and variance from one measurement."""

    name = "shares"
    words = "shares out each row between the bounds, so that count, mean and variance come from one measurement"

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """Of 2 points, or of 3 where squares are asked for."""
        places, squares = points(asked)
        return moment_errors(asked, places, squares, float(epsilon))

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """One vector."""
        degree = len(points(asked)[0]) - 1
        shares = source.shares(asked.task.attribute, asked.task.by, degree=degree)
        return [measured("shares", source, shares, degree + 1, epsilon)]


class Choice(NumbersProgram):
    """Quantiles, chosen together.

    The look chooses sixteenths of all rows, whatever their group: it is cheap, because there are many of them. Rows are
    then likely to be found where those of all groups are, which helps small groups, and they are counted in sixteen
    parts that hold about as many.
    """

    name = "choice"
    words = "chooses the cells of all quantiles by permute-and-flip, one level after the other, and counts coarse parts"
    look: ClassVar[Fraction] = Fraction(1, 20)
    coarse: ClassVar[Fraction] = Fraction(1, 20)

    @property
    def left(self) -> Fraction:
        """The part of the budget that the quantiles have."""
        return 1 - self.look - self.coarse

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """How many rows lie between a quantile and what is chosen."""
        few = asked.attribute.base_size <= MOST_CELLS and asked.groups * len(asked.task.quantiles) <= MOST_CHOICES
        parts = asked.task.quantiles if few else ()
        scales = rank_scales(parts, float(epsilon * self.left)) if parts else ()
        return {
            name: rank_error(part, own, asked.task.rows, asked.attribute.base_size)
            for name, part, own in zip(names_of(parts), parts, scales, strict=True)
        }

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """The look, the counts, the choice. How large they are does not depend on what comes before."""
        x, cells = cells_of(source, asked), asked.attribute.base_size
        every = np.full(asked.attribute.size, -1)
        every[:cells] = np.arange(cells)
        together = x.reduce(Partition(np.tile(every, asked.groups)))
        first = NestedQuantiles(cells, cells, LOOKED, even_places(cells, max(cells, 1 << 12)))
        check_request(first, together.facts.shape, epsilon * self.look)
        parts = asked.task.quantiles
        total = places_in_all(asked, len(parts).bit_length())

        def choice(found: IntegerArray) -> NestedQuantiles:
            return NestedQuantiles(asked.attribute.size, cells, parts, found)

        check_request(choice(even_places(cells, total)), x.facts.shape, epsilon * self.left)
        looked: list[IntegerArray] = []

        def look() -> Part:
            looked.append(np.array(together.select(first, epsilon * self.look), dtype=np.int64))
            return Part("look", looked[0][None, :], epsilon * self.look)

        def counts(edges: IntegerArray) -> Step:
            line = np.repeat(np.arange(coarse_parts(asked)), np.diff(edges))
            shared = x.reduce(lines_of(asked, coarse_parts(asked), line))
            return measured("coarse", source, shared, coarse_parts(asked), epsilon * self.coarse)

        counts(even_borders(asked))  # it is checked here, with as many parts

        def choose() -> Part:
            chosen = x.select(choice(places(asked, looked[0], total)), epsilon * self.left)
            return Part("quantiles", np.array(chosen, dtype=np.int64).reshape(asked.groups, -1), epsilon * self.left)

        def count() -> Part:
            return counts(borders(asked, looked[0]))()

        return [look, count, choose]


class Curve(NumbersProgram):
    """Counts of all cells by a plan whose error is known."""

    name = "cdf"
    words = "measures a tree of counts along the attribute, from which all quantiles follow"
    plan = "hb"
    most_groups: ClassVar[int] = MOST_STRIPES
    """The plan runs once for each group."""

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """The standard error of a count up to a value."""
        if asked.attribute.base_size > MOST_CELLS or not asked.task.quantiles or asked.groups > self.most_groups:
            return {}
        off = self._off(asked, epsilon)
        return dict.fromkeys(names_of(asked.task.quantiles), off)

    def _off(self, asked: Asked, epsilon: Fraction) -> float:
        """It is the same in each group: the noise of one row is in one group alone."""
        return plan_named(self.plan).expected_error(Prefix(asked.attribute.base_size), epsilon).per_query

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """One run of the plan, for every group."""
        x, plan = cells_of(source, asked), plan_named(self.plan)
        cells = asked.attribute.base_size
        lines, workload = x.split(lines_of(asked, 1, np.zeros(cells, dtype=int))), Prefix(cells)
        for line in lines:
            plan.admit(line, workload, epsilon)
        off = self._off(asked, epsilon)

        def run() -> Part:
            found = [plan.carry_out(line, workload, epsilon).estimate for line in lines]
            return Part("curve", np.array(found, dtype=float).reshape(asked.groups, cells), epsilon, off)

        return [run]


class Cells(Curve):
    """A plain histogram."""

    name = "histogram"
    words = "counts every value, from which all else follows"
    plan = "identity"
    most_groups: ClassVar[int] = LARGEST_DOMAIN

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """Of quantiles, and of moments where every cell is a single number."""
        found = super().errors(asked, epsilon)
        if asked.single and asked.attribute.base_size <= MOST_CELLS:
            places = (asked.middles - asked.grid.lower) / asked.grid.width
            found |= moment_errors(asked, places, places**2, float(epsilon))
            found["sum"] = float(np.sqrt(2 * (asked.middles**2).sum())) / float(epsilon)
        return found

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """One vector."""
        x = cells_of(source, asked)
        off = self._off(asked, epsilon)
        step = measured("cells", source, x, asked.attribute.size, epsilon)

        def run() -> Part:
            found = step()
            return Part("cells", found.numbers[:, : asked.attribute.base_size], epsilon, off)

        return [run]


class SharesAndChoice(NumbersProgram):
    """Moments and quantiles, each by what suits it."""

    name = "shares-and-choice"
    words = "shares out rows for count, mean and deviation, and chooses the cells of the quantiles"
    shares: ClassVar[Fraction] = Fraction(2, 5)

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """Of both, with their parts of the budget."""
        if not asked.task.quantiles or set(names_of(asked.task.quantiles)) >= set(asked.task.statistics):
            return {}
        return Shares().errors(asked, epsilon * self.shares) | Choice().errors(asked, epsilon * (1 - self.shares))

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """Those of both."""
        first, second = epsilon * self.shares, epsilon * (1 - self.shares)
        return [*Shares().steps(source, asked, first), *Choice().steps(source, asked, second)]


def cells_of(source: TableSource, asked: Asked) -> VectorSource:
    """The count of every cell, groups first."""
    return source.select(list(asked.schema.names)).vectorize()


def lines_of(asked: Asked, parts: int, line: IntegerArray) -> Partition:
    """The cells of numbers of every group in so many parts; *line* says of each cell of one group in which. Cells
    without a number are in none."""
    every = np.full(asked.attribute.size, -1)
    every[: asked.attribute.base_size] = line
    starts = np.arange(asked.groups)[:, None] * parts
    return Partition(np.where(every < 0, -1, every + starts).reshape(-1))


def measured(kind: str, source: TableSource, x: VectorSource, width: int, epsilon: Fraction) -> Step:
    """Every cell of a vector, for *epsilon* of the table's rows: checked now, measured later.

    The kernel charges what one row can change times as much as is asked for; so that much less is asked for.
    """
    operator: Mechanism = VectorLaplace(Identity(x.shape))
    own = epsilon * source.stability / x.stability
    check_request(operator, x.facts.shape, own)

    def measure() -> Part:
        found: Measurement = x.kernel.measure(x, operator, own)
        return Part(kind, found.answers.reshape(-1, width), epsilon)

    return measure


PROGRAMS = Registry[NumbersProgram](
    "algorithm for numbers",
    {
        "sums": "statistics.programs:Sums",
        "shares": "statistics.programs:Shares",
        "choice": "statistics.programs:Choice",
        "cdf": "statistics.programs:Curve",
        "histogram": "statistics.programs:Cells",
        "shares-and-choice": "statistics.programs:SharesAndChoice",
    },
)


AUTO = "auto"


@dataclass(frozen=True, eq=False)
class Weighed:
    """The programs that could run, with the error of each statistic, and the one that is best."""

    asked: Asked
    errors: Mapping[str, Mapping[str, float]]
    chosen: str
    named: bool = False
    """Whether somebody named it."""

    @property
    def program(self) -> NumbersProgram:
        """The one to run."""
        return PROGRAMS.named(self.chosen)

    def why(self) -> str:
        """In words, for people."""
        if self.named:
            return "as asked"
        others = [name for name in self.errors if name != self.chosen]
        if not others:
            return "the only program for this"
        shown = ", ".join(f"{name} {self._ratio(name):.3g}" for name in others)
        return f"chosen from public information; expected error of others, relative to its own: {shown}"

    def _ratio(self, name: str) -> float:
        own = self.errors[self.chosen]
        logs = [math.log(self.errors[name][one] / own[one]) for one in self.asked.task.statistics]
        return math.exp(sum(logs) / len(logs))


def weigh(asked: Asked, epsilon: Fraction, algorithm: str = AUTO) -> Weighed:
    """The errors of all programs that serve, and the one with the least geometric mean of them; or the one named."""
    check_name(algorithm)
    if algorithm != AUTO:
        if algorithm not in PROGRAMS:
            raise BadInput(no_such("algorithm for numbers", algorithm, [AUTO, *PROGRAMS]))
        program = PROGRAMS.named(algorithm)
        program.check(asked)
        return Weighed(asked, {algorithm: program.errors(asked, epsilon)}, algorithm, named=True)
    programs = {name: PROGRAMS.named(name) for name in PROGRAMS}
    found = {name: program.errors(asked, epsilon) for name, program in programs.items() if program.serves(asked)}
    if not found:
        cells = asked.attribute.base_size
        raise BadInput(
            f"{asked.task.attribute} has {cells:,} cells; at most {MOST_CELLS:,} are allowed for quantiles. Declare a "
            "larger step or fewer bins in the schema."
        )

    def size(name: str) -> float:
        return sum(math.log(found[name][one]) for one in asked.task.statistics)

    return Weighed(asked, found, min(found, key=size))


def in_words(asked: Asked, errors: Mapping[str, float], epsilon: Fraction) -> list[str]:
    """A sentence for each statistic: how far off it typically is, as a function of the rows where it depends on them.

    *epsilon* is what is asked for, to be named.
    """
    sentences, rows = [], asked.task.rows
    ranks = [errors[name] for name in asked.task.statistics if name.endswith("%")]
    for name in asked.task.statistics:
        error = errors[name]
        if name in ("sum", "count"):
            sentences.append(f"the {name} is typically off by {error:,.4g}")
        elif name.endswith("%"):
            continue
        elif rows is not None:
            sentences.append(f"the {name} of a group of {rows:,} rows is typically off by about {error / rows:,.3g}")
        else:
            few = [f"{error / size:,.3g} for {size:,} rows" for size in (100, 1000, 10_000)]
            sentences.append(f"the {name} is typically off by about {', '.join(few)} in a group")
    if ranks:
        far = f"{min(ranks):,.3g}" if min(ranks) == max(ranks) else f"{min(ranks):,.3g} to {max(ranks):,.3g}"
        most = "at most" if rows is None else "about"
        sentences.append(
            f"a quantile typically lies beside the true one by {most} {far} rows, and by less or none "
            "where many rows have the same value"
        )
    head, *rest = sentences
    return [f"With ε = {display(epsilon)} {head}", *rest]


def rows_needed(asked: Asked, errors: Mapping[str, float]) -> str:
    """How many rows a group needs, where there are groups: noise is the same for large and small ones."""
    if not asked.task.by:
        return ""
    if "mean" in errors and "mean" in asked.task.statistics:
        least = math.ceil(errors["mean"] / (asked.grid.width / 20))
        return f"A group needs about {least:,} rows for a mean that is off by 5% of the range; smaller ones tell less."
    if asked.task.quantiles:
        least = math.ceil(max(errors[name] for name in asked.task.statistics if name.endswith("%")) * 20)
        return (
            f"A group needs about {least:,} rows for quantiles that are off by 5% of its rows; smaller ones tell less."
        )
    return ""
