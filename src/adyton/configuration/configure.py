"""Tuning a parameter of an algorithm on private instances."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from adyton.configuration.family import Family
from adyton.configuration.result import Configuration
from adyton.configuration.tuning import Grid, Search, Tuning
from adyton.errors import BadInput
from adyton.exact import Rational, budget
from adyton.interrupts import deferred
from adyton.kernel.instances.lattice import Utility
from adyton.kernel.instances.opening import Progress, on_instances, owned_by, simulated_instances, survey
from adyton.kernel.instances.votes import ADD_REMOVE, spread
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger
from adyton.kernel.sources import InstancesSource
from adyton.messages import shorten
from adyton.programs.tuning import Tune
from adyton.session.run import run
from adyton.tasks.request import Request

Keep: TypeAlias = Callable[[Configuration], None]


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
    accept: Collection[str] = (),
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Configuration:
    """Tune the parameter of a *family* of algorithms on private *instances*, spending *epsilon*.

    The choice minimises the relative regret against the best parameter of every instance, clipped at *clip*; or, with
    ``utility="value"``, it maximises the value, up to the public *bound*. *default* is today's parameter: half of the
    prior is on it, which helps where there are few instances. ε protects one instance, added or removed, or with
    ``neighbours="replace"`` replaced by another; with *owner*, a list of the owner of each instance, it protects all
    instances of an owner, which together have one vote.

    A *ledger* records what was spent; *total* is what may be spent in all, by default *epsilon*, and *dataset* names
    the instances in it. It refuses a relation, unit, interval, utility or clip other than those it was used with;
    *accept*, such as ``{"schema"}``, gives the data owner's consent. With ``public=True`` the instances are declared
    public: the noise is simulated, from *seed*, the result says that it is not private, and it includes the curve.
    *progress* is called with the number of instances done and their total number; *keep* receives the paid
    configuration before any interrupt takes effect.

    >>> import adyton as ad
    >>> def served(demand, price):  # an algorithm of one's own, as a black box
    ...     return price * max(0, demand - price)
    >>> grid = ad.configuration.Grid(served, interval=(0, 10))
    >>> configuration = ad.configure(grid, [8.0, 9.0, 8.5] * 100, epsilon=1)
    >>> 3 < configuration.parameter < 6, configuration.guarantee.instances_needed("0.01")
    (True, 72)
    """
    amount, wanted = budget(epsilon, "epsilon"), Utility.named(utility, clip, bound)
    spread(neighbours)
    if not isinstance(public, bool) or not (progress is None or callable(progress)):
        raise BadInput(
            f"public must be true or false, and progress a function, given {shorten(public)}, {shorten(progress)}."
        )
    search = Search.of(family, interval, default)
    given = _listed(instances)
    owned_by(owner, len(given))
    search.try_examples(wanted)
    if public:
        if ledger is not None or total is not None:
            raise BadInput("public instances need no ledger: nothing is spent on them. Leave ledger and total out.")
        sums = survey(given, search.curve, search.parameters, wanted, owners=owner, progress=progress)
        kernel = simulated_instances(
            sums,
            search.parameters,
            epsilon=amount,
            neighbours=neighbours,
            seed=seed,
            unit="instance" if owner is None else "owner",
        )
        return _tuned(kernel, search, amount, wanted, keep, search.curve_of(sums, len(owned_by(owner, len(given)))))
    if seed is not None:
        raise BadInput("seed belongs to public instances: private noise cannot be seeded. Leave it out.")
    kernel = on_instances(
        given,
        search.curve,
        search.parameters,
        wanted,
        epsilon=_total(ledger, total, amount),
        neighbours=neighbours,
        owners=owner,
        ledger=ledger,
        dataset=dataset,
        accept=accept,
        progress=progress,
    )
    try:
        return _tuned(kernel, search, amount, wanted, keep)
    finally:
        if isinstance(kernel.ledger, Ledger) and kernel.ledger is not ledger:
            kernel.ledger.close()


def _tuned(
    kernel: Kernel[InstancesSource],
    search: Search,
    amount: Fraction,
    utility: Utility,
    keep: Keep | None,
    curve: tuple[tuple[float, float], ...] | None = None,
) -> Configuration:
    points = search.parameters if isinstance(search.parameters, int) else None
    neighbours = kernel.root.neighbours
    request = Request(Tuning(search.name, search.intervals, neighbours, utility, search.default, points), amount)

    def kept(paid: Any) -> None:
        if keep is not None and isinstance(paid, Configuration):
            keep(paid)

    with deferred():  # the choice itself takes no time: what was paid for is kept before an interrupt takes effect
        configuration = run(kernel, request, kept, Tune(request, search, curve))
    assert isinstance(configuration, Configuration)
    return configuration


def _listed(instances: Iterable[Any]) -> list[Any]:
    if isinstance(instances, str | bytes | dict) or not isinstance(instances, Iterable):
        raise BadInput(
            f"instances must be a list, with one entry for each instance, given a {type(instances).__name__}."
        )
    return list(instances)


def _total(ledger: Ledger | str | os.PathLike[str] | None, total: Rational | None, amount: Fraction) -> Fraction:
    """What may be spent in all; a ledger with too little left refuses before the long computation begins."""
    held, path = None, None
    if isinstance(ledger, Ledger):
        held = ledger.budget
    elif ledger is not None and Ledger.exists(ledger):
        held = Ledger.read(ledger)
        path = held.path
    if held is None:
        return amount if total is None else budget(total, "total")
    held.afford(amount, path)
    return held.total if total is None else budget(total, "total")
