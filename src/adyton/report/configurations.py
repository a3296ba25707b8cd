"""Configurations on a page: the guarantee against the number of instances, and the curve of public ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adyton.configuration.guarantee import FAILURE, WIDTH
from adyton.configuration.result import shown
from adyton.report.axes import Ticks
from adyton.report.charts import in_common
from adyton.report.drawing import Drawing
from adyton.report.lines import step_line
from adyton.report.palette import BLUE
from adyton.report.scales import nice_ticks
from adyton.report.view import (
    Block,
    Fact,
    Picture,
    Section,
    Table,
    View,
    Words,
    amount,
    factor,
    spent,
    view_of,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from adyton.configuration.result import Configuration

_COUNTS = (100, 1000, 10_000, 100_000)
_STEPS = 30
"""How many numbers of instances are drawn from one power of ten to the next."""


def drawings(found: Configuration) -> list[Drawing]:
    """The guarantee, and the curve where there is one."""
    return [_promised(found), *([_curve(found)] if found.curve is not None else [])]


def view(found: Configuration) -> View:
    """What the page of a configuration says."""
    promised, *curve = drawings(found)
    sections = [Section("promise", "How good it is, at the least", tuple(_guarantee(found, promised)))]
    sections += [Section("curve", "What the instances say", (Picture.of(one),)) for one in curve]
    default = () if found.default is None else (Fact("Today's value", shown(found.default), ("half of the prior",)),)
    paid = (spent(found),) if found.private else ()
    return view_of(
        found,
        heading=f"{found.family}: {shown(found.parameter)}",
        kicker=f"Private configuration on {found.receipt.dataset}",
        lead=_lead(found),
        figures=(Fact("Parameter", shown(found.parameter), (f"of {_interval(found)}",)), *default, *paid),
        short=tuple(sections),
        long=(),
        facts={
            "Instances": found.receipt.dataset,
            "Algorithm": found.family,
            "Interval": _interval(found),
            "Utility": f"{found.utility.name}, {'clip' if _regret(found) else 'bound'} {_scale(found)}",
            "Neighbours": f"{found.neighbours}, one {found.receipt.unit}",
        },
        simulated="These instances were declared public, and the noise was simulated. It protects nobody.",
        protection=(*(Words(text) for text in found.paragraphs()), *_record(found)),
        units=f"{found.receipt.unit}s",
        paid=found.private,
        contents=f"{'The budget, what' if found.private else 'What'} is promised, where it comes from",
        meaning="",
        common=in_common(None, ()),
    )


def _lead(found: Configuration) -> str:
    good = f"This is a good parameter of {found.family} for the instances it was tuned on."
    if not found.private:
        return f"{good} It was drawn as it would be for private instances, with {amount(found)}."
    return (
        f"{good} It was drawn by the rules of differential privacy: whether any one {found.receipt.unit} is among them "
        f"stays hidden, as strongly as {amount(found)} says. Neither how many there were nor anything else about them "
        "is told."
    )


def _interval(found: Configuration) -> str:
    return " × ".join(f"[{low:g}, {high:g}]" for low, high in found.intervals)


def _regret(found: Configuration) -> bool:
    return found.utility.name == "regret"


def _scale(found: Configuration) -> str:
    return f"{float(found.utility.scale):.4g}"


def _guarantee(found: Configuration, promised: Drawing) -> Sequence[Block]:
    unit, scale = found.receipt.unit, _scale(found)
    against = (
        f"any parameter whose whole neighbourhood, {WIDTH:.0%} of the interval, is at least as good on these instances."
    )
    if found.points:
        against = f"the best of the {found.points:,} points of the grid. Nothing is known of what lies between them."
    clipped = f" A loss is relative to the best value on each instance; one of more than {scale} counts as {scale}."
    said = (
        f"With probability {1 - FAILURE:.0%} the average loss is no more than this, compared with {against}"
        f"{clipped if _regret(found) else ''} The promise rests on public figures alone; put in how many {unit}s there "
        "were, if you know it."
    )
    losses = [(count, found.guarantee.average_loss(count)) for count in _COUNTS]
    lines = [
        ((f"{count:,}",), ((f"{100 * loss:.3g}%" if _regret(found) else f"{loss:.4g}", ""),)) for count, loss in losses
    ]
    table = Table((f"{unit}s",), (("lost on average, at most", ""),), lines)
    return Words(said), Picture.of(promised), table


def _record(found: Configuration) -> tuple[Block, ...]:
    if not found.private:
        return ()
    unit = found.receipt.unit
    change = "replaced by another" if found.neighbours == "replace" else "added or removed"
    said = (
        f"In the words of an auditor: the configuration satisfies pure ε-differential privacy with {amount(found)}, "
        f"where neighbouring sets differ by one {unit} that is {change}. No outcome is more than "
        f"{factor(found.epsilon)} times as likely with any one {unit} as without. The algorithm, the interval and the "
        "utility were declared beforehand and count as public."
    )
    return (Words(said),)


def _promised(found: Configuration) -> Drawing:
    """The average loss that is promised, against the number of instances, from 10 to 100,000."""
    guarantee = found.guarantee
    counts = np.unique(np.logspace(1, 5, 4 * _STEPS + 1).astype(int))
    places = np.log10(counts)
    times, unit = (100.0, "% lost, at most") if _regret(found) else (1.0, "lost, at most")
    grid = np.linspace(1, 5, 4 * _STEPS)
    values = [times * guarantee.average_loss(int(counts[np.abs(places - one).argmin()])) for one in grid]
    ticks = [(float(_STEPS * place), f"{10 ** (place + 1):,}") for place in range(5)]
    about = f"At most {values[0]:.3g} for 10, and {values[-1]:.3g} for 100,000."
    said = f"The average loss that may be, against the number of {found.receipt.unit}s."
    name = "owners" if guarantee.by_owner else "instances"
    return _line("The guarantee against the number of instances", said, about, values, ticks, unit=unit, name=name)


def _curve(found: Configuration) -> Drawing:
    """The mean utility of public instances against the parameter."""
    assert found.curve is not None
    low, high = found.interval
    values = [value for _, value in found.curve]
    best = max(found.curve, key=lambda pair: pair[1])
    ticks = [((mark - low) / (high - low) * len(values), f"{mark:g}") for mark in nice_ticks(low, high)]
    said = "The mean utility, from 0 to 1, against the parameter. Only of public instances is it ever shown."
    title, about = "The mean utility of the instances against the parameter", f"Largest near {best[0]:.4g}."
    return _line(title, said, about, values, ticks, unit="mean utility", name="parameter")


def _line(title: str, said: str, about: str, values: list[float], ticks: Ticks, *, unit: str, name: str) -> Drawing:
    """A line without bounds."""

    def drawn(width: float) -> str:
        return step_line(
            values, None, None, ticks=ticks, title=title, description=about, unit=unit, name=name, width=width
        )

    def plot(axes: Axes) -> None:
        axes.stairs(values, baseline=None, color=BLUE, linewidth=1.3)
        axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
        axes.set(xlim=(0, len(values)), ylim=(min(0.0, *values), None), xlabel=name, ylabel=unit)
        axes.set_title(title, loc="left", fontsize=9.5)
        axes.spines[["top", "right"]].set_visible(False)

    return Drawing(title, said, drawn, plot, 3.0)
