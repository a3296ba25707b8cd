"""What ``adyton reproduce pythia`` shows: tables, with the figures behind them, and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from adyton_lab.pages import (
    BLUE,
    GREEN,
    OTHERS,
    SKY,
    VERMILLION,
    Styles,
    canvas,
    common_legend,
    panels,
    plain_log,
    styles,
)
from adyton_lab.reproduce.pythia_regrets import (
    CHOOSERS,
    CRITERIA,
    DEFAULT,
    PUBLISHED,
    PYTHIA,
    RUN,
    MeanRegret,
    Part,
    Record,
    claims,
    gains,
    parts,
)
from adyton_lab.reproduce.sheets import Sheet, claims_sheet

WORDS = {
    "tree: group-regret": "Pythia (group regret)",
    "tree: group-regret, run": "Pythia, really run",
    "tree: best-algorithm": "tree, best algorithm (Gini)",
    "tree: least-regret": "tree, least mean regret",
    "tree: regret-variance": "tree, regret variance",
    "tree: mean-group-regret": "tree, groups by mean regret",
    "default": "Adyton's selector",
    "default, run": "Adyton's selector, really run",
    "informed": "informed decision",
    "private informed": "private informed decision",
}
EXPERIMENTS = {"paper": "the paper's algorithms", "library": "all algorithms"}
SPLITS = {"fig9": ("source", "data set"), "fig10": ("cells", "number of cells"), "fig11": ("scale", "number of rows")}
"""What Figs. 9 to 11 split the inputs by: the field of a record, and the word for it."""
FEW = 4
"""How many single algorithms Figs. 9 to 11 show in addition to the ways to choose."""


def words(method: str) -> str:
    """The name of a method for readers; algorithms keep their names."""
    return WORDS.get(method, method)


def setting(part: Part) -> str:
    """Which experiment this is, in words."""
    return f"{EXPERIMENTS.get(part.experiment, part.experiment)}, ε = {part.epsilon}"


def all_sheets(records: Sequence[Record]) -> list[Sheet]:
    """Every table: what the user gets, the paper's claims, then figure by figure."""
    settings, said = parts(records), claims(records)
    title = "What the paper says, and the results here (its algorithms, ε = 1)"
    sheets = [*gains_sheet(records), *([claims_sheet(said, title, "the paper says")] if said else [])]
    for make in (fig4, fig7):
        sheets += [sheet for part in settings for sheet in make(part)]
    return sheets + [sheet for figure in SPLITS for part in settings for sheet in fig9_to_11(part, figure)]


def fig4(part: Part) -> list[Sheet]:
    """Mean regrets by workload, with 95th percentiles: a table for each dimension, with ways to choose first."""
    sheets = []
    for dimension, groups in by_dimension(part).items():
        methods = part.compared(groups)
        means = {
            (group, name): part.means[group, name]
            for group in groups
            for name in methods
            if name in part.by_group[group]
        }
        says = {name: _paper(dimension, [means[key] for key in means if key[1] == name]) for name in methods}
        published = any(says.values())
        rows = [
            (words(name), *(_mean_and_tail(means.get((group, name))) for group in groups), *([says[name]] * published))
            for name in methods
        ]
        sheets.append(
            Sheet(
                "fig4",
                f"Fig. 4, {dimension}: mean regret (95th percentile), {setting(part)}",
                ("method", *(group.removeprefix(f"{dimension} ") for group in groups), *(["the paper"] * published)),
                tuple(rows),
                list(means.values()),
                _fewer(means.values()),
            )
        )
    return sheets


def fig7(part: Part) -> list[Sheet]:
    """The splitting criteria compared."""
    sheets = []
    for dimension, groups in by_dimension(part).items():
        methods = [name for name in CRITERIA if all(name in part.by_group[group] for group in groups)]
        if len(methods) > 1:
            means = [part.means[group, name] for name in methods for group in groups]
            rows = [(words(name), *(f"{part.mean(group, name):.3f}" for group in groups)) for name in methods]
            title = f"Fig. 7, {dimension}: mean regret by the criterion that splits the tree, {setting(part)}"
            columns = ("criterion", *(group.removeprefix(f"{dimension} ") for group in groups))
            sheets.append(Sheet("fig7", title, columns, tuple(rows), means, _fewer(means)))
    return sheets


def fig9_to_11(part: Part, figure: str) -> list[Sheet]:
    """Mean regrets of a group by data set (``fig9``), cells (``fig10``) or scale (``fig11``), for the main methods."""
    by, word = SPLITS[figure]
    sheets = []
    for group in part.groups:
        methods = part.compared([group], FEW)
        means = {(mean.value, mean.method): mean for mean in part.split(group, by, methods)}
        values = list(dict.fromkeys(value for value, _ in means))
        rows = [
            (f"{value:,}" if isinstance(value, int) else value, *(_mean(means.get((value, name))) for name in methods))
            for value in values
        ]
        title = f"Fig. {figure.removeprefix('fig')}, {group}: mean regret by {word}, {setting(part)}"
        note = "The single algorithms are those with the least mean regret."
        sheets.append(Sheet(figure, title, (word, *map(words, methods)), tuple(rows), list(means.values()), note))
    return sheets


