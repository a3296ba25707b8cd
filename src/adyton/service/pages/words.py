"""The words of the pages, each with its meaning: the page ``/words``, and the first part of ``docs/glossary.md``."""

from __future__ import annotations

from collections.abc import Mapping

from adyton.service.pages.visits import Page, View, Visit

WORDS: Mapping[str, str] = {
    "table": "the private data, with a row for each thing that it is about",
    "row": "one line of a table",
    "schema": "what is public about a table",
    "attribute": "a column that the schema describes, so that it can be asked about",
    "level": "one value of a categorical attribute, from a fixed list",
    "bin": "a part of the range of a number, all of whose values are counted together",
    "cell": "one combination of values that is counted",
    "unit": "what ε protects: a person with all rows that count, or one row",
    "ε (epsilon)": "the limit on privacy loss: the smaller, the better protected, and the more noise",
    "budget": "the ε that may be spent: by one request, by one analyst, or on a table in all",
    "total": "the ε that may be spent on a table in all",
    "ledger": "the durable record of what was spent",
    "debit": "one entry of the ledger",
    "receipt": "the entries of the ledger that belong to a result",
    "request": "a question with its budget",
    "filter": "which rows are counted",
    "release": "publishing the answer to a request; also what is published",
    "result": "what a release publishes; it may be used for anything, at no further cost in privacy",
    "algorithm": "how a question is answered; with auto it is chosen for you, from public information or privately "
    "within the same budget",
    "noise": "random numbers that are added on purpose, so that a result does not tell whether one unit is in the "
    "table",
    "interval": "two bounds with the true number between them: in 95 of 100 results, if nothing else is said",
    "expected error": "how far a number with noise is from the true one: typically, or in 95 of 100 cases",
    "rehearsal": "a request carried out on rows made up from the schema: simulated, and free of charge",
    "rows that do not match the schema": "rows with a missing, unreadable or undeclared value",
    "known total": "a count that is public already, which a release is adjusted to; ε does not cover it",
    "synthetic rows": "rows drawn from released tables; none belongs to a real person",
    "post-processing": "computing with published numbers; it costs no privacy",
    "service": "the program that keeps tables and their ledgers, and answers requests",
    "analyst": "a person who asks at a service, with a budget of their own",
    "curator": "a person who is responsible for a table, and decides about requests",
    "token": "the text that says who asks",
    "consent": "the curator's agreement to a request, before anything is spent for it",
    "privacy statement": "a page for a data protection officer, made from the ledger alone",
}
"""Each word, with what it means."""


def words(visit: Visit) -> Page:
    """The page of words; it leads back to the table from whose pages somebody came."""
    return visit.page("words.html.j2", words=WORDS, back=visit.text("table"))


VIEWS: Mapping[tuple[str, str], View] = {("GET", "/words"): words}
