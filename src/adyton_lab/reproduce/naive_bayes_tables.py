"""Scores of naive Bayes summed up: a table for each figure, and what the papers say beside what came out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adyton_lab.reproduce.claims import Claim
from adyton_lab.reproduce.naive_bayes import UNPERTURBED, Score
from adyton_lab.reproduce.tables import Sheet

TITLES = {
    "fig5": "Pythia's Fig. 5, Gaussian: misclassified rows",
    "fig6": "Pythia's Fig. 6, multinomial: misclassified rows",
    "fig3": "εKTELO's Fig. 3: area under the ROC curve on credit default, median",
    "trees": "Accuracy on the tables of Jostle's evaluation",
}
MAJORITY_AREA = 0.5067
"""εKTELO's majority classifier on credit default (Section 8.1.2)."""


@dataclass(frozen=True, kw_only=True)
class MeanScore:
    """The scores of a method, averaged over trials."""

    figure: str
    table: str
    rows: int
    epsilon: str
    """Empty for what has no noise."""
    method: str
    trials: int
    mean: float
    deviation: float
    """The standard error of the mean."""
    median: float
    quartiles: tuple[float, float]


def means(scores: Iterable[Score]) -> list[MeanScore]:
    """By figure, table, rows, ε and method, in the order in which they come."""
    values: dict[tuple[str, str, int, str, str], list[float]] = defaultdict(list)
    for one in scores:
        values[one.figure, one.table, one.rows, one.epsilon, one.method].append(one.value)
    found = []
    for (figure, table, rows, epsilon, method), each in values.items():
        low, median, high = np.quantile(each, [0.25, 0.5, 0.75]).tolist()
        found.append(
            MeanScore(
                figure=figure,
                table=table,
                rows=rows,
                epsilon=epsilon,
                method=method,
                trials=len(each),
                mean=float(np.mean(each)),
                deviation=float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan"),
                median=median,
                quartiles=(low, high),
            )
        )
    return found


def all_sheets(scores: Iterable[Score]) -> list[Sheet]:
    """The papers' claims, then a table for each figure and public table."""
    found = means(scores)
    groups = dict.fromkeys((one.figure, one.table) for one in found)
    sheets = [
        _sheet(figure, [one for one in found if (one.figure, one.table) == (figure, table)]) for figure, table in groups
    ]
    said = list(claims(found))
    rows = tuple((one.paper, one.here, one.holds) for one in said)
    title = "What the papers say, and what came out here"
    return [Sheet("claims", title, ("the papers say", "here", "holds"), rows, said), *sheets]


def _sheet(figure: str, found: Sequence[MeanScore]) -> Sheet:
    """Methods by rows and ε; without noise there is no ε."""
    settings = list(dict.fromkeys((one.rows, one.epsilon) for one in found if one.epsilon))
    shown = {(one.method, one.rows, one.epsilon): one for one in found}
    methods = list(dict.fromkeys(one.method for one in found))
    rows = [
        (name, *(_shown(shown.get((name, rows, "" if name == UNPERTURBED else epsilon))) for rows, epsilon in settings))
        for name in methods
    ]
    columns = tuple(f"{rows:,} rows, ε = {epsilon}" for rows, epsilon in settings)
    note = f"Mean ± standard error of {found[0].trials} trials." if figure != "fig3" else "Median (quartiles)."
    return Sheet(figure, f"{TITLES[figure]} ({found[0].table})", ("method", *columns), tuple(rows), found, note)


def _shown(one: MeanScore | None) -> str:
    if one is None:
        return "–"
    if one.figure == "fig3":
        return f"{one.median:.3f} ({one.quartiles[0]:.3f}–{one.quartiles[1]:.3f})"
    return f"{one.mean:.3f} ± {one.deviation:.3f}"


def claims(found: Sequence[MeanScore]) -> Iterator[Claim]:
    """What can be said about these figures."""
    yield from _lowest(found)
    area = {(one.method, one.epsilon): one.median for one in found if one.figure == "fig3"}
    if area:
        yield from _areas(area)


def _lowest(found: Sequence[MeanScore]) -> Iterator[Claim]:
    by = {(one.figure, one.table, one.rows, one.epsilon, one.method): one for one in found}
    places = dict.fromkeys(key[:4] for key in by if key[0] in ("fig5", "fig6") and key[3])
    good = 0
    for place in places:
        auto, others = by[(*place, "auto")], [by[(*place, name)] for name in ("laplace", "dawa")]
        good += all(auto.mean <= other.mean + np.hypot(auto.deviation, other.deviation) for other in others)
    if places:
        yield Claim(
            paper="Pythia achieves lower error than any other differentially private strategy (Figs. 5 and 6).",
            here=f"auto is no worse than Laplace and honest DAWA, to a standard error, in {good} of {len(places)}",
            holds="yes" if good == len(places) else "in part" if good > len(places) / 2 else "no",
        )


def _areas(area: dict[tuple[str, str], float]) -> Iterator[Claim]:
    best = max(area["workload-ls", "1"], area["select-ls", "1"])
    yield Claim(
        paper="For larger ε the new plans outperform the baseline and come close to the unperturbed classifier.",
        here=f"at ε = 1: {best:.3f}; unperturbed {area[UNPERTURBED, '']:.3f}, identity {area['contingency', '1']:.3f}",
        holds="yes" if best > area["contingency", "1"] and area[UNPERTURBED, ""] - best < 0.02 else "no",
    )
    ratio = {epsilon: area["workload-ls", epsilon] - area["workload", epsilon] for epsilon in ("0.01", "0.1", "1")}
    yield Claim(
        paper="Least squares after the workload's histograms increase its performance significantly.",
        here="; ".join(f"ε = {epsilon}: {gain:+.3f}" for epsilon, gain in ratio.items()),
        holds="yes" if min(ratio.values()) > 0.01 else "no",
    )
    yield Claim(
        paper=f"At ε = 0.001 the areas come down to that of a random classifier (majority: {MAJORITY_AREA}).",
        here=", ".join(f"{name} {area[name, '0.001']:.3f}" for name in ("workload", "select-ls", "auto")),
        holds="yes" if max(area[name, "0.001"] for name in ("workload", "select-ls")) < 0.55 else "in part",
    )
