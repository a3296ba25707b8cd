"""``adyton configure``: tune a parameter on private instances; ``adyton configure plan``: how many a target needs."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli import asked
from adyton.cli.charges import check_words, total_of
from adyton.cli.configuration_delivery import Delivery
from adyton.cli.configuration_plan import print_plan
from adyton.cli.console import InterruptedRelease, accept_large, progress
from adyton.cli.options import Accept, Dataset, LedgerFile, Quiet, Total, Yes
from adyton.errors import BadInput
from adyton.exact import budget
from adyton.interrupts import termination_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from adyton.configuration.family import Family
    from adyton.configuration.guarantee import Guarantee

_PLAN, _TODAY = "plan", "today"
_OWNERS = ("file", "folder")


def _names() -> list[str]:
    from adyton.configuration.registry import families

    return families()


_Words = Annotated[
    list[str] | None, typer.Argument(metavar="[plan] [FILES]", help="plan: read nothing, only say what is promised.")
]
_Family = Annotated[
    str | None, typer.Option(metavar="NAME", help="What to tune, such as auction or knapsack.", autocompletion=_names)
]
_Option = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the family.")]
_Files = Annotated[
    list[str] | None, typer.Option("--instances", metavar="FILES", help="Files of instances; also 'bids/*.txt'.")
]
_Epsilon = Annotated[str, typer.Option(help="The privacy budget of this configuration, for example 1.")]
_Interval = Annotated[str | None, typer.Option(metavar="A,B", help="Where to look; as the family says if not given.")]
_Neighbours = Annotated[str, typer.Option(help="add-remove, or replace: whom ε protects.")]
_Utility = Annotated[str, typer.Option(help="regret, or value.")]
_Clip = Annotated[str, typer.Option(help="regret: a larger relative loss on one instance counts as this.")]
_Bound = Annotated[str | None, typer.Option(help="value: a public number that no value exceeds.")]
_Default = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="Today's value (or: today), which gets half of the prior.")
]
_OwnerFrom = Annotated[
    str | None,
    typer.Option(metavar="file|folder|FILE", help="Whose an instance is: its file's, its folder's, or a line of FILE."),
]
_Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Keep the configuration in this JSON file.")]
_Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page about it: an .html file.")]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace FILE of --out and --report.")]
_Public = Annotated[bool, typer.Option("--public", help="The instances are public: simulated noise, and a curve.")]
_Seed = Annotated[int | None, typer.Option(min=0, help="public: the seed of the simulated noise.")]
_Target = Annotated[str | None, typer.Option(help="plan: how much may be lost on average, such as 0.005.")]
_Points = Annotated[int | None, typer.Option(min=2, help="plan: for a grid of so many points, not an interval.")]
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
        promise = _promise(epsilon, neighbours, utility, clip, bound, points, default)
        print_plan(promise, target, as_json=as_json)
        return
    if target is not None or points is not None:
        raise BadInput("--target and --points belong to a plan. Write adyton configure plan --target 0.005.")
    files = [*(instances or ()), *words]
    if family is None or not files:
        raise BadInput("say what to tune, and on which instances: --family auction --instances 'bids/*.txt'.")
    from adyton.configuration.registry import family_named

    tuned = family_named(family, asked.options_of(option))
    settings: dict[str, Any] = {"interval": _interval(interval), "default": _default(default, tuned)}
    settings |= {"neighbours": neighbours, "utility": utility, "clip": clip, "bound": bound, "accept": accept or ()}
    check_words(accept or ())
    amount = budget(epsilon, "--epsilon")
    accept_large(amount, "a configuration", "instance" if owner_from is None else "owner", yes=yes, quiet=quiet)
    delivery = Delivery(out_file, report, as_json, quiet)
    delivery.check(overwrite)
    settings |= _paid_from(amount, ledger, total, dataset or _folder_of(files), public=public, seed=seed)
    held, settings["owner"] = _instances(tuned, files, owner_from)
    with termination_interrupts(), progress("asking instances", len(held), quiet=quiet or as_json) as advance:
        _tune(tuned, held, amount, settings, _advanced(advance), delivery)
    delivery.finish()


def _tune(
    family: Family[object],
    instances: list[object],
    amount: Fraction,
    settings: dict[str, Any],
    told: Callable[[int, int], None],
    delivery: Delivery,
) -> None:
    from adyton.configuration.configure import configure

    try:
        configure(family, instances, amount, progress=told, keep=delivery.keep, **settings)
    except KeyboardInterrupt as interrupt:
        if delivery.kept is None:
            raise
        raise InterruptedRelease(delivery.interrupted(), interrupt) from None


def _promise(
    epsilon: str, neighbours: str, utility: str, clip: str, bound: str | None, points: int | None, default: str | None
) -> Guarantee:
    from adyton.configuration.guarantee import planned

    about = {"neighbours": neighbours, "utility": utility, "clip": clip, "bound": bound}
    return planned(epsilon, points=points, has_default=default is not None, **about)  # type: ignore[arg-type]


def _paid_from(
    amount: Fraction, ledger: Path | None, total: str | None, dataset: str, *, public: bool, seed: int | None
) -> dict[str, Any]:
    """The ledger and what it may hold; for public instances neither, but a seed."""
    if not public:
        return {"ledger": ledger, "dataset": dataset, "total": total_of(amount, total, ledger), "seed": seed}
    if ledger is not None or total is not None:
        raise BadInput("public instances need no ledger: nothing is spent on them. Leave --ledger and --total out.")
    return {"public": True, "seed": seed}


def _folder_of(files: list[str]) -> str:
    """The folder of the first file, as far as it is named without a pattern: what the instances are called."""
    plain = (one.name for one in Path(files[0]).resolve().parents if not glob.has_magic(str(one)))
    return next(plain, "") or "instances"


def _advanced(advance: Callable[[int], None]) -> Callable[[int, int], None]:
    """From how many are done, to how many more."""
    before = 0

    def told(done: int, of: int) -> None:
        nonlocal before
        advance(done - before)
        before = done

    return told


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
    """All instances, and the owner of each, if owners have a vote."""
    from adyton.configuration.reading import paths_of, read_instances

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
