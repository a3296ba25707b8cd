"""How far off the tables of a release are expected to be, in closed form where there is one, and the same in words."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from adyton.exact import display
from adyton.marginals.pair_model import PairModel
from adyton.marginals.program import ROWS, Wanted
from adyton.plans.base import ErrorKind, ExpectedError
from adyton.queries.measurement import Group
from adyton.result.sheets import with_counted
from adyton.solving.residuals import Residuals, in_order

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.marginals.tables_release import TablesRelease


MEASURED = "measured"


def table_errors(release: TablesRelease) -> pa.Table:
    """A line for each table that was asked for: cells, expected total variation if it is known, how it was got."""
    import pyarrow as pa

    model, groups = release.model, release.groups
    columns = {
        "table": [" × ".join(group) for group in groups],
        "cells": [_cells(release.wanted.sides, group) for group in groups],
        "expected_error": pa.array([total_variation(model, group) for group in groups], type=pa.float64()),
        "how": [how_got(model, group) for group in groups],
    }
    return pa.table(with_counted(columns, release.counted_rows, len(groups)))


def how_got(model: PairModel, group: Group) -> str:
    """How a table was got, without making it."""
    names = in_order(group, model.sides)
    if len(names) < 2:
        return MEASURED
    if len(names) == 2:
        return model.pair((names[0], names[1]))[1]
    if names in model.errors:
        return MEASURED
    connected = any(model.pair(pair)[1] != "independent" for pair in itertools.combinations(names, 2))
    return "fitted to pairs" if connected else "independent"


def total_variation(model: PairModel, group: Group) -> float | None:
    """The expected total variation of a measured table; None where it depends on what was not measured."""
    names = in_order(group, model.sides)
    if len(names) == 1 and names in model.errors:
        table = model.singles[names[0]]
        return float(np.minimum(model.errors[names], table).sum() / (2 * max(model.total, 1e-9)))
    if len(names) == 2:
        return model.expected_error((names[0], names[1]))
    if names not in model.errors:
        return None
    return float(np.minimum(model.errors[names], model.table(*names).counts).sum() / (2 * max(model.total, 1e-9)))


def expected_error(release: TablesRelease) -> ExpectedError:
    """Of all cells of the tables that were asked for, from the variances of least squares.

    Where all tables are determined by what was measured, denoising is meant to improve on it. Else it is the noise
    alone: what attributes have to do with one another beyond the measured pairs comes on top.
    """
    squares, model, wanted = release.estimated.squares, release.model, release.wanted
    total, energies = 0.0, release.wanted.energies
    kind: ErrorKind = "upper mark"
    for group in release.groups:
        variance = squares.mean_variance(group, energies)
        if not math.isfinite(variance):
            kind, variance = "noise only", _noise(squares, model, group) / _cells(wanted.sides, group)
        total += wanted.asked_of(group) * variance
    return ExpectedError(math.sqrt(total), wanted.queries, kind)


def least_squares_error(squares: Residuals, wanted: Wanted) -> ExpectedError | None:
    """Of all queries about the wanted tables, by least squares; None if not all of them are determined."""
    energies = wanted.energies
    total = sum(wanted.asked_of(group) * squares.mean_variance(group, energies) for group in wanted.groups)
    return ExpectedError(math.sqrt(total), wanted.queries, "upper mark") if math.isfinite(total) else None


def _noise(squares: Residuals, model: PairModel, group: Group) -> float:
    """Σ of the variances of all cells of a product of single attributes: Σ_i n_i·Var_i·Π_{j≠i} Σ p_j²."""
    shares = {name: float(((model.singles[name] / max(model.total, 1e-9)) ** 2).sum()) for name in group}
    return sum(
        model.singles[name].size * squares.variance(name) * math.prod(shares[one] for one in group if one != name)
        for name in group
    )


def _cells(sides: dict[str, int], group: Group) -> int:
    return math.prod(sides[name] for name in group)


def way_in_words(release: TablesRelease) -> str:
    """What was measured, and why."""
    if not release.bought:
        return f"Algorithm: {release.algorithm}, as asked: {release.why}."
    looks = [one for one in release.bought if one.name != ROWS]
    if not looks:
        rows = release.bought[0]
        about = f"about {rows.value:,.0f} rows (± {rows.deviation:,.3g}, noisy)"
        return f"Algorithm: {release.algorithm}, as asked: {release.why}, for {about}."
    look = looks[0]
    price = display(look.spent * release.rows_per_unit)
    return (
        f"Algorithm: {release.algorithm}, chosen after the tables of single attributes and a look at {look.words} "
        f"({look.value:,.6g} ± {look.deviation:,.3g}, noisy), for ε = {price}: {release.why}."
    )


def errors_in_words(release: TablesRelease) -> str:
    """In parts of all rows, as total variation: the unit in which tables can be compared."""
    model = release.model
    known = [error for group in release.groups if (error := total_variation(model, group)) is not None]
    counted = Counter(how_got(model, group) for group in release.groups)
    ways = ", ".join(f"{number:,} {how}" for how, number in counted.most_common())
    if not known:
        return f"Tables: {ways}. Their errors depend on the data and have no closed form."
    rest = "" if len(known) == len(release.groups) else " The error of the others depends on what was not measured."
    return (
        f"Tables: {ways}. Expected error of {len(known):,} of them: at most {100 * float(np.mean(known)):.2g}% of all "
        f"rows are in a wrong cell, on average (total variation).{rest} errors() has each."
    )
