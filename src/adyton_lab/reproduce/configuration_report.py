"""What ``adyton reproduce configuration`` shows: where tuning pays off, how the loss falls, whether the bound holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adyton_lab.pages import BLUE, GREEN, SKY, VERMILLION, Panel, Point, Styles, draw_lines
from adyton_lab.reproduce.configuration import FULL, PAPER, QUICK, UTILITIES, ZETA, Tuned, kinds, run
from adyton_lab.reproduce.evaluation import Evaluation, Given, Started
from adyton_lab.reproduce.sheets import Claim, Sheet, claim, claims_sheet

WORTHWHILE = 0.5
"""A gain of at most this many points of regret is not worthwhile."""
SIZE, EPSILON, UTILITY = 200, "1", UTILITIES[0]
"""The setting in which kinds are compared."""


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
    """The mean of the summed loss on the instances used for tuning, in units of H."""
    largest_loss: float
    bound: float
    above: int
    """How many trials lost more than their bound."""

    @property
    def gain(self) -> float:
        """By how many points the tuned parameter is better than today's value."""
        return self.default - self.regret

    @property
    def price(self) -> float:
        """What privacy costs, in points."""
        return self.regret - self.without_privacy


def means(records: Iterable[Tuned]) -> list[MeanTuned]:
    """By kind, utility, number of instances and ε, in order of first occurrence."""
    groups: dict[tuple[str, str, str, int, str], list[Tuned]] = {}
    for tuned in records:
        groups.setdefault((tuned.family, tuned.kind, tuned.utility, tuned.instances, tuned.epsilon), []).append(tuned)
    return [_mean(group) for group in groups.values()]


def _mean(group: Sequence[Tuned]) -> MeanTuned:
    first, regrets = group[0], np.array([tuned.regret for tuned in group])
    return MeanTuned(
        family=first.family,
        kind=first.kind,
        utility=first.utility,
        instances=first.instances,
        epsilon=first.epsilon,
        trials=len(group),
        regret=100 * float(regrets.mean()),
        deviation=100 * float(regrets.std(ddof=1) / np.sqrt(len(group))) if len(group) > 1 else 0.0,
        without_privacy=100 * float(np.mean([tuned.without_privacy for tuned in group])),
        default=100 * first.default,
        loss=float(np.mean([tuned.loss for tuned in group])),
        largest_loss=max(tuned.loss for tuned in group),
        bound=float(np.mean([tuned.bound for tuned in group])),
        above=sum(tuned.loss > tuned.bound for tuned in group),
    )


def all_sheets(records: Iterable[Tuned]) -> list[Sheet]:
    """Claims, where tuning pays off, then losses and bounds by family."""
    averaged = means(records)
    families = dict.fromkeys(mean.family for mean in averaged)
    parts = [[mean for mean in averaged if mean.family == name] for name in families]
    said = claims_sheet(claims(averaged), "Claims, and results here")
    return [said, *_worth(averaged), _gains(averaged), *map(_regrets, parts), *map(_bounds, parts)]


def _utilities(averaged: Iterable[MeanTuned]) -> dict[tuple[str, str], dict[str, MeanTuned]]:
    """The results of each utility at 200 instances and ε = 1, by family and kind."""
    kinds: dict[tuple[str, str], dict[str, MeanTuned]] = {}
    for mean in averaged:
        if (mean.instances, mean.epsilon) == (SIZE, EPSILON):
            kinds.setdefault((mean.family, mean.kind), {})[mean.utility] = mean
    return kinds


