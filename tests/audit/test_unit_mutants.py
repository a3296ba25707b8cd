"""Seeded bugs of the limit on rows per unit: the audit whose neighbours are persons must catch every one of them."""

from dataclasses import replace
from fractions import Fraction

import ibis
import pytest

from adyton.audit.people import LIMIT
from adyton.audit.whole_programs import audit_cases, table_cases
from adyton.kernel.tables import units
from adyton.kernel.tables.private_table import PrivateTable
from adyton.kernel.tables.units import DIGEST, UNIT, Units
from adyton.kernel.transforms import GroupBy, ShareRows, SumValues


def asked(source, kind, name, *removed):
    """The finding about one question to a table with and without some people."""
    return audit_cases(name, table_cases(kind, {source: removed}, names=[name]))


def placed(rows, group, order=()):
    return rows.mutate(place=ibis.row_number().over(group_by=group, order_by=list(order)))


def kept(rows, limit):
    return rows.filter(rows["place"] < limit)


def in_the_parts(monkeypatch):
    """The limit applied inside the parts of a split."""
    honest = PrivateTable.split

    def split(self, attribute, partition):
        parts = honest(self, attribute, partition)
        for part in parts:
            object.__setattr__(part, "_given", kept(placed(part._rows, part._rows[UNIT]), 4))
        return parts

    monkeypatch.setattr(Units, "cut", lambda self: self.rows)
    monkeypatch.setattr(PrivateTable, "split", split)


def by_file(monkeypatch):
    """The limit applied by each of three readers to what comes its way."""

    def cut(self):
        numbered = self.rows.mutate(reader=ibis.row_number() % 3)
        return kept(placed(numbered, [numbered[UNIT], numbered["reader"]]), self.limit)

    monkeypatch.setattr(Units, "cut", cut)


def blank_unlimited(monkeypatch):
    """Rows without a unit are nobody's, and so as many as there are."""

    def cut(self):
        rows = placed(self.rows, self.rows[UNIT], [self.rows[DIGEST]])
        return rows.filter((rows["place"] < self.limit) | rows[UNIT].isnull())

    monkeypatch.setattr(Units, "cut", cut)


def by_place(monkeypatch):
    """The rows that come first are kept: which ones these are depends on where others stand."""
    monkeypatch.setattr(Units, "cut", lambda self: kept(placed(self.rows, self.rows[UNIT]), self.limit))


def by_number_of_rows(monkeypatch):
    """The order is salted with something that everybody's rows are part of."""

    def cut(self):
        salted = self.rows.mutate(salt=(self.rows[DIGEST] + self.rows.count().over().cast("string")).hash())
        return kept(placed(salted, salted[UNIT], [salted["salt"]]), self.limit)

    monkeypatch.setattr(Units, "cut", cut)


def one_too_many(monkeypatch):
    """The limit off by one."""
    honest = Units.cut
    monkeypatch.setattr(Units, "cut", lambda self: honest(replace(self, limit=self.limit + 1)))


def merged_by_capitals(monkeypatch):
    """Two people whose names differ by a capital are taken for one: what is kept of one depends on the other."""
    honest = units._name
    monkeypatch.setattr(units, "_name", lambda *given: honest(*given).lower())


def merged_as_numbers(monkeypatch):
    """So are 7 and 07."""
    monkeypatch.setattr(units, "_name", lambda column, engine: units._reread(column.strip().nullif(""), engine))


def joined_twice(monkeypatch):
    """A join after the cut that finds two partners for every row."""
    honest = Units.cut
    monkeypatch.setattr(Units, "cut", lambda self: (rows := honest(self)).union(rows))


def written(column):
    return column.cast("string"), column.cast("string")


def by_type(monkeypatch):
    """The order goes by how values are written, which another's rows have a say in where types are inferred."""
    monkeypatch.setattr(units, "_content", lambda column, *_: written(column))


def after_the_filter(monkeypatch):
    """The rows that pass a filter are cut, not those of the table: a person has a limit for every filter, which would
    be no mistake if each were charged; and in the parts of a split, which are charged together."""
    honest = PrivateTable.where

    def where(self, predicate):
        found = honest(self, predicate)
        object.__setattr__(found, "_rows", kept(placed(found._rows, found._rows[UNIT]), LIMIT))
        return found

    monkeypatch.setattr(Units, "cut", lambda self: kept(placed(self.rows, self.rows[UNIT]), 10 * self.limit))
    monkeypatch.setattr(PrivateTable, "where", where)


CASES = [
    (in_the_parts, "arrow", "operators", "split", "heavy"),
    (blank_unlimited, "arrow", "operators", "split", ""),
    (by_place, "csv", "operators", "split", "f"),
]
MORE = [
    (after_the_filter, "arrow", "operators", "split", "heavy"),
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
    found = asked(source, kind, name, person)
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
