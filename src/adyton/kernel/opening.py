"""What a kernel is opened with: counts, a total, and a name for the data; checked before anything is read."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import Rational, budget, display, positive
from adyton.kernel.tables.locations import address_name, is_address
from adyton.messages import shorten
from adyton.noise import SimulatedNoise
from adyton.noise.source import NoiseSource

LARGEST_TOTAL = 1000


def checked_counts(x: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Whole numbers in an array with at least one cell, or an error."""
    counts = np.asarray(x)
    if counts.dtype.kind not in "iu" or counts.ndim == 0 or counts.size == 0:
        raise BadInput(f"a vector of counts is an array of whole numbers, given {counts.dtype} {counts.shape}.")
    return counts


def checked_total(epsilon: Rational, name: str = "epsilon", *, simulated: bool = False) -> Fraction:
    """A total budget that means something, or an error."""
    total = positive(epsilon, name, computed=True) if simulated else budget(epsilon, name)
    if total > LARGEST_TOTAL:
        raise BadInput(
            f"a total of ε = {display(total)} protects nothing, allowed is at most {LARGEST_TOTAL}. "
            "Budgets that mean something are about 0.01 to 10."
        )
    return total


def not_private(noise: NoiseSource | None, seed: int | np.random.SeedSequence | None) -> NoiseSource:
    """Simulated noise: from a source of one's own, or from a seed."""
    if noise is None:
        return SimulatedNoise(seed)
    if checked_noise(noise).private:
        raise BadInput("public data are measured with simulated noise. Give SimulatedNoise or KeyedNoise.")
    return noise


def checked_noise(given: object) -> NoiseSource:
    """A source of randomness, or an error that says what one is."""
    if isinstance(given, type) or not isinstance(getattr(given, "private", None), bool):
        raise BadInput(f"noise is a source of randomness such as ad.noise.ExactNoise(), given {shorten(given)}.")
    return cast("NoiseSource", given)


def is_path(data: Any) -> bool:
    """Whether the data are a file, which has a name."""
    return isinstance(data, str | os.PathLike) or bool(_files(data))


def _files(data: Any) -> list[str]:
    """The paths in a list of files; none of anything else."""
    listed = isinstance(data, list | tuple) and all(isinstance(one, str | os.PathLike) for one in data)
    return [os.fsdecode(one) for one in data] if listed else []


def name_of(data: Any) -> str:
    """A public name for a data set: a file's own name, else the kind of table. Never anything from its rows."""
    if files := _files(data):
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        return f"{name_of(files[0])}{more}"
    if is_address(data):
        return address_name(data)
    if is_path(data):
        return os.path.basename(os.fspath(data).rstrip("/")) or "table"
    return f"{type(data).__module__.split('.')[0]} {type(data).__name__}"
