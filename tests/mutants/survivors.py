"""The faults that no default test notices, each with its reason."""

import tomllib
from pathlib import Path

FILE = Path(__file__).with_name("survivors.toml")


def searched() -> list[str]:
    """The modules of which every fault was planted."""
    return list(tomllib.loads(FILE.read_text(encoding="utf-8"))["searched"])


def explained() -> dict[str, str]:
    """The reason of every survivor, by its name."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: entry["why"] for entry in found["reason"] for name in entry["faults"]}
