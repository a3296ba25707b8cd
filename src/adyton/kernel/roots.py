"""Kernels over something else than a table: counts that somebody has made, public counts and rows, and instances.

Below: what any kernel is opened with, checked before anything is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.counting.coded_table import CodedTable
from adyton.kernel.counting.locations import address_name, is_address
from adyton.kernel.counts import PrivateVector
from adyton.kernel.instances.curves import Curve
from adyton.kernel.instances.lattice import POINTS, Lattice
from adyton.kernel.instances.private_instances import ADD_REMOVE, PrivateInstances, spread
from adyton.kernel.instances.survey import Progress, SummedUtility, owned_by, survey
from adyton.kernel.instances.utility import Utility
from adyton.kernel.ledger import Ledger, Tally, Terms
from adyton.kernel.ledger.records import checked_total
from adyton.kernel.mechanisms import Declared, trusted_functions
from adyton.kernel.shapes import InstancesShape, SourceShape, TableShape, VectorShape
from adyton.kernel.sources import InstancesSource, TableSource, VectorSource
from adyton.messages import shorten
from adyton.noise import SimulatedNoise
from adyton.noise.source import NoiseSource
from adyton.schema import Schema
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.kernel.kernel import Kernel


class OtherRoots:
    """The ways to open a kernel that has no private table at its root."""

    _terms: Terms
    _ledger: Ledger | Tally
    _trusted: dict[str, Declared]

    if TYPE_CHECKING:  # what a kernel has

        def _open(
            self,
            total: Fraction,
            ledger: Ledger | str | os.PathLike[str] | None,
            dataset: str | None,
            otherwise: str,
            noise: NoiseSource | None,
            accept: Collection[str],
        ) -> None: ...
        def _begin(self, ledger: Ledger | Tally, noise: NoiseSource, trials: int | None = None) -> None: ...
        def _start(self, shape: SourceShape, data: Any, stability: int) -> None: ...

    @classmethod
    def on_vector(
        cls,
        x: npt.ArrayLike,
        *,
        epsilon: Rational,
        rows_per_unit: int = 1,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        unit: str | None = None,
        accept: Collection[str] = (),
        noise: NoiseSource | None = None,
        trusted: Collection[Declared] = (),
    ) -> Kernel[VectorSource]:
        """A kernel over a vector of counts that somebody has made already; its root is a vector.

        Its shape takes the place of a schema in the terms of the ledger.
        """
        counts, total = checked_counts(x), checked_total(epsilon)
        stability, functions = whole(rows_per_unit, "rows_per_unit", 1), trusted_functions(trusted)
        kernel = cls.__new__(cls)
        kernel._terms = Terms.of({"vector": counts.shape}, stability, unit)
        kernel._open(total, ledger, dataset, "vector", noise, accept)
        kernel._trusted = functions
        kernel._start(VectorShape(counts.shape), PrivateVector.of(counts), stability)
        return cast("Kernel[VectorSource]", kernel)

    @classmethod
    def on_instances(
        cls,
        instances: Sequence[Any],
        curve: Callable[[Any], Curve],
        parameters: Lattice | int,
        utility: Utility,
        *,
        epsilon: Rational,
        neighbours: str = ADD_REMOVE,
        owners: Sequence[Hashable] | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        accept: Collection[str] = (),
        noise: NoiseSource | None = None,
        progress: Progress | None = None,
    ) -> Kernel[InstancesSource]:
        """A kernel over private instances of a problem.

        *curve* says what an algorithm reaches on one instance at every parameter of a lattice, or at every point of a
        grid of so many; it is asked about every instance now, before anything can be spent. What is protected is an
        instance, or with *owners*, one for each instance, all those of an owner. The parameters, the utility and the
        relation of *neighbours* take the place of a schema in the terms of the ledger.
        """
        total, shape = checked_total(epsilon), instances_shape(parameters, neighbours)
        if dataset is None and ledger is not None and not isinstance(ledger, Ledger):
            raise BadInput("instances in memory have no name of their own. Say whose ledger it is with dataset='…'.")
        owned_by(owners, len(instances))
        kernel = cls.__new__(cls)
        declared = {"parameters": (shape.points, *shape.interval), "neighbours": neighbours}
        declared |= {"utility": utility.name, "scale": str(utility.scale)}
        kernel._terms = Terms.of({"instances": declared}, 1, "instance")
        if owners is not None:  # who have one vote each
            kernel._terms = replace(kernel._terms, unit="owner", column="owner")
        kernel._open(total, ledger, dataset, "instances", noise, accept)
        try:
            sums = survey(instances, curve, parameters, utility, owners=owners, progress=progress)
        except BaseException:
            if isinstance(kernel._ledger, Ledger) and kernel._ledger is not ledger:
                kernel._ledger.close()
            raise
        kernel._trusted = {}
        kernel._start(shape, PrivateInstances(sums, parameters, neighbours), 1)
        return cast("Kernel[InstancesSource]", kernel)

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

    @classmethod
    def simulated_instances(
        cls,
        sums: SummedUtility,
        parameters: Lattice | int,
        *,
        epsilon: Rational,
        neighbours: str = ADD_REMOVE,
        seed: int | np.random.SeedSequence | None = None,
        noise: NoiseSource | None = None,
        unit: str = "instance",
    ) -> Kernel[InstancesSource]:
        """A kernel over *public* instances, whose votes :func:`adyton.kernel.instances.survey.survey` added up.

        Its noise is simulated, from *seed* or a source of your own that is not private; so are its answers.
        """
        total, drawn = checked_total(epsilon, simulated=True), not_private(noise, seed)
        kernel = cls.__new__(cls)
        shape = instances_shape(parameters, neighbours)
        kernel._terms = Terms.of({"points": shape.points}, 1, unit)
        kernel._begin(Tally(total, "simulation"), drawn)
        kernel._start(shape, PrivateInstances(sums, parameters, neighbours), 1)
        return cast("Kernel[InstancesSource]", kernel)


def instances_shape(parameters: Lattice | int, neighbours: str) -> InstancesShape:
    """What is public about instances, or an error."""
    spread(neighbours)
    if isinstance(parameters, Lattice):
        return InstancesShape(POINTS, neighbours, (float(parameters.low), float(parameters.high)))
    return InstancesShape(whole(parameters, "the number of points of a grid", 1), neighbours)


@lru_cache(maxsize=256)
def _simulated_terms(shape: tuple[int, ...]) -> Terms:
    """The terms of a simulation on public counts of this shape."""
    return Terms.of({"vector": shape}, 1)


def checked_counts(x: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Whole numbers in an array with at least one cell, or an error."""
    counts = np.asarray(x)
    if counts.dtype.kind not in "iu" or counts.ndim == 0 or counts.size == 0:
        raise BadInput(f"a vector of counts is an array of whole numbers, given {counts.dtype} {counts.shape}.")
    return counts


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
    listed = isinstance(data, list | tuple) and all(isinstance(path, str | os.PathLike) for path in data)
    return [os.fsdecode(path) for path in data] if listed else []


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
