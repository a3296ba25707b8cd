"""Data that are computed on without protection must be public, and somebody has to say so."""

from __future__ import annotations

from adyton.errors import BadInput


def confirm_public(public: object, doing: str, instead: str) -> None:
    """Refuse unless somebody said that the data are public: *doing* is what would be done with them as they are.

    >>> confirm_public(True, "training", "")
    """
    if public is not True:
        raise BadInput(
            f"{doing} works on the data as they are, without any protection, so it is only for data that are public "
            f"already: if yours are, say so with --public (public=True in Python). {instead}"
        )
