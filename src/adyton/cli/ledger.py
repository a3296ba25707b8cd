"""``adyton ledger``: show what a ledger has recorded, or write a privacy statement; ``adyton ledger raise``: allow
more, with the owner's consent; ``adyton ledger analyst``: who may spend how much of it; ``adyton ledger anchor``: its
head in a file elsewhere."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from adyton.cli.console import accept_large, check_file, notes, out, plain_table, print_json, printable, remark
from adyton.drafts import replaced
from adyton.errors import BadInput
from adyton.exact import Rational, display
from adyton.kernel.ledger import Ledger, LedgerReport
from adyton.kernel.ledger.ledger import store_at
from adyton.kernel.ledger.lines import Line, lines_of, moment, statement_lines
from adyton.kernel.ledger.plain import report_as_json
from adyton.kernel.ledger.records import checked_total
from adyton.messages import no_such

_NARROW = 100
_RAISE, _ANALYST, _ANCHOR = "raise", "analyst", "anchor"
_ENDINGS = (".html", ".md")


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="The ledger to show, a file or postgresql://…; or raise FILE, analyst FILE NAME, anchor FILE ANCHOR.",
        ),
    ],
    total: Annotated[str | None, typer.Option(help="raise: what may be spent in all from now on.")] = None,
    consent: Annotated[
        str | None,
        typer.Option(metavar="WORDS", help="raise, analyst, anchor: who consents for the data owner."),
    ] = None,
    part: Annotated[str | None, typer.Option(help="analyst: the most that they may spend.")] = None,
    aside: Annotated[bool, typer.Option("--aside", help="analyst: nobody else may spend their part.")] = False,
    expires: Annotated[
        str | None, typer.Option(metavar="DATE", help="analyst: the last day on which they may spend.")
    ] = None,
    release: Annotated[
        bool, typer.Option("--release", help="analyst: give up what they have not spent, so that others can spend it.")
    ] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="anchor: go on with a restored ledger, whatever its anchor says.")
    ] = False,
    head: Annotated[
        bool, typer.Option("--head", help="Print how far it has come, to keep elsewhere and compare later.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="raise: accept a total above 10.")] = False,
    statement: Annotated[
        bool, typer.Option("--statement", help="Write a privacy statement: one page for a data protection officer.")
    ] = False,
    out_file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="With --statement: write FILE.html or FILE.md. Otherwise Markdown is printed.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="With --out: replace a file that exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with exact fractions.")] = False,
) -> None:
    """Show what was spent, on what, and how much is left; "adyton ledger raise FILE --total 2" raises the total;
    "adyton ledger analyst FILE mara --part 1" lets mara spend at most 1 of it, and --release nothing more;
    "adyton ledger anchor FILE ANCHOR" writes the head of the ledger to the file ANCHOR, as a service does that has one.

    With --statement, write one page that says who is protected, what ε means for them, what was spent and published,
    under which terms, and what is not protected. It is made from the ledger alone.
    """
    raising, naming, anchoring = (len(words) > 1 and words[0] == word for word in (_RAISE, _ANALYST, _ANCHOR))
    if len(words) != 1 + raising + 2 * (naming or anchoring):
        raise BadInput(
            "give one ledger: adyton ledger FILE, adyton ledger raise FILE --total 2, adyton ledger analyst FILE NAME "
            "--part 1, or adyton ledger anchor FILE ANCHOR."
        )
    changing = raising or naming or anchoring
    file = words[1] if changing else words[0]
    name = store_at(file).name
    if not Ledger.exists(file):
        raise BadInput(f"{name} does not exist. Give the path of a ledger.")
    _check_statement(statement, out_file, Path(name), raising=changing, overwrite=overwrite)
    if naming:
        if release and (part is not None or aside or expires is not None):
            raise BadInput("--release leaves nothing to spend. Give it alone, or --part, --aside and --expires.")
        _set_analyst(file, words[2], part=part, aside=aside, expires=expires, consent=consent, release=release)
    elif part is not None or aside or release or expires is not None:
        raise BadInput(
            f"--part, --aside, --release and --expires belong to an analyst: adyton ledger analyst {name} NAME."
        )
    if raising:
        _raise(file, name, total, consent, yes)
    elif anchoring:
        _anchor(file, name, Path(words[2]), accept, consent)
    elif accept or total is not None or (consent is not None and not naming):
        raise BadInput(
            f"--total and --consent raise a total: adyton ledger raise {name} --total … With --accept, --consent goes "
            f"on against an anchor: adyton ledger anchor {name} ANCHOR --accept --consent …"
        )
    report = Ledger.read(file)
    if head:
        sys.stdout.write(f"{report.head}\n")
    elif statement:
        _write_statement(report, name, out_file, as_json=as_json)
    elif as_json:
        print_json(report_as_json(report))
    else:
        _print(report, out())


def _raise(file: str, name: str, total: str | None, consent: str | None, yes: bool) -> None:
    if total is None:
        raise BadInput(f"say what may be spent in all from now on: adyton ledger raise {name} --total 2.")
    allowed, held = checked_total(total), Ledger.read(file)
    accept_large(allowed, "a total", held.terms.named_unit if held.terms else "person", yes=yes)
    if consent is None and sys.stdin.isatty():
        notes().print(
            f"The total of {printable(held.dataset)} would rise from {display(held.total)} to {display(allowed)}: more "
            "could be learnt about everybody in it."
        )
        consent = typer.prompt("Who consents, for the data owner?", err=True)
    if consent is None or not consent.strip():
        raise BadInput("a total is raised with the data owner's consent: say whose, with --consent 'NAME, reason'.")
    with Ledger.open(file, total=held.total, dataset=held.dataset) as ledger:
        ledger.raise_total(allowed, consent=consent.strip())


def _anchor(file: str, name: str, anchor: Path, accept: bool, consent: str | None) -> None:
    """Compare a ledger with its anchor, and move that; write the first; or go on, though they differ."""
    if accept != bool(consent and consent.strip()):
        raise BadInput(
            "a ledger goes on against its anchor with the data owner's consent: give --accept and --consent 'NAME, "
            "reason', or neither."
        )
    held = Ledger.read(file)
    with Ledger.open(file, total=held.total, dataset=held.dataset) as ledger:
        try:
            if consent is not None and accept:
                for difference in ledger.accept_anchor(anchor, consent=consent.strip()):
                    remark(f"Accepted: {difference}.")
            else:
                ledger.start_anchor(anchor, first=True)
        except OSError as error:
            raise BadInput(f"the anchor {anchor} cannot be written ({error.strerror or error}).") from None
    remark(f"{anchor} has noted how far {name} has come.")


def _set_analyst(
    file: str,
    name: str,
    *,
    part: Rational | None,
    aside: bool,
    expires: str | None,
    consent: str | None,
    release: bool,
) -> None:
    held = Ledger.read(file)
    if release:
        own = next((analyst for analyst in held.analysts if analyst.name == name), None)
        if own is None:
            raise BadInput(no_such("analyst", name, [analyst.name for analyst in held.analysts]))
        part, expires = own.spent, own.expires  # if more is spent at this moment, it leaves them nothing as well
    with Ledger.open(file, total=held.total, dataset=held.dataset) as ledger:
        ledger.set_analyst(name, part=part, aside=aside, expires=expires, consent=consent)


def _check_statement(statement: bool, out_file: Path | None, ledger: Path, *, raising: bool, overwrite: bool) -> None:
    """Refuse a statement that cannot be written, before anything is done."""
    if statement and raising:
        raise BadInput(f"change the ledger first. Then write adyton ledger {ledger} --statement.")
    if out_file is None:
        if overwrite:
            raise BadInput("--overwrite belongs to --out. Name the file that may be overwritten.")
        return
    if not statement:
        raise BadInput("--out is for the privacy statement. Add --statement.")
    if out_file.suffix.lower() not in _ENDINGS:
        raise BadInput(f"--out is FILE.html or FILE.md, given {out_file}.")
    check_file(out_file, (ledger,), overwrite=overwrite)


def _write_statement(report: LedgerReport, file: str, out_file: Path | None, *, as_json: bool) -> None:
    from adyton.report.statement import Statement  # loading pages takes three times as long as the rest

    page = Statement(report, statement_lines(report), os.path.basename(file), datetime.now(UTC).date().isoformat())
    if out_file is not None:
        text = page.to_html() if out_file.suffix.lower() == ".html" else page.to_markdown()
        try:
            with replaced(out_file) as draft:
                draft.write_text(_plain(text), encoding="utf-8")
        except OSError as error:
            raise BadInput(
                f"{out_file} cannot be written ({error.strerror or error}). Give --out another file."
            ) from None
    if as_json:
        print_json(page.to_plain())
    elif out_file is None:
        sys.stdout.write(_plain(page.to_markdown()))
    else:
        remark(f"The privacy statement is in {out_file}.")


def _plain(text: str) -> str:
    """The text without control characters, line by line."""
    return "\n".join(map(printable, text.split("\n")))


def _print(report: LedgerReport, console: Console) -> None:
    from rich.text import Text

    lines = [
        *(("data set", printable(name)) for name in (report.dataset, *(own.name for own in report.further))),
        ("total", display(report.total)),
        ("spent", display(report.spent)),
        (
            "remaining",
            f"{display(report.remaining)}{f', {display(report.aside)} of it set aside' * bool(report.aside)}",
        ),
    ]
    if report.terms is not None:
        unit, rows = report.terms.shown("unit"), report.terms.rows_per_unit
        limit = "" if unit == "row" else f", at most {rows} row{'s' * (rows > 1)} each"
        lines.append(("protects", printable(f"every {unit}{limit}")))
        lines.append(("schema", f"digest {report.terms.shown('schema')}"))
        for digest, _, name in (line.partition(" ") for line in report.terms.files.splitlines()):
            lines.append(("levels", printable(f"of {name}, digest {digest[:12]}")))
    for own in report.analysts:
        lines.append(("analyst", printable(f"{own}; {display(own.spent)} spent{', expired' * own.expired}")))
    for label, value in lines:
        console.print(Text.assemble((f"{label:<10}", "bold"), value))
    console.print()
    if not report.entries:
        console.print("No entries yet.")
    elif console.width < _NARROW:
        for line in lines_of(report.entries):
            _print_narrow(line, console)
    else:
        _print_table(report, console)
    for event in report.events:
        consent = f"; consent: {event.consent}" if event.consent else ""
        whose = f" of {event.dataset}" if event.dataset and report.further else ""
        change = f"{event.changed}{whose} changed from {event.old} to {event.new}{consent}"
        console.print(Text(f"{moment(event.time)}  {printable(change)}"))
    for note in report.notes:
        console.print(Text(f"Note: {printable(note)}"))


def _print_table(report: LedgerReport, console: Console) -> None:
    from rich.text import Text

    table = plain_table()
    table.add_column("entry", justify="right", no_wrap=True)
    table.add_column("time (UTC)", no_wrap=True)
    table.add_column("amount", justify="right", overflow="fold")
    table.add_column("spent after", justify="right", overflow="fold")
    table.add_column("lineage", overflow="fold")
    table.add_column("operator", overflow="fold")
    table.add_column("status", no_wrap=True)
    if report.analysts:
        table.add_column("analyst", overflow="fold")
    for line in lines_of(report.entries):
        who = [Text(line.analyst)] if report.analysts else []
        table.add_row(*line[:4], Text(line.lineage), Text(line.operator), line.status, *who)
    console.print(table)


def _print_narrow(line: Line, console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Text(f"{line.number}. {line.amount} (spent after: {line.spent_after})", style="bold"))
    for words in (line.time, line.lineage, f"{line.operator}, {line.status}", line.analyst):
        if words:
            console.print(Padding(Text(words, overflow="fold"), (0, 0, 0, 3)))
