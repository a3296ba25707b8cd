"""``adyton bench``: speed against peers, measured side by side in one run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from adyton.cli.console import out, plain_table, print_json, progress
from adyton.errors import BadInput

SUBJECTS = ("noise", "vectorize")


def command(
    subject: Annotated[str, typer.Argument(help="noise (against OpenDP) or vectorize (against plain DuckDB SQL).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar.")] = False,
) -> None:
    """Measure the product and its peer in the same run, and print the ratios."""
    if subject not in SUBJECTS:
        raise BadInput(f"there is no benchmark {subject!r}. Choose one of {', '.join(SUBJECTS)}.")
    with progress(f"bench {subject}", quiet=quiet or as_json):
        records = _noise() if subject == "noise" else _vectorize()
    if as_json:
        print_json(records)
        return
    table = plain_table()
    for name in records[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for record in records:
        table.add_row(*(f"{value:.4g}" if isinstance(value, float) else str(value) for value in record.values()))
    out().print(table)


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
