"""``adyton explain``: what a selector has learnt, or why a release used the algorithm that it used."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adyton.cli.console import out, plain_table, print_json, printable, progress
from adyton.cli.numbers_delivery import explain_numbers
from adyton.errors import BadInput
from adyton.exact import as_number

if TYPE_CHECKING:
    from adyton.result import Release
    from adyton.selection.choice import Choice
    from adyton.selection.selector import Selector

_FILE = (
    "A selector that `adyton train` wrote, or the folder or JSON file of a release, of tables too, or of a classifier. "
    "Without it, the selector that comes with Adyton."
)
_OPENS = (
    "Give a folder that `adyton release --out` or `adyton fit --out` wrote, the JSON file in one, or the file of a "
    "selector that `adyton train` wrote."
)
_LISTED = 40
"""How many tables are listed."""


def command(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help=_FILE)] = None,
    dimensions: Annotated[
        int | None, typer.Option(min=1, max=2, help="Without a file: of the domains that the selector is for.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the selector: FILE.svg, FILE.png or FILE.pdf.")] = None,
    workload: Annotated[
        str | None, typer.Option(metavar="NAME", help="What would be chosen for identity, prefix, short, …, mixed?")
    ] = None,
    cells: Annotated[int | None, typer.Option(min=1, help="With --workload: the cells of the domain.")] = None,
    rows: Annotated[int | None, typer.Option(min=0, max=2**62, help="With --workload: the rows, if public.")] = None,
    epsilon: Annotated[str, typer.Option(help="With --workload: the budget.")] = "1",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say in words how an algorithm is chosen, or why one was chosen for a release.

    Reads public things only: a selector was learnt from public data, and a release is public.
    """
    if picture is not None:
        from adyton.report.pictures import check_ending

        check_ending(picture)
    if file is not None and not file.exists():
        raise BadInput(f"there is no file or folder {file}. {_OPENS}")
    for module, show, what in _SHOWN if file is not None else ():
        if import_module(module).KIND.says_so(file):
            if picture is not None or workload is not None or dimensions is not None:
                raise BadInput(f"{file} is {what}: --picture, --workload and --dimensions are for selectors.")
            show(file, as_json=as_json)
            return
    release = None if file is None else _release_in(file)
    if release is not None:
        if picture is not None or workload is not None or dimensions is not None:
            raise BadInput(f"{file} is a release: --picture, --workload and --dimensions are for selectors.")
        _show_release(release, as_json=as_json)
        return
    selector = _selector(file, dimensions)
    if workload is not None or cells is not None or rows is not None:
        if workload is None or cells is None or rows is None:
            raise BadInput("to ask what would be chosen, give all of --workload, --cells and --rows.")
        _show_choice(_would_choose(selector, workload, cells, rows, epsilon), as_json=as_json, left="is left")
    elif as_json:
        about = {"kind": selector.kind, "share": as_number(selector.share), "training": asdict(selector.training)}
        print_json({**about, "in_words": selector.in_words(), "picture": None if picture is None else str(picture)})
    else:
        _show_selector(selector)
    if picture is not None:
        from adyton.report.selectors import draw

        draw(selector, picture)


def _selector(file: Path | None, dimensions: int | None) -> Selector:
    """The selector in the file, or the one that is part of the package."""
    from adyton.selection.selector import Selector
    from adyton.selection.shipped import shipped_selector

    if file is not None:
        selector = Selector.load(file)
        if dimensions not in (None, selector.training.dimensions):
            raise BadInput(f"{file} is for {selector.training.dimensions} dimensions, given --dimensions {dimensions}.")
        return selector
    number = dimensions or 1
    try:
        return shipped_selector(number)
    except (BadInput, OSError):
        raise BadInput(
            f"the selector for {number} dimensions that comes with Adyton cannot be read. Install Adyton again, or "
            f"train one of your own: `adyton train --dimensions {number} --out selector.json`."
        ) from None


def _show_selector(selector: Selector) -> None:
    out().print(printable(str(selector)))
    table = plain_table()
    table.show_header = False
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in asdict(selector.training).items():
        words = ", ".join(value) if isinstance(value, tuple) else str(value)
        table.add_row(name, printable(words))
    out().print(table)
    for line in selector.in_words().splitlines():
        out().print(printable(line), soft_wrap=True)


def _would_choose(selector: Selector, workload: str, cells: int, rows: int, epsilon: str) -> Choice:
    """The choice for public facts alone; refused where the selector would look at the data."""
    import numpy as np

    from adyton.exact import positive
    from adyton.kernel.kernel import Kernel
    from adyton.selection.workload_kinds import workload_named

    amount, ndim = positive(epsilon, "--epsilon"), selector.training.dimensions
    if cells > 2**24:
        raise BadInput(f"--cells is at most {2**24:,}, given {cells:,}.")
    side = math.isqrt(cells) if ndim == 2 else cells
    if side**ndim != cells:
        raise BadInput(f"--cells of a plane are those of a square, such as 4096 for 64 × 64, given {cells}.")
    if workload == "prefix" and ndim == 2:
        raise BadInput("there are no prefixes on a plane. Ask about identity, short, medium, long or mixed.")
    domain = (side,) * ndim
    asked = workload_named(workload, domain)
    nobody = Kernel.simulated(np.zeros(domain, dtype=np.int64), epsilon=amount, seed=np.random.SeedSequence(0)).root
    choice = selector.choose(nobody, asked, amount, rows)
    if choice.bought:
        names = " and ".join(one.name for one in choice.bought)
        raise BadInput(f"that depends on the data: this selector would buy {names}. Look at its trees instead.")
    return choice


