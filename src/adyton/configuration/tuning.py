"""What is tuned, and where: a family on the lattice of an interval, or a grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from adyton.configuration.family import Family
from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.kernel.instances.lattice import POINTS, UNIT, UTILITIES, Curve, Lattice, StepCurve, Utility
from adyton.kernel.instances.votes import FLAT, RELATIONS, SummedUtility, vote_of
from adyton.kernel.sources import InstancesSource
from adyton.messages import no_such, shorten
from adyton.queries import Queries
from adyton.schema import Schema
from adyton.schema.plain_values import as_amount, as_real, as_text, of_kind, part_of
from adyton.tasks.request import Task
from adyton.whole import whole

Parameter: TypeAlias = float | tuple[float, ...]
MOST_POINTS = 1 << 16
_MOST_AXES = 3


@dataclass(frozen=True)
class Grid:
    """A black box: ``run(instance, parameter)`` returns what an algorithm reaches; larger is better.

    *interval* is an interval such as (0, 2), or a tuple of two or three intervals: then the parameter is a tuple, and
    *points* is the number along every axis, or a tuple with one for each. Points are the middles of equal parts. The
    choice can be as good as the best of them; nothing is known of what lies between. 64 are usually enough, 8 are not.

    What *run* returns must depend on the instance and the parameter alone: no clock, and random numbers only from a
    seed computed from the instance. Where it fails, or gives no finite number, the point counts as worst for that
    instance. *examples* are made-up instances on which it is tried first, so that mistakes are seen.

    >>> Grid(lambda instance, parameter: 0.0, points=4, interval=(0, 2)).parameters()
    [0.25, 0.75, 1.25, 1.75]
    """

    run: Callable[[Any, Any], float]
    points: int | tuple[int, ...] = 64
    interval: Any = (0.0, 1.0)
    examples: Sequence[Any] = ()
    name: str = "grid"
    _every: tuple[Parameter, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.run):
            raise BadInput(f"run must be a function of an instance and a parameter, given {shorten(self.run)}.")
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise BadInput(f"name must be a word for the algorithm, given {shorten(self.name)}.")
        intervals = self.intervals
        counts = self.points if isinstance(self.points, tuple | list) else (self.points,) * len(intervals)
        if len(counts) != len(intervals):
            raise BadInput(f"points must be one number, or one for each of {len(intervals)} intervals.")
        sides = [whole(count, "points", 2) for count in counts]
        if math.prod(sides) > MOST_POINTS:
            raise BadInput(f"a grid has up to {MOST_POINTS:,} points, given {math.prod(sides):,}. Use fewer for each.")
        axes = [
            (low + (high - low) * ((np.arange(side) + 0.5) / side)).tolist()
            for (low, high), side in zip(intervals, sides, strict=True)
        ]
        every = tuple(axes[0]) if len(axes) == 1 else tuple(itertools.product(*axes))
        object.__setattr__(self, "_every", every)

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """The interval of every parameter."""
        given = self.interval
        several = isinstance(given, tuple | list) and len(given) > 0 and isinstance(given[0], tuple | list)
        if several and len(given) > _MOST_AXES:
            raise BadInput(f"a grid has at most {_MOST_AXES} parameters, given {len(given)} intervals.")
        return tuple(read_interval(interval) for interval in (given if several else (given,)))

    @property
    def size(self) -> int:
        """How many points there are in all."""
        return len(self._every)

    def parameter(self, number: int) -> Parameter:
        """The parameter at a point: a number, or a tuple of them."""
        return self._every[number]

    def parameters(self) -> list[Parameter]:
        """All parameters, in order."""
        return list(self._every)

    def curve(self, instance: Any) -> StepCurve:
        """What *run* reaches on an instance at every point."""
        values = np.array([self._tried(instance, parameter) for parameter in self._every])
        known = np.isfinite(values)
        best = float(values[known].max()) if known.any() else 0.0
        return StepCurve(np.arange(self.size), np.where(known, values, best - abs(best)))  # failed: regret 1

    def _tried(self, instance: Any, parameter: Parameter) -> float:
        try:
            return float(self.run(instance, parameter))
        except Exception:  # hidden: what failed, and why, depends on the instance
            return math.nan


def read_interval(given: object) -> tuple[float, float]:
    """Two numbers, the second greater, or an error."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise BadInput(f"interval must be two numbers such as (0, 2), given {shorten(given)}.")
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"interval must be two numbers such as (0, 2), given {shorten(given)}.") from None
    Lattice(low, high)
    return low, high


_DRAWN = 512
"""At how many parameters the curve of public instances is given."""


