"""The programs for many tables, by name."""

from __future__ import annotations

from typing import Any

from adyton.errors import BadInput
from adyton.marginals.all_pairs import AllPairs
from adyton.marginals.all_tables import AllTables
from adyton.marginals.chosen_way import ChosenWay
from adyton.marginals.privbayes import PrivBayes, PrivBayesLs
from adyton.marginals.program import TablesProgram
from adyton.marginals.select_pairs import SelectPairs
from adyton.messages import no_such
from adyton.plans import registry
from adyton.plans.options import with_options

AUTO = ChosenWay.name
PROGRAMS: dict[str, type[TablesProgram]] = {
    one.name: one for one in (AllPairs, AllTables, SelectPairs, PrivBayes, PrivBayesLs, ChosenWay)
}
NAMED = tuple(name for name in PROGRAMS if name != AUTO)
"""Those that somebody can name."""


def what_it_does(name: str) -> str:
    """A program in a few words, or else an algorithm of another kind.

    >>> what_it_does("all-pairs")
    'Every pair of attributes, with the shares of the budget that make the sum of all errors least'
    """
    if name not in PROGRAMS:
        return registry.what_it_does(name)
    return " ".join((PROGRAMS[name].__doc__ or "").split("\n\n")[0].split()).split(". ")[0].rstrip(".")


def program_named(name: str, **options: Any) -> TablesProgram:
    """A program with its options.

    >>> program_named("select-pairs", pairs=12)
    SelectPairs(pairs=12, label=None)
    """
    if name not in PROGRAMS:
        raise BadInput(no_such("program for many tables", name, PROGRAMS))
    return with_options(PROGRAMS[name], name, options)
