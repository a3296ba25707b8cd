"""Scores of classifiers on public tables: measured, averaged over trials, and plotted against ε, a panel per table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adyton.arrays import Integers
from adyton.kernel.kernel import Kernel
from adyton.learning.model import Model
from adyton.learning.registry import Learner
from adyton_lab.corpus.labelled_tables import LabelledTable
from adyton_lab.pages import BLUE, GREEN, VERMILLION, Panel, Point, Styles, draw_lines

TREE_TABLES = ("nursery", "contraceptive", "hiv-1")
"""The tables of Jostle's evaluation."""
OURS: Styles = {
    "chosen": (VERMILLION, "s"),
    "auto": (VERMILLION, "s"),
    "naive-bayes": (BLUE, "o"),
    "recipe": (BLUE, "o"),
    "naive-bayes-tree": (GREEN, "D"),
}
"""Our own methods have the same style in all pictures."""


@dataclass(frozen=True)
class Score:
    """How a method did in one trial."""

    figure: str
    """``fig5`` and ``fig6`` (misclassified), ``fig3`` (area under the curve) or ``trees`` (accuracy)."""
    table: str
    rows: int
    """The number of rows for training and testing together."""
    epsilon: str
    method: str
    trial: int
    value: float


@dataclass(frozen=True, kw_only=True)
class MeanScore:
    """The scores of a method, averaged over trials."""

    figure: str
    table: str
    rows: int
    epsilon: str
    """Empty for methods without noise."""
    method: str
    trials: int
    mean: float
    deviation: float
    """The standard error of the mean."""
    median: float
    quartiles: tuple[float, float]


def means(scores: Iterable[Score]) -> list[MeanScore]:
    """By figure, table, rows, ε and method, in order of first occurrence."""
    values: dict[tuple[str, str, int, str, str], list[float]] = defaultdict(list)
    for score in scores:
        values[score.figure, score.table, score.rows, score.epsilon, score.method].append(score.value)
    averaged = []
    for (figure, table, rows, epsilon, method), trials in values.items():
        low, median, high = np.quantile(trials, [0.25, 0.5, 0.75]).tolist()
        averaged.append(
            MeanScore(
                figure=figure,
                table=table,
                rows=rows,
                epsilon=epsilon,
                method=method,
                trials=len(trials),
                mean=float(np.mean(trials)),
                deviation=float(np.std(trials, ddof=1) / np.sqrt(len(trials))) if len(trials) > 1 else float("nan"),
                median=median,
                quartiles=(low, high),
            )
        )
    return averaged


def learnt(table: LabelledTable, rows: Integers, learner: Learner, epsilon: str, seed: Sequence[int]) -> Model:
    """A model of some rows of a public table, learnt with simulated noise."""
    noise = np.random.SeedSequence(seed)
    kernel = Kernel.simulated_table(table.codes[rows], table.schema, epsilon=epsilon, seed=noise)
    return learner.fit(kernel.root, table.target.label, epsilon)


def score_panels(scores: Sequence[MeanScore], *, medians: bool = False) -> list[Panel]:
    """A panel for each table and number of rows; a method without ε is a horizontal level.

    The bars are standard errors of the mean. With *medians*, points are medians and bars join the quartiles.
    """
    by_title: dict[str, Panel] = {}
    for score in scores:
        title = f"{score.table}, {score.rows:,} rows"
        panel = by_title.setdefault(title, Panel(title, {}, {}))
        point = _point(score, medians)
        if score.epsilon:
            panel.lines.setdefault(score.method, []).append(point)
        else:
            panel.levels[score.method] = point.y
    return list(by_title.values())


def mean_panel(title: str, several: Sequence[Panel]) -> Panel:
    """The mean of all panels, which share methods and ε; the errors of different tables are independent."""
    lines = {
        name: [_mean_point(points) for points in zip(*(panel.lines[name] for panel in several), strict=True)]
        for name in several[0].lines
    }
    return Panel(title, lines, {})


def _point(score: MeanScore, medians: bool) -> Point:
    epsilon = float(score.epsilon or "inf")
    if medians:
        return Point(epsilon, score.median, *score.quartiles)
    return Point(epsilon, score.mean, score.mean - score.deviation, score.mean + score.deviation)


def _mean_point(points: Sequence[Point]) -> Point:
    mean = float(np.mean([point.y for point in points]))
    error = float(np.sqrt(sum((point.high - point.y) ** 2 for point in points))) / len(points)
    return Point(points[0].x, mean, mean - error, mean + error)


def draw_scores(path: Path, title: str, shown: Sequence[Panel], axis: str) -> Path:
    """Draw panels to *path* and to a PNG file next to it; *axis* says what the scores are."""
    return draw_lines(path, title, shown, across="ε, on a log axis", up=axis, fixed=OURS)
