"""A result: what a request returned. Every kind is explained, drawn, saved and loaded in the same way."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

from adyton.drafts import replaced
from adyton.errors import AdytonError, BadInput
from adyton.exact import as_number, display
from adyton.interrupts import deferred
from adyton.kernel.recorder import CHANGED
from adyton.messages import path_of, shorten
from adyton.odds import in_words
from adyton.result.coverage import SAME_ROWS, Audience, Coverage, Note, Total, not_right
from adyton.result.folder import (
    ENDING,
    JSON,
    KIND,
    REPORT,
    Place,
    file_in,
    file_text,
    is_earlier,
    json_text,
    signed,
    staged,
    updated,
    write_json,
    write_sheets,
)
from adyton.result.misfits import Misfits, read_misfits
from adyton.result.receipt import Receipt, RowsCounted, read_receipt
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, HoldBack, Look, Sheets, rate_of, to_pandas, to_polars
from adyton.schema import Schema
from adyton.schema.plain_values import as_amount, as_plain, as_text, of_kind, part_of
from adyton.tasks import Task, task_from_dict

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from adyton.report.pictures import Drawing

SIMULATED = "WARNING: simulated, NOT private. The noise protects nobody: use these numbers to try things out."
_ROOM = 1 << 20
_KINDS = {
    "counts": "a release of counts",
    "tables": "a release of tables",
    "numbers": "a release of numbers",
    "number": "a count",
    "classifier": "a classifier",
    "tuning": "a configuration",
}
_T = TypeVar("_T")
KindOf: TypeAlias = "Callable[[Task, str], type[Result] | None]"
"""From a task and the name of a kind to the class of its results; None if another kind was expected."""


@dataclass(frozen=True)
class Explanation:
    """Paragraphs of text, printed as they are."""

    paragraphs: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.paragraphs)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in self.paragraphs)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result(ABC):
    """What a request returned: the request, the measurements, and the price. A kind of result adds its own fields.

    A kind of result shows itself by :meth:`own_paragraphs` (in words), :meth:`sheets` (in numbers), :meth:`drawings`
    (in pictures) and :meth:`own_dict` (in JSON). Pages, folders and terminals use these.
    """

    kind: ClassVar[str]
    """The name of the kind in files."""
    noun: ClassVar[str] = "release"
    """What people call it."""
    holds: ClassVar[str] = "a release"
    """The same with an article, for sentences about files."""
    at_once: ClassVar[bool] = False
    """Whether sheets without bounds take no time to compute, so that they are written with the measurements."""
    holds_back: ClassVar[bool] = False
    """Whether some of its numbers can be held back."""
    looks: ClassVar[bool] = False
    """Whether its numbers are counts that can be shown as whole numbers, or without negative ones."""

    checks_values: ClassVar[bool] = True
    """Whether values that do not match the schema change its numbers."""
    place: ClassVar[str] = "are in this table"
    """What its rows are or do, at the end of a sentence; empty if it has none."""
    bulky: ClassVar[tuple[str, ...]] = ()
    """The parts of its file that grow with the number of measurements."""

    schema: Schema
    """What is public about the attributes that were released."""
    task: Task
    """The task of the request."""
    where: str | None
    """The filter: which rows were counted."""
    algorithm: str
    """The algorithm that ran, whether named or chosen."""
    options: Mapping[str, Any]
    """The options of the algorithm that were given."""
    epsilon: Fraction
    """What was charged; this ε protects all rows of a unit together."""
    receipt: Receipt
    """What was paid: data set, privacy unit, budget, entries of the ledger, versions, date."""
    misfits: Misfits | None = None
    """The noisy numbers of rows that do not match the schema, if they were counted."""
    unfinished: str | None = None
    """What ended the program before all planned measurements were taken; None if it was completed."""
    hold: HoldBack | None = None
    """Which of its numbers are held back in frames, files and pages, if any."""
    earlier: Total | None = None
    """An earlier number of rows of the same table, from the same session, if there was one."""

    @classmethod
    def of(cls, parts: Mapping[str, Any], asked: Fraction) -> Self:
        """Build a result from its parts; *asked* is the requested budget, which may not have been needed in full."""
        return cls(**parts)

    def held_back(self, *, below: float | None = None, wider_than: Any = None) -> Self:
        """The same, with the numbers held back that say little: those below a public threshold, by the noisy number,
        and those whose interval is wider than a part of the number: ``release.held_back(below=20, wider_than="50%")``.

        Frames, CSV files, printed tables and the page leave them out and say so. This is presentation, not privacy:
        ε protects people whatever is shown, and ``release.json`` has all numbers, so that a saved result can still be
        used. ``held_back()`` shows everything again.
        """
        if not self.holds_back:
            raise BadInput(f"numbers are held back in counts of cells and statistics by groups, not in {self.holds}.")
        asked = below is not None or wider_than is not None
        return replace(self, hold=HoldBack.of(below=below, wider_than=wider_than) if asked else None)

    def held_back_in_words(self) -> tuple[str, ...]:
        """What is held back, if anything."""
        if self.hold is None:
            return ()
        return (
            f"Held back: {self.hold}. These numbers are left out of frames, CSV files and this text to avoid that "
            "noise is read as a fact. That is presentation, not privacy: release.json has them.",
        )

    def with_known(self, known: object) -> Result:
        """The same, adjusted to totals that are public; only counts of cells can be."""
        raise BadInput(f"known totals are for counts of cells, and this is {self.holds}. Leave them out.")

    # ---- what a kind says of itself ---------------------------------------------------------------------------------

    @abstractmethod
    def own_paragraphs(self) -> tuple[str, ...]:
        """In words: what ran and why, and how far off the numbers are."""

    @abstractmethod
    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """The requested numbers, with bounds at a confidence."""

    def more_sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> tuple[Sheets, ...]:
        """Other sheets that are written to files."""
        return ()

    @property
    def typical_errors(self) -> Mapping[str, float]:
        """The expected errors of its numbers, by name; empty if they depend on the data."""
        return {}

    def explained(self) -> tuple[Sheets, ...]:
        """The sheets that an explanation shows."""
        return ()

    def shown(self, *, quiet: bool = False) -> tuple[str, ...]:
        """What a terminal shows instead of the sheets: a text, or a single number; without words if *quiet*."""
        return ()

    @abstractmethod
    def drawings(self, most: int | None = None) -> list[Drawing]:
        """The pictures, at most *most* of them."""

    def view(self) -> dict[str, Any]:
        """The content of its page: numbers, pictures and words, in addition to those of every page."""
        from adyton.report.page import view_of  # the code for pages and pictures is loaded when needed

        return view_of(self)

    def glance(self, *, bounds: bool = False) -> Sheets:
        """The sheets for a first look, without waiting; with *bounds* if these take no time."""
        return self.sheets(confidence=CONFIDENCE if bounds or not self.at_once else None)

    def remarks(self) -> tuple[str, ...]:
        """A few sentences that a notebook shows below the numbers and the picture; they take no time to compute."""
        return self.own_paragraphs()

    @abstractmethod
    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """The parts that other kinds do not have, as plain values; parts that take time only if *complete*."""

    @classmethod
    @abstractmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> Self:
        """Read a result from the plain values of an untrusted file; the *common* parts were read already."""

    def asked_in_words(self) -> str:
        """The request, in a sentence."""
        where = f", of rows where {self.where}" if self.where else ""
        return f"Released: {self.task}{where}{self.extent}."

    @property
    def extent(self) -> str:
        """The size of the result, after a semicolon; empty if there is nothing to say."""
        return ""

    # ---- in words ---------------------------------------------------------------------------------------------------

    @property
    def head(self) -> tuple[str, ...]:
        """The sentences that every output begins with: what was not measured, and which rows are in it."""
        return tuple(said for said in (self.unmeasured(), self.which_rows) if said)

    def unmeasured(self, *, complete: bool = True) -> str:
        """What the result cannot say because it was not measured, in a sentence or two; empty if there is nothing of
        that kind. What takes time only if *complete*."""
        return ""

    def opening(self) -> tuple[str, ...]:
        """The first paragraphs: what was not measured, if anything, then the request and its rows."""
        asked = f"{self.asked_in_words()} {self.which_rows}".rstrip()
        unmeasured = self.unmeasured()
        return (f"WARNING: {unmeasured}", asked) if unmeasured else (asked,)

    def paragraphs(self, audience: Audience = "reader") -> tuple[str, ...]:
        """The request and its rows, what ran and why, how far off it is, which rows do not match the schema, and the
        price. For the producer also what to do, where something looks wrong."""
        said = f"WARNING: {self.unfinished} What was measured until then is here."
        loud, quiet = self.misfit_paragraphs()
        return (
            *self.opening(),
            *(() if self.receipt.private else (SIMULATED,)),
            *((said,) if self.unfinished is not None else ()),
            *loud,
            *(self.advice() if audience == "producer" else ()),
            *self.own_paragraphs(),
            *self.held_back_in_words(),
            *quiet,
            self._budget_in_words(),
        )

    def _budget_in_words(self) -> str:
        """The price, what is left, where that is recorded, and what ε means; that it protects nobody, if simulated."""
        receipt = self.receipt
        left, total = display(receipt.remaining), display(receipt.total)
        kept = f"in {receipt.ledger}" if receipt.ledger else "in this process only; no ledger file records it"
        changed = f" WARNING: {CHANGED}." if receipt.changed else ""
        if not receipt.private:
            cost = f"a real {self.noun} would cost ε = {display(self.epsilon)}"
            return f"Budget: {cost}; this one is simulated, and protects nobody.{changed}"
        cost = f"Budget: this {self.noun} cost ε = {display(self.epsilon)}; {left} of {total} is left, {kept}."
        means = in_words(self.epsilon, receipt.unit)
        return f"{cost} {means}{changed}"

    def misfit_paragraphs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rows that are missing, in words: warnings if they are needed, and what is known of them."""
        details = (self.coverage.details,) * bool(self.coverage.details)
        counted = () if self.misfits is None else (self.misfits.in_words(),)
        return tuple(f"WARNING: {said}" for said in self.warnings()), (*details, *counted)

    def explain(self, audience: Audience = "producer") -> Explanation:
        """In words: the request, what ran and why, how far off it is, and what was spent.

        Parameters
        ----------
        audience
            ``producer`` for whoever asked, who is also told what to do where something looks wrong; ``reader`` for
            everybody else: then it is what the report says.
        """
        return Explanation(self.paragraphs(audience))

    # ---- which rows are in it ---------------------------------------------------------------------------------------

    @property
    def coverage(self) -> Coverage:
        """Which rows are in it, and which are not."""
        return self._covered(self.schema if self.checks_values and not self.task.per_unit else None)

    def _covered(self, schema: Schema | None, **how: Any) -> Coverage:
        """The coverage of a result for which the values of these attributes must be known."""
        how = {"place": self.place, **how}
        if schema is None:
            return Coverage.of_units(self.schema, self.counted, self.where, how["place"])
        found = Coverage.of(schema, limit=self.counted, where=self.where, misfits=self.misfits, **how)
        in_parts = self.misfits is None and any(
            step.startswith("misfits(") for debit in self.receipt.entries for step in debit.lineage
        )
        return found.measured_in_parts() if in_parts else found

    @property
    def which_rows(self) -> str:
        """Which rows are in it and which are not, in the words that every output begins with."""
        return self.coverage.sentence

    def total(self) -> Total | None:
        """The number of rows in it, if it says one."""
        return None

    @property
    def notes(self) -> tuple[Note, ...]:
        """What looks wrong, each with whom it is for: ``reader``, or ``producer`` for what only whoever asked can do
        about it."""
        misfits = self.misfits
        said = [] if misfits is None else [Note(" ".join(misfits.warnings())), Note(misfits.advice(), "producer")]
        coverage = self.coverage
        said += [Note(SAME_ROWS, "producer")] * bool(coverage.apart and coverage.known)
        with suppress(Exception):  # the result is paid for, with or without this comparison
            total = None if self.where is not None or self.task.per_unit else self.total()
            public = None if self.schema is None else self.schema.rows
            said += [] if total is None else not_right(total, coverage, public, self.earlier, misfits)
        return tuple(note for note in said if note.text)

    def warnings(self) -> tuple[str, ...]:
        """The notes for readers."""
        return tuple(note.text for note in self.notes if note.audience == "reader")

    def advice(self) -> tuple[str, ...]:
        """The notes for the producer."""
        return tuple(note.text for note in self.notes if note.audience == "producer")

    # ---- in numbers -------------------------------------------------------------------------------------------------

    def to_arrow(self, *, confidence: float | None = CONFIDENCE) -> pa.Table:
        """The lines of its CSV file as an Arrow table: labels, then numbers with their bounds.

        *confidence* is that of the bounds; None leaves them out where they take time.
        """
        return self.sheets(confidence=rate_of(confidence)).to_arrow()

    def to_frame(self, *arguments: Any, **options: Any) -> Any:
        """The same as :meth:`to_arrow`, with the same options, as a pandas DataFrame."""
        return to_pandas(self.to_arrow(*arguments, **options))

    def to_polars(self, *arguments: Any, **options: Any) -> Any:
        """The same, with the same options, as a polars DataFrame."""
        return to_polars(self.to_arrow(*arguments, **options))

    # ---- in pictures ------------------------------------------------------------------------------------------------

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The pictures of the report; written to a file if a path is given."""
        from adyton.report.plot import plot  # loaded when a figure is made

        return plot(self, path)

    def _repr_html_(self) -> str:
        from adyton.report.page import to_html  # loaded when a notebook shows it

        return to_html(self)

    # ---- in files ---------------------------------------------------------------------------------------------------

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        integer: bool = False,
        nonnegative: bool = False,
    ) -> None:
        """Write ``release.json`` (complete), a CSV file and ``report.html`` into a new folder.

        What was paid for is saved first; bounds, errors and the report are added to it. If one of these fails, a
        warning says so, and what was paid for is safe. With *overwrite* the folder may hold another result, which is
        replaced. If the numbers are counts, ``integer=True`` and ``nonnegative=True`` apply to the CSV files. A name
        that ends in ``.json`` names a single file, which holds the complete result.
        """
        look = Look(integer, nonnegative)
        if look != AS_IT_IS and not self.looks:
            name = "integer" if integer else "nonnegative"
            raise BadInput(f"{name} is for counts of cells, and this is {self.holds}. Leave it out.")
        with staged(folder, overwrite=overwrite or path_of(folder).suffix == ENDING) as place:
            _, problems = self.save_in(place, look).finish()
        for problem in problems:
            warnings.warn(f"{folder}: {problem} Everything else is there.", stacklevel=2)

    def save_in(self, place: Place, look: Look = AS_IT_IS) -> SavedResult:
        """Write what was paid for, and move it into place; interrupts wait until that is done."""
        with deferred():
            write_json(self._body(complete=False), place.json)
            if self.at_once and not place.single:
                for sheets in (self.sheets(look, None), *self.more_sheets(look, None)):
                    write_sheets(sheets, place.folder)
            place.settle()
            return SavedResult(self, place, look)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The result in a folder that :meth:`save` wrote, or in its JSON file; the data are not needed.

        The file is not trusted: it is checked, and nothing in it is run. :func:`adyton.load` opens any kind.
        """
        result = read_result(path, cls._own_kind, cls.holds)
        assert isinstance(result, cls)
        return result

    def to_dict(self, *, complete: bool = True) -> dict[str, Any]:
        """Everything that is needed to use it later without the data, as plain values for JSON, with a digest; parts
        that take time only if *complete*."""
        return signed(self._body(complete=complete))

    def to_text(self, *, complete: bool = True) -> str:
        """The content of its JSON file, as :meth:`save` writes it."""
        return "".join(file_text(self._body(complete=complete)))

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """The result that :meth:`to_dict` described; the values are not trusted, and are checked."""
        reader = replace(KIND, holds=cls.holds)
        result = reader.made(plain, "this value", lambda parts: result_from(parts, cls._own_kind))
        assert isinstance(result, cls)
        return result

    @classmethod
    def _own_kind(cls, task: Task, kind: str) -> type[Result] | None:
        return cls if kind == cls.kind else None

    def _body(self, *, complete: bool) -> dict[str, Any]:
        """The content of its JSON file."""
        unmeasured = self.unmeasured(complete=complete)
        common = {
            **KIND.head,
            "kind": self.kind,
            **({"unmeasured": unmeasured} if unmeasured else {}),
            "which_rows": self.which_rows or None,
            "counted": self.counted.sentence or None,
            "task": self.task.to_dict(),
            "where": self.where,
            "schema": None if self.schema is None else self.schema.to_dict(),
            "algorithm": self.algorithm,
            "options": self.options,
            "epsilon": as_number(self.epsilon),
            "unfinished": self.unfinished,
            "record": self.receipt.to_plain(),
            "misfits": None if self.misfits is None else self.misfits.to_plain(),
            **({} if self.hold is None else {"held_back": self.hold.to_plain()}),
            **({} if self.earlier is None else {"earlier": self.earlier.to_plain()}),
        }
        return {**as_plain(common), **self.own_dict(complete=complete)}

    # ---- the receipt ------------------------------------------------------------------------------------------------

    @property
    def counted(self) -> RowsCounted:
        """Which rows of each unit were counted; empty if no column names a unit."""
        receipt = self.receipt
        return RowsCounted.asked(self.task, receipt.unit if receipt.enforced else None, receipt.rows_per_unit)

    @property
    def counted_rows(self) -> str:
        """Which rows of the table were counted, in a few words; empty if all were."""
        return self.counted.rows(self.where)

    @property
    def rows_per_unit(self) -> int:
        """How many rows one person may have in the table."""
        return self.receipt.rows_per_unit

    @property
    def record(self) -> dict[str, Any]:
        """The receipt as plain values, as in the JSON file."""
        return self.receipt.to_plain()

    def __str__(self) -> str:
        """The first lines of numbers, then a description and the price."""
        from adyton.report.page import printed  # loaded when it is printed

        return printed(self)

    def __repr__(self) -> str:
        where = f" where {self.where}" if self.where else ""
        mark = "" if self.receipt.private else "; simulated, NOT private"
        what = f"{self.task}{where}{self.counted.aside}"
        return f"<{self.noun}: {what}, by {self.algorithm}, ε = {display(self.epsilon)}{mark}>"