def gains_sheet(records: Iterable[Record]) -> list[Sheet]:
    """What the user gets; no table if the records do not have both selectors."""
    gained = gains(records)
    rows = tuple(
        (gain.group, gain.epsilon, f"{gain.inputs:,}", f"{gain.ratio:.3f}", f"{gain.better:.0%}", tail)
        for gain in gained
        for tail in [f"{gain.percentile_95:.3f}"]
    )
    title = "What the user gets: the error of Adyton's selector divided by that of the paper's Pythia"
    columns = ("workload", "ε", "inputs", "geometric mean", "inputs with less error", "95th percentile")
    note = "Adyton's selector chooses among all algorithms, Pythia among the paper's, on the same inputs."
    return [Sheet("gains", title, columns, rows, gained, note)] if gained else []


def by_dimension(part: Part) -> dict[str, list[str]]:
    """The groups of each dimension, the group of all workloads first."""
    dimensions: dict[str, list[str]] = {}
    for group in part.by_group:
        dimensions.setdefault(group.split()[0], []).append(group)
    return dimensions


def rounded(regret: float) -> str:
    """A regret with two decimals; from 100 on, without decimals.

    >>> rounded(1.2749), rounded(12345.6)
    ('1.27', '12,346')
    """
    return f"{regret:.2f}" if regret < 100 else f"{regret:,.0f}"


def _mean(mean: MeanRegret | None) -> str:
    return "–" if mean is None else rounded(mean.mean)


def _mean_and_tail(mean: MeanRegret | None) -> str:
    if mean is None:
        return "–"
    return f"{rounded(mean.mean)} ({rounded(mean.percentile_95)}){'' if mean.complete else '*'}"


def _paper(dimension: str, means: Sequence[MeanRegret]) -> str:
    """What the paper says about a method, with the workloads concerned."""
    said = {
        mean.group.removeprefix(f"{dimension} "): mean.paper for mean in means if mean.paper and "–" not in mean.paper
    }
    return ", ".join(f"{group} {text}" for group, text in said.items())


def _fewer(means: Iterable[MeanRegret]) -> str:
    return "" if all(mean.complete for mean in means) else "* not run on all inputs. "


# ---- pictures -------------------------------------------------------------------------------------------------------

_STYLES: Styles = {PYTHIA: (BLUE, "o"), RUN: (SKY, "o"), DEFAULT: (VERMILLION, "s"), "private informed": (GREEN, "D")}
_GREY = "#9A9A9A"
_MOST = 9
"""How many single algorithms Fig. 4 shows for each dimension."""

_LONGEST = 20
"""Bars of Fig. 4 end here, with an arrow if the value is greater; axes of Figs. 9 to 11 end here."""


