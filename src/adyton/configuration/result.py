"""The result of a configuration: the parameter, what is guaranteed about it, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.configuration.tuning import Parameter, Tuning, inside
from adyton.errors import BadInput
from adyton.exact import Rational, display, positive
from adyton.kernel.instances.lattice import POINTS, UNIT, Utility
from adyton.kernel.instances.votes import ADD_REMOVE, spread
from adyton.messages import shorten
from adyton.odds import often
from adyton.result.coverage import Audience
from adyton.result.result import Result
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Column, Look, Sheet, Sheets
from adyton.schema.plain_values import as_real, of_kind, part_of
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.report.page import View
    from adyton.report.pictures import Drawing


WIDTH, FAILURE = 0.01, 0.05
_MOST_NEEDED = 10**15


FILE = "parameters.csv"
MOST_DRAWN = 10_000


@dataclass(frozen=True, repr=False, kw_only=True)
class Configuration(Result):
    """A tuned parameter. It is public: it reveals nothing about an instance, nor how many there were.

    Made by :func:`adyton.configure`; kept in a file by :meth:`save`, and read back by :meth:`load`.
    """

    kind = "tuning"
    noun = "configuration"
    holds = "a configuration"
    checks_values = False
    place = ""

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
        """The interval in which each parameter was searched."""
        return self.task.intervals

    @property
    def neighbours(self) -> str:
        """What ε protects: one instance that is added or removed (``add-remove``), or replaced (``replace``)."""
        return self.task.neighbours

    @property
    def utility(self) -> Utility:
        """What was optimised: the clipped relative regret, or the value."""
        return self.task.utility

    @property
    def points(self) -> int | None:
        """How many points the grid had; None if the whole interval was searched."""
        return self.task.points

    @property
    def default(self) -> float | None:
        """Today's value, if half of the prior was on it."""
        return self.task.default

    @property
    def interval(self) -> tuple[float, float]:
        """The interval in which the parameter was searched; that of the first, if there are several."""
        return self.intervals[0]

    @property
    def guarantee(self) -> Guarantee:
        """How far from the best it may be on average, and with what probability: from public figures only."""
        owners = self.receipt.unit == "owner"
        return Guarantee(self.epsilon, self.neighbours, self.utility, self.points, self.default is not None, owners)

    @property
    def private(self) -> bool:
        """Whether the noise was real; on public instances it is simulated."""
        return self.receipt.private

    def paragraphs(self, audience: Audience = "reader") -> tuple[str, ...]:
        """What was tuned and to what, what is promised, and what was spent."""
        tuned, promised = self._chosen(), f"Guarantee: {self.guarantee}"
        if not self.private:
            return ("NOT PRIVATE: the instances were declared public, and the noise is simulated.", tuned, promised)
        return tuned, promised, self._protected(), self._budget()

    def own_paragraphs(self) -> tuple[str, ...]:
        """What was tuned, and what is promised."""
        return self._chosen(), f"Guarantee: {self.guarantee}"

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """The parameter, or one line for each of several parameters."""
        values = self.parameter if isinstance(self.parameter, tuple) else (self.parameter,)
        names = [self.family] if len(values) == 1 else [f"{self.family} {place + 1}" for place in range(len(values))]
        lower, upper = np.array(self.intervals, dtype=np.float64).T
        columns = (Column("parameter", np.array(values)), Column("from", lower), Column("to", upper))
        return Sheets(FILE, (Sheet({"of": names}, columns),))

    def shown(self, *, quiet: bool = False) -> tuple[str, ...]:
        """All paragraphs."""
        return self.paragraphs()

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """The guarantee against the number of instances, and the curve of public instances."""
        from adyton.report.models import configuration_drawings  # pages are above results: loaded when one is asked for

        return configuration_drawings(self)[:most]

    def view(self) -> View:
        """The page, with what is promised and the curve of public instances."""
        from adyton.report.models import configuration_view  # as above

        return configuration_view(self)

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """The parameter, and the curve of public instances."""
        return {
            "parameter": list(self.parameter) if isinstance(self.parameter, tuple) else self.parameter,
            "curve": None if self.curve is None else [list(pair) for pair in self.curve],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> Configuration:
        """Read from a file; the parameters must be in their intervals."""
        task, receipt, curve = common["task"], common["receipt"], part_of(plain, "curve")
        if not isinstance(task, Tuning):
            raise BadInput("the task is not a configuration.")
        if receipt.private and curve is not None:
            raise BadInput("the instances are private, but their curve is in the file.")
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
        return f"Privacy: an attacker who starts at 50% on whether {whose} {often(self.epsilon)}."

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
    parameter = tuple(inside(value, interval) for value, interval in zip(values, intervals, strict=True))
    return parameter if len(parameter) > 1 else parameter[0]


def _curve(plain: object) -> tuple[tuple[float, float], ...]:
    pairs = of_kind(list, plain, "curve")
    if len(pairs) > MOST_DRAWN or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise BadInput("the curve must be a list of pairs.")
    return tuple((as_real(at, "curve"), as_real(value, "curve")) for at, value in pairs)


@dataclass(frozen=True)
class Guarantee:
    """With probability 1 − ζ the parameter is nearly as good as the best one whose whole neighbourhood is as good.

    A utility of 1 is the best that a parameter can have on an instance: no regret, or the bound H; 0 is a regret of the
    clip h or more. Take any parameter, and let V be the least summed utility within an interval around it that is a
    share *width* of the whole one (w/L). Then with probability 1 − *failure* (ζ) the summed utility of the chosen
    parameter is at least

        V − (1/ε)·(ln(L/w) + ln(1/ζ)),

    with 2/ε in place of 1/ε where neighbours have an instance replaced, and ln 2 more in the bracket where half of the
    prior is on today's value. For a grid the comparison is with the best of its k points, and with nothing in between;
    ln k replaces ln(L/w).

    Proof.  All parameters that fall short of V by more than x have together at most e^{c·(V − x)} of the weight, those
    of the neighbourhood at least e^{c·V} times their prior, which is w/L − 2⁻³² of the lattice, or half of that. The
    ratio is ζ for the x above, with c = ε, or ε/2. Permute-and-flip is never worse than the exponential mechanism at
    any error (McKenna and Sheldon, 2020).  ∎

    Levels are rounded to 2⁻²⁰, once at either parameter, and once more for the mean of an owner: that is added. A
    regret above the clip counts as the clip: the promise is about clipped regrets.

    >>> from adyton.kernel.instances.lattice import Utility
    >>> promise = Guarantee(Fraction(1), "add-remove", Utility.named("regret"))
    >>> round(promise.average_loss(1000), 5), promise.instances_needed("0.001")
    (0.00076, 761)
    """

    epsilon: Fraction
    neighbours: str
    utility: Utility
    points: int | None = None
    """How many points a grid has; None for an interval."""
    has_default: bool = False
    """Whether half of the prior is on today's value."""
    by_owner: bool = False
    """Whether each owner has a vote, not each instance."""

    def summed_loss(self, *, width: float = WIDTH, failure: float = FAILURE) -> float:
        """How much summed utility may be lost, in votes, without rounding: the formula above."""
        prior = math.log(self.points) if self.points is not None else -math.log(_share(width) - 1 / POINTS)
        doubled = math.log(2) if self.has_default else 0.0
        return (prior + doubled - math.log(_chance(failure))) / self._rate

    def average_loss(self, instances: int, *, width: float = WIDTH, failure: float = FAILURE) -> float:
        """How much may be lost on average with this many instances (owners): relative regret, or value. At most the
        clip or the bound, which nothing exceeds."""
        count = whole(instances, "instances", 1)
        lost = self.summed_loss(width=width, failure=failure) / count + self._rounding
        return float(self.utility.scale) * min(1.0, lost)

    def against_default(self, instances: int, *, failure: float = FAILURE) -> float:
        """How much worse than today's value it may be on average, with half of the prior there."""
        if not self.has_default:
            raise BadInput("nothing is guaranteed about today's value. Configure with default=….")
        count = whole(instances, "instances", 1)
        lost = (math.log(2) - math.log(_chance(failure))) / self._rate / count + self._rounding
        return float(self.utility.scale) * min(1.0, lost)

    def instances_needed(self, target: Rational, *, width: float = WIDTH, failure: float = FAILURE) -> int:
        """How many instances (owners) are needed so that at most *target* may be lost on average."""
        wanted = float(positive(target, "target"))
        scale = float(self.utility.scale)
        if wanted >= scale:
            return 1
        room = wanted / scale - self._rounding
        lost = self.summed_loss(width=width, failure=failure)
        if room <= 0 or lost / room > _MOST_NEEDED:
            raise BadInput(f"target is too small to be promised for any number of instances, given {shorten(target)}.")
        return max(1, math.ceil(lost / room))

    @property
    def _rate(self) -> float:
        """c, for utilities of 0 … 1."""
        return float(self.epsilon * UNIT / spread(self.neighbours))

    @property
    def _rounding(self) -> float:
        return (2 if self.by_owner else 1) / UNIT

    def in_words(self, instances: int, *, width: float = WIDTH, failure: float = FAILURE) -> str:
        """The promise for this many instances, in words."""
        lost = self.average_loss(instances, width=width, failure=failure)
        unit = "owners" if self.by_owner else "instances"
        shown = f"{100 * lost:.3g}% of the best value" if self.utility.name == "regret" else f"{lost:.4g}"
        return f"at most {shown} for {instances:,} {unit}"

    def __str__(self) -> str:
        if self.points is None:
            rival = f"any parameter whose whole neighbourhood, {WIDTH:.0%} of the interval, is as good"
        else:
            rival = f"the best of the {self.points:,} points of the grid; nothing is said about what lies between them"
        clip = float(self.utility.scale)
        cut = f" (losses above {clip:.3g} on one instance count as {clip:.3g})" if self.utility.name == "regret" else ""
        figures = "; ".join(self.in_words(count) for count in (100, 1000, 10_000))
        return f"With probability {1 - FAILURE:.0%} the average loss{cut} against {rival}: {figures}."


def _share(width: float) -> float:
    if not (isinstance(width, int | float) and 2 / POINTS <= width <= 1):
        raise BadInput(f"width is a share of the interval, from 2^-31 to 1, given {shorten(width)}.")
    return float(width)


def _chance(failure: float) -> float:
    if not (isinstance(failure, int | float) and 0 < failure < 1):
        raise BadInput(f"failure is a probability between 0 and 1, given {shorten(failure)}.")
    return float(failure)


def planned(
    epsilon: Rational,
    *,
    neighbours: str = ADD_REMOVE,
    utility: str = "regret",
    clip: Rational = "0.1",
    bound: Rational | None = None,
    points: int | None = None,
    has_default: bool = False,
) -> Guarantee:
    """The guarantee of a configuration that is only planned: nothing is read and nothing spent."""
    spread(neighbours)
    count = None if points is None else whole(points, "points", 1)
    return Guarantee(positive(epsilon, "epsilon"), neighbours, Utility.named(utility, clip, bound), count, has_default)
