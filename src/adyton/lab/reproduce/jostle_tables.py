"""Scores of private trees summed up: a table for each data set, the means over all, and what is claimed of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from adyton.lab.reproduce.claims import Claim
from adyton.lab.reproduce.jostle import FIGURE, PRESETS
from adyton.lab.reproduce.naive_bayes import Score
from adyton.lab.reproduce.naive_bayes_tables import MeanScore, means
from adyton.lab.reproduce.tables import Sheet

Cells = dict[tuple[str, str], dict[str, MeanScore]]
"""By table and ε, then by method."""


def all_sheets(scores: Iterable[Score]) -> list[Sheet]:
    """What is claimed, then accuracy by method: a column for each table and ε, and the mean of all."""
    found = means(scores)
    cells: Cells = {}
    for one in found:
        cells.setdefault((one.table, one.epsilon), {})[one.method] = one
    said = list(claims(cells))
    rows = tuple((one.paper, one.here, one.holds) for one in said)
    sheets = [Sheet("claims", "What trees should do, and what came out here", ("claim", "here", "holds"), rows, said)]
    for table in dict.fromkeys(one.table for one in found):
        part = {place: methods for place, methods in cells.items() if place[0] == table}
        sheets.append(_sheet(f"Jostle's Fig. 4.2: accuracy on {table}, in %", part, found[0].trials))
    return [*sheets, _mean_sheet(cells)]


def _sheet(title: str, cells: Cells, trials: int) -> Sheet:
    methods = list(next(iter(cells.values())))
    rows = tuple(
        (name, *(f"{100 * cell[name].mean:.1f} ± {100 * cell[name].deviation:.1f}" for cell in cells.values()))
        for name in methods
    )
    columns = ("method", *(f"ε = {epsilon}" for _, epsilon in cells))
    shown = [one for cell in cells.values() for one in cell.values()]
    return Sheet(FIGURE, title, columns, rows, shown, f"Mean ± standard error of {trials} splits.")


def _mean_sheet(cells: Cells) -> Sheet:
    rows = tuple((name, f"{value:.2f}") for name, value in overall(cells).items())
    shown = [one for cell in cells.values() for one in cell.values()]
    return Sheet(FIGURE, f"The mean over {len(cells)} tables and ε, in %", ("method", "accuracy"), rows, shown)


def overall(cells: Cells) -> dict[str, float]:
    """The mean accuracy of each method, in %."""
    methods = list(next(iter(cells.values())))
    return {name: 100 * float(np.mean([cell[name].mean for cell in cells.values()])) for name in methods}


def claims(cells: Cells) -> Iterator[Claim]:
    """What can be said about these figures."""
    total = overall(cells)
    best = max(total[name] for name in PRESETS)
    short = [_short(cell) for cell in cells.values()]
    yield _claim(
        "The chosen tree is within 2 points of the best published one in every cell.",
        f"at most {max(short):.1f} points below, in {sum(one <= 2 for one in short)} of {len(short)} cells within 2",
        max(short) <= 2,
    )
    for name, gain in (("chosen", 1.5), ("naive-bayes", 3.0)):
        yield _claim(
            f"In the mean, {name} is at least {gain:g} points above every published tree.",
            f"{total[name]:.1f} against {best:.1f}: {total[name] - best:+.1f}",
            total[name] - best >= gain,
        )


def _short(cell: dict[str, MeanScore]) -> float:
    """By how many points the chosen tree is below the best published one."""
    return 100 * (max(cell[name].mean for name in PRESETS) - cell["chosen"].mean)


def _claim(paper: str, here: str, holds: bool) -> Claim:
    return Claim(paper=paper, here=here, holds="yes" if holds else "no")
