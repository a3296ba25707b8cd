"""Pictures of naive Bayes: how frequent each class is, and how the values of each attribute are spread in it."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Reals
from adyton.learning.class_profiles import ClassProfiles, Profile
from adyton.report.bars import MOST as MOST_BARS
from adyton.report.display_axis import display_axis
from adyton.report.pairs import MOST_SQUARES
from adyton.report.shown import Panel

_LEAST = 1e-12


def class_panels(model: ClassProfiles, most: int) -> list[Panel]:
    """The classes first, then at most so many attributes, those that tell most about the class first."""
    tables = {name: shares(profile) for name, profile in zip(model.schema.names, model.profiles, strict=True)}
    ranked = sorted(tables, key=lambda name: -told(tables[name], model.prior))
    return [_classes(model), *(_spread(model, name, tables[name]) for name in ranked[:most])]


def shares(profile: Profile) -> Reals:
    """P(cell | class), one column for each class."""
    likely = np.exp(profile.logarithms())
    return np.asarray(likely / likely.sum(axis=0))


def told(table: Reals, prior: Reals) -> float:
    """How much an attribute tells about the class, by the model itself: their mutual information, in bits."""
    overall = np.maximum(table @ prior, _LEAST)[:, None]
    return float((table * np.log2(np.maximum(table, _LEAST) / overall)).sum(axis=0) @ prior)


def _classes(model: ClassProfiles) -> Panel:
    axis = display_axis(model.label, model.target.attribute, MOST_BARS)
    values = 100 * np.add.reduceat(model.prior, axis.first)
    about = "By noisy counts; a class that hardly occurs is shown with half a row."
    title = f"How frequent each {model.label} is"
    return Panel("bars", title, (axis,), axis.labels, values, None, None, unit="% of the rows", about=about)


def _spread(model: ClassProfiles, name: str, table: Reals) -> Panel:
    across = display_axis(name, model.schema.attributes[name], MOST_SQUARES)
    up = display_axis(model.label, model.target.attribute, MOST_SQUARES)
    # where there are more classes than lines, a line is the mean of those that it joins, by how frequent they are
    weights = np.maximum(np.add.reduceat(model.prior, up.first), _LEAST)
    joined = np.add.reduceat(table * model.prior, up.first, axis=1) / weights
    values = 100 * np.add.reduceat(joined, across.first, axis=0)
    tells = f"It tells {told(table, model.prior):.2f} bits about {model.label}, by the model itself."
    about = f"Each line adds up to 100%: which part of the rows of a class has which {name}. {tells}"
    title = f"{name} by {model.label}"
    return Panel("map", title, (across, up), (), values, None, None, unit="% of the class", about=about)
