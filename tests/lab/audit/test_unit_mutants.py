"""Seeded bugs of the limit on rows per unit: the audit whose neighbours are persons must catch every one of them."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from adyton.kernel.counting import rows
from adyton.kernel.counting.rows import Owners, UnitRows
from adyton.kernel.reading.texts import number_in
from adyton.kernel.transforms import GroupBy, ShareRows, SumValues
from adyton_lab.audit.people import LIMIT
from adyton_lab.audit.whole_programs import audit_cases, table_cases


def asked(source, kind, name, *removed):
    """The finding about one question to a table with and without some people."""
    return audit_cases(name, table_cases(kind, {source: removed}, names=[name]))


def cut_by(monkeypatch, group):
    """The limit applied to other groups of rows than those of a unit."""
    honest = UnitRows._owners

    def found(self):
        owners = honest(self)
        seen, kept = Counter(), np.zeros(len(owners.unit), dtype=bool)
        for place, unit in enumerate(owners.unit.tolist()):
            label = group(unit, place)
            kept[place] = unit >= 0 and seen[label] < self.limit
            seen[label] += 1
        return Owners(owners.unit, kept)

    monkeypatch.setattr(UnitRows, "_owners", found)


def after_the_filter(monkeypatch):
    """The rows that pass a filter are cut, not those of the table: a person has a limit for every filter, which would
    be no mistake if each were charged; and in the parts of a split, which are charged together."""

    def batches(self, terms, rules, *, whole=False):
        seen = Counter()
        for every, units in self.uncut()._owned([*terms, *(term for rule in rules for term in rule.terms)]):
            batch, owners = every, units
            for rule in rules:
                true = rule.holds(batch.of)
                batch, owners = batch.kept(true), owners[true]
            flags = []
            for unit in owners.tolist():
                seen[unit] += 1
                flags.append(seen[unit] <= LIMIT)
            yield batch.kept(np.array(flags, dtype=bool))

    monkeypatch.setattr(UnitRows, "batches", batches)


def by_file(monkeypatch):
    """The limit applied by each of three readers to what comes its way."""
    cut_by(monkeypatch, lambda unit, place: (unit, place % 3))


def blank_unlimited(monkeypatch):
    """Rows without a unit are nobody's, and so as many as there are."""
    honest = rows._Units.numbered

    def numbered(self, *, nobody_is_one):
        numbers, hashes = honest(self, nobody_is_one=nobody_is_one)
        blank = honest(self, nobody_is_one=False)[0] < 0
        found = np.where(blank, 10**6 + np.arange(len(numbers)), numbers)
        return found, lambda wanted: np.append(
            hashes(wanted[wanted < 10**6]), np.zeros(sum(wanted >= 10**6), np.uint64)
        )

    monkeypatch.setattr(rows._Units, "numbered", numbered)


def by_place(monkeypatch):
    """The rows that come first are kept: which ones these are depends on where others stand."""
    cut_by(monkeypatch, lambda unit, place: unit)


def by_number_of_rows(monkeypatch):
    """The order is salted with something that everybody's rows are part of."""
    honest, mix = UnitRows._owners, rows._MIX

    def found(self):
        total = sum(batch.rows for batch in self.stored.all(()))
        monkeypatch.setattr(rows, "_MIX", (*mix[:2], np.uint64(mix[2] ^ np.uint64(total * 0x10001))))
        return honest(self)

    monkeypatch.setattr(UnitRows, "_owners", found)


def one_too_many(monkeypatch):
    """The limit off by one."""
    honest = UnitRows._owners
    monkeypatch.setattr(UnitRows, "_owners", lambda self: honest(UnitRows(self.stored, self.limit + 1)))


def merged_by_capitals(monkeypatch):
    """Two people whose names differ by a capital are taken for one: what is kept of one depends on the other."""
    honest = rows._trimmed
    monkeypatch.setattr(rows, "_trimmed", lambda names: renamed(honest(names), bytes.lower))


def renamed(names, other):
    import pyarrow

    return pyarrow.array([None if one is None else other(one) for one in names.to_pylist()], pyarrow.large_binary())


def merged_as_numbers(monkeypatch):
    """So are 7 and 07."""
    honest = rows._trimmed
    monkeypatch.setattr(
        rows, "_trimmed", lambda names: renamed(honest(names), lambda one: str(number_in(one.decode()) or one).encode())
    )


def joined_twice(monkeypatch):
    """Something after the cut that makes two rows of one."""
    honest = UnitRows.batches

    def batches(self, terms, rules, **options):
        for batch in honest(self, terms, rules, **options):
            yield batch
            yield batch

    monkeypatch.setattr(UnitRows, "batches", batches)


def by_type(monkeypatch):
    """The order goes by how values are stored, which another's rows have a say in where types are inferred."""
    honest = rows._hashed

    def hashed(values, so_far):
        return honest(values, so_far ^ np.uint64(ord(values.data.dtype.kind)))

    monkeypatch.setattr(rows, "_hashed", hashed)


CASES = [
    (after_the_filter, "arrow", "operators", "split", "heavy"),
    (blank_unlimited, "arrow", "operators", "split", ""),
    (by_place, "csv", "operators", "split", "f"),
]
MORE = [
    (by_file, "arrow", "operators", "split", "heavy"),
    (by_number_of_rows, "arrow", "operators", "split", "heavy"),
    (one_too_many, "parquet", "counts", "count", "heavy"),
    (one_too_many, "csv", "learners on tables", "naive-bayes", "heavy"),
    (merged_by_capitals, "csv", "operators", "cells", "heavy"),
    (merged_as_numbers, "csv", "operators", "cells", "7"),
    (joined_twice, "duckdb", "operators", "tables", "heavy"),
    (by_type, "pandas", "cells", "histogram of two", ""),
]


@pytest.mark.parametrize(
    ("mutant", "source", "kind", "name", "person"),
    [*CASES, *(pytest.param(*one, marks=pytest.mark.full) for one in MORE)],
)
def test_a_limit_that_is_none_is_caught(monkeypatch, mutant, source, kind, name, person):
    mutant(monkeypatch)
    found = asked(source, kind, name, *[person] * 6)  # six tables
    assert not found.passed
    assert found.figures["loss/ε"] > 1


@pytest.mark.full
@pytest.mark.parametrize("broken", [SumValues, ShareRows])
def test_sums_with_the_noise_of_counts_are_caught(monkeypatch, broken):
    honest = broken.plan
    monkeypatch.setattr(broken, "plan", lambda self, source: replace(honest(self, source), stability=1))
    assert asked("csv", "operators", "sums", "heavy").figures["loss/ε"] > 1


def test_people_in_parts_that_are_charged_as_one_are_caught(monkeypatch):
    """Once in each part, and so as if in one part only: but a person can be in all of them. (Charged at the root, each
    part after the other, the same would be dear, and no mistake.)"""
    honest = GroupBy.plan

    def plan(self, source):
        outcome = honest(self, source)
        return replace(outcome, stability=Fraction(1, LIMIT)) if source.divided else outcome

    monkeypatch.setattr(GroupBy, "plan", plan)
    found = asked("arrow", "operators", "people in parts", "heavy", "")
    assert not found.passed
    assert found.figures["loss/ε"] > 1
