"""A release from plain values that a stranger may have written: what is read here can be used to its end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Reals
from adyton.choice.bought import Bought
from adyton.errors import BadInput
from adyton.exact import exact
from adyton.kernel.kernel import Kernel
from adyton.kernel.opening import LARGEST_TOTAL
from adyton.kernel.receipts import Debit
from adyton.messages import shorten
from adyton.plans.registry import plan_named
from adyton.release.misfits import Counted, Misfits
from adyton.release.plain_values import as_amount, as_date, as_real, as_text, of_kind, part_of
from adyton.release.receipt import Receipt
from adyton.schema import Schema
from adyton.schema.misfits import FATES, REASONS, Misfit
from adyton.selection.choice import Choice
from adyton.tasks import task_from_dict
from adyton.whole import SAFE, whole

if TYPE_CHECKING:
    from adyton.release.intervals import NoiseModel
    from adyton.release.release import Release

FORMAT, VERSION = "adyton release", 1
_LEAST_OPTION, _GREATEST_OPTION = Fraction(1, SAFE), Fraction(SAFE)


def from_dict(plain: object) -> Release:
    """The release that :func:`adyton.release.files.to_dict` describes. Keys that it does not know are left out."""
    from adyton.release.release import Release

    if not isinstance(plain, Mapping) or plain.get("format") != FORMAT:
        raise BadInput("it does not say that it is one.")
    if plain.get("version") != VERSION:
        raise BadInput(f"its version is {shorten(plain.get('version'))}, this Adyton reads version {VERSION}.")
    try:
        schema = Schema.from_dict(part_of(plain, "schema"))
        estimate = _estimate(part_of(plain, "estimate"), schema.shape)
        task = task_from_dict(part_of(plain, "task"))
        if task.select(schema) != schema:
            raise BadInput("the task is about other attributes than the schema.")
        where, algorithm = part_of(plain, "where"), as_text(part_of(plain, "algorithm"), "algorithm")
        receipt = _receipt(part_of(plain, "record"), schema.rows_per_unit)
        epsilon = as_amount(part_of(plain, "epsilon"), "epsilon", most=receipt.total)
        choice, misfits = part_of(plain, "choice"), _misfits(plain.get("misfits"), epsilon)
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


def _receipt(plain: object, rows_per_unit: int) -> Receipt:
    """The receipt: its parts, each of its own type."""
    rows = whole(part_of(plain, "rows_per_unit"), "rows_per_unit", 1)
    if rows != rows_per_unit:
        raise BadInput(f"the record says rows_per_unit = {shorten(rows)}, the schema says {rows_per_unit}.")
    total = as_amount(part_of(plain, "total"), "the total", most=Fraction(LARGEST_TOTAL))
    spent, remaining = (
        as_amount(part_of(plain, word), f"what is {word}", zero=True, most=total) for word in ("spent", "remaining")
    )
    if spent + remaining != total:
        raise BadInput("what is spent and what is remaining do not add up to the total.")
    ledger = part_of(plain, "ledger")
    return Receipt(
        dataset=as_text(part_of(plain, "dataset"), "dataset"),
        unit=as_text(part_of(plain, "unit"), "unit"),
        rows_per_unit=rows,
        ledger=None if ledger is None else as_text(ledger, "ledger"),
        total=total,
        spent=spent,
        entries=tuple(_entry(one, total) for one in of_kind(list, part_of(plain, "entries"), "entries")),
        created=as_date(part_of(plain, "created"), "created"),
        versions={
            as_text(name, "the name of a version"): as_text(version, "a version")
            for name, version in of_kind(dict, part_of(plain, "versions"), "versions").items()
        },
        private=of_kind(bool, part_of(plain, "private"), "private"),
    )


def _entry(plain: object, total: Fraction) -> Debit:
    """A line of the ledger, without a time."""
    return Debit(
        whole(part_of(plain, "number"), "the number of an entry", 1),
        as_amount(part_of(plain, "epsilon"), "the amount of an entry", zero=True, most=total),
        as_text(part_of(plain, "operator"), "the operator of an entry"),
        tuple(as_text(one, "lineage") for one in of_kind(list, part_of(plain, "lineage"), "lineage")),
    )


def _choice(given: object, algorithm: str, epsilon: Fraction) -> Choice:
    """The parts of a choice, each of its own type; what was looked at and what was left add up to *epsilon*."""
    plain = of_kind(dict, given, "the choice")
    if part_of(plain, "algorithm") != algorithm:
        raise BadInput(f"{shorten(part_of(plain, 'algorithm'))} was chosen, {shorten(algorithm)} was run.")
    left = as_amount(part_of(plain, "left"), "what was left", most=epsilon)
    bought = tuple(_look(one, epsilon) for one in of_kind(list, part_of(plain, "bought"), "bought"))
    paid = left
    for one in bought:
        paid = exact(paid + one.spent, "the price of the choice", computed=True)
    if paid != epsilon:
        raise BadInput(f"the parts of the choice cost {shorten(paid)} a row, not {shorten(epsilon)}.")
    return Choice(
        algorithm,
        left,
        bought,
        regrets=_figures(part_of(plain, "regrets"), "regrets"),
        errors=_figures(part_of(plain, "errors"), "errors"),
        notes=tuple(as_text(note, "a note") for note in of_kind(list, part_of(plain, "notes"), "notes")),
        finished=of_kind(bool, plain.get("finished", bool(bought)), "finished"),  # what does not say it may have been
    )


def _look(plain: object, epsilon: Fraction) -> Bought:
    """A feature that was bought."""
    return Bought(
        as_text(part_of(plain, "name"), "the name of a feature"),
        as_text(part_of(plain, "words"), "the words of a feature"),
        as_real(part_of(plain, "value"), "the value of a feature"),
        as_real(part_of(plain, "deviation"), "the deviation of a feature"),
        as_amount(part_of(plain, "epsilon"), "the price of a feature", zero=True, most=epsilon),
    )


def _misfits(plain: object, epsilon: Fraction) -> Misfits | None:
    """The rows that did not fit, if they were counted; older files know nothing of it."""
    if plain is None:
        return None
    part = as_amount(part_of(plain, "share"), "the share of the misfits", most=Fraction(1, 2))
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


def _figures(plain: object, name: str) -> dict[str, float]:
    """A number for each algorithm; what is unknown, or was too large to write, is infinite."""
    return {
        as_text(key, name): math.inf if figure is None else as_real(figure, name)
        for key, figure in of_kind(dict, plain, name).items()
    }
