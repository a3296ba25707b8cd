"""``adyton bench``: speed and error against peers, measured side by side in one run."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.cli.console import out, plain_table, print_json, progress
from adyton.cli.options import FiguresAsJson, NoBar, Trials
from adyton.errors import BadInput
from adyton.messages import no_such
from adyton.plans import plan_named
from adyton_lab.corpus import confirm_public
from adyton_lab.pages import need_plots

_DATA = ("data", "public", "trials")
_SUITES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "noise": ("peers", (), "against OpenDP"),
    "vectorize": ("counting", ("rows", "engine"), "counting, against plain SQL, Polars and NumPy"),
    "plans": ("plans", ("plans", *_DATA), "time and error, against published figures"),
    "inference": ("peers", (), "against LSMR and L-BFGS-B on sparse matrices"),
    "clipped": ("choices", _DATA, "the algorithms chosen, against noise clipped at zero"),
    "judged": ("choices", _DATA, "the selectors of the package on the inputs of the Pythia paper"),
    "intervals": (
        "intervals",
        _DATA,
        "of every kind of release: how often they contain the truth, and expected errors",
    ),
    "classifiers": (
        "classifiers",
        _DATA,
        "the default method on 28 labels of public tables, against methods by name, numbers of cells and boosting",
    ),
    "pairs": ("tables", _DATA, "tables of many attributes, against independent noise clipped at zero"),
    "tables": (
        "table_grid",
        (*_DATA, "tables", "epsilons"),
        "tables of pairs and synthetic rows on 24 public tables, by every algorithm at four resolutions and budgets",
    ),
    "stripes": ("tables", _DATA, "plans along the longest of several attributes, against the best of known error"),
    "numbers": (
        "numbers",
        _DATA,
        "means, medians and quartiles by groups: error, expected error, and how often bounds hold",
    ),
    "service": ("serving", ("trials",), "requests through a service, against a session in the same process"),
    "scale": (
        "scale",
        ("rows", "cells", "workers"),
        "time and memory against rows, pair tables, cells, attributes, queries and workers",
    ),
}
"""By the name of the suite's function: its module in :mod:`adyton_lab.bench`, its options, and what it measures."""
_HELP = "; ".join(f"{name} ({words})" for name, (_, _, words) in _SUITES.items()) + "."


def command(
    subject: Annotated[str, typer.Argument(help=_HELP)],
    data: Annotated[
        str | None,
        typer.Option(
            "--data", help="A folder with the DPBench histograms (clipped: any corpus). By default, made-up data."
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Confirm that --data are public: nothing done with them is protected.")
    ] = False,
    plan: Annotated[
        list[str] | None, typer.Option("--plan", help="plans: measure only this plan; can be repeated.")
    ] = None,
    tables: Annotated[
        list[str] | None, typer.Option("--table", help="tables: measure only on this table; can be repeated.")
    ] = None,
    epsilons: Annotated[
        list[str] | None, typer.Option("--epsilon", help="tables: measure only with this ε; can be repeated.")
    ] = None,
    trials: Trials = 10,
    rows: Annotated[
        int, typer.Option(min=10**6, max=10**10, help="scale, vectorize: the (largest) number of rows.")
    ] = 10_000_000,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="vectorize: a PostgreSQL server on this machine, or `spark`. By default, Parquet."
        ),
    ] = None,
    cells: Annotated[int, typer.Option(min=1 << 10, max=1 << 24, help="scale: the largest number of cells.")] = 262_144,
    workers: Annotated[int, typer.Option(min=1, max=64, help="scale: the largest number of workers.")] = 2,
    plots: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="scale: write plots into this folder, as SVG and PNG.")
    ] = None,
    lines: Annotated[
        Path | None,
        typer.Option("--lines", metavar="FILE", help="Add each figure to this file once it is measured, as JSON."),
    ] = None,
    as_json: FiguresAsJson = False,
    quiet: NoBar = False,
) -> None:
    """Measure the product and its peers in the same run, and print the ratios."""
    if subject not in _SUITES:
        raise BadInput(no_such("benchmark", subject, _SUITES))
    if data is not None:
        confirm_public(public, "a benchmark", "Leave --data out to measure on made-up data.")
    for name in plan or ():
        plan_named(name)
    if plots is not None:
        _make(plots, subject)
    module, takes, _ = _SUITES[subject]
    given: dict[str, Any] = {"plans": plan, "data": data, "public": public, "trials": trials}
    given |= {
        "tables": tables,
        "epsilons": epsilons,
        "rows": rows,
        "cells": cells,
        "workers": workers,
        "engine": engine,
    }
    options = {name: given[name] for name in takes}

    def report(steps: int) -> None:
        advance(steps)

    if subject == "judged":  # all its rows come at the end: it reports steps itself
        options["advance"] = report
    steps, suite = getattr(import_module(f"adyton_lab.bench.{module}"), subject)(**options)
    measured = []
    with progress(f"bench {subject}", steps, quiet=quiet or as_json) as advance:
        for record in suite:
            measured.append(record)
            if lines is not None:
                _add(lines, record)
            advance("advance" not in options)
    if plots is not None:
        import_module("adyton_lab.bench.scale").draw_growth(measured, plots)
    records = list(map(asdict, measured))
    if as_json:
        print_json(records)
        return
    table = plain_table()
    for name in records[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for values in records:
        table.add_row(*map(_show, values.values()))
    out().print(table)


def _add(lines: Path, record: Any) -> None:
    """Add a record to a file, as a line of JSON."""
    try:
        with lines.open("a") as file:
            file.write(json.dumps(asdict(record)) + "\n")
    except OSError:
        raise BadInput(f"{str(lines)!r} for --lines cannot be written. Give another file.") from None


def _make(folder: Path, subject: str) -> None:
    """Make the folder for plots, before anything is measured."""
    if subject != "scale":
        raise BadInput("--plots is for the benchmark `scale`. Leave it out.")
    need_plots()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise BadInput(f"the folder {str(folder)!r} for --plots cannot be created. Give another folder.") from None


def _show(value: Any) -> str:
    match value:
        case None:
            return "–"
        case float():
            return f"{value:.4g}"
        case tuple():
            return " ".join(map(_show, value))
        case _:
            return str(value)
