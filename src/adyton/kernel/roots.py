"""Kernels over public data, whose noise is simulated."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.counting.public_rows import CodedTable
from adyton.kernel.counts import PrivateVector, checked_counts
from adyton.kernel.ledger import Ledger, Tally, Terms
from adyton.kernel.ledger.records import checked_total
from adyton.kernel.mechanisms import trusted_functions
from adyton.kernel.shapes import SourceShape, TableShape, VectorShape
from adyton.kernel.sources import TableSource, VectorSource
from adyton.noise import SimulatedNoise
from adyton.noise.source import NoiseSource, checked_noise
from adyton.schema import Schema
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.kernel.kernel import Kernel
    from adyton.kernel.mechanisms.published.declared_function import Declared


class SimulatedRoots:
    """The ways to open a kernel over public data."""

    _terms: Terms
    _trusted: dict[str, Declared]

    if TYPE_CHECKING:  # what a kernel has

        def _begin(self, ledger: Ledger | Tally, noise: NoiseSource, trials: int | None = None) -> None: ...
        def _start(self, shape: SourceShape, data: Any, stability: int) -> None: ...

    @classmethod
    def simulated(
        cls,
        x: npt.ArrayLike,
        *,
        epsilon: Rational,
        seed: int | np.random.SeedSequence | None = None,
        trials: int | None = None,
        noise: NoiseSource | None = None,
        trusted: Collection[Declared] = (),
    ) -> Kernel[VectorSource]:
        """A kernel over a *public* vector of counts, with fast seeded noise. Its answers are marked as not private.

        With *trials*, each measurement yields that many independent answers, along a first axis. *noise* is a source of
        your own that is not private, in place of the seed.
        """
        counts, total, drawn = checked_counts(x), checked_total(epsilon, simulated=True), not_private(noise, seed)
        kernel = cls.__new__(cls)
        kernel._terms = _simulated_terms(counts.shape)
        kernel._begin(Tally(total, "simulation"), drawn, None if trials is None else whole(trials, "trials", 1))
        kernel._trusted = trusted_functions(trusted)
        kernel._start(VectorShape(counts.shape), PrivateVector.of(counts), 1)
        return cast("Kernel[VectorSource]", kernel)

    @classmethod
    def simulated_table(
        cls,
        codes: npt.ArrayLike,
        schema: Schema,
        *,
        epsilon: Rational,
        seed: int | np.random.SeedSequence | None = None,
        noise: NoiseSource | None = None,
    ) -> Kernel[TableSource]:
        """A kernel over *public* rows, given as the number of the cell for each attribute (−1: dropped).

        Its noise is simulated, from *seed* or a source of your own that is not private; so are its answers.
        """
        table, total = CodedTable.checked(codes, schema), checked_total(epsilon, simulated=True)
        drawn = not_private(noise, seed)
        kernel = cls.__new__(cls)
        kernel._terms = _simulated_terms(schema.shape)
        kernel._begin(Tally(total, "simulation"), drawn)
        kernel._start(TableShape(schema), table, 1)
        return cast("Kernel[TableSource]", kernel)


@lru_cache(maxsize=256)
def _simulated_terms(shape: tuple[int, ...]) -> Terms:
    """The terms of a simulation on public counts of this shape."""
    return Terms.of({"vector": shape}, 1)


def not_private(noise: NoiseSource | None, seed: int | np.random.SeedSequence | None) -> NoiseSource:
    """Simulated noise: from a source of one's own, or from a seed."""
    if noise is None:
        return SimulatedNoise(seed)
    if checked_noise(noise).private:
        raise BadInput("public data are measured with simulated noise. Give SimulatedNoise or KeyedNoise.")
    return noise