@dataclass(frozen=True, eq=False)
class SavedResult:
    """A result whose measurements are saved."""

    result: Result
    place: Place
    look: Look = AS_IT_IS

    def finish(self) -> tuple[Sheets | None, list[str]]:
        """Add what is computed from the measurements: bounds, expected errors, the report. If that fails, the saved
        files stay as they are.

        Returns the requested sheets, with bounds if there are any, and a sentence for each missing part.
        """
        problems: list[str] = []
        asked = attempt("The numbers with their bounds", problems, self._write_asked)
        attempt("The expected error", problems, self._complete)
        if not self.place.single:
            attempt("The report", problems, self._write_report)
            attempt("The other tables", problems, self._write_more)
        return asked, problems

    def _write_asked(self) -> Sheets:
        asked = self.result.sheets(self.look, CONFIDENCE)
        if not self.place.single:
            write_sheets(asked, self.place.folder)
        return asked

    def _write_more(self) -> None:
        for sheets in self.result.more_sheets(self.look, CONFIDENCE):
            write_sheets(sheets, self.place.folder)

    def _complete(self) -> None:
        with replaced(self.place.json) as file:
            write_json(self.result._body(complete=True), file)

    def _write_report(self) -> None:
        from adyton.report.page import render  # pages are loaded when one is made

        with replaced(self.place.folder / REPORT) as file:
            file.write_text(render(self.result), encoding="utf-8")


