"""Tasks about the numbers of one attribute: sums, means, quantiles, variances, of all rows or by groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from adyton.errors import BadInput
from adyton.exact import exact
from adyton.messages import joined, listing, shorten, without_comma
from adyton.schema import Integer, Numeric, Schema
from adyton.tasks.counts import check_axes
from adyton.tasks.request import Option, Task, names_of
from adyton.whole import SAFE, whole

MOST_QUANTILES = 1000
FEWEST_SHRUNK = 3
"""Means are shrunk towards that of all groups if there are at least this many groups."""
_MOST_PARTS = 10**6
_NAMED = {
    "median": (Fraction(1, 2),),
    "quartiles": tuple(Fraction(part, 4) for part in (1, 2, 3)),
    "deciles": tuple(Fraction(part, 10) for part in range(1, 10)),
}


def quantile_name(part: Fraction) -> str:
    """A quantile as a percentage.

    >>> quantile_name(Fraction(1, 4)), quantile_name(Fraction(1, 8))
    ('25%', '12.5%')
    """
    return f"{float(100 * part):.7g}%"


def statistic_in_words(name: str) -> str:
    """A statistic as pages call it: half of the rows is the median.

    >>> statistic_in_words("50%"), statistic_in_words("90%"), statistic_in_words("mean")
    ('median', '90%', 'mean')
    """
    return "median" if name == quantile_name(Fraction(1, 2)) else name


def parts_of(given: object) -> tuple[Fraction, ...]:
    """Quantiles as fractions of all rows from 0 to 1, in order and without repetition."""
    if isinstance(given, str) and given.strip().lower() in _NAMED:
        return _NAMED[given.strip().lower()]
    single = isinstance(given, str | int | float | Fraction) or not isinstance(given, Iterable)
    values: list[object] = [given] if single else list(given)  # type: ignore[call-overload]
    if not values or len(values) > MOST_QUANTILES:
        raise BadInput(f"ask for at least one quantile and at most {MOST_QUANTILES:,}, given {len(values):,}.")
    parts = []
    for value in values:
        part = Fraction(-1)
        with suppress(BadInput):
            part = exact(value, "a quantile") if not isinstance(value, bool) else part
        if not 0 <= part <= 1:
            how = without_comma(value) or (
                'Write 0.9 for the value that nine in ten rows do not exceed; or "median", "quartiles" or "deciles".'
            )
            raise BadInput(f"a quantile is a number from 0 to 1, given {shorten(value)}. {how}")
        parts.append(part.limit_denominator(_MOST_PARTS))
    return tuple(sorted(set(parts)))


def parts_in(text: str) -> tuple[Fraction, ...]:
    """Quantiles in a text: a name, or numbers with commas between them. A comma in place of a dot is refused.

    >>> parts_in("0.5, 0.9"), parts_in("0, 1")
    ((Fraction(1, 2), Fraction(9, 10)), (Fraction(0, 1), Fraction(1, 1)))
    >>> parts_in("0,1")
    Traceback (most recent call last):
    adyton.errors.BadInput: '0,1' can be read as 0.1, or as 0 and 1. Write 0.1 with a dot, or 0, 1 with a blank.
    """
    if doubt := _DOUBTFUL.search(text):
        first, last = doubt[0].split(",")
        raise BadInput(
            f"{shorten(doubt[0])} can be read as {first}.{last}, or as {first} and {last}. Write {first}.{last} with a "
            f"dot, or {first}, {last} with a blank."
        )
    text = text.strip()
    return parts_of(text if text.isalpha() else [part.strip() for part in text.split(",") if part.strip()])


_DOUBTFUL = re.compile(r"(?<![\d./])0,\d+(?![\d./])", re.ASCII)
"""Two numbers with a comma and no blank between them, which can be one number."""


_GROUPS = (
    Option("by", "For numbers: by groups of these attributes.", "B,C…", asks=False),
    Option("group-rows", "For numbers: how many rows a group has, if that is public.", "N", int, asks=False),
)


@dataclass(frozen=True)
class NumbersTask(Task):
    """A statistic of the numbers of an attribute, of all rows or for each cell of the attributes in *by*.

    *rows* is the approximate number of rows of a group, where that is public: the errors of means and quantiles are
    then known before anything is spent, and it says how quantiles of all rows are best measured.
    """

    answered_by = "adyton.programs.numbers:Numbers"
    word: ClassVar[str]
    statistics: ClassVar[tuple[str, ...]]
    """The names of the statistics that are reported for each group."""
    quantiles: ClassVar[tuple[Fraction, ...]] = ()
    """The quantiles among them, from the smallest to the largest."""

    attribute: str
    _: KW_ONLY
    by: Sequence[str] | str = ()
    rows: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.attribute, str):
            raise BadInput(
                f'{type(self).__name__} takes the name of an attribute, like "salary", given {shorten(self.attribute)}.'
            )
        given = (self.by,) if isinstance(self.by, str) else self.by
        names = tuple(given) if isinstance(given, Iterable) else (None,)
        if not all(isinstance(name, str) for name in names):
            raise BadInput(f'by takes names of attributes, like "sex" or ["sex", "age"], given {shorten(self.by)}.')
        object.__setattr__(self, "by", tuple(str.__str__(name) for name in names if isinstance(name, str)))
        if self.attribute in self.by:
            raise BadInput(f"{self.attribute} cannot be grouped by itself. Leave it out of by.")
        if self.rows is not None:
            object.__setattr__(self, "rows", min(whole(self.rows, "rows", 1), SAFE))

    def select(self, schema: Schema) -> Schema:
        """The attributes of the groups, then the one with the numbers."""
        names = schema.check_names((*self.by, self.attribute))
        declared = schema.attributes.get(self.attribute)  # a point has two axes, neither of them with its name
        if not isinstance(declared, Integer | Numeric):
            numbers = [name for name, kind in schema.attributes.items() if isinstance(kind, Integer | Numeric)]
            there = f"Attributes of numbers are {listing(numbers)}" if numbers else "The schema declares no numbers"
            raise BadInput(
                f"{self.attribute} is {getattr(declared, 'kind', 'a point')}: it has no {self.word}. {there}; "
                "a histogram counts any value."
            )
        selected = schema.select(names)
        if len(names) > 1:
            check_axes(selected)
        return selected

    def check_shrinking(self, groups: int) -> None:
        """Refuse to shrink where there are no means, or too few groups to learn from how much they differ."""
        if "mean" not in self.statistics or groups < FEWEST_SHRUNK:
            raise BadInput(
                f"{self}: only means of at least {FEWEST_SHRUNK} groups can be shrunk. Release the mean, the variance "
                "or the summary of an attribute by groups."
            )

    def check_threshold(self, below: object) -> None:
        """Refuse a threshold on the rows of a group if the rows are not counted."""
        if below is not None and "count" not in self.statistics:
            raise BadInput(
                f"the {self.word} of {self.attribute} has no count of rows, so no group can be held back below a "
                "number of rows. Release the mean, the variance or the summary, which have one, or give a largest "
                "width."
            )

    def to_dict(self) -> dict[str, Any]:
        """The attribute, the groups, and the rows of a group where they are public."""
        plain: dict[str, Any] = {"task": self.kind, "attribute": self.attribute}
        plain |= {"by": list(self.by)} if self.by else {}
        return plain | ({} if self.rows is None else {"rows": self.rows})

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The task from the attribute, the groups and the rows."""
        return cls(plain.get("attribute"), by=plain.get("by", ()), rows=plain.get("rows"))  # type: ignore[arg-type]

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """The attribute, and the groups."""
        return cls(given[cls.kind].strip(), by=names_of(given.get("by")), rows=given.get("group_rows"))

    def __str__(self) -> str:
        by = f" by {' × '.join(self.by)}" if self.by else ""
        return f"{self.word} of {self.attribute}{by}"

    @property
    def title(self) -> str:
        """The statistic, the attribute and the groups."""
        words = self.called
        return f"{words[:1].upper()}{words[1:]} of {self.attribute}{f' by {joined(self.by)}' if self.by else ''}"

    @property
    def called(self) -> str:
        """The statistic, as a heading calls it."""
        return self.word


