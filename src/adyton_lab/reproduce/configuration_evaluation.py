"""What ``adyton reproduce configuration`` runs and shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adyton_lab.reproduce import configuration
from adyton_lab.reproduce.configuration import Tuned
from adyton_lab.reproduce.configuration_figures import draw_bounds, draw_regrets
from adyton_lab.reproduce.configuration_pools import kinds
from adyton_lab.reproduce.configuration_tables import all_sheets, main_sheets, means
from adyton_lab.reproduce.evaluation import Evaluation, Given
from adyton_lab.training.engine import Advance


def _steps(given: Given) -> int:
    return configuration.protocol(quick=given.quick).steps(len(kinds()))


def _run(given: Given, advance: Advance) -> list[Tuned]:
    return configuration.run(quick=given.quick, advance=advance)


def _pictures(records: Sequence[Tuned], given: Given) -> list[Path]:
    """A picture for each family, and one of the bounds."""
    found = means(records)
    drawn = [draw_bounds(given.folder / "bound.svg", found)]
    for family in dict.fromkeys(one.family for one in found):
        drawn.append(
            draw_regrets(given.folder / f"regret-{family}.svg", [one for one in found if one.family == family])
        )
    return drawn


EVALUATION = Evaluation(
    name="configuration",
    title="Private algorithm configuration, measured",
    needs="",
    why_public="",
    about=(
        "Balcan, Dick and Vitercik, Differentially private algorithm configuration, 2017, prove how much a parameter "
        "that was tuned privately loses, and measure nothing. Here every family is tuned on made-up instances, which "
        "are public and seeded, and judged by others of the same kind. A regret is how far below the best parameter "
        "for that very instance the chosen one is, in percent of the best.",
        "The private draw is the library's own, with one instance added or removed as the neighbour, by a seeded "
        "generator. Clip 0.1 and 0.05 are clipped relative regrets, once also with half of the prior on today's value; "
        "value is the paper's utility in [0, H], with the least H that holds for the kind. Without privacy, the "
        "parameter of least mean regret is taken. In every run the paper's bound is computed from the same instances, "
        "and compared with what was lost.",
        "Kinds of instances follow published generators, but are not theirs to the letter. How much is gained depends "
        "on their numbers, which were chosen after a look at a few: auctions of 40 goods have 200 bids, and graphs "
        "exponential weights. With half the bids, or with even weights, which stand in the tables too, the gain is a "
        "half to a quarter of that.",
    ),
    chapters={
        "claims": "What is claimed, and what came out here",
        "worth": "Where tuning is worthwhile, and where not",
        "regret": "Regret against the number of instances",
        "bound": "Losses and their bounds",
    },
    main=("claims", "worth", "regret"),
    steps=_steps,
    run=_run,
    sheets=all_sheets,
    printed=main_sheets,
    pictures=_pictures,
    csv=True,
)
