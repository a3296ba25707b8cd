"""Configurations on a page: the guarantee against the number of instances, and the curve of public ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adyton.configuration.result import shown
from adyton.report.charts import Panel
from adyton.report.pictures import Drawing
from adyton.report.scales import nice_ticks
from adyton.report.view import Fact, View, Words, amount, factor, spent, view_of

if TYPE_CHECKING:
    from adyton.configuration.result import Configuration

_STEPS = 120
"""At how many numbers of instances the guarantee is drawn."""


def drawings(found: Configuration) -> list[Drawing]:
    """The average loss that is promised, against the number of instances from 10 to 100,000; and the mean utility of
    public instances against the parameter."""
    times, unit = (100.0, "% lost, at most") if _regret(found) else (1.0, "lost, at most")
    counts = np.logspace(1, 5, _STEPS).astype(int).tolist()
    losses = np.array([times * found.guarantee.average_loss(count) for count in counts])
    ticks = [(_STEPS * place / 4, f"{10 ** (place + 1):,}") for place in range(5)]
    panels = [
        Panel(
            "line", "The guarantee against the number of instances", (), tuple(f"{count:,}" for count in counts),
            losses, None, None, unit=unit, along=("owners" if found.guarantee.by_owner else "instances", ticks),
            about=f"The average loss that may be, against the number of {found.receipt.unit}s.",
        )
    ]  # fmt: skip
    if found.curve is not None:
        (low, high), places = found.interval, [at for at, _ in found.curve]
        ticks = [((mark - low) / (high - low) * len(places), f"{mark:g}") for mark in nice_ticks(low, high)]
        panels.append(
            Panel(
                "line", "The mean utility of the instances against the parameter", (),
                tuple(f"{at:.4g}" for at in places), np.array([value for _, value in found.curve]), None, None,
                unit="mean utility", along=("parameter", ticks),
                about="The mean utility, from 0 to 1. Only of public instances is it ever shown.",
            )
        )  # fmt: skip
    return [Drawing.of(panel) for panel in panels]


def _regret(found: Configuration) -> bool:
    return found.utility.name == "regret"


def view(found: Configuration) -> View:
    """What the page of a configuration says."""
    interval = " × ".join(f"[{low:g}, {high:g}]" for low, high in found.intervals)
    default = () if found.default is None else (Fact("Today's value", shown(found.default), ("half of the prior",)),)
    unit, scale = found.receipt.unit, f"{float(found.utility.scale):.4g}"
    good = f"This is a good parameter of {found.family} for the instances it was tuned on."
    lead = f"{good} It was drawn as it would be for private instances, with {amount(found)}."
    record: tuple[Words, ...] = ()
    if found.private:
        lead = (
            f"{good} It was drawn by the rules of differential privacy: whether any one {unit} is among them stays "
            f"hidden, as strongly as {amount(found)} says. Neither how many there were nor anything else about them is "
            "published."
        )
        change = "replaced by another" if found.neighbours == "replace" else "added or removed"
        said = (
            f"In the words of an auditor: the configuration satisfies pure ε-differential privacy with "
            f"{amount(found)}, where neighbouring sets differ by one {unit} that is {change}. No outcome is more than "
            f"{factor(found.epsilon)} times as likely with any one {unit} as without. The algorithm, the interval and "
            "the utility were declared beforehand and count as public."
        )
        record = (Words(said),)
    return view_of(
        found,
        heading=f"{found.family}: {shown(found.parameter)}",
        lead=lead,
        figures=(Fact("Parameter", shown(found.parameter), (f"of {interval}",)), *default),
        cost=(spent(found),) if found.private else (),
        title="How good it is, at the least",
        also=[Words(text) for text in found.own_paragraphs()[1:]],
        long=(),
        facts={
            **dict.fromkeys(("Rows counted", "Task", "Protected", "Options"), ""),
            "Algorithm": found.family,
            "Interval": interval,
            "Utility": f"{found.utility.name}, {'clip' if _regret(found) else 'bound'} {scale}",
            "Neighbours": f"{found.neighbours}, one {unit}",
        },
        simulated="These instances were declared public, and the noise was simulated. It protects nobody.",
        protection=(*map(Words, found.paragraphs()), *record),
        paid=found.private,
    )
