"""``adyton reproduce``: run the evaluation of a paper again, and write its tables, pictures and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adyton.cli.console import make_folder, notes, out, print_json, printable, progress
from adyton.cli.options import FiguresAsJson, NoBar
from adyton.errors import BadInput
from adyton_lab.corpus import confirm_public
from adyton_lab.pages import need_plots
from adyton_lab.reproduce.evaluation import Given, evaluation_named, write_all
from adyton_lab.reproduce.sheets import as_rich

_PAPERS = (
    "pythia (choosing algorithms; SIGMOD 2017, Section 8), jostle (private decision trees; Fig. 4.2), naive-bayes "
    "(Pythia, Figs. 5 and 6; εKTELO, SIGMOD 2018, Fig. 3), configuration (tuning parameters; made-up instances), "
    "census (εKTELO, Table 1), ektelo (εKTELO, Tables 2 and 3, Fig. 4) or dawa (PVLDB 2014, Figs. 3 to 7)."
)


def command(
    paper: Annotated[str, typer.Argument(help=_PAPERS)],
    folder: Annotated[Path, typer.Option("--out", help="The folder to write to: records, tables, pictures, a report.")],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="The folder that holds the public data, if the paper needs them: DPBench's histograms, or tables.",
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Confirm that these data are public: nothing done with them is protected.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", help="The file that keeps measurements for later runs; by default, a file in --out."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A coarse grid of sizes and scales, or few trials.")] = False,
    as_json: FiguresAsJson = False,
    quiet: NoBar = False,
) -> None:
    """Run the evaluation of a paper again, and compare the results with the paper's."""
    evaluation = evaluation_named(paper)
    if cache is not None and not evaluation.keeps:
        raise BadInput(f"{paper} keeps nothing between runs. Leave out --cache.")
    if evaluation.needs:
        if data is None:
            raise BadInput(f"{paper} needs public data. Use --data to give the folder that holds {evaluation.needs}.")
        if not data.is_dir():
            raise BadInput(f"{data} is not a folder. Give the folder that holds {evaluation.needs}.")
        confirm_public(public, "reproducing an evaluation", "It is made for data that were published for this purpose.")
    elif data is not None:
        raise BadInput(f"{paper} makes up its own instances. Leave out --data.")
    need_plots()
    kept = (cache or folder / "experiments.db") if evaluation.keeps else None
    given = Given(data=data or folder, folder=folder, public=public, quick=quick, kept=kept)
    make_folder(folder)
    steps, run = evaluation.start(given)
    with progress(f"reproduce {paper}", steps, quiet=quiet or as_json, kept=kept) as advance:
        records = run(advance)
    sheets = [sheet for sheet in write_all(evaluation, records, given) if sheet.chapter in evaluation.main]
    if as_json:
        print_json([{"title": sheet.title, "figures": sheet.figures} for sheet in sheets])
        return
    for sheet in sheets:
        out().print(as_rich(sheet))
    if not quiet:
        notes().print(printable(f"Everything is in {folder}; begin with report.html."))
