"""What comes out of a configuration: the parameter, what is promised about it, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.configuration.asked import Parameter, Tuning, inside
from adyton.configuration.guarantee import Guarantee
from adyton.errors import BadInput
from adyton.exact import display
from adyton.kernel.instances.utility import Utility
from adyton.odds import often
from adyton.result.result import AS_IT_IS, CONFIDENCE, Look, Result
from adyton.result.sheets import Column, Sheet, Sheets
from adyton.schema.plain_values import as_real, of_kind, part_of

if TYPE_CHECKING:
    from adyton.report.pictures import Drawing
    from adyton.report.view import View

FILE = "parameters.csv"
MOST_DRAWN = 10_000


@dataclass(frozen=True, repr=False, kw_only=True)
class Configuration(Result):
    """A tuned parameter. It is public: nothing in it tells anything about an instance, nor how many there were.

    Made by :func:`adyton.configure`; kept in a file by :meth:`save`, and read back by :meth:`load`.
    """

    kind = "tuning"
    noun = "configuration"
    holds = "a configuration"
    checks_values = False

    task: Tuning
    parameter: Parameter
    """The value that was chosen; a tuple of them for a grid of several parameters."""
    curve: tuple[tuple[float, float], ...] | None = None
    """Parameters and their mean utility, 0 … 1, for *public* instances of one parameter; never for private ones."""

    @property
    def family(self) -> str:
        """The name of the algorithm that was tuned."""
        return self.task.family

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Where every parameter was looked for."""
        return self.task.intervals

    @property
    def neighbours(self) -> str:
        """Whom ε protects: one instance that is added or removed (``add-remove``), or another one (``replace``)."""
        return self.task.neighbours

    @property
    def utility(self) -> Utility:
        """What was made as good as possible: the clipped relative regret, or the value."""
        return self.task.utility

    @property
    def points(self) -> int | None:
        """How many points the grid had; None where the whole interval was looked at."""
        return self.task.points

    @property
    def default(self) -> float | None:
        """Today's value, if half of the prior was on it."""
        return self.task.default

    @property
    def interval(self) -> tuple[float, float]:
        """Where the parameter was looked for; the first one's interval, if there are several."""
        return self.intervals[0]

    @property
    def guarantee(self) -> Guarantee:
        """How far from the best it may be on average, with what probability: from public figures alone."""
        owners = self.receipt.unit == "owner"
        return Guarantee(self.epsilon, self.neighbours, self.utility, self.points, self.default is not None, owners)

    @property
    def private(self) -> bool:
        """Whether the noise was real; on public instances it is simulated."""
        return self.receipt.private

    def paragraphs(self) -> tuple[str, ...]:
        """What was tuned and to what, what is promised, and what was spent."""
        tuned, promised = self._chosen(), f"Guarantee: {self.guarantee}"
        if not self.private:
            return ("NOT PRIVATE: the instances were declared public, and the noise is simulated.", tuned, promised)
        return tuned, promised, self._protected(), self._budget()

    def own_paragraphs(self) -> tuple[str, ...]:
        """What was tuned, and what is promised."""
        return self._chosen(), f"Guarantee: {self.guarantee}"

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """The parameter; a line for each of several."""
        values = self.parameter if isinstance(self.parameter, tuple) else (self.parameter,)
        names = [self.family] if len(values) == 1 else [f"{self.family} {place + 1}" for place in range(len(values))]
        lower, upper = (np.array([one[end] for one in self.intervals]) for end in (0, 1))
        columns = (Column("parameter", np.array(values)), Column("from", lower), Column("to", upper))
        return Sheets(FILE, (Sheet({"of": names}, columns),))

    def shown(self, *, quiet: bool = False) -> tuple[str, ...]:
        """All of it in words."""
        return self.paragraphs()

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """The guarantee against the number of instances, and the curve of public ones."""
        from adyton.report.configurations import drawings

        return drawings(self)[:most]

    def view(self) -> View:
        """With what is promised, and the curve of public instances."""
        from adyton.report.configurations import view

        return view(self)

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """The parameter, and the curve of public instances."""
        return {
            "parameter": list(self.parameter) if isinstance(self.parameter, tuple) else self.parameter,
            "curve": None if self.curve is None else [list(one) for one in self.curve],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> Configuration:
        """With parameters in their intervals."""
        task, receipt, curve = common["task"], common["receipt"], part_of(plain, "curve")
        if not isinstance(task, Tuning):
            raise BadInput("the task is no configuration.")
        if receipt.private and curve is not None:
            raise BadInput("the instances are private, and yet their curve is there.")
        parameter = _parameter(part_of(plain, "parameter"), task.intervals)
        return cls(**common, parameter=parameter, curve=None if curve is None else _curve(curve))

    def _chosen(self) -> str:
        where = " × ".join(f"[{low:g}, {high:g}]" for low, high in self.intervals)
        looked = f"on {where}" if self.points is None else f"among {self.points:,} points of {where}"
        scale = display(self.utility.scale)
        goal = f"relative regret, clipped at {scale}" if self.utility.name == "regret" else f"value, up to {scale}"
        prior = "" if self.default is None else f" Half of the prior was on today's value, {self.default:g}."
        return f"Tuned: {self.family}, to the parameter {shown(self.parameter)}, {looked}, by {goal}.{prior}"

    def _protected(self) -> str:
        unit = "instance" if self.receipt.unit != "owner" else "owner's instances"
        change = "are among those used" if unit.endswith("s") else "is among those used"
        if self.neighbours == "replace":
            change = (
                "were used, or others in their place" if unit.endswith("s") else "was used, or another in its place"
            )
        whose = f"a certain {unit} {change}"
        return f"Privacy: whoever guesses whether {whose}, with even odds before, {often(self.epsilon)}."

    def _budget(self) -> str:
        receipt = self.receipt
        kept = f"in {receipt.ledger}" if receipt.ledger else "in this process only; no ledger file remembers it"
        left, total = display(receipt.remaining), display(receipt.total)
        return f"Budget: this configuration cost ε = {display(self.epsilon)}; {left} of {total} is left, {kept}."

    def __repr__(self) -> str:
        mark = "" if self.private else "; simulated, NOT private"
        return f"<{self.family} tuned to {shown(self.parameter)}, ε = {display(self.epsilon)}{mark}>"


def shown(parameter: Parameter) -> str:
    """A parameter as people read it.

    >>> shown(0.123456789), shown((1.0, 2.5))
    ('0.12345679', '(1, 2.5)')
    """
    if isinstance(parameter, tuple):
        return f"({', '.join(map(shown, parameter))})"
    return f"{parameter:.8g}"


def _parameter(plain: object, intervals: tuple[tuple[float, float], ...]) -> Parameter:
    values = plain if isinstance(plain, list) else [plain]
    if not intervals or len(values) != len(intervals) or isinstance(plain, list) != (len(intervals) > 1):
        raise BadInput("there must be one parameter for each interval.")
    found = tuple(inside(value, interval) for value, interval in zip(values, intervals, strict=True))
    return found if len(found) > 1 else found[0]


def _curve(plain: object) -> tuple[tuple[float, float], ...]:
    pairs = of_kind(list, plain, "curve")
    if len(pairs) > MOST_DRAWN or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise BadInput("the curve must be a list of pairs.")
    return tuple((as_real(at, "curve"), as_real(value, "curve")) for at, value in pairs)