def _worth(averaged: Sequence[MeanTuned]) -> list[Sheet]:
    kinds = _utilities(averaged)
    columns = ("instances", "today", "without privacy", *UTILITIES, "gain", "loss to the best")
    note = (
        "Mean relative regret in points, on held-out instances; ± standard errors. Gain and loss are "
        f"those of {UTILITY}."
    )
    sheets = []
    for pays in (True, False):
        rows, behind = [], []
        for (family, kind), by in kinds.items():
            mean = by[UTILITY]
            if (mean.gain > WORTHWHILE) is pays:
                shown = [
                    f"{by[name].regret:.2f} ± {by[name].deviation:.2f}" if name in by else "–" for name in UTILITIES
                ]
                levels = (f"{mean.default:.2f}", f"{mean.without_privacy:.2f}")
                rows.append((f"{family}, {kind}", *levels, *shown, f"{mean.gain:+.2f}", f"{mean.price:.2f}"))
                behind += list(by.values())
        more = "more than" if pays else "within"
        title = (
            f"Where tuning is {'' if pays else 'not '}worthwhile: a gain {more} {WORTHWHILE} points, at {SIZE} "
            f"instances and ε = {EPSILON}"
        )
        if rows:
            sheets.append(Sheet("worth", title, columns, tuple(rows), behind, note))
    return sheets


def _gains(averaged: Sequence[MeanTuned]) -> Sheet:
    """The mean gain over all kinds: how many instances it takes until tuning pays off."""
    sizes = sorted({mean.instances for mean in averaged})
    gains: dict[tuple[str, str], dict[int, list[float]]] = {}
    shown = [mean for mean in averaged if mean.utility != PAPER]
    for mean in shown:
        gains.setdefault((mean.utility, mean.epsilon), {}).setdefault(mean.instances, []).append(mean.gain)
    rows = tuple(
        (f"{utility}, ε = {epsilon}", *(f"{np.mean(by[size]):+.2f}" for size in sizes))
        for (utility, epsilon), by in sorted(gains.items(), key=lambda item: (float(item[0][1]), item[0][0]))
    )
    title = "Gain over today's value in points, mean of all kinds, by number of instances tuned on"
    return Sheet("worth", title, ("", *(f"{size:,}" for size in sizes)), rows, shown)


def _regrets(averaged: Sequence[MeanTuned]) -> Sheet:
    """Held-out regret against the number of instances: a line for each kind and ε."""
    sizes = sorted({mean.instances for mean in averaged})
    at = {(mean.kind, mean.epsilon, mean.instances): mean for mean in averaged if mean.utility == UTILITY}
    rows = []
    for kind in dict.fromkeys(mean.kind for mean in averaged):
        any_of = next(mean for key, mean in at.items() if key[0] == kind)
        rows.append((f"{kind}: today", *[f"{any_of.default:.2f}"] * len(sizes)))
        for epsilon in dict.fromkeys(key[1] for key in at):
            line = [at[kind, epsilon, size] for size in sizes]
            rows.append((f"{kind}: ε = {epsilon}", *(f"{mean.regret:.2f} ± {mean.deviation:.2f}" for mean in line)))
        free = [at[kind, any_of.epsilon, size] for size in sizes]
        rows.append((f"{kind}: without privacy", *(f"{mean.without_privacy:.2f}" for mean in free)))
    title = f"{averaged[0].family}: held-out regret in points, by instances tuned on ({UTILITY})"
    note = f"Means of {averaged[0].trials} trials; ± standard errors."
    return Sheet("regret", title, ("", *(f"{size:,}" for size in sizes)), tuple(rows), list(at.values()), note)


def _bounds(averaged: Sequence[MeanTuned]) -> Sheet:
    """The summed loss and its proven bound."""
    sizes = sorted({mean.instances for mean in averaged})
    rows = []
    for kind, utility, epsilon in dict.fromkeys((mean.kind, mean.utility, mean.epsilon) for mean in averaged):
        line = [mean for mean in averaged if (mean.kind, mean.utility, mean.epsilon) == (kind, utility, epsilon)]
        shown = [f"{mean.loss:.2f} ({mean.largest_loss:.2f}) ≤ {mean.bound:.1f}" for mean in line]
        rows.append((f"{kind}, {utility}, ε = {epsilon}", *shown, str(sum(mean.above for mean in line))))
    title = f"{averaged[0].family}: summed loss on the instances tuned on, and its bound, in units of H"
    note = f"Mean (largest) loss of all trials ≤ mean bound, which holds with probability {1 - ZETA:g} in each trial."
    columns = ("", *(f"{size:,}" for size in sizes), "trials above")
    return Sheet("bound", title, columns, tuple(rows), averaged, note)


