"""A release from plain values that a stranger may have written: what is read here can be used to its end."""

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
from adyton.result.misfits import Counted, Misfits
from adyton.result.plain_values import as_amount, as_real, as_text, of_kind, part_of
from adyton.result.receipt_reading import read_bought, read_figures, read_receipt
from adyton.result.same_thing import MOST, check_same
from adyton.schema import Schema
from adyton.schema.misfits import FATES, REASONS, Misfit
from adyton.selection.choice import Choice
from adyton.tasks import task_from_dict
from adyton.whole import SAFE, whole

if TYPE_CHECKING:
    from adyton.result.intervals import NoiseModel
    from adyton.result.release import Release

FORMAT, VERSION = "adyton release", 1
_LEAST_OPTION, _GREATEST_OPTION = Fraction(1, SAFE), Fraction(SAFE)


def from_dict(plain: object) -> Release:
    """The release that :func:`adyton.result.files.to_dict` describes. Keys that it does not know are left out."""
    from adyton.result.release import Release

    if not isinstance(plain, Mapping) or plain.get("format") != FORMAT:
        raise BadInput("it does not say that it is one.")
    if plain.get("version") != VERSION:
        raise BadInput(f"its version is {shorten(plain.get('version'))}, this Adyton reads version {VERSION}.")
    if plain.get("algorithm") == COMBINED:
        return _combined(plain)
    try:
        schema = Schema.from_dict(part_of(plain, "schema"))
        estimate = _estimate(part_of(plain, "estimate"), schema.shape)
        task = task_from_dict(part_of(plain, "task"))
        if task.select(schema) != schema:
            raise BadInput("the task is about other attributes than the schema.")
        where, algorithm = part_of(plain, "where"), as_text(part_of(plain, "algorithm"), "algorithm")
        receipt = read_receipt(part_of(plain, "record"), schema.rows_per_unit, enforced=schema.unit is not None)
        epsilon = as_amount(part_of(plain, "epsilon"), "epsilon", most=receipt.total)
        choice, misfits = part_of(plain, "choice"), read_misfits(plain.get("misfits"), epsilon)
        counting = (epsilon - (misfits.epsilon if misfits else 0)) / schema.rows_per_unit
        release = Release(
            schema=schema,
            task=task,
            where=None if where is None else as_text(where, "where"),
            algorithm=algorithm,
            options=_options(part_of(plain, "options"), algorithm),
            epsilon=epsilon,
            estimate=estimate,
            choice=None if choice is None else _choice(choice, algorithm, counting),
            receipt=receipt,
            misfits=misfits,
        )
        _rehearse(release.noise)
    except BadInput:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError) as error:
        raise BadInput(
            f"a part of it is missing or malformed ({type(error).__name__}: {shorten(str(error))})."
        ) from None
    return release


def _combined(plain: Mapping[str, Any]) -> Release:
    """Parts that were put together, each read as a release of its own, with the weights that they had."""
    parts = of_kind(list, part_of(plain, "parts"), "parts")
    weights = [as_real(one, "a weight") for one in of_kind(list, part_of(plain, "weights"), "weights")]
    if not 2 <= len(parts) == len(weights) <= MOST or not all(0 <= one <= 1 for one in weights):
        raise BadInput(f"it must be put together from 2 to {MOST:,} parts, with a weight of 0 to 1 for each.")
    if abs(sum(weights) - 1) > 1e-9 or any(isinstance(one, Mapping) and "parts" in one for one in parts):
        raise BadInput("its weights must add up to 1, and its parts must not be put together themselves.")
    read = [from_dict(one) for one in parts]
    check_same(read)
    return averaged(read, weights)


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


def _options(plain: object, algorithm: str) -> dict[str, Any]:
    """Single values, in the types that the algorithm's own options have."""
    options = {as_text(name, "the name of an option"): value for name, value in of_kind(dict, plain, "options").items()}
    plan = plan_named(algorithm, **options)
    for name in options:
        value = getattr(plan, name)
        size = abs(Fraction(value)) if isinstance(value, int | float | Fraction) else 0
        if size and not _LEAST_OPTION <= size <= _GREATEST_OPTION:
            raise BadInput(f"{name} is beyond any reach, given {shorten(value)}.")
    return options


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


def read_misfits(plain: object, epsilon: Fraction) -> Misfits | None:
    """The rows that did not fit, if they were counted; older files know nothing of it."""
    if plain is None:
        return None
    part = as_amount(part_of(plain, "share"), "the share of the misfits", most=Fraction(1))
    if as_amount(part_of(plain, "epsilon"), "the price of the misfits", most=epsilon) != part * epsilon:
        raise BadInput("the price of the misfits is not their share of what was charged.")
    return Misfits(
        part * epsilon,
        part,
        _count(part_of(plain, "fits")),
        max(0.0, as_real(part_of(plain, "deviation"), "the deviation of the misfits")),
        [_misfit(one) for one in of_kind(list, part_of(plain, "misfits"), "misfits")],
    )


def _misfit(plain: object) -> Counted:
    reason, fate = part_of(plain, "reason"), part_of(plain, "fate")
    if reason not in REASONS or fate not in FATES:
        raise BadInput(f"a misfit has a reason and a fate, given {shorten(reason)} and {shorten(fate)}.")
    return Counted(
        Misfit(as_text(part_of(plain, "attribute"), "attribute"), reason, fate), _count(part_of(plain, "count"))
    )


def _count(plain: object) -> int:
    """A noisy number of rows."""
    if whole(plain, "a number of misfits", -SAFE) > SAFE:
        raise BadInput(f"a number of misfits must not be beyond ±2^62, given {shorten(plain)}.")
    return whole(plain, "a number of misfits", -SAFE)
