"""``adyton configure``: tune a parameter on private instances; ``adyton configure plan``: how many a target needs."""

from __future__ import annotations

import glob
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.cli.console import accept_large, check_file, out, plain_table, print_json, progress, remark
from adyton.cli.delivery import deliver, delivered
from adyton.cli.options import Accept, Dataset, LedgerFile, Quiet, Total, Yes
from adyton.cli.request import check_accepted, check_folder, options_of, total_of
from adyton.configuration.configure import configure
from adyton.configuration.family import Family, families, family_named
from adyton.configuration.reading import paths_of, read_instances
from adyton.configuration.result import Configuration, Guarantee, planned
from adyton.errors import BadInput
from adyton.exact import as_number, budget, display
from adyton.interrupts import termination_interrupts
from adyton.report.page import render
from adyton.result.folder import staged
from adyton.result.pending import Keeper
from adyton.result.result import attempt
from adyton.result.sheets import AS_IT_IS

_PLAN, _TODAY = "plan", "today"
_OWNERS = ("file", "folder")
_COUNTS = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)
_WIDTHS = (0.1, 0.01, 0.001)


def _names() -> list[str]:
    return families()


_Words = Annotated[
    list[str] | None, typer.Argument(metavar="[plan] [FILES]", help="plan: read no instances, only show the guarantee.")
]
_Family = Annotated[
    str | None, typer.Option(metavar="NAME", help="What to tune, such as auction or knapsack.", autocompletion=_names)
]
_Option = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the family.")]
_Files = Annotated[
    list[str] | None, typer.Option("--instances", metavar="FILES", help="Files of instances; also 'bids/*.txt'.")
]
_Epsilon = Annotated[str, typer.Option(help="The privacy budget of this configuration, for example 1.")]
_Interval = Annotated[
    str | None, typer.Option(metavar="A,B", help="The range of the parameter; by default that of the family.")
]
_Neighbours = Annotated[str, typer.Option(help="How neighbouring sets of instances differ: add-remove, or replace.")]
_Utility = Annotated[str, typer.Option(help="regret, or value.")]
_Clip = Annotated[str, typer.Option(help="regret: the largest relative loss that one instance counts for.")]
_Bound = Annotated[str | None, typer.Option(help="value: a public number that no value exceeds.")]
_Default = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="The value in use (or the word today); it gets half of the prior probability."),
]
_OwnerFrom = Annotated[
    str | None,
    typer.Option(
        metavar="file|folder|FILE",
        help="Who owns an instance: one owner for each file, for each folder, or as named in a line of FILE.",
    ),
]
_Out = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Write the report and a JSON file here; or FILE.json.")
]
_Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page about it: an .html file.")]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what --out and --report name.")]
_Public = Annotated[
    bool, typer.Option("--public", help="The instances are public: use simulated noise, and show the utility curve.")
]
_Seed = Annotated[int | None, typer.Option(min=0, help="public: the seed of the simulated noise.")]
_Target = Annotated[str | None, typer.Option(help="plan: the average loss to allow, such as 0.005.")]
_Points = Annotated[
    int | None, typer.Option(min=2, help="plan: for a grid of this many points instead of an interval.")
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def command(
    words: _Words = None,
    family: _Family = None,
    option: _Option = None,
    instances: _Files = None,
    epsilon: _Epsilon = "1",
    interval: _Interval = None,
    neighbours: _Neighbours = "add-remove",
    utility: _Utility = "regret",
    clip: _Clip = "0.1",
    bound: _Bound = None,
    default: _Default = None,
    owner_from: _OwnerFrom = None,
    ledger: LedgerFile = None,
    total: Total = None,
    dataset: Dataset = None,
    accept: Accept = None,
    out_file: _Out = None,
    report: _Report = None,
    overwrite: _Overwrite = False,
    public: _Public = False,
    seed: _Seed = None,
    target: _Target = None,
    points: _Points = None,
    yes: Yes = False,
    as_json: _AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tune a parameter of an algorithm on private instances; "adyton configure plan" says how many a target needs."""
    words = words or []
    if words[:1] == [_PLAN] and not instances:
        about: dict[str, Any] = {"neighbours": neighbours, "utility": utility, "clip": clip, "bound": bound}
        promise = planned(epsilon, points=points, has_default=default is not None, **about)
        _print_plan(promise, target, as_json=as_json)
        return
    if target is not None or points is not None:
        raise BadInput("--target and --points belong to a plan. Write adyton configure plan --target 0.005.")
    files = [*(instances or ()), *words]
    if family is None or not files:
        raise BadInput("name what to tune, and the instances: --family auction --instances 'bids/*.txt'.")
    tuned = family_named(family, options_of(option))
    settings: dict[str, Any] = {"interval": _interval(interval), "default": _default(default, tuned)}
    settings |= {"neighbours": neighbours, "utility": utility, "clip": clip, "bound": bound, "accept": accept or ()}
    check_accepted(accept or ())
    amount = budget(epsilon, "--epsilon")
    accept_large(amount, "a configuration", "instance" if owner_from is None else "owner", yes=yes, quiet=quiet)
    if report is not None:
        if out_file is not None and out_file.resolve() == report.resolve():
            raise BadInput("--out and --report name the same file. Give each its own.")
        check_file(report, overwrite=overwrite, option="--report")
    if report is None or out_file is not None or not overwrite:
        check_folder(out_file, files, overwrite=overwrite)
    settings |= _paid_from(amount, ledger, total, dataset or _folder_of(files), public=public, seed=seed)
    _tune(tuned, files, owner_from, amount, settings, out_file, report, overwrite, as_json=as_json, quiet=quiet)


def _tune(
    family: Family[object],
    files: list[str],
    owner_from: str | None,
    amount: Fraction,
    settings: dict[str, Any],
    out_file: Path | None,
    report: Path | None,
    overwrite: bool,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    quietly, keeper = quiet or as_json, Keeper()
    folder = nullcontext() if out_file is None else staged(out_file, overwrite=overwrite)
    with termination_interrupts(), folder as place:
        held, settings["owner"] = _instances(family, files, owner_from)

        def ask() -> Configuration:
            with progress("asking instances", len(held), quiet=quietly) as advance:
                done = 0

                def step(now: int, of: int) -> None:
                    nonlocal done
                    advance(now - done)
                    done = now

                return configure(family, held, amount, progress=step, keep=keeper.keep, **settings)

        hand_over = partial(deliver, place=place, look=AS_IT_IS, as_json=as_json, quiet=quiet)
        delivered(keeper, ask, hand_over, None, place=place, quiet=quietly)
    if report is not None:
        _write_report(keeper.last, report, quiet=quiet)


def _write_report(configuration: Configuration, file: Path, *, quiet: bool) -> None:
    """Write the page; if that fails, a remark says so, and what was paid for stays as it is."""
    problems: list[str] = []
    attempt("The report", problems, lambda: file.write_text(render(configuration), encoding="utf-8"))
    for words in problems or ([] if quiet else [f"The report is {file}."]):
        remark(words)


def _print_plan(promise: Guarantee, target: str | None, *, as_json: bool) -> None:
    """Print the average loss for several numbers of instances, and how many a target requires."""
    widths = _WIDTHS if promise.points is None else _WIDTHS[:1]  # a grid's points have no neighbourhoods
    losses = {count: [promise.average_loss(count, width=width) for width in widths] for count in _COUNTS}
    needed = None if target is None else [promise.instances_needed(target, width=width) for width in widths]
    if as_json:
        print_json(
            {
                "epsilon": as_number(promise.epsilon),
                "neighbours": promise.neighbours,
                "utility": promise.utility.name,
                "scale": as_number(promise.utility.scale),
                "points": promise.points,
                "has_default": promise.has_default,
                "probability": 0.95,
                "widths": list(widths) if promise.points is None else None,
                "average_losses": [{"instances": count, "losses": row} for count, row in losses.items()],
                "target": target,
                "instances_needed": needed,
            }
        )
        return
    table = plain_table()
    table.title, table.title_justify = (
        f"ε = {display(promise.epsilon)}: average loss, at most, with probability 95%",
        "left",
    )
    table.add_column("instances", justify="right")
    for width in widths:
        table.add_column("the best point" if promise.points else f"width {width:.1%}", justify="right")
    regret = promise.utility.name == "regret"
    for count, row in losses.items():
        table.add_row(f"{count:,}", *(f"{100 * loss:.3g}%" if regret else f"{loss:.4g}" for loss in row))
    if needed is not None:
        table.add_row(f"for {target}", *(f"{count:,} needed" for count in needed))
    out().print(table)
    remark(
        "Compared with the best point of the grid; nothing is known about values between the points."
        if promise.points
        else "Compared with any parameter that is at least as good on a neighbourhood of this width (of the interval)."
    )
    if regret:
        clip = display(promise.utility.scale)
        remark(f"A loss of more than {clip} on one instance counts as {clip}.")


def _paid_from(
    amount: Fraction, ledger: str | None, total: str | None, dataset: str, *, public: bool, seed: int | None
) -> dict[str, Any]:
    """The ledger and its total; for public instances neither, but a seed."""
    if not public:
        return {"ledger": ledger, "dataset": dataset, "total": total_of(amount, total, ledger), "seed": seed}
    if ledger is not None or total is not None:
        raise BadInput("public instances need no ledger: nothing is spent on them. Leave --ledger and --total out.")
    return {"public": True, "seed": seed}


def _folder_of(files: list[str]) -> str:
    """The name of the instances: the innermost folder of the first file whose name is not a pattern."""
    plain = (folder.name for folder in Path(files[0]).resolve().parents if not glob.has_magic(str(folder)))
    return next(plain, "") or "instances"


def _interval(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise BadInput(f"--interval is written A,B with two numbers, such as 0,2; given {text}.") from None
    return low, high


def _default(text: str | None, family: Family[object]) -> float | None:
    if text is None or text == _TODAY:
        return None if text is None else float(family.default)
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"--default is a number, or the word today; given {text}.") from None


def _instances(
    family: Family[object], files: list[str], owner_from: str | None
) -> tuple[list[object], list[str] | None]:
    """All instances and, if each owner counts once, the owner of each."""
    held: list[object] = []
    owners: list[str] = []
    for path in paths_of(files):
        here: list[object] = read_instances(family.kind, path)
        held += here
        owners += [str(path if owner_from == _OWNERS[0] else path.resolve().parent)] * len(here)
    if owner_from is None or owner_from in _OWNERS:
        return held, None if owner_from is None else owners
    try:
        lines = Path(owner_from).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        raise BadInput(
            f"--owner-from takes file, folder or a file with a line for each instance; given {owner_from}."
        ) from None
    return held, lines
