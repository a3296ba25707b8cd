"""Max-cut by rounding a semidefinite relaxation: the parameter says how."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals
from adyton.compiling import compiled
from adyton.configuration.family import Family
from adyton.configuration.made_up import CUT_KINDS, cut_graph
from adyton.configuration.problems import CutGraph
from adyton.errors import BadInput
from adyton.kernel.instances.lattice import POINTS, Curve, Lattice, SmoothCurve, StepCurve, first_place
from adyton.messages import no_such
from adyton.whole import whole

SWEEPS = 5000
"""The solver stops after at most this many sweeps."""
TOLERANCE = 1e-9
"""It stops once a whole sweep gains at most this fraction of Σ|weights|; Σ weights of a spin glass is about 0."""


ROUNDINGS = ("rotation", "threshold", "expected")


@dataclass(frozen=True)
class MaxCut(Family[CutGraph]):
    """Goemans and Williamson's algorithm with a parameter: vectors from a relaxation, sides from a random hyperplane.

    Every vertex has a unit vector v, and a height ⟨v, Z⟩ above a random hyperplane. At the parameter 0 the sign of its
    height is its side (Goemans and Williamson, JACM 1995). ``rounding`` says what the parameter does:

    - ``"rotation"``, γ from 0 to π/2: outward rotations (Zwick, STOC 1999) mix the height with a random number of the
      vertex's own, cos γ·⟨v, Z⟩ + sin γ·Z′. From tan γ = −⟨v, Z⟩/Z′ on, the vertex is on the other side: pieces are
      constant. Outside [0, π/2] the value is that at the nearer end.
    - ``"threshold"``, s above 0: s-linear rounding (Feige and Langberg, J. Algorithms 2006) puts a vertex whose height
      is below s on the first side with probability (1 + ⟨v, Z⟩/s)/2, decided by a coin τ in [−1, 1] that is drawn in
      advance: it flips at s = ⟨v, Z⟩/τ. Pieces are constant.
    - ``"expected"``, s above 0: the expected cut over all coins. That is **not** piecewise constant: between two
      heights it is c₀ + c₁/s + c₂/s².

    The value is the weight of the cut, for ``"expected"`` its mean over the coins; with several ``hyperplanes`` the
    mean over them. All random numbers are derived from the instance's own content.

    >>> square = CutGraph.of_edges(4, [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1)])
    >>> MaxCut().run(square, 0.0)
    4.0
    """

    name: ClassVar[str] = "max-cut"
    interval: ClassVar[tuple[float, float]] = (0.0, math.pi / 2)
    """All angles; or all s up to where seven in eight vertices are decided by coins."""
    default: ClassVar[float] = 0.0
    kind: ClassVar[type] = CutGraph

    rounding: Literal["rotation", "threshold", "expected"] = "rotation"
    hyperplanes: int = 1

    def __post_init__(self) -> None:
        if self.rounding not in ROUNDINGS:
            raise BadInput(no_such("rounding", self.rounding, ROUNDINGS))
        whole(self.hyperplanes, "hyperplanes", 1)

    def run(self, instance: CutGraph, parameter: float) -> float:
        """The weight of the cut at this γ or s."""
        heights, coins = self.drawn(instance)
        if self.rounding == "expected":
            return expected_at(instance.weights, heights, parameter)
        return cut_at(instance.weights, *self._flips(heights, coins), parameter)

    def curve(self, instance: CutGraph, lattice: Lattice) -> Curve:
        """The weight of the cut at every γ or s of the lattice."""
        if self.rounding != "rotation" and lattice.low < 0:
            raise BadInput(f"s of the rounding {self.rounding!r} is never negative. Give an interval from 0 on.")
        heights, coins = self.drawn(instance)
        if self.rounding == "expected":
            return expected_pieces(instance.weights, heights, lattice)
        return cut_steps(instance.weights, *self._flips(heights, coins), lattice)

    def examples(self) -> Sequence[CutGraph]:
        """Made-up graphs of every kind, and one without vertices."""
        return [*(cut_graph(kind, vertices=12) for kind in CUT_KINDS), CutGraph(np.zeros((0, 0)))]

    def drawn(self, instance: CutGraph) -> tuple[Reals, Reals]:
        """The heights ⟨v, Z⟩ above each hyperplane, and what else is drawn for each vertex: one row per hyperplane.

        That is Z′, standard normal, for outward rotations, and the coins τ for s-linear rounding.
        """
        chance, size = instance.chance(), instance.vertices
        vectors = unit_vectors(instance.weights, chance.standard_normal((size, rank_for(size))))
        normals = chance.standard_normal((self.hyperplanes, vectors.shape[1]))
        shape = (self.hyperplanes, size)
        own = chance.standard_normal(shape) if self.rounding == "rotation" else chance.uniform(-1.0, 1.0, shape)
        heights = np.empty(shape)
        for number, normal in enumerate(normals):
            heights[number] = (vectors * normal).sum(axis=1)  # not by BLAS, whose order of additions may vary
        return heights, own

    def _flips(self, heights: Reals, own: Reals) -> tuple[Flags, Reals]:
        """The side of each vertex at the parameter 0, and the parameter at which it changes; infinite if never."""
        never = np.full(heights.shape, np.inf)
        if self.rounding == "rotation":
            apart = (heights > 0) != (own > 0)
            ratio = np.divide(-heights, own, out=never, where=apart & (heights != 0) & (own != 0))
            return np.where(heights != 0, heights > 0, own > 0), np.where(ratio < np.inf, np.arctan(ratio), np.inf)
        alike = (heights > 0) == (own > 0)
        flips = np.divide(heights, own, out=never, where=alike & (heights != 0) & (own != 0))
        return np.where(heights != 0, heights > 0, own <= 0), flips


def cut_at(weights: Reals, sides: Flags, flips: Reals, parameter: float) -> float:
    """The mean weight of the cuts at one parameter.

    *sides* and *flips* have a row for each cut and a column for each vertex: vertex i is on side ``sides[·, i]`` below
    the parameter ``flips[·, i]``, and on the other one from there on.
    """
    now = (sides ^ (parameter >= flips)).astype(np.int64)
    cuts = np.empty(len(now))
    for number, row in enumerate(now):
        cuts[number] = cut_weight(weights, row)
    return float(mean_of(cuts))


def cut_steps(weights: Reals, sides: Flags, flips: Reals, lattice: Lattice) -> StepCurve:
    """:func:`cut_at` at every point of the lattice, bit for bit.

    The first place whose point is not below a flip is where the vertex has flipped: so at every point the sides are
    those of :func:`cut_at`. After a flip, a cut is weighed again by the same additions in the same order, not by adding
    the difference: with weights that are not whole numbers, that could be another sum.
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
    total = sum(float((weights * (1.0 - row[:, None] * row)).sum()) for row in means)
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
    """The weight of the edges between the two sides, added row by row."""
    total = 0.0
    for i in range(sides.size):
        for j in range(i):
            if sides[i] != sides[j]:
                total += weights[i, j]
    return total


