"""One configuration: a parameter of an algorithm, tuned on private instances."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from adyton import odds
from adyton.configuration.family import Family
from adyton.configuration.grid import Grid, Parameter, read_interval
from adyton.configuration.result import Configuration
from adyton.errors import BadInput
from adyton.exact import Rational, budget
from adyton.interrupts import deferred
from adyton.kernel.instances.curves import Curve
from adyton.kernel.instances.lattice import POINTS, Lattice
from adyton.kernel.instances.private_instances import ADD_REMOVE, spread
from adyton.kernel.instances.survey import Progress, SummedUtility, owned_by, survey
from adyton.kernel.instances.utility import UNIT, Utility
from adyton.kernel.instances.votes import FLAT, vote_of
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.records import refusal
from adyton.kernel.sources import InstancesSource
from adyton.messages import shorten
from adyton.release.receipt import Receipt

Keep: TypeAlias = Callable[[Configuration], None]
_DRAWN = 512
"""At how many parameters the curve of public instances is told."""


def configure(
    family: Family[Any] | Grid,
    instances: Iterable[Any],
    epsilon: Rational,
    *,
    interval: tuple[float, float] | None = None,
    neighbours: str = ADD_REMOVE,
    utility: str = "regret",
    clip: Rational = "0.1",
    bound: Rational | None = None,
    default: float | None = None,
    owner: Sequence[Hashable] | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    total: Rational | None = None,
    public: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Configuration:
    """Tune the parameter of a *family* of algorithms on private *instances*, spending *epsilon*.

    What is made small is the relative regret against the best parameter of every instance, cut off at *clip*; or, with
    ``utility="value"``, what is made large is the value, up to the public *bound*. *default* is today's parameter: half
    of the prior is put on it, which pays where there are few instances. What is protected is one instance, added or
    removed, or with ``neighbours="replace"`` replaced by another; with *owner*, a list of who owns each instance, all
    instances of an owner, who together have one vote.

    A *ledger* remembers what was spent; *total* is what it may hold in all, *epsilon* if nobody says, and *dataset*
    names the instances in it. With ``public=True`` the instances are declared public: the noise is simulated, from
    *seed*, the result says that it is not private, and the curve is told. *progress* is told how many instances are
    done, and how many there are; *keep* is given what was paid for before any interrupt takes effect.

    >>> import adyton as ad
    >>> def served(demand, price):  # an algorithm of one's own, as a black box
    ...     return price * max(0, demand - price)
    >>> grid = ad.configuration.Grid(served, interval=(0, 10))
    >>> found = ad.configure(grid, [8.0, 9.0, 8.5] * 100, epsilon=1)
    >>> 3 < found.parameter < 6, found.guarantee.instances_needed("0.01")
    (True, 72)
    """
    amount, wanted = budget(epsilon, "epsilon"), Utility.named(utility, clip, bound)
    spread(neighbours)
    asked = _Asked.of(family, interval, default)
    given = _listed(instances)
    owned_by(owner, len(given))
    asked.try_examples(wanted)
    if public:
        if ledger is not None or total is not None:
            raise BadInput("public instances need no ledger: nothing is spent on them. Leave ledger and total out.")
        sums = survey(given, asked.curve, asked.parameters, wanted, owners=owner, progress=progress)
        kernel = Kernel.simulated_instances(
            sums,
            asked.parameters,
            epsilon=amount,
            neighbours=neighbours,
            seed=seed,
            unit="instance" if owner is None else "owner",
        )
        return _told(kernel, asked, amount, wanted, keep, _curve(sums, asked, len(owned_by(owner, len(given)))))
    if seed is not None:
        raise BadInput("seed belongs to public instances: private noise cannot be seeded. Leave it out.")
    kernel = Kernel.on_instances(
        given,
        asked.curve,
        asked.parameters,
        wanted,
        epsilon=_total(ledger, total, amount),
        neighbours=neighbours,
        owners=owner,
        ledger=ledger,
        dataset=dataset,
        progress=progress,
    )
    try:
        odds.warn(amount, "a configuration", kernel.terms.named_unit)
        return _told(kernel, asked, amount, wanted, keep)
    finally:
        if isinstance(kernel.ledger, Ledger) and kernel.ledger is not ledger:
            kernel.ledger.close()


@dataclass(frozen=True)
class _Asked:
    """What is tuned, and where: a family on a lattice, or a grid."""

    family: Family[Any] | Grid
    parameters: Lattice | int
    intervals: tuple[tuple[float, float], ...]
    default: float | None

    @classmethod
    def of(cls, family: object, interval: object, default: object) -> _Asked:
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
        low, high = read_interval(family.interval if interval is None else interval)
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
        """Compute curves of made-up instances, where mistakes may be shown: on private ones they are not."""
        examples = self.family.examples if isinstance(self.family, Grid) else self.family.examples()
        problem = ""
        for example in examples:
            try:
                if isinstance(self.family, Grid):
                    self.family.run(example, self.family.parameter(0))
                vote = vote_of(self.curve(example), self.parameters, utility)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
                break
            if vote is FLAT:
                problem = "its curve does not start at place 0, does not grow, or has values that are not finite"
                break
        if problem:
            raise BadInput(f"{self.name} fails on its own example: {problem}. Nothing was spent.")

    def chosen(self, source: InstancesSource, epsilon: Fraction) -> Parameter:
        """The parameter, privately."""
        if isinstance(self.family, Grid):
            return self.family.parameter(source.choose_point(epsilon))
        return source.tune(epsilon, self.default)


def _told(
    kernel: Kernel[InstancesSource],
    asked: _Asked,
    amount: Fraction,
    utility: Utility,
    keep: Keep | None,
    curve: tuple[tuple[float, float], ...] | None = None,
) -> Configuration:
    source = kernel.root
    kernel.afford(source, amount)
    receipt = Receipt.opened(kernel)
    with kernel.receipts() as debits, deferred():
        parameter = asked.chosen(source, amount)
        found = Configuration(
            asked.name,
            parameter,
            amount,
            asked.intervals,
            source.neighbours,
            utility,
            receipt.paid(kernel.ledger, debits),
            asked.parameters if isinstance(asked.parameters, int) else None,
            asked.default,
            curve,
        )
        if keep is not None:
            keep(found)
    return found


def _curve(sums: SummedUtility, asked: _Asked, votes: int) -> tuple[tuple[float, float], ...] | None:
    """The mean utility of public instances at some parameters; nothing for several parameters at once."""
    if len(asked.intervals) > 1:
        return None
    if isinstance(asked.family, Grid):
        places, points = np.arange(asked.family.size), np.array(asked.family.parameters())
    else:
        places = (np.arange(_DRAWN) * 2 + 1) * (POINTS // (2 * _DRAWN))
        points = Lattice(*asked.intervals[0]).point(places)
    means = sums.at(places) / (UNIT * max(1, votes))
    return tuple(zip(points.tolist(), means.tolist(), strict=True))


def _listed(instances: Iterable[Any]) -> list[Any]:
    if isinstance(instances, str | bytes | dict) or not isinstance(instances, Iterable):
        raise BadInput(
            f"instances must be a list, with one entry for each instance, given a {type(instances).__name__}."
        )
    return list(instances)


def _default(given: object, low: float, high: float) -> float:
    value = given if isinstance(given, int | float) and not isinstance(given, bool) else math.nan
    if not low <= value <= high:
        raise BadInput(
            f"default must be a number in the interval from {low:g} to {high:g}, given {shorten(given)}. Widen the "
            "interval, or leave default out."
        )
    return float(value)


def _total(ledger: Ledger | str | os.PathLike[str] | None, total: Rational | None, amount: Fraction) -> Fraction:
    """What may be spent in all; a ledger that has not enough left refuses before the long work begins."""
    held = None
    if isinstance(ledger, Ledger):
        held = ledger.budget
    elif ledger is not None and os.path.exists(ledger):
        held = Ledger.read(ledger)
    if held is None:
        return amount if total is None else budget(total, "total")
    if amount > held.remaining:
        raise refusal(
            amount, held.remaining, held.total, os.fspath(ledger) if not isinstance(ledger, Ledger) and ledger else None
        )
    return held.total if total is None else budget(total, "total")