GOALS = {("auction", "regions"): 2.0, ("auction", "decay"): 2.0, ("independent-set", "gnp"): 0.5}
"""By how many points a tuned parameter must be better than today's value."""


def claims(averaged: Sequence[MeanTuned]) -> Iterator[Claim]:
    """What the paper proves, and our claims about the clipped regret."""
    trials, above = sum(mean.trials for mean in averaged), sum(mean.above for mean in averaged)
    yield claim(
        "The summed loss is at most (H/ε)(ln(L/w) + ln(1/ζ)) + kH, with probability 1 − ζ.",
        f"ζ = {ZETA:g}: above the bound in {above:,} of {trials:,} runs",
        above == 0,
        above <= ZETA * trials,
    )
    yield from _falling(averaged)
    for (family, kind), by in _utilities(averaged).items():
        goal = GOALS.get((family, kind))
        if goal is not None:
            mean = by[UTILITY]
            yield claim(
                f"{family}, {kind}: at least {goal} points better than today's value at {SIZE} instances and "
                f"ε = {EPSILON}, and less than 0.2 points from the best without privacy.",
                f"{mean.gain:.2f} points better, {mean.price:.2f} points from the best",
                mean.gain >= goal and mean.price < 0.2,
                mean.gain >= goal,
            )
    better = [by[UTILITY].regret < by[PAPER].regret for by in _utilities(averaged).values() if PAPER in by]
    if better:
        yield claim(
            "Clipped regret is better than the paper's utility, the value itself, whose H is the largest value.",
            f"in {sum(better)} of {len(better)} kinds at {SIZE} instances and ε = {EPSILON}",
            all(better),
            2 * sum(better) > len(better),
        )


def _falling(averaged: Sequence[MeanTuned]) -> Iterator[Claim]:
    """With more instances, the utility of the privately chosen parameter approaches the best."""
    lines: dict[tuple[str, str], list[MeanTuned]] = {}
    for mean in averaged:
        if (mean.utility, mean.epsilon) == (UTILITY, EPSILON):
            lines.setdefault((mean.family, mean.kind), []).append(mean)
    ends = []
    for line in lines.values():
        ordered = sorted(line, key=lambda mean: mean.instances)
        ends.append((ordered[0], ordered[-1]))
    if ends:
        good = sum(last.loss / last.instances < first.loss / first.instances for first, last in ends)
        near = max(last.price for _, last in ends)
        first, last = ends[0]
        yield claim(
            "With more instances, the utility of the chosen parameter approaches that of the best parameter.",
            f"from {first.instances} to {last.instances} instances the mean loss falls in {good} of {len(ends)} "
            f"kinds; at the end no kind is more than {near:.2f} points from the best (ε = {EPSILON})",
            good == len(ends),
            True,
        )


# ---- pictures -------------------------------------------------------------------------------------------------------

_FREE = "without privacy"
_STYLES: Styles = {
    "ε = 0.1": (SKY, "v"),
    "ε = 0.3": (GREEN, "D"),
    "ε = 1": (BLUE, "o"),
    "ε = 3": (VERMILLION, "s"),
    _FREE: ("black", ""),
}
"""Each ε has the same style in all pictures."""
_BOUND_STYLES: Styles = {"bound": ("black", "_"), "largest loss": (VERMILLION, "^"), "mean loss": (BLUE, "o")}
_ACROSS = "instances, on a log axis"


def _pictures(records: Sequence[Tuned], given: Given) -> list[Path]:
    """A picture for each family, and one of the bounds."""
    averaged = [mean for mean in means(records) if mean.utility == UTILITY]
    drawn = [_draw_bounds(given.folder / "bound.svg", averaged)]
    for family in dict.fromkeys(mean.family for mean in averaged):
        own = [mean for mean in averaged if mean.family == family]
        drawn.append(_draw_regrets(given.folder / f"regret-{family}.svg", own))
    return drawn


