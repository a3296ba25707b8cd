"""From vectors to sides: how a cut changes while the parameter of a rounding grows."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals
from adyton.compiling import compiled
from adyton.kernel.instances.curves import SmoothCurve, StepCurve
from adyton.kernel.instances.lattice import POINTS, Lattice, first_place


def cut_at(weights: Reals, sides: Flags, flips: Reals, parameter: float) -> float:
    """The mean weight of the cuts at one parameter.

    *sides* and *flips* have a row for each cut and a column for each vertex: vertex i is on side ``sides[·, i]`` below
    the parameter ``flips[·, i]``, and on the other one from there on.
    """
    now = (sides ^ (parameter >= flips)).astype(np.int64)
    cuts = np.empty(len(now))
    for number, one in enumerate(now):
        cuts[number] = cut_weight(weights, one)
    return float(mean_of(cuts))


def cut_steps(weights: Reals, sides: Flags, flips: Reals, lattice: Lattice) -> StepCurve:
    """:func:`cut_at` at every point of the lattice, bit for bit.

    The first place whose point is not below a flip is where the vertex has flipped: so at every point the sides are
    those of :func:`cut_at`. A cut is weighed anew after a flip by the same additions in the same order, not by what the
    flip adds: with weights that are no whole numbers, that would be another sum.
    """
    places = _places(flips, lattice)
    order = np.argsort(places, kind="stable")
    starts, values = np.empty(order.size + 1, dtype=np.int64), np.empty(order.size + 1)
    now, cuts = sides.astype(np.int64), np.empty(len(sides))
    pieces = _walk(weights, now, cuts, places, order, starts, values)
    return StepCurve(starts[:pieces], values[:pieces])


def expected_at(weights: Reals, heights: Reals, slope: float) -> float:
    """The mean of expected cuts at one s: vertex i is on the first side with probability (1 + φ(heights[·, i]))/2.

    φ(y) = y/s between −s and s, and the sign of y outside.
    """
    means = np.clip(heights / slope, -1.0, 1.0) if slope > 0 else np.sign(heights)
    total = sum(float((weights * (1.0 - one[:, None] * one)).sum()) for one in means)
    return total / (4 * len(heights))


def expected_pieces(weights: Reals, heights: Reals, lattice: Lattice) -> SmoothCurve:
    """:func:`expected_at` as c₀ + c₁/s + c₂/s² between the sorted |heights|, up to the rounding of sums."""
    places = _places(np.abs(heights), lattice)
    order = np.argsort(places, kind="stable")
    starts, coefficients = np.empty(order.size + 1, dtype=np.int64), np.empty((order.size + 1, 3))
    linear = np.zeros(heights.shape, dtype=np.int64)
    pieces = _bend(weights, heights, linear, places, order, starts, coefficients)
    return SmoothCurve(starts[:pieces], coefficients[:pieces])


def _places(parameters: Reals, lattice: Lattice) -> Places:
    """The first place from each parameter on; 2³² where there is none."""
    flat = np.ascontiguousarray(parameters).reshape(-1)
    places = np.empty(flat.size, dtype=np.int64)
    _first_places(flat, lattice.low, lattice.high, places)
    return places


@compiled
def _first_places(parameters: Reals, low: float, high: float, places: Places) -> None:
    for number in range(parameters.size):
        places[number] = first_place(parameters[number], low, high)


@compiled
def cut_weight(weights: Reals, sides: Integers) -> float:
    """What the edges between the two sides weigh, added row by row."""
    total = 0.0
    for i in range(sides.size):
        for j in range(i):
            if sides[i] != sides[j]:
                total += weights[i, j]
    return total


@compiled
def mean_of(cuts: Reals) -> float:
    """The mean, added one by one."""
    total = 0.0
    for one in cuts:
        total += one
    return total / cuts.size


@compiled
def _walk(
    weights: Reals, sides: Integers, cuts: Reals, places: Places, order: Places, starts: Places, values: Reals
) -> int:
    """Writes the pieces of :func:`cut_steps` and returns how many there are; flips the *sides* on its way."""
    number, vertices = sides.shape
    for cut in range(number):
        cuts[cut] = cut_weight(weights, sides[cut])
    starts[0] = 0
    values[0] = mean_of(cuts)
    pieces, event = 1, 0
    while event < order.size and places[order[event]] < POINTS:
        place = places[order[event]]
        while event < order.size and places[order[event]] == place:
            cut, vertex = divmod(order[event], vertices)
            sides[cut, vertex] = 1 - sides[cut, vertex]
            cuts[cut] = np.nan
            event += 1
        for cut in range(number):
            if np.isnan(cuts[cut]):
                cuts[cut] = cut_weight(weights, sides[cut])
        value = mean_of(cuts)
        if place == 0:
            values[0] = value
        elif value != values[pieces - 1]:
            starts[pieces] = place
            values[pieces] = value
            pieces += 1
    return pieces


@compiled
def _bend(
    weights: Reals,
    heights: Reals,
    linear: Integers,
    places: Places,
    order: Places,
    starts: Places,
    coefficients: Reals,
) -> int:
    """Writes the pieces of :func:`expected_pieces` and returns how many there are.

    With x_i = sign(y_i) where |y_i| is above s and y_i/s below, Σ w_ij·x_i·x_j over edges is q₀ + q₁/s + q₂/s²: by how
    many ends of the edge are already linear. The cut is (Σ w − that)/2.
    """
    number, vertices = heights.shape
    whole, constant, inverse, square = 0.0, 0.0, 0.0, 0.0
    for cut in range(number):
        for i in range(vertices):
            for j in range(i):
                whole += weights[i, j]
                constant += weights[i, j] * np.sign(heights[cut, i]) * np.sign(heights[cut, j])
    pieces, event, place = 0, 0, 0
    while True:
        while event < order.size and places[order[event]] == place:
            cut, i = divmod(order[event], vertices)
            height, sign = heights[cut, i], np.sign(heights[cut, i])
            signs, lines = 0.0, 0.0
            for j in range(vertices):
                if linear[cut, j]:
                    lines += weights[i, j] * heights[cut, j]
                else:
                    signs += weights[i, j] * np.sign(heights[cut, j])
            constant -= sign * signs
            inverse += height * signs - sign * lines
            square += height * lines
            linear[cut, i] = 1
            event += 1
        starts[pieces] = place
        coefficients[pieces, 0] = (whole - constant) / (2 * number)
        coefficients[pieces, 1] = -inverse / (2 * number)
        coefficients[pieces, 2] = -square / (2 * number)
        pieces += 1
        if event == order.size or places[order[event]] >= POINTS:
            return pieces
        place = places[order[event]]
