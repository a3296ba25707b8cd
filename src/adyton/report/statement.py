"""The privacy statement of a ledger: one page for a data protection officer, made only from the ledger.

It has dates but no times of day, and no paths: the exact times of measurements and the locations of files stay with the
curator. Facts that the ledger does not hold are not guessed; the checklist lists them as not known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from adyton import __version__, odds
from adyton.exact import as_number, display
from adyton.kernel.ledger import Entry, LedgerReport, Terms
from adyton.kernel.ledger.plain import analyst_as_json
from adyton.kernel.ledger.records import counted_for
from adyton.kernel.ledger.terms import NOT_RECORDED
from adyton.messages import listing
from adyton.report.page import Block, Fact, Section, Table, Words, factor, templates

_LISTED = 200
"""How many lines of entries the page has. The JSON form has all of them."""
_NOT_KNOWN = "Not known to the ledger"
_GUIDE = (
    "The questions follow what NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (2025), asks "
    "to examine, in Adyton's words. If the ledger holds no answer, the page says so, and a person has to add it."
)
_SPECIAL = re.compile(r"[\\`*<|\[\]~&]|(?<![^\W_])_|_(?![^\W_])")


class Check(NamedTuple):
    """A question of the checklist, and the answer that follows from the ledger."""

    question: str
    answer: str
    known: bool = True
    """Whether the ledger answers it."""


@dataclass(frozen=True)
class Statement:
    """What a ledger says, for somebody who has to judge it. *ledger* is the name of its file."""

    report: LedgerReport
    lines: Sequence[tuple[str, ...]]
    """Entries of the ledger as texts, each alone or several together: number, date, rows and attributes, measurement,
    status, ε."""
    ledger: str
    date: str
    """The day on which the statement is made."""
    asked: Sequence[tuple[str, str, str, str]] = ()
    """The questions that are known, the latest first: the date, what was asked in words, who asked, and its ε."""

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"Privacy statement: {self.datasets}"

    @property
    def datasets(self) -> str:
        """The data set, or all of them."""
        return ", ".join([self.report.dataset, *(own.name for own in self.report.further)])

    @property
    def kicker(self) -> str:
        """When the page was made, and from what."""
        return f"Generated on {self.date} (UTC) by Adyton {__version__} from the ledger {self.ledger}"

    @property
    def lead(self) -> str:
        """What the page is about."""
        return (
            f"What may be learnt about one {self.unit} from everything that was published from "
            f"{self.datasets} with this ledger. The page is made from the ledger alone. It holds no row, no "
            "published number and no time of day."
        )

    @property
    def unit(self) -> str:
        """What is protected, in a word or two."""
        return _unit(self.report.terms)

    @property
    def uncounted(self) -> Fraction:
        """What earlier answers cost a unit of the current terms beyond their charge, in ledgers of early versions."""
        report = self.report
        entries = [entry for entry in report.entries if entry.dataset == report.dataset]
        answers = [entry for entry in entries if entry.terms is not None]
        needed = Fraction(0) if report.terms is None else counted_for(report.terms, answers)
        return max(Fraction(0), needed - sum((entry.amount for entry in entries), Fraction(0)))

    @property
    def left(self) -> str:
        """What is not spent, and how much of it is set aside."""
        aside = self.report.aside
        return f"{display(self.report.remaining)}{f' ({display(aside)} of it set aside)' if aside else ''}"

    @property
    def askers(self) -> tuple[str, ...]:
        """Who is known to have asked."""
        named = [who for _, _, who, _ in self.asked]
        return tuple(sorted({*named, *(entry.analyst for entry in self.report.entries if entry.analyst)}))

    def figures(self) -> tuple[Fact, ...]:
        """The few figures at the top."""
        report, more = self.report, self.uncounted
        return (
            Fact("Total", f"ε = {display(report.total)}"),
            Fact("Spent", f"ε = {display(report.spent)}{f', up to {display(report.spent + more)}' if more else ''}"),
            Fact("Left", f"ε = {self.left}"),
            Fact("Privacy unit", self.unit if report.terms else "not recorded"),
        )

    def sections(self) -> tuple[Section, ...]:
        """The sections of the page, below its header."""
        report = self.report
        neighbours = Words(_neighbours(report.terms), "Neighbouring tables.")
        return (
            Section("unit", "Who is protected", (Words(_protected(report), "Privacy unit."), neighbours)),
            *([Section("analysts", "Who may spend", tuple(self._analysts()))] if report.analysts else []),
            Section("epsilon", "What ε means", tuple(self._meaning())),
            Section("spent", "What was spent and published", tuple(self._spent())),
            Section("terms", "The terms of the ledger and their changes", tuple(self._terms())),
            Section("limits", "What is not protected", tuple(Words(text, lead) for lead, text in limits(report))),
            Section("checklist", "Checklist after NIST SP 800-226", tuple(self._checklist())),
        )

    def _analysts(self) -> Iterator[Block]:
        yield Words(
            "The total is one for all analysts together, and so is the guarantee: it holds even if all of them put "
            "their answers together. A part is the most that an analyst may spend of it."
        )
        rows = [
            (
                own.name,
                "whatever is left" if own.part is None else f"ε = {display(own.part)}",
                "yes" if own.aside else "no",
                f"ε = {display(own.spent)}",
                own.expires or "never",
            )
            for own in self.report.analysts
        ]
        heads = ("analyst", "part", "set aside", "spent", "last day")
        yield Table(heads, (), [(row, ()) for row in rows])

    def _meaning(self) -> Iterator[Words]:
        report, more = self.report, self.uncounted
        total, spent = report.total + more, report.spent + more
        earlier = f", {display(more)} of it not counted by an early version" if more else ""
        yield Words(
            f"As long as the total is not raised, everything that is published with this ledger satisfies pure "
            f"ε-differential privacy with ε = {display(total)}{earlier} (δ = 0): no outcome becomes more than "
            f"{factor(total)} times as likely, or as unlikely, because one {self.unit} is in the data. "
            f"{odds.remark(total, 'A total', self.unit) or odds.in_words(total, self.unit)}",
            "The total.",
        )
        if spent:
            so_far = (
                f"ε = {display(spent)} is spent{earlier}: a factor of at most {factor(spent)}. "
                f"{odds.in_words(spent, self.unit)} ε = {self.left} is left."
            )
            yield Words(so_far, "So far.")
        yield from (Words(note, "Note on earlier answers.") for note in report.notes)
        yield Words(
            "Charges add up, also if a question depends on earlier answers. Parts of a table that share no row are "
            "charged once, by the largest amount. Computing with published answers costs nothing. A request that would "
            "exceed the total is refused.",
            "How it adds up.",
        )

    def _spent(self) -> Iterator[Block]:
        report = self.report
        if not report.entries:
            yield Words("Nothing was spent or published yet.")
            return
        if self.asked:
            yield Words("The questions behind it, the latest first:")
            rows = [((date, question, who), ((amount, ""),)) for date, question, who, amount in self.asked[:_LISTED]]
            yield Table(("date", "question", "asked by"), (("ε", ""),), rows)
            if hidden := len(self.asked) - len(rows):
                yield Words(f"{hidden:,} earlier ones are not shown.")
        yield Words(" ".join(_by_status(report.entries)))
        yield Words(
            "A line is one measurement, with its total cost. A release can have several. Rows and attributes are "
            "described by steps: where is a condition on rows, select names attributes, split makes parts that share "
            "no row, vectorize counts. The task and the algorithm behind a measurement are not in the ledger; the JSON "
            "file of each saved result names them, with the numbers of its entries."
        )
        shown = self.lines[:_LISTED]
        heads = ("entry", "date", "rows and attributes", "measurement", "status")
        yield Table(heads, (("ε", ""),), [(line[:-1], ((line[-1], ""),)) for line in shown])
        if hidden := len(self.lines) - len(shown):
            yield Words(f"{hidden:,} more lines are not shown. The command adyton ledger lists all of them.")

    def _terms(self) -> Iterator[Block]:
        report = self.report
        yield Words("A ledger refuses terms that differ from its own, unless somebody explicitly accepts the change.")
        for name, terms in ((report.dataset, report.terms), *(own[1:] for own in report.further)):
            if report.further:
                yield Words(f"The data set {name}:")
            if terms is not None:
                yield Table(("term", "value"), (), [(pair, ()) for pair in terms_in_words(terms)])
        if report.events:
            rows = [
                ((event.time[:10], event.changed, event.old, event.new, event.consent or "not recorded"), ())
                for event in report.events
            ]
            yield Table(("date", "changed", "from", "to", "consent of the data owner"), (), rows)
        else:
            yield Words("No change of the total, the data set or the terms is recorded.")

    def _checklist(self) -> Iterator[Words]:
        yield Words(_GUIDE, quiet=True)
        for check in checklist(self.report, self.askers):
            yield Words(check.answer if check.known else f"{_NOT_KNOWN}: {check.answer}", check.question)

    # ---- its forms ---------------------------------------------------------------------------------------------------

    def to_html(self) -> str:
        """The statement as an HTML page that opens anywhere and can be printed."""
        return templates().get_template("statement.html.j2").render(statement=self)

    def to_markdown(self) -> str:
        """The statement as Markdown, which is readable as plain text."""
        head = Table((), (), [((fact.name, fact.value), ()) for fact in self.figures()])
        parts = [f"# {_escaped(self.title)}", _escaped(f"{self.kicker}."), _escaped(self.lead), _markdown(head)]
        for section in self.sections():
            parts += [f"## {section.title}", *map(_markdown, section.blocks)]
        return "\n\n".join(parts) + "\n"

    def to_plain(self) -> dict[str, Any]:
        """The same facts for JSON, with exact fractions and every entry."""
        report = self.report
        return {
            "statement": "privacy statement of a ledger",
            "date": self.date,
            "adyton": __version__,
            "ledger": self.ledger,
            "dataset": report.dataset,
            "unit": self.unit if report.terms else None,
            "protected": _protected(report),
            "neighbours": _neighbours(report.terms),
            "definition": "pure ε-differential privacy",
            "delta": 0,
            "total": as_number(report.total),
            "spent": as_number(report.spent),
            "remaining": as_number(report.remaining),
            "meaning": [block.text for block in self._meaning()],
            "terms": None if report.terms is None else dict(terms_in_words(report.terms)),
            "entries": [_plain_entry(entry) for entry in report.entries],
            "changes": [
                {
                    "date": event.time[:10],
                    "changed": event.changed,
                    "from": event.old,
                    "to": event.new,
                    "consent": event.consent,
                }
                for event in report.events
            ],
            "analysts": [analyst_as_json(own) for own in report.analysts],
            "notes": list(report.notes),
            "not_protected": [f"{lead} {text}" for lead, text in limits(report)],
            "checklist": [check._asdict() for check in checklist(report, self.askers)],
        }


# ---- what follows from the ledger -----------------------------------------------------------------------------------


def _unit(terms: Terms | None) -> str:
    return "privacy unit" if terms is None else terms.named_unit


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count > 1)}"


def _protected(report: LedgerReport) -> str:
    """Who is protected, and what enforces it."""
    terms = report.terms
    if terms is None and report.entries:
        return "An early version of Adyton wrote the entries and did not record the unit."
    if terms is None:
        return "Not recorded yet: a ledger records its unit with the first charge."
    unit, rows = terms.named_unit, _rows(terms.rows_per_unit)
    if terms.column == NOT_RECORDED:
        return (
            f"One {unit}, with at most {rows}. An early version of Adyton did not record whether a column of the table "
            "enforces the limit."
        )
    if terms.column:
        return (
            f"One {unit} with all of its rows. The column {terms.column} says whose row each is; at most {rows} of "
            f"each {unit} are counted, and the others left out."
        )
    if unit == "row":
        return "One row. The ledger has no larger unit: somebody with several rows is protected row by row only."
    limit = "" if terms.unit is None else f", with at most {rows}"
    return f"One {unit}{limit}. The curator declared that nobody has more; nothing enforces it."


def _neighbours(terms: Terms | None) -> str:
    unit = _unit(terms)
    more = "one more row" if unit == "row" else f"those of one more {unit}"
    return (
        f"Two tables are neighbours if one has all rows of the other and {more}. So ε bounds what a reader learns "
        f"about whether one {unit} is in the table. Changing the data of one {unit} means removing it "
        "and adding another: this is bounded by 2ε."
    )


def _by_status(entries: Sequence[Entry]) -> Iterator[str]:
    """How many measurements there were, and how they ended."""
    answers = [entry for entry in entries if not entry.recount]
    first, last = min(entry.time[:10] for entry in entries), max(entry.time[:10] for entry in entries)
    when = f"on {first}" if first == last else f"from {first} to {last}"
    yield f"{len(answers):,} measurement{'s' * (len(answers) != 1)}, {when}."
    for status, words in (
        ("failed", "failed and gave no answer"),
        ("debited", "were charged, but perhaps not answered: the ledger does not know, because the program was ended"),
    ):
        some = [entry for entry in answers if entry.status == status]
        if some:
            yield f"{len(some):,} of them (ε = {_sum(some)}) {words}; they stay charged."
    if again := [entry for entry in entries if entry.recount]:
        yield (
            f"ε = {_sum(again)} is not a measurement: it was charged when the terms changed, because earlier answers "
            "cost larger units more."
        )


def _sum(entries: Sequence[Entry]) -> str:
    return display(sum((entry.amount for entry in entries), Fraction(0)))


def terms_in_words(terms: Terms) -> Iterator[tuple[str, str]]:
    """The terms in force, each with its name."""
    column = "not recorded" if terms.column == NOT_RECORDED else terms.column or "none: the limit is declared"
    yield "privacy unit", terms.named_unit
    yield "rows of a unit, at most", f"{terms.rows_per_unit:,}"
    yield "column that names the unit", column
    yield "digest of the schema", terms.schema[:12]
    for line in terms.files.splitlines():
        digest, _, name = line.partition(" ")
        yield f"digest of the levels in {os.path.basename(name)}", digest[:12]


def _plain_entry(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "date": entry.time[:10],
        "source": list(entry.lineage),
        "measurement": entry.operator,
        "status": entry.status,
        "amount": as_number(entry.amount),
        "answer": not entry.recount,
    }


def limits(report: LedgerReport) -> Iterator[tuple[str, str]]:
    """What ε does not cover: a heading and an explanation for each limit."""
    terms, unit = report.terms, _unit(report.terms)
    yield (
        "The schema and the questions.",
        "Names of attributes, levels, bounds, names of files and of the data set, conditions on rows and the list of "
        "measurements count as public. If somebody copied them from the rows, no ledger shows that loss of privacy.",
    )
    if terms is None:
        pass
    elif terms.column:
        yield (
            "Rows beyond the limit.",
            f"At most {_rows(terms.rows_per_unit)} of each {unit} are counted. Others are not in the published "
            f"numbers. Somebody with two values in the column {terms.column} counts as two.",
        )
    else:
        yield (
            "Rows beyond the limit.",
            f"Somebody with more than {_rows(terms.rows_per_unit)} is protected less: k rows by "
            f"{'k' if terms.rows_per_unit == 1 else f'k/{terms.rows_per_unit}, rounded up,'} times ε.",
        )
    yield "Several at once.", f"A group of ten, such as a family, is protected by ten times the ε of one {unit}."
    yield (
        "Facts about everybody.",
        "What holds for people in general can be learnt, and applies to each of them, in the table or not.",
    )
    yield (
        "What was published before or elsewhere.",
        "Other tables about the same people, other ledgers, exact figures and extracts add to what is known. This "
        "ledger counts only what was measured with it.",
    )
    yield (
        "Time.",
        "How long a request took, and when a file appeared, can depend on the rows. The ledger holds exact times; this "
        "page has only dates.",
    )
    yield (
        "The rows themselves.",
        "Everybody who can read the table, the memory of the machine or the program while it runs sees rows without "
        "noise.",
    )
    yield (
        "The ledger's file.",
        "It withstands crashes. It does not withstand somebody who edits or deletes it, restores an old copy, or opens "
        "a second ledger for the same data.",
    )


def checklist(report: LedgerReport, askers: Sequence[str] = ()) -> Iterator[Check]:
    """The questions of NIST SP 800-226 in our words, each with the answer of the ledger."""
    terms, unit, total = report.terms, _unit(report.terms), display(report.total)
    raised = [event for event in report.events if event.changed == "total"]
    yield Check(
        "Which definition of privacy, with which parameters?",
        f"Pure ε-differential privacy, ε = {total} in all, δ = 0; ε = {display(report.spent)} is spent."
        f"{' See the note on earlier answers.' if report.notes else ''}",
    )
    missing = "an early version of Adyton did not record it." if report.entries else "nothing was spent yet."
    yield Check("What is the unit of privacy?", _protected(report) if terms else missing, known=terms is not None)
    yield Check(
        "When are two data sets neighbours?",
        f"If one has one {unit} more than the other (add or remove). Where a parameter of an algorithm was tuned on "
        "private instances, replacing one may have been declared instead; the ledger holds that as a digest only.",
    )
    yield Check(
        "Is ε small enough for the purpose?",
        f"whether it is, for these people and this purpose. What it means: {odds.in_words(report.total, unit)}",
        known=False,
    )
    consents = sum(event.consent is not None for event in raised)
    yield Check(
        "Who decided on the parameters?",
        f"The total was changed {len(raised):,} time{'s' * (len(raised) > 1)}, {consents:,} of them with a recorded "
        "consent. Who chose the first one is not recorded."
        if raised
        else "who chose the total.",
        known=bool(raised),
    )
    yield Check(
        "Is everything that was published counted?",
        "Every measurement with this ledger is, failed ones included. Whether the same people are in other tables, or "
        "other ledgers were used for these data, is not known to the ledger.",
    )
    yield Check(
        "Can one individual affect more than is assumed?",
        missing
        if terms is None
        else "whether a column enforces the limit: an early version of Adyton did not record it."
        if terms.column == NOT_RECORDED
        else f"No: the column {terms.column} limits the rows of each {unit} before anything is counted."
        if terms.column
        else f"Only if somebody has more than {_rows(terms.rows_per_unit)}; that nobody has was declared, not checked.",
        known=terms is not None and terms.column != NOT_RECORDED,
    )
    yield Check(
        "Are the algorithms proven, and correctly implemented?",
        "Every mechanism of Adyton states a claim of privacy with a proof, and can be attacked with the command adyton "
        "audit. Noise is drawn exactly, without floating-point numbers between a count and its noise. Which version "
        "took each measurement, or whether its noise was simulated, is not known to the ledger; each result says so.",
    )
    yield Check(
        "Were the data accessed outside the mechanisms?",
        "how the schema, the conditions and the questions were chosen, and whether rows were cleaned, joined or "
        "selected before. Only steps that treat each row independently keep the promise.",
        known=False,
    )
    yield Check(
        "Are the published numbers accurate enough?",
        "the numbers and their errors. Each result states its expected error, or intervals.",
        known=False,
    )
    yield Check(
        "Could bias harm groups of people?",
        "who is missing from the table, which rows did not match the schema, and how noise affects small groups. Noise "
        "has the same size for small and large counts, so small ones are relatively less accurate.",
        known=False,
    )
    asked = (
        f"These have asked: {listing(askers)}. Who received the answers is not known to the ledger."
        if askers
        else "who asked and who received the answers."
    )
    yield Check(
        "Who may ask, and who sees the answers?",
        f"{asked} The promise holds for questions that depend on earlier answers, and for answers that everybody sees.",
        known=bool(askers),
    )
    yield Check(
        "Who has to be trusted?",
        "The central model: those who keep the table and the ledger, and the machine that counts, see rows without "
        "noise and have to be trusted. Readers of published results do not.",
    )
    yield Check(
        "Are there side channels?",
        "Durations and the times at which files appear are not protected. Messages say nothing about rows; a "
        "measurement that fails stays charged, because failing can depend on them.",
    )
    yield Check(
        "Are the data secured, with access control?",
        "who can read the table, the ledger and their copies.",
        known=False,
    )
    yield Check(
        "What does the collection itself expose?",
        "how the data were collected, for how long they are kept, and what the people in them were told.",
        known=False,
    )


# ---- Markdown --------------------------------------------------------------------------------------------------------


def _markdown(block: Block) -> str:
    if isinstance(block, Table):
        heads = [*block.names, *(name for name, _ in block.columns)]
        lines = [[*labels, *(text for text, _ in cells)] for labels, cells in block.lines]
        width = len(lines[0]) if lines else len(heads)
        rule = ["---"] * width
        return "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in (heads or [""] * width, rule, *lines))
    assert isinstance(block, Words)
    lead = f"**{_escaped(block.lead)}** " if block.lead else ""
    return f"{lead}{_escaped(block.text)}"


def _escaped(text: str) -> str:
    """The text, escaped so that Markdown shows it as it is.

    >>> _escaped("rows_per_unit of <b> | _x_")
    'rows_per_unit of \\\\<b> \\\\| \\\\_x\\\\_'
    """
    return _SPECIAL.sub(lambda sign: f"\\{sign[0]}", " ".join(text.split()))