@compiled
def mean_of(cuts: Reals) -> float:
    """The mean, summed in order."""
    total = 0.0
    for cut in cuts:
        total += cut
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


def rank_for(vertices: int) -> int:
    """A number of dimensions, above √(2n), in which a merely local maximum is a rare accident.

    Boumal, Voroninski and Bandeira, "The non-convex Burer–Monteiro approach works on smooth semidefinite programs",
    NIPS 2016.

    >>> rank_for(50)
    11
    """
    return math.isqrt(2 * vertices) + 1


def unit_vectors(weights: Reals, start: Reals) -> Reals:
    """Unit vectors v, one row per vertex, for which Σ weights[i,j]·(1 − ⟨v_i, v_j⟩)/2 over all edges is largest.

    *weights* is symmetric with a diagonal of zeros; *start* holds the vectors to begin with, of any length. Burer and
    Monteiro's factorisation, one vector at a time: v_i goes to where it is best for the others as they are, −g/‖g‖
    with g = Σ_j weights[i,j]·v_j. Every step gains, and there is nothing to tune.

    The result depends on the arguments alone: one thread, sums in a fixed order, limits in sweeps and not in seconds.

    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> vectors = unit_vectors(triangle, np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 1]]))
    >>> (vectors @ vectors.T).round(3).tolist()[0]
    [1.0, -0.5, -0.5]
    """
    largest = float(np.abs(weights).max(initial=0.0))
    scaled = np.ldexp(weights, -math.frexp(largest)[1])  # by a power of two: squares neither overflow nor vanish
    lengths = np.sqrt((start * start).sum(axis=1, keepdims=True))
    vectors: Reals = np.divide(start, lengths, out=np.full(start.shape, start.shape[1] ** -0.5), where=lengths > 0)
    _ascend(scaled, vectors, np.empty(vectors.shape[1]), SWEEPS, TOLERANCE * float(np.abs(scaled).sum()) / 2)
    return vectors


def relaxed_cut(weights: Reals, vectors: Reals) -> float:
    """What :func:`unit_vectors` maximises: at the maximum, no cut weighs more.

    >>> round(relaxed_cut(np.array([[0.0, 5], [5, 0]]), np.array([[1.0, 0], [-1, 0]])), 9)
    5.0
    """
    return float((weights * (1 - vectors @ vectors.T)).sum() / 4)


@compiled
def _ascend(weights: Reals, vectors: Reals, pull: Reals, sweeps: int, enough: float) -> int:
    """Sweeps over all vertices until a sweep gains at most *enough*; returns the number of sweeps."""
    vertices, rank = vectors.shape
    for sweep in range(sweeps):
        gained = 0.0
        for i in range(vertices):
            pull[:] = 0.0
            for j in range(vertices):
                weight = weights[i, j]
                if weight != 0.0:
                    for c in range(rank):
                        pull[c] += weight * vectors[j, c]
            square = 0.0
            along = 0.0
            for c in range(rank):
                square += pull[c] * pull[c]
                along += pull[c] * vectors[i, c]
            length = math.sqrt(square)
            if length > 0.0:
                gained += (length + along) / 2  # Σ w(1 − ⟨v_i, v_j⟩)/2 over the edges at i, after and before
                for c in range(rank):
                    vectors[i, c] = -pull[c] / length
        if not gained > enough:
            return sweep + 1
    return sweeps
