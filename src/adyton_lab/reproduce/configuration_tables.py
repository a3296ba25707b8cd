"""Tuned parameters summed up: where tuning pays and where not, how the loss falls, and whether the bound holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adyton_lab.reproduce.claims import Claim
from adyton_lab.reproduce.configuration import PAPER, UTILITIES, Tuned
from adyton_lab.reproduce.configuration_bound import ZETA
from adyton_lab.reproduce.tables import Sheet

WORTHWHILE = 0.5
"""A gain of no more points of regret is not worth the trouble."""
SIZE, EPSILON, UTILITY = 200, "1", UTILITIES[0]
"""Where kinds are compared."""


@dataclass(frozen=True, kw_only=True)
class MeanTuned:
    """The mean over trials. Regrets are in points: percent of the best value on each instance."""

    family: str
    kind: str
    utility: str
    instances: int
    epsilon: str
    trials: int
    regret: float
    deviation: float
    """The standard error of the regret."""
    without_privacy: float
    default: float
    loss: float
    """The mean of the summed loss on the instances that were tuned on, in units of H."""
    largest_loss: float
    bound: float
    above: int
    """How many trials lost more than their bound."""

    @property
    def gain(self) -> float:
        """By how many points it is better than today's value."""
        return self.default - self.regret

    @property
    def price(self) -> float:
        """What privacy costs, in points."""
        return self.regret - self.without_privacy


def means(records: Iterable[Tuned]) -> list[MeanTuned]:
    """By kind, utility, number of instances and ε, in the order in which they come."""
    groups: dict[tuple[str, str, str, int, str], list[Tuned]] = {}
    for one in records:
        groups.setdefault((one.family, one.kind, one.utility, one.instances, one.epsilon), []).append(one)
    return [_mean(group) for group in groups.values()]


def _mean(group: Sequence[Tuned]) -> MeanTuned:
    first, regrets = group[0], np.array([one.regret for one in group])
    return MeanTuned(
        family=first.family,
        kind=first.kind,
        utility=first.utility,
        instances=first.instances,
        epsilon=first.epsilon,
        trials=len(group),
        regret=100 * float(regrets.mean()),
        deviation=100 * float(regrets.std(ddof=1) / np.sqrt(len(group))) if len(group) > 1 else 0.0,
        without_privacy=100 * float(np.mean([one.without_privacy for one in group])),
        default=100 * first.default,
        loss=float(np.mean([one.loss for one in group])),
        largest_loss=max(one.loss for one in group),
        bound=float(np.mean([one.bound for one in group])),
        above=sum(one.loss > one.bound for one in group),
    )


def all_sheets(records: Iterable[Tuned]) -> list[Sheet]:
    """Claims, where tuning pays, then losses and bounds by family."""
    found = means(records)
    families = dict.fromkeys(one.family for one in found)
    parts = [[one for one in found if one.family == name] for name in families]
    return [_claims(found), *_worth(found), _gains(found), *map(_regrets, parts), *map(_bounds, parts)]


def main_sheets(records: Iterable[Tuned]) -> list[Sheet]:
    """For a terminal: claims, and where tuning pays."""
    return [one for one in all_sheets(records) if one.chapter in ("claims", "worth")]


def compared(found: Iterable[MeanTuned]) -> dict[tuple[str, str], dict[str, MeanTuned]]:
    """What each utility does at 200 instances and ε = 1, by family and kind."""
    kinds: dict[tuple[str, str], dict[str, MeanTuned]] = {}
    for one in found:
        if (one.instances, one.epsilon) == (SIZE, EPSILON):
            kinds.setdefault((one.family, one.kind), {})[one.utility] = one
    return kinds


def _worth(found: Sequence[MeanTuned]) -> list[Sheet]:
    kinds = compared(found)
    columns = ("instances", "today", "without privacy", *UTILITIES, "gain", "loss to the best")
    note = (
        "Mean relative regret in points, on instances that were not tuned on; ± standard errors. Gain and loss are "
        f"those of {UTILITY}."
    )
    sheets = []
    for pays in (True, False):
        rows, behind = [], []
        for (family, kind), by in kinds.items():
            one = by[UTILITY]
            if (one.gain > WORTHWHILE) is pays:
                shown = [
                    f"{by[name].regret:.2f} ± {by[name].deviation:.2f}" if name in by else "–" for name in UTILITIES
                ]
                levels = (f"{one.default:.2f}", f"{one.without_privacy:.2f}")
                rows.append((f"{family}, {kind}", *levels, *shown, f"{one.gain:+.2f}", f"{one.price:.2f}"))
                behind += list(by.values())
        more = "more than" if pays else "within"
        title = (
            f"Where tuning is {'' if pays else 'not '}worthwhile: a gain {more} {WORTHWHILE} points, at {SIZE} "
            f"instances and ε = {EPSILON}"
        )
        if rows:
            sheets.append(Sheet("worth", title, columns, tuple(rows), behind, note))
    return sheets


def _gains(found: Sequence[MeanTuned]) -> Sheet:
    """The mean gain over all kinds: how many instances it takes until tuning pays at all."""
    sizes = sorted({one.instances for one in found})
    gains: dict[tuple[str, str], dict[int, list[float]]] = {}
    shown = [one for one in found if one.utility != PAPER]
    for one in shown:
        gains.setdefault((one.utility, one.epsilon), {}).setdefault(one.instances, []).append(one.gain)
    rows = tuple(
        (f"{utility}, ε = {epsilon}", *(f"{np.mean(by[size]):+.2f}" for size in sizes))
        for (utility, epsilon), by in sorted(gains.items(), key=lambda item: (float(item[0][1]), item[0][0]))
    )
    title = "Gain against today's value in points, mean of all kinds, by instances tuned on"
    return Sheet("worth", title, ("", *(f"{size:,}" for size in sizes)), rows, shown)