def attempt(what: str, problems: list[str], step: Callable[[], _T]) -> _T | None:
    """What *step* computes from a result that is paid for. If it fails for any reason, None; *problems* says why."""
    try:
        return step()
    except Exception as error:
        reason = str(error) if isinstance(error, AdytonError) else getattr(error, "strerror", None)
        problems.append(f"{what} could not be made ({(reason or type(error).__name__).rstrip('.')}).")
        return None


# ---- reading --------------------------------------------------------------------------------------------------------


def read_result(path: str | os.PathLike[str], kind_of: KindOf, holds: str) -> Result:
    """The result in a folder or a file, of the class that *kind_of* returns for its task and kind. *holds* says in
    messages what is expected. A message about a bad file is one sentence."""
    given = path_of(path)
    writer = f"Give the folder of {holds.replace('a ', 'a saved ', 1)}, or its {JSON}."
    file, reader = file_in(given), replace(KIND, holds=holds, writer=writer)
    if not file.exists() and (other := reader.other(given)):
        raise BadInput(f"{path} is not {holds}. {other}")

    def usable(plain: dict[str, Any]) -> Result:
        try:
            return result_from(plain, kind_of)
        except _OtherKind as other:
            raise BadInput(f"{path} is not {holds}. It holds {other.holds}: open it with ad.load.") from None
        except BadInput as problem:
            why = str(problem).rstrip(".")
            raise BadInput(f"{file} is not {holds} that can be used: {why}. {reader.writer}") from None

    return reader.read(file, usable)


