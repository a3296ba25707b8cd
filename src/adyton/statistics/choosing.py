"""Which program measures numbers best: by the errors to expect, which are public, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import BadInput
from adyton.exact import display
from adyton.messages import no_such
from adyton.plans.registry import check_name
from adyton.statistics.asked import Asked
from adyton.statistics.programs import MOST_CELLS, PROGRAMS, NumbersProgram

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
            f"{asked.task.attribute} has {cells:,} cells, allowed are {MOST_CELLS:,} for quantiles. Declare a larger "
            "step or fewer bins in the schema."
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
    """How many rows a group needs: told where there are groups, as noise does not ask whether they are small."""
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
