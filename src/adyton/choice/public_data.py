"""Public data to learn from: counts or rows of a table, opened by a kernel whose noise is simulated."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import Declared
from adyton.kernel.sources import Source, TableSource, VectorSource
from adyton.messages import shorten
from adyton.noise import KeyedNoise
from adyton.schema import Schema


@dataclass(frozen=True, eq=False)
class PublicData:
    """One public input to learn a choice from. Nothing that is done with it is protected.

    >>> import numpy as np
    >>> PublicData("census", np.array([[3, 0], [1, 5]])).counts.shape
    (2, 2)
    """

    source: str
    """The data set that it comes from: what is learnt is judged on data sets that were held out."""
    data: Any
    """An array of counts; with a *schema*, the rows of a table as numbers of cells, rows × attributes."""
    schema: Schema | None = None
    arguments: tuple[Any, ...] = ()
    """What the program or the options are given beside the source, for example a workload or the name of a label."""
    held: Any = None
    """Whatever the score needs beside the data, for example rows to predict."""

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source:
            raise BadInput(f"public data come from a data set with a name, given {shorten(self.source)}.")

    @property
    def counts(self) -> Any:
        """The data as an array."""
        return np.asarray(self.data)

    def opened(self, epsilon: Fraction, seed: int, *, trusted: Collection[Declared] = ()) -> Kernel[Any]:
        """A kernel with this budget and simulated noise, which depends on the place in the program and the seed."""
        noise = KeyedNoise(seed)
        if self.schema is None:
            return Kernel.simulated(self.counts, epsilon=epsilon, noise=noise, trusted=trusted)
        return Kernel.simulated_table(self.counts, self.schema, epsilon=epsilon, noise=noise)


def twin(source: Source, epsilon: Fraction, trusted: Collection[Declared] = ()) -> Kernel[Any]:
    """A simulated kernel whose root is like a source, without rows: for trying out what would be spent."""
    if isinstance(source, TableSource):
        nothing = np.zeros((0, len(source.schema.attributes)), dtype=np.int64)
        return Kernel.simulated_table(nothing, source.schema, epsilon=epsilon, seed=0)
    assert isinstance(source, VectorSource)
    return Kernel.simulated(np.zeros(source.shape, dtype=np.int64), epsilon=epsilon, seed=0, trusted=trusted)


def public_inputs(given: Any) -> list[PublicData]:
    """Several public inputs: of a mapping from the names of data sets to counts, or as they are."""
    if isinstance(given, Mapping):
        given = [PublicData(name, data) for name, data in given.items()]
    if isinstance(given, str | PublicData) or not isinstance(given, Iterable):
        raise BadInput(f"public data are a list of PublicData, or counts by name, given {shorten(given)}.")
    found = list(given)
    if not found or not all(isinstance(one, PublicData) for one in found):
        raise BadInput("public data are a list of PublicData, with at least one entry, or counts by name.")
    return found


def budgets(given: Rational | Sequence[Rational]) -> list[Fraction]:
    """One budget or several."""
    several = [given] if isinstance(given, str | int | float | Fraction) else list(given)  # type: ignore[arg-type]
    if not several:
        raise BadInput("epsilons are a list with at least one entry.")
    return [positive(one, "epsilons") for one in several]
