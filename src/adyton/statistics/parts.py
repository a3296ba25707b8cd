"""What was measured about numbers, part by part: noisy whole numbers and the ε that each part had; and every statistic
of every group that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.messages import shorten
from adyton.noise.simulated import discrete_laplace_radius, discrete_laplace_variance
from adyton.schema.plain_values import as_amount, as_real, as_text, of_kind, part_of
from adyton.statistics.asked import Asked, Figures, radius
from adyton.statistics.moments import NoisyMoments
from adyton.statistics.quantiles import LOOKED, borders, chosen_figures, coarse_parts, curve_figures
from adyton.whole import IntegerArray, whole_array

KINDS = ("sums", "shares", "look", "coarse", "quantiles", "cells", "curve")
_MOST_BITS = 256


@dataclass(frozen=True, eq=False)
class Part:
    """Numbers for every group, groups × width, and what one row paid for them; a look is about all groups at once."""

    kind: str
    numbers: IntegerArray
    """Whole numbers; of a curve, real ones."""
    epsilon: Fraction
    error: float = 0.0
    """Of a curve: the standard error of a count up to a value."""

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": self.kind,
            "epsilon": as_number(self.epsilon),
            "error": self.error,
            "numbers": self.numbers.tolist(),
        }

    @classmethod
    def from_plain(cls, plain: object, asked: Asked, most: Fraction) -> Part:
        """What :meth:`to_plain` wrote, checked as a stranger's."""
        kind = as_text(part_of(plain, "kind"), "kind")
        if kind not in KINDS:
            raise BadInput(f"{shorten(kind)} is nothing that is measured about numbers")
        epsilon = as_amount(part_of(plain, "epsilon"), "epsilon", most=most)
        lines = of_kind(list, part_of(plain, "numbers"), "numbers")
        width = width_of(kind, asked)
        flat: list[Any] = []
        for line in lines:
            if len(of_kind(list, line, "numbers")) not in width:
                raise BadInput(f"a group has {len(line)} numbers of the kind {kind}")
            flat += line
        if len(lines) != (1 if kind == "look" else asked.groups) or len({len(line) for line in lines}) != 1:
            raise BadInput(f"there are numbers of {len(lines)} groups, and {asked.groups} groups")
        shape = (len(lines), len(lines[0]))
        error = as_real(part_of(plain, "error"), "error")
        if kind == "curve":
            return cls(kind, np.array([as_real(one, "a number") for one in flat]).reshape(shape), epsilon, error)
        if not all(type(one) is int and one.bit_length() <= _MOST_BITS for one in flat):
            raise BadInput("there is a number that is not whole")
        numbers = whole_array(flat, shape)
        if kind in ("look", "quantiles") and not (min(flat) >= 0 and max(flat) < asked.attribute.base_size):
            raise BadInput("a chosen cell is none of the attribute")
        return cls(kind, numbers, epsilon, error)


def width_of(kind: str, asked: Asked) -> tuple[int, ...]:
    """How many numbers a group can have."""
    cells = asked.attribute.base_size
    return {
        "sums": (1,),
        "shares": (2, 3),
        "quantiles": (len(asked.task.quantiles),),
        "look": (len(LOOKED),),
        "coarse": (coarse_parts(asked),),
    }.get(kind, (cells,))


_MOMENTS = ("count", "mean", "variance", "deviation")


def reported(asked: Asked, parts: Sequence[Part], confidence: float) -> tuple[Figures, ...]:
    """The statistics of the task, in its order; what was not measured is missing."""
    known = {part.kind: part for part in parts}
    found: dict[str, Figures] = {}
    if "sums" in known:
        found["sum"] = _sums(asked, known["sums"], confidence)
    moments = _moments(asked, known)
    if moments is not None:
        for name in _MOMENTS:
            if name in asked.task.statistics:
                found[name] = getattr(moments, name)(confidence)
        if "sum" in asked.task.statistics and "sum" not in found:
            found["sum"] = _sum_of_cells(asked, known["cells"], confidence)
    found |= {one.name: one for one in _quantiles(asked, known, confidence)}
    return tuple(found.get(name, Figures.missing(name, asked.groups)) for name in asked.task.statistics)


def _sums(asked: Asked, part: Part, confidence: float) -> Figures:
    """Exact bounds: one discrete Laplace noise."""
    scale, step = max(1, asked.grid.reach) / part.epsilon, float(asked.grid.step)
    far = discrete_laplace_radius(scale, confidence) * step
    error = float(discrete_laplace_variance([scale])[0]) ** 0.5 * step
    sums = part.numbers[:, 0].astype(float) * step
    return Figures("sum", sums, sums - far, sums + far, np.full(sums.shape, error), "exact")


def _sum_of_cells(asked: Asked, part: Part, confidence: float) -> Figures:
    """Σ value·count over the cells of a histogram, each a single number."""
    values, rows = asked.middles, part.numbers.astype(float)
    scales = np.abs(values) / float(part.epsilon)
    far, error = float(radius(scales, confidence)), float(np.sqrt(2 * (scales**2).sum()))
    sums = rows @ values
    return Figures("sum", sums, sums - far, sums + far, np.full(sums.shape, error), "exact")


def _moments(asked: Asked, known: dict[str, Part]) -> NoisyMoments | None:
    grid = asked.grid
    if "shares" in known:
        part = known["shares"]
        degree = part.numbers.shape[1] - 1
        rows = _divided(part.numbers, grid.span**degree)
        places = np.arange(degree + 1) / degree
        squares = np.array([0.0, 0.0, 1.0]) if degree == 2 else places**2
        return NoisyMoments(rows, places, squares, 1 / float(part.epsilon), grid.lower, grid.width, asked.rounding)
    if "cells" not in known:
        return None
    part = known["cells"]
    places = (asked.middles - grid.lower) / grid.width
    rows = part.numbers.astype(float)
    off = asked.rounding if asked.single else float(np.diff(asked.edges).max()) / 2
    return NoisyMoments(rows, places, places**2, 1 / float(part.epsilon), grid.lower, grid.width, off)


def _divided(numbers: Reals, by: int) -> Reals:
    """Whole numbers of any length, as real ones."""
    return np.array([[int(one) / by for one in line] for line in numbers.tolist()])


def _quantiles(asked: Asked, known: dict[str, Part], confidence: float) -> list[Figures]:
    if not asked.task.quantiles:
        return []
    if "quantiles" in known:
        part, counted = known["quantiles"], None
        if "look" in known and "coarse" in known:
            coarse = known["coarse"]
            counted = (
                borders(asked, known["look"].numbers[0].astype(np.int64)),
                coarse.numbers,
                1 / float(coarse.epsilon),
            )
        return chosen_figures(asked, part.numbers, counted, float(part.epsilon), confidence)
    if "curve" in known:
        part = known["curve"]
        return curve_figures(asked, np.asarray(part.numbers, dtype=float), part.error, confidence)
    if "cells" in known:
        part = known["cells"]
        return curve_figures(asked, part.numbers.astype(float), part.error, confidence)
    return []
