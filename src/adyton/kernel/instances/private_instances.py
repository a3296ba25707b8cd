"""What a kernel keeps of private instances: the sum of their votes, and how much one neighbour can move it."""

from __future__ import annotations

from adyton.errors import BadInput
from adyton.kernel.instances.lattice import UNIT, Lattice
from adyton.kernel.instances.survey import SummedUtility
from adyton.kernel.sealed import Sealed
from adyton.messages import no_such

ADD_REMOVE, REPLACE = "add-remove", "replace"
RELATIONS = (ADD_REMOVE, REPLACE)


class PrivateInstances(Sealed):
    """The sum of all votes. For mechanisms only."""

    __slots__ = ("parameters", "spread", "sums")

    def __init__(self, sums: SummedUtility, parameters: Lattice | int, neighbours: str) -> None:
        self.sums, self.parameters = sums, parameters
        self.spread = spread(neighbours)


def spread(neighbours: str) -> int:
    """By how much two neighbours can move the sum at one parameter against the sum at another, at most.

    A vote lies in 0 … 2²⁰. One more or less adds a number of that range to every sum, or takes it away. One that is
    replaced by another adds a number of −2²⁰ … 2²⁰.
    """
    if not isinstance(neighbours, str) or neighbours not in RELATIONS:
        raise BadInput(no_such("relation of neighbours", neighbours, RELATIONS))
    return UNIT if neighbours == ADD_REMOVE else 2 * UNIT
