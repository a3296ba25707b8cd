"""``adyton reproduce``: run the evaluation of a paper again, and write its tables, pictures and a report."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adyton.cli.console import make_folder, notes, out, print_json, printable, progress
from adyton.cli.options import FiguresAsJson, NoBar
from adyton.errors import BadInput
from adyton.messages import no_such

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adyton.lab.reproduce.records import Record
    from adyton.lab.reproduce.tables import Sheet

PAPERS = ("pythia",)
_PRINTED = ("gains", "claims", "fig4", "fig7")
_BEST = 6
"""How many single algorithms of the whole library are printed; the files have all of them."""
_WIDTH = 140


def command(
    paper: Annotated[str, typer.Argument(help="pythia (choosing algorithms; SIGMOD 2017, Section 8).")],
    data: Annotated[Path, typer.Option("--data", help="The folder that holds the DPBench histograms.")],
    folder: Annotated[Path, typer.Option("--out", help="The folder to write to: records, tables, pictures, a report.")],
    public: Annotated[
        bool, typer.Option("--public", help="Say that these data are public: nothing done with them is protected.")
    ] = False,
    cache: Annotated[
        Path | None, typer.Option("--cache", help="The file that keeps what was measured; else one in --out.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A coarse grid of sizes and scales.")] = False,
    as_json: FiguresAsJson = False,
    quiet: NoBar = False,
) -> None:
    """Run the evaluation of a paper again, beside what the paper says."""
    from adyton.lab.corpus import confirm_public
    from adyton.lab.reproduce.figures import need_plots
    from adyton.lab.reproduce.pythia import run, steps

    if paper not in PAPERS:
        raise BadInput(no_such("paper to reproduce", paper, PAPERS))
    if not data.is_dir():
        raise BadInput(f"{data} is not a folder. Give the one that holds the DPBench histograms.")
    confirm_public(public, "reproducing an evaluation", "It is made for the histograms of DPBench, which are.")
    need_plots()
    make_folder(folder)
    kept = folder / "experiments.db" if cache is None else cache
    number = steps(data, kept, public=public, quick=quick)
    with progress("reproduce pythia", number, quiet=quiet or as_json, kept=kept) as advance:
        records = run(data, cache=kept, public=public, quick=quick, advance=advance)
    sheets = _write(records, folder, _trees(data, kept, folder, public=public, quick=quick), quick=quick)
    if as_json:
        print_json([{"title": one.title, "figures": one.figures} for one in sheets if one.chapter in _PRINTED])
        return
    _print(records)
    if not quiet:
        notes().print(printable(f"Everything is in {folder}; begin with report.html."))


def _trees(data: Path, cache: Path, folder: Path, *, public: bool, quick: bool) -> list[Path]:
    """Pictures of the trees that are learnt from all data sets at ε = 1; everything they need is in the cache.

    ``trees-2d.svg`` has all trees for a plane; that of short boxes, the paper's Fig. 8, is in ``fig8.svg`` too.
    """
    from adyton.lab.reproduce.pythia import all_settings
    from adyton.report.selectors import draw
    from adyton.selection.tree_selector import TreeSelector

    pictures = {}
    for settings in all_settings(data, cache, public=public, quick=quick):
        if settings.epsilon == "1":
            selector = settings.paper().train()
            if isinstance(selector, TreeSelector):
                pictures[folder / f"trees-{settings.dimensions}d.svg"] = selector
                if "short" in selector.trees:
                    pictures[folder / "fig8.svg"] = replace(selector, trees={"short": selector.trees["short"]})
    for path, one in pictures.items():
        draw(one, path)
        draw(one, path.with_suffix(".png"))
    return list(pictures)


def _write(records: Sequence[Record], folder: Path, trees: list[Path], *, quick: bool) -> list[Sheet]:
    """All files: records.jsonl, tables.json, tables.txt, the pictures and report.html."""
    from rich.console import Console

    from adyton import __version__
    from adyton.lab.reproduce.figures import all_figures
    from adyton.lab.reproduce.records import write_records
    from adyton.lab.reproduce.report import write_report
    from adyton.lab.reproduce.tables import all_sheets, as_rich

    write_records(records, folder / "records.jsonl")
    sheets = all_sheets(records)
    plain = [{"title": one.title, "chapter": one.chapter, "note": one.note, "figures": one.figures} for one in sheets]
    (folder / "tables.json").write_text(json.dumps(plain, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    text = io.StringIO()
    console = Console(file=text, width=_WIDTH, highlight=False)
    for sheet in sheets:
        console.print(as_rich(sheet))
    (folder / "tables.txt").write_text(
        "\n".join(line.rstrip() for line in text.getvalue().split("\n")), encoding="utf-8"
    )
    about = (
        f"Adyton {__version__}; {len(records):,} records. Written by: adyton reproduce pythia{' --quick' * quick}.",
        "Regret is the error of a method divided by that of the best algorithm for the same input. Every data set was "
        "held out in turn: no selector was trained on the data set that it is judged on.",
    )
    pictures = all_figures(records, folder) + trees
    write_report(folder / "report.html", "Pythia, evaluated again", about, sheets, pictures)
    return sheets


def _print(records: Sequence[Record]) -> None:
    from adyton.lab.reproduce.summaries import parts
    from adyton.lab.reproduce.tables import as_rich, claims_sheet, fig4, fig7, gains_sheet

    found = parts(records)
    sheets = [sheet for part in found for sheet in fig4(part, None if part.experiment == "paper" else _BEST)]
    sheets += [sheet for part in found for sheet in fig7(part)]
    console = out()
    for sheet in [*sheets, *claims_sheet(records), *gains_sheet(records)]:
        console.print(as_rich(sheet))
