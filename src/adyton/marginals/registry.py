"""The programs for many tables, by name."""

from __future__ import annotations

from typing import Any

from adyton.marginals.program import TablesProgram
from adyton.plans.registry import ALGORITHMS, Registry

AUTO = "auto"
PROGRAMS = Registry[TablesProgram](
    "program for many tables",
    {
        "all-pairs": "marginals.all_tables:AllPairs",
        "all-tables": "marginals.all_tables:AllTables",
        "select-pairs": "marginals.select_pairs:SelectPairs",
        "privbayes": "marginals.privbayes:PrivBayes",
        "privbayes-ls": "marginals.privbayes:PrivBayesLs",
        AUTO: "marginals.select_pairs:ChosenWay",
    },
)
NAMED = tuple(name for name in PROGRAMS if name != AUTO)
"""Those that somebody can name."""


def what_it_does(name: str) -> str:
    """A program in a few words, or else an algorithm of another kind.

    >>> what_it_does("all-pairs")
    'Every pair of attributes, in shares of a budget that make the sum of errors least'
    >>> what_it_does("hb")
    'A tree of counts whose branching suits the size of the domain, made consistent by …'
    """
    return (PROGRAMS if name in PROGRAMS else ALGORITHMS).what_it_does(name)


def program_named(name: str, **options: Any) -> TablesProgram:
    """A program with its options.

    >>> program_named("select-pairs", pairs=12)
    SelectPairs(pairs=12, label=None)
    """
    return PROGRAMS.named(name, **options)
