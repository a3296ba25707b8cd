"""The rows that do not match the schema, as a release counted them: noisy counts, and sentences about them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.errors import BadInput
from adyton.exact import as_number, display
from adyton.messages import shorten
from adyton.schema.misfits import FATES, REASONS, Misfit, Reason
from adyton.schema.plain_values import as_amount, as_real, as_text, of_kind, part_of
from adyton.whole import SAFE, whole

SURE = 6
"""A count that is this many standard deviations above 0 is considered certain: noise alone reaches that once in 10,000
times."""
SHARE = Fraction(1, 50)
"""The part of a release's budget that is spent on counting misfits, by default."""
GUESS, SHOWN = 10_000, Fraction(1, 20)
"""How many rows are assumed if the schema does not say it, and the part of them that must be noticeable; otherwise
misfits are counted only on request. Both are public; the real number of rows is not."""
LIKELY = 3
"""A count that is this many standard deviations above 0 is called likely if it is half of all rows: noise alone reaches
that once in 140 times."""
FAR = math.log(20) / math.sqrt(2)
"""How many standard deviations noise moves a count, 19 times of 20; less for a sum of several."""
_LOUD = {True: 0.05, False: 0.5}
"""The part of all rows above which a kind of misfit causes a warning, by whether such rows are lost."""
_NEARLY_ALL = 0.9
_NAMED = 2
"""How many other reasons are named."""
_REASONS: dict[Reason, str] = {
    "unreadable": "{a} {name} that cannot be read as a number",
    "no time": "{a} {name} that cannot be read as a date or time",
    "missing": "no {name}",
    "no level": "{a} {name} that is not a declared level",
    "out of bounds": "{a} {name} outside its declared bounds",
}
_FATES = {
    "left out": "were left out",
    "counted as missing": "were counted as missing",
    "unmatched": "match no value that the predicate can name",
    "clamped": "were counted in the nearest cell",
    "counted as other": "were counted as (other)",
}
_ADVICE = (
    "Compare how the file writes {} with what the schema accepts (`adyton schema SCHEMA.toml` prints it), correct one "
    'of the two, and release again; nulls = "level" counts values that are truly missing.'
)


def noticeable(epsilon: Fraction, rows_per_unit: int) -> int:
    """How many rows of a kind are certain to be noticed in counts that cost the usual part of *epsilon*.

    >>> noticeable(Fraction(1, 2), 1)
    849
    """
    return math.ceil(SURE * math.sqrt(2) * rows_per_unit / (epsilon * SHARE))


@dataclass(frozen=True)
class MisfitShare:
    """The part of a release's budget that is spent on counting misfits; it can depend on the budget."""

    part: Fraction = Fraction(0)
    rows_per_unit: int = 1
    rows: int | None = None
    """About how many rows there are; None if the part is taken however large the noise is."""

    def of(self, epsilon: Fraction) -> Fraction:
        """The part for a release of *epsilon*."""
        return (
            self.part
            if self.rows is None or noticeable(epsilon, self.rows_per_unit) <= SHOWN * self.rows
            else Fraction(0)
        )

    def notes(self, epsilon: Fraction) -> tuple[str, ...]:
        """A remark if misfits are not counted although they usually are."""
        if self.of(epsilon) == self.part:
            return ()
        return (
            "Rows with a blank or unknown value, which do not match the schema, are not counted at this ε: the count "
            "would be too noisy to use. --misfits (in Python misfits=True) counts them.",
        )


NO_SHARE = MisfitShare()


def not_counted(epsilon: Fraction, rows_per_unit: int) -> str:
    """A sentence that misfits are not counted, and how noisy a count of them would be."""
    noise = FAR * math.sqrt(2) * rows_per_unit / float(epsilon * SHARE)
    return (
        "How many rows have a blank or unknown value, and so do not match the schema, is not measured: a count with "
        f"{SHARE} of this ε would have noise of ± {noise:,.0f}, 19 times of 20."
    )


@dataclass(frozen=True)
class NoisyMisfit:
    """One kind of misfit, and its noisy number of rows."""

    misfit: Misfit
    count: int


