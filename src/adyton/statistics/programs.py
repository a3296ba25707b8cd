"""Programs for numbers: what each measures, and its expected error before anything is spent.

Errors are in units that do not depend on the data: for a sum, its own unit; for a mean or a variance, its unit times
the rows of the group, because the error falls with the rows; for a quantile, the rows between it and the chosen value.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
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
from adyton.statistics.grouped import GroupedNumbers
from adyton.statistics.parts import Part, far_bounds, moment_errors, points, rough_mean
from adyton.statistics.quantile_posterior import around, parts_around
from adyton.statistics.quantiles import (
    SIXTEENTHS,
    competing,
    even_places,
    most_empty,
    places,
    places_in_all,
    rank_errors,
)
from adyton.tasks.numbers import quantile_name
from adyton.tasks.request import AUTO
from adyton.whole import IntegerArray

MOST_CELLS = 1 << 22
"""Quantiles are chosen among at most this many cells."""
MOST_TREE = 1 << 18
"""Trees are measured on at most this many cells: some seconds."""
FEWEST_TREE = 32
"""With fewer cells, no bound is far from all rows."""
MOST_CHOICES = 1 << 17
"""The largest number of quantiles that are chosen, over all groups: each takes a third of a millisecond."""
Step = Callable[[], Part]
"""A measurement that has been checked: calling it returns its answer."""
Measuring = Callable[[], Iterator[Part]]
"""Measurements that have been checked: calling it makes them one after the other, each when it is asked for."""


class Outcome(NamedTuple):
    """The result of a run."""

    parts: tuple[Part, ...]
    ended: BaseException | None = None
    """The exception that ended the program early, if any."""


class NumbersProgram(Algorithm[TableSource, GroupedNumbers]):
    """A way to measure numbers: its errors before anything is spent, and its measurements."""

    words: ClassVar[str]
    """What the program does, as a clause such as "counts every value"."""

    @abstractmethod
    def errors(self, numbers: GroupedNumbers, epsilon: Fraction) -> dict[str, float]:
        """The standard error of each statistic that it measures, with *epsilon* for a row."""

    @abstractmethod
    def measuring(self, source: TableSource, numbers: GroupedNumbers, epsilon: Fraction) -> Measuring:
        """The measurements; refused now if one of them could not be carried out."""

    def serves(self, numbers: GroupedNumbers) -> bool:
        """Whether it measures all requested statistics."""
        return set(self.errors(numbers, Fraction(1))) >= set(numbers.task.statistics)

    def check_asked(self, source: TableSource, numbers: GroupedNumbers) -> None:
        """Refuse statistics that it does not measure."""
        self.check(numbers)

    def check(self, numbers: GroupedNumbers) -> None:
        """Refuse statistics that it does not measure, and name programs that do."""
        if not self.serves(numbers):
            serving = [name for name in PROGRAMS if PROGRAMS.named(name).serves(numbers)] or ["another task"]
            raise BadInput(f"{self.name} does not measure the {numbers.task}. Name {' or '.join(serving)}, or auto.")

    def check_run(self, source: TableSource, numbers: GroupedNumbers, epsilon: Fraction) -> Callable[[], Outcome]:
        """Check all measurements before the first is made."""
        return partial(_carried_out, self.measuring(source, numbers, epsilon))


def _carried_out(measuring: Measuring) -> Outcome:
    """The answers, and the exception that ended the program early, if any."""
    parts: list[Part] = []
    try:
        for part in measuring():
            parts.append(part)
    except (Ended, Exception) as end:
        if not parts:
            raise
        return Outcome(tuple(parts), end.cause if isinstance(end, Ended) else end)
    return Outcome(tuple(parts))


def _in_turn(*steps: Step) -> Measuring:
    """Measurements that do not depend on one another."""
    return lambda: (step() for step in steps)


class Sums(NumbersProgram):
    """Sums only."""

    name, words = "sums", "adds up the values of each group and adds noise for the largest value"

    def errors(self, numbers: GroupedNumbers, epsilon: Fraction) -> dict[str, float]:
        """The standard error √2 · the largest value / ε."""
        return {"sum": math.sqrt(2) * numbers.grid.reach * float(numbers.grid.step) / float(epsilon)}

    def measuring(self, source: TableSource, numbers: GroupedNumbers, epsilon: Fraction) -> Measuring:
        """One measurement: a vector of sums."""
        return _in_turn(measured("sums", source, source.sums(numbers.task.attribute, numbers.task.by), 1, epsilon))


ROUGH = Fraction(1, 25)
"""The part of the budget for a rough number of rows and their mean, where there is one group: they say whether a tree
of counts is better."""


class Shares(NumbersProgram):
    """Count, mean and variance from one measurement, or from a tree where the upper bound is far from most rows."""

    name = "shares"
    words = (
        "shares out each row between the bounds, so that count, mean and variance come from one measurement; of all "
        "rows, where these lie far below the upper bound, it measures a tree of counts instead"
    )

    def errors(self, numbers: GroupedNumbers, epsilon: Fraction) -> dict[str, float]:
        """The errors with 2 points, or with 3 where squares are needed."""
        return self.errors_with(numbers, epsilon * (1 - ROUGH) if _trees_serve(numbers) else epsilon)

    def errors_with(self, numbers: GroupedNumbers, epsilon: Fraction) -> dict[str, float]:
        """The same, with *epsilon* for the shares alone."""
        places, squares = points(numbers)
        return moment_errors(numbers, places, squares, float(epsilon))

    def measuring(self, source: TableSource, numbers: GroupedNumbers, epsilon: Fraction) -> Measuring:
        """One measurement: a vector of shares. Before it, a rough one, where a tree can be better."""
        degree = len(points(numbers)[0]) - 1
        if not _trees_serve(numbers):
            return _in_turn(shared(source, numbers, epsilon, degree))
        rough, rest = shared(source, numbers, epsilon * ROUGH, 1, "rough"), epsilon * (1 - ROUGH)
        shares, tree = shared(source, numbers, rest, degree), _tree(source, numbers, rest)

        def run() -> Iterator[Part]:
            known = rough()
            yield known
            yield tree() if far_bounds(numbers, known, float(rest)) else shares()

        return run


def shared(source: TableSource, numbers: GroupedNumbers, epsilon: Fraction, degree: int, kind: str = "shares") -> Step:
    """Every row, shared out among degree + 1 points."""
    shares = source.shares(numbers.task.attribute, numbers.task.by, degree=degree)
    return measured(kind, source, shares, degree + 1, epsilon)


class Choice(NumbersProgram):
    """Quantiles, chosen together.

    A first look chooses sixteenths of all rows, whatever their group: it is cheap, because there are many rows. They
    say where rows are likely to be, which helps small groups. After the choice, the rows of each group are counted in a
    few parts around its quantiles: this says how far a quantile can be off. One quantile of all rows is chosen among
    cells as they are: there the look only serves the bounds, and both get less.

    Beyond a quantile near an end of the rows, all cells may be empty: then few rows compete with many cells. For
    quantiles of all rows, a noisy number of rows and a noisy mean say whether they do, and a tree of counts is measured
    instead (see :func:`competing`).
    """

    name = "choice"
    words = (
        "chooses the cells of all quantiles by permute-and-flip, one level after the other, and counts rows around "
        "them; of all rows, where few rows lie beyond a quantile, it measures a tree of counts instead"
    )

    @staticmethod
    def split(numbers: GroupedNumbers, epsilon: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """The budgets of the look, the choice and the counts, of what is left for them."""
        look, around = (Fraction(1, 50), Fraction(3, 100)) if _alone(numbers) else (Fraction(1, 25), Fraction(2, 25))
        return epsilon * look, epsilon * (1 - look - around), epsilon * around

    def errors(self, numbers: GroupedNumbers, epsilon: Fraction) -> dict[str, float]:
        """The number of rows between a quantile and the chosen value."""
        return self.errors_with(numbers, epsilon * (1 - ROUGH) if numbers.groups == 1 else epsilon)

    def errors_with(self, numbers: GroupedNumbers, epsilon: Fraction) -> dict[str, float]:
        """The same, with *epsilon* for the look, the choice and the counts, or for the tree."""
        parts, rows, cells = numbers.task.quantiles, numbers.task.rows, numbers.cells
        if not parts or cells > MOST_CELLS or numbers.groups * len(parts) > MOST_CHOICES:
            return {}
        budget, names = float(self.split(numbers, epsilon)[1]), list(map(quantile_name, parts))
        if _tree_for_all(numbers, epsilon, budget):
            return dict.fromkeys(names, _tree_error(numbers, epsilon))
        errors = rank_errors(parts, budget, rows, cells)
        if _trees_serve(numbers) and rows is not None and competing(parts, budget, rows, cells):
            # as many empty cells as there can be for a choice, or else the tree
            tree, errors = _tree_error(numbers, epsilon), rank_errors(parts, budget, rows, cells, most_empty)
            errors = [max(error, tree) for error in errors]
        return dict(zip(names, errors, strict=True))

    def measuring(self, source: TableSource, numbers: GroupedNumbers, epsilon: Fraction) -> Measuring:
        """The look, the choice, the counts. Their sizes do not depend on earlier answers."""
        if numbers.groups > 1:
            return self._choosing(source, numbers, epsilon)
        rough = shared(source, numbers, epsilon * ROUGH, 1, "rough")
        rest = self.knowing(source, numbers, epsilon * (1 - ROUGH))

        def run() -> Iterator[Part]:
            known = rough()
            yield known
            yield from rest(known)

        return run

    def knowing(
        self, source: TableSource, numbers: GroupedNumbers, epsilon: Fraction
    ) -> Callable[[Part], Iterator[Part]]:
        """The measurements about quantiles of all rows, given rough shares of rows."""
        choosing = self._choosing(source, numbers, epsilon)
        if not _trees_serve(numbers):
            return lambda rough: choosing()
        tree, budget = _tree(source, numbers, epsilon), float(self.split(numbers, epsilon)[1])
        every = _tree_for_all(numbers, epsilon, budget)

        def run(rough: Part) -> Iterator[Part]:
            total, mean = rough_mean(numbers, rough)
            rows = total if numbers.task.rows is None else float(numbers.task.rows)
            cell = int(np.searchsorted(numbers.edges, mean, side="right")) - 1
            before, after = max(cell, 1), max(numbers.cells - 1 - cell, 1)
            if every or competing(numbers.task.quantiles, budget, rows, before, after):
                yield tree()
            else:
                yield from choosing()

        return run

    def _choosing(self, source: TableSource, numbers: GroupedNumbers, epsilon: Fraction) -> Measuring:
        """The look, the choice, the counts. Their sizes do not depend on earlier answers."""
        x, cells = cells_of(source, numbers), numbers.cells
        of_look, of_choice, of_counts = self.split(numbers, epsilon)
        every = np.full(numbers.attribute.size, -1)
        every[:cells] = np.arange(cells)
        together = x.reduce(Partition(np.tile(every, numbers.groups)))
        first = NestedQuantiles(cells, cells, SIXTEENTHS, even_places(cells, max(cells, 1 << 12)))
        check_request(first, together.facts.shape, of_look)
        parts = numbers.task.quantiles
        total = cells if _alone(numbers) else places_in_all(numbers, len(parts).bit_length())

        def choice(places: IntegerArray) -> NestedQuantiles:
            return NestedQuantiles(numbers.attribute.size, cells, parts, places)

        check_request(choice(even_places(cells, total)), x.facts.shape, of_choice)
        known: dict[str, IntegerArray] = {}

        def look() -> Part:
            known["look"] = np.array(together.select(first, of_look), dtype=np.int64)
            return Part("look", known["look"][None, :], of_look)

        def choose() -> Part:
            chosen = x.select(choice(places(numbers, known["look"], total)), of_choice)
            known["chosen"] = np.array(chosen, dtype=np.int64).reshape(numbers.groups, -1)
            return Part("quantiles", known["chosen"], of_choice)

        def counts(sixteenths: IntegerArray, chosen: IntegerArray) -> Step:
            inside, width = np.diff(around(numbers, sixteenths, chosen), axis=1), parts_around(numbers)
            line = np.repeat(np.tile(np.arange(width), numbers.groups), inside.reshape(-1))
            shared = x.reduce(lines_of(numbers, width, line.reshape(numbers.groups, cells)))
            return measured("around", source, shared, width, of_counts)

        # checked now, with the same number of parts
        counts(np.zeros(len(SIXTEENTHS), dtype=np.int64), np.zeros((numbers.groups, len(parts)), dtype=np.int64))

        def count() -> Part:
            return counts(known["look"], known["chosen"])()

        return _in_turn(look, choose, count)


def _trees_serve(numbers: GroupedNumbers) -> bool:
    """Whether a tree can be better than anything else."""
    return numbers.groups == 1 and FEWEST_TREE <= numbers.cells <= MOST_TREE


def _tree_error(numbers: GroupedNumbers, epsilon: Fraction) -> float:
    """An upper mark of the standard error of a count up to a value, from a tree that is measured in stages."""
    return plan_named("optimal-hierarchy").expected_error(Prefix(numbers.cells), epsilon).per_query


def _tree_for_all(numbers: GroupedNumbers, epsilon: Fraction, budget: float) -> bool:
    """Whether a tree with *epsilon* has a smaller error than choices of so many quantiles with *budget*."""
    if not _trees_serve(numbers):
        return False
    errors = rank_errors(numbers.task.quantiles, budget, numbers.task.rows, numbers.cells, lambda distance: 0.0)
    return _tree_error(numbers, epsilon) < math.exp(float(np.mean(np.log(np.maximum(errors, 1e-300)))))


def _tree(source: TableSource, numbers: GroupedNumbers, epsilon: Fraction) -> Step:
    """A tree of counts of all cells, measured in stages."""
    plan, workload = plan_named("staged-hierarchy"), Prefix(numbers.cells)
    (line,) = cells_of(source, numbers).split(lines_of(numbers, 1, np.zeros(numbers.cells, dtype=int)))
    plan.admit(line, workload, epsilon)

    def run() -> Part:
        blocks = plan.carry_out(line, workload, epsilon).measured
        return Part("tree", np.asarray(blocks, dtype=float)[None, :], epsilon)

    return run


def _alone(numbers: GroupedNumbers) -> bool:
    """Whether a single quantile of all rows is requested."""
    return numbers.groups == len(numbers.task.quantiles) == 1


class Curve(NumbersProgram):
    """Counts of all cells by a plan whose error is known."""

    name = "cdf"
    words = "measures a tree of counts along the attribute, from which all quantiles follow"
    plan = "hb"
    most_groups: ClassVar[int] = MOST_STRIPES
    """The plan runs once for each group."""

    def errors(self, numbers: GroupedNumbers, epsilon: Fraction) -> dict[str, float]:
        """The standard error of a count up to a value."""
        if numbers.cells > MOST_CELLS or not numbers.task.quantiles or numbers.groups > self.most_groups:
            return {}
        off = self._off(numbers, epsilon)
        return dict.fromkeys(map(quantile_name, numbers.task.quantiles), off)

    def _off(self, numbers: GroupedNumbers, epsilon: Fraction) -> float:
        """The standard error, the same in each group: a row is in one group only."""
        return plan_named(self.plan).expected_error(Prefix(numbers.cells), epsilon).per_query

    def measuring(self, source: TableSource, numbers: GroupedNumbers, epsilon: Fraction) -> Measuring:
        """One run of the plan, for every group."""
        x, plan = cells_of(source, numbers), plan_named(self.plan)
        cells = numbers.cells
        lines, workload = x.split(lines_of(numbers, 1, np.zeros(cells, dtype=int))), Prefix(cells)
        for line in lines:
            plan.admit(line, workload, epsilon)
        off = self._off(numbers, epsilon)

        def run() -> Part:
            counts = [plan.carry_out(line, workload, epsilon).estimate for line in lines]
            return Part("curve", np.array(counts, dtype=float).reshape(numbers.groups, cells), epsilon, off)

        return _in_turn(run)


class Cells(Curve):
    """A plain histogram."""

    name = "histogram"
    words = "counts every value, from which all else follows"
    plan = "identity"
    most_groups: ClassVar[int] = LARGEST_DOMAIN

    def errors(self, numbers: GroupedNumbers, epsilon: Fraction) -> dict[str, float]:
        """The errors of quantiles, and of moments where every cell is a single number."""
        errors = super().errors(numbers, epsilon)
        if numbers.single and numbers.cells <= MOST_CELLS:
            places = (numbers.middles - numbers.grid.lower) / numbers.grid.width
            errors |= moment_errors(numbers, places, places**2, float(epsilon))
            errors["sum"] = float(np.sqrt(2 * (numbers.middles**2).sum())) / float(epsilon)
        return errors

    def measuring(self, source: TableSource, numbers: GroupedNumbers, epsilon: Fraction) -> Measuring:
        """One measurement: a vector of all cells."""
        x = cells_of(source, numbers)
        off = self._off(numbers, epsilon)
        step = measured("cells", source, x, numbers.attribute.size, epsilon)

        def run() -> Part:
            return Part("cells", step().numbers[:, : numbers.cells], epsilon, off)

        return _in_turn(run)


class SharesAndChoice(NumbersProgram):
    """Moments by shares, and quantiles by choice."""

    name = "shares-and-choice"
    words = "shares out rows for count, mean and deviation, and chooses the cells of the quantiles"
    shares: ClassVar[Fraction] = Fraction(2, 5)

    def errors(self, numbers: GroupedNumbers, epsilon: Fraction) -> dict[str, float]:
        """The errors of both, with their parts of the budget."""
        if len(numbers.task.quantiles) in (0, len(numbers.task.statistics)):  # one of the two has nothing to do
            return {}
        rest = Choice().errors_with(numbers, epsilon * (1 - self.shares))
        return Shares().errors_with(numbers, epsilon * self.shares) | rest

    def measuring(self, source: TableSource, numbers: GroupedNumbers, epsilon: Fraction) -> Measuring:
        """The measurements of both: the shares say whether a tree is measured."""
        shares = shared(source, numbers, epsilon * self.shares, len(points(numbers)[0]) - 1)
        of_rest, choice = epsilon * (1 - self.shares), Choice()
        if numbers.groups > 1:
            rest = choice.measuring(source, numbers, of_rest)
            return lambda: itertools.chain((step() for step in (shares,)), rest())
        knowing = choice.knowing(source, numbers, of_rest)

        def run() -> Iterator[Part]:
            known = shares()
            yield known
            yield from knowing(known)

        return run


def cells_of(source: TableSource, numbers: GroupedNumbers) -> VectorSource:
    """The count of every cell, groups first."""
    return source.select(list(numbers.schema.names)).vectorize()


def lines_of(numbers: GroupedNumbers, parts: int, line: IntegerArray) -> Partition:
    """The cells of numbers of every group in *parts* parts; *line* has the part of each cell, of any group or of each
    group. Cells without a number are in no part."""
    every = np.full((numbers.groups, numbers.attribute.size), -1)
    every[:, : numbers.cells] = line + np.arange(numbers.groups)[:, None] * parts
    return Partition(every.reshape(-1), numbers.groups * parts)


def measured(kind: str, source: TableSource, x: VectorSource, width: int, epsilon: Fraction) -> Step:
    """Every cell of a vector, with *epsilon* for a row of the table: checked now, measured later.

    The kernel charges the stability of the vector times the ε that it is given, so it is given correspondingly less.
    """
    operator: Mechanism = VectorLaplace(Identity(x.shape))
    own = epsilon * source.stability / x.stability
    check_request(operator, x.facts.shape, own)

    def measure() -> Part:
        noisy: Measurement = x.kernel.measure(x, operator, own)
        return Part(kind, noisy.answers.reshape(-1, width), epsilon)

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


@dataclass(frozen=True, eq=False)
class Ranking:
    """The programs that could run, with the error of each statistic, and the best of them."""

    numbers: GroupedNumbers
    errors: Mapping[str, Mapping[str, float]]
    chosen: str
    named: bool = False
    """Whether the request named it."""

    @property
    def program(self) -> NumbersProgram:
        """The program to run."""
        return PROGRAMS.named(self.chosen)

    def why(self) -> str:
        """The reason for the choice, in words."""
        if self.named:
            return "as asked"
        others = [name for name in self.errors if name != self.chosen]
        if not others:
            return "the only program for this"
        shown = ", ".join(f"{name} {self._ratio(name):.3g}" for name in others)
        return f"chosen from public information; expected error of others, relative to its own: {shown}"

    def _ratio(self, name: str) -> float:
        own = self.errors[self.chosen]
        logs = [math.log(self.errors[name][what] / own[what]) for what in self.numbers.task.statistics]
        return math.exp(sum(logs) / len(logs))


def rank(numbers: GroupedNumbers, epsilon: Fraction, algorithm: str = AUTO) -> Ranking:
    """The errors of all programs that measure the requested statistics, and the program with the least geometric mean
    of errors; or the named program."""
    check_name(algorithm)
    if algorithm != AUTO:
        if algorithm not in PROGRAMS:
            raise BadInput(no_such("algorithm for numbers", algorithm, [AUTO, *PROGRAMS]))
        program = PROGRAMS.named(algorithm)
        program.check(numbers)
        return Ranking(numbers, {algorithm: program.errors(numbers, epsilon)}, algorithm, named=True)
    programs = {name: PROGRAMS.named(name) for name in PROGRAMS}
    errors = {name: program.errors(numbers, epsilon) for name, program in programs.items() if program.serves(numbers)}
    if not errors:
        raise BadInput(
            f"{numbers.task.attribute} has {numbers.cells:,} cells; at most {MOST_CELLS:,} are allowed for quantiles. "
            "Declare a larger step or fewer bins in the schema."
        )

    def size(name: str) -> float:
        return sum(math.log(errors[name][what]) for what in numbers.task.statistics)

    return Ranking(numbers, errors, min(errors, key=size))


def in_words(numbers: GroupedNumbers, errors: Mapping[str, float], epsilon: Fraction) -> list[str]:
    """A sentence for each statistic: its typical error, for some numbers of rows where the error depends on them."""

    def near(error: float) -> str:
        return f"{float(f'{error:.3g}'):,.12g}"

    sentences, rows = [], numbers.task.rows
    ranks = [errors[name] for name in numbers.task.statistics if name.endswith("%")]
    for name in numbers.task.statistics:
        error = errors[name]
        if name in ("sum", "count"):
            sentences.append(f"the {name} is typically off by {near(error)}")
        elif name.endswith("%"):
            continue
        elif rows is not None:
            sentences.append(f"the {name} of a group of {rows:,} rows is typically off by about {near(error / rows)}")
        else:
            few = [f"{near(error / size)} for {size:,} rows" for size in (100, 1000, 10_000)]
            sentences.append(f"the {name} is typically off by about {', '.join(few)} in a group")
    if ranks:
        far = f"{min(ranks):,.3g}" if min(ranks) == max(ranks) else f"{min(ranks):,.3g} to {max(ranks):,.3g}"
        most = "at most" if rows is None else "about"
        sentences.append(
            f"a quantile is typically off by {most} {far} rows, and by fewer or none "
            "where many rows have the same value"
        )
    head, *rest = sentences
    return [f"With ε = {display(epsilon)} {head}", *rest]


def rows_needed(numbers: GroupedNumbers, errors: Mapping[str, float]) -> str:
    """The number of rows that a group needs, where there are groups: the noise does not depend on their size."""
    if not numbers.task.by:
        return ""
    if "mean" in errors and "mean" in numbers.task.statistics:
        least = math.ceil(errors["mean"] / (numbers.grid.width / 20))
        accuracy = "a mean that is off by 5% of the range"
    elif numbers.task.quantiles:
        least = math.ceil(max(errors[name] for name in numbers.task.statistics if name.endswith("%")) * 20)
        accuracy = "quantiles that are off by 5% of its rows"
    else:
        return ""
    return f"A group needs about {least:,} rows for {accuracy}; smaller ones are less accurate."
