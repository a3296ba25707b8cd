"""``adyton bench``: speed and error against peers, measured side by side in one run."""

from __future__ import annotations

from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.cli.console import out, plain_table, print_json, progress
from adyton.cli.options import FiguresAsJson, NoBar, Trials
from adyton.errors import BadInput
from adyton.messages import no_such

_DATA = ("data", "public", "trials")
_BENCHMARKS: dict[str, tuple[str, ...]] = {
    "noise": (),
    "vectorize": ("rows", "engine"),
    "plans": ("plans", *_DATA),
    "inference": (),
    "scarce": ("plans", *_DATA),
    "variants": _DATA,
    "selections": (),
    "choosing": (),
    "clipped": _DATA,
    "judged": _DATA,
    "intervals": _DATA,
    "classifiers": _DATA,
    "learning": (),
    "pairs": _DATA,
    "stripes": _DATA,
    "numbers": _DATA,
    "scale": ("rows", "cells", "workers"),
}
"""Each a module of :mod:`adyton_lab.bench`, and what it takes of the options."""
_LONG = "judged"
"""Tells of more steps than it has records: these come at the end."""
_HELP = (
    "noise (against OpenDP), vectorize (counting, against plain SQL, Polars and NumPy), plans (time and error beside "
    "published figures), inference (against LSMR and L-BFGS-B on sparse matrices), scarce (few rows, against the "
    "published DAWA, which is not private), variants (of MWEM, against MWEM), selections (partitions of a million "
    "cells), choosing (how long it takes to choose an algorithm), clipped (what is chosen, against noise cut off at "
    "zero), judged (the selectors of the package on the inputs of the Pythia paper), intervals (how often they hold "
    "the true count), classifiers (the one that is chosen, and each single one, on nursery, contraceptive and HIV-1), "
    "learning (from a million rows, against the bare group-bys), pairs (tables of many attributes, against "
    "independent noise cut off at zero), stripes (plans along the longest of several attributes, against the best of "
    "known error), numbers (means, medians and quartiles by groups: error, error told beforehand, and how often "
    "bounds hold) or scale (time and memory against rows, pair tables, cells, attributes, queries and workers)."
)


def command(
    subject: Annotated[str, typer.Argument(help=_HELP)],
    data: Annotated[
        str | None,
        typer.Option("--data", help="A folder with the DPBench histograms (clipped: any corpus); else made-up."),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Say that --data are public: nothing done with them is protected.")
    ] = False,
    plan: Annotated[
        list[str] | None, typer.Option("--plan", help="plans, scarce: only this one; can be repeated.")
    ] = None,
    trials: Trials = 10,
    rows: Annotated[
        int, typer.Option(min=10**6, max=10**10, help="scale, vectorize: (up to) so many rows.")
    ] = 10_000_000,
    engine: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="vectorize: a PostgreSQL of this machine, or `spark`; else Parquet."),
    ] = None,
    cells: Annotated[int, typer.Option(min=1 << 10, max=1 << 24, help="scale: up to so many cells.")] = 262_144,
    workers: Annotated[int, typer.Option(min=1, max=64, help="scale: up to so many workers.")] = 2,
    plots: Annotated[Path | None, typer.Option(metavar="FOLDER", help="scale: write pictures into it, as SVG.")] = None,
    as_json: FiguresAsJson = False,
    quiet: NoBar = False,
) -> None:
    """Measure the product and its peers in the same run, and print the ratios."""
    from adyton.plans import plan_named
    from adyton_lab.corpus import confirm_public

    if subject not in _BENCHMARKS:
        raise BadInput(no_such("benchmark", subject, _BENCHMARKS))
    if data is not None:
        confirm_public(public, "a benchmark", "Leave --data out to measure on made-up data.")
    for name in plan or ():
        plan_named(name)
    if plots is not None:
        _make(plots, subject)
    given = {"plans": plan, "data": data, "public": public, "trials": trials}
    given |= {"rows": rows, "cells": cells, "workers": workers, "engine": engine}
    options = {name: given[name] for name in _BENCHMARKS[subject]}
    benchmark = import_module(f"adyton_lab.bench.{subject}")
    with progress(f"bench {subject}", benchmark.steps(**options), quiet=quiet or as_json) as advance:
        if subject == _LONG:
            records = [asdict(record) for record in benchmark.compare(**options, advance=advance)]
        else:
            records = []
            for record in benchmark.compare(**options):
                records.append(asdict(record))
                advance(1)
    if plots is not None:
        _write_plots(records, plots)
    if as_json:
        print_json(records)
        return
    table = plain_table()
    for name in records[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for values in records:
        table.add_row(*map(_show, values.values()))
    out().print(table)


def _make(folder: Path, subject: str) -> None:
    """The folder for pictures, before anything is measured."""
    if subject != "scale":
        raise BadInput("--plots is for the benchmark `scale`. Leave it out.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise BadInput(f"the folder {str(folder)!r} for --plots cannot be made. Give another one.") from None


def _write_plots(records: list[dict[str, Any]], folder: Path) -> None:
    """Time against each thing that grows, and memory against rows and cells."""
    from adyton_lab.bench.scale import Growth
    from adyton_lab.bench.scale_plot import plot

    found = [Growth(**record) for record in records]
    for grows in dict.fromkeys(one.grows for one in found):
        measure = "seconds" if grows == "workers" else "processor_seconds"
        (folder / f"scale-{grows}.svg").write_text(plot(found, grows, measure), encoding="utf-8")
    (folder / "scale-memory.svg").write_text(plot(found, "cells", "megabytes"), encoding="utf-8")


def _show(value: Any) -> str:
    match value:
        case None:
            return "–"
        case float():
            return f"{value:.4g}"
        case tuple():
            return " ".join(_show(one) for one in value)
        case _:
            return str(value)
