"""A picture of the error to expect against ε, one line for each algorithm that has a closed form."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction

from adyton.errors import BadInput
from adyton.plans.base import ExpectedError
from adyton.report.palette import COLOURS
from adyton.report.pictures import check_ending, drawing, write

_DASHES = {"exact": "-", "estimate": "-", "upper mark": "--", "noise only": ":"}
_WORDS = {"upper mark": "at most about", "noise only": "noise alone"}


def draw(
    title: str, errors: Mapping[Fraction, Mapping[str, ExpectedError | None]], path: str | os.PathLike[str]
) -> None:
    """Write the picture; the ending of *path* says in which format."""
    check_ending(path)
    names = list(dict.fromkeys(name for found in errors.values() for name, one in found.items() if one is not None))
    if not names:
        raise BadInput("no algorithm here has an error in closed form: there is nothing to draw.")
    with drawing({"font.size": 9}) as new_figure:
        figure = new_figure(figsize=(7, 4.2), facecolor="white", layout="constrained")
        axes = figure.subplots()
        for place, name in enumerate(names):
            points = [(float(budget), found[name]) for budget, found in errors.items()]
            known = [(budget, one) for budget, one in points if one is not None and one.per_query > 0]
            if not known:
                continue
            kind = known[0][1].kind
            words = f"{name} ({_WORDS[kind]})" if kind in _WORDS else name
            line = [budget for budget, _ in known], [one.per_query for _, one in known]
            axes.plot(*line, _DASHES[kind], marker="o", markersize=3, color=COLOURS[place % len(COLOURS)], label=words)
        axes.set(xscale="log", yscale="log", xlabel="ε", ylabel="typical error of an answer")
        axes.set_title(title, loc="left")
        axes.grid(True, which="major", color="#DDDDDD", linewidth=0.6)
        axes.legend(frameon=False)
        write(figure, path)
