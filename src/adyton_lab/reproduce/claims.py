"""What the Pythia paper claims in words about its evaluation, beside what the records show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from adyton_lab.reproduce import published
from adyton_lab.reproduce.records import Record
from adyton_lab.reproduce.summaries import CRITERIA, PYTHIA, Part, parts


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the paper, and what came out here."""

    paper: str
    here: str
    holds: str
    """``yes``, ``in part`` or ``no``."""


def claims(records: Iterable[Record]) -> list[Claim]:
    """The claims that the records speak about: the paper's algorithms at ε = 1."""
    found = [part for part in parts(records) if part.experiment == "paper" and part.epsilon == "1"]
    return [claim for part in found for claim in _claims(part)]


def _claims(part: Part) -> Iterator[Claim]:
    yield from _lowest_of_all(part)
    yield from _range(part)
    yield from _above_ten(part)
    yield from _dawa_and_hb(part)
    yield from _group_regret(part)
    yield from _by_source(part)


def _lowest_of_all(part: Part) -> Iterator[Claim]:
    groups = [group for group in part.by_group if PYTHIA in part.by_group[group] and part.blind(group)]
    if not groups:
        return
    lost = {}
    for group in groups:
        best, ours = part.blind(group)[0], part.mean(group, PYTHIA)
        if ours >= part.mean(group, best):
            lost[group] = f"{group} ({ours:.2f}, {best} {part.mean(group, best):.2f})"
    yield Claim(
        paper="Pythia has a lower mean regret than any single algorithm, on every kind of workload.",
        here=f"not on {', '.join(lost.values())}" if lost else f"lower on all {len(groups)}",
        holds=_verdict([group not in lost for group in groups]),
    )


def _range(part: Part) -> Iterator[Claim]:
    means = {group: part.mean(group, PYTHIA) for group in part.groups if PYTHIA in part.by_group[group]}
    if set(published.PYTHIA) <= set(means):
        least, most = min(means, key=lambda group: means[group]), max(means, key=lambda group: means[group])
        yield Claim(
            paper="Its mean regret is between 1.27 (1-D prefix) and 2.27 (2-D short).",
            here=f"between {means[least]:.2f} ({least}) and {means[most]:.2f} ({most})",
            holds=_verdict([means[group] <= published.PYTHIA.get(group, 2.27) for group in means]),
        )


def _above_ten(part: Part) -> Iterator[Claim]:
    for dimension, names in published.ABOVE_TEN.items():
        group = f"{dimension} all"
        means = {name: part.mean(group, name) for name in names if name in part.by_group.get(group, ())}
        if len(means) == len(names):
            yield Claim(
                paper=f"{dimension}: the mean regret of {', '.join(names)} is above 10.",
                here=", ".join(f"{name} {mean:,.2f}" for name, mean in means.items()),
                holds=_verdict([mean > 10 for mean in means.values()]),
            )


def _dawa_and_hb(part: Part) -> Iterator[Claim]:
    for group, better, worse in (("1-D identity", "hb", "dawa"), ("1-D prefix", "dawa", "hb")):
        if {better, worse} <= set(part.by_group.get(group, ())):
            means = part.mean(group, better), part.mean(group, worse)
            yield Claim(
                paper=f"{group}: {better} has a lower mean regret than {worse}.",
                here=f"{better} {means[0]:.2f}, {worse} {means[1]:.2f}",
                holds=_verdict([means[0] < means[1]]),
            )


def _group_regret(part: Part) -> Iterator[Claim]:
    for dimension, saved in published.SAVED_BY_GROUP_REGRET.items():
        group = f"{dimension} all"
        if {PYTHIA, CRITERIA[1]} <= set(part.by_group.get(group, ())):
            here = 1 - part.mean(group, PYTHIA) / part.mean(group, CRITERIA[1])
            yield Claim(
                paper=f"{dimension}: mean regret is {saved:.0%} lower with group regret than with Gini.",
                here=f"{'lower' if here >= 0 else 'higher'} by {abs(here):.1%}",
                holds=_verdict([here > 0, here >= saved]),
            )


def _by_source(part: Part) -> Iterator[Claim]:
    for group, (wins, sources) in published.LOWEST_ON.items():
        compared = [PYTHIA, *part.blind(group)]
        if PYTHIA not in part.by_group.get(group, ()) or len(compared) < 2:
            continue
        ranks: dict[str | int, int] = {}
        found = part.split(group, "source", compared)
        for source in dict.fromkeys(one.value for one in found):
            means = {one.method: one.mean for one in found if one.value == source}
            if PYTHIA in means:
                ranks[source] = sum(mean < means[PYTHIA] for mean in means.values())
        first, worst = sum(rank == 0 for rank in ranks.values()), max(ranks.values()) + 1
        yield Claim(
            paper=f"{group}: Pythia is the lowest on {wins} of {sources} data sets, and the second on the others.",
            here=f"the lowest on {first} of {len(ranks)}, at worst number {worst}",
            holds=_verdict([first * sources >= wins * len(ranks), worst <= 2]),
        )


def _verdict(held: Sequence[bool]) -> str:
    return "yes" if all(held) else "in part" if any(held) else "no"
