"""Private algorithm configuration: tune a parameter of an algorithm on instances that nobody may learn about.

Names are looked up in their files when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_FILES = {
    "Configuration": "result",
    "Family": "family",
    "Grid": "grid",
    "Guarantee": "guarantee",
    "Lattice": "adyton.kernel.instances.lattice",
    "SmoothCurve": "adyton.kernel.instances.curves",
    "StepCurve": "adyton.kernel.instances.curves",
    "planned": "guarantee",
}

__all__ = ["Configuration", "Family", "Grid", "Guarantee", "Lattice", "SmoothCurve", "StepCurve", "planned"]

if TYPE_CHECKING:
    from adyton.configuration.family import Family as Family
    from adyton.configuration.grid import Grid as Grid
    from adyton.configuration.guarantee import Guarantee as Guarantee
    from adyton.configuration.guarantee import planned as planned
    from adyton.configuration.result import Configuration as Configuration
    from adyton.kernel.instances.curves import SmoothCurve as SmoothCurve
    from adyton.kernel.instances.curves import StepCurve as StepCurve
    from adyton.kernel.instances.lattice import Lattice as Lattice


def __getattr__(name: str) -> Any:
    if name in _FILES:
        file = _FILES[name]
        return getattr(import_module(file if "." in file else f"adyton.configuration.{file}"), name)
    raise AttributeError(f"module 'adyton.configuration' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