class _OtherKind(BadInput):
    """A file holds another kind of result."""

    def __init__(self, holds: str) -> None:
        super().__init__(f"it holds {holds}, which does not belong to its task.")
        self.holds = holds


def result_from(given: dict[str, Any], kind_of: KindOf) -> Result:
    """The result that plain values describe. Unknown keys are ignored; parts that are padded with junk are refused."""
    plain = updated(given) if is_earlier(given) else given
    task, name = task_from_dict(part_of(plain, "task")), as_text(part_of(plain, "kind"), "kind")
    kind = kind_of(task, name)
    if kind is None:
        raise _OtherKind(_KINDS.get(name, f"a result of the kind {shorten(name)}"))
    result = kind.from_plain(plain, _common(plain, task))
    own = result._body(complete=False)
    for part, value in plain.items():
        if part not in own or part in kind.bulky or value == own[part]:
            continue
        if len(json_text(value)) > 8 * len(json_text(own[part])) + _ROOM:
            raise BadInput(f"its part {part!r} is longer than what it can hold.")
    return result


def _common(plain: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """Read the parts that every result has; their types and consistency are checked."""
    described = part_of(plain, "schema")
    schema = None if described is None else Schema.from_dict(described)
    rows, enforced = (1, False) if schema is None else (schema.rows_per_unit, schema.unit is not None)
    receipt = read_receipt(part_of(plain, "record"), rows, enforced=enforced)
    epsilon = as_amount(part_of(plain, "epsilon"), "epsilon", most=receipt.total)
    where, unfinished = part_of(plain, "where"), plain.get("unfinished")
    options = of_kind(dict, part_of(plain, "options"), "options")
    return {
        "schema": schema,
        "task": task,
        "where": None if where is None else as_text(where, "where"),
        "algorithm": as_text(part_of(plain, "algorithm"), "algorithm"),
        "options": {as_text(name, "the name of an option"): value for name, value in options.items()},
        "epsilon": epsilon,
        "receipt": receipt,
        "misfits": read_misfits(plain.get("misfits"), epsilon),
        "unfinished": None if unfinished is None else as_text(unfinished, "unfinished"),
        "hold": _held_back(plain.get("held_back")),
        "earlier": None if plain.get("earlier") is None else Total.from_plain(plain["earlier"]),
    }


def _held_back(plain: Any) -> HoldBack | None:
    """Read which numbers are held back, if any are."""
    if plain is None:
        return None
    return HoldBack.of(below=part_of(plain, "below"), wider_than=part_of(plain, "wider_than"))
