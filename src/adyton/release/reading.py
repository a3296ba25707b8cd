"""A release from plain values that a stranger may have written: what is read here can be used to its end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import exact
from adyton.kernel.kernel import Kernel
from adyton.kernel.opening import LARGEST_TOTAL
from adyton.kernel.receipts import Debit
from adyton.messages import shorten
from adyton.plans.registry import plan_named
from adyton.release.misfits import Counted, Misfits
from adyton.release.receipt import Receipt
from adyton.schema import Schema
from adyton.schema.checks import writable
from adyton.schema.misfits import FATES, REASONS, Misfit
from adyton.selection.choice import Choice
from adyton.selection.features import Bought
from adyton.tasks import task_from_dict
from adyton.whole import SAFE, whole

if TYPE_CHECKING:
    from adyton.release.intervals import NoiseModel
    from adyton.release.release import Release

FORMAT, VERSION = "adyton release", 1
_LEAST_OPTION, _GREATEST_OPTION = Fraction(1, SAFE), Fraction(SAFE)
_GREATEST = 1e300
_WORDS: dict[type, str] = {bool: "true or false", dict: "a mapping", list: "a list", str: "a text"}
_Kind = TypeVar("_Kind")


def from_dict(plain: object) -> Release:
    """The release that :func:`adyton.release.files.to_dict` describes. Keys that it does not know are left out."""
    from adyton.release.release import Release

    if not isinstance(plain, Mapping) or plain.get("format") != FORMAT:
        raise BadInput("it does not say that it is one.")
    if plain.get("version") != VERSION:
        raise BadInput(f"its version is {shorten(plain.get('version'))}, this Adyton reads version {VERSION}.")
    try:
        schema = Schema.from_dict(_part(plain, "schema"))
        estimate = _estimate(_part(plain, "estimate"), schema.shape)
        task = task_from_dict(_part(plain, "task"))
        if task.select(schema) != schema:
            raise BadInput("the task is about other attributes than the schema.")
        where, algorithm = _part(plain, "where"), _text(_part(plain, "algorithm"), "algorithm")
        receipt = _receipt(_part(plain, "record"), schema.rows_per_unit)
        epsilon = _amount(_part(plain, "epsilon"), "epsilon", most=receipt.total)
        choice, misfits = _part(plain, "choice"), _misfits(plain.get("misfits"), epsilon)
        counting = (epsilon - (misfits.epsilon if misfits else 0)) / schema.rows_per_unit
        release = Release(
            schema=schema,
            task=task,
            where=None if where is None else _text(where, "where"),
            algorithm=algorithm,
            options=_options(_part(plain, "options"), algorithm),
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
    options = {_text(name, "the name of an option"): value for name, value in _of(dict, plain, "options").items()}
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
    rows = whole(_part(plain, "rows_per_unit"), "rows_per_unit", 1)
    if rows != rows_per_unit:
        raise BadInput(f"the record says rows_per_unit = {shorten(rows)}, the schema says {rows_per_unit}.")
    total = _amount(_part(plain, "total"), "the total", most=Fraction(LARGEST_TOTAL))
    spent, remaining = (
        _amount(_part(plain, word), f"what is {word}", zero=True, most=total) for word in ("spent", "remaining")
    )
    if spent + remaining != total:
        raise BadInput("what is spent and what is remaining do not add up to the total.")
    ledger = _part(plain, "ledger")
    return Receipt(
        dataset=_text(_part(plain, "dataset"), "dataset"),
        unit=_text(_part(plain, "unit"), "unit"),
        rows_per_unit=rows,
        ledger=None if ledger is None else _text(ledger, "ledger"),
        total=total,
        spent=spent,
        entries=tuple(_entry(one, total) for one in _of(list, _part(plain, "entries"), "entries")),
        created=_date(_part(plain, "created"), "created"),
        versions={
            _text(name, "the name of a version"): _text(version, "a version")
            for name, version in _of(dict, _part(plain, "versions"), "versions").items()
        },
        private=_of(bool, _part(plain, "private"), "private"),
    )


def _entry(plain: object, total: Fraction) -> Debit:
    """A line of the ledger, without a time."""
    return Debit(
        whole(_part(plain, "number"), "the number of an entry", 1),
        _amount(_part(plain, "epsilon"), "the amount of an entry", zero=True, most=total),
        _text(_part(plain, "operator"), "the operator of an entry"),
        tuple(_text(one, "lineage") for one in _of(list, _part(plain, "lineage"), "lineage")),
    )


def _choice(given: object, algorithm: str, epsilon: Fraction) -> Choice:
    """The parts of a choice, each of its own type; what was looked at and what was left add up to *epsilon*."""
    plain = _of(dict, given, "the choice")
    if _part(plain, "algorithm") != algorithm:
        raise BadInput(f"{shorten(_part(plain, 'algorithm'))} was chosen, {shorten(algorithm)} was run.")
    left = _amount(_part(plain, "left"), "what was left", most=epsilon)
    bought = tuple(_look(one, epsilon) for one in _of(list, _part(plain, "bought"), "bought"))
    paid = left
    for one in bought:
        paid = exact(paid + one.spent, "the price of the choice", computed=True)
    if paid != epsilon:
        raise BadInput(f"the parts of the choice cost {shorten(paid)} a row, not {shorten(epsilon)}.")
    return Choice(
        algorithm,
        left,
        bought,
        regrets=_figures(_part(plain, "regrets"), "regrets"),
        errors=_figures(_part(plain, "errors"), "errors"),
        notes=tuple(_text(note, "a note") for note in _of(list, _part(plain, "notes"), "notes")),
        finished=_of(bool, plain.get("finished", bool(bought)), "finished"),  # what does not say it may have been
    )


def _look(plain: object, epsilon: Fraction) -> Bought:
    """A feature that was bought."""
    return Bought(
        _text(_part(plain, "name"), "the name of a feature"),
        _text(_part(plain, "words"), "the words of a feature"),
        _real(_part(plain, "value"), "the value of a feature"),
        _real(_part(plain, "deviation"), "the deviation of a feature"),
        _amount(_part(plain, "epsilon"), "the price of a feature", zero=True, most=epsilon),
    )


def _misfits(plain: object, epsilon: Fraction) -> Misfits | None:
    """The rows that did not fit, if they were counted; older files know nothing of it."""
    if plain is None:
        return None
    part = _amount(_part(plain, "share"), "the share of the misfits", most=Fraction(1, 2))
    if _amount(_part(plain, "epsilon"), "the price of the misfits", most=epsilon) != part * epsilon:
        raise BadInput("the price of the misfits is not their share of what was charged.")
    return Misfits(
        part * epsilon,
        part,
        _count(_part(plain, "fits")),
        max(0.0, _real(_part(plain, "deviation"), "the deviation of the misfits")),
        [_misfit(one) for one in _of(list, _part(plain, "misfits"), "misfits")],
    )


def _misfit(plain: object) -> Counted:
    reason, fate = _part(plain, "reason"), _part(plain, "fate")
    if reason not in REASONS or fate not in FATES:
        raise BadInput(f"a misfit has a reason and a fate, given {shorten(reason)} and {shorten(fate)}.")
    return Counted(Misfit(_text(_part(plain, "attribute"), "attribute"), reason, fate), _count(_part(plain, "count")))


def _count(plain: object) -> int:
    """A noisy number of rows."""
    if whole(plain, "a number of misfits", -SAFE) > SAFE:
        raise BadInput(f"a number of misfits must not be beyond ±2^62, given {shorten(plain)}.")
    return whole(plain, "a number of misfits", -SAFE)


def _figures(plain: object, name: str) -> dict[str, float]:
    """A number for each algorithm; what is unknown, or was too large to write, is infinite."""
    return {
        _text(key, name): math.inf if figure is None else _real(figure, name)
        for key, figure in _of(dict, plain, name).items()
    }


# ---- single values ---------------------------------------------------------------------------------------------------


def _part(plain: object, key: str) -> Any:
    if not isinstance(plain, Mapping) or key not in plain:
        raise BadInput(f"the part {key!r} is missing.")
    return plain[key]


def _of(kind: type[_Kind], value: object, name: str) -> _Kind:
    if not isinstance(value, kind):
        raise BadInput(f"{name} must be {_WORDS[kind]}, given {shorten(value)}.")
    return value


def _text(value: object, name: str) -> str:
    return writable(_of(str, value, name), name)


def _real(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _GREATEST:
        raise BadInput(f"{name} must be a number, and a finite one, given {shorten(value)}.")
    return float(value)


def _amount(plain: object, name: str, *, most: Fraction, zero: bool = False) -> Fraction:
    """An exact part of a budget."""
    number = exact(_part(plain, "exact"), name, computed=True)
    if not 0 <= number <= most or (number == 0 and not zero):
        least = "at least" if zero else "greater than"
        raise BadInput(f"{name} must be {least} 0 and at most {float(most):g}, given {shorten(number)}.")
    return number


def _date(value: object, name: str) -> str:
    """A day; of a time, as older releases have it, the day in UTC."""
    text = _text(value, name)
    try:
        moment = datetime.fromisoformat(text)
        day = moment if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(f"{name} must be a date such as 2026-11-15, given {shorten(text)}.") from None
    return day.date().isoformat()
