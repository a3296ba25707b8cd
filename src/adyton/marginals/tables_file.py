"""Many tables in plain values, from those of a stranger, and several releases of them put together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.marginals.pair_model import PairModel
from adyton.marginals.program import Wanted, program_named
from adyton.messages import listing, shorten
from adyton.queries.measurement import MeasuredTable
from adyton.result.receipt import read_bought
from adyton.result.released import joint_receipt
from adyton.schema.plain_values import as_real, as_text, of_kind, part_of
from adyton.solving.residuals import in_order
from adyton.tasks import Marginals
from adyton.whole import SAFE

if TYPE_CHECKING:
    from adyton.marginals.tables_release import TablesRelease


_MOST_CELLS = 1 << 25
"""As many as the kernel counts at once."""
_MOST_ATTRIBUTES = 5
"""In one measured table."""


def own_dict(release: TablesRelease, model: PairModel | None) -> dict[str, Any]:
    """All that was measured, and the model of it if there is one yet."""
    return {
        "why": release.why,
        "bought": [one.to_plain() for one in release.bought],
        "measured": [
            {"group": list(one.group), "variance": one.variance, "counts": np.asarray(one.counts).ravel().tolist()}
            for one in release.measured
        ],
        "model": None if model is None else model.to_dict(),
    }


def own_parts(plain: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """These parts of the release, by name."""
    schema, task, epsilon = common["schema"], common["task"], common["epsilon"]
    if not isinstance(task, Marginals) or task.select(schema) != schema:
        raise BadInput("the task is about other attributes than the schema")
    wanted = Wanted.by(task, schema)
    wanted.check()
    program_named(common["algorithm"], **common["options"])
    return {
        "measured": _measured(part_of(plain, "measured"), wanted),
        "why": as_text(part_of(plain, "why"), "why"),
        "bought": tuple(read_bought(one, epsilon) for one in of_kind(list, part_of(plain, "bought"), "bought")),
        "kept": _model(part_of(plain, "model"), wanted),
    }


def _measured(plain: object, wanted: Wanted) -> tuple[MeasuredTable, ...]:
    """Noisy tables of few attributes, which tell of every attribute."""
    found, cells, allowed = [], 0, set(wanted.counted)
    for one in of_kind(list, plain, "measured"):
        group = tuple(as_text(name, "an attribute") for name in of_kind(list, part_of(one, "group"), "a group"))
        few = 0 < len(group) <= _MOST_ATTRIBUTES and all(name in wanted.sides for name in group)
        if group not in allowed and not (few and in_order(group, wanted.sides) == group):
            raise BadInput(f"{shorten(group)} is no table that is measured for this task")
        cells += math.prod(wanted.sides[name] for name in group)
        if cells > _MOST_CELLS:
            raise BadInput(f"the measured tables have more than {_MOST_CELLS:,} cells")
        variance = as_real(part_of(one, "variance"), "a variance")
        if not variance > 0:
            raise BadInput(f"a variance must be above 0, given {variance}")
        shape = tuple(wanted.sides[name] for name in group)
        found.append(MeasuredTable(group, _counts(part_of(one, "counts"), shape), variance))
    lacking = set(wanted.sides) - set(chain.from_iterable(one.group for one in found))
    if lacking:
        raise BadInput(f"nothing was measured of {shorten(min(lacking))}")
    return tuple(found)


def _counts(plain: object, shape: tuple[int, ...]) -> Integers:
    cells = of_kind(list, plain, "counts")
    if len(cells) != int(np.prod(shape)) or not all(type(cell) is int and -SAFE <= cell <= SAFE for cell in cells):
        raise BadInput(f"counts must be whole numbers in the shape {shape}, none of them beyond ±2^62")
    return np.array(cells, dtype=np.int64).reshape(shape)


def _model(plain: object, wanted: Wanted) -> PairModel | None:
    """The model as it was saved: of these attributes, with the pairs in their order."""
    if plain is None:
        return None
    model = PairModel.from_dict(of_kind(dict, plain, "model"))
    sides = wanted.sides
    if model.sides != sides or list(model.sides) != list(sides):
        raise BadInput("the model is about other attributes than the schema")
    for group in (*model.pairs, *model.fitted, *model.errors):
        if tuple(in_order(group, sides)) != tuple(group):
            raise BadInput("the tables of the model are not in the order of the schema")
    if not all(0 <= error <= float(SAFE) for error in model.errors.values()):
        raise BadInput("the errors of the model must be numbers of at least 0")
    return model


def joined(releases: Sequence[TablesRelease]) -> TablesRelease:
    """One release with the measurements of all: least squares weighs each by its noise."""
    first = releases[0]
    for what in ("task", "algorithm", "options"):
        different = [one for one in releases if getattr(one, what) != getattr(first, what)]
        if different:
            both = listing([str(getattr(one, what)) for one in (first, different[0])])
            raise BadInput(f"releases of tables are combined if they have the same {what}; these have {both}.")
    return replace(
        first,
        epsilon=sum((one.epsilon for one in releases), Fraction(0)),
        measured=tuple(table for one in releases for table in one.measured),
        why=f"{first.why}; put together from {len(releases)} releases",
        bought=tuple(look for one in releases for look in one.bought),
        receipt=joint_receipt([one.receipt for one in releases]),
        misfits=None,
        unfinished=next((one.unfinished for one in releases if one.unfinished), None),
        kept=None,
    )


def share_tables(one: TablesRelease, other: TablesRelease) -> bool:
    """Whether the same counts, from the same entries of a ledger, are in both."""
    return not set(one.receipt.entries).isdisjoint(other.receipt.entries) and any(
        left.group == right.group and np.array_equal(left.counts, right.counts)
        for left, right in itertools.product(one.measured, other.measured)
    )
