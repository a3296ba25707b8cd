"""The receipt of a release: what was paid, from which budget, for what, on which day, and by which program.

It is published, so it has a date and no time of day: when a measurement began and ended depends on the rows. Exact
times are in the ledger, which only the curator sees.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from adyton import __version__
from adyton.choice.decision import Bought, Choice
from adyton.errors import BadInput
from adyton.exact import as_number, exact
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger.ledger import short_name
from adyton.kernel.ledger.records import LARGEST_TOTAL, Account, Budgeted
from adyton.kernel.recorder import CHANGED, Debit
from adyton.messages import shorten
from adyton.schema.plain_values import as_amount, as_date, as_real, as_text, of_kind, part_of
from adyton.tasks import Task
from adyton.whole import whole


@dataclass(frozen=True)
class RowsCounted:
    """Which rows of each unit were counted, in the words that every output begins with.

    It is false if no column names the unit of each row: then no row is left out, and there is nothing to say.

    >>> print(RowsCounted.of("caller", 10).sentence)
    At most 10 rows of each caller are counted. Others are left out: these are not numbers of all rows.
    """

    sentence: str = ""
    short: str = ""
    """The same in a few words: ``at most 10 rows of each caller``."""
    noun: str = "rows"
    """What is counted: ``rows`` or ``units``."""
    beside: str = ""
    """The words after the noun: ``at most 10 of each caller``."""

    @classmethod
    def of(cls, unit: str | None, rows_per_unit: int) -> RowsCounted:
        """For a table whose column names the *unit* of each row (None if there is no such column), with at most
        *rows_per_unit* rows of each."""
        if unit is None:
            return cls()
        rows = "1 row" if rows_per_unit == 1 else f"{rows_per_unit:,} rows"
        verb = "is" if rows_per_unit == 1 else "are"
        short = f"at most {rows} of each {unit}"
        said = f"A{short[1:]} {verb} counted. Others are left out: these are not numbers of all rows."
        return cls(said, short, beside=f"at most {rows_per_unit:,} of each {unit}")

    @classmethod
    def once(cls, unit: str, last: int | None = None) -> RowsCounted:
        """For counts of units instead of rows, perhaps by their number of rows up to a *last* class."""
        classes = "" if last is None else f"; {last:,} means {last:,} or more"
        said = f"Each {unit} is counted once, with all of its rows{classes}."
        short = f"each {unit} once{classes}"
        return cls(said, short, "units", short)

    @classmethod
    def asked(cls, task: Task, unit: str | None, rows_per_unit: int) -> RowsCounted:
        """For a task on such a table."""
        if unit is not None and task.per_unit:
            return cls.once(unit, task.last_class)
        return cls.of(unit, rows_per_unit)

    def __bool__(self) -> bool:
        return bool(self.sentence)

    def what(self, words: str = "rows") -> str:
        """The name of counts that would be called *words* if nothing were left out.

        >>> RowsCounted.of("caller", 10).what(), RowsCounted().what()
        ('rows, at most 10 of each caller', 'rows')
        """
        return f"{words.replace('rows', self.noun)}, {self.beside}" if self else words

    @property
    def aside(self) -> str:
        """The short form in brackets, after a space; empty if there is nothing to say."""
        return f" ({self.short})" if self else ""

    def after(self, words: str) -> str:
        """*words*, followed by this sentence."""
        return f"{words} {self.sentence}".rstrip()

    def rows(self, where: str | None) -> str:
        """Which rows are counted, in a few words, for the lines of a table; empty if all rows are.

        >>> RowsCounted.of("caller", 10).rows("age > 64"), RowsCounted().rows(None)
        ('at most 10 rows of each caller, of which only rows where age > 64', '')
        """
        only = f"only rows where {where}" if where else ""
        return ", of which ".join(part for part in (self.short, only) if part)

    def first(self, where: str | None) -> str:
        """The first words on a terminal, before any number; empty if all rows are counted."""
        return f"{self.sentence} {f'Only rows where {where} are counted.' if where else ''}".strip()


@dataclass(frozen=True)
class Receipt:
    """What a release cost, and whom it protects."""

    dataset: str
    unit: str
    """What is protected, in words."""
    rows_per_unit: int
    ledger: str | None
    """The name of the ledger's file; None for one in memory."""
    total: Fraction
    spent: Fraction
    """What was spent of the total by all releases, this one included."""
    created: str
    """The day of the request: it does not depend on how long the answer took."""
    versions: Mapping[str, str]
    private: bool
    """Whether the noise is real; if it is simulated, the release protects nobody."""
    entries: tuple[Debit, ...] = ()
    """The entries that this release wrote into the ledger."""
    enforced: bool = False
    """Whether a column names the unit of each row, so that rows of a unit beyond *rows_per_unit* were left out."""

    @classmethod
    def opened(cls, kernel: Kernel[Any], account: Account | None = None) -> Receipt:
        """The receipt, as far as it is known before anything is paid; *account* is the kernel's, if it was read."""
        account = kernel.ledger.budget if account is None else account
        path = kernel.ledger.path
        return cls(
            dataset=account.dataset,
            unit=kernel.terms.named_unit,
            rows_per_unit=kernel.terms.rows_per_unit,
            ledger=None if path is None else os.fsencode(short_name(path)).decode("utf-8", "replace"),
            total=account.total,
            spent=account.spent,
            created=datetime.now(UTC).date().isoformat(),
            versions={"adyton": __version__, "python": platform.python_version(), "numpy": np.__version__},
            private=kernel.private,
            enforced=bool(kernel.terms.column),
        )

    def paid(self, ledger: Budgeted, debits: Sequence[Debit]) -> Receipt:
        """The receipt for these debits. It cannot fail: the answer that it belongs to is paid for."""
        try:
            account = ledger.budget
            total, spent = account.total, account.spent
        except Exception:  # the receipt then holds what is known
            total = self.total
            spent = min(total, self.spent + sum((debit.amount for debit in debits), Fraction(0)))
        return replace(self, total=total, spent=spent, entries=tuple(debits))

    @property
    def remaining(self) -> Fraction:
        """What is left of the total, after this release."""
        return self.total - self.spent

    @property
    def changed(self) -> bool:
        """Whether rows had changed since the session was opened, for at least one of the measurements."""
        return any(CHANGED in debit.operator for debit in self.entries)

    def to_plain(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "rows_per_unit": self.rows_per_unit,
            "enforced": self.enforced,
            "ledger": self.ledger,
            "total": as_number(self.total),
            "spent": as_number(self.spent),
            "remaining": as_number(self.remaining),
            "entries": [
                {
                    "number": debit.number,
                    "epsilon": as_number(debit.amount),
                    "operator": debit.operator,
                    "lineage": list(debit.lineage),
                }
                for debit in self.entries
            ],
            "created": self.created,
            "versions": dict(self.versions),
            "private": self.private,
        }


