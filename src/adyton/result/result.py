"""A result: what a request returned. Whatever its kind, it is explained, drawn, saved and loaded in one way."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.exact import display
from adyton.kernel.recorder import CHANGED
from adyton.odds import in_words
from adyton.result import frames
from adyton.result.misfits import Misfits, not_counted
from adyton.result.receipt import Receipt, RowsCounted
from adyton.result.sheets import Sheets
from adyton.schema import Schema
from adyton.solving.nonnegative import project_to_simplex
from adyton.tasks import Task

if TYPE_CHECKING:
    from fractions import Fraction

    import pyarrow as pa
    from matplotlib.figure import Figure

    from adyton.plans.base import ExpectedError
    from adyton.report.pictures import Drawing
    from adyton.report.view import View
    from adyton.result.receipt import Receipt
    from adyton.result.release import Release


@dataclass(frozen=True)
class Look:
    """How counts are shown: as they are, as whole numbers, without negative ones.

    >>> Look(integer=True, nonnegative=True).shown(np.array([2.4, -1.0, 0.6])).tolist()
    [2.0, 0.0, 0.0]
    """

    integer: bool = False
    nonnegative: bool = False

    @classmethod
    def of(cls, given: Mapping[str, object], result: Any) -> Look:
        """From what was said, of a result whose numbers can be shown in this way."""
        for name, value in given.items():
            if name not in ("integer", "nonnegative"):
                raise TypeError(f"save() got an unexpected keyword argument {name!r}")
            if value and not result.looks:
                raise BadInput(f"{name} is for counts of cells, and this is {result.holds}. Leave it out.")
        return cls(bool(given.get("integer", False)), bool(given.get("nonnegative", False)))

    def shown(self, estimate: Reals) -> Reals:
        """The estimate, made non-negative with the same total, and rounded with the same (rounded) total."""
        cells = estimate.reshape(-1)
        if self.nonnegative:
            cells = project_to_simplex(cells, np.maximum(0.0, cells.sum(axis=-1)))
        if self.integer:
            cells = _rounded(cells)
        return cells.reshape(estimate.shape)

    def numbers(self, answers: npt.ArrayLike) -> Array:
        """Answers from what is shown, in the type that suits them."""
        return np.asarray(answers, dtype=np.float64).astype(np.int64 if self.integer else np.float64)

    def around(self, counts: Array, lower: Reals, upper: Reals) -> tuple[Array, Array]:
        """Bounds to show beside counts that are shown in this way: no count lies outside of its own.

        Rounding and leaving out negative counts move some counts a little, and wider bounds promise no less.

        >>> Look(integer=True, nonnegative=True).around(np.array([3, 0]), np.array([2.1, -4.5]), np.array([2.7, -0.5]))
        (array([2, 0]), array([3, 0]))
        """
        least = 0.0 if self.nonnegative else -np.inf
        low, high = np.minimum(np.maximum(lower, least), counts), np.maximum(np.maximum(upper, least), counts)
        if not self.integer or not np.isfinite(high).all():
            return low, high
        return np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)


AS_IT_IS: Look = Look()


def _rounded(cells: Reals) -> Reals:
    """Whole numbers that add up to the nearest whole number of the sum: the largest remainders are rounded up."""
    floors = np.floor(cells)
    missing = int(np.rint(cells.sum()) - floors.sum())
    if missing > 0:
        floors[np.argsort(floors - cells, kind="stable")[:missing]] += 1
    return floors


_RANKED = 5
"""How many algorithms are named beside the chosen one."""
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


CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result(ABC):
    """What a request returned: what was asked, what was measured, what it cost. A kind of result adds its own fields.

    A kind of result says what it is by :meth:`paragraphs` (in words), :meth:`sheets` (in numbers), :meth:`drawings` (in
    pictures) and :meth:`own_dict` (in JSON); everything else is made of these.
    """

    kind: ClassVar[str]
    """What a file says that it is."""
    noun: ClassVar[str] = "release"
    """What people call it."""
    holds: ClassVar[str] = "a release"
    """The same in a sentence about files."""
    at_once: ClassVar[bool] = False
    """Whether the sheets without bounds are there in no time, so that they are written with what was paid for."""
    looks: ClassVar[bool] = False
    """Whether its numbers are counts that can be shown whole, or without negative ones."""

    checks_values: ClassVar[bool] = True
    """Whether it matters to it that values fit the schema."""
    bulky: ClassVar[tuple[str, ...]] = ()
    """Parts of its file that are as long as what was measured."""

    schema: Schema
    """What is public about the attributes that were released."""
    task: Task
    """What was asked for."""
    where: str | None
    """Of which rows."""
    algorithm: str
    """What ran, named or chosen."""
    options: Mapping[str, Any]
    """Those of the algorithm that were given."""
    epsilon: Fraction
    """What was charged: a person's whole part in the table is protected by this much."""
    receipt: Receipt
    """What was paid: data set, privacy unit, budget, entries of the ledger, versions, date."""
    misfits: Misfits | None = None
    """The noisy numbers of rows that do not match the schema, if they were counted."""
    unfinished: str | None = None
    """What ended the program before it had measured all that it was going to, if something did."""

    @classmethod
    def of(cls, parts: Mapping[str, Any], asked: Fraction) -> Self:
        """From all of its parts; *asked* is the budget that was asked for, of which less may have been needed."""
        return cls(**parts)

    # ---- what a kind says of itself ---------------------------------------------------------------------------------

    @abstractmethod
    def own_paragraphs(self) -> tuple[str, ...]:
        """What ran and why, and how far off it is, in words."""

    @abstractmethod
    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """What was asked for, in numbers, with bounds at a confidence."""

    def more_sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> tuple[Sheets, ...]:
        """What else goes into files."""
        return ()

    @property
    def typical_errors(self) -> Mapping[str, float]:
        """How far off its numbers are expected to be, by what they are; none where that depends on the data."""
        return {}

    def explained(self) -> tuple[Sheets, ...]:
        """What an explanation shows in numbers."""
        return ()

    def shown(self, *, quiet: bool = False) -> tuple[str, ...]:
        """What a terminal shows in the place of the sheets: a text, or a single number; *quiet* without words."""
        return ()

    @abstractmethod
    def drawings(self, most: int | None = None) -> list[Drawing]:
        """The pictures, at most so many."""

    def view(self) -> View:
        """What its page says: numbers, pictures and words of its own, between those of every page."""
        from adyton.report.view import view_of

        return view_of(self)

    def glance(self, *, bounds: bool = False) -> Sheets:
        """The sheets that its first lines are on, as fast as they can be had; with *bounds* if these take no time."""
        return self.sheets(confidence=CONFIDENCE if bounds or not self.at_once else None)

    def remarks(self) -> tuple[str, ...]:
        """What a notebook says below the numbers and a picture: a few sentences that take no time."""
        return self.own_paragraphs()

    @abstractmethod
    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """What it has beside the parts of every result, as plain values; what takes time only if *complete*."""

    @classmethod
    @abstractmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> Self:
        """From the plain values of a file that a stranger may have written, and the parts that were read already."""

    def asked_in_words(self) -> str:
        """What was asked for, in a sentence."""
        where = f", of rows where {self.where}" if self.where else ""
        return f"Released: {self.task}{where}{self.extent}."

    @property
    def extent(self) -> str:
        """How much that is, behind a semicolon; empty where there is nothing to say."""
        return ""

    # ---- in words ---------------------------------------------------------------------------------------------------

    def paragraphs(self) -> tuple[str, ...]:
        """What was asked, what ran and why, how far off it is, which rows did not fit, what it cost."""
        said = f"WARNING: {self.unfinished} What was measured until then is here."
        loud, quiet = misfits_in_words(self)
        return (
            self.counted.after(self.asked_in_words()),
            *((said,) if self.unfinished is not None else ()),
            *loud,
            *self.own_paragraphs(),
            *quiet,
            budget_in_words(self.receipt, self.epsilon, self.noun),
        )

    def explain(self) -> Explanation:
        """What was asked, what ran and why, how far off it is, and what was spent, in words."""
        return Explanation(self.paragraphs())

    # ---- in numbers -------------------------------------------------------------------------------------------------

    def to_arrow(self, *, confidence: float | None = CONFIDENCE) -> pa.Table:
        """What was asked for, as an Arrow table: labels, then numbers with their bounds."""
        return self.sheets(confidence=confidence).to_arrow()

    def to_frame(self, *arguments: Any, **options: Any) -> Any:
        """The same as :meth:`to_arrow`, with the same options, as a pandas DataFrame."""
        return frames.to_pandas(self.to_arrow(*arguments, **options))

    def to_polars(self, *arguments: Any, **options: Any) -> Any:
        """The same, with the same options, as a polars DataFrame."""
        return frames.to_polars(self.to_arrow(*arguments, **options))

    # ---- in pictures ------------------------------------------------------------------------------------------------

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The pictures of the report; written to a file if a path is given."""
        from adyton.report.plot import plot

        return plot(self, path)

    def _repr_html_(self) -> str:
        from adyton.report.page import to_html

        return to_html(self)

    # ---- in files ---------------------------------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False, **look: bool) -> None:
        """Write ``release.json`` (complete), a CSV file and ``report.html`` into a new folder.

        What was paid for is put in place at once; bounds, errors and the report are added to it. If one of these fails,
        a warning says so, and what was paid for is there. With *overwrite* the folder may hold another result, which is
        replaced. Where the numbers are counts, ``integer=True`` and ``nonnegative=True`` are about the CSV files. A
        name that ends in ``.json`` is that of a file, which gets all of it and nothing else.
        """
        from adyton.result.folder import save

        for problem in save(self, folder, Look.of(look, self), overwrite=overwrite):
            warnings.warn(f"{folder}: {problem} Everything else is there.", stacklevel=2)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The result in a folder that :meth:`save` wrote, or in its JSON file; the data are not needed.

        The file is checked as a stranger's would be, and nothing in it is run. :func:`adyton.load` opens any kind.
        """
        from adyton.result.folder import read

        found = read(path, lambda task, kind: cls if kind == cls.kind else None, cls.holds)
        assert isinstance(found, cls)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        from adyton.result.folder import to_dict

        return to_dict(self, complete=True)

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """The result that :meth:`to_dict` described; checked as a stranger's would be."""
        from adyton.result.folder import read_plain

        found = read_plain(plain, lambda task, kind: cls if kind == cls.kind else None, cls.holds)
        assert isinstance(found, cls)
        return found

    # ---- the receipt ------------------------------------------------------------------------------------------------

    @property
    def counted(self) -> RowsCounted:
        """Which rows of each unit were counted; nothing is said where no column names a unit."""
        return self.receipt.counted(self.task)

    @property
    def counted_rows(self) -> str:
        """Which rows of the table were counted, in a few words; nothing if it is all of them."""
        return self.counted.rows(self.where)

    @property
    def rows_per_unit(self) -> int:
        """How many rows one person may have in the table."""
        return self.receipt.rows_per_unit

    @property
    def record(self) -> dict[str, Any]:
        """The receipt as plain values, as the JSON file has it."""
        return self.receipt.to_plain()

    def __str__(self) -> str:
        """Numbers first: the first lines, then what it is and what it cost."""
        from adyton.report.view import printed

        return printed(self)

    def __repr__(self) -> str:
        where = f" where {self.where}" if self.where else ""
        mark = "" if self.receipt.private else "; simulated, NOT private"
        what = f"{self.task}{where}{self.counted.aside}"
        return f"<{self.noun}: {what}, by {self.algorithm}, ε = {display(self.epsilon)}{mark}>"


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
    named = [pair for place, pair in enumerate(choice.ranked()) if place < _RANKED or pair[0] == release.algorithm]
    ranked = ", ".join(f"{name} {regret}{marks.get(name, '')}" for name, regret in named)
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
