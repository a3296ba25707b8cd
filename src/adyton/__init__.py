"""Adyton: differentially private data release.

Names are looked up in their rooms when first used, so that importing the package stays fast: ``__init__.pyi`` says
where they are.
"""

from __future__ import annotations

from typing import Any

import lazy_loader

__version__ = "0.1.0"

_of_the_product, _names, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["Delphi"]


def __getattr__(name: str) -> Any:
    if name == "Delphi":  # the one name of the laboratory
        from adyton_lab.delphi import Delphi

        return Delphi
    return _of_the_product(name)


def __dir__() -> list[str]:
    return [*_names(), "Delphi"]
