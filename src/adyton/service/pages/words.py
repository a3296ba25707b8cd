"""The words of the pages, each with its meaning: the page ``/words``, and the first part of ``docs/glossary.md``."""

from __future__ import annotations

from collections.abc import Mapping

from adyton.service.pages.visits import Page, View, Visit

WORDS: Mapping[str, str] = {
    "table, row": "the private data, and one of its lines",
    "schema, attribute, level": "what is public about a table; one declared column; one value of a categorical "
    "attribute",
    "cell": "one combination of values that is counted",
    "unit": "what ε protects: a person with all rows that count, or one row",
    "ε (epsilon), budget, total": "the limit on privacy loss; what one request may spend; what may be spent on a table "
    "in all",
    "ledger, debit, receipt": "the durable record of what was spent; one entry of it; the entries that belong to a "
    "result",
    "request, filter": "a question with its budget; which rows are counted",
    "release, result": "what is published; it may be used for anything, at no further cost in privacy",
    "algorithm": "how a question is answered; with auto it is chosen privately, within the same budget",
    "noise": "random numbers that are added on purpose, so that a result does not tell whether one unit is in the "
    "table",
    "interval, expected error": "bounds for a true number, exact or approximate; the typical error before or after a "
    "release",
    "rehearsal": "a request carried out on rows made up from the schema: simulated, and free of charge",
    "rows that do not match the schema": "rows with a missing, unreadable or undeclared value",
    "known total": "a count that is public already, which a release is adjusted to; ε does not cover it",
    "synthetic rows": "rows drawn from released tables; none belongs to a real person",
    "post-processing": "computing with published numbers; it costs no privacy",
    "service, analyst, curator, token": "what keeps tables and ledgers; who asks there, with a budget of their own; "
    "who is responsible for a table and decides about requests; the text that says who asks",
    "consent": "the curator's agreement to a request, before anything is spent for it",
    "privacy statement": "a page for a data protection officer, made from the ledger alone",
}
"""Each word, or several that belong together, with what it means."""


def words(visit: Visit) -> Page:
    """The page of words."""
    return visit.page("words.html.j2", words=WORDS)


VIEWS: Mapping[tuple[str, str], View] = {("GET", "/words"): words}
