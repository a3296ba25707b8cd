"""What each way to measure pairs is expected to cost in error, by what public tables have taught.

A decision tree asks for three numbers without a unit, each as a logarithm: the signal, the noise of all pairs beside
the dependence, and the number of attributes. Its leaves keep the mean regret of every way on public tables: its error
divided by that of the best way. :mod:`adyton_lab.pair_decisions` grows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adyton.errors import BadInput

FILE = "pair_ways.json"
FORMAT, VERSION = "adyton pair ways", 1
LEAST_PART = 0.02
"""A dependence below this part of the noise counts as this: nobody could tell it from none."""
SIGNAL, NOISE, ATTRIBUTES = "log10 of the signal", "log10 of noise over dependence", "log2 of the attributes"


@dataclass(frozen=True, eq=False)
class WayCosts:
    """The tree, as it stands in the file: questions with ``at_most`` and ``above``, leaves with ``regrets``."""

    tree: Mapping[str, Any]
    provenance: Mapping[str, Any]

    def costs(self, point: Mapping[str, float]) -> dict[str, float]:
        """How many times the error of the best way each is expected to have; one of them is 1."""
        node = self.tree
        while "feature" in node:
            node = node["at_most" if point[node["feature"]] <= node["threshold"] else "above"]
        least = min(node["regrets"].values())
        return {str(name): float(regret) / least for name, regret in node["regrets"].items()}

    def to_plain(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {"format": FORMAT, "version": VERSION, "provenance": dict(self.provenance), "tree": dict(self.tree)}

    @classmethod
    def from_plain(cls, plain: Any) -> WayCosts:
        """What :meth:`to_plain` wrote."""
        match plain:
            case {"format": "adyton pair ways", "version": 1, "provenance": dict(origin), "tree": dict(tree)}:
                return cls(tree, origin)
            case _:
                raise BadInput(f"this is not a file of pair ways of version {VERSION}.")


def facts(signal: float, noise: float, dependence: float, attributes: int) -> dict[str, float]:
    """The three numbers, as logarithms.

    >>> list(facts(100.0, 0.02, 0.2, 8).values())
    [2.0, -1.0, 3.0]
    """
    beside = noise / max(dependence, LEAST_PART * noise, 1e-12)
    return {
        SIGNAL: math.log10(max(signal, 1e-12)),
        NOISE: math.log10(max(beside, 1e-12)),
        ATTRIBUTES: math.log2(attributes),
    }
