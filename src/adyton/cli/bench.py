"""``adyton bench``: speed and error against peers, measured side by side in one run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from adyton.cli.console import out, plain_table, print_json, progress
from adyton.errors import BadInput
from adyton.messages import no_such

SUBJECTS = ("noise", "vectorize", "plans", "inference", "scarce", "variants", "selections", "choosing", "intervals")
_HELP = (
    "noise (against OpenDP), vectorize (against plain DuckDB SQL), plans (time and error beside published figures), "
    "inference (against LSMR and L-BFGS-B on sparse matrices), scarce (few rows, against the published DAWA, which is "
    "not private), variants (of MWEM, against MWEM), selections (partitions of a million cells), choosing (how long "
    "it takes to choose an algorithm) or intervals (how often they hold the true count)."
)


def command(
    subject: Annotated[str, typer.Argument(help=_HELP)],
    data: Annotated[
        str | None, typer.Option("--data", help="A folder with the DPBench histograms; else made-up shapes.")
    ] = None,
    plan: Annotated[
        list[str] | None, typer.Option("--plan", help="plans, scarce: only this one; can be repeated.")
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=1, help="How many runs each error is averaged over.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar.")] = False,
) -> None:
    """Measure the product and its peers in the same run, and print the ratios."""
    from adyton.plans import plan_named

    if subject not in SUBJECTS:
        raise BadInput(no_such("benchmark", subject, SUBJECTS))
    for name in plan or ():
        plan_named(name)
    hidden = quiet or as_json
    if subject == "plans":
        records = _plans(data, plan, trials, quiet=hidden)
    elif subject == "scarce":
        records = _scarce(data, plan, trials, quiet=hidden)
    elif subject == "variants":
        records = _variants(data, trials, quiet=hidden)
    elif subject == "selections":
        records = _selections(quiet=hidden)
    elif subject == "choosing":
        records = _choosing(quiet=hidden)
    elif subject == "intervals":
        records = _intervals(data, trials, quiet=hidden)
    else:
        with progress(f"bench {subject}", quiet=quiet or as_json):
            records = {"noise": _noise, "vectorize": _vectorize, "inference": _inference}[subject]()
    if as_json:
        print_json(records)
        return
    table = plain_table()
    for name in records[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for record in records:
        table.add_row(*(_show(value) for value in record.values()))
    out().print(table)


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


def _plans(data: str | None, only: list[str] | None, trials: int, *, quiet: bool) -> list[dict[str, Any]]:
    from adyton.bench.plans import compare, steps

    with progress("bench plans", steps(plans=only), quiet=quiet) as advance:
        found = compare(plans=only, trials=trials, data=data, advance=lambda: advance(1))
        return [asdict(record) for record in found]


def _scarce(data: str | None, only: list[str] | None, trials: int, *, quiet: bool) -> list[dict[str, Any]]:
    from adyton.bench.scarce import compare, steps

    with progress("bench scarce", steps(only), quiet=quiet) as advance:
        return [asdict(one) for one in compare(plans=only, trials=trials, data=data, advance=lambda: advance(1))]


def _variants(data: str | None, trials: int, *, quiet: bool) -> list[dict[str, Any]]:
    from adyton.bench.variants import compare, steps

    with progress("bench variants", steps(), quiet=quiet) as advance:
        return [asdict(one) for one in compare(trials=trials, data=data, advance=lambda: advance(1))]


def _selections(*, quiet: bool) -> list[dict[str, Any]]:
    from adyton.bench.selections import compare, steps

    with progress("bench selections", steps(), quiet=quiet) as advance:
        return [asdict(one) for one in compare(advance=lambda: advance(1))]


def _choosing(*, quiet: bool) -> list[dict[str, Any]]:
    from adyton.bench.choosing import compare, steps

    with progress("bench choosing", steps(), quiet=quiet) as advance:
        return [asdict(one) for one in compare(advance=lambda: advance(1))]


def _intervals(data: str | None, trials: int, *, quiet: bool) -> list[dict[str, Any]]:
    from adyton.bench.intervals import compare, steps

    with progress("bench intervals", steps(), quiet=quiet) as advance:
        return [asdict(one) for one in compare(data=data, trials=trials, advance=lambda: advance(1))]


def _noise() -> list[dict[str, Any]]:
    from adyton.bench.noise import compare

    return [
        {
            "scale": str(record.scale),
            "draws": record.draws,
            "seconds": record.seconds,
            "opendp_seconds": record.opendp_seconds,
            "times_faster": record.ratio,
            "fit_p": record.fit,
            "opendp_fit_p": record.opendp_fit,
            "same_law_p": record.same_law,
        }
        for record in compare()
    ]


def _vectorize() -> list[dict[str, Any]]:
    from adyton.bench.vectorize import compare

    record = compare()
    return [{**asdict(record), "times_the_sql": record.ratio}]


def _inference() -> list[dict[str, Any]]:
    from adyton.bench.inference import compare

    return [{**asdict(record), "times_faster": record.ratio} for record in compare()]
