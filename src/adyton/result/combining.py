"""Several releases of the same thing, put together: each counts by how little noise it has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adyton.arrays import Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import display
from adyton.messages import listing, shorten
from adyton.plans.base import ErrorKind, ExpectedError
from adyton.queries import Queries
from adyton.result.intervals import Kind, NoiseModel
from adyton.result.receipt import Receipt
from adyton.result.released import Released
from adyton.result.simulated_runs import SimulatedRuns
from adyton.solving.noise_moments import Moments

if TYPE_CHECKING:
    from adyton.result.release import Release
    from adyton.result.released import Released


MOST = 1000
"""How many releases can be put together."""


_APART = 1 << 20
"""How far apart the seeds of the parts are: no two of them simulate with the same noise."""


COMBINED = "combined"
"""What is said in place of an algorithm, of a release that was put together from several."""


_AnyRelease = TypeVar("_AnyRelease", bound=Released)


def combine(releases: Iterable[_AnyRelease]) -> _AnyRelease:
    """One release out of several of the same attributes of the same rows, with less noise than each of them.

    Counts of cells are averaged, each release with the weight 1/(its expected error)²; tables that were measured one by
    one go into one least squares. It costs nothing: what was paid for the parts was paid. Errors of the parts are
    independent, so that intervals are exact where those of all parts are. ``combined.epsilon`` is what all cost.

    >>> import pandas, adyton as ad
    >>> table = pandas.DataFrame({"age": [34, 51, 51, 77] * 500})
    >>> session = ad.Session(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
    >>> weeks = [session.release(ad.Histogram("age"), epsilon=one, algorithm="identity") for one in ("0.3", "0.4")]
    >>> both = ad.combine(weeks)
    >>> both.expected_error.per_query < weeks[1].expected_error.per_query, both.median().kind, both
    (True, 'exact', <release: histogram of age, by combined, ε = 0.7>)
    """
    given: list[Any] = list(releases) if isinstance(releases, list | tuple) else [releases]
    if not 2 <= len(given) <= MOST or not all(isinstance(one, Released) for one in given):
        raise BadInput(f"combine takes a list of 2 to {MOST:,} releases, given {shorten(releases)}.")
    first = given[0]
    if any(type(one).combined_with is not type(first).combined_with for one in given):
        raise BadInput("some of these releases have a count for every cell, others tables alone. Combine either kind.")
    check_same(given)
    made: _AnyRelease = first.combined_with(given[1:])
    return made


def joint_receipt(receipts: Sequence[Receipt]) -> Receipt:
    """For all of them: the budget as the last one left it; that of several budgets, if entries have the same number."""
    entries = tuple(entry for one in receipts for entry in one.entries)
    last = max(receipts, key=lambda one: (one.created, one.spent))
    if len({entry.number for entry in entries}) < len(entries):
        total, spent = (sum((getattr(one, of) for one in receipts), Fraction(0)) for of in ("total", "spent"))
    else:
        total, spent = (max(getattr(one, of) for one in receipts) for of in ("total", "spent"))
    return replace(last, total=total, spent=spent, entries=entries, private=all(one.private for one in receipts))


def check_same(releases: Sequence[Released]) -> None:
    """Refuse what is not the same thing."""
    first = releases[0]
    for one in releases[1:]:
        if one.schema != first.schema:
            both = " and ".join(listing(given.schema.names) for given in (first, one))
            how = "declared in different ways" if one.schema.names == first.schema.names else f"about {both}"
            raise BadInput(f"only releases of the same attributes are combined; these are {how}.")
        if one.where != first.where:
            raise BadInput(
                f"only releases of the same rows are combined; these have where {shorten(first.where)} and "
                f"{shorten(one.where)}."
            )
        if one.receipt.dataset != first.receipt.dataset:
            raise BadInput(
                f"only releases of the same data set are combined; these are of {shorten(first.receipt.dataset)} and "
                f"{shorten(one.receipt.dataset)}."
            )
    for place, one in enumerate(releases):
        if any(one is other or one.same_noise(other) for other in releases[:place]):
            raise BadInput(f"the same release is given twice, number {place + 1} of the list. Its noise counts once.")


def averaged(releases: Sequence[Release], weights: Sequence[float] | None = None) -> Release:
    """The average, with weights by noise if none are given. What was put together before comes apart first."""
    parts = [one for given in releases for one in given.parts or (given,)]
    own = _weights(parts) if weights is None else tuple(weights)
    estimate = sum((weight * part.estimate for weight, part in zip(own, parts, strict=True)), np.zeros(1))
    return replace(
        parts[0],
        algorithm=COMBINED,
        options={},
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        estimate=np.asarray(estimate),
        choice=None,
        receipt=joint_receipt([part.receipt for part in parts]),
        misfits=None,
        parts=tuple(parts),
        weights=own,
    )


def combined_noise(release: Release) -> CombinedNoise:
    """How the average scatters."""
    return CombinedNoise.of(_models(release.parts), release.weights, release.estimate)


def in_words(release: Release) -> str:
    """How it was put together."""
    shares = ", ".join(
        f"{part.algorithm} with ε = {display(part.epsilon)} counts {100 * weight:.3g}%"
        for part, weight in zip(release.parts, release.weights, strict=True)
    )
    return f"Put together from {len(release.parts)} releases, weighted by their noise: {shares}."


def share_noise(one: Release, other: Release) -> bool:
    """Whether the same counts, from the same entries of a ledger, are in both."""
    return any(
        left.receipt.entries == right.receipt.entries and np.array_equal(left.estimate, right.estimate)
        for left, right in itertools.product(one.parts or (one,), other.parts or (other,))
    )


def _models(parts: Sequence[Release]) -> list[NoiseModel]:
    """The noise of each part. Those that were made for the same task share one workload, so that it shows."""
    first = parts[0]
    return [replace(part.noise, workload=first.workload) if part.task == first.task else part.noise for part in parts]


def _weights(parts: Sequence[Release]) -> tuple[float, ...]:
    """In proportion to 1/E‖error‖² on the queries of the first."""
    models = _models(parts)
    asked = models[0].workload
    for part, model in zip(parts, models, strict=True):
        if part.task != parts[0].task and not model.determines(asked):
            raise BadInput(
                f"what was measured for {part.task} does not tell what {parts[0].task} asks for. Combine releases of "
                "the same task."
            )
    worth = np.array([1 / max(_square(model, asked), 1e-300) for model in models])
    return tuple((worth / worth.sum()).tolist())


def _square(model: NoiseModel, asked: Queries) -> float:
    """E‖error‖² of all answers."""
    computed = model.expected_error() if model.workload is asked else None
    return float((model.resampled_error(asked) if computed is None else computed).total ** 2)


@dataclass(frozen=True, eq=False)
class CombinedRuns(SimulatedRuns):
    """Simulated runs of all parts, added up."""

    parts: tuple[SimulatedRuns, ...] = ()
    weights: tuple[float, ...] = ()

    def errors(self, queries: Queries, number: int, *, exact: bool, least: int = 0) -> Iterator[Reals]:
        """Errors of combined answers: as many runs as the slowest part makes."""
        streams = [part.errors(queries, number, exact=exact, least=least) for part in self.parts]
        for pieces in _side_by_side(streams):
            yield sum((weight * piece for weight, piece in zip(self.weights, pieces, strict=True)), np.zeros(1))


@dataclass(frozen=True, eq=False)
class CombinedNoise(NoiseModel):
    """How a weighted average of independent estimates scatters. Cumulants of independent errors add up."""

    parts: tuple[NoiseModel, ...] = ()
    weights: tuple[float, ...] = ()

    @classmethod
    def of(cls, parts: Sequence[NoiseModel], weights: Sequence[float], estimate: Reals) -> CombinedNoise:
        """Of estimates whose average is *estimate*."""
        first = parts[0]
        return cls(first.plan, first.workload, first.epsilon, estimate, tuple(parts), tuple(weights))

    def expected_error(self) -> ExpectedError | None:
        """√Σ (weight·error)², where each part has an error on all data and was made for the same task."""
        if any(part.workload is not self.workload for part in self.parts):
            return None
        found = [part.expected_error() for part in self.parts]
        errors = [error for error in found if error is not None]
        if len(errors) < len(found):
            return None
        total = math.hypot(*(weight * error.total for weight, error in zip(self.weights, errors, strict=True)))
        kind: ErrorKind = "exact" if all(error.kind == "exact" for error in errors) else "estimate"
        return ExpectedError(total, self.workload.count, kind)

    def kind(self, queries: Queries | None = None) -> Kind:
        """Exact where all parts are."""
        asked = self.workload if queries is None else queries
        return "exact" if all(part.kind(asked) == "exact" for part in self.parts) else "approximate"

    def moments(self, queries: Queries) -> Moments | None:
        """Σ weight²·variance and Σ weight⁴·fourth cumulant, where all are known."""
        found = [part.moments(queries) for part in self.parts]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        pairs = list(zip(self.weights, known, strict=True))
        variances = sum((weight**2 * one.variances for weight, one in pairs), np.zeros(1))
        fourths = sum((weight**4 * one.fourths for weight, one in pairs), np.zeros(1))
        return Moments(np.asarray(variances), np.asarray(fourths), any(one.at_most for one in known))

    def variances(self, queries: Queries) -> Reals:
        """Σ weight²·variance."""
        pairs = zip(self.weights, self.parts, strict=True)
        return np.asarray(sum((weight**2 * part.variances(queries) for weight, part in pairs), np.zeros(1)))

    def determines(self, queries: Queries) -> bool:
        """Where all parts do."""
        return all(part.determines(queries) for part in self.parts)

    @cached_property
    def runs(self) -> CombinedRuns:
        """Each part is run on data like the combined estimate, with noise of its own."""
        own = [
            replace(SimulatedRuns(part.plan, part.workload, part.epsilon, self.estimate), seed=(place + 1) * _APART)
            for place, part in enumerate(self.parts)
        ]
        return CombinedRuns(
            self.plan, self.workload, self.epsilon, self.estimate, parts=tuple(own), weights=self.weights
        )


def _side_by_side(streams: Sequence[Iterator[Reals]]) -> Iterator[list[Reals]]:
    """Batches of equal lengths out of streams of batches of any, until one of them ends.

    >>> one, other = iter([np.zeros((3, 1))]), iter([np.ones((1, 1)), np.ones((4, 1))])
    >>> [[len(piece) for piece in pieces] for pieces in _side_by_side([one, other])]
    [[1, 1], [2, 2]]
    """
    held: list[Reals | None] = [None] * len(streams)
    while True:
        for place, stream in enumerate(streams):
            if held[place] is None:
                held[place] = next(stream, None)
        ready = [piece for piece in held if piece is not None]
        if len(ready) < len(streams):
            return
        length = min(map(len, ready))
        yield [piece[:length] for piece in ready]
        held = [piece[length:] if len(piece) > length else None for piece in ready]
