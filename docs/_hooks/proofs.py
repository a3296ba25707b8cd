"""Writes out what every mechanism claims and why it holds, from the docstrings that stand beside the code."""

from __future__ import annotations

import inspect
from typing import Any

from generated import filled
from wording import one_line

from adyton.kernel.counted_tables import CountedTables
from adyton.kernel.guessed_tables import GuessedTables
from adyton.kernel.mechanisms import MECHANISMS, Mechanism, Selection
from adyton.kernel.mechanisms.base import section

NAME = "proofs"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the claims and proofs where a page asks for them."""
    return filled(markdown, NAME, proofs)


LEMMAS = {
    "The lemma on differences of scores": Selection,
    "The lemma on rows and tables": CountedTables,
    "The lemma on distances": GuessedTables,
}


def proofs() -> str:
    """The lemmas that many of them rest on, then a section for each mechanism."""
    lemmas = [_lemma(title, owner) for title, owner in LEMMAS.items()]
    return "\n\n".join([*lemmas, *(_section(mechanism) for mechanism in MECHANISMS)])


def _lemma(title: str, owner: type) -> str:
    return "\n\n".join(
        [
            f"## {title}",
            f"**Lemma.** {one_line(section(owner, 'Lemma.', 'Proof.'))}",
            f"**Proof.** {one_line(section(owner, 'Proof.', '∎'))} ∎",
            f"*Beside the code in* `src/{owner.__module__.replace('.', '/')}.py`",
        ]
    )


def _section(mechanism: type[Mechanism]) -> str:
    about = inspect.cleandoc(mechanism.__doc__ or "").split("Claim.")[0]
    place = f"src/{mechanism.__module__.replace('.', '/')}.py"
    parts = [
        f"## {mechanism.__name__}",
        one_line(about),
        f"**Claim.** {one_line(mechanism.claim())}",
        f"**Proof.** {one_line(mechanism.proof())} ∎",
        f"*Beside its code in* `{place}`",
    ]
    return "\n\n".join(part for part in parts if part)
