"""A release of counts in plain values, and from those that a stranger may have written: what is read here can be used
to its end."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import exact
from adyton.kernel.kernel import Kernel
from adyton.messages import shorten
from adyton.plans.registry import plan_named
from adyton.result.averaging import COMBINED, averaged
from adyton.result.folder import body_of, from_plain
from adyton.result.receipt_reading import read_bought, read_figures
from adyton.result.same_thing import MOST, check_same
from adyton.schema.plain_values import as_amount, as_plain, as_real, as_text, of_kind, part_of
from adyton.selection.selector import Choice
from adyton.whole import SAFE

if TYPE_CHECKING:
    from adyton.plans.base import ExpectedError
    from adyton.result.intervals import NoiseModel
    from adyton.result.release import Release

_LEAST_OPTION, _GREATEST_OPTION = Fraction(1, SAFE), Fraction(SAFE)


def own_dict(release: Release, error: ExpectedError | None) -> dict[str, Any]:
    """Everything that is needed to answer new queries later. The expected error is None as long as nobody has computed
    it."""
    known = None
    if error is not None:
        known = {name: getattr(error, name) for name in ("per_query", "total", "queries", "kind", "runs")}
    described: dict[str, Any] = {
        "axes": release.axes,
        "expected_error": known,
        "choice": None if release.choice is None else release.choice.to_plain(),
    }
    if release.parts:
        parts = [body_of(part, complete=False) for part in release.parts]
        described |= {"weights": list(release.weights), "parts": parts}
    return {**as_plain(described), "estimate": release.estimate.tolist()}


def release_of(plain: Mapping[str, Any], common: Mapping[str, Any]) -> Release:
    """The release that these describe."""
    from adyton.result.release import Release

    if common["algorithm"] == COMBINED:
        return _combined(plain)
    schema, algorithm, epsilon, misfits = (common[name] for name in ("schema", "algorithm", "epsilon", "misfits"))
    estimate = _estimate(part_of(plain, "estimate"), schema.shape)
    if common["task"].select(schema) != schema:
        raise BadInput("the task is about other attributes than the schema.")
    choice = part_of(plain, "choice")
    counting = (epsilon - (misfits.epsilon if misfits else 0)) / schema.rows_per_unit
    try:
        release = Release(
            **{**common, "options": _options(common["options"], algorithm)},
            estimate=estimate,
            choice=None if choice is None else _choice(choice, algorithm, counting),
        )
        _rehearse(release.noise)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError) as error:
        raise BadInput(
            f"a part of it is missing or malformed ({type(error).__name__}: {shorten(str(error))})."
        ) from None
    return release


def _combined(plain: Mapping[str, Any]) -> Release:
    """Parts that were put together, each read as a release of its own, with the weights that they had."""
    from adyton.result.release import Release

    parts = of_kind(list, part_of(plain, "parts"), "parts")
    weights = [as_real(one, "a weight") for one in of_kind(list, part_of(plain, "weights"), "weights")]
    if not 2 <= len(parts) == len(weights) <= MOST or not all(0 <= one <= 1 for one in weights):
        raise BadInput(f"it must be put together from 2 to {MOST:,} parts, with a weight of 0 to 1 for each.")
    if abs(sum(weights) - 1) > 1e-9 or any(isinstance(one, Mapping) and "parts" in one for one in parts):
        raise BadInput("its weights must add up to 1, and its parts must not be put together themselves.")
    read = [from_plain(one, lambda task, kind: Release if kind == Release.kind else None) for one in parts]
    counts = [one for one in read if isinstance(one, Release)]
    check_same(counts)
    return averaged(counts, weights)


def _estimate(plain: object, shape: tuple[int, ...]) -> Reals:
    """Numbers in lists of lists, as many as there are cells. Nothing is built for cells that are not there."""
    cells: list[Any] = [plain]
    for side in shape:
        if not all(isinstance(one, list) and len(one) == side for one in cells):
            raise BadInput(f"the estimate must be numbers in the shape {shape}, and is not.")
        cells = list(chain.from_iterable(cells))
    if not set(map(type, cells)) <= {int, float} or not all(-SAFE <= cell <= SAFE for cell in cells):
        raise BadInput(f"the estimate must be numbers in the shape {shape}, none of them beyond ±2^62.")
    estimate = np.array(cells, dtype=np.float64).reshape(shape)
    if np.abs(estimate).sum() > SAFE:
        raise BadInput("the counts of the estimate must not exceed 2^62 together.")
    return estimate


def _options(options: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """Single values, in the types that the algorithm's own options have."""
    plan = plan_named(algorithm, **options)
    for name in options:
        value = getattr(plan, name)
        size = abs(Fraction(value)) if isinstance(value, int | float | Fraction) else 0
        if size and not _LEAST_OPTION <= size <= _GREATEST_OPTION:
            raise BadInput(f"{name} is beyond any reach, given {shorten(value)}.")
    return dict(options)


def _rehearse(model: NoiseModel) -> None:
    """Refuse what the algorithm would refuse, if it were run now."""
    plan, workload, epsilon = model.plan, model.workload, model.epsilon
    counts = np.zeros(workload.domain, dtype=np.int64)
    plan.admit(Kernel.simulated(counts, epsilon=epsilon, seed=0).root, workload, epsilon)


def _choice(given: object, algorithm: str, epsilon: Fraction) -> Choice:
    """The parts of a choice, each of its own type; what was looked at and what was left add up to *epsilon*."""
    plain = of_kind(dict, given, "the choice")
    if part_of(plain, "algorithm") != algorithm:
        raise BadInput(f"{shorten(part_of(plain, 'algorithm'))} was chosen, {shorten(algorithm)} was run.")
    left = as_amount(part_of(plain, "left"), "what was left", most=epsilon)
    bought = tuple(read_bought(one, epsilon) for one in of_kind(list, part_of(plain, "bought"), "bought"))
    paid = left
    for one in bought:
        paid = exact(paid + one.spent, "the price of the choice", computed=True)
    if paid != epsilon:
        raise BadInput(f"the parts of the choice cost {shorten(paid)} a row, not {shorten(epsilon)}.")
    return Choice(
        algorithm,
        left,
        bought,
        regrets=read_figures(part_of(plain, "regrets"), "regrets"),
        errors=read_figures(part_of(plain, "errors"), "errors"),
        notes=tuple(as_text(note, "a note") for note in of_kind(list, part_of(plain, "notes"), "notes")),
        finished=of_kind(bool, plain.get("finished", bool(bought)), "finished"),  # what does not say it may have been
    )
