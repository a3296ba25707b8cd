"""Adyton: differentially private data release.

A public name is imported from its module when first used, so that importing the package stays fast:
``__init__.pyi`` lists the modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import lazy_loader

__version__ = "0.1.0"

_of_the_product, _names, __all__ = lazy_loader.attach_stub(__name__, __file__)
_OF_THE_LABORATORY = {"Delphi": "adyton_lab.training.delphi", "learn_choices": "adyton_lab.training.choices"}
"""The public names for training on public data."""
__all__ += ["Delphi", "learn_choices"]


def __getattr__(name: str) -> Any:
    if name in _OF_THE_LABORATORY:
        return getattr(import_module(_OF_THE_LABORATORY[name]), name)
    return _of_the_product(name)


def __dir__() -> list[str]:
    return [*_names(), *_OF_THE_LABORATORY]