@dataclass(frozen=True)
class Misfits:
    """Rows that do not match the schema, by attribute and reason. Each row is counted once, for its most serious
    reason.

    The counts were measured within the release, for a part of its budget.

    >>> from adyton.schema.misfits import Misfit
    >>> misfits = Misfits(Fraction(1, 100), Fraction(1, 50), 60, 141.4, [NoisyMisfit(Misfit("cost", "unreadable", \
"left out"), 4940)])
    >>> misfits.warnings()[0][:107]
    'About 4,940 (± 300) of about 5,000 rows have a cost that cannot be read as a number, and were left out: wha'
    """

    epsilon: Fraction
    """What counting them cost, as part of the charge for the release."""
    share: Fraction
    """The same as a part of the release's budget."""
    fits: int
    """The noisy number of rows that match the schema."""
    deviation: float
    """The standard deviation of the noise in every count."""
    counts: Iterable[NoisyMisfit]
    """The kinds of misfits, the most serious first."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", tuple(self.counts))

    @property
    def rows(self) -> int:
        """The noisy number of all rows, before any predicate."""
        return max(1, self.fits + sum(kind.count for kind in self.counts))

    @property
    def reach(self) -> float:
        """How far noise moves a count, 19 times of 20."""
        return FAR * self.deviation

    @property
    def all_rows(self) -> str:
        """The number of all rows in words, with as many digits as noise leaves."""
        far = self.reach * math.sqrt(1 + sum(1 for _ in self.counts))
        digits = max(0, math.floor(math.log10(min(far, self.rows)))) if far > 1 else 0
        return f"about {round(self.rows, -digits):,} rows"

    def sure(self) -> tuple[NoisyMisfit, ...]:
        """The kinds that are certainly there: their count is more than six standard deviations above 0."""
        return tuple(kind for kind in self.counts if kind.count > SURE * self.deviation)

    def alarming(self) -> tuple[NoisyMisfit, ...]:
        """The kinds that are certain and frequent: at least 5% of all rows if such rows are lost, else 50%."""
        return tuple(kind for kind in self.sure() if kind.count >= _LOUD[_lost(kind.misfit)] * self.rows)

    def likely(self) -> tuple[NoisyMisfit, ...]:
        """The kinds that are not certain because the budget is small, but would be half of all rows."""
        certain, sure = LIKELY * self.deviation, self.sure()
        return tuple(kind for kind in self.counts if kind not in sure and kind.count > max(certain, 0.5 * self.rows))

    def warnings(self) -> tuple[str, ...]:
        """A sentence on every alarming or likely kind, for readers; empty if there is no such kind."""
        likely = (f"Likely: {self._sentence(kind)}" for kind in self.likely())
        return (*map(self._sentence, self.alarming()), *likely)

    def advice(self) -> str:
        """What whoever made the release can do about alarming or likely kinds; empty if there is no such kind."""
        kinds = (*self.alarming(), *self.likely())
        names = list(dict.fromkeys(kind.misfit.attribute for kind in kinds))
        return _ADVICE.format(" and ".join(names)) if names else ""

    def in_words(self) -> str:
        """Which rows do not match the schema, and what counting them cost."""
        calm = [self._sentence(kind) for kind in self.sure() if kind not in self.alarming()]
        noise = f"the counts have noise of ± {self.reach:,.0f} each, 19 times of 20"
        if calm or self.alarming() or self.likely():
            words = [*calm, f"Of other kinds of rows that do not match the schema, there is no sign: {noise}."]
        else:
            words = [f"No sign of rows that do not match the schema: {noise}, and show no more than noise."]
        return " ".join(
            [*words, f"Counting them took ε = {display(self.epsilon)}, {self.share} of what this release cost."]
        )

    def _sentence(self, kind: NoisyMisfit) -> str:
        misfit, rows = kind.misfit, self.rows
        count = min(kind.count, rows)
        words = (
            f"About {count:,} (± {self.reach:,.0f}) of {self.all_rows} have "
            f"{_reason(misfit)}{self._besides(kind)}, and {_FATES[misfit.fate]}"
        )
        if count < _NEARLY_ALL * rows:
            return f"{words}."
        if misfit.fate == "left out":
            return f"{words}: what was published about {misfit.attribute} is nearly all noise."
        return f"{words}: that is nearly all of them."

    def _besides(self, kind: NoisyMisfit) -> str:
        """That rows which certainly have a more serious reason, and may have this one too, were counted there."""
        kinds = tuple(self.counts)
        before = [_reason(other.misfit) for other in kinds[: kinds.index(kind)] if other in self.sure()]
        if len(before) > _NAMED:
            before = ["one of the more serious reasons"]
        return f" (not counting those with {' or '.join(before)})" if before else ""

    def __str__(self) -> str:
        return " ".join([*self.warnings(), self.in_words()])

    def to_plain(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        return {
            "epsilon": as_number(self.epsilon),
            "share": as_number(self.share),
            "deviation": self.deviation,
            "fits": self.fits,
            "misfits": [
                {
                    "attribute": kind.misfit.attribute,
                    "reason": kind.misfit.reason,
                    "fate": kind.misfit.fate,
                    "count": kind.count,
                    "alarming": kind in self.alarming(),
                    "likely": kind in self.likely(),
                }
                for kind in self.counts
            ],
        }


def _reason(misfit: Misfit) -> str:
    """What such rows have, or do not have."""
    article = "an" if misfit.attribute[:1].lower() in "aeiou" else "a"
    return _REASONS[misfit.reason].format(a=article, name=misfit.attribute)


def _lost(misfit: Misfit) -> bool:
    """Whether such rows are not counted where the curator meant them to be."""
    return misfit.fate in ("left out", "counted as missing")


def read_misfits(plain: object, epsilon: Fraction) -> Misfits | None:
    """The rows that do not match the schema, if they were counted; older files do not have this part."""
    if plain is None:
        return None
    part = as_amount(part_of(plain, "share"), "the share of the misfits", most=Fraction(1))
    if as_amount(part_of(plain, "epsilon"), "the price of the misfits", most=epsilon) != part * epsilon:
        raise BadInput("the price of the misfits is not their share of what was charged.")
    return Misfits(
        part * epsilon,
        part,
        _count(part_of(plain, "fits")),
        max(0.0, as_real(part_of(plain, "deviation"), "the deviation of the misfits")),
        [_misfit(kind) for kind in of_kind(list, part_of(plain, "misfits"), "misfits")],
    )


def _misfit(plain: object) -> NoisyMisfit:
    reason, fate = part_of(plain, "reason"), part_of(plain, "fate")
    if reason not in REASONS or fate not in FATES:
        raise BadInput(f"a misfit has a reason and a fate, given {shorten(reason)} and {shorten(fate)}.")
    return NoisyMisfit(
        Misfit(as_text(part_of(plain, "attribute"), "attribute"), reason, fate), _count(part_of(plain, "count"))
    )


def _count(plain: object) -> int:
    """A noisy number of rows."""
    if whole(plain, "a number of misfits", -SAFE) > SAFE:
        raise BadInput(f"a number of misfits must not be beyond ±2^62, given {shorten(plain)}.")
    return whole(plain, "a number of misfits", -SAFE)
