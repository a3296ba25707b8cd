"""The report of a configuration: one HTML file that opens anywhere, with no script and nothing to fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.configuration.guarantee import FAILURE, WIDTH
from adyton.configuration.result import shown
from adyton.report.own_words import word_facts
from adyton.report.page import NARROW, WIDE
from adyton.report.paid import paid_facts
from adyton.report.scales import nice_ticks, number
from adyton.report.step_line import step_line
from adyton.report.templates import templates

if TYPE_CHECKING:
    from adyton.configuration.result import Configuration

_COUNTS = (100, 1000, 10_000, 100_000)
_STEPS = 30
"""How many numbers of instances are drawn from one power of ten to the next."""


def render(found: Configuration) -> str:
    """The whole page."""
    guarantee = found.guarantee
    regret = guarantee.utility.name == "regret"
    table = [(f"{count:,}", _loss(guarantee.average_loss(count), regret)) for count in _COUNTS]
    return (
        templates()
        .get_template("configuration.html.j2")
        .render(
            found=found,
            heading=f"{found.family}: {shown(found.parameter)}",
            parameter=shown(found.parameter),
            default=None if found.default is None else shown(found.default),
            where=" × ".join(f"[{low:g}, {high:g}]" for low, high in found.intervals),
            guarantee=guarantee,
            table=table,
            sure=f"{1 - FAILURE:.0%}",
            width=f"{WIDTH:.0%}",
            regret=regret,
            scale=f"{float(found.utility.scale):.4g}",
            paragraphs=found.explain().paragraphs,
            promised=_both(lambda width: _promised(found, width)),
            curve=None if found.curve is None else _both(lambda width: _curve(found, width)),
            number=number,
            **word_facts(None),
            **{
                key: value
                for key, value in paid_facts(found.receipt, found.epsilon, "configuration").items()
                if key != "sure"
            },
        )
    )


def _both(draw: Any) -> dict[str, Any]:
    from markupsafe import Markup

    return {"wide": Markup(draw(WIDE)), "narrow": Markup(draw(NARROW))}


def _loss(loss: float, regret: bool) -> str:
    return f"{100 * loss:.3g}%" if regret else f"{loss:.4g}"


def _promised(found: Configuration, width: float) -> str:
    """The average loss that is promised, against the number of instances, from 10 to 100,000."""
    guarantee = found.guarantee
    counts = np.unique(np.logspace(1, 5, 4 * _STEPS + 1).astype(int))
    places = np.log10(counts)
    factor, unit = (100.0, "% lost, at most") if guarantee.utility.name == "regret" else (1.0, "lost, at most")
    grid = np.linspace(1, 5, 4 * _STEPS)
    values = [factor * guarantee.average_loss(int(counts[np.abs(places - one).argmin()])) for one in grid]
    ticks = [(_STEPS * place, f"{10 ** (place + 1):,}") for place in range(5)]
    return step_line(
        values,
        None,
        None,
        ticks=ticks,
        title="The guarantee against the number of instances",
        description=f"At most {values[0]:.3g} for 10, and {values[-1]:.3g} for 100,000.",
        unit=unit,
        name="instances" if not guarantee.by_owner else "owners",
        width=width,
    )


def _curve(found: Configuration, width: float) -> str:
    """The mean utility of public instances against the parameter."""
    assert found.curve is not None
    low, high = found.interval
    values = [value for _, value in found.curve]
    best = max(found.curve, key=lambda pair: pair[1])
    ticks = [((mark - low) / (high - low) * len(values), f"{mark:g}") for mark in nice_ticks(low, high)]
    return step_line(
        values,
        None,
        None,
        ticks=ticks,
        title="The mean utility of the instances against the parameter",
        description=f"Largest near {best[0]:.4g}.",
        unit="mean utility",
        name="parameter",
        width=width,
    )
