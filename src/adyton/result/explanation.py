"""A release explained in words, for people."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from adyton.exact import display
from adyton.kernel.recorder import CHANGED
from adyton.odds import in_words
from adyton.result.misfits import not_counted

if TYPE_CHECKING:
    from fractions import Fraction

    from adyton.plans.base import ExpectedError
    from adyton.result.receipt import Receipt
    from adyton.result.release import Release
    from adyton.result.result import Result

_RANKED = 5
"""How many algorithms are told beside the chosen one."""
_ORIGIN = {
    "exact": "computed before anything was measured",
    "estimate": "computed before anything was measured, up to a small error of estimation",
    "resampled": "found by running the algorithm again on what it published; not guaranteed",
}


@dataclass(frozen=True)
class Explanation:
    """Paragraphs; printed as they are."""

    paragraphs: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.paragraphs)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in self.paragraphs)


def error_in_words(error: ExpectedError | None) -> str:
    """The expected error of one answer."""
    if error is None:
        return "Expected error: unknown. It could not be computed here."
    slow = f" It comes from {_times(error.runs)} only: runs were slow here." if error.runs else ""
    return (
        f"Expected error: an answer is typically off by {error.per_query:.3g} (root mean square over "
        f"{error.queries:,} queries), {_ORIGIN[error.kind]}.{slow}"
    )


def _times(runs: int) -> str:
    return "one run" if runs == 1 else f"{runs} runs"


def misfits_in_words(release: Result) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rows that did not fit: a paragraph to say aloud, if there is cause for it, and one to say in any case."""
    if not release.checks_values:
        return (), ()
    if release.misfits is None:
        counted = any(step.startswith("misfits(") for debit in release.receipt.entries for step in debit.lineage)
        said = f"Misfits: {not_counted(release.epsilon, release.rows_per_unit)}"
        return (), () if release.task.per_unit or counted else (said,)  # counted in the parts of a combined release
    warnings = " ".join(release.misfits.warnings())
    return (f"WARNING: {warnings}",) * bool(warnings), (f"Misfits: {release.misfits.in_words()}",)


def choice_in_words(release: Release) -> str:
    """Why this algorithm ran."""
    choice = release.choice
    if release.together:
        return release.together
    if choice is None:
        return f"Algorithm: {release.algorithm}, as asked."
    marks = {release.algorithm: " (chosen)"}
    told = [pair for place, pair in enumerate(choice.ranked()) if place < _RANKED or pair[0] == release.algorithm]
    ranked = ", ".join(f"{name} {regret}{marks.get(name, '')}" for name, regret in told)
    looked = "from public information, at no cost in privacy"
    if choice.bought:
        features = ", ".join(f"{one.words} ({one.value:,.6g} ± {one.deviation:,.3g}, noisy)" for one in choice.bought)
        looked = f"after looking at {features}, for ε = {display(choice.spent * release.rows_per_unit)}"
    notes = "".join(f" Note: {note}" for note in choice.notes)
    said = f"Algorithm: {release.algorithm}, chosen {looked}."
    return f"{said} Expected error of each, relative to the best (1 = best): {ranked}.{notes}"


def budget_in_words(receipt: Receipt, epsilon: Fraction, what: str) -> str:
    """What it cost, what is left and where that is remembered, and what ε means; *what* is a release, or the like."""
    left, total = display(receipt.remaining), display(receipt.total)
    kept = f"in {receipt.ledger}" if receipt.ledger else "in this process only; no ledger file remembers it"
    meaning = in_words(epsilon, receipt.unit)
    changed = f" WARNING: {CHANGED}." if receipt.changed else ""
    return f"Budget: this {what} cost ε = {display(epsilon)}; {left} of {total} is left, {kept}. {meaning}{changed}"