def _show_classifier(file: Path, *, as_json: bool) -> None:
    from adyton.learning import FittedClassifier

    fitted = FittedClassifier.load(file)
    if as_json:
        decisions = [one.to_plain() for one in fitted.decisions]
        print_json({"explanation": list(fitted.explain().paragraphs), "decisions": decisions})
        return
    for line in str(fitted.explain()).splitlines():
        out().print(printable(line), soft_wrap=True)


def _show_tables(file: Path, *, as_json: bool) -> None:
    """Why these tables were measured, what was looked at to decide, and how far off each is."""
    from adyton.exact import display
    from adyton.marginals.table_errors import table_errors
    from adyton.marginals.tables_release import TablesRelease

    release = TablesRelease.load(file)
    with progress("working out the tables", quiet=as_json):
        explanation, errors = release.explain(), table_errors(release).to_pylist()
    if as_json:
        bought = [one.to_plain() for one in release.bought]
        print_json({"explanation": list(explanation.paragraphs), "bought": bought, "tables": errors})
        return
    for paragraph in explanation.paragraphs:
        out().print(printable(paragraph), soft_wrap=True)
    for look in release.bought:
        price = display(look.spent * release.rows_per_unit)
        out().print(printable(f"Looked at {look.words}: {look.value:,.4g} ± {look.deviation:,.3g}, for ε = {price}."))
    table = plain_table()
    for title in ("table", "cells", "expected error", "how"):
        table.add_column(title, justify="left" if title in {"table", "how"} else "right")
    for line in errors[:_LISTED]:
        error = "–" if line["expected_error"] is None else f"{line['expected_error']:.4f}"
        table.add_row(printable(line["table"]), f"{line['cells']:,}", error, line["how"])
    out().print(table)
    if len(errors) > _LISTED:
        out().print(f"… and {len(errors) - _LISTED:,} more tables; --json has all of them.")


def _release_in(file: Path) -> Release | None:
    """The release in a folder or a file; None for a file of something else, such as a selector."""
    from adyton.choice.checked_file import named_format
    from adyton.result import Release
    from adyton.result.files import JSON, says_so

    if says_so(file) or (file / JSON).exists():
        return Release.load(file)
    if file.is_dir() or (file.suffix != ".json" and named_format(file) is None):
        raise BadInput(f"{file} holds nothing that can be explained. {_OPENS}")
    return None


def _show_release(release: Release, *, as_json: bool) -> None:
    with progress("estimating the error", quiet=as_json):
        explanation = release.explain()
    if as_json:
        print_json(
            {"explanation": list(explanation.paragraphs), "choice": release.choice and release.choice.to_plain()}
        )
        return
    for paragraph in explanation.paragraphs:
        out().print(printable(paragraph), soft_wrap=True)
    if release.choice is not None:
        _show_choice(release.choice, as_json=False, rows_per_unit=release.rows_per_unit)


def _show_choice(choice: Choice, *, as_json: bool, left: str = "was left", rows_per_unit: int = 1) -> None:
    if as_json:
        print_json(choice.to_plain())
        return
    from adyton.exact import display

    name, bought = printable(choice.algorithm), choice.bought
    said = f"after looking at {len(bought)} noisy feature{'s' * (len(bought) > 1)} of the data" if bought else ""
    out().print(f"Chosen: {name}, {said or 'from public information, at no cost in privacy'}.")
    if bought:
        table = plain_table()
        for title in ("feature", "noisy value", "deviation", "price ε"):
            table.add_column(title, justify="left" if title == "feature" else "right")
        for one in bought:
            table.add_row(
                printable(one.words), f"{one.value:,.4g}", f"± {one.deviation:,.3g}", display(one.spent * rows_per_unit)
            )
        out().print(table)
    table = plain_table()
    for title in ("algorithm", "expected error, relative to the best", ""):
        table.add_column(title, justify="right" if title.startswith("expected") else "left")
    for candidate, regret in choice.ranked():
        table.add_row(printable(candidate), regret, "chosen" if candidate == choice.algorithm else "")
    out().print(table)
    out().print(f"ε = {display(choice.left * rows_per_unit)} {left} for {name}.")
    for note in choice.notes:
        out().print(printable(f"Note: {note}"))


_SHOWN: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("adyton.learning.classifier_file", _show_classifier, "a classifier"),
    ("adyton.marginals.tables_file", _show_tables, "a release of tables"),
    ("adyton.statistics.numbers_file", explain_numbers, "a release of numbers"),
)
"""What a file can be besides a release of cells or a selector: the module that knows, how it is shown, its name."""