@dataclass(frozen=True)
class Search:
    """What is tuned, and where a parameter is looked for: a family on a lattice, or a grid."""

    family: Family[Any] | Grid
    parameters: Lattice | int
    intervals: tuple[tuple[float, float], ...]
    default: float | None

    @classmethod
    def of(cls, family: object, interval: object, default: object) -> Search:
        """The search that was asked for, or an error."""
        if isinstance(family, Grid):
            if interval is not None or default is not None:
                raise BadInput("a grid has its own interval and no default. Write Grid(run, interval=(0, 2)).")
            return cls(family, family.size, family.intervals, None)
        if not isinstance(family, Family):
            hint = (
                f" Write {family.__name__}()." if isinstance(family, type) and issubclass(family, Family | Grid) else ""
            )
            raise BadInput(
                "family must be an algorithm with a parameter, such as ad.configuration.Auction() or Grid(run), given "
                f"{shorten(family)}.{hint}"
            )
        name = getattr(family, "name", None)
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise BadInput(
                f"a family must have a name, such as 'auction', given {shorten(name)}. Write it in its class."
            )
        ours = getattr(family, "interval", None)
        low, high = read_interval(ours if interval is None else interval)
        return cls(
            family, Lattice(low, high), ((low, high),), None if default is None else _default(default, low, high)
        )

    @property
    def name(self) -> str:
        """The family's name."""
        return self.family.name

    @property
    def curve(self) -> Callable[[Any], Curve]:
        """From an instance to its curve."""
        family, parameters = self.family, self.parameters
        if isinstance(family, Grid):
            return family.curve
        assert isinstance(parameters, Lattice)
        return lambda instance: family.curve(instance, parameters)

    def try_examples(self, utility: Utility) -> None:
        """Compute curves of made-up instances, where mistakes may be shown: on private instances they are hidden."""
        problem: str | None = None
        try:
            for example in self.family.examples if isinstance(self.family, Grid) else self.family.examples():
                if isinstance(self.family, Grid):
                    self.family.run(example, self.family.parameter(0))
                if vote_of(self.curve(example), self.parameters, utility) is FLAT:
                    problem = "its curve does not begin at place 0, does not grow, or has values that are not finite"
        except Exception as error:
            problem = f"{type(error).__name__}: {' '.join(str(error).split()).rstrip('.')}"
        if problem is not None:
            raise BadInput(f"{self.name} fails on its own example: {problem}. Nothing was spent.")

    def chosen(self, source: InstancesSource, epsilon: Fraction) -> Parameter:
        """The parameter, chosen privately."""
        if isinstance(self.family, Grid):
            return self.family.parameter(source.choose_point(epsilon))
        return source.tune(epsilon, self.default)

    def curve_of(self, sums: SummedUtility, votes: int) -> tuple[tuple[float, float], ...] | None:
        """The mean utility of *public* instances at some parameters; None for several parameters at once."""
        if len(self.intervals) > 1:
            return None
        if isinstance(self.family, Grid):
            places, points = np.arange(self.family.size), np.array(self.family.parameters())
        else:
            places = (np.arange(_DRAWN) * 2 + 1) * (POINTS // (2 * _DRAWN))
            points = Lattice(*self.intervals[0]).point(places)
        means = sums.at(places) / (UNIT * max(1, votes))
        return tuple(zip(points.tolist(), means.tolist(), strict=True))


def _default(given: object, low: float, high: float) -> float:
    value = given if isinstance(given, int | float) and not isinstance(given, bool) else math.nan
    if not low <= value <= high:
        raise BadInput(
            f"default must be a number in the interval from {low:g} to {high:g}, given {shorten(given)}. Widen the "
            "interval, or leave default out."
        )
    return float(value)


@dataclass(frozen=True)
class Tuning(Task):
    """A parameter to tune: of which algorithm, in which intervals, and by which utility."""

    kind = "tuning"
    answered_by = "adyton.programs.tuning:Tune"

    family: str
    intervals: tuple[tuple[float, float], ...]
    neighbours: str
    utility: Utility
    default: float | None = None
    points: int | None = None
    """How many points a grid has; None where the whole interval is searched."""

    def select(self, schema: Schema) -> Schema:
        """An error: instances have no attributes."""
        raise BadInput("a parameter is tuned on instances, not on a table. Use ad.configure.")

    def workload(self, schema: Schema) -> Queries:
        """An error: there is no table."""
        raise BadInput("a parameter is tuned on instances, not on a table. Use ad.configure.")

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "task": self.kind,
            "family": self.family,
            "intervals": [list(interval) for interval in self.intervals],
            "neighbours": self.neighbours,
            "utility": {"name": self.utility.name, "scale": as_number(self.utility.scale)},
            "default": self.default,
            "points": self.points,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Tuning:
        """From plain values, none of which is trusted."""
        intervals = tuple(read_interval(pair) for pair in of_kind(list, part_of(plain, "intervals"), "intervals"))
        points, default = plain.get("points"), plain.get("default")
        if not intervals:
            raise BadInput("there must be an interval.")
        return cls(
            as_text(part_of(plain, "family"), "family"),
            intervals,
            _one_of(RELATIONS, part_of(plain, "neighbours"), "relation of neighbours"),
            _utility(part_of(plain, "utility")),
            None if default is None else inside(default, intervals[0]),
            None if points is None else _count(points),
        )

    def __str__(self) -> str:
        return f"parameter of {self.family}"


def inside(plain: object, interval: tuple[float, float]) -> float:
    """The number, if in the interval."""
    value = as_real(plain, "the parameter")
    if not interval[0] <= value <= interval[1]:
        raise BadInput("a parameter does not lie in its interval.")
    return value


def _utility(plain: object) -> Utility:
    name = _one_of(UTILITIES, part_of(plain, "name"), "utility")
    most = Fraction(1) if name == "regret" else Fraction(1 << 64)
    scale = as_amount(part_of(plain, "scale"), "the scale of the utility", most=most)
    return Utility.named(name, clip=scale) if name == "regret" else Utility.named(name, bound=scale)


def _one_of(words: tuple[str, ...], given: object, kind: str) -> str:
    word = as_text(given, kind)
    if word not in words:
        raise BadInput(no_such(kind, word, words))
    return word


def _count(plain: object) -> int:
    count = whole(plain, "points", 1)
    if count > MOST_POINTS:
        raise BadInput(f"a grid has up to {MOST_POINTS:,} points.")
    return count
