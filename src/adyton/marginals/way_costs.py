"""What each way to measure pairs is expected to cost in error, by what public tables have taught.

The logarithm of a way's error, beside that of the best way, is a quadratic function of three numbers without a unit:
the signal, the noise of all pairs beside the dependence, and the number of attributes, each as a logarithm and held
inside the range of the public tables. ``adyton.lab.pair_decisions`` makes the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput

FILE = "pair_ways.json"
FORMAT, VERSION = "adyton pair ways", 1
LEAST_PART = 0.02
"""A dependence below this part of the noise counts as this: nobody could tell it from none."""


@dataclass(frozen=True, eq=False)
class WayCosts:
    """For every way the coefficients of its cost, and the range in which they were fitted."""

    lowest: Reals
    highest: Reals
    coefficients: Mapping[str, Reals]
    provenance: Mapping[str, Any]

    def costs(self, signal: float, noise: float, dependence: float, attributes: int) -> dict[str, float]:
        """How many times the error of the best way each is expected to have; one of them is 1."""
        point = np.clip(facts(signal, noise, dependence, attributes), self.lowest, self.highest)
        terms = powers(point[None, :])[0]
        logs = {name: float(terms @ own) for name, own in self.coefficients.items()}
        least = min(logs.values())
        return {name: math.exp(one - least) for name, one in logs.items()}

    def to_plain(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "provenance": dict(self.provenance),
            "lowest": [round(one, 4) for one in self.lowest.tolist()],
            "highest": [round(one, 4) for one in self.highest.tolist()],
            "ways": {name: [round(one, 5) for one in own.tolist()] for name, own in self.coefficients.items()},
        }

    @classmethod
    def from_plain(cls, plain: Any) -> WayCosts:
        """What :meth:`to_plain` wrote."""
        match plain:
            case {"format": "adyton pair ways", "version": 1, "lowest": low, "highest": high, "ways": dict(ways)}:
                own = {str(name): np.array(one, dtype=np.float64) for name, one in ways.items()}
                return cls(np.array(low), np.array(high), own, dict(plain.get("provenance", {})))
            case _:
                raise BadInput(f"this is not a file of pair ways of version {VERSION}.")


def facts(signal: float, noise: float, dependence: float, attributes: int) -> Reals:
    """The three numbers, as logarithms.

    >>> facts(100.0, 0.02, 0.2, 8).tolist()
    [2.0, -1.0, 3.0]
    """
    beside = noise / max(dependence, LEAST_PART * noise, 1e-12)
    return np.array([math.log10(max(signal, 1e-12)), math.log10(max(beside, 1e-12)), math.log2(attributes)])


def powers(points: Reals) -> Reals:
    """All products of at most two of the numbers."""
    one = np.hstack([np.ones((len(points), 1)), points])
    first, second = np.triu_indices(one.shape[1])
    return np.asarray(one[:, first] * one[:, second])


@cache
def shipped() -> WayCosts | None:
    """The costs that come with the package; None if it has none."""
    file = resources.files("adyton.marginals").joinpath("trained", FILE)
    return WayCosts.from_plain(json.loads(file.read_text("utf-8"))) if file.is_file() else None