@dataclass(frozen=True)
class Sum(NumbersTask):
    """The sum of an attribute.

    >>> print(Sum("salary", by="department"))
    sum of salary by department
    """

    kind, word = "sum", "sum"
    command_options = (Option("sum", "The sum of an attribute of numbers.", "A"), *_GROUPS)
    statistics = ("sum",)


@dataclass(frozen=True)
class Mean(NumbersTask):
    """The mean of an attribute, and the number of rows that have a number.

    >>> print(Mean("salary", by=["department", "sex"]))
    mean of salary by department × sex
    """

    kind, word = "mean", "mean"
    command_options = (Option("mean", "Its mean, with the count.", "A"), *_GROUPS)
    statistics = ("count", "mean")


@dataclass(frozen=True)
class Variance(NumbersTask):
    """The variance of an attribute, with the standard deviation, the mean and the count.

    >>> print(Variance("age"))
    variance of age
    """

    kind, word = "variance", "variance"
    command_options = (Option("variance", "Its variance and deviation, too.", "A"), *_GROUPS)
    statistics = ("count", "mean", "variance", "deviation")


@dataclass(frozen=True)
class Quantiles(NumbersTask):
    """Quantiles of an attribute: a list of parts between 0 and 1, or "median", "quartiles" or "deciles".

    >>> print(Quantiles("salary", [0.1, 0.5, 0.9], by="department"))
    10%, 50%, 90% quantiles of salary by department
    >>> Quantiles("salary", by=["department", "sex"]).title
    'Quartiles of salary by department and sex'
    """

    kind, word = "quantiles", "quantiles"
    command_options = (
        Option("quantiles", "Its quantiles: the quartiles, or those of --at.", "A"),
        Option("at", "For --quantiles: 0.1,0.5,0.9, or median, quartiles or deciles.", "Q,Q…", asks=False),
        *_GROUPS,
    )

    parts: Sequence[Any] | str | float = "quartiles"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", parts_of(self.parts))
        super().__post_init__()

    @property
    def quantiles(self) -> tuple[Fraction, ...]:  # type: ignore[override]
        """The quantiles from the smallest to the largest."""
        return self.parts  # type: ignore[return-value]  # read when the task was made

    @property
    def statistics(self) -> tuple[str, ...]:  # type: ignore[override]
        """A percentage for each quantile."""
        return tuple(map(quantile_name, self.quantiles))

    def to_dict(self) -> dict[str, Any]:
        """The same, with the parts as exact texts."""
        return {**super().to_dict(), "parts": [str(part) for part in self.quantiles]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The same, with the parts."""
        attribute: Any = plain.get("attribute")
        return cls(attribute, plain.get("parts", ()), by=plain.get("by", ()), rows=plain.get("rows"))

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """The same, with the parts."""
        at, by = parts_in(given.get("at", "quartiles")), names_of(given.get("by"))
        return cls(given[cls.kind].strip(), at, by=by, rows=given.get("group_rows"))

    def __str__(self) -> str:
        words = super().__str__()
        median = self.quantiles == _NAMED["median"]
        return words.replace(self.word, self.called, 1) if median else f"{self._shares} {words}"

    @property
    def called(self) -> str:
        """Their name, if they have one."""
        names = {parts: name for name, parts in _NAMED.items()}
        return names.get(self.quantiles, f"{self._shares} {self.word}")

    @property
    def _shares(self) -> str:
        return ", ".join(self.statistics[:3]) + (" …" if len(self.statistics) > 3 else "")


@dataclass(frozen=True)
class Summary(NumbersTask):
    """Count, mean, standard deviation and quartiles of an attribute at once.

    >>> print(Summary("age", by="sex"))
    summary of age by sex
    """

    kind, word = "summary", "summary"
    command_options = (Option("summary", "Count, mean, deviation and quartiles at once.", "A"), *_GROUPS)
    quantiles = _NAMED["quartiles"]
    statistics = ("count", "mean", "deviation", *map(quantile_name, quantiles))
