"""Pictures of tuned parameters: regret against the number of instances, and losses beside their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adyton_lab.reproduce.configuration_tables import EPSILON, UTILITY, MeanTuned
from adyton_lab.reproduce.figures import BLUE, GREEN, SKY, VERMILLION, Styles, canvas, common_legend, plain_log, styles

_STYLES: Styles = {"0.1": (SKY, "v"), "0.3": (GREEN, "D"), "1": (BLUE, "o"), "3": (VERMILLION, "s")}
"""An ε looks the same in all pictures."""
_WIDE = 3
"""So many panels stand in a line."""


def draw_regrets(path: Path, found: Sequence[MeanTuned]) -> Path:
    """A panel for each kind of one family: a line for each ε, one without privacy, and today's level."""
    kinds = _by_kind([one for one in found if one.utility == UTILITY])
    with canvas(path, _size(len(kinds))) as figure:
        figure.suptitle(f"{found[0].family}: held-out regret by the number of instances ({UTILITY})", fontsize=12)
        for axes, (name, line) in zip(_panels(figure, len(kinds)), kinds.items(), strict=False):
            axes.set_title(name, fontsize=9)
            _draw_lines(axes, line)
            _finish(axes, line)
        common_legend(figure)
        figure.supylabel("regret in points (bars: standard errors)", fontsize=9)
    return path


def draw_bounds(path: Path, found: Sequence[MeanTuned]) -> Path:
    """A panel for each family, of its first kind: the mean and the largest loss, and the bound."""
    first = {one.family: one.kind for one in reversed(found)}
    chosen = [one for one in found if (one.utility, one.epsilon) == (UTILITY, EPSILON)]
    kinds = _by_kind([one for one in chosen if first[one.family] == one.kind], family=True)
    with canvas(path, _size(len(kinds))) as figure:
        figure.suptitle(f"Summed loss on the instances tuned on, and its bound (ε = {EPSILON}, {UTILITY})", fontsize=12)
        for axes, (name, line) in zip(_panels(figure, len(kinds)), kinds.items(), strict=False):
            axes.set_title(name, fontsize=9)
            sizes = [one.instances for one in line]
            axes.plot(sizes, [one.bound for one in line], color="black", linestyle="--", marker="_", label="bound")
            axes.plot(sizes, [one.largest_loss for one in line], color=VERMILLION, marker="^", label="largest loss")
            axes.plot(sizes, [one.loss for one in line], color=BLUE, marker="o", label="mean loss")
            axes.set_ylim(bottom=0)
            _finish(axes, line)
        common_legend(figure)
        figure.supylabel("in units of H: of one instance's say", fontsize=9)
    return path


def _draw_lines(axes: Any, found: Sequence[MeanTuned]) -> None:
    epsilons = list(dict.fromkeys(one.epsilon for one in found))
    style_of = styles(epsilons, _STYLES)
    for place, epsilon in enumerate(epsilons):
        line = [one for one in found if one.epsilon == epsilon]
        axes.errorbar(
            [one.instances * 1.03 ** (place - (len(epsilons) - 1) / 2) for one in line],
            [one.regret for one in line],
            yerr=[one.deviation for one in line],
            color=style_of[epsilon][0],
            marker=style_of[epsilon][1],
            markersize=4,
            linewidth=1.4,
            capsize=2,
            label=f"ε = {epsilon}",
        )
    line = [one for one in found if one.epsilon == epsilons[-1]]
    sizes = [one.instances for one in line]
    axes.plot(sizes, [one.without_privacy for one in line], color="black", linewidth=1, label="without privacy")
    axes.axhline(found[0].default, color="black", linestyle=":", linewidth=1, label="today's value")


def _finish(axes: Any, found: Sequence[MeanTuned]) -> None:
    axes.set_xscale("log")
    plain_log(axes.xaxis)
    axes.set_xticks(sorted({one.instances for one in found}))
    axes.set_xlabel("instances, on a log axis", fontsize=8)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.yaxis.set_tick_params(labelsize=7)


def _by_kind(found: Sequence[MeanTuned], *, family: bool = False) -> dict[str, list[MeanTuned]]:
    kinds: dict[str, list[MeanTuned]] = {}
    for one in found:
        kinds.setdefault(f"{one.family}, {one.kind}" if family else one.kind, []).append(one)
    return kinds


def _size(panels: int) -> tuple[float, float]:
    return max(6.5, 3.7 * min(panels, _WIDE)), 2.9 * -(-panels // _WIDE) + 1.1


def _panels(figure: Any, panels: int) -> list[Any]:
    grid = list(figure.subplots(-(-panels // _WIDE), min(panels, _WIDE), squeeze=False).flat)
    for axes in grid[panels:]:
        axes.set_visible(False)
    return grid
