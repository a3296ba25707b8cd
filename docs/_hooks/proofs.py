"""Writes out what every mechanism and transformation claims and why it holds, from the docstrings beside the code."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from generated import filled
from wording import one_line

from adyton.kernel.budget import Budget
from adyton.kernel.counting.rows import UnitRows
from adyton.kernel.counts import CountedTables
from adyton.kernel.engines.server import ServerRows
from adyton.kernel.mechanisms import MECHANISMS, Selection
from adyton.kernel.mechanisms.guessed_tables import GuessedTables
from adyton.kernel.operators import section
from adyton.kernel.transforms import TRANSFORMS

NAME = "proofs"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the claims and proofs where a page asks for them."""
    return filled(markdown, NAME, proofs)


LEMMAS = {
    "The lemma on the tree of sources": Budget,
    "The lemma on differences of scores": Selection,
    "The lemma on rows and tables": CountedTables,
    "The lemma on distances": GuessedTables,
}


def proofs() -> str:
    """The lemmas that many of them rest on, then a section for each mechanism, for units and each transformation."""
    lemmas = [_lemma(title, owner) for title, owner in LEMMAS.items()]
    root = [_section(UnitRows, "The rows of each unit"), _section(ServerRows, "The rows of each unit, in servers")]
    return "\n\n".join([*lemmas, *map(_section, MECHANISMS), *root, *map(_section, TRANSFORMS)])


def _lemma(title: str, owner: type) -> str:
    return "\n\n".join(
        [
            f"## {title}",
            f"**Lemma.** {one_line(section(owner, 'Lemma.', 'Proof.'))}",
            f"**Proof.** {one_line(section(owner, 'Proof.', '∎'))} ∎",
            f"*Beside the code in* `src/{owner.__module__.replace('.', '/')}.py`",
        ]
    )


def _section(owner: type | ModuleType, title: str | None = None) -> str:
    about = inspect.cleandoc(owner.__doc__ or "").split("Claim.")[0]
    place = f"src/{(owner.__module__ if isinstance(owner, type) else owner.__name__).replace('.', '/')}.py"
    parts = [
        f"## {title or getattr(owner, '__name__', '')}",
        one_line(about),
        f"**Claim.** {one_line(section(owner, 'Claim.', 'Proof.'))}",
        f"**Proof.** {one_line(section(owner, 'Proof.', '∎'))} ∎",
        f"*Beside its code in* `{place}`",
    ]
    return "\n\n".join(part for part in parts if part)