def _regrets(found: Sequence[MeanTuned]) -> Sheet:
    """Held-out regret against the number of instances: a line for each kind and ε."""
    sizes = sorted({one.instances for one in found})
    at = {(one.kind, one.epsilon, one.instances): one for one in found if one.utility == UTILITY}
    rows = []
    for kind in dict.fromkeys(one.kind for one in found):
        any_of = next(one for key, one in at.items() if key[0] == kind)
        rows.append((f"{kind}: today", *[f"{any_of.default:.2f}"] * len(sizes)))
        for epsilon in dict.fromkeys(key[1] for key in at):
            line = [at[kind, epsilon, size] for size in sizes]
            rows.append((f"{kind}: ε = {epsilon}", *(f"{one.regret:.2f} ± {one.deviation:.2f}" for one in line)))
        free = [at[kind, any_of.epsilon, size] for size in sizes]
        rows.append((f"{kind}: without privacy", *(f"{one.without_privacy:.2f}" for one in free)))
    title = f"{found[0].family}: held-out regret in points, by instances tuned on ({UTILITY})"
    note = f"Means of {found[0].trials} trials; ± standard errors."
    return Sheet("regret", title, ("", *(f"{size:,}" for size in sizes)), tuple(rows), list(at.values()), note)


def _bounds(found: Sequence[MeanTuned]) -> Sheet:
    """The summed loss beside what is proved about it."""
    sizes = sorted({one.instances for one in found})
    rows = []
    for kind, utility, epsilon in dict.fromkeys((one.kind, one.utility, one.epsilon) for one in found):
        line = [one for one in found if (one.kind, one.utility, one.epsilon) == (kind, utility, epsilon)]
        shown = [f"{one.loss:.2f} ({one.largest_loss:.2f}) ≤ {one.bound:.1f}" for one in line]
        rows.append((f"{kind}, {utility}, ε = {epsilon}", *shown, str(sum(one.above for one in line))))
    title = f"{found[0].family}: summed loss on the instances tuned on, and its bound, in units of H"
    note = f"Mean (largest) loss of all trials ≤ mean bound, which holds with probability {1 - ZETA:g} in each trial."
    columns = ("", *(f"{size:,}" for size in sizes), "trials above")
    return Sheet("bound", title, columns, tuple(rows), found, note)


def _claims(found: Sequence[MeanTuned]) -> Sheet:
    said = list(claims(found))
    rows = tuple((one.paper, one.here, one.holds) for one in said)
    return Sheet("claims", "What is claimed, and what came out here", ("claim", "here", "holds"), rows, said)


def claims(found: Sequence[MeanTuned]) -> Iterator[Claim]:
    """What the paper proves, and what is claimed of the clipped regret."""
    trials, above = sum(one.trials for one in found), sum(one.above for one in found)
    yield Claim(
        paper="The summed loss is at most (H/ε)(ln(L/w) + ln(1/ζ)) + kH, with probability 1 − ζ.",
        here=f"ζ = {ZETA:g}: above the bound in {above:,} of {trials:,} runs",
        holds="yes" if above == 0 else "in part" if above <= ZETA * trials else "no",
    )
    yield from _falling(found)
    for (family, kind), by in compared(found).items():
        goal = GOALS.get((family, kind))
        if goal is not None:
            one = by[UTILITY]
            yield Claim(
                paper=f"{family}, {kind}: at least {goal} points better than today's value at {SIZE} instances and "
                f"ε = {EPSILON}, and less than 0.2 points from the best without privacy.",
                here=f"{one.gain:.2f} points better, {one.price:.2f} points from the best",
                holds="yes" if one.gain >= goal and one.price < 0.2 else "in part" if one.gain >= goal else "no",
            )
    better = [(by[UTILITY].regret, by[PAPER].regret) for by in compared(found).values() if PAPER in by]
    if better:
        good = sum(ours < theirs for ours, theirs in better)
        yield Claim(
            paper="Clipped regret is better than the values themselves, whose H is that of the largest instance.",
            here=f"in {good} of {len(better)} kinds at {SIZE} instances and ε = {EPSILON}",
            holds="yes" if good == len(better) else "in part" if 2 * good > len(better) else "no",
        )


GOALS = {
    ("auction", "regions"): 2.0,
    ("auction", "decay"): 2.0,
    ("independent-set", "gnp"): 0.5,
}


def _falling(found: Sequence[MeanTuned]) -> Iterator[Claim]:
    """As instances grow, the utility of what is chosen privately approaches the best."""
    lines: dict[tuple[str, str], list[MeanTuned]] = {}
    for one in found:
        if (one.utility, one.epsilon) == (UTILITY, EPSILON):
            lines.setdefault((one.family, one.kind), []).append(one)
    ends = [(min(line, key=_size), max(line, key=_size)) for line in lines.values()]
    if ends:
        good = sum(last.loss / last.instances < first.loss / first.instances for first, last in ends)
        near = max(last.price for _, last in ends)
        first, last = ends[0]
        yield Claim(
            paper="As instances grow, the utility of what is chosen approaches that of the best parameter.",
            here=f"from {first.instances} to {last.instances} instances the mean loss falls in {good} of {len(ends)} "
            f"kinds; then nobody is more than {near:.2f} points from the best (ε = {EPSILON})",
            holds="yes" if good == len(ends) else "in part",
        )


def _size(one: MeanTuned) -> int:
    return one.instances
