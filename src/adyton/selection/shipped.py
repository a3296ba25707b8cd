"""The selectors that come with the package."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import as_file, files

from adyton.selection.closed_form import ClosedForm
from adyton.selection.selector import Selector

_FILES = {1: "one_dimension.json", 2: "two_dimensions.json"}


@lru_cache(maxsize=4)
def shipped_selector(ndim: int) -> Selector:
    """The selector for domains of *ndim* dimensions: trained for one and two, by closed forms beyond.

    >>> shipped_selector(1).training.dimensions
    1
    """
    if ndim not in _FILES:
        return ClosedForm.of(ndim)
    with as_file(files("adyton.selection") / "trained" / _FILES[ndim]) as path:
        return Selector.load(path)
