"""Presets: attributes that many tables have, written from public knowledge, to be pasted into a schema."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from adyton.errors import BadInput
from adyton.messages import no_such


@cache
def presets() -> dict[str, str]:
    """The text of every preset, by its name; the first line of each says what it is."""
    found = [one for one in files(__name__).iterdir() if one.name.endswith(".toml")]
    return {
        one.name.removesuffix(".toml"): one.read_text(encoding="utf-8")
        for one in sorted(found, key=lambda one: one.name)
    }


def preset(name: str) -> str:
    """The text of one preset.

    >>> print(preset("adult-ages").splitlines()[0])
    # Ages of adults in years: 18 to 99, the older counted with 99.
    """
    if name not in presets():
        raise BadInput(no_such("preset", name, presets()))
    return presets()[name]


def listed() -> str:
    """A line for each preset: its name, and what it is."""
    return "".join(f"{name}: {text.splitlines()[0].removeprefix('# ')}\n" for name, text in presets().items())
