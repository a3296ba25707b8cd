"""A release of numbers explained in words, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adyton.arrays import Reals
from adyton.statistics.programs import PROGRAMS

if TYPE_CHECKING:
    from adyton.statistics.figures import Figures
    from adyton.statistics.numbers_release import NumbersRelease

_NAMED, _TOLD = 5, 8


def own_words(release: NumbersRelease) -> tuple[str, ...]:
    """Which program ran and why, how far off it is, which groups are mostly noise, and what bounds do to values."""
    way = f"Algorithm: {release.algorithm}, which {PROGRAMS[release.algorithm].words}; {release.why}."
    return way, _errors(release), *_small(release), _clamping(release)


def _errors(release: NumbersRelease) -> str:
    found = [one for one in release.figures() if one.known]
    words = [f"{one.name} ± {one.typical_error:,.3g} ({one.kind} bounds)" for one in found[:_TOLD]]
    words += [f"{len(found) - _TOLD} more"] if len(found) > _TOLD else []
    kinds = {one.kind for one in found}
    meaning = "Of 100 releases made in this way, 95 have the true number inside exact bounds."
    if "approximate" in kinds:
        meaning += " Approximate ones are meant to, but nobody guarantees it."
    if any(one.name.endswith("%") for one in found):
        meaning += " Those of quantiles held in 94 of 100 or more on public tables, by and large."
    groups = f", in the median of {release.asked.groups:,} groups" if release.task.by else ""
    return f"Expected error: {'; '.join(words)}{groups}. {meaning}"


def _small(release: NumbersRelease) -> tuple[str, ...]:
    """Groups that the budget cannot carry: told, never left out."""
    lost = noisy_groups(release)
    if not lost or not release.task.by:
        return ()
    named = ", ".join(" × ".join(map(str, release.groups[line])) for line in lost[:_NAMED])
    more = f" and {len(lost) - _NAMED:,} more" if len(lost) > _NAMED else ""
    return (
        f"Small groups: {len(lost):,} of {release.asked.groups:,} groups have too few rows for this ε: their bounds "
        f"span more than half of what is possible ({named}{more}). They are told all the same; trust the bounds.",
    )


def noisy_groups(release: NumbersRelease) -> list[int]:
    """The groups of which little more than noise is known."""
    width = release.asked.grid.width
    wide = [one for one in release.figures() if one.known and (one.name == "mean" or one.name.endswith("%"))]
    if wide:
        return [int(line) for line in np.flatnonzero(np.any([_span(one) > width / 2 for one in wide], axis=0))]
    sums = [one for one in release.figures() if one.known and one.name == "sum"]
    return [int(line) for line in np.flatnonzero(np.any([(one.lower < 0) & (one.upper > 0) for one in sums], axis=0))]


def _span(one: Figures) -> Reals:
    return np.asarray(one.upper - one.lower)


def _clamping(release: NumbersRelease) -> str:
    """What happens to values that are not between the bounds."""
    attribute, grid = release.asked.attribute, release.asked.grid
    outside = {"clamp": "moved to the nearer bound", "drop": "left out", "other": "left out"}[attribute.outside]
    return (
        f"Values: of {release.task.attribute} between {grid.lower:,.10g} and {grid.upper:,.10g}, in steps of "
        f"{float(grid.step):g}; others are {outside}, missing ones are left out."
    )
