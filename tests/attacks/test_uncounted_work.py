"""Requests whose work, before or after they are paid for, grew faster than anything that a limit counts."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.kernel.counting import packs
from adyton.kernel.counting import table as local_table
from adyton.kernel.counting.packs import Column, Joins, packed
from adyton.kernel.mechanisms import MeasureTables, NestedQuantiles
from adyton.kernel.operators import MOST_PARTS, check_request
from adyton.kernel.reading import cells
from adyton.kernel.shapes import VectorShape
from adyton.queries import Identity, Partition
from adyton.solving import energies


def forbidden(*_, **__):
    raise AssertionError("this was to be done before, or not at all")


def rows(**sides: int) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame({name: random.integers(0, side, 50) for name, side in sides.items()})


def schema(**sides: int) -> ad.Schema:
    return ad.Schema({name: ad.Integer(0, side - 1) for name, side in sides.items()})


def test_many_tables_are_planned_before_they_are_paid_for(monkeypatch) -> None:
    sides = {f"a{number}": 4 for number in range(20)}
    kernel = ad.Kernel(rows(**sides), schema=schema(**sides), epsilon=1)
    groups = list(itertools.combinations(sides, 2))
    tables = kernel.root.tables(groups)
    for place in (packs, local_table):
        monkeypatch.setattr(place, "packed", forbidden)
    assert len(tables.measure(MeasureTables.weighted(range(len(groups))), 1).tables()) == len(groups)


def test_marginals_are_planned_before_anything_is_paid_for(monkeypatch) -> None:
    sides = {f"a{number}": 3 for number in range(8)}
    session = ad.Session(rows(**sides), schema=schema(**sides), epsilon=2)
    planned = []
    own_packed, own_debit = local_table.packed, ad.Kernel._debit
    monkeypatch.setattr(local_table, "packed", lambda *given: planned.append("plan") or own_packed(*given))
    monkeypatch.setattr(
        ad.Kernel, "_debit", lambda kernel, *given: planned.append("debit") or own_debit(kernel, *given)
    )
    session.release(ad.Marginals(way=2), 1, misfits=False)
    assert planned.index("debit") > planned.index("plan")
    assert "plan" not in planned[planned.index("debit") :]


@pytest.mark.parametrize("open_packs", [1, 5, 1 << 12])
def test_packs_have_all_groups_however_few_are_looked_at(open_packs: int, monkeypatch) -> None:
    monkeypatch.setattr(packs, "_OPEN", open_packs)
    columns = {f"x{place}": Column(size, size + 1) for place, size in enumerate([3, 1, 7, 40, 2, 9, 300, 2, 5, 11])}
    groups = [*itertools.combinations(columns, 3), *itertools.combinations(columns, 1)]
    made, where = packed(columns, groups)
    assert all({*group} <= {*made[number].names} for group, number in zip(groups, where, strict=True))
    assert all(pack.keys <= packs.KEYS_TOGETHER or pack.names in groups for pack in made)


def test_what_is_joined_makes_every_pack() -> None:
    random = np.random.default_rng(1)
    wanted = [sorted(random.choice(12, size, replace=False).tolist()) for size in random.integers(1, 7, 200)]
    joins = Joins.of(12, wanted)
    assert [sorted(joins.members(end)) for end in joins.ends] == wanted
    assert len(set(joins.pairs)) == len(joins.pairs) < sum(len(pack) - 1 for pack in wanted)


def test_parts_of_a_split_are_made_when_they_are_needed(monkeypatch) -> None:
    kernel = ad.Kernel(rows(a=20_000, b=2), schema=schema(a=20_000, b=2), epsilon=1)
    own = cells.cells
    monkeypatch.setattr(cells, "cells", forbidden)
    parts = kernel.root.split("a")
    assert len(parts) == 20_000
    monkeypatch.setattr(cells, "cells", own)
    parts[7].where("b = 1").count("0.5")
    assert kernel.spent == Fraction(1, 2)


def test_a_split_into_too_many_parts_is_refused() -> None:
    parts = MOST_PARTS + 1
    kernel = ad.Kernel(rows(a=parts), schema=schema(a=parts), epsilon=1)
    with pytest.raises(BadInput, match="at most 131,072 are allowed"):
        kernel.root.split("a")
    vector = kernel.root.vectorize()
    with pytest.raises(BadInput, match="at most 131,072 are allowed"):
        vector.split(Partition(np.arange(parts)))
    assert len(vector.split(Partition(np.arange(parts) // 64))) == parts // 64 + 1
    assert vector.measure(Identity(parts), 1).answers.size == parts


def test_ranges_over_two_attributes_are_not_written_out(monkeypatch) -> None:
    session = ad.Session(rows(a=60, b=50), schema=schema(a=60, b=50), epsilon=1)
    monkeypatch.setattr(energies, "_energies_by_rows", forbidden)
    assert session.release(ad.Ranges("a", "b"), 1).estimate.shape == (60, 50)


def test_quantiles_of_very_many_groups_are_not_found_group_by_group() -> None:
    """Each choice, and each run of a plan, takes its time, however few cells it is among."""
    sides = {"group": 200_000, "value": 3}
    session = ad.Session(rows(**sides), schema=schema(**sides), epsilon=1)
    for algorithm in ("choice", "cdf"):
        with pytest.raises(BadInput, match="Name histogram"):
            session.release(ad.Quantiles("value", by="group"), 1, algorithm=algorithm)
    assert session.spent == 0
    assert session.release(ad.Quantiles("value", by="group"), 1).algorithm == "histogram"
    every = NestedQuantiles(3, 3, (Fraction(1, 2),), np.ones(3, dtype=np.int64))
    with pytest.raises(BadInput, match="steps of arithmetic"):
        check_request(every, VectorShape((300_000, 3)), Fraction(1))
