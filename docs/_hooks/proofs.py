"""Writes out what every mechanism claims and why it holds, from the docstrings that stand beside the code."""

from __future__ import annotations

import inspect
from typing import Any

from wording import one_line

from adyton.kernel.mechanisms import MECHANISMS, Mechanism, Selection

MARK = "<!-- proofs -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the claims and proofs where a page asks for them."""
    return markdown.replace(MARK, proofs()) if MARK in markdown else markdown


def proofs() -> str:
    """The lemma that many of them rest on, then a section for each mechanism."""
    return "\n\n".join([_lemma(), *(_section(mechanism) for mechanism in MECHANISMS)])


def _lemma() -> str:
    lemma, proof = Selection.lemma()
    return "\n\n".join(
        [
            "## The lemma on differences of scores",
            f"**Lemma.** {one_line(lemma)}",
            f"**Proof.** {one_line(proof)} ∎",
            "*Beside the code in* `src/adyton/kernel/mechanisms/selection.py`",
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