def read_receipt(plain: object, rows_per_unit: int, *, enforced: bool = False) -> Receipt:
    """Read a receipt and check the type of each part. Older ones do not say whether the limit was enforced."""
    rows = whole(part_of(plain, "rows_per_unit"), "rows_per_unit", 1)
    if rows != rows_per_unit:
        raise BadInput(f"the record says rows_per_unit = {shorten(rows)}, the schema says {rows_per_unit}.")
    of_schema = of_kind(dict, plain, "the record").get("enforced", enforced)
    if of_schema is not enforced:
        raise BadInput(f"the record says enforced = {shorten(of_schema)}, the schema says {enforced}.")
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
        entries=tuple(_entry(entry, total) for entry in of_kind(list, part_of(plain, "entries"), "entries")),
        created=as_date(part_of(plain, "created"), "created"),
        versions={
            as_text(name, "the name of a version"): as_text(version, "a version")
            for name, version in of_kind(dict, part_of(plain, "versions"), "versions").items()
        },
        private=of_kind(bool, part_of(plain, "private"), "private"),
        enforced=enforced,
    )


def _entry(plain: object, total: Fraction) -> Debit:
    """Read an entry of the ledger, without its time."""
    return Debit(
        whole(part_of(plain, "number"), "the number of an entry", 1),
        as_amount(part_of(plain, "epsilon"), "the amount of an entry", zero=True, most=total),
        as_text(part_of(plain, "operator"), "the operator of an entry"),
        tuple(as_text(step, "lineage") for step in of_kind(list, part_of(plain, "lineage"), "lineage")),
    )


def read_bought(plain: object, epsilon: Fraction) -> Bought:
    """Read a feature that was bought."""
    return Bought(
        as_text(part_of(plain, "name"), "the name of a feature"),
        as_text(part_of(plain, "words"), "the words of a feature"),
        as_real(part_of(plain, "value"), "the value of a feature"),
        as_real(part_of(plain, "deviation"), "the deviation of a feature"),
        as_amount(part_of(plain, "epsilon"), "the price of a feature", zero=True, most=epsilon),
    )


def read_figures(plain: object, name: str) -> dict[str, float]:
    """Read a number for each algorithm; a number that is unknown, or was too large to write, is infinite."""
    return {
        as_text(key, name): math.inf if figure is None else as_real(figure, name)
        for key, figure in of_kind(dict, plain, name).items()
    }


def read_choice(given: object, algorithm: str, epsilon: Fraction) -> Choice:
    """Read a choice and check its parts; the prices of the features and what was left add up to *epsilon*."""
    plain = of_kind(dict, given, "the choice")
    if part_of(plain, "algorithm") != algorithm:
        raise BadInput(f"{shorten(part_of(plain, 'algorithm'))} was chosen, {shorten(algorithm)} was run.")
    left = as_amount(part_of(plain, "left"), "what was left", most=epsilon)
    bought = tuple(read_bought(feature, epsilon) for feature in of_kind(list, part_of(plain, "bought"), "bought"))
    paid = left
    for feature in bought:
        paid = exact(paid + feature.spent, "the price of the choice", computed=True)
    if paid != epsilon:
        raise BadInput(f"the parts of the choice cost {shorten(paid)} a row, not {shorten(epsilon)}.")
    return Choice(
        algorithm,
        left,
        bought,
        regrets=read_figures(part_of(plain, "regrets"), "regrets"),
        errors=read_figures(part_of(plain, "errors"), "errors"),
        notes=tuple(as_text(note, "a note") for note in of_kind(list, part_of(plain, "notes"), "notes")),
        finished=of_kind(bool, plain.get("finished", bool(bought)), "finished"),  # older files do not have this key
    )
