"""The programs for many tables, by name."""

from __future__ import annotations

from typing import Any

from adyton.errors import BadInput
from adyton.marginals.all_pairs import AllPairs
from adyton.marginals.chosen_way import ChosenWay
from adyton.marginals.program import Program
from adyton.marginals.select_pairs import SelectPairs
from adyton.messages import no_such
from adyton.plans.options import with_options

AUTO = ChosenWay.name
PROGRAMS: dict[str, type[Program]] = {one.name: one for one in (AllPairs, SelectPairs, ChosenWay)}


def program_named(name: str, **options: Any) -> Program:
    """A program with its options.

    >>> program_named("select-pairs", pairs=12)
    SelectPairs(pairs=12)
    """
    if name not in PROGRAMS:
        raise BadInput(no_such("program for many tables", name, PROGRAMS))
    return with_options(PROGRAMS[name], name, options)
