"""Private algorithm configuration: tune a parameter of an algorithm on instances that nobody may learn about.

Names are looked up in their files when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_FILES = {
    "Auction": "independent_set",
    "Bids": "problems",
    "Candidates": "greedy_family",
    "Configuration": "result",
    "CutGraph": "problems",
    "Deliveries": "problems",
    "Family": "family",
    "GreedyFamily": "greedy_family",
    "Grid": "asked",
    "Guarantee": "result",
    "IndependentSet": "independent_set",
    "Items": "problems",
    "Knapsack": "knapsack",
    "Lattice": "adyton.kernel.instances.lattice",
    "MaxCut": "max_cut",
    "Routing": "routing",
    "SmoothCurve": "adyton.kernel.instances.lattice",
    "StepCurve": "adyton.kernel.instances.lattice",
    "WeightedGraph": "problems",
    "planned": "result",
    "read_instances": "reading",
}

__all__ = [
    "Auction",
    "Bids",
    "Candidates",
    "Configuration",
    "CutGraph",
    "Deliveries",
    "Family",
    "GreedyFamily",
    "Grid",
    "Guarantee",
    "IndependentSet",
    "Items",
    "Knapsack",
    "Lattice",
    "MaxCut",
    "Routing",
    "SmoothCurve",
    "StepCurve",
    "WeightedGraph",
    "planned",
    "read_instances",
]

if TYPE_CHECKING:
    from adyton.configuration.asked import Grid as Grid
    from adyton.configuration.family import Family as Family
    from adyton.configuration.greedy_family import Candidates as Candidates
    from adyton.configuration.greedy_family import GreedyFamily as GreedyFamily
    from adyton.configuration.independent_set import Auction as Auction
    from adyton.configuration.independent_set import IndependentSet as IndependentSet
    from adyton.configuration.knapsack import Knapsack as Knapsack
    from adyton.configuration.max_cut import MaxCut as MaxCut
    from adyton.configuration.problems import Bids as Bids
    from adyton.configuration.problems import CutGraph as CutGraph
    from adyton.configuration.problems import Deliveries as Deliveries
    from adyton.configuration.problems import Items as Items
    from adyton.configuration.problems import WeightedGraph as WeightedGraph
    from adyton.configuration.reading import read_instances as read_instances
    from adyton.configuration.result import Configuration as Configuration
    from adyton.configuration.result import Guarantee as Guarantee
    from adyton.configuration.result import planned as planned
    from adyton.configuration.routing import Routing as Routing
    from adyton.kernel.instances.lattice import Lattice as Lattice
    from adyton.kernel.instances.lattice import SmoothCurve as SmoothCurve
    from adyton.kernel.instances.lattice import StepCurve as StepCurve


def __getattr__(name: str) -> Any:
    if name in _FILES:
        file = _FILES[name]
        return getattr(import_module(file if "." in file else f"adyton.configuration.{file}"), name)
    raise AttributeError(f"module 'adyton.configuration' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
