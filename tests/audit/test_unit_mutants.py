"""Seeded bugs of the limit on rows per unit: the audit whose neighbours are persons must catch every one of them."""

from dataclasses import replace
from fractions import Fraction

import ibis
import pytest

from adyton.audit.units import LIMIT, audit_units
from adyton.kernel.tables.private_table import PrivateTable
from adyton.kernel.tables.units import UNIT, Units
from adyton.kernel.transforms import GroupBy

SPLIT, PEOPLE = {"frame": ("split",)}, {"frame": ("people",)}


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
            object.__setattr__(part, "_rows", kept(placed(part._rows, part._rows[UNIT]), 4))
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
        rows = placed(self.rows, self.rows[UNIT], self.order())
        return rows.filter((rows["place"] < self.limit) | rows[UNIT].isnull())

    monkeypatch.setattr(Units, "cut", cut)


def by_place(monkeypatch):
    """The rows that come first are kept: which ones these are depends on where others stand."""
    monkeypatch.setattr(Units, "cut", lambda self: kept(placed(self.rows, self.rows[UNIT]), self.limit))


def by_number_of_rows(monkeypatch):
    """The order is salted with something that everybody's rows are part of."""

    def cut(self):
        digest = (self.rows["content"] + self.rows.count().as_scalar().cast("string")).hashbytes("md5")
        return kept(placed(self.rows, self.rows[UNIT], [digest]), self.limit)

    monkeypatch.setattr(Units, "cut", cut)


def one_too_many(monkeypatch):
    """The limit off by one."""
    honest = Units.cut
    monkeypatch.setattr(Units, "cut", lambda self: honest(replace(self, limit=self.limit + 1)))


SLOWER = [pytest.param(one, marks=pytest.mark.full) for one in (by_number_of_rows, one_too_many)]


@pytest.mark.parametrize("mutant", [in_the_parts, by_file, blank_unlimited, by_place, *SLOWER])
def test_a_limit_that_is_none_is_caught(monkeypatch, mutant):
    mutant(monkeypatch)
    found = audit_units(SPLIT)
    assert not found.passed
    assert found.figures["loss/ε"] > 1


def test_people_in_parts_that_are_charged_as_one_are_caught(monkeypatch):
    """Once in each part, and so as if in one part only: but a person can be in all of them. (Charged at the root, each
    part after the other, the same would be dear, and no mistake.)"""
    honest = GroupBy.plan

    def plan(self, source):
        outcome = honest(self, source)
        return replace(outcome, stability=Fraction(1, LIMIT)) if source.divided else outcome

    monkeypatch.setattr(GroupBy, "plan", plan)
    found = audit_units(PEOPLE)
    assert not found.passed
    assert found.figures["loss/ε"] > 1


@pytest.mark.full
def test_the_honest_limit_passes():
    found = audit_units(SPLIT)
    assert found.passed, found.detail
    assert 0.95 < found.figures["loss/ε"] <= 1
