"""``adyton audit``: try to break the privacy of everything."""

from __future__ import annotations

from typing import Annotated

import typer

from adyton.cli.console import REFUSED, out, plain_table, print_json, progress
from adyton.cli.options import NoBar
from adyton_lab.audit.run import audit, steps


def command(
    profile: Annotated[
        str, typer.Option(help="brief (a minute), quick (some minutes) or full (long, for releases).")
    ] = "quick",
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    quiet: NoBar = False,
) -> None:
    """Attack the noise, the mechanisms, whole programs, the accounting and the ledger, and report the findings.

    Ends with exit code 1 if any check failed.
    """
    with progress("audit", steps(profile), quiet=quiet or as_json) as advance:
        findings = list(audit(profile, lambda: advance(1)))
    failed = [finding for finding in findings if not finding.passed]
    if as_json:
        print_json({"profile": profile, "passed": not failed, "findings": [finding.as_dict() for finding in findings]})
    else:
        table = plain_table()
        for column in ("", "room", "check", "finding"):
            table.add_column(column, overflow="fold")
        for finding in findings:
            table.add_row("ok" if finding.passed else "FAILED", finding.room, finding.check, finding.detail)
        out().print(table)
        out().print(f"{len(findings) - len(failed)} of {len(findings)} checks passed.")
    if failed:
        raise typer.Exit(REFUSED)
