"""Max-cut by rounding a semidefinite relaxation: the parameter says how."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.configuration.cut_graph import CutGraph
from adyton.configuration.family import Family
from adyton.configuration.low_rank import rank_for, unit_vectors
from adyton.configuration.made_up_cuts import CUT_KINDS, cut_graph
from adyton.configuration.rounding import cut_at, cut_steps, expected_at, expected_pieces
from adyton.errors import BadInput
from adyton.kernel.instances.curves import Curve
from adyton.kernel.instances.lattice import Lattice
from adyton.messages import no_such
from adyton.whole import whole

ROUNDINGS = ("rotation", "threshold", "expected")


@dataclass(frozen=True)
class MaxCut(Family[CutGraph]):
    """Goemans and Williamson's algorithm with a parameter: vectors from a relaxation, sides from a random hyperplane.

    Every vertex has a unit vector v, and a height ⟨v, Z⟩ above a random hyperplane. At the parameter 0 the sign of its
    height is its side (Goemans and Williamson, JACM 1995). ``rounding`` says what the parameter does:

    - ``"rotation"``, γ from 0 to π/2: outward rotations (Zwick, STOC 1999) mix the height with a random number of the
      vertex's own, cos γ·⟨v, Z⟩ + sin γ·Z′. From tan γ = −⟨v, Z⟩/Z′ on, the vertex is on the other side: pieces are
      constant. Beyond 0 and π/2 it goes on as it is there.
    - ``"threshold"``, s above 0: s-linear rounding (Feige and Langberg, J. Algorithms 2006) puts a vertex whose height
      is below s to the first side with probability (1 + ⟨v, Z⟩/s)/2, decided by a coin τ in [−1, 1] that is drawn in
      advance: it flips at s = ⟨v, Z⟩/τ. Pieces are constant.
    - ``"expected"``, s above 0: the expected cut over all coins. That is **not** piecewise constant: between two
      heights it is c₀ + c₁/s + c₂/s².

    The value is the weight of the cut, for ``"expected"`` its mean over the coins; with several ``hyperplanes`` the
    mean over them. All chance is drawn from the instance's own content.

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
        """The heights ⟨v, Z⟩ above each hyperplane, and what else is drawn for each vertex: a row a hyperplane.

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
