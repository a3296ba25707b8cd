"""The trusted part: the modules in which a mistake can make ε false, and how many lines they have.

A module is trusted if it holds private rows or numbers, turns values into numbers, draws noise for them, or decides or
records what is charged. Two lists: the *core*, which is all that a release by ``auto`` of a CSV or Parquet file or a
frame needs, and what is *added* when somebody opens a table of another kind, names a published algorithm, measures
custom query sets, or configures an algorithm on private instances. Everything else that the core imports is *public*:
it is listed with the reason why the kernel does not rely on it.

Names are those of modules below ``adyton``; a name that ends with a dot means all modules of that room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

READING = (
    "kernel.reading",
    "kernel.reading.cells",
    "kernel.reading.csv_reader",
    "kernel.reading.files",
    "kernel.reading.arrow",
    "kernel.reading.readers",
    "kernel.reading.texts",
    "kernel.reading.values",
    "kernel.counting",
    "kernel.counting.opening",
    "kernel.counting.packs",
    "kernel.counting.rows",
    "kernel.counting.table",
)
"""From a stored value to its cell, and from cells to counts, in files and frames."""
SERVERS = (
    "kernel.engines.ibis_tables",
    "kernel.engines.postgres",
    "kernel.engines.server",
    "kernel.engines.spark",
    "kernel.engines.sql",
    "kernel.ledger.server",
)
"""The same on servers, loaded when a server's table is opened: the server groups rows by codes and returns them. A
ledger on a server is loaded by its address."""
CORE: Mapping[str, tuple[str, ...]] = {
    "the door, the budget and the ledger": (
        "kernel.kernel",
        "kernel.admission",
        "kernel.operators",
        "kernel.shapes",
        "kernel.budget",
        "kernel.sealed",
        "kernel.ledger.ledger",
        "kernel.ledger.file",
        "kernel.ledger.store",
        "kernel.ledger.tables",
        "kernel.ledger.changes",
        "kernel.ledger.anchor",
        "kernel.ledger.formats",
        "kernel.ledger.records",
        "kernel.ledger.agreeing",
        "kernel.ledger.analysts",
        "kernel.ledger.requests",
        "kernel.ledger.terms",
        "drafts",
    ),
    "reading and counting rows": READING,
    "sources and mechanisms": (
        "kernel.counts",
        "kernel.transforms",
        "kernel.mechanisms",
        "kernel.mechanisms.measure_tables",
        "kernel.mechanisms.nested_quantiles",
        "kernel.mechanisms.noisy_count",
        "kernel.mechanisms.guessed_tables",
        "kernel.mechanisms.selection",
        "kernel.mechanisms.split_choice",
        "kernel.mechanisms.vector_laplace",
    ),
    "exact noise": ("noise.bits", "noise.exact", "noise.laplace", "noise.source"),
    "queries and their sensitivity": (
        "queries.base",
        "queries.basic",
        "queries.combined",
        "queries.hierarchy",
        "queries.partition",
    ),
    "how texts and times are read": ("schema.reading", "schema.time_formats"),
    "exact numbers, and small tools": (
        "arrays",
        "compiling",
        "exact",
        "interrupts",
        "whole",
    ),
}
"""What the releases that ``auto`` can make need: counts, ranges, tables, numbers and classifiers."""
ADDED: Mapping[str, tuple[str, ...]] = {
    "rows that stay on servers": SERVERS,
    "sheets and databases in files": ("kernel.engines", "kernel.engines.databases", "kernel.reading.sheets"),
    "published algorithms": ("kernel.mechanisms.published.", "queries.cosines", "queries.domain_trees"),
    "query sets that a person names": ("queries.coefficients", "queries.ranges"),
    "configuration on private instances": (
        "kernel.instances.",
        "noise.exponential",
        "configuration.tuning",
        "configuration.configure",
        "configuration.family",
        "configuration.greedy",
        "configuration.max_cut",
        "configuration.problems",
        "configuration.reading",
        "configuration.routing",
    ),
    "noise from elsewhere": ("noise.opendp",),
}
"""What is loaded only on request."""
NUMBERS = (
    "schema.attributes",
    "schema.calendar",
    "schema.cell_groups",
    "schema.declaration",
    "schema.numbers",
    "schema.predicates",
    "schema.times",
)
"""What a schema says about cells. The core uses it while it counts rows."""
PUBLIC: Mapping[str, str] = {
    "errors": "classes of errors, without a word of their own",
    "messages": "words about what a person has given",
    "kernel": "names the room",
    "kernel.counting.public_rows": "rows of public tables, for simulations and audits",
    "kernel.ledger": "names what is public of the ledger",
    "kernel.ledger.words": "words of refusals and reports, made of sums that are public to the curator",
    "kernel.recorder": "keeps answers that were published already, to give them again",
    "kernel.sources": "handles: the door finds what it keeps by their number, and asks its own facts about it",
    "noise": "names the room; its functions are for people, not for the kernel",
    "noise.simulated": "noise for public data, which the kernel marks as not private; how large noise is, for results",
    "queries": "names the room",
    "queries.coefficients": "matrices written out: no measurement of the core asks for them",
    "queries.measurement": "results: noisy answers and what is known about them",
    "schema": "names the room",
    **dict.fromkeys(
        NUMBERS, "public numbers: what they lead to is put into its range wherever it is counted; they see no value"
    ),
    "schema.files": "schemas in TOML, checked by the classes of the schema; how text files are written",
    "schema.look_up_files": "public files of levels",
    "schema.misfits": "names and words of reasons; which one applies to a row is found by the reader",
    "schema.plain_values": "plain values of a schema in files",
}
"""What the core imports but does not rely on, and why."""
INSIDE = (
    "kernel.counting.",
    "kernel.counts",
    "kernel.engines.",
    "kernel.instances.",
    "kernel.reading.",
    "kernel.sealed",
)
"""Where private rows and numbers are kept."""
PASSED_ON = (
    "ADD_REMOVE",
    "LARGEST_DOMAIN",
    "Lattice",
    "POINTS",
    "Sealed",
    "UNIT",
    "Utility",
    "address_name",
    "is_address",
    "kind_of_file",
    "spread",
    "table_at",
)
"""Names from inside that everybody may use: public numbers and values, and functions of what they are given."""
OWNERS: Mapping[str, str] = {
    "kernel.checking": "adyton check: whether the columns of a table are there; which public rows do not match",
    "cli.open": "adyton open: whether the address of a table names one",
    "cli.schema": "adyton schema: a draft from rows that their owner says are public",
    "kernel.counting.public_rows": "cells of rows that a person already has, for predictions and checks",
    "kernel.sources": "see above",
    "learning.coding": "rows that a person hands over to learn from or to predict for",
}
"""Modules outside the lists that use more of the inside, and what for. None of them runs during a release."""
LIMITS = {"core": 10_500, "reading": 4_100, "servers": 2_350, "added": 7_200}
"""The most lines allowed for the core without its reading, for the reading of rows, for servers, and for everything
else that is added. These limits should only ever be lowered. (The core's was raised by 1,100 for ledgers with several
analysts and data sets, stored requests and answers, and a chain, and by 750 for the chain of everything else in it, for
consent in the transaction that spends, and for anchors, and by 100 for tables with merged cells and for refusing
triggers; the servers' by 350 for ledgers in PostgreSQL.)"""


def sources() -> dict[str, Path]:
    """The files of the package by the names of their modules."""
    root = Path(str(files("adyton")))
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def within(module: str, names: Iterable[str]) -> bool:
    """Whether a module is one of *names*, or in a room that is."""
    return any(module == name or (name.endswith(".") and f"{module}.".startswith(name)) for name in names)


def core() -> list[str]:
    """The names of the modules of the core, rooms included."""
    return [name for names in CORE.values() for name in names]


def added() -> list[str]:
    """The names of the modules that are added, rooms included."""
    return [name for names in ADDED.values() for name in names]


def lines(names: Iterable[str]) -> dict[str, int]:
    """How many lines each of these modules has."""
    chosen = list(names)
    return {
        module: len(path.read_text(encoding="utf-8").splitlines())
        for module, path in sources().items()
        if within(module, chosen)
    }


def totals() -> dict[str, int]:
    """The lines of the core without its reading, of the reading of rows, of servers, and of everything else added."""
    reading, servers = (sum(lines(names).values()) for names in (READING, SERVERS))
    whole, more = (sum(lines(names).values()) for names in (core(), added()))
    return {"core": whole - reading, "reading": reading, "servers": servers, "added": more - servers}
