"""What a release of counts shows: why its algorithm ran, how far off answers are, and its counts with their bounds."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from adyton.arrays import Array, Reals
from adyton.exact import display
from adyton.queries import Identity, Marginals, Queries
from adyton.result.intervals import NOT_MEASURED, Interval
from adyton.result.known import keeping_totals
from adyton.result.noise_model import MOST_QUERIES
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Column, Look, Sheet, Sheets, cell_labels
from adyton.tasks.questions import question_in_words

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.result.release import Release

CELLS, ANSWERS, TABLES = "estimate.csv", "answers.csv", "tables.csv"
TOO_MANY_LINES = f"No bounds: they are computed for at most {MOST_QUERIES:,} lines at a time."
_RANKED = 5
"""How many of the best algorithms an explanation names; the chosen one is always named."""
_ORIGIN = {
    "exact": "computed before anything was measured",
    "estimate": "computed before anything was measured, up to a small error of estimation",
    "resampled": "found by running the algorithm again on what it published; not guaranteed",
}


def choice_in_words(release: Release) -> str:
    """Why this algorithm ran, or how it was combined."""
    choice = release.choice
    if release.parts:
        shares = ", ".join(
            f"{part.algorithm} with ε = {display(part.epsilon)} counts {100 * weight:.3g}%"
            for part, weight in zip(release.parts, release.weights, strict=True)
        )
        return f"Combined from {len(release.parts)} releases, weighted by their noise: {shares}."
    if choice is None:
        return f"Algorithm: {release.algorithm}, as asked."
    marks = {release.algorithm: " (chosen)"}
    named = [pair for place, pair in enumerate(choice.ranked()) if place < _RANKED or pair[0] == release.algorithm]
    ranked = ", ".join(f"{name} {regret}{marks.get(name, '')}" for name, regret in named)
    looked = "from public information, at no cost in privacy"
    if choice.bought:
        features = ", ".join(
            f"{feature.words} ({feature.value:,.6g} ± {feature.deviation:,.3g}, noisy)" for feature in choice.bought
        )
        looked = f"after measuring {features}, for ε = {display(choice.spent * release.rows_per_unit)}"
    notes = "".join(f" Note: {note}" for note in choice.notes)
    said = f"Algorithm: {release.algorithm}, chosen {looked}."
    return f"{said} Expected error of each, relative to the best (1 = best): {ranked}.{notes}"


def error_in_words(release: Release) -> str:
    """The expected error of one answer."""
    error = release.known_error
    if error is None:
        return "Expected error: unknown. It could not be computed here."
    runs = "one run" if error.runs == 1 else f"{error.runs} runs"
    slow = f" It comes from {runs} only: runs were slow here." if error.runs else ""
    return (
        f"Expected error: an answer is typically off by {error.per_query:.3g} (root mean square over "
        f"{error.queries:,} queries), {_ORIGIN[error.kind]}.{slow}"
    )


def sheets_of(release: Release, look: Look, confidence: float | None) -> Sheets:
    """What the task asks for: marginals, cumulative counts, answers to queries, or the cells."""
    queries, shown = release.workload, shown_estimate(release, look)
    if release.tables_alone:
        sets = [list(places) for places in release.table_places]
        queries = queries if isinstance(queries, Marginals) else Marginals(release.schema.shape, sets)
        counts = [look.numbers(Marginals(release.schema.shape, [places]) @ shown) for places in sets]
        file, sheets = TABLES, [_sheet(release, *pair) for pair in zip(sets, counts, strict=True)]
    elif release.task.cumulative:
        file = CELLS
        sheets = [_sheet(release, range(release.estimate.ndim), look.numbers(queries @ shown), "cumulative_count")]
    elif questions := release.task.questions():
        words, column = list(map(question_in_words, questions)), Column("count", look.numbers(queries @ shown))
        file, sheets = ANSWERS, [Sheet({"query": words}, (column,), counted=release.counted_rows)]
    else:
        return cell_sheets(release, release.schema.names, look, confidence)
    return _bounded(release, queries, Sheets(file, tuple(sheets), look=asdict(look)), look, confidence)


def cell_sheets(release: Release, names: Collection[str], look: Look, confidence: float | None) -> Sheets:
    """The counts of every cell of some attributes, summed over the others."""
    places = _places(release, names)
    queries: Queries = Marginals(release.schema.shape, [places])
    sheet = _sheet(release, places, look.numbers(queries @ shown_estimate(release, look)))
    if len(places) == len(release.schema.names):
        queries = Identity(release.schema.shape)
    return _bounded(release, queries, Sheets(CELLS, (sheet,), look=asdict(look)), look, confidence)


def _places(release: Release, names: Collection[str]) -> list[int]:
    return [place for place, name in enumerate(release.schema.names) if name in names]


def _sheet(release: Release, places: Sequence[int], counts: Array, column: str = "count") -> Sheet:
    names = [release.schema.names[place] for place in places]
    labels = dict(zip(names, cell_labels([release.axes[name] for name in names]), strict=True))
    return Sheet(labels, (Column(column, counts),), counted=release.counted_rows)


def _bounded(release: Release, queries: Queries, sheets: Sheets, look: Look, confidence: float | None) -> Sheets:
    """Sheets with bounds where there are any; notes say which are missing, and why. What is held back is blank."""
    if confidence is None:
        return sheets.held_by(release.hold)
    if queries.count > MOST_QUERIES:
        return sheets.noted(TOO_MANY_LINES).held_by(release.hold)
    if release.noise.beyond(queries):
        return sheets.noted(NOT_MEASURED).held_by(release.hold)
    bounds = release.interval(queries, confidence)  # all at once, because the algorithm is run again for them
    return (sheets.noted(bounds.missing) if bounds.missing else _within(sheets, bounds, look)).held_by(release.hold)


def arrow_of(
    release: Release, attributes: str | Sequence[str] | None, look: Look, confidence: float | None
) -> pa.Table:
    """What the task asks for, or the counts of every cell of some attributes, as one table. A remark on the bounds is a
    warning, too."""
    if confidence is None and release.hold is not None and release.hold.wider_than is not None:
        confidence = CONFIDENCE  # how wide intervals are decides what is shown
    sheets = (
        sheets_of(release, look, confidence)
        if attributes is None
        else cell_sheets(release, release.schema.check_names(attributes), look, confidence)
    )
    if sheets.note:
        warnings.warn(sheets.note, stacklevel=3)
    return sheets.to_arrow()


def _within(sheets: Sheets, bounds: Interval, look: Look) -> Sheets:
    """Sheets with the bounds of all their lines."""
    bounded, start = [], 0
    for sheet in sheets.sheets:
        part, (column,) = slice(start, start + sheet.lines), sheet.columns
        lower, upper = look.around(column.values, bounds.lower[part], bounds.upper[part])
        bounded.append(replace(sheet, columns=(replace(column, lower=lower, upper=upper),), note=bounds.note))
        start = part.stop
    return replace(sheets, sheets=tuple(bounded), confidence=bounds.confidence)


def shown_estimate(release: Release, look: Look) -> Reals:
    """The estimate as it is shown; whole and non-negative counts agree with known totals, too."""
    if release.known is None or look == AS_IT_IS:
        return look.shown(release.estimate)
    return keeping_totals(look, release.estimate, release.known, release.schema)