def all_figures(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw Figs. 4, 7, 9, 10 and 11 of every experiment and ε; returns the SVG files, each with a PNG file next to it.

    ``fig4.svg`` is the paper's experiment; the files of others have the experiment and ε in their names.
    """
    drawn = []
    for part in parts(records):
        same = part.experiment == "paper" and part.epsilon == "1"
        ending = "" if same else f"-{part.experiment}-epsilon-{part.epsilon}"
        for name, draw in (("fig4", draw_fig4), ("fig7", draw_fig7), *((figure, draw_fig9_to_11) for figure in SPLITS)):
            path = folder / f"{name}{ending}.svg"
            if draw(part, path):
                drawn.append(path)
    return drawn


def draw_fig4(part: Part, path: Path) -> bool:
    """Bars that start at regret 1, the informed decision: a panel for each workload, a row for each dimension."""
    rows = by_dimension(part)
    methods = {dimension: part.compared(groups, _MOST) for dimension, groups in rows.items()}
    columns = max(map(len, rows.values()), default=0)
    heights = [0.24 * len(methods[dimension]) + 0.9 for dimension in rows]
    with canvas(path, (2.3 * columns + 2.2, sum(heights) + 0.9)) as figure:
        figure.suptitle(f"Mean regret of each method by workload: {setting(part)}", fontsize=12)
        grid = figure.subplots(len(rows), columns, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})
        for line, (dimension, groups) in zip(grid, rows.items(), strict=True):
            for axes in line[len(groups) :]:
                axes.set_visible(False)
            for axes, group in zip(line, groups, strict=False):
                _regret_bars(axes, part, group, methods[dimension])
            line[0].set_yticks(range(len(methods[dimension])), [words(name) for name in methods[dimension]])
            for axes in line[1:]:
                axes.set_yticks([])
        diamond = "; diamond: the paper's figure" if any(mean.paper for mean in part.means.values()) else ""
        below = f"mean regret, log axis, 1 = informed decision (thin line: to the 95th percentile{diamond})"
        figure.supxlabel(below, fontsize=9)
    return True


def draw_fig7(part: Part, path: Path) -> bool:
    """The splitting criteria side by side; False if the records have fewer than two."""
    groups = [group for group in part.by_group if sum(name in part.by_group[group] for name in CRITERIA) > 1]
    if not groups:
        return False
    looks = ((BLUE, ""), (OTHERS[2], "//"), (GREEN, ".."), (OTHERS[1], "\\\\"), (OTHERS[3], "xx"))
    style_of = dict(zip(CRITERIA, looks, strict=True))
    with canvas(path, (max(7.0, 1.35 * len(groups) + 1.2), 4.2)) as figure:
        axes = figure.subplots()
        axes.set_title(f"Mean regret by the criterion that splits the tree: {setting(part)}", fontsize=12)
        for place, name in enumerate(CRITERIA):
            there = [(x, part.mean(group, name)) for x, group in enumerate(groups) if name in part.by_group[group]]
            at = [x + (place - 2) * 0.17 for x, _ in there]
            colour, hatch = style_of[name]
            bars = axes.bar(
                at,
                [mean - 1 for _, mean in there],
                0.16,
                bottom=1,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                label=words(name),
            )
            axes.bar_label(bars, [f"{mean:.2f}" for _, mean in there], fontsize=7, padding=2, rotation=90)
        axes.set_xticks(range(len(groups)), groups)
        axes.margins(y=0.16)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_ylabel("mean regret")
        axes.legend(ncols=2, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(0, -0.08))
    return True


def draw_fig9_to_11(part: Part, path: Path) -> bool:
    """Mean regrets by data set, cells or scale, whichever the file is named after; a panel for each workload."""
    by, word = SPLITS[path.stem.split("-")[0]]
    shown = {group: part.compared([group], FEW) for group in part.groups}
    style_of = styles(list(dict.fromkeys(name for names in shown.values() for name in names)), _STYLES)
    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    with canvas(path, (4.1 * columns + 0.3, (3.4 if by == "source" else 2.9) * lines + 1.2)) as figure:
        figure.suptitle(f"Mean regret by {word}: {setting(part)}", fontsize=12)
        for axes, (group, names) in zip(panels(figure, len(shown), columns), shown.items(), strict=True):
            _regret_lines(axes, part, group, by, {name: style_of[name] for name in names})
        common_legend(figure)
        figure.supylabel("mean regret, on a log axis", fontsize=9)
    return True


def _regret_bars(axes: Any, part: Part, group: str, methods: Sequence[str]) -> None:
    axes.set_title(group, fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(0.95, _LONGEST**1.3)
    axes.set_ylim(len(methods) - 0.4, -0.6)
    for place, name in enumerate(methods):
        regret = part.means.get((group, name))
        if regret is None:
            continue
        mean, tail = min(regret.mean, _LONGEST), min(max(regret.mean, regret.percentile_95), _LONGEST)
        axes.barh(place, mean - 1, 0.7, left=1, color=_STYLES[name][0] if name in _STYLES else _GREY)
        axes.plot([mean, tail], [place, place], color="black", linewidth=0.8)
        if regret.percentile_95 > _LONGEST:
            axes.plot(tail, place, marker=">", color="black", markersize=3)
        number = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center", "fontsize": 7}
        axes.text(0.99, place, rounded(regret.mean), **number)
        if name == PYTHIA and regret.paper and group in PUBLISHED:
            axes.plot(PUBLISHED[group], place, marker="D", color="white", markeredgecolor="black", markersize=5)
    axes.axvline(1, color="black", linewidth=0.8, linestyle=":")
    plain_log(axes.xaxis)


def _regret_lines(axes: Any, part: Part, group: str, by: str, style_of: Styles) -> None:
    axes.set_title(group, fontsize=9)
    axes.set_yscale("log")
    means = part.split(group, by, list(style_of))
    values = list(dict.fromkeys(mean.value for mean in means))
    if by == "source":
        axes.set_xticks(range(len(values)), values, rotation=40, ha="right", rotation_mode="anchor", fontsize=7)
    else:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_tick_params(labelsize=8)
    for name, (colour, marker) in style_of.items():
        points = [
            (values.index(mean.value) if by == "source" else mean.value, mean.mean)
            for mean in means
            if mean.method == name
        ]
        axes.plot(
            *zip(*points, strict=True),
            color=colour,
            marker=marker,
            markersize=5,
            linewidth=1.8 if name in CHOOSERS else 1,
            linestyle="none" if by == "source" else "-" if name in CHOOSERS else "--",
            label=words(name),
        )
    axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
    axes.grid(axis="x" if by == "source" else "y", color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.97), min(high, _LONGEST))
    plain_log(axes.yaxis)
