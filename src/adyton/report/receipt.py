"""The words and figures of a page that are not counts: the budget, the choice, and where everything comes from."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.exact import display
from adyton.plans.registry import plan_named
from adyton.report.scales import figure

if TYPE_CHECKING:
    from adyton.release import Release

_YEAR = re.compile(r"\b(19|20)\d\d\b")


@dataclass(frozen=True)
class Budget:
    """What was spent when the release was made, as exact decimals and as parts of the whole."""

    this: str
    before: str
    remaining: str
    total: str
    this_share: float
    before_share: float


def budget(release: Release) -> Budget:
    """The budget of the data set, after this release."""
    total, remaining = (amount(release.record[word]) for word in ("total", "remaining"))
    this = min(release.epsilon, total)
    before = max(Fraction(0), total - remaining - this)
    return Budget(
        display(release.epsilon),
        display(before),
        display(remaining),
        display(total),
        float(this / total),
        float(before / total),
    )


def amount(plain: Any) -> Fraction:
    """An exact number, from a fraction or from how JSON holds it."""
    return Fraction(plain["exact"] if isinstance(plain, Mapping) else plain)


@dataclass(frozen=True)
class Candidate:
    """An algorithm that could have been chosen, and what was expected of it."""

    name: str
    regret: str
    chosen: bool


def candidates(release: Release) -> list[Candidate]:
    """All that could have been chosen, the most promising first."""
    if release.choice is None:
        return []
    ranked = sorted(release.choice["regrets"].items(), key=lambda pair: math.inf if pair[1] is None else pair[1])
    return [
        Candidate(
            name,
            "unknown" if regret is None else f"{regret:.2f}",
            name == release.algorithm,
        )
        for name, regret in ranked
    ]


def looks(release: Release) -> list[dict[str, str]]:
    """What was looked at for the choice: each in words, its noisy value, and its price to a person's budget."""
    return [
        {
            "words": one["words"],
            "value": figure(one["value"]),
            "deviation": figure(one["deviation"]),
            "price": display(amount(one["epsilon"]) * release.rows_per_unit),
        }
        for one in (release.choice or {}).get("bought", ())
    ]


def looks_price(release: Release) -> str:
    """What all of them cost together."""
    bought = (release.choice or {}).get("bought", ())
    return display(sum((amount(one["epsilon"]) for one in bought), Fraction(0)) * release.rows_per_unit)


def entries(release: Release) -> list[dict[str, str]]:
    """The lines of the ledger that this release wrote."""
    return [
        {
            "number": str(entry["number"]),
            "epsilon": display(amount(entry["epsilon"])),
            "operator": str(entry["operator"]),
            "lineage": entry["lineage"] if isinstance(entry["lineage"], str) else " › ".join(entry["lineage"]),
        }
        for entry in release.record["entries"]
    ]


def about_algorithm(name: str) -> tuple[str, str]:
    """What an algorithm does and where it was published, from its own description; empty where there is none."""
    try:
        paragraphs = (inspect.getdoc(type(plan_named(name))) or "").split("\n\n")
    except BadInput:
        return "", ""
    texts = [" ".join(paragraph.split()) for paragraph in paragraphs if not paragraph.lstrip().startswith(">>>")]
    source = next((text for text in reversed(texts[1:]) if _YEAR.search(text)), "")
    return texts[0], source
