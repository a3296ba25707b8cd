"""The rows that do not fit, counted within a release: for which part of its budget, and about which attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import BadInput
from adyton.exact import Rational, share
from adyton.kernel.sources import TableSource
from adyton.kernel.tables.predicate_parser import parse_predicate
from adyton.kernel.tables.predicates import attributes_of
from adyton.messages import shorten
from adyton.queries import Identity
from adyton.result.misfits import GUESS, NO_SHARE, SHARE, Counted, Misfits, MisfitShare
from adyton.schema import Schema
from adyton.schema.misfits import misfits_of
from adyton.tasks.request import Request

LEAST, MOST = Fraction(1, 1000), Fraction(1, 2)


def misfits_share(given: Rational | bool | None, schema: Schema, *, from_text: bool) -> MisfitShare:
    """The part of the budget: by default one where the table is a file of text, if that shows 5% of the rows that the
    schema says there are, or of 10,000 where it does not.

    Not where a frame holds texts: its types are inferred from rows, so that this would tell something about them.
    """
    if given is None:
        return MisfitShare(SHARE if from_text else Fraction(0), schema.rows_per_unit, schema.rows or GUESS)
    if isinstance(given, bool):
        return MisfitShare(SHARE if given else Fraction(0))
    part = share(given, "misfits")
    if not LEAST <= part <= MOST:
        raise BadInput(f"misfits is True, False or a part of epsilon from {LEAST} to {MOST}, given {shorten(given)}.")
    return MisfitShare(part)


@dataclass(frozen=True)
class MisfitCount:
    """A count of misfits that is planned: on which table, about which attributes, for which part of the budget."""

    root: TableSource
    counted: tuple[str, ...]
    """The attributes that are released."""
    tested: tuple[str, ...]
    """Other attributes that the predicate looks at."""
    shares: MisfitShare

    @classmethod
    def planned(cls, root: TableSource, counted: Sequence[str] | None, request: Request) -> MisfitCount:
        """For a request about these attributes; none where no attribute is looked at."""
        if counted is None:
            return cls(root, (), (), NO_SHARE)
        seen = () if request.where is None else attributes_of(parse_predicate(request.where, root.schema))
        tested = tuple(name for name in seen if name not in counted)
        share = misfits_share(request.misfits, root.schema, from_text=root.from_text)
        return cls(root, tuple(counted), tested, share)

    def share(self, epsilon: Fraction) -> Fraction:
        """The part that is taken of a release of *epsilon*."""
        return self.shares.of(epsilon)

    def measure(self, epsilon: Fraction) -> Misfits | None:
        """Count, for its part of what the release is charged; None if that is nothing.

        All rows are looked at, whatever the predicate: one that cannot be read is lost to the predicate, too.
        """
        share = self.share(epsilon)
        if not share:
            return None
        misfits = misfits_of(self.root.schema, self.counted, self.tested)
        price = epsilon * share
        counts = self.root.misfits(self.counted, self.tested)
        answer = counts.measure(Identity(counts.shape), price / self.root.stability)
        fits, *others = (int(count) for count in answer.answers)
        found = [Counted(misfit, count) for misfit, count in zip(misfits, others, strict=True)]
        return Misfits(price, share, fits, answer.deviation, found)