def _draw_regrets(path: Path, averaged: Sequence[MeanTuned]) -> Path:
    """A panel for each kind of one family: a line for each ε, one without privacy, and today's level."""
    shown: dict[str, Panel] = {}
    for mean in averaged:
        panel = shown.setdefault(mean.kind, Panel(mean.kind, {}, {"today's value": mean.default}))
        low, high = mean.regret - mean.deviation, mean.regret + mean.deviation
        line = panel.lines.setdefault(f"ε = {mean.epsilon}", [])
        line.append(Point(mean.instances, mean.regret, low, high))
    last = averaged[-1].epsilon
    for mean in averaged:
        if mean.epsilon == last:
            free = Point(mean.instances, *[mean.without_privacy] * 3)
            shown[mean.kind].lines.setdefault(_FREE, []).append(free)
    title = f"{averaged[0].family}: held-out regret by the number of instances ({UTILITY})"
    up = "regret in points (bars: standard errors)"
    return draw_lines(path, title, list(shown.values()), across=_ACROSS, up=up, fixed=_STYLES)


def _draw_bounds(path: Path, averaged: Sequence[MeanTuned]) -> Path:
    """A panel for each family, of its first kind: the mean and the largest loss, and the bound."""
    first = {mean.family: mean.kind for mean in reversed(averaged)}
    shown: dict[str, Panel] = {}
    for mean in averaged:
        if mean.epsilon == EPSILON and first[mean.family] == mean.kind:
            panel = shown.setdefault(mean.family, Panel(f"{mean.family}, {mean.kind}", {}, {}))
            for name, value in zip(_BOUND_STYLES, (mean.bound, mean.largest_loss, mean.loss), strict=True):
                panel.lines.setdefault(name, []).append(Point(mean.instances, value, value, value))
    title = f"Summed loss on the instances tuned on, and its bound (ε = {EPSILON}, {UTILITY})"
    up = "in units of H, the largest utility of one instance"
    return draw_lines(path, title, list(shown.values()), across=_ACROSS, up=up, fixed=_BOUND_STYLES)


def _start(given: Given) -> Started:
    asked = QUICK if given.quick else FULL
    return asked.steps(len(kinds())), lambda advance: run(asked, advance)


EVALUATION = Evaluation(
    name="configuration",
    title="Private algorithm configuration, measured",
    needs="",
    about=(
        "Balcan, Dick and Vitercik, Differentially private algorithm configuration, 2017, prove how much a privately "
        "tuned parameter loses at most, and measure nothing. Here every family is tuned on made-up instances, which "
        "are public and seeded, and tested on other instances of the same kind. Regret is how far the value of the "
        "chosen parameter is below that of the best parameter for the same instance, in percent of the best.",
        "The private draw is the library's own, with a seeded generator; neighbours differ by one added or removed "
        "instance. Clip 0.1 and 0.05 are clipped relative regrets, once also with half of the prior on today's value; "
        "value is the paper's utility in [0, H], with the least H that holds for the kind. Without privacy, the "
        "parameter with the least mean regret is taken. In every run the paper's bound is computed from the same "
        "instances and compared with the loss.",
        "Kinds of instances follow published generators, but not exactly. The gain depends on their parameters, which "
        "were chosen after a few were tried: auctions of 40 goods have 200 bids, and graphs have exponential weights. "
        "With half the bids, or with even weights, which are in the tables too, the gain is a half to a quarter as "
        "large.",
    ),
    chapters={
        "claims": "Claims, and results here",
        "worth": "Where tuning is worthwhile, and where not",
        "regret": "Regret against the number of instances",
        "bound": "Losses and their bounds",
    },
    main=("claims", "worth", "regret"),
    start=_start,
    sheets=all_sheets,
    pictures=_pictures,
    csv=True,
)
